// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A Vulkan device at work: queue, memory, command buffers, kernels compiled to pipelines.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/kernel_requests.hpp>
#include <pumice/exec/vulkan/compile_watch.hpp>
#include <pumice/exec/vulkan/float_controls.hpp>
#include <pumice/exec/vulkan/submitter.hpp>
#include <pumice/tensor/engine.hpp>
#include <pumice/vk/instance.hpp>
#include <pumice/vk/memory.hpp>
#include <pumice/vk/pipeline.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class vulkan_runtime {
    friend class shader_operators;

public:
    /// A queue that only copies, while the one that computes is at work.
    struct transfer {
        transfer(const std::shared_ptr<vulkan::device>& device, const vulkan::device_queue& to)
            : queue(std::make_shared<vulkan::queue>(device, to)), commands(queue) {}
        std::shared_ptr<vulkan::queue> queue;
        vulkan::command_cache commands;
    };

    /// For engines: where its driver is left behind it stays as it is, with all that is the
    /// driver's and Slang's.
    template <class... Arguments>
    static std::shared_ptr<vulkan_runtime> make(const Arguments&... arguments) {
        return {new vulkan_runtime(arguments...), [](vulkan_runtime* r) {
                    if (!r->device_->left_behind()) delete r;
                }};
    }

    vulkan_runtime(std::shared_ptr<vulkan::instance> instance, const vulkan::candidate& chosen,
                   const policy_set& policies, vulkan::device_options options = {})
        : vulkan_runtime(instance,
                         vulkan::device::create(instance, chosen, with_queue(options, policies)),
                         policies) {}
    vulkan_runtime(std::shared_ptr<vulkan::instance> instance,
                   std::shared_ptr<vulkan::device> device, const policy_set& policies)
        : instance_(std::move(instance)), device_(std::move(device)),
          queue_(std::make_shared<vulkan::queue>(device_)),
          memory_(queue_, memory_options(policies)), commands_(queue_),
          factory_(device_, cache_folder_of(policies)), kernels_(service_options_of(policies)),
          compiling_(policies.compiling) {
        // What a CPU driver computes with are the processors that would ask.
        const bool cpu = device_->info().type == device_type::cpu;
        queue_->poll_for(std::chrono::microseconds(policies.poll_us),
                         std::chrono::microseconds(cpu ? policies.poll_us : policies.long_poll_us));
        for (const vulkan::device_queue& to : device_->transfer_queues())
            transfers_.push_back(make_owned<transfer>(device_, to));
        const bool unified = device_->info().unified_memory;
        if (unified || device_->info().mapped_device_memory) {
            host_sees_.emplace(device_);
            host_sees_->begin(true);
            host_sees_->barrier(any_access, vulkan::scope::host);
            host_sees_->end();
        }
        // A submit budget asks for short submits.
        const bool gathers = policies.gather > 0 && policies.submit_budget == 0;
        submitter_.emplace(queue_, commands_, host_sees_ ? host_sees_->handle() : nullptr, unified,
                           gathers ? static_cast<std::size_t>(policies.gather) : 0,
                           std::chrono::microseconds(policies.gather_us));
    }

    vulkan_runtime(const vulkan_runtime&) = delete;
    vulkan_runtime& operator=(const vulkan_runtime&) = delete;
    /// Pipelines go only when no submit uses them.
    ~vulkan_runtime() {
        submitter_.reset();
        queue_->wait_idle();
    }

    vulkan::device& device() noexcept { return *device_; }
    const std::shared_ptr<vulkan::device>& shared_device() const noexcept { return device_; }
    vulkan::queue& queue() noexcept { return *queue_; }
    vulkan::memory& memory() noexcept { return memory_; }
    vulkan::command_cache& commands() noexcept { return commands_; }
    vulkan_submitter& submitter() noexcept { return *submitter_; }
    /// Those of the device; work of the queue that computes waits for theirs where it is told to.
    span<const unique_ptr<transfer>> transfers() const noexcept { return transfers_; }
    kernel_service& kernels() noexcept { return kernels_; }
    /// For what the host does for the device.
    const thread_pool& threads() const noexcept { return threads_; }
    const vulkan::instance& instance() const noexcept { return *instance_; }

    /// What the device has done, and what it holds.
    void count(statistics& s) const {
        const vulkan::counters& c = device_->stats();
        s.barriers = c.barriers + submitter_->held_barriers();
        s.submits = c.submits;
        s.host_waits = c.host_waits;
        s.maps = c.maps;
        s.allocations = c.allocations;
        s.recordings = c.recordings;
        s.pipelines = c.pipelines;
        const kernel_counters& k = kernels_.counters();
        s.slang_compiles = k.compiles;
        s.slang_opens = k.library_opens;
        s.cache_hits = k.disk_hits;
        const vulkan::memory_stats m = memory_.stats();
        s.device_bytes = m.in_use - m.waiting;
        s.device_bytes_peak = m.high_water;
        s.memory = m.held;
    }

    /// Lets go of what only compiling needs, when that has been over for a while.
    void release_compiler(std::chrono::nanoseconds idle) noexcept {
        kernels_.release_compiler(idle);
    }

    /// The pipelines of some launches; those that are new are compiled, in parallel where there are
    /// several.
    array_list<std::shared_ptr<const vulkan::pipeline>> pipelines(const array_list<const launch*>&
                                                                      launches) {
        return pipelines(launches, [](std::size_t, auto&& make) { return make(); });
    }
    /// The same, where `at(i, make)` calls make() for the i-th launch and may say more of errors.
    template <class At>
    array_list<std::shared_ptr<const vulkan::pipeline>> pipelines(const array_list<const launch*>&
                                                                      launches,
                                                                  At&& at_launch) {
        array_list<std::uint64_t> keys;
        array_list<std::size_t> missing;  // a launch of each kernel that is new
        for (std::size_t i = 0; i < launches.size(); ++i) {
            keys.push_back(key_of(*launches[i]));
            bool known = ready_.find(keys[i]) != nullptr;
            for (const std::size_t m : missing) known |= keys[m] == keys[i];
            if (!known) missing.push_back(i);
        }
        array_list<std::shared_ptr<const vulkan::pipeline>> made(missing.size()), result;
        detail::compile_watch watch(compiling_, static_cast<int>(missing.size()));
        threads_.run(static_cast<std::int64_t>(missing.size()), 1, [&](std::int64_t i) {
            const auto at = static_cast<std::size_t>(i);
            made[at] = at_launch(missing[at], [&] { return create(*launches[missing[at]]); });
            watch.ready(*launches[missing[at]]);
        });
        for (std::size_t i = 0; i < missing.size(); ++i) ready_[keys[missing[i]]] = made[i];
        for (const std::uint64_t key : keys) result.push_back(*ready_.find(key));
        return result;
    }

