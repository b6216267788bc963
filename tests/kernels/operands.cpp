// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The operands that a problem of each kind is said to have: every one once, over its domain, and
// the bytes of the tensor behind it. (tests/exec/plan/verify.cpp holds random programs to it.)
#include <pumice/exec/plan/donation.hpp>
#include <pumice/exec/plan/lower.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/graph/norms.hpp>
#include <pumice/graph/scan.hpp>
#include <pumice/graph/window.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/kernels/operands.hpp>

#include "support.hpp"

#include <tests/graph/support.hpp>
#include <tests/support/walked_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace pumice;

namespace {

const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();

any_tensor given(const shape& extent, dtype type = dtype::f32) {
    return pumice_test::data(home, extent, type);
}

/// An operand as it was visited.
struct visited {
    const node* tensor;  // null where it has no buffer
    shape domain;
    bool written;
    std::int64_t begin, end;  // bytes
};

/// The steps of an evaluation, with the nodes behind their buffers.
struct lowered {
    pumice_test::walked_graph graph;
    plan_builder b;

    explicit lowered(const any_tensor& root) : graph(root), b(graph.lowered()) {}
    const plan_step& only() const {
        REQUIRE(b.made.steps.size() == 1);
        return b.made.steps[0];
    }
    std::vector<visited> operands(const plan_step& s) const {
        std::vector<visited> list;
        visit_operands(s.what, [&](const operand& o, const shape& domain, bool written) {
            REQUIRE(o.steps.rank() == (o.buffer < 0 ? 0 : domain.rank()));
            const pumice::access a = range_of(o, domain, written);
            CHECK(a.buffer == o.buffer);
            CHECK(a.write == written);
            list.push_back({behind(s, o), domain, written, a.begin, a.end});
        });
        return list;
    }
    const node* behind(const plan_step& s, const operand& o) const {
        return o.buffer < 0 ? nullptr
                            : b.nodes.at(std::size_t(s.buffers.at(std::size_t(o.buffer))))->what;
    }
};

/// What is expected of an operand that covers its tensor.
struct whole {
    any_tensor tensor;
    shape domain;
    bool written = false;
};
void check(const std::vector<visited>& seen, std::initializer_list<whole> expected) {
    REQUIRE(seen.size() == expected.size());
    std::size_t i = 0;
    for (const whole& w : expected) {
        INFO("operand ", i);
        CHECK(seen[i].tensor == w.tensor.get().get());
        CHECK(seen[i].domain == w.domain);
        CHECK(seen[i].written == w.written);
        CHECK(seen[i].begin == 0);
        CHECK(seen[i].end == byte_count(w.tensor.dtype(), w.tensor.size()));
        ++i;
    }
}
/// Of a root that one step of this kind computes.
template <class Problem>
void check_only(const any_tensor& root, std::initializer_list<whole> expected) {
    const lowered l(root);
    REQUIRE(l.only().what.is<Problem>());
    check(l.operands(l.only()), expected);
}

/// Checks that operands of the last step that `root` needs reach, together, all of each tensor.
template <class Problem>
void reaches_all(const any_tensor& root, std::size_t operands) {
    const lowered l(root);
    const plan_step& s = l.b.made.steps.back();
    REQUIRE(s.what.is<Problem>());
    const std::vector<visited> seen = l.operands(s);
    CHECK(seen.size() == operands);
    CHECK(std::count_if(seen.begin(), seen.end(), [](const visited& v) { return v.written; }) == 1);
    for (const int number : s.buffers) {
        std::int64_t begin = 1 << 30, end = 0;
        for (const visited& v : seen) {
            if (v.tensor != l.b.nodes.at(std::size_t(number))->what) continue;
            begin = std::min(begin, v.begin);
            end = std::max(end, v.end);
        }
        CHECK(begin == 0);
        CHECK(end == l.b.made.at(number).bytes());
    }
}

}  // namespace

