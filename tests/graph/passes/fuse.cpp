// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which nodes share a kernel, on graphs built by hand.
#include <pumice/graph/passes/fuse.hpp>

#include "../../support/walked_graph.hpp"
#include "../support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace pumice;
using namespace pumice_test;

namespace {

/// A graph whose nodes have names, and its groups as text: "anchor(inlined) -> outputs", in order.
class graph {
public:
    explicit graph(policy_set set = {}) : home_(std::make_shared<fake_engine>(std::move(set))) {}

    any_tensor data(const shape& extent, dtype type = dtype::f32) {
        return pumice_test::data(home_, extent, type);
    }
    any_tensor name(const char* text, any_tensor t) {
        names_[t.get().get()] = text;
        return t;
    }
    std::string groups(std::initializer_list<any_tensor> roots, bool enabled = true) {
        walked_graph seen{std::vector<any_tensor>(roots)};
        std::string text;
        for (const kernel_group& g : seen.groups(enabled)) {
            if (!text.empty()) text += " | ";
            if (g.anchor &&
                std::find(g.outputs.begin(), g.outputs.end(), g.anchor) == g.outputs.end())
                text += names_[g.anchor->what];
            std::vector<std::string> in, out;
            for (const graph_node* n : g.inlined) in.push_back(names_[n->what]);
            for (const graph_node* n : g.outputs) out.push_back(names_[n->what]);
            std::sort(in.begin(), in.end());
            std::sort(out.begin(), out.end());
            text += "(";
            for (std::size_t i = 0; i < in.size(); ++i) text += (i ? " " : "") + in[i];
            text += ")";
            for (const std::string& o : out) text += " " + o;
        }
        return text;
    }

private:
    std::shared_ptr<engine> home_;
    std::map<const node*, std::string> names_;
};

any_tensor turned(const any_tensor& x) { return permute_dims(x, std::vector<std::int64_t>{1, 0}); }
constexpr std::int64_t last[] = {-1};

}  // namespace

TEST_CASE("a chain is one kernel, and with fusion off one a node") {
    graph g;
    const any_tensor x = g.data({4, 8});
    const any_tensor a = g.name("a", apply<op::exp>(x)), b = g.name("b", apply<op::add>(a, 1.0)),
                     c = g.name("c", apply<op::relu>(b));
    CHECK(g.groups({c}) == "(a b) c");
    CHECK(g.groups({c}, false) == "() a | () b | () c");
}

TEST_CASE("relu(matmul + bias) is the product's kernel") {
    graph g;
    const any_tensor p = g.name("p", matmul(g.data({4, 8}), g.data({8, 5}))),
                     s = g.name("s", apply<op::add>(p, g.data({5})));
    CHECK(g.groups({g.name("r", apply<op::relu>(s))}) == "p(s) r");
}

TEST_CASE("axes of one element stop no epilogue, other views and what is asked for do") {
    graph g;
    const any_tensor p = g.name("p", matmul(g.data({4, 8}), g.data({8, 1}))),
                     s = g.name("s", apply<op::add>(squeeze(p, 1), g.data({4})));
    CHECK(g.groups({g.name("r", apply<op::relu>(s))}) == "p(s) r");
    const any_tensor up = apply<op::multiply>(expand_dims(s, 0), g.data({1, 4}));
    CHECK(g.groups({g.name("u", up)}) == "p(s) u");

    graph h;
    const any_tensor q = h.name("q", reduce(reduction::sum, h.data({4, 5, 6}), last)),
                     t = h.name("t", apply<op::exp>(turned(q)));
    CHECK(h.groups({t}) == "() q | () t");
    const any_tensor one = h.name("one", reduce(reduction::sum, h.data({4, 5, 6}), last)),
                     seen = h.name("seen", expand_dims(one, 0)),
                     e = h.name("e", apply<op::exp>(seen));
    CHECK(h.groups({seen, e}) == "() one | () e");
    CHECK(h.groups({e}) == "one() e");
}

TEST_CASE("a root in the middle of a chain is an output of the same kernel") {
    graph g;
    const any_tensor x = g.data({8});
    const any_tensor a = g.name("a", apply<op::exp>(x)), b = g.name("b", apply<op::relu>(a));
    CHECK(g.groups({a, b}) == "() a b");
    CHECK(g.groups({b, a}) == "() a b");
}

TEST_CASE("softmax(a * s + m) is one kernel, and what follows it too") {
    graph g;
    const any_tensor a = g.data({4, 8}), m = g.data({8});
    const any_tensor x = g.name("x", apply<op::multiply>(a, 0.5)),
                     y = g.name("y", apply<op::add>(x, m)), z = g.name("z", softmax(y));
    CHECK(g.groups({z}) == "(x y) z");
    CHECK(g.groups({g.name("w", apply<op::log>(z))}) == "z(x y) w");
}

