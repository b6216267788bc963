// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that a program places, on devices that a test describes: one that is not coherent, one
// that the host does not see into.
#include "support.hpp"

#include <pumice/exchange/dlpack.hpp>
#include <pumice/exchange/fd.hpp>
#include <pumice/exec/placed_memory.hpp>
#include <pumice/runner/runner.hpp>

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using vulkan::dispatcher;

namespace {

/// No memory type says that it is coherent.
struct incoherent {
    inline static PFN_vkGetPhysicalDeviceMemoryProperties real = nullptr;
    static VKAPI_ATTR void VKAPI_CALL call(VkPhysicalDevice d,
                                           VkPhysicalDeviceMemoryProperties* memory) {
        real(d, memory);
        for (VkMemoryType& t : memory->memoryTypes)
            t.propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
    }
};

std::vector<any_tensor> plus_one(std::span<const any_tensor> x) {
    return {any_tensor(x[0] + 1.0f)};
}
runner adding(const context& home, const runner_options& o, std::int64_t count = 100) {
    tensor_info x;
    x.name = "x";
    x.shape = {count};
    return {home, std::span(&x, 1), plus_one, o};
}

}  // namespace

TEST_CASE(
    "placed memory: what is not coherent is flushed and invalidated, unless the caller does") {
    if (pumice::detail::environment("PUMICE_DEVICE") == "host")
        PUMICE_SKIP("vulkan-device", "the host computes");
    vulkan::instance_options how;
    how.edit_dispatcher = [](dispatcher& table) {
        incoherent::real = table.vkGetPhysicalDeviceMemoryProperties;
        table.vkGetPhysicalDeviceMemoryProperties = &incoherent::call;
    };
    const auto instance = vulkan::instance::create(std::move(how));
    const vulkan::candidate* chosen = nullptr;
    for (const vulkan::candidate& c : instance->candidates())
        if (c.refusals.empty() && c.info.mapped_device_memory) chosen = &c;
    if (!chosen) return;  // there is nothing to flush
    vulkan::device_options options;
    options.edit_dispatcher = [](dispatcher& table) {
        test::count_calls<&dispatcher::vkFlushMappedMemoryRanges,
                          &dispatcher::vkInvalidateMappedMemoryRanges>(table);
    };
    const context home(std::make_shared<vulkan_engine>(
        std::make_shared<vulkan_runtime>(instance, *chosen, policy_set(), options), policy_set(),
        "of a test"));
    const auto flushes = [] { return test::calls<&dispatcher::vkFlushMappedMemoryRanges>(); };
    const auto invalidates = [] {
        return test::calls<&dispatcher::vkInvalidateMappedMemoryRanges>();
    };
    for (const bool skips : {false, true}) {
        runner_options o;
        o.input_view = o.output_view = io_view::hardware;
        o.skip_input_sync = o.skip_output_sync = skips;
        const runner r = adding(home, o);
        std::uint64_t seen = 0;
        for (const memory_kind kind : {memory_kind::device, memory_kind::fd}) {
            const runner_tensor x = r.allocate("x", kind), y = r.allocate("output0", kind);
            // NVIDIA's driver exports only memory that the host does not see.
            if (kind == memory_kind::fd && !x.data()) continue;
            REQUIRE(x.data());
            seen += 1;
            for (int i = 0; i < 100; ++i) x.data_as<float>()[i] = float(i);
            x.sync(sync_direction::to_device);
            REQUIRE(r.execute({x}, {y}) == run_status::ok);
            const std::uint64_t in = flushes(), out = invalidates();
            REQUIRE(r.execute({x}, {y}) == run_status::ok);
            CHECK(flushes() - in >= (skips ? 0 : 1));
            CHECK(invalidates() - out == (skips ? 0 : 1));
            const std::uint64_t before = invalidates();
            y.sync(sync_direction::from_device);
            CHECK(invalidates() - before == 1);
            CHECK(y.data_as<float>()[99] == 100);
            CHECK(r.stats().copies_in + r.stats().copies_out == 0);
        }
        CHECK(r.stats().syncs == (skips ? 0 : 4 * seen));
    }
}

