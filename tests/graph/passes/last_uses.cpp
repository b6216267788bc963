// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Whose last reader is the graph at hand, and whose is not.
#include <tests/graph/support.hpp>

#include <pumice/graph/passes/last_uses.hpp>
#include <pumice/graph/view.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();

any_tensor given() { return any_tensor(home->create(dtype::f32, {4}, nullptr)); }
any_tensor twice(const any_tensor& x) { return apply<op::add>(x, x); }

/// Whether `x` is among the last uses of an evaluation of `root`, as a planner asks.
bool ends(const node* x, const any_tensor& root) {
    graph_walk walk;
    walk.go(std::span(&root.get(), 1));
    array_list<node_ptr> keep;
    for (node* n : walk.order())
        for (const node_ptr& input : n->inputs) keep.push_back(input);
    last_uses uses;
    uses.find(walk, [](const node* n) { return !is_view(*n); });
    return uses.contains(walk.number_of(x));
}

}  // namespace

TEST_CASE("last uses: a tensor that only the graph holds, however often it reads it") {
    any_tensor x = given();
    const node* const n = x.get().get();
    x = apply<op::add>(twice(x), x);
    CHECK(ends(n, x));
}

TEST_CASE("last uses: not what has another handle, or another lazy reader") {
    const any_tensor held = given();
    CHECK_FALSE(ends(held.get().get(), twice(held)));
    any_tensor x = given();
    const node* const n = x.get().get();
    const any_tensor reader = twice(x);
    x = apply<op::negative>(x);
    CHECK_FALSE(ends(n, x));
}

TEST_CASE("last uses: a view is done with memory where nobody holds the view") {
    any_tensor x = given();
    const node* const n = x.get().get();
    // What the walk realises looks at the memory from then on; the node itself is let go.
    const any_tensor root = apply<op::add>(any_tensor(flip(x)), x);
    x = any_tensor();
    graph_walk walk;
    walk.go(std::span(&root.get(), 1));
    CHECK(walk.order().size() == 1);
    CHECK(n->data.use_count() == 2);  // so that no engine writes over it
}