TEST_CASE("operands: each kind of problem reaches all of its tensors and no more") {
    const std::int64_t last[] = {1}, first[] = {0};
    const any_tensor a = given({6, 8}), bias = given({8});
    reaches_all<elementwise_problem>(apply<op::add>(a, bias), 3);
    reaches_all<reduce_problem>(reduce(reduction::sum, apply<op::multiply>(a, a), last), 2);
    reaches_all<reduce_problem>(apply<op::add>(reduce(reduction::max, a, first), bias), 3);
    reaches_all<normalize_problem>(softmax(apply<op::add>(a, bias), 1), 3);
    reaches_all<scan_problem>(cumulative(reduction::sum, a, 1), 2);
    reaches_all<scan_problem>(cumulative(reduction::prod, a, 0), 2);
    reaches_all<matmul_problem>(apply<op::add>(matmul(given({2, 5, 6}), a), bias), 4);
    conv_op c;
    c.group = 2;
    reaches_all<conv_problem>(conv(given({1, 4, 7, 7}), given({6, 2, 3, 3}), c), 3);
    pool_op p;
    p.window[0] = p.window[1] = 2;
    reaches_all<pool_problem>(pool(given({1, 3, 6, 6}), p), 2);
    reaches_all<take_problem>(take(a, given({5, 2}, dtype::i64), 1), 3);
    reaches_all<take_problem>(take_along_axis(a, given({6, 3}, dtype::i64), 1), 3);
    reaches_all<take_problem>(gather_nd(a, given({3, 2}, dtype::i32), 0), 3);
    reaches_all<sort_problem>(argsort(a, 1, false), 2);
    reaches_all<scatter_problem>(scatter_nd(a, given({4, 1}, dtype::i64), given({4, 8}),
                                            scattering::sum),
                                 5);
}

TEST_CASE("operands: of a result of eight axes too") {
    const any_tensor values = given({2, 2, 2, 2, 3}), at = given({2, 1, 2, 2}, dtype::i64);
    reaches_all<take_problem>(take(values, at, 4), 3);
}

TEST_CASE("operands: of an elementwise problem, over its domain") {
    const any_tensor a = given({3, 4}), row = given({4});
    const any_tensor y = apply<op::add>(a, row);
    check_only<elementwise_problem>(y, {{a, {3, 4}}, {row, {3, 4}}, {y, {3, 4}, true}});
    const std::int64_t axes[] = {0, 1};
    const any_tensor z = apply<op::multiply>(flip(a, axes), a);
    check_only<elementwise_problem>(z, {{a, {3, 4}}, {a, {3, 4}}, {z, {3, 4}, true}});
}

TEST_CASE("operands: of a part and of a whole that repeats") {
    const any_tensor a = given({6, 4});
    const any_tensor part = slice_view(a, std::vector<slice>{{1, 3, 1}});
    const any_tensor y = apply<op::relu>(part);
    const lowered l(y);
    const std::vector<visited> seen = l.operands(l.only());
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].tensor == a.get().get());
    CHECK(seen[0].domain == shape{2, 4});
    CHECK(seen[0].begin == 1 * 4 * 4);
    CHECK(seen[0].end == 3 * 4 * 4);
}

TEST_CASE("operands: of a reduction, before over all axes, behind over those that are kept") {
    const any_tensor a = given({2, 3, 4}), scale = given({4}), bias = given({3});
    const std::int64_t axes[] = {0, 2};
    const any_tensor y =
        apply<op::add>(reduce(reduction::sum, apply<op::multiply>(a, scale), axes), bias);
    check_only<reduce_problem>(y,
                               {{a, {3, 2, 4}}, {scale, {3, 2, 4}}, {bias, {3}}, {y, {3}, true}});
}

TEST_CASE("operands: of a normalisation, before and behind over all axes") {
    const any_tensor a = given({2, 3, 4}), scale = given({3, 1});
    const any_tensor y = apply<op::multiply>(softmax(a, 1), scale);
    check_only<normalize_problem>(y, {{a, {2, 4, 3}}, {scale, {2, 4, 3}}, {y, {2, 4, 3}, true}});
}

TEST_CASE("operands: of a scan, before over what it adds up, behind over what it gives") {
    const any_tensor a = given({2, 3, 4}), bias = given({2, 4, 4});
    const any_tensor y =
        apply<op::add>(cumulative(reduction::sum, a, 1, {.include_initial = true, .reverse = true}),
                       bias);
    check_only<scan_problem>(y, {{a, {2, 4, 3}}, {bias, {2, 4, 4}}, {y, {2, 4, 4}, true}});
}

TEST_CASE("operands: of a product, each factor over its rows and columns behind the batch") {
    const any_tensor a = given({2, 5, 7}), b = given({7, 3}), bias = given({3});
    const any_tensor y = apply<op::add>(matmul(a, b), bias);
    check_only<matmul_problem>(y, {{a, {2, 5, 7}},
                                   {b, {2, 7, 3}},
                                   {bias, {2, 5, 3}},
                                   {y, {2, 5, 3}, true}});
}

TEST_CASE("operands: of a convolution, the weight over the channels of one group") {
    const any_tensor x = given({2, 4, 9, 8}), w = given({6, 2, 3, 2}), bias = given({6, 1, 1});
    conv_op how;
    how.group = 2;
    how.stride[0] = 2;
    how.pad_begin[1] = 1;
    const any_tensor y = apply<op::add>(conv(x, w, how), bias);
    const shape out{2, 6, 4, 8};
    REQUIRE(y.shape() == out);
    check_only<conv_problem>(y,
                             {{x, {2, 4, 9, 8}}, {w, {6, 2, 3, 2}}, {bias, out}, {y, out, true}});
}

