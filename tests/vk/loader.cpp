// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/loader.hpp>

using namespace pumice;

TEST_CASE(
    "loader: one that is not there is a typed error that says what was tried and what to do") {
    const test::variable chosen("PUMICE_VULKAN_LOADER", "/nonexistent/libvulkan.so.1");
    try {
        vulkan::open_loader();
        FAIL("it opened");
    } catch (const error& e) {
        CHECK(e.code() == errc::no_vulkan_loader);
        REQUIRE(e.reasons().size() == 2);
        CHECK(e.reasons()[0].find("/nonexistent/libvulkan.so.1") != std::string::npos);
        CHECK(e.reasons()[1].find("PUMICE_VULKAN_LOADER") != std::string::npos);
    }
    CHECK(test::code_of([] { vulkan::instance::create(); }) == errc::no_vulkan_loader);
}

TEST_CASE("loader: a library that is none is refused") {
    const test::variable chosen("PUMICE_VULKAN_LOADER", "libm.so.6");
    try {
        vulkan::open_loader();
        FAIL("it opened");
    } catch (const error& e) {
        CHECK(e.code() == errc::no_vulkan_loader);
        CHECK(e.reasons()[0].find("no vkGetInstanceProcAddr") != std::string::npos);
    }
}

TEST_CASE("loader: an empty variable means the usual names, and opening twice is the same") {
    const test::variable chosen("PUMICE_VULKAN_LOADER", "");
    vulkan::loader a;
    if (test::code_of([&a] { a = vulkan::open_loader(); })) {
        PUMICE_SKIP("vulkan-device", "no Vulkan loader");
    }
    CHECK(bool(a.get_instance_proc_addr));
    CHECK((a.get_instance_proc_addr == vulkan::open_loader().get_instance_proc_addr));
    CHECK_FALSE(a.path.empty());
}
