// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Placement policies over described steps: no device, no plan.
#include <pumice/exec/make_engine.hpp>
#include <pumice/policy/placement.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

/// Two steps, of which the second reads what the first makes and a tensor that is there before, on
/// a device and the host.
struct asked {
    device_info devices[2];
    std::array<const device_info*, 2> places{&devices[0], &devices[1]};
    std::array<double, 2> seconds{1e-5, 2e-6};
    std::array<operand_view, 1> first{operand_view{-1, 400, 3}};
    std::array<operand_view, 2> second{operand_view{0, 400, 0}, operand_view{-1, 100, 2}};
    std::array<step_view, 2> steps{step_view{"reduce", first, 400, seconds},
                                   step_view{"elementwise", second, 100, seconds}};
    std::array<int, 2> at{0, 0};
    bool recorded = false;

    std::array<int, 2> by(const policy auto& p) {
        devices[1].type = device_type::host;
        policy_set set;
        p.apply(set);
        placement all_of{places, steps, at, recorded};
        set.place(all_of);
        return at;
    }
};

}  // namespace

TEST_CASE("host_below: all steps or none, by bytes, by where operands are and what the host can") {
    const std::array<int, 2> device{0, 0}, host{1, 1};
    CHECK(asked().by(host_below{1400}) == host);
    CHECK(asked().by(host_below{1399}) == device);
    asked away;
    away.second[1].holders = 1;
    CHECK(away.by(host_below{1 << 20}) == device);
    asked cannot;
    cannot.seconds[1] = -1;
    CHECK(cannot.by(host_below{1 << 20}) == device);
    asked often;
    often.recorded = true;
    CHECK(often.by(host_below{1 << 20}) == device);
    asked alone;
    alone.places[1] = &alone.devices[0];
    CHECK(alone.by(host_below{1 << 20}) == device);
}

TEST_CASE("place_steps: a function of the user's sets the places") {
    const auto policy = place_steps{[](placement& p) {
        for (std::size_t i = 0; i < p.steps.size(); ++i)
            if (p.steps[i].family == "elementwise") p.at[i] = p.host();
    }};
    CHECK(asked().by(policy) == std::array<int, 2>{0, 1});
}
