// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/external_memory.hpp>

#include <cstring>
#include <numeric>

using namespace pumice;

TEST_CASE("external memory: the device copies from an array in place, wherever it starts") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    {
        vulkan::memory memory(gpu.queue);
        vulkan::command_cache cache(gpu.queue);
        std::vector<std::uint32_t> host(100000);
        std::iota(host.begin(), host.end(), 0u);
        std::string why;
        const std::uint32_t* data = host.data() + 777;
        constexpr std::uint64_t size = 50000 * 4;
        const auto lent =
            vulkan::external_memory::open(gpu.device,
                                          {vulkan::external_kind::host_pages, size, data}, why);
        if (!lent) {
            CHECK_FALSE(why.empty());
            // A driver on the CPU that has the extension takes any memory of the process.
            CHECK_FALSE((gpu.device->has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) &&
                         gpu.device->info().type == device_type::cpu));
            return;
        }
        CHECK(lent->piece().size == size);
        const auto down = memory.allocate(size, vulkan::memory_usage::download);
        vulkan::commands c = cache.take();
        c.begin();
        c.copy(lent->piece(), down, {0, 0, size});
        c.barrier(vulkan::scope::transfer, vulkan::scope::host);
        c.end();
        const std::uint64_t value = gpu.queue->submit(c.handle());
        cache.give(std::move(c), value);
        gpu.queue->wait(value);
        memory.invalidate(down, 0, size);
        CHECK(std::memcmp(down.mapped, data, size) == 0);
        CHECK_FALSE(vulkan::external_memory::open(gpu.device,
                                                  {vulkan::external_kind::host_pages, 5, nullptr},
                                                  why));
        CHECK_FALSE(vulkan::external_memory::open(gpu.device,
                                                  {vulkan::external_kind::host_pages, 0, data},
                                                  why));
        CHECK(why == "there is nothing to import");
    }
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("external memory: what one buffer exports another imports, and both see the bytes") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    for (const auto kind : {vulkan::external_kind::opaque_fd, vulkan::external_kind::dma_buf}) {
        std::string why;
        const auto made = vulkan::external_memory::open(gpu.device, {kind, 10000}, why);
        if (!made) {  // the driver says why not
            CHECK_FALSE(why.empty());
            CHECK_FALSE((kind == vulkan::external_kind::opaque_fd &&
                         gpu.device->has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)));
            continue;
        }
        const int fd = made->export_fd(why);
        REQUIRE_MESSAGE(fd >= 0, why);
        const auto other =
            vulkan::external_memory::open(gpu.device, {kind, 10000, nullptr, fd}, why);
        REQUIRE_MESSAGE(other, why);  // and has the descriptor
        CHECK(other->piece().device_address != 0);
        if (!made->piece().mapped || !other->piece().mapped) continue;
        std::memset(made->piece().mapped, 7, 10000);
        made->flush(0, 10000);
        other->invalidate(0, 10000);
        CHECK(static_cast<const char*>(other->piece().mapped)[9999] == 7);
        const int again = other->export_fd(why);  // of what was imported itself
        REQUIRE_MESSAGE(again >= 0, why);
        const auto third =
            vulkan::external_memory::open(gpu.device, {kind, 10000, nullptr, again}, why);
        REQUIRE_MESSAGE(third, why);
        third->invalidate(0, 10000);
        CHECK(static_cast<const char*>(third->piece().mapped)[9999] == 7);
#if defined(__linux__)
        const int refused = made->export_fd(why);
        REQUIRE_MESSAGE(refused >= 0, why);
        CHECK_FALSE(vulkan::external_memory::open(gpu.device, {kind, 10000, nullptr, refused, 99},
                                                  why));
        CHECK(::fcntl(refused, F_GETFD) == -1);  // closed: nobody else has it
#endif
    }
    std::string why;
    const auto own =
        vulkan::external_memory::open(gpu.device, {vulkan::external_kind::own, 64}, why);
    REQUIRE(own);
    CHECK(own->export_fd(why) < 0);
    CHECK(why.find("not made as memory of a file descriptor") != std::string::npos);
    CHECK_FALSE(vulkan::external_memory::open(gpu.device,
                                              {vulkan::external_kind::own, 64, nullptr, -1, 99},
                                              why));
    CHECK(why.find("none of index 99") != std::string::npos);
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("device: a queue that its family does not have is refused by name") {
    vulkan::device_options options;
    options.queue_index = 1000;
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    const error e = test::thrown_by([&] { test::open(options); });
    CHECK(e.code() == errc::invalid_argument);
    CHECK(e.message().find("none of index 1000") != std::string::npos);
}
