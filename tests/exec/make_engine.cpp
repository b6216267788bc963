// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From policies and the environment to a device, and what is said where there is none.
#include "support.hpp"

#include <pumice/base/expected.hpp>
#include <pumice/exec/make_engine.hpp>
#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

namespace pm = pumice;

namespace {

pm::policy_set none_of_them() {
    pm::policy_set p;
    p.device = [](const pm::device_candidate&) { return -1; };
    p.device_wish = "a device that nobody makes";
    return p;
}

}  // namespace

TEST_CASE(
    "make_engine: a named policy that no device meets throws with what was sought, found and "
    "refused") {
    pm::policy_set p = none_of_them();
    p.device_named = true;
    try {
        pm::make_engine(p);
        FAIL("there is no such device");
    } catch (const pm::error& e) {
        if (e.code() == pm::errc::no_vulkan_loader) return;  // which is then what it is about
        CHECK(e.code() == pm::errc::no_device);
        CHECK(e.message().find("a device that nobody makes") != std::string::npos);
        const test::found_device f = test::find_device();
        if (!f.best) return;
        bool named = false;
        for (const std::string& r : e.reasons())
            named |= r == f.best->info.name + ": not a device that nobody makes";
        CHECK(named);
        CHECK(e.reasons().back().find("mesa-vulkan-drivers") != std::string::npos);
    }
}

TEST_CASE("make_engine: the same policy, not named, falls back to the host with one warning") {
    const auto engine = pm::make_engine(none_of_them());
    CHECK(engine->device().type == pm::device_type::host);
    CHECK(engine->device_report().starts_with("device  host (native C++)\n"));
}

TEST_CASE("make_engine: contexts one after another find the device, however many") {
    const pm::context first;
    for (int i = 0; i < 48; ++i) CHECK(pm::context().device().name == first.device().name);
}

TEST_CASE("make_engine: the host is one of the devices that a policy ranks") {
    const test::found_device f = test::find_device();
    if (!f.best) PUMICE_SKIP("vulkan-device", "no Vulkan device to be preferred to the host");
    CHECK(pm::context(pm::prefer_discrete{}).device().type != pm::device_type::host);
    CHECK(pm::context(pm::prefer_integrated{}).device().type != pm::device_type::host);
    const auto ranked = [](int host, int others) {
        pm::policy_set p;
        p.device = [host, others](const pm::device_candidate& d) {
            return d.info.type == pm::device_type::host ? host : others;
        };
        return pm::make_engine(p)->device().type == pm::device_type::host;
    };
    CHECK(ranked(1, 0));
    CHECK(ranked(0, -1));
    CHECK_FALSE(ranked(0, 0));
    CHECK_FALSE(ranked(0, 1));
    CHECK_FALSE(ranked(-1, 0));
    CHECK(ranked(-1, -1));  // with a warning
}

TEST_CASE("make_engine: host_only takes the host without asking Vulkan") {
    const test::variable no_drivers("VK_DRIVER_FILES", "/nowhere.json");
    const pm::context home(pm::host_only{});
    CHECK(home.device().type == pm::device_type::host);
    CHECK(home.device_report().find("chosen by policy") != std::string::npos);
}

TEST_CASE("make_engine: PUMICE_DEVICE is a wish that a policy of the program's overrules") {
    const auto ranks = [](const char* wish, pm::policy_set p, pm::device_type type,
                          const char* name) {
        const test::variable v("PUMICE_DEVICE", wish);
        pm::detail::apply_environment(p);
        pm::device_candidate d;
        d.info.type = type;
        d.info.name = name;
        return p.device ? p.device(d) : 77;
    };
    CHECK(ranks("", {}, pm::device_type::cpu, "") == 77);  // by default
    CHECK(ranks("host", {}, pm::device_type::host, "host") == 0);
    CHECK(ranks("host", {}, pm::device_type::cpu, "") == -1);
    CHECK(ranks("cpu", {}, pm::device_type::cpu, "") == 0);
    CHECK(ranks("cpu", {}, pm::device_type::discrete_gpu, "") == -1);
    CHECK(ranks("H200", {}, pm::device_type::discrete_gpu, "NVIDIA H200") == 0);
    CHECK(ranks("H200", {}, pm::device_type::discrete_gpu, "another") == -1);
    pm::policy_set own;
    pm::gpu_only{}.apply(own);
    CHECK(ranks("host", own, pm::device_type::discrete_gpu, "") == 4);

    const test::variable v("PUMICE_DEVICE", "no such name");
    CHECK_THROWS_AS(pm::make_engine({}), pm::error);
}

TEST_CASE(
    "make_engine: PUMICE_DEVICE=host for a program that wants Vulkan: both wishes, the way out") {
    const test::variable v("PUMICE_DEVICE", "host");
    const auto refused = pm::context::try_make(pm::vulkan_only{});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == pm::errc::no_device);
    const std::string text = refused.error().what();
    for (const char* part : {"PUMICE_DEVICE=host asks for the host", "any Vulkan 1.3 device",
                             "unset PUMICE_DEVICE", "without that policy"})
        CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    CHECK(pm::context().device().type == pm::device_type::host);
}

TEST_CASE("make_engine: the best-ranked device is taken, and the report names it and the others") {
    const test::found_device f = test::find_device();
    if (!f.best) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const test::variable v("PUMICE_DEVICE", "");
    const auto engine = pm::make_engine({});
    CHECK(engine->device().name == f.best->info.name);
    CHECK(engine->device_report().starts_with("device  " + f.best->info.name));
    CHECK(engine->device_report().find("sought  any Vulkan 1.3 device") != std::string::npos);
    CHECK((pm::engine_hook.load() != nullptr));
}
