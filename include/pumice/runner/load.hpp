// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Runners of models' files and of packages, on the device that a word names. Needs the CMake
// targets pumice::onnx and pumice::package beside pumice::pumice.
#pragma once

#include <pumice/model.hpp>
#include <pumice/package.hpp>
#include <pumice/runner/runner.hpp>

#include <filesystem>
#include <functional>

#if defined(__unix__)
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// The device that a runner is made for.
enum class runner_kind : std::uint8_t {
    best,        // discrete before integrated before virtual GPUs before CPU drivers, or the host
    discrete,    // the first of that type, and none other
    integrated,  //
    gpu,         // any GPU
    cpu,         // a CPU driver of Vulkan's
    host         // the host device: native loops
};

/// By name. Throws errc::invalid_argument that names it.
inline runner_kind runner_kind_named(std::string_view name) {
    constexpr std::string_view names[] = {"best", "discrete", "integrated", "gpu", "cpu", "host"};
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (names[i] == name) return static_cast<runner_kind>(i);
    fail(errc::invalid_argument, "make_runner",
         {"there is no kind of runner \"", name,
          "\"; there are best, discrete, integrated, gpu, cpu and host"});
}

namespace detail {

/// {model}, {pid} and {tid} of a pattern.
inline std::string expanded(std::string pattern, std::string_view model) {
    const auto put = [&](std::string_view name, const std::string& by) {
        for (std::size_t at = 0; (at = pattern.find(name, at)) != std::string::npos;
             at += by.size())  // `by` may have the name in it
            pattern.replace(at, name.size(), by);
    };
#if defined(__unix__)
    put("{pid}", std::to_string(::getpid()));
#else
    put("{pid}", std::to_string(process_number()));
#endif
    put("{tid}", std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id())));
    put("{model}", std::string(model));
    return pattern;
}

/// What a runner asks of a context of its own.
struct runner_policy {
    runner_kind kind;
    const runner_options& options;
    std::string model;
    void apply(policy_set& set) const {
        const auto only = [&](device_type type, const char* wish) {
            set.device = [type](const device_candidate& d) { return d.info.type == type ? 0 : -1; };
            set.device_named = true;
            set.device_wish = wish;
        };
        switch (kind) {
            case runner_kind::best: break;
            case runner_kind::discrete: only(device_type::discrete_gpu, "a discrete GPU"); break;
            case runner_kind::integrated:
                only(device_type::integrated_gpu, "an integrated GPU");
                break;
            case runner_kind::gpu: gpu_only{}.apply(set); break;
            case runner_kind::cpu: only(device_type::cpu, "a CPU driver"); break;
            case runner_kind::host: host_only{}.apply(set); break;
            default:
                fail(errc::invalid_argument, "make_runner",
                     {"there is no kind of runner ", static_cast<int>(kind)});
        }
        set.queue_index = options.queue_index;
        set.transfer_queues = options.transfer_queues;
        set.compiler_messages = options.compiler_messages;
        set.cache_folder = expanded(options.cache_folder, model);
    }
};

}  // namespace detail

/// A runner of a model's file, or of a package, as the file begins; on a device and a queue of its
/// own unless the options share them. Throws what loading throws, errc::no_device where there is
/// none of that kind, errc::invalid_argument for a kind, a queue or shapes that there are not, for
/// shapes of a package, which has its own, and for options that ask something of a context that is
/// shared.
inline runner make_runner(runner_kind kind, const std::filesystem::path& file,
                          const runner_options& options = {}, span<const shape> shapes = {}) {
    detail::check_options(options);
    const detail::runner_policy wanted{kind, options, file.stem().string()};
    const auto runner_in = [&](const context& home) {
        if (!package::is_package(file)) return runner(model::load(file, home), options, shapes);
        if (!shapes.empty())
            fail(errc::invalid_argument, "make_runner",
                 {file.string(), ": a package is recorded for its own shapes; leave them out"});
        return runner(package::load(file, home), options);
    };
    if (options.sharing == queue_sharing::exclusive) return runner_in(context(wanted));
    if (kind != runner_kind::best || options.queue_index != 0 || options.transfer_queues ||
        options.compiler_messages || !options.cache_folder.empty())
        fail(errc::invalid_argument, "make_runner",
             {"the process-wide context is shared, and is what it is: leave out the kind, "
              "queue_index, transfer_queues, compiler_messages and cache_folder, or take "
              "queue_sharing exclusive"});
    return runner_in(default_context());
}

}}  // namespace pumice::PUMICE_ABI