TEST_CASE("operands: of a pool, the input over its own extent, behind over that of the result") {
    const any_tensor x = given({2, 3, 8, 9}), scale = given({3, 1, 1});
    pool_op how;
    how.window[0] = how.stride[0] = 2;
    how.window[1] = how.stride[1] = 3;
    const any_tensor y = apply<op::multiply>(pool(x, how), scale);
    const shape out{2, 3, 4, 3};
    REQUIRE(y.shape() == out);
    check_only<pool_problem>(y, {{x, {2, 3, 8, 9}}, {scale, out}, {y, out, true}});
}

TEST_CASE("operands: of a take, values also along what is picked, indices along components") {
    const any_tensor a = given({2, 3, 4}), rows = given({5, 6}, dtype::i64);
    const any_tensor y = take(a, rows, 1);
    check_only<take_problem>(y, {{a, {2, 4, 3}}, {rows, {5, 6}}, {y, {2, 5, 6, 4}, true}});
    const any_tensor each = given({2, 5, 4}, dtype::i32);
    const any_tensor z = take_along_axis(a, each, 1);
    check_only<take_problem>(z, {{a, {2, 4, 3}}, {each, {2, 5, 4}}, {z, {2, 5, 4}, true}});
    const any_tensor tuples = given({2, 6, 2}, dtype::i32);
    const any_tensor t = gather_nd(a, tuples, 1);
    check_only<take_problem>(t, {{a, {2, 3, 4}}, {tuples, {2, 6, 2}}, {t, {2, 6}, true}});
}

TEST_CASE("operands: of a take over eight axes") {
    const any_tensor a = given({2, 1, 2, 3, 2, 1, 2, 2}), rows = given({3}, dtype::i64);
    const any_tensor y = take(a, rows, 4);
    REQUIRE(y.rank() == 8);
    check_only<take_problem>(y, {{a, {2, 1, 2, 3, 1, 2, 2, 2}},
                                 {rows, {3}},
                                 {y, {2, 1, 2, 3, 3, 1, 2, 2}, true}});
    const any_tensor b = given({3, 5}), many = given({1, 2, 1, 2, 1, 2, 2}, dtype::i64);
    const any_tensor z = take(b, many, 0);
    REQUIRE(z.rank() == 8);
    check_only<take_problem>(z, {{b, {5, 3}},
                                 {many, {1, 2, 1, 2, 1, 2, 2}},
                                 {z, {1, 2, 1, 2, 1, 2, 2, 5}, true}});
    const any_tensor tuples = given({1, 2, 1, 2, 1, 2, 2, 2}, dtype::i64);
    const any_tensor t = gather_nd(b, tuples);
    check_only<take_problem>(t, {{b, {3, 5}},
                                 {tuples, {1, 2, 1, 2, 1, 2, 2, 2}},
                                 {t, {1, 2, 1, 2, 1, 2, 2}, true}});
    const any_tensor each = given({2, 1, 2, 1, 2, 2, 2, 5}, dtype::i64),
                     wide = given({2, 1, 2, 1, 2, 2, 2, 3});
    const any_tensor w = take_along_axis(wide, each, 7);
    check_only<take_problem>(w, {{wide, {2, 1, 2, 1, 2, 2, 2, 3}},
                                 {each, {2, 1, 2, 1, 2, 2, 2, 5}},
                                 {w, {2, 1, 2, 1, 2, 2, 2, 5}, true}});
}

TEST_CASE("operands: of a sort, with the axis last") {
    const any_tensor a = given({2, 3, 4});
    const any_tensor y = argsort(a, 1);
    check_only<sort_problem>(y, {{a, {2, 4, 3}}, {y, {2, 4, 3}, true}});
    const any_tensor two = top_k(a, 2, 1).indices;
    check_only<sort_problem>(two, {{a, {2, 4, 3}}, {two, {2, 4, 2}, true}});
}

