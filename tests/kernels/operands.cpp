// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The operands of each kind of problem, with the domains that they are read and written over: what
// they reach is all of each tensor and no more. (tests/exec/plan/verify.cpp holds random programs
// to it.)
#include <tests/graph/support.hpp>

#include <pumice/exec/plan/lower.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/graph/norms.hpp>
#include <pumice/graph/scan.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/kernels/operands.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();

any_tensor given(const shape& extent, dtype type = dtype::f32) {
    return any_tensor(home->create(type, extent, nullptr));
}

/// Checks that the steps of `root` reach all bytes of each tensor, and gives the kinds of problem.
template <class Problem>
void reaches_all(const any_tensor& root, int operands) {
    fuser f(std::span(&root.get(), 1), true);
    const array_list<kernel_group> groups = f.run();
    plan_builder b;
    lower(b, groups, f.order());
    const plan_step& s = b.made.steps.back();
    REQUIRE(s.what.is<Problem>());
    int seen = 0, written = 0;
    array_list<pumice::access> reach(b.nodes.size(), pumice::access{0, 1 << 30, 0, false});
    visit_operands(s.what, [&](const operand& o, const shape& domain, bool write) {
        if (o.buffer < 0) return;
        ++seen;
        written += write;
        const int v = s.buffers.at(static_cast<std::size_t>(o.buffer));
        const pumice::access a = range_of(o, domain, write);
        pumice::access& all = reach[static_cast<std::size_t>(v)];
        all.begin = std::min(all.begin, a.begin);
        all.end = std::max(all.end, a.end);
    });
    CHECK(seen == operands);
    CHECK(written == 1);
    for (const int v : s.buffers) {
        CHECK(reach[static_cast<std::size_t>(v)].begin == 0);
        CHECK(reach[static_cast<std::size_t>(v)].end == b.made.at(v).bytes());
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

TEST_CASE("operands: an iota has no buffer, and an empty problem reaches nothing") {
    elementwise_problem p;
    p.domain = {4};
    p.body.leaves = {{-1, dtype::i32, 0, {1}}, {0, dtype::f32, 3, {0}}};
    p.body.outputs = {{1, dtype::f32, 0, {1}}};
    int iotas = 0, others = 0;
    visit_operands(problem(p), [&](const operand& o, const shape& domain, bool) {
        CHECK(domain == shape{4});
        ++(o.buffer < 0 ? iotas : others);
    });
    CHECK(iotas == 1);
    CHECK(others == 2);
    const any_tensor none = take(given({3, 4}), given({0}, dtype::i64), 0);
    fuser f(std::span(&none.get(), 1), true);
    plan_builder b;
    lower(b, f.run(), f.order());
    visit_operands(b.made.steps.at(0).what, [](const operand& o, const shape& domain, bool write) {
        const pumice::access a = range_of(o, domain, write);
        CHECK(a.begin == a.end);
    });
}
