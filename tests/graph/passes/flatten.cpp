// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From nodes to one program: what is inlined, what is an operand, at which strides.
#include <pumice/graph/passes/flatten.hpp>

#include "../../expr/support.hpp"
#include "../../support/walked_graph.hpp"
#include "../support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

struct result {
    buffer_list buffers;  // whose nodes are gone with their graph
    array_list<const node*> behind;
    fused f;
    std::string text() const { return pumice_test::to_string(f.body->view()); }
};

using node_set = key_set<const graph_node*>;

/// The lazy elementwise nodes of a graph.
node_set elementwise_of(const walked_graph& g) {
    node_set set;
    for (const graph_node* n : g.graph.order())
        if (n->op().is<elementwise_op>()) set.insert(n);
    return set;
}

result flat(const walked_graph& g, const any_tensor& t, const node_set& inlined) {
    result r;
    flattener f(r.buffers, &inlined);
    f.output(g.at(t), affine::identity(t.rank()));
    r.f = f.finish();
    for (const graph_node* n : r.buffers.nodes) r.behind.push_back(n->what);
    return r;
}
result flat(const any_tensor& t) {
    const walked_graph g(t);
    return flat(g, t, elementwise_of(g));
}
any_tensor turned(const any_tensor& x) { return permute_dims(x, std::vector<std::int64_t>{1, 0}); }

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();

}  // namespace

TEST_CASE("a chain becomes one program, in the canonical form") {
    const any_tensor x = data(home, {4, 8}), y = data(home, {8});
    const result r = flat(apply<op::relu>(apply<op::add>(apply<op::multiply>(x, 2.0), y)));
    CHECK(r.text() ==
          "v0=leaf0:f32; v1=scalar0:f32; v2=multiply:f32(v0,v1); v3=leaf1:f32; v4=add:f32(v2,v3); "
          "v5=relu:f32(v4); >v5");
    REQUIRE(r.f.leaves.size() == 2);
    CHECK(r.f.leaves[0].steps == strides{8, 1});
    CHECK(r.f.leaves[1].steps == strides{0, 1});
    CHECK(r.behind[static_cast<std::size_t>(r.f.leaves[1].buffer)] == y.get().get());
    REQUIRE(r.f.scalars.size() == 1);
    CHECK(r.f.scalars[0].value.as<float>() == 2);
}

TEST_CASE("one node read twice is one operand, read differently it is two of one buffer") {
    const any_tensor x = data(home, {4, 4});
    CHECK(flat(apply<op::multiply>(x, x)).f.leaves.size() == 1);
    const result r = flat(apply<op::add>(x, turned(x)));
    CHECK(r.behind.size() == 1);
    REQUIRE(r.f.leaves.size() == 2);
    CHECK(r.f.leaves[0].steps == strides{4, 1});
    CHECK(r.f.leaves[1].steps == strides{1, 4});
}

TEST_CASE("a shared node is computed once per set of coordinates") {
    const any_tensor e = apply<op::exp>(data(home, {4, 4}));
    CHECK(flat(apply<op::add>(e, e)).text() ==
          "v0=leaf0:f32; v1=exp:f32(v0); v2=add:f32(v1,v1); >v2");
    const result r = flat(apply<op::add>(e, turned(e)));
    CHECK(r.text() ==
          "v0=leaf0:f32; v1=exp:f32(v0); v2=leaf1:f32; v3=exp:f32(v2); v4=add:f32(v1,v3); >v4");
    // Twice turned is the same again.
    CHECK(flat(apply<op::add>(e, turned(turned(e)))).f.leaves.size() == 1);
}

TEST_CASE("what is not inlined is memory") {
    const any_tensor e = apply<op::exp>(data(home, {4, 4}));
    const any_tensor y = apply<op::relu>(turned(e));
    const walked_graph g(y);
    node_set inlined;
    inlined.insert(g.at(y));
    const result r = flat(g, y, inlined);
    CHECK(r.text() == "v0=leaf0:f32; v1=relu:f32(v0); >v1");
    CHECK(r.behind == array_list<const node*>{e.get().get()});
    CHECK(r.f.leaves[0].steps == strides{1, 4});
}

TEST_CASE("views of views become offset and strides") {
    const any_tensor x = data(home, {4, 6});
    const std::vector<slice> cut{{3, {}, -1}, {1, {}, 2}};
    const result r = flat(apply<op::negative>(turned(slice_view(x, cut))));
    CHECK(r.f.leaves[0].offset == 3 * 6 + 1);
    CHECK(r.f.leaves[0].steps == strides{2, -6});
}

TEST_CASE("a reshape reads the row-major memory of what it reshapes") {
    const any_tensor x = data(home, {4, 6});
    const result r = flat(apply<op::negative>(reshape(reshape(x, {24}), {2, 12})));
    CHECK(r.behind == array_list<const node*>{x.get().get()});
    CHECK(r.f.leaves[0].steps == strides{12, 1});
}

TEST_CASE("a given value is no operand") {
    const any_tensor p = matmul(data(home, {4, 4}), data(home, {4, 4})),
                     s = apply<op::add>(p, data(home, {4}));
    buffer_list buffers;
    const affine at = affine::identity(2);
    const walked_graph g(s);
    const node_set inlined = elementwise_of(g);
    flattener f(buffers, &inlined, g.at(p), at);
    f.output(g.at(s), at);
    CHECK(f.fits());
    CHECK(pumice_test::to_string(f.finish().body->view()) ==
          "v0=given0:f32; v1=leaf0:f32; v2=add:f32(v0,v1); >v2");
}

TEST_CASE("scalars of one value stay apart: they may differ next time") {
    const any_tensor x = data(home, {4});
    const result r = flat(apply<op::multiply>(apply<op::add>(x, 2.0), 2.0));
    CHECK(r.f.scalars.size() == 2);
}

TEST_CASE("more operands than a kernel reads do not fit") {
    any_tensor t = data(home, {4});
    for (int operands = 2; operands <= 17; ++operands) {
        t = apply<op::add>(t, data(home, {4}));
        buffer_list buffers;
        const walked_graph g(t);
        const node_set inlined = elementwise_of(g);
        flattener f(buffers, &inlined);
        f.output(g.at(t), affine::identity(1));
        CHECK(f.fits() == (operands <= 16));
    }
}