TEST_CASE("operands: of a scatter, keys and their order, updates, data and output") {
    const any_tensor a = given({7, 3, 4}), rows = given({5, 1}, dtype::i64),
                     updates = given({5, 3, 4});
    const any_tensor y = scatter_nd(a, rows, updates, scattering::sum);
    const lowered l(y);
    const plan_step& s = l.b.made.steps.back();
    REQUIRE(s.what.is<scatter_problem>());
    const std::vector<visited> seen = l.operands(s);
    REQUIRE(seen.size() == 5);
    const shape domains[] = {{5}, {5}, {5, 12}, {7, 12}, {7, 12}};
    for (std::size_t i = 0; i < 5; ++i) {
        INFO("operand ", i);
        CHECK(seen[i].domain == domains[i]);
        CHECK(seen[i].written == (i == 4));
        CHECK(seen[i].begin == 0);
        CHECK(seen[i].end == byte_count(seen[i].tensor->type, seen[i].tensor->count()));
        // The data is read where it is written: a step before has copied it there, or it is given.
        for (std::size_t k = 0; k < i; ++k)
            CHECK((seen[i].tensor == seen[k].tensor) == (i == 4 && k == 3));
    }
    const auto& p = *s.what.get_if<scatter_problem>();
    CHECK(seen[0].tensor == l.behind(s, p.keys));
    CHECK(seen[1].tensor->type == dtype::i64);
    CHECK(seen[2].tensor == updates.get().get());
    CHECK(seen[4].tensor == l.behind(s, p.output));
    CHECK(is_plain_copy(l.b.made.steps[l.b.made.steps.size() - 2]));
    CHECK(written_bytes(s.what) == 5 * 12 * 4);
}

TEST_CASE("operands: of a kernel of one's own, what is fused and what is not") {
    const any_tensor x = given({3, 4}), row = given({4}), z = given({5}, dtype::i32);
    kernel_options how;
    how.inputs = {{.fused = true}, {}};
    how.outputs = {{.fused = true}};
    const auto one = make_custom_kernel("one", "void one(uint3 thread) {}", how);
    const any_tensor inputs[] = {apply<op::add>(x, row), z};
    const any_tensor y =
        apply<op::multiply>(call_kernel(one, inputs, {}, [] { return home; })[0], row);
    check_only<custom_kernel_problem>(y, {{x, {3, 4}},
                                          {row, {3, 4}},
                                          {z, {5}},
                                          {row, {3, 4}},
                                          {y, {3, 4}, true}});
}

TEST_CASE("operands: a result that nobody wants has no buffer") {
    const any_tensor x = given({3, 4}), z = given({5}, dtype::i32);
    kernel_options how;
    how.inputs = {{}, {}};
    how.outputs = {{.like = 1}, {.like = 0}};
    const auto two = make_custom_kernel("two", "void two(uint3 thread) {}", how);
    const any_tensor inputs[] = {x, z};
    std::vector<any_tensor> both = call_kernel(two, inputs, {}, [] { return home; });
    check_only<custom_kernel_problem>(both[1], {{x, {3, 4}},
                                                {z, {5}},
                                                {both[0], {5}, true},
                                                {both[1], {3, 4}, true}});
    both[0] = any_tensor();
    const lowered l(both[1]);
    std::vector<visited> seen;
    visit_operands(l.only().what, [&](const operand& o, const shape& domain, bool written) {
        seen.push_back({l.behind(l.only(), o), domain, written, 0, 0});
    });
    REQUIRE(seen.size() == 4);
    CHECK(seen[2].tensor == nullptr);
    CHECK(seen[2].written);
    CHECK(seen[3].tensor == both[1].get().get());
}

TEST_CASE("operands: an iota has no buffer") {
    pumice_test::builder b;
    b.out({b.apply<op::add>(b.leaf(0, dtype::i64), b.iota(1))});
    const elementwise_problem p{
        {3, 4},
        pumice_test::made(b, {{0, dtype::i64, 0, {4, 1}}, {-1, dtype::i64, 0, {1, 0}}},
                          {{1, dtype::i64, 0, {4, 1}}})};
    std::vector<int> buffers;
    visit_operands(p, [&](const operand& o, const shape& domain, bool) {
        buffers.push_back(o.buffer);
        CHECK(domain == shape{3, 4});
    });
    CHECK(buffers == std::vector<int>{0, -1, 1});
}

TEST_CASE("operands: of an empty domain no byte is touched") {
    const any_tensor a = given({3, 4}), none = given({0}, dtype::i64);
    const lowered l(take(a, none, 0));
    for (const visited& v : l.operands(l.only())) CHECK(v.begin == v.end);
    const lowered wide(take(given({2, 1, 2, 3, 2, 1, 2, 2}), none, 4));
    for (const visited& v : wide.operands(wide.only())) CHECK(v.begin == v.end);
    const lowered rowless(take(given({2, 1, 0, 3, 2, 1, 2, 2}), given({3}, dtype::i64), 4));
    for (const visited& v : rowless.operands(rowless.only())) CHECK(v.begin == v.end);
    const lowered e(apply<op::relu>(given({0, 4})));
    for (const visited& v : e.operands(e.only())) CHECK(v.begin == v.end);
}
