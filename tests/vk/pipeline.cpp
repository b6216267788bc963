// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/pipeline.hpp>

#include <cstring>
#include <fstream>
#include <thread>

using namespace pumice;
namespace fs = std::filesystem;

namespace {

/// What the driver was given: sizes of all blobs that reached vkCreatePipelineCache.
std::vector<std::size_t> blobs;
PFN_vkCreatePipelineCache real_create = nullptr;

vulkan::device_options watching() {
    vulkan::device_options options;
    options.edit_dispatcher = [](vulkan::dispatcher& table) {
        real_create = table.vkCreatePipelineCache;
        table.vkCreatePipelineCache = [](VkDevice d, const VkPipelineCacheCreateInfo* info,
                                         const VkAllocationCallbacks* a, VkPipelineCache* out) {
            blobs.push_back(info->initialDataSize);
            return real_create(d, info, a, out);
        };
    };
    return options;
}

std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const fs::path& path, const std::string& data) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(data.data(), static_cast<std::streamsize>(data.size()));
}

std::uint32_t run_once(const test::gpu& gpu, const vulkan::pipeline& kernel, std::uint32_t start) {
    vulkan::memory memory(gpu.queue);
    vulkan::command_cache cache(gpu.queue);
    const auto data = memory.allocate(4, vulkan::memory_usage::download);
    const auto block =
        memory.allocate(sizeof(test::scale_parameters), vulkan::memory_usage::parameters);
    std::memcpy(data.mapped, &start, 4);
    const test::scale_parameters parameters{data.device_address, 1, 7};
    std::memcpy(block.mapped, &parameters, sizeof parameters);
    memory.flush(data, 0, 4);
    memory.flush(block, 0, block.size);
    vulkan::commands c = cache.take();
    c.begin();
    c.bind(kernel);
    c.push(block.device_address);
    c.dispatch(1);
    c.barrier(vulkan::scope::compute, vulkan::scope::host);
    c.end();
    const std::uint64_t value = gpu.queue->submit(c.handle());
    cache.give(std::move(c), value);
    gpu.queue->wait(value);
    memory.invalidate(data, 0, 4);
    std::uint32_t result = 0;
    std::memcpy(&result, data.mapped, 4);
    return result;
}

}  // namespace

TEST_CASE("pipeline: constants specialise it") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    {
        vulkan::pipeline_factory factory(gpu.device);
        CHECK(factory.path().empty());
        CHECK(run_once(gpu, *factory.create(test::scale_kernel, "by 3"), 10) == 37);
        const vulkan::constant by[] = {{0, 5}};
        vulkan::pipeline_options options;
        options.constants = by;
        CHECK(run_once(gpu, *factory.create(test::scale_kernel, "by 5", options), 10) == 57);
    }
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("pipeline: what is no SPIR-V does not reach the driver") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::pipeline_factory factory(gpu.device);
    const auto code = [&](std::span<const std::uint32_t> words) {
        return test::code_of([&] { factory.create(words, "broken"); });
    };
    CHECK(code({}) == errc::compile_failed);
    std::vector<std::uint32_t> words(std::begin(test::scale_kernel), std::end(test::scale_kernel));
    CHECK(code(std::span(words).first(4)) == errc::compile_failed);
    words[0] = 0x03022307;  // the other byte order
    CHECK(code(words) == errc::compile_failed);
    CHECK(gpu.device->stats().pipelines == 0);
}

