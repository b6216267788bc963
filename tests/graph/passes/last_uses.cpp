// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Whose memory an evaluation may give away: that of tensors that nobody but its graph holds.
#include <tests/graph/support.hpp>

#include <pumice/graph/passes/last_uses.hpp>
#include <pumice/graph/view.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <span>
#include <vector>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
using nodes = std::vector<const node*>;

any_tensor made() { return data(home, {4, 4}); }
any_tensor traced() { return any_tensor(make_data(dtype::f32, {4, 4}, nullptr, home)); }
any_tensor twice(const any_tensor& x) { return apply<op::add>(x, x); }
any_tensor turned(const any_tensor& x) { return permute_dims(x, std::vector<std::int64_t>{1, 0}); }

/// The last uses of an evaluation of these roots, in the order of the walk, as a planner asks.
template <class Done>
nodes listed(last_uses& uses, std::span<const any_tensor> roots, Done&& done) {
    array_list<node_ptr> wanted;
    for (const any_tensor& t : roots) wanted.push_back(t.get());
    graph_walk walk;
    walk.go(wanted);
    wanted = {};
    array_list<node_ptr> keep;
    for (node* n : walk.order())
        for (const node_ptr& input : n->inputs) keep.push_back(input);
    uses.find(walk, done);
    nodes list;
    for (std::uint32_t i = 0; i < walk.nodes().size(); ++i)
        if (uses.contains(i)) list.push_back(walk.nodes()[i]);
    return list;
}
/// Where all nodes but views are stored.
nodes listed(last_uses& uses, std::span<const any_tensor> roots) {
    return listed(uses, roots, [](const node* n) { return !is_view(*n); });
}
nodes listed(std::initializer_list<any_tensor> roots) {
    last_uses uses;
    return listed(uses, std::span(roots.begin(), roots.size()));
}
/// The node of a tensor whose handle is gone.
const node* dropped(any_tensor& t) {
    const node* const n = t.get().get();
    t = any_tensor();
    return n;
}

}  // namespace

TEST_CASE("last uses: a tensor that only the graph holds, however often it reads it") {
    any_tensor x = made();
    const any_tensor once = apply<op::relu>(x);
    CHECK(listed({once}).empty());
    const node* const n = dropped(x);
    CHECK(listed({once}) == nodes{n});
    any_tensor y = made();
    const any_tensor often = apply<op::add>(twice(y), y);
    const node* const m = dropped(y);
    CHECK(listed({often}) == nodes{m});
}

TEST_CASE("last uses: a tensor with another handle is not listed, one beside it is") {
    any_tensor x = made(), other = made();
    const any_tensor y = apply<op::add>(x, other);
    const any_tensor held = x;
    x = any_tensor();
    const node* const n = dropped(other);
    CHECK(listed({y}) == nodes{n});
}

TEST_CASE("last uses: a tensor that is used twice is listed once all of its uses are here") {
    any_tensor x = made();
    const any_tensor y = apply<op::multiply>(x, x), z = apply<op::exp>(x);
    const node* const n = dropped(x);
    CHECK(listed({y, z}) == nodes{n});
    CHECK(listed({y}).empty());
    CHECK(listed({z}).empty());
}

TEST_CASE("last uses: a lazy reader outside keeps a tensor from it until it is gone") {
    any_tensor x = made();
    const any_tensor y = apply<op::relu>(x);
    any_tensor later = apply<op::exp>(x);
    const node* const n = dropped(x);
    CHECK(listed({y}).empty());
    later = any_tensor();
    CHECK(listed({y}) == nodes{n});
}

TEST_CASE("last uses: a view that the walk realises holds the memory in place of the tensor") {
    any_tensor x = made(), view = turned(x);
    const any_tensor y = apply<op::relu>(view);
    x = any_tensor();
    CHECK(listed({y}).empty());  // somebody keeps the view
    REQUIRE(view.get()->realised());
    CHECK(view.get()->data.use_count() == 1);  // the tensor is gone
    const node* const v = dropped(view);
    CHECK(listed({y}) == nodes{v});
}

