// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/policy/check_policies.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace pm = pumice;

namespace {

template <class... P>
std::string said_to(const P&... policies) {
    pm::policy_set set;
    (policies.apply(set), ...);
    return test::text_of_error([&] { pm::detail::check_policies(set); });
}

}  // namespace

TEST_CASE("check_policies: numbers are finite and not negative") {
    CHECK(said_to() == "nothing was thrown");
    CHECK(said_to(pm::memory_limit{0}, pm::run_ahead{1}, pm::submit_budget{0.5}) ==
          "nothing was thrown");
    CHECK(said_to(pm::memory_limit{-1}) ==
          "[context] the policy memory_limit is given a negative number");
    CHECK(said_to(pm::run_ahead{-5}) ==
          "[context] the policy run_ahead is given a negative number");
    CHECK(said_to(pm::allocation_limit{-5}).find("allocation_limit") != std::string::npos);
    CHECK(said_to(pm::poll_for{-5}).find("poll_for") != std::string::npos);
    CHECK(said_to(pm::submit_budget{std::numeric_limits<double>::quiet_NaN()}) ==
          "[context] the policy submit_budget is given no finite number");
    pm::device_rates rates{};
    rates.launch = std::numeric_limits<double>::infinity();
    CHECK(said_to(pm::measured_rates{rates}) ==
          "[context] the policy measured_rates (launch) is given no finite number");
}
