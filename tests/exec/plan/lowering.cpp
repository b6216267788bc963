// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the `lower` of an op is shown of its group, and the steps that it can add.
#include <tests/graph/support.hpp>
#include <tests/support/walked_graph.hpp>

#include <pumice/exec/plan/lower.hpp>

#include <doctest/doctest.h>

namespace mine {

namespace pm = pumice;

/// Copies its input, and then writes the first row of the second over row `row`.
struct patch_op {
    static constexpr std::string_view name = "mine/patch";
    static constexpr pm::fusion_traits fusion{.prologue = true};
    std::int64_t row = 0;
};
inline pm::kernel_value result_of(const patch_op&, std::span<const pm::kernel_value> in) {
    return in[0];
}
inline void add_words(const patch_op& op, pm::graph_key& key) { key.add_all(op.row); }
inline bool lower(const patch_op& op, const pm::lowering& group, pm::plan_builder& out) {
    CHECK(group.anchor().op().is<patch_op>());
    CHECK(group.extent() == pm::shape{4, 3});
    CHECK(group.type() == pm::dtype::f32);
    CHECK(group.outputs().size() == 1);
    CHECK(!group.is_placed(&group.anchor()));
    pm::affine to = pm::affine::identity(2);
    to.start[0] = op.row;
    return group.copy_whole(out) &&
           group.write_into(group.input(1), {1, 3}, pm::affine::identity(2), to, out);
}

}  // namespace mine

using namespace pumice;

namespace {
const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();
}

TEST_CASE("lowering: steps of a group copy and write into its result, with what is fused before") {
    const any_tensor a = pumice_test::data(home, {4, 3}), b = pumice_test::data(home, {2, 3});
    const any_tensor y = apply(mine::patch_op{2}, {apply<op::exp>(a), b});
    pumice_test::walked_graph g(y);
    const plan_builder made = g.lowered();
    REQUIRE(made.made.steps.size() == 2);
    const auto* whole = made.made.steps[0].what.get_if<elementwise_problem>();
    const auto* row = made.made.steps[1].what.get_if<elementwise_problem>();
    REQUIRE((whole && row));
    CHECK(whole->domain == shape{4, 3});
    CHECK(whole->body.body->code.size() == 2);  // the exponential is in it
    CHECK(row->domain == shape{1, 3});
    CHECK(row->body.outputs[0].offset == 6);
    CHECK(row->body.outputs[0].steps == strides{3, 1});
    CHECK(made.made.steps[0].outputs == made.made.steps[1].outputs);
}

TEST_CASE("lowering: an operand is the memory of an input, seen through views") {
    struct seen_group {
        kernel_group group;
        part_map parts;
    } seen;
    const any_tensor a = pumice_test::data(home, {4, 3});
    const any_tensor turned = permute_dims(a, std::vector<std::int64_t>{1, 0});
    const any_tensor y = apply(mine::patch_op{0}, {turned, a});
    pumice_test::walked_graph g(y);
    seen.group.anchor = g.graph.roots()[0];
    seen.group.outputs.push_back(seen.group.anchor);
    const lowering group(seen.group, seen.parts);
    buffer_list buffers;
    const operand o = group.memory(buffers, group.input(0)),
                  same = group.memory(buffers, group.input(1));
    CHECK(o.steps == strides{1, 3});
    CHECK(same.steps == strides{3, 1});
    CHECK(o.buffer == same.buffer);
    CHECK(group.result(buffers).buffer != o.buffer);
    CHECK(buffers.nodes.size() == 2);
}