TEST_CASE(
    "pipeline: subgroup sizes are asked for where the device has them, and refused where not") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    {
        vulkan::pipeline_factory factory(gpu.device);
        const device_info& info = gpu.device->info();
        vulkan::pipeline_options options;
        options.subgroup_size = info.max_subgroup_size;
        options.full_subgroups = true;
        if (info.subgroup_size_control)
            CHECK(run_once(gpu, *factory.create(test::scale_kernel, "k", options), 1) == 10);
        const auto code = [&] {
            return test::code_of([&] { factory.create(test::scale_kernel, "k", options); });
        };
        options.subgroup_size = info.max_subgroup_size * 2;
        CHECK(code() == errc::unsupported);
        options.subgroup_size = 3;
        CHECK(code() == errc::unsupported);
    }
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE("pipeline: threads create at the same time") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    {
        vulkan::pipeline_factory factory(gpu.device);
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        std::vector<std::shared_ptr<const vulkan::pipeline>> made(32);
        for (std::uint32_t t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (std::uint32_t i = t; i < made.size(); i += 8) {
                    const vulkan::constant by[] = {{0, i}};
                    vulkan::pipeline_options options;
                    options.constants = by;
                    made[i] = factory.create(test::scale_kernel, "k" + std::to_string(i), options);
                }
            });
        for (auto& each : threads) each.join();
        for (std::uint32_t i = 0; i < made.size(); ++i)
            wrong += run_once(gpu, *made[i], 2) != 2 * i + 7;
        CHECK(wrong == 0);
        CHECK(gpu.device->stats().pipelines == 32);
    }
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE(
    "pipeline cache: it is kept, shared, and the driver never sees a damaged or foreign one") {
    auto gpu = test::open(watching());
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    test::temporary_folder folder;
    fs::path path;
    const auto session =
        [&](std::uint32_t by) {  // one process's worth; returns what the driver was given first
            blobs.clear();
            vulkan::pipeline_factory factory(gpu.device, folder.path / "deep");
            path = factory.path();
            const vulkan::constant constants[] = {{0, by}};
            vulkan::pipeline_options options;
            options.constants = constants;
            CHECK(run_once(gpu, *factory.create(test::scale_kernel, "k", options), 1) == by + 7);
            return blobs.at(0);
        };
    CHECK(session(2) == 0);
    REQUIRE(fs::exists(path));
    const std::string first = content(path);
    CHECK(session(2) == first.size() - 80);
    const std::uint64_t hits = gpu.device->stats().pipeline_cache_hits;
    if (hits == 0) MESSAGE("this driver reports no cache hits");

    // Two at once: the one that saves last keeps what the other wrote.
    {
        vulkan::pipeline_factory a(gpu.device, folder.path / "deep"),
            b(gpu.device, folder.path / "deep");
        blobs.clear();
        vulkan::pipeline_options options;
        const vulkan::constant three[] = {{0, 3}}, four[] = {{0, 4}};
        options.constants = three;
        a.create(test::scale_kernel, "k3", options);
        options.constants = four;
        b.create(test::scale_kernel, "k4", options);
        a.save();
        CHECK(blobs.empty());  // the file was as it was read
        b.save();
        if (content(path) != first) CHECK(blobs.size() == 1);
    }

    const std::string whole = content(path);
    for (std::size_t i = 0; i < whole.size(); i += 1 + whole.size() / 40) {
        std::string bad = whole;
        bad[i] = static_cast<char>(bad[i] ^ 0x10);
        overwrite(path, bad);
        CHECK(session(2) == 0);
        CHECK(content(path) != bad);  // rebuilt
        overwrite(path, whole.substr(0, i));
        CHECK(session(2) == 0);
    }
    for (const auto& each : fs::directory_iterator(path.parent_path())) CHECK(each.path() == path);

    // Another device's cache lies in another file.
    auto other = gpu.instance->candidates()[0];
    other.info.driver_version += 1;
    CHECK(vulkan::pipeline_factory(vulkan::device::create(gpu.instance, other), folder.path)
              .path()
              .filename() != path.filename());
    CHECK(gpu.instance->validation_errors() == 0);
}

TEST_CASE(
    "pipeline cache: a folder that cannot be written costs a line in the log and nothing else") {
    auto gpu = test::open();
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    test::temporary_folder folder;
    overwrite(folder.path / "file", "x");
    static std::atomic<int> lines{0};
    lines = 0;
    const auto before = pumice::set_log_sink([](severity, std::string_view) { ++lines; });
    {
        vulkan::pipeline_factory factory(gpu.device, folder.path / "file" / "cache");
        CHECK(run_once(gpu, *factory.create(test::scale_kernel, "k"), 1) == 10);
    }
    pumice::set_log_sink(before);
    CHECK(lines == 1);
    CHECK(content(folder.path / "file") == "x");
}