TEST_CASE("what two results share is computed once, in one kernel of two outputs") {
    graph g;
    const any_tensor y = g.name("y", apply<op::multiply>(g.data({6}), g.data({6})));
    const any_tensor z1 = g.name("z1", apply<op::multiply>(y, 2.0)),
                     z2 = g.name("z2", apply<op::add>(y, 1.0));
    CHECK(g.groups({z1, z2}) == "(y) z1 z2");
    CHECK(g.groups({z1}) == "() y z1");  // z2 is still to come
}

TEST_CASE("at most four outputs share a kernel") {
    graph g;
    const any_tensor y = g.name("y", apply<op::exp>(g.data({6})));
    const any_tensor a = g.name("a", apply<op::add>(y, 1.0)),
                     b = g.name("b", apply<op::add>(y, 2.0)),
                     c = g.name("c", apply<op::add>(y, 3.0)),
                     d = g.name("d", apply<op::add>(y, 4.0));
    CHECK(g.groups({a, b, c, d}) == "(y) a b c d");
    const any_tensor e = g.name("e", apply<op::add>(y, 5.0));
    const std::string five = g.groups({a, b, c, d, e});
    CHECK(std::count(five.begin(), five.end(), '|') > 0);
}

TEST_CASE("a diamond is one kernel, through views of the same coordinates or not") {
    graph g;
    const any_tensor x = g.data({4, 4});
    const any_tensor a = g.name("a", apply<op::exp>(x));
    const any_tensor b = g.name("b", apply<op::add>(a, 1.0)),
                     c = g.name("c", apply<op::multiply>(a, 2.0));
    CHECK(g.groups({g.name("d", apply<op::add>(b, c))}) == "(a b c) d");
    // The transposed side is computed again at the other coordinates: cheap, and no memory.
    graph h;
    const any_tensor f = h.name("f", apply<op::exp>(h.data({4, 4})));
    CHECK(h.groups({h.name("e", apply<op::add>(f, turned(f)))}) == "(f) e");
}

TEST_CASE("a costly node is never computed twice: w = z + transpose(z)") {
    graph g;
    const any_tensor z = g.name("z", matmul(g.data({4, 4}), g.data({4, 4})));
    CHECK(g.groups({g.name("w", apply<op::add>(z, turned(z)))}) == "() z | () w");
    const any_tensor s = g.name("s", reduce(reduction::sum, g.data({4, 4, 4}), last));
    CHECK(g.groups({g.name("t", apply<op::add>(s, turned(s)))}) == "() s | () t");
    // Nor behind elementwise ops.
    graph h;
    const any_tensor y = h.name("y", matmul(h.data({4, 4}), h.data({4, 4}))),
                     r = h.name("r", apply<op::relu>(y));
    const std::string text = h.groups({h.name("v", apply<op::add>(r, turned(r)))});
    CHECK((text == "y() r | () v" || text == "() y | (r) v"));
}

TEST_CASE("one product feeds two things: matmul + softmax(matmul)") {
    graph g;
    const any_tensor p = g.name("p", matmul(g.data({4, 8}), g.data({8, 6})));
    const any_tensor s = g.name("s", softmax(p));
    CHECK(g.groups({g.name("o", apply<op::add>(p, s))}) == "() p | s() o");
    const any_tensor q = g.name("q", matmul(p, g.data({6, 3})));
    CHECK(g.groups({q}) == "() p | () q");
}

TEST_CASE("two anchors are two kernels, the epilogue goes with one of them") {
    graph g;
    const any_tensor p = g.name("p", matmul(g.data({4, 8}), g.data({8, 6}))),
                     q = g.name("q", matmul(g.data({4, 3}), g.data({3, 6})));
    const std::string text = g.groups({g.name("o", apply<op::add>(p, q))});
    CHECK((text == "() p | q() o" || text == "() q | p() o"));
}

TEST_CASE(
    "between two products: what follows the first is its epilogue, not the other's prologue") {
    graph g;
    const any_tensor x = g.data({4, 8});
    const any_tensor p = g.name("p", matmul(x, g.data({8, 6}))),
                     s = g.name("s", apply<op::add>(p, g.data({6}))),
                     r = g.name("r", apply<op::relu>(s)),
                     y = g.name("y", matmul(r, g.data({6, 5})));
    CHECK(g.groups({y}) == "p(s) r | () y");
    // Where nothing costly comes before, a prologue it is; and where another wants the product too.
    const any_tensor t = g.name("t", apply<op::tanh>(x));
    CHECK(g.groups({g.name("u", matmul(t, g.data({8, 5})))}) == "(t) u");
    const std::string both = g.groups({y, g.name("q", apply<op::exp>(p))});
    CHECK_MESSAGE((both.find("(s r) y") != both.npos || both.find("(r s) y") != both.npos), both);
}

