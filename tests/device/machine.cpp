// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <pumice/exec/kernel_requests.hpp>
#include <pumice/exec/vulkan/float_controls.hpp>
#include <pumice/vk/command_cache.hpp>

#include <tests/support/block_layout.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace test {

namespace {

namespace vulkan = pumice::vulkan;

void add_files(array_list<library_module>& list, const std::string& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".slang") continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        list.push_back({std::filesystem::relative(entry.path(), folder)
                            .replace_extension()
                            .generic_string(),
                        text.str()});
    }
}

/// The library's modules, embedded or the files of PUMICE_SHADERS, and those of tests/extend.
array_list<library_module> modules() {
    array_list<library_module> list;
    add_files(list, pumice_test::tests_dir() + "/extend");
    if (const std::string folder = pumice::detail::environment("PUMICE_SHADERS"); !folder.empty()) {
        add_files(list, folder);
        return list;
    }
    for (library_module& m : shader_library()) list.push_back(std::move(m));
    return list;
}

kernel_service& service() {
    static kernel_service one({.modules = modules()});
    return one;
}

/// Says what took more than a second, so that a test that seems to hang tells on what.
/// PUMICE_TEST_TRACE=1 says at once what begins.
class slow {
public:
    explicit slow(std::string what) : what_(std::move(what)) {
        static const bool trace = !pumice::detail::environment("PUMICE_TEST_TRACE").empty();
        if (trace) std::printf("%s\n", what_.c_str()), std::fflush(stdout);
    }
    ~slow() {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
        if (took.count() > 1) std::printf("slow: %.1f s %s\n", took.count(), what_.c_str());
    }
    slow(const slow&) = delete;
    slow& operator=(const slow&) = delete;

private:
    std::string what_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class gpu final : public machine {
public:
    gpu(std::shared_ptr<vulkan::instance> instance, const vulkan::candidate& c)
        : instance_(std::move(instance)), device_(vulkan::device::create(instance_, c)),
          queue_(std::make_shared<vulkan::queue>(device_)), memory_(queue_), factory_(device_),
          commands_(queue_) {}

    const device_info& info() const override { return device_->info(); }

    void run(std::span<const launch> launches, std::vector<bytes>& buffers,
             std::span<const std::int64_t> origins, std::int64_t scratch) override {
        constexpr std::size_t guard = 256;
        const std::byte mark{0xa5};
        std::vector<std::size_t> places;
        std::size_t total = guard;
        const auto reserve = [&](std::size_t size) {
            places.push_back(total);
            total += (size + guard - 1) / guard * guard + guard;
        };
        for (const bytes& b : buffers) reserve(b.size());
        reserve(static_cast<std::size_t>(scratch));
        std::vector<std::size_t> blocks;
        for (const launch& l : launches) {
            reserve(l.parameters.size());
            blocks.push_back(places.back());
        }
        const auto up = memory_.allocate(total, vulkan::memory_usage::upload);
        const auto data = memory_.allocate(total, vulkan::memory_usage::device);
        const auto down = memory_.allocate(total, vulkan::memory_usage::download);
        auto* image = static_cast<std::byte*>(up.mapped);
        std::fill_n(image, total, mark);
        for (std::size_t i = 0; i < buffers.size(); ++i)
            std::copy(buffers[i].begin(), buffers[i].end(), image + places[i]);
        for (std::size_t i = 0; i < launches.size(); ++i) {
            const launch& l = launches[i];
            std::byte* block = image + blocks[i];
            std::copy(l.parameters.begin(), l.parameters.end(), block);
            for (const relocation& r : l.relocations) {
                const std::size_t b =
                    r.buffer == -2 ? buffers.size() : static_cast<std::size_t>(r.buffer);
                const std::int64_t origin = r.buffer == -2 ? 0 : origins[b];
                const std::uint64_t address = data.device_address + places[b] +
                                              static_cast<std::uint64_t>(origin + r.byte_offset);
                std::memcpy(block + r.at, &address, sizeof address);
            }
        }
        memory_.flush(up, 0, total);
        std::vector<std::shared_ptr<const vulkan::pipeline>> pipelines;
        for (const launch& l : launches) pipelines.push_back(pipeline_of(l));
        const slow running("running " + std::string(launches[0].module));

        const std::uint64_t messages =
            instance_->validation_errors() + instance_->validation_warnings();
        vulkan::commands c = commands_.take();
        c.begin();
        c.copy(up, data, {0, 0, total});
        c.barrier(vulkan::scope::transfer, vulkan::scope::compute);
        for (std::size_t i = 0; i < launches.size(); ++i) {
            if (i > 0) c.barrier(vulkan::scope::compute, vulkan::scope::compute);
            c.bind(*pipelines[i]);
            c.push(data.device_address + blocks[i]);
            c.dispatch(launches[i].grid[0], launches[i].grid[1], launches[i].grid[2]);
        }
        c.barrier(vulkan::scope::compute, vulkan::scope::transfer);
        c.copy(data, down, {0, 0, total});
        c.barrier(vulkan::scope::transfer, vulkan::scope::host);
        c.end();
        const std::uint64_t value = queue_->submit(c.handle());
        commands_.give(std::move(c), value);
        queue_->wait(value);
        memory_.invalidate(down, 0, total);

        const auto* after = static_cast<const std::byte*>(down.mapped);
        bool guarded = true;
        std::size_t end = 0;
        const auto untouched = [&](std::size_t from, std::size_t to) {
            for (std::size_t k = from; k < to; ++k) guarded = guarded && after[k] == mark;
        };
        for (std::size_t i = 0; i <= buffers.size(); ++i) {
            const std::size_t size =
                i < buffers.size() ? buffers[i].size() : static_cast<std::size_t>(scratch);
            untouched(end, places[i]);
            end = places[i] + size;
        }
        CHECK_MESSAGE(guarded, "a byte beside a buffer was written");
        for (std::size_t i = 0; i < buffers.size(); ++i)
            std::copy_n(after + places[i], buffers[i].size(), buffers[i].begin());
        for (const auto& a : {up, data, down}) memory_.free(a, value);
        CHECK(instance_->validation_errors() + instance_->validation_warnings() == messages);
    }

private:
    std::shared_ptr<const vulkan::pipeline> pipeline_of(const launch& l) {
        const kernel_request request = request_for(l);
        const std::string name = to_string(request);
        if (pipelines_.size() > 200) pipelines_.clear();
        auto& found = pipelines_[name + "/" + std::to_string(l.subgroup_size)];
        if (found) return found;
        std::shared_ptr<const spirv_code> code;
        {
            const slow compiling("compiling " + name);
            code = service().get(request);
        }
        pumice_test::check_layout(l, code->words);
        const slow building("building the pipeline of " + name);
        const vulkan::constant keeps{keeps_half_subnormals, device_->info().preserves_denorm16};
        found = factory_.create(with_float_controls(code->words, device_->info()), name,
                                {.subgroup_size = l.subgroup_size,
                                 .full_subgroups = l.subgroup_size != 0,
                                 .constants = {&keeps, 1}});
        return found;
    }

    std::shared_ptr<vulkan::instance> instance_;
    std::shared_ptr<vulkan::device> device_;
    std::shared_ptr<vulkan::queue> queue_;
    vulkan::memory memory_;
    vulkan::pipeline_factory factory_;
    vulkan::command_cache commands_;
    std::map<std::string, std::shared_ptr<const vulkan::pipeline>> pipelines_;
};

}  // namespace

const std::vector<std::unique_ptr<machine>>& machines() {
    // Never destroyed: at exit the validation layer is gone before we are.
    static auto& list = *new std::vector<std::unique_ptr<machine>>([] {
        std::vector<std::unique_ptr<machine>> found;
        try {
            const auto instance = vulkan::instance::create();
            for (const vulkan::candidate& c : instance->candidates())
                if (c.refusals.empty()) found.push_back(std::make_unique<gpu>(instance, c));
        } catch (const error& e) {
            if (e.code() != errc::no_vulkan_loader) throw;
        }
        for (const auto& m : found) std::printf("device: %s\n", to_string(m->info()).c_str());
        return found;
    }());
    if (list.empty()) pumice_test::skip("vulkan-device", "kernels run on a Vulkan device");
    return list;
}

}  // namespace test
