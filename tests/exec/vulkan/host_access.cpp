// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the host reads of a device: only what it asks for, once it is written, also after a failure.
#include "../random_programs.hpp"
#include "../support.hpp"

namespace pm = pumice;
using test::eval;
using test::numbers;
using table = test::vulkan::dispatcher;

TEST_CASE("host access: a small part of a large array is fetched alone") {
    const std::optional<pm::context> home = test::open_context({{}, true, {}});
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor y = pm::apply<pm::op::abs>(numbers(*home, 4096, 1));
    const pm::slice middle[] = {{1000, 1010, 1}};
    const pm::any_tensor part = pm::slice_view(y, middle);
    eval(part);
    const std::vector<float> v = pm::to_vector<float>(part);
    CHECK(v.size() == 10);
    CHECK(v[0] == 1 + 1000 % 17);
    CHECK(home->stats().downloaded_bytes == 40);
    CHECK(pm::to_vector<float>(y)[4095] == 1 + 4095 % 17);
    CHECK(home->stats().downloaded_bytes == 40 + 4096 * 4);
}

TEST_CASE(
    "host access: what kernels wrote is made visible to the host before it reads it where it "
    "lies") {
    test::adversary device;
    test::wishes w;
    w.edit = device.edit();
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor y = pm::apply<pm::op::abs>(numbers(*home, 64, -3));
    CHECK(pm::to_vector<float>(y)[1] == 2);
    CHECK(device.flushes == 1);
    CHECK(device.last_seen_by_host);
}

TEST_CASE("host access: a download that fails takes no hazard with it") {
    test::wishes w;
    w.staged = true;
    w.policies = test::unfused();
    w.edit = [](table& t) { test::intercept<&table::vkQueueSubmit2>(t); };
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor a = numbers(*home, 64, 0);
    const pm::any_tensor b = pm::apply<pm::op::abs>(a);
    eval(b);
    test::faults::arm(0, VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(test::code_of([&] { pm::to_vector<float>(b); }) == pm::errc::out_of_memory);
    test::faults::disarm();
    const std::uint64_t barriers = home->stats().barriers;
    const pm::any_tensor c = pm::apply<pm::op::negative>(b);
    eval(c);  // reads what was written without a barrier since
    CHECK(home->stats().barriers == barriers + 1);
    CHECK(pm::to_vector<float>(c)[3] == -3);
    CHECK(pm::to_vector<float>(b)[3] == 3);
}
