// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which steps a small graph gives: the problem, its sizes, the buffers behind its operands, and the
// cut of a group that no kernel takes.
#include <tests/graph/support.hpp>
#include <tests/support/walked_graph.hpp>

#include <pumice/exec/plan/lower.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/graph/scan.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

std::shared_ptr<pm::engine> home() {
    static const auto engine = std::make_shared<pumice_test::fake_engine>();
    return engine;
}
pm::any_tensor given(const pm::shape& extent) {
    return pm::any_tensor(home()->create(pm::dtype::f32, extent, nullptr));
}
/// A step, and the nodes behind its numbers.
struct lowered_step {
    pm::problem what;
    pm::array_list<const pm::node*> buffers, outputs;
};
pm::array_list<lowered_step> steps_of(const pm::plan_builder& b) {
    pm::array_list<lowered_step> steps;
    for (const pm::plan_step& s : b.made.steps) {
        lowered_step l{s.what, {}, {}};
        for (const int v : s.buffers) l.buffers.push_back(b.nodes.at(std::size_t(v))->what);
        for (const int v : s.outputs) l.outputs.push_back(b.nodes.at(std::size_t(v))->what);
        steps.push_back(std::move(l));
    }
    return steps;
}
pm::array_list<lowered_step> steps_of(const pm::any_tensor& root, bool fusion = true) {
    pumice_test::walked_graph g(root);
    return steps_of(g.lowered(fusion));
}
/// The node behind a leaf.
const pm::node* behind(const lowered_step& s, const pm::operand& o) {
    return s.buffers.at(static_cast<std::size_t>(o.buffer));
}

}  // namespace

TEST_CASE("lower: relu(matmul(a, b) + bias) is one product with an epilogue") {
    const pm::any_tensor a = given({2, 5, 7}), b = given({7, 3}), bias = given({3});
    const pm::any_tensor y =
        pm::apply<pm::op::relu>(pm::apply<pm::op::add>(pm::matmul(a, b), bias));
    const pm::array_list<lowered_step> s = steps_of(y);
    REQUIRE(s.size() == 1);
    const auto& p = *s[0].what.get_if<pm::matmul_problem>();
    CHECK(p.batch == pm::shape{2});
    CHECK(p.m == 5);
    CHECK(p.n == 3);
    CHECK(p.k == 7);
    CHECK(behind(s[0], p.a.leaves.at(0)) == a.get().get());
    CHECK(p.a.leaves[0].steps == pm::strides{35, 7, 1});
    CHECK(behind(s[0], p.b.leaves.at(0)) == b.get().get());
    CHECK(p.b.leaves[0].steps == pm::strides{0, 3, 1});  // one for all of the batch
    CHECK(behind(s[0], p.epilogue.leaves.at(0)) == bias.get().get());
    CHECK(p.epilogue.leaves[0].steps == pm::strides{0, 0, 1});
    CHECK(behind(s[0], p.epilogue.outputs.at(0)) == y.get().get());
    CHECK(s[0].outputs == pm::array_list<const pm::node*>{y.get().get()});
    CHECK(steps_of(y, false).size() == 3);
}

TEST_CASE(
    "lower: a reduction's programs are over kept axes, then reduced ones; views are strides") {
    const pm::any_tensor a = given({2, 3, 4});
    const std::int64_t turned[] = {2, 0, 1}, axes[] = {1, 2};
    const pm::any_tensor t = pm::permute_dims(a, turned);  // (4, 2, 3)
    const pm::any_tensor y = pm::reduce(pm::reduction::sum, pm::apply<pm::op::abs>(t), axes, true);
    const pm::array_list<lowered_step> s = steps_of(y);
    REQUIRE(s.size() == 1);
    const auto& p = *s[0].what.get_if<pm::reduce_problem>();
    CHECK(p.outer == pm::shape{4});
    CHECK(p.inner == pm::shape{2, 3});
    CHECK(p.prologue.leaves.at(0).steps == pm::strides{1, 12, 4});
    CHECK(p.epilogue.outputs.at(0).steps == pm::strides{1});
}