TEST_CASE("last uses: a view is done with memory where nobody holds the view") {
    any_tensor x = made();
    const node* const n = x.get().get();
    // What the walk realises looks at the memory from then on; the node itself is let go.
    const any_tensor root = apply<op::add>(flip(x), x);
    x = any_tensor();
    graph_walk walk;
    walk.go(std::span(&root.get(), 1));
    CHECK(walk.order().size() == 1);
    CHECK(n->data.use_count() == 2);  // so that no engine writes over it
}

TEST_CASE("last uses: a tensor is not listed while a view that looks at it is realised") {
    any_tensor x = made();
    any_tensor view = turned(x);
    const any_tensor y = apply<op::add>(x, view);
    const node *const n = dropped(x), *const v = dropped(view);
    // The walk holds on to what the view looked at, and the view is not held by anybody else.
    CHECK(listed({y}) == nodes{v});
    // From then on both are tensors over one memory, so that no engine writes over it.
    CHECK(listed({y}) == nodes{n, v});
    CHECK(n->data.use_count() == 2);
}

TEST_CASE("last uses: a view beside the graph keeps what it looks at") {
    any_tensor x = made();
    const any_tensor y = apply<op::relu>(x);
    any_tensor view = turned(x);
    const node* const n = dropped(x);
    CHECK(listed({y}).empty());
    view = any_tensor();
    CHECK(listed({y}) == nodes{n});
}

TEST_CASE("last uses: a view that is asked for keeps what it looks at") {
    for (const bool first : {false, true}) {
        any_tensor x = made();
        const any_tensor view = turned(x), y = apply<op::relu>(x);
        const node* const n = dropped(x);
        CHECK((first ? listed({view, y}) : listed({y, view})).empty());
        CHECK(n->data.use_count() == 2);  // the view is memory now
    }
    any_tensor x = made();
    const any_tensor view = turned(x);
    x = any_tensor();
    CHECK(listed({view}).empty());
}

TEST_CASE("last uses: a lazy view lets go of nothing that somebody else reads") {
    // A view of what is not in memory stays lazy: the graph reads x through it.
    for (const bool held : {false, true}) {
        any_tensor x = made(), inner = apply<op::exp>(x), view = turned(inner);
        const any_tensor y = apply<op::relu>(view);
        const node *const n = dropped(x), *const i = dropped(inner);
        if (!held) view = any_tensor();
        // Where exp is recomputed within the kernel of y, x is read as long as the view is.
        last_uses uses;
        const auto stored = [&](const node* each) { return !is_view(*each) && each != i; };
        CHECK(listed(uses, std::span(&y, 1), stored) == (held ? nodes{} : nodes{n}));
        CHECK(listed({y}) == nodes{n});
    }
}

TEST_CASE("last uses: only realised inputs with memory are listed") {
    any_tensor x = made(), inner = apply<op::relu>(x), given = traced();
    const any_tensor y = apply<op::add>(matmul(inner, x), given);
    const node* const n = dropped(x);
    inner = given = any_tensor();
    CHECK(listed({y}) == nodes{n});
}

TEST_CASE("last uses: what is not evaluated now goes on reading, whoever holds it") {
    any_tensor x = made();
    any_tensor inner = apply<op::relu>(x);
    const any_tensor y = apply<op::exp>(inner);
    const node *const n = dropped(x), *const i = inner.get().get();
    last_uses uses;
    // `inner` is recomputed within the kernel of y, and stays lazy.
    const auto stored = [&](const node* each) { return each != i; };
    CHECK(listed(uses, std::span(&y, 1), stored).empty());
    inner = any_tensor();  // it dies with the evaluation
    CHECK(listed(uses, std::span(&y, 1), stored) == nodes{n});
}

TEST_CASE("last uses: what was found of one graph is not of the next") {
    last_uses uses;
    any_tensor x = made();
    const any_tensor large = apply<op::add>(twice(x), apply<op::exp>(x));
    const node* const n = dropped(x);
    CHECK(listed(uses, std::span(&large, 1)) == nodes{n});
    const any_tensor held = made(), small = apply<op::relu>(held);
    CHECK(listed(uses, std::span(&small, 1)).empty());
    any_tensor y = made();
    const any_tensor next = apply<op::relu>(y);
    const node* const m = dropped(y);
    CHECK(listed(uses, std::span(&next, 1)) == nodes{m});
}
