// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The Vulkan engine when calls fail, when much is submitted and nothing conflicts, and while work
// is in flight.
#include "../random_programs.hpp"
#include "../support.hpp"

namespace pm = pumice;
using test::eval;
using test::numbers;
using table = test::vulkan::dispatcher;

TEST_CASE(
    "engine: any call that fails is an error, after which the device is idle and the same works") {
    // Keeps the driver loaded: NVIDIA's (580) gives no device any more once it was loaded some 27
    // times.
    const test::found_device keep = test::find_device();
    for (const bool staged : {false, true}) {
        CAPTURE(staged);
        test::wishes w;
        w.staged = staged;
        w.policies = test::unfused();
        w.edit = [](table& t) {
            test::intercept<&table::vkQueueSubmit2, &table::vkBeginCommandBuffer,
                            &table::vkEndCommandBuffer, &table::vkResetCommandPool,
                            &table::vkCreateCommandPool, &table::vkAllocateCommandBuffers,
                            &table::vkAllocateMemory, &table::vkCreateBuffer,
                            &table::vkCreateComputePipelines, &table::vkCreateShaderModule>(t);
        };
        const auto expected = [&] {
            const std::optional<pm::context> home = test::open_context(w);
            return home ? test::elements_of(test::run(*home, 5)) : std::vector<float>{};
        }();
        if (expected.empty()) PUMICE_SKIP("vulkan-device", "the case is of a device");
        int failed = 0, n = 0;
        for (;; ++n) {
            CAPTURE(n);
            const std::optional<pm::context> home = test::open_context(w);
            REQUIRE(home);
            test::faults::arm(n, VK_ERROR_OUT_OF_HOST_MEMORY);
            std::optional<pm::errc> code;
            try {
                test::elements_of(test::run(*home, 5));
            } catch (const pm::error& e) {
                code = e.code();
            }
            const bool over = test::faults::calls <= n;
            test::faults::disarm();
            if (over) break;
            failed += code.has_value();
            if (code) CHECK((*code == pm::errc::out_of_memory || *code == pm::errc::vulkan_failed));
            CHECK(test::same_bits(test::elements_of(test::run(*home, 5)), expected));
        }
        CHECK(n > 10);
        CHECK(failed > n / 2);  // the others have a way round: memory of another type, no pool kept
    }
}

TEST_CASE("engine: what nothing conflicts with is not remembered for ever") {
    const std::optional<pm::context> home = test::open_context({{}, false, test::unfused()});
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor a = numbers(*home, 16, 0);
    std::vector<pm::any_tensor> kept;
    const std::uint64_t before = home->stats().barriers;
    const std::size_t rounds = 2 * pm::hazard_tracker::most;
    for (std::size_t i = 0; i < rounds; ++i) {  // each reads `a` and writes memory of its own
        kept.push_back(pm::apply<pm::op::multiply>(a, double(i)));
        eval(kept.back());
    }
    const std::uint64_t barriers = home->stats().barriers - before;
    CHECK(barriers >= 2 * rounds / pm::hazard_tracker::most - 1);
    CHECK(barriers <= 2 * rounds / pm::hazard_tracker::most + 1);
    CHECK(pm::to_vector<float>(kept[7])[3] == 21);
    CHECK(pm::to_vector<float>(kept.back())[1] == float(rounds - 1));
}

TEST_CASE("engine: memory that a recording in flight reads goes to no later result") {
    test::adversary device;
    test::wishes w;
    w.edit = device.edit();
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    constexpr std::int64_t count = 5 << 20;
    const pm::any_tensor x = numbers(*home, 1, 2), other = numbers(*home, count, 100);
    pm::eval(x, other);
    for (int round = 0; round < 3; ++round) {
        device.how = test::adversary::order::reversed;
        pm::any_tensor out[1];
        {
            const pm::any_tensor held = pm::apply<pm::op::add>(other, -100.0);
            eval(held);
            const pm::executable e =
                pm::trace(*home, std::vector<pm::executable::value>{{pm::dtype::f32, {1}}},
                          [&](std::span<const pm::any_tensor> t) {
                              return std::vector<pm::any_tensor>{
                                  pm::apply<pm::op::multiply>(held, t[0])};
                          });
            e.run_into(out, std::vector<pm::any_tensor>{x});
        }
        const pm::any_tensor later = pm::apply<pm::op::multiply>(other, 7.0);
        eval(later);
        CHECK(pm::to_vector<float>(out[0])[5] == 10);
        CHECK(pm::to_vector<float>(later)[3] == 721);
    }
}