TEST_CASE("lower: a join is a copy for each part, each into its place") {
    const pm::any_tensor a = given({2, 3}), b = given({2, 5});
    const std::int64_t last[] = {1};
    const pm::any_tensor parts[] = {a, pm::flip(b, last)};
    const pm::array_list<lowered_step> s = steps_of(pm::concat(parts, 1));
    REQUIRE(s.size() == 2);
    const auto& first = *s[0].what.get_if<pm::elementwise_problem>();
    const auto& second = *s[1].what.get_if<pm::elementwise_problem>();
    CHECK(first.domain == pm::shape{2, 3});
    CHECK(first.body.outputs.at(0).offset == 0);
    CHECK(first.body.outputs[0].steps == pm::strides{8, 1});
    CHECK(second.domain == pm::shape{2, 5});
    CHECK(second.body.outputs.at(0).offset == 3);
    CHECK(second.body.leaves.at(0).offset == 4);
    CHECK(second.body.leaves[0].steps == pm::strides{5, -1});
    CHECK(s[0].outputs == s[1].outputs);
}

TEST_CASE("lower: normalisations and take keep their axes apart") {
    const pm::any_tensor a = given({2, 3, 4});
    const pm::array_list<lowered_step> s = steps_of(pm::softmax(a, 1));
    REQUIRE(s.size() == 1);
    const auto& p = *s[0].what.get_if<pm::normalize_problem>();
    CHECK(p.outer == pm::shape{2, 4});
    CHECK(p.inner == pm::shape{3});
    CHECK(p.prologue.leaves.at(0).steps == pm::strides{12, 1, 4});
    const std::int64_t axes[] = {0, 2};
    const pm::array_list<lowered_step> n =
        steps_of(pm::normalize(pm::normalization::layer_norm, a, axes, 0.5));
    REQUIRE(n.size() == 1);
    const auto& norm = *n[0].what.get_if<pm::normalize_problem>();
    CHECK(norm.what == pm::normalization::layer_norm);
    CHECK(norm.epsilon == 0.5);
    CHECK(norm.outer == pm::shape{3});
    CHECK(norm.inner == pm::shape{2, 4});
    CHECK(norm.prologue.leaves.at(0).steps == pm::strides{4, 12, 1});
    const pm::any_tensor rows(home()->create(pm::dtype::i64, {5, 6}, nullptr));
    const pm::array_list<lowered_step> t = steps_of(pm::take(a, rows, 1));
    REQUIRE(t.size() == 1);
    const auto& q = *t[0].what.get_if<pm::take_problem>();
    CHECK(q.domain == pm::shape{2, 5, 6, 4});
    CHECK(q.values.steps == pm::strides{12, 0, 0, 1});
    CHECK(q.indices.steps == pm::strides{0, 6, 1, 0});
    CHECK(q.length == pm::index_list{3});
    CHECK(q.step == pm::index_list{4});
    CHECK(behind(t[0], q.indices) == rows.get().get());
}

TEST_CASE(
    "lower: a running sum from the end walks backwards, in what it reads and what it writes") {
    const pm::any_tensor a = given({2, 3, 4});
    const pm::array_list<lowered_step> s =
        steps_of(pm::cumulative(pm::reduction::sum, a, 1,
                                {.include_initial = true, .reverse = true}));
    REQUIRE(s.size() == 1);
    const auto& p = *s[0].what.get_if<pm::scan_problem>();
    CHECK(p.outer == pm::shape{2, 4});
    CHECK(p.length == 3);
    CHECK(p.count == 4);
    CHECK(p.lead == 1);
    CHECK(p.prologue.leaves.at(0).offset == 8);
    CHECK(p.prologue.leaves[0].steps == pm::strides{12, 1, -4});
    CHECK(p.epilogue.outputs.at(0).offset == 12);
    CHECK(p.epilogue.outputs[0].steps == pm::strides{16, 1, -4});
}

