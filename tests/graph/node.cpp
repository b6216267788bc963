// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/node.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

TEST_CASE("a lazy node counts its pending users, one that holds values does not") {
    const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
    const any_tensor given = data(home, {2}), x = apply<op::negative>(given);
    CHECK(given.get()->pending_uses == 0);
    CHECK(x.get()->pending_uses == 0);
    {
        const any_tensor y = apply<op::multiply>(x, x), z = apply<op::relu>(x);
        CHECK(x.get()->pending_uses == 3);
        y.get()->release_inputs();
        CHECK(x.get()->pending_uses == 1);
        CHECK(y.get()->inputs.empty());
    }
    CHECK(x.get()->pending_uses == 0);
}

TEST_CASE("a million nodes die without recursion, and shared ones live on") {
    const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
    any_tensor t = data(home, {1}), middle;
    for (int i = 0; i < 1000000; ++i) {
        t = any_tensor(make_node(dtype::f32, {1}, reshape_op{}, {t.get()}));
        if (i == 500000) middle = t;
    }
    t = any_tensor();
    CHECK(middle.get()->inputs.size() == 1);
    CHECK(middle.get()->pending_uses == 0);
    middle = any_tensor();
    CHECK(!middle.has_value());
}

TEST_CASE("a tree dies whole, each node once, whatever is shared in it") {
    const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
    const any_tensor given = data(home, {1});
    any_tensor kept;
    const auto tree = [&](auto&& self, int depth) -> any_tensor {
        const any_tensor below = depth == 0 ? given : self(self, depth - 1);
        const any_tensor beside = depth == 0 ? given : self(self, depth / 2);
        if (depth == 5 && !kept.has_value()) kept = beside;
        return apply<op::multiply>(apply<op::add>(below, below), beside);
    };
    {
        const any_tensor t = tree(tree, 10);
        CHECK(given.get().use_count() > 100);
    }
    CHECK(kept.get().use_count() == 1);
    CHECK(kept.get()->pending_uses == 0);
    CHECK(kept.get()->inputs.size() == 2);
    kept = any_tensor();
    CHECK(given.get().use_count() == 1);
}

TEST_CASE("states and layout") {
    const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
    const any_tensor x = data(home, {2, 3}), y = apply<op::relu>(x);
    CHECK(x.get()->realised());
    CHECK(!y.get()->realised());
    CHECK(y.get()->row_major());
    CHECK(y.get()->count() == 6);
    CHECK(y.get()->owner == home);
}