TEST_CASE("a normalisation: the mean is stored, its centred input is not") {
    graph g;
    const any_tensor x = g.data({4, 8});
    const any_tensor y = g.name("y", apply<op::exp>(x));
    const any_tensor m = g.name("m", reduce(reduction::mean, y, last, true));
    const any_tensor d = g.name("d", apply<op::subtract>(y, m));
    // y is a cheap prologue of the mean and a cheap part of the difference; but its two readers are
    // two kernels.
    const std::string text = g.groups({d});
    CHECK((text == "() y | () m | () d" || text == "(y) m | (y) d"));
}

TEST_CASE("a second user outside of the group keeps a node stored") {
    graph g;
    const any_tensor a = g.name("a", apply<op::exp>(g.data({4, 8})));
    const any_tensor r = g.name("r", apply<op::relu>(a)),
                     p = g.name("p", matmul(a, g.data({8, 3})));
    CHECK(g.groups({r, p}) == "() a | () p | () r");
}

TEST_CASE("a pending user that is not evaluated now keeps a node stored") {
    graph g;
    const any_tensor a = g.name("a", apply<op::exp>(g.data({8})));
    const any_tensor b = g.name("b", apply<op::relu>(a)), later = apply<op::sin>(a);
    CHECK(g.groups({b}) == "() a b");
    graph h;
    const any_tensor c = h.name("c", apply<op::exp>(h.data({8})));
    any_tensor gone = apply<op::sin>(c);
    gone = any_tensor();
    CHECK(h.groups({h.name("d", apply<op::relu>(c))}) == "(c) d");
}

TEST_CASE("reductions take prologues and epilogues") {
    graph g;
    const any_tensor x = g.data({4, 8});
    const any_tensor a = g.name("a", apply<op::square>(x)),
                     s = g.name("s", reduce(reduction::sum, a, last)),
                     r = g.name("r", apply<op::sqrt>(s));
    CHECK(g.groups({r}) == "s(a) r");
    CHECK(g.groups({s, r}) == "(a) s | () r");
}

TEST_CASE("a reduced value that is broadcast back is stored") {
    graph g;
    const any_tensor x = g.data({4, 8}), s = g.name("s", reduce(reduction::sum, x, last, true));
    CHECK(g.groups({g.name("d", apply<op::divide>(x, s))}) == "() s | () d");
}

TEST_CASE("broadcasting a cheap node inlines it") {
    graph g;
    const any_tensor row = g.name("row", apply<op::exp>(g.data({8})));
    CHECK(g.groups({g.name("y", apply<op::add>(g.data({4, 8}), row))}) == "(row) y");
}

TEST_CASE("reshape reads memory: what it reshapes is stored") {
    graph g;
    const any_tensor a = g.name("a", apply<op::exp>(g.data({4, 8})));
    CHECK(g.groups({g.name("b", apply<op::relu>(reshape(a, {32})))}) == "() a | () b");
    // Of data it is nothing at all.
    CHECK(g.groups({g.name("c", apply<op::relu>(reshape(g.data({4, 8}), {32})))}) == "() c");
}

TEST_CASE("a stored view stores what it looks at") {
    graph g;
    const any_tensor a = g.name("a", apply<op::exp>(g.data({4, 8}))), v = turned(a);
    CHECK(g.groups({v}) == "() a");
    CHECK(g.groups({v, g.name("b", apply<op::relu>(v))}) == "() a | () b");
}

TEST_CASE("concat and take: a join is computed in place, a gather reads memory") {
    graph g;
    const any_tensor a = g.name("a", apply<op::exp>(g.data({4})));
    const std::vector<any_tensor> parts{a, g.data({3})};
    CHECK(g.groups({g.name("j", concat(parts))}) == "(a) j");
    const any_tensor t = g.name("t", take(a, g.data({2}, dtype::i64)));
    CHECK(g.groups({t}) == "() a | () t");
    CHECK(g.groups({g.name("r", apply<op::relu>(t))}) == "() a | () t | () r");
}

TEST_CASE("no cycle: two groups that a third stands between are not merged") {
    graph g;
    const any_tensor x = g.data({4, 4});
    const any_tensor a = g.name("a", apply<op::exp>(x));
    const any_tensor p = g.name("p", matmul(a, g.data({4, 4})));  // reads a
    const any_tensor b = g.name("b", apply<op::add>(a, p));       // reads a and p
    const std::string text = g.groups({b});
    CHECK(text == "p(a) b");  // one kernel of both: a is cheap
}

