// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the seam itself does: lazy nodes are counted, and run at once or at a bound.
#include <pumice/tensor/engine.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using pumice_test::fake_engine;

namespace {

pm::policy_set with(const auto&... policies) {
    pm::policy_set set;
    (policies.apply(set), ...);
    return set;
}

}  // namespace

TEST_CASE("engine: nothing has been done by a new one") {
    const pm::statistics s;
    CHECK(s.evals + s.dispatches + s.submits + s.uploads + s.downloads + s.device_bytes == 0);
    CHECK(std::make_shared<fake_engine>()->policies().fusion);
}

TEST_CASE("engine: at the bound of pending nodes the newest runs, and counting starts anew") {
    pm::policy_set set;
    set.max_pending = 3;
    const auto home = std::make_shared<fake_engine>(set);
    const pm::any_tensor x = pumice_test::data(home, {2});
    for (int i = 1; i <= 10; ++i) {
        home->note(pm::apply<pm::op::exp>(x).get());
        CHECK(home->evaluated == i / 3);
    }
}

TEST_CASE("engine: an eager one runs every node when it is made") {
    const auto home = std::make_shared<fake_engine>(with(pm::eager{}));
    const pm::any_tensor x = pumice_test::data(home, {2});
    for (int i = 1; i <= 3; ++i) {
        home->note(pm::apply<pm::op::exp>(x).get());
        CHECK(home->evaluated == i);
    }
}

TEST_CASE("engine: a long chain on an engine that runs it stays short") {
    pm::policy_set set;
    set.max_pending = 8;
    const auto home = std::make_shared<pm::host_engine>(std::move(set), "host");
    pm::any_tensor x = pumice_test::data(home, {2});
    for (int i = 0; i < 100; ++i) {
        x = pm::apply<pm::op::add>(x, 1.0);
        home->note(x.get());
    }
    CHECK(home->stats().evals == 12);
    CHECK(pumice_test::values(x) == std::vector<float>{100, 100});
}
