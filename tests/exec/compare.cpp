// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/policy/passes.hpp>
#include <pumice/tensor/compare.hpp>

#include <pumice.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace pm = pumice;

namespace {

/// A pass that is wrong: in each graph of at least `most` ops sqrt becomes exp.
pm::graph_pass wrong_beyond(std::size_t most) {
    return {"wrong", [most](pm::op_graph& graph) {
                const auto nodes = graph.order();
                if (nodes.size() < most) return;
                for (pm::graph_node* n : nodes) {
                    const auto* op = n->op().get_if<pm::elementwise_op>();
                    if (!op) continue;
                    pm::elementwise_op changed = *op;
                    const auto body = std::make_shared<pm::program>(*op->body);
                    bool found = false;
                    for (pm::instruction& i : body->code)
                        if (i.what == pm::instruction::code::apply && i.op->name == "sqrt")
                            i.op = &pm::op_info_of<pm::op::exp>, found = true;
                    changed.body = body;
                    changed.native = nullptr;
                    if (found) graph.change(*n, std::move(changed), n->inputs);
                }
            }};
}

pm::any_tensor chain(const pm::any_tensor& x) {
    const pm::any_tensor root = pm::named(pm::sqrt(x + 2.0f), "root");
    return pm::softmax(pm::matmul(root * root, x) + 1.0f);
}

pm::any_tensor ramp(const pm::context& home) {
    return pm::reshape(pm::arange(pm::dtype::f32, 0, 16, 1, home), {4, 4}) * 0.25f;
}

}  // namespace

TEST_CASE("compare: what is right is alike, typed or not, with random keys and several results") {
    const pm::any_tensor x = ramp(pm::default_context());
    const pm::comparison whole = pm::compare(chain, x);
    CHECK_MESSAGE(whole, pm::to_string(whole));
    CHECK(whole.steps >= 5);
    CHECK(whole.skipped.empty());
    CHECK(pm::to_string(whole).starts_with("alike in "));

    const auto several = [](const pm::any_tensor& a) {
        const pm::any_tensor noise =
            a + pm::random::uniform(pm::dtype::f32, {4, 4}, pm::random::key(3), 0, 1,
                                    pm::context(a.get()->owner));
        return std::vector<pm::any_tensor>{noise * 2.0f, pm::argmax(noise, 1)};
    };
    const pm::comparison more = pm::compare(several, x);
    CHECK_MESSAGE(more, pm::to_string(more));

    const float nan = std::numeric_limits<float>::quiet_NaN();
    const pm::vector<float> odd = {nan, 1, -2};
    CHECK(pm::compare([](const pm::vector<float>& v) { return pm::vector<float>(v / 0.0f); }, odd));
}

TEST_CASE("compare: a step that fusion makes wrong is found by bisection") {
    const pm::context home(wrong_beyond(3));
    const pm::comparison found = pm::compare(chain, ramp(home));
    CHECK_FALSE(found);
    CHECK((found.where == pm::comparison::fault::fused));
    CAPTURE(pm::to_string(found));
    CHECK(found.difference > 0);
    CHECK_FALSE(found.kernels.empty());
    // The ops before it are too few for the pass, so it is the first whose graph has three.
    CHECK(found.step.starts_with("multiply"));
    CHECK(pm::compare([](const pm::any_tensor& x) { return x * x; }, ramp(home)));
}

TEST_CASE("compare: an op that the host computes otherwise is named, and told when nothing is") {
    const pm::context home(wrong_beyond(1));
    const pm::comparison found = pm::compare(chain, ramp(home));
    CAPTURE(pm::to_string(found));
    CHECK((found.where == pm::comparison::fault::host));
    CHECK(found.step == "sqrt, root");
    CHECK(pm::to_string(found).find("the device differs from the host") != std::string::npos);
    // With a tolerance beyond all values it is let pass.
    CHECK(pm::compare({.tolerance = 1e9}, chain, ramp(home)));
}