TEST_CASE("no cycle: three readers, of which one needs another through a fourth kernel") {
    // r0, r1 and r2 read n; r2 also reads what a gather makes of r1.
    for (int turn = 0; turn < 3; ++turn) {
        graph g;
        const any_tensor n = g.name("n", apply<op::exp>(g.data({4})));
        const any_tensor r0 = g.name("r0", apply<op::relu>(n)),
                         r1 = g.name("r1", apply<op::sin>(n));
        const any_tensor t = g.name("t", take(r1, g.data({4}, dtype::i64))),
                         r2 = g.name("r2", apply<op::add>(n, t));
        const std::string text = turn == 0   ? g.groups({r0, r1, r2})
                                 : turn == 1 ? g.groups({r2, r0, r1})
                                             : g.groups({r1, r2, r0});
        for (const char* name : {"r0", "r1", "r2", "t"})
            CHECK(text.find(name) != std::string::npos);
        const auto place = [&](const char* name) {
            return std::count(text.begin(),
                              text.begin() + static_cast<std::ptrdiff_t>(text.find(name)), '|');
        };
        CHECK(place("r1") < place("t"));
        CHECK(place("t") < place("r2"));
    }
}

TEST_CASE("a chain of sixty ops is one kernel, whatever the number of its nodes") {
    graph g;
    any_tensor t = g.data({8});
    for (int i = 0; i < 60; ++i) t = g.name("t", apply<op::add>(t, 1.0));
    CHECK(g.groups({t}).find('|') == std::string::npos);
    any_tensor u = g.data({8});
    const any_tensor v = g.data({8});
    for (int i = 0; i < 30; ++i) u = g.name("u", apply<op::add>(u, v));
    CHECK(g.groups({u}).find('|') == std::string::npos);
}

TEST_CASE("a cheap node is computed again where that moves less than to store it") {
    graph g;
    const auto x = g.data({64, 64}), m = g.name("m", reduce(reduction::mean, x, last, true)),
               d = g.name("d", apply<op::subtract>(x, m)),
               s = g.name("s", apply<op::multiply>(d, d)),
               v = g.name("v", reduce(reduction::mean, s, last, true)),
               y = g.name("y", apply<op::multiply>(d, v));
    CHECK(g.groups({y}) == "() m | (d s) v | (d) y");
    CHECK(g.groups({y, d}) == "() m | () d | (s) v | () y");  // somebody wants it
    // What is stored in 16 bits is rounded there.
    const auto h = g.data({64, 64}, dtype::f16), e = g.name("e", apply<op::negative>(h)),
               r = g.name("r", reduce(reduction::max, e, last, true)),
               z = g.name("z", apply<op::multiply>(e, r));
    CHECK(g.groups({z}) == "() e | () r | () z");
}

TEST_CASE("a node is not computed again for a product, nor where its operands are larger") {
    graph g;
    const auto x = g.data({64, 64}), e = g.name("e", apply<op::negative>(x)),
               r = g.name("r", reduce(reduction::sum, e, last, true)),
               p = g.name("p", matmul(e, x)), y = g.name("y", apply<op::multiply>(p, r));
    CHECK(g.groups({y}).starts_with("() e | "));
    for (const int operands : {2, 3, 4}) {
        any_tensor w = g.data({64, 64});
        for (int i = 1; i < operands; ++i) w = apply<op::add>(w, g.data({64, 64}));
        g.name("w", w);
        const auto t = g.name("t", reduce(reduction::sum, w, last, true)),
                   z = g.name("z", apply<op::multiply>(w, t));
        CHECK((g.groups({z}).find("w) z") != std::string::npos) == (operands == 2));
    }
}

TEST_CASE("long chains are cut before a kernel takes too much") {
    graph g;
    any_tensor t = g.data({8});
    for (int i = 0; i < 500; ++i) t = g.name("t", apply<op::add>(t, 1.0));
    const std::string chain = g.groups({t});
    const auto kernels = std::count(chain.begin(), chain.end(), '|') + 1;
    CHECK(kernels >= 3);
    CHECK(kernels <= 12);
    any_tensor wide = g.data({8});
    for (int i = 0; i < 40; ++i) wide = g.name("w", apply<op::add>(wide, g.data({8})));
    const std::string many = g.groups({wide});
    CHECK(std::count(many.begin(), many.end(), '|') >= 2);
}

TEST_CASE("a chain of a hundred thousand nodes does not recurse") {
    graph g;
    any_tensor t = g.data({1});
    for (int i = 0; i < 100000; ++i) t = apply<op::add>(t, 1.0);
    walked_graph seen(t);
    CHECK(seen.graph.order().size() == 100000);
    CHECK(seen.groups().size() > 100);
}