TEST_CASE("lower: the gathers are takes over other axes") {
    const pm::any_tensor a = given({2, 3, 4});
    const pm::any_tensor each(home()->create(pm::dtype::i64, {2, 5, 4}, nullptr)),
        tuples(home()->create(pm::dtype::i32, {2, 6, 1}, nullptr));
    const pm::array_list<lowered_step> s = steps_of(pm::take_along_axis(a, each, 1));
    REQUIRE(s.size() == 1);
    const auto& p = *s[0].what.get_if<pm::take_problem>();
    CHECK(p.domain == pm::shape{2, 5, 4});
    CHECK(p.values.steps == pm::strides{12, 0, 1});
    CHECK(p.indices.steps == pm::strides{20, 4, 1});
    CHECK(p.step == pm::index_list{4});
    const pm::array_list<lowered_step> t = steps_of(pm::gather_nd(a, tuples, 1));
    REQUIRE(t.size() == 1);
    const auto& q = *t[0].what.get_if<pm::take_problem>();
    CHECK(q.domain == pm::shape{2, 6, 4});
    CHECK(q.values.steps == pm::strides{12, 0, 1});
    CHECK(q.indices.steps == pm::strides{6, 1, 0});
    CHECK(q.next == 1);
    CHECK(q.length == pm::index_list{3});
}

TEST_CASE("lower: sorting has its axis last; scattering copies the data, then joins the updates") {
    const pm::any_tensor a = given({2, 3, 4});
    const pm::array_list<lowered_step> s = steps_of(pm::argsort(a, 1, true));
    REQUIRE(s.size() == 1);
    const auto& p = *s[0].what.get_if<pm::sort_problem>();
    CHECK(p.outer == pm::shape{2, 4});
    CHECK(p.length == 3);
    CHECK(p.descending);
    CHECK(p.values.steps == pm::strides{12, 1, 4});
    CHECK(p.first == 3);
    const pm::array_list<lowered_step> few = steps_of(pm::top_k(a, 2, 1).indices);
    REQUIRE(few.size() == 1);
    CHECK(few[0].what.get_if<pm::sort_problem>()->length == 3);
    CHECK(few[0].what.get_if<pm::sort_problem>()->first == 2);
    const pm::any_tensor rows(home()->create(pm::dtype::i64, {5, 1}, nullptr));
    const pm::array_list<lowered_step> t =
        steps_of(pm::scatter_nd(a, rows, given({5, 3, 4}), pm::scattering::max));
    REQUIRE(t.size() == 5);  // keys, their order, the keys in order, the copy, the updates
    CHECK(t[1].what.is<pm::sort_problem>());
    CHECK(t[2].what.is<pm::take_problem>());
    CHECK(t[3].what.is<pm::elementwise_problem>());
    const auto& q = *t[4].what.get_if<pm::scatter_problem>();
    CHECK(q.what == pm::scattering::max);
    CHECK(q.count == 5);
    CHECK(q.rows == 2);
    CHECK(q.width == 12);
    CHECK(t[3].outputs == t[4].outputs);
}

TEST_CASE("lower: a group with more operands than a kernel takes is computed node by node") {
    std::vector<pm::any_tensor> sums{given({4})};
    for (int i = 0; i < 20; ++i) sums.push_back(pm::apply<pm::op::add>(sums.back(), given({4})));
    const pumice_test::walked_graph g(sums.back());
    pm::kernel_group wide;
    for (int i = 1; i < 20; ++i) wide.inlined.push_back(g.at(sums[std::size_t(i)]));
    wide.outputs = {g.at(sums.back())};
    const auto lowered = [&] {
        pm::plan_builder b;
        pm::lower(b, {wide}, g.graph);
        return steps_of(b);
    };
    const pm::array_list<lowered_step> s = lowered();
    REQUIRE(s.size() == 20);
    for (std::size_t i = 0; i < s.size(); ++i) {
        CHECK(s[i].outputs == pm::array_list<const pm::node*>{sums[i + 1].get().get()});
        CHECK(s[i].what.get_if<pm::elementwise_problem>()->body.leaves.size() == 2);
    }
    wide.inlined.erase(wide.inlined.begin(), wide.inlined.begin() + 10);  // 11 operands: it fits
    CHECK(lowered().size() == 1);
}
