// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Equal subtrees once: which nodes are left, and what is never merged.
#include <pumice/graph/gather.hpp>
#include <pumice/graph/passes/merge_equal.hpp>

#include "../../support/walked_graph.hpp"
#include "../support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
any_tensor turned(const any_tensor& x) { return permute_dims(x, std::vector<std::int64_t>{1, 0}); }
constexpr std::int64_t rows[] = {0}, columns[] = {1};

/// Nodes that compute before and after, views not counted.
struct counted {
    int before = 0, after = 0;
    explicit counted(const std::vector<any_tensor>& roots, bool traced = false) {
        graph_walk walk;
        array_list<node_ptr> list;
        for (const any_tensor& t : roots) list.push_back(t.get());
        walk.go(list);
        op_graph graph(walk, list, traced);
        before = computing(graph);
        merge_equal(graph);
        graph.sort();
        after = computing(graph);
    }
    static int computing(const op_graph& g) {
        int n = 0;
        for (const graph_node* each : g.order()) n += !is_view(*each);
        return n;
    }
};

}  // namespace

TEST_CASE("merge_equal: of two products one is left, with all that led to the other") {
    const any_tensor x = data(home, {4, 4}), w = data(home, {4, 4});
    const auto product = [&] { return matmul(apply<op::relu>(x), turned(w)); };
    const any_tensor sum = apply<op::add>(product(), product());
    const counted c({sum});
    CHECK(c.before == 5);
    CHECK(c.after == 3);  // relu, matmul, add
}

TEST_CASE("merge_equal: what differs in op, operands, axes or type stays") {
    const any_tensor x = data(home, {4, 4}), y = data(home, {4, 4}),
                     h = data(home, {4, 4}, dtype::f16);
    const auto stay = [](const any_tensor& a, const any_tensor& b) {
        const counted c({a, b});
        CHECK(c.before == c.after);
    };
    stay(matmul(x, y), matmul(y, x));
    stay(reduce(reduction::sum, x, rows), reduce(reduction::sum, x, columns));
    stay(reduce(reduction::sum, x, rows), reduce(reduction::max, x, rows));
    stay(reduce(reduction::sum, x, rows), reduce(reduction::sum, x, rows, true));
    stay(argsort(x, 0), argsort(x, 0, true));
    stay(reduce(reduction::sum, x, rows), reduce(reduction::sum, h, rows));
    stay(normalize(normalization::layer_norm, x, columns, 0.5),
         normalize(normalization::layer_norm, x, columns, 0.25));
    stay(copy<column_major>(x), copy(permute_dims(x, std::vector<std::int64_t>{1, 0})));
}

TEST_CASE("merge_equal: elementwise nodes stay, and are known to be equal") {
    const any_tensor x = data(home, {4, 4});
    const counted c({apply<op::exp>(x), apply<op::exp>(x)});
    CHECK(c.after == 2);
    const counted through({reduce(reduction::sum, apply<op::exp>(x), rows),
                           reduce(reduction::sum, apply<op::exp>(x), rows)});
    CHECK(through.before == 4);
    CHECK(through.after == 2);
}

TEST_CASE("merge_equal: scalars are compared where they are the same in each run") {
    const any_tensor x = data(home, {4, 4});
    const auto of = [&](double factor) {
        return reduce(reduction::sum, apply<op::multiply>(x, factor), rows);
    };
    CHECK(counted({of(2), of(2)}).after == 4);
    CHECK(counted({of(2), of(2)}, true).after == 3);  // the second is a copy
    CHECK(counted({of(2), of(3)}, true).after == 4);
}

TEST_CASE("merge_equal: an evaluation does the work once, and both have the values") {
    const std::shared_ptr<engine> once = host(), each = host(false);
    for (const auto& e : {once, each}) {
        const any_tensor x = counting(e, {3, 3}), a = matmul(x, x), b = matmul(x, x);
        const node_ptr roots[] = {a.get(), b.get()};
        e->eval(roots);
        CHECK(values(a) == values(b));
        CHECK(values(a)[4] == 54);
        CHECK(e->stats().dispatches == (e == once ? 1 : 2));
        CHECK((a.get()->data == b.get()->data) == (e == once));
    }
}
