// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Runs that several engines have a part of.
#include <pumice/exec/joint_submissions.hpp>
#include <tests/support/idle_engine.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

/// Whose work is done when it is told so.
struct told_engine final : pumice_test::idle_engine {
    void wait_for(std::uint64_t n) const override {
        ++waits;
        must_be_there();
        CHECK(n <= done);
    }
    bool is_done(std::uint64_t n) const override {
        must_be_there();
        return n <= done;
    }
    void call_after(std::uint64_t, pm::callback<void()> f) override { later = f; }
    void must_be_there() const {
        if (lost) pm::fail(pm::errc::device_lost, "told", {"it is lost"});
    }

    std::uint64_t done = 0;
    bool lost = false;
    mutable int waits = 0;
    pm::callback<void()> later;
};

}  // namespace

TEST_CASE("joint_submissions: a run is done when all of its work is, and tells once") {
    const auto a = std::make_shared<told_engine>(), b = std::make_shared<told_engine>();
    pm::joint_submissions runs;
    CHECK(runs.add({}) == 0);
    CHECK(runs.add({pm::submission(), pm::submission(a, 0)}) == 0);
    const std::uint64_t run =
        runs.add({pm::submission(a, 1), pm::submission(), pm::submission(b, 1)});
    CHECK(run != 0);
    CHECK_FALSE(runs.done(run));
    int called = 0;
    runs.call_after(run, [&called] { ++called; });
    a->done = 1;
    CHECK_FALSE(runs.done(run));
    b->done = 1;
    b->later();
    CHECK(called == 0);
    a->later();
    CHECK(called == 1);
    CHECK(runs.done(run));
    runs.wait(run);
    CHECK(a->waits == 1);
    CHECK(b->waits == 1);
    const std::uint64_t next = runs.add({pm::submission(a, 2)});
    CHECK(next != run);
    CHECK(runs.done(run));  // and is not kept
    CHECK_FALSE(runs.done(next));
    a->lost = true;
    CHECK_THROWS_AS(runs.wait(next), pm::error);
    runs.add({pm::submission(b, 2)});
    CHECK_THROWS_AS(runs.done(next), pm::error);
}