TEST_CASE("placed memory: a run is one submit where host and device have memory of their own") {
    const test::found_device f = test::find_device();
    if (!f.best) PUMICE_SKIP("vulkan-device", "the host computes");
    vulkan::candidate chosen = *f.best;
    chosen.info.unified_memory = false;
    if (!chosen.info.mapped_device_memory) return;  // nothing is to be seen
    policy_set policies;
    policies.gather = 0;
    const context home(std::make_shared<vulkan_engine>(std::make_shared<vulkan_runtime>(f.instance,
                                                                                        chosen,
                                                                                        policies),
                                                       policy_set(), "of a test"));
    runner_options o;
    o.input_view = o.output_view = io_view::hardware;
    for (const std::int64_t count : {100, 100'000}) {  // of few bytes each recording shows them
        const runner r = adding(home, o, count);
        const runner_tensor x = r.allocate("x"), y = r.allocate("output0");
        REQUIRE(y.data());
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < count; ++i) x.data_as<float>()[i] = float(i % 7 + round);
            const std::uint64_t before = home.stats().submits;
            REQUIRE(r.execute({x}, {y}) == run_status::ok);
            CHECK(home.stats().submits - before == 1);
            CHECK(y.data_as<float>()[count - 1] == float((count - 1) % 7 + round + 1));
            REQUIRE(r.execute_async({x}, {y}).wait() == run_status::ok);
            CHECK(home.stats().submits - before == 2);
        }
    }
}

TEST_CASE("placed memory: on a device that the host does not see into, tensors show no memory") {
    test::wishes w;
    w.staged = true;
    const std::optional<context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "there is none");
    std::vector<float> values(100), got(100);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    for (const io_view view : {io_view::host, io_view::hardware}) {
        runner_options o;
        o.input_view = o.output_view = view;
        const runner r = adding(*home, o);
        const runner_tensor x = r.allocate("x"), y = r.allocate("output0", memory_kind::fd);
        CHECK(x.data() == nullptr);
        CHECK(y.data_as<float>() == nullptr);
        x.sync(sync_direction::to_device);  // there is nothing to do
        for (int round = 0; round < 3; ++round) {
            values[7] = float(round);
            x.write(std::as_bytes(std::span(values)));
            REQUIRE(r.execute({x}, {y}) == run_status::ok);
            y.read(std::as_writable_bytes(std::span(got)));
            CHECK(got[7] == float(round) + 1);
            CHECK(got[99] == 100);
        }
        CHECK(r.stats().copies_in == (view == io_view::host ? 3 : 0));
        // Parts of it too, each seen through a tensor of its own.
        tensor_info wide = r.info("x");
        wide.shape = {4, 100};
        const runner_tensor whole(*home, wide);
        std::vector<float> four(400, 5);
        whole.write(std::as_bytes(std::span(four)));
        std::vector<float> part(100);
        whole.sub(2).read(std::as_writable_bytes(std::span(part)));
        CHECK(part == std::vector<float>(100, 5));
    }
    // Host pages are seen all the same.
    const runner_tensor pages(*home, adding(*home, {}).info("x"), memory_kind::host_import);
    CHECK(pages.data() != nullptr);

    const std::uint64_t uploads = home->stats().uploads, downloads = home->stats().downloads;
    // Values that go to others and come back stay on the device.
    const any_tensor t = from_bytes(dtype::f32, {100}, std::as_bytes(std::span(values)), *home);
    const any_tensor lent =
        from_dlpack(to_dlpack(t, dlpack_access::read_only, dlpack::vulkan), *home);
    const fd_memory handed = to_fd(t);
    const any_tensor taken = from_fd(handed, dtype::f32, {100}, *home);
    close(handed.fd);
    CHECK(home->stats().uploads == uploads + 1);
    CHECK(home->stats().downloads == downloads);
    CHECK(to_vector<float>(lent) == values);
    CHECK(to_vector<float>(taken) == values);
}