private:
    static const vulkan::device_options& with_queue(vulkan::device_options& options,
                                                    const policy_set& policies) {
        options.queue_index = static_cast<std::uint32_t>(policies.queue_index);
        options.transfer_queues = policies.transfer_queues;
        return options;
    }
    static vulkan::memory_options memory_options(const policy_set& policies) {
        vulkan::memory_options o;
        if (policies.memory_limit > 0) o.limit = static_cast<std::uint64_t>(policies.memory_limit);
        if (policies.allocation_limit > 0)
            o.largest = static_cast<std::uint64_t>(policies.allocation_limit);
        if (policies.run_ahead > 0) o.ahead = static_cast<std::uint64_t>(policies.run_ahead);
        return o;
    }
    static std::uint64_t key_of(const launch& l) {
        hasher h;
        h.add(l.module).add(l.entry).add(static_cast<std::uint64_t>(l.subgroup_size));
        for (const std::string& a : l.arguments)
            h.add(a);  // names of programs are hashes of their text
        return h.value();
    }
    std::shared_ptr<const vulkan::pipeline> create(const launch& l) {
        if (l.shader) return l.shader_asks->create(*this, l);
        const kernel_request request = request_for(l);
        const auto code = kernels_.get(request);
        vulkan::pipeline_options o;
        o.subgroup_size = l.subgroup_size;
        o.full_subgroups = l.subgroup_size > 0;
        const vulkan::constant keeps{keeps_half_subnormals, device_->info().preserves_denorm16};
        o.constants = {&keeps, 1};
        return factory_.create(with_float_controls(code->words, device_->info()),
                               to_string(request), o);
    }

    std::shared_ptr<vulkan::instance> instance_;
    std::shared_ptr<vulkan::device> device_;
    std::shared_ptr<vulkan::queue> queue_;
    vulkan::memory memory_;
    vulkan::command_cache commands_;
    vulkan::pipeline_factory factory_;
    kernel_service kernels_;
    const callback<void(const compile_progress&)> compiling_;
    thread_pool threads_;
    /// On unified memory: submitted behind kernels whose results the host reads where they lie.
    /// A wait for the timeline alone makes nothing visible to the host.
    std::optional<vulkan::commands> host_sees_;
    std::optional<vulkan_submitter> submitter_;
    array_list<unique_ptr<transfer>> transfers_;
    key_map<std::uint64_t, std::shared_ptr<const vulkan::pipeline>> ready_;
};

}}  // namespace pumice::PUMICE_ABI
