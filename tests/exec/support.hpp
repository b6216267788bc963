// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Contexts on a Vulkan device whose functions a test has replaced: to count calls, or to stand for
// a device that runs commands as late and in as odd an order as Vulkan allows.
#pragma once

#include <pumice/exec/vulkan/executable.hpp>
#include <pumice/tensor/context.hpp>
#include <pumice/tensor/creation.hpp>

#include <tests/vk/support.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <random>

namespace test {

/// The best usable device, as by default; null where there is none. `edit`: of the instance's
/// functions.
struct found_device {
    std::shared_ptr<vulkan::instance> instance;
    const vulkan::candidate* best = nullptr;
};
inline found_device find_device(vulkan::dispatcher_hook edit = {}) {
    found_device f;
    if (pumice::detail::environment("PUMICE_DEVICE") == "host") return f;
    try {
        if (edit) {
            vulkan::instance_options how;
            how.edit_dispatcher = std::move(edit);
            f.instance = vulkan::instance::create(std::move(how));
        } else {
            f.instance =
                vulkan::instance::shared();  // loading a driver often is more than some bear
        }
    } catch (const pumice::error& e) {
        std::fprintf(stderr, "no Vulkan instance: %s\n", e.what());
        return f;
    }
    for (const vulkan::candidate& c : f.instance->candidates())
        if (c.refusals.empty() && (!f.best || pumice::detail::type_rank(c.info) >
                                                  pumice::detail::type_rank(f.best->info)))
            f.best = &c;
    return f;
}

/// How a test wants its device.
struct wishes {
    vulkan::dispatcher_hook edit;
    bool staged =
        false;  // device memory is not mapped, as on most cards: uploads and downloads are copies
    pumice::policy_set policies;
    bool without_f64 = false;        // the device says that it has no f64
    std::int64_t shared_memory = 0;  // that the device says a workgroup has; 0: as it is
    bool gathers = false;  // evaluations may share a submit, which another thread may make
};

inline std::shared_ptr<pumice::vulkan_runtime> open_runtime(const wishes& w = {}) {
    const found_device f = find_device();
    if (!f.best) return nullptr;
    vulkan::candidate chosen = *f.best;
    if (w.staged) chosen.info.mapped_device_memory = chosen.info.unified_memory = false;
    if (w.without_f64) chosen.info.float64_arithmetic = false;
    if (w.shared_memory > 0) chosen.info.shared_memory = w.shared_memory;
    vulkan::device_options options;
    options.edit_dispatcher = w.edit;
    pumice::policy_set policies = w.policies;
    if (!w.gathers) policies.gather = 0;
    return std::make_shared<pumice::vulkan_runtime>(f.instance, chosen, policies, options);
}

/// Empty where there is no Vulkan device.
inline std::optional<pumice::context> open_context(const wishes& w = {}) {
    auto runtime = open_runtime(w);
    if (!runtime) return std::nullopt;
    return pumice::context(std::make_shared<pumice::vulkan_engine>(std::move(runtime),
                                                                   pumice::policy_set(w.policies),
                                                                   "of a test"));
}

/// n floats from `start` on, the same again after 17.
inline pumice::any_tensor numbers(const pumice::context& home, std::int64_t n, float start) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = start + float(i % 17);
    return pumice::from_bytes(pumice::dtype::f32, {n}, std::as_bytes(std::span(v)), home);
}
inline void eval(const pumice::any_tensor& t) {
    pumice::eval(std::span<const pumice::any_tensor>(&t, 1));
}

inline pumice::policy_set unfused() {
    pumice::policy_set p;
    p.fusion = false;
    return p;
}

namespace detail {
template <class Function, auto Member>
struct counting;
template <class Result, class... Arguments, auto Member>
struct counting<Result(VKAPI_PTR*)(Arguments...), Member> {
    inline static std::atomic<std::uint64_t> calls{0};
    inline static Result(VKAPI_PTR* real)(Arguments...) = nullptr;
    static VKAPI_ATTR Result VKAPI_CALL call(Arguments... arguments) {
        ++calls;
        return real(arguments...);
    }
};
template <auto Member>
using counting_of =
    counting<std::remove_reference_t<decltype(std::declval<vulkan::dispatcher&>().*Member)>,
             Member>;
}  // namespace detail

/// Puts a count before functions of a dispatcher.
template <auto... Members>
void count_calls(vulkan::dispatcher& table) {
    const auto one = [&table]<auto Member>() {
        using wrapped = detail::counting_of<Member>;
        if (!(table.*Member) || table.*Member == &wrapped::call) return;
        wrapped::calls = 0;
        wrapped::real = table.*Member;
        table.*Member = &wrapped::call;
    };
    (one.template operator()<Members>(), ...);
}
/// How often a function was called since `count_calls`, on all devices together.
template <auto Member>
std::uint64_t calls() {
    return detail::counting_of<Member>::calls;
}

/// A device that keeps what is submitted until the host waits, and then runs it in an order that
/// the barriers permit, with a full barrier between any two commands, so that what comes out
/// depends on that order alone. A command B stays behind A only where barriers between them, in one
/// command buffer or in several, order A's stage before B's.
///
/// One at a time, and one thread at a time. It stands for one device, to which its `edit` is given.
class adversary {
public:
    enum class order { recorded, reversed, random };

    adversary() { current = this; }
    adversary(const adversary&) = delete;
    ~adversary() { current = nullptr; }

    vulkan::dispatcher_hook edit() {
        return [this](vulkan::dispatcher& table) {
            real_ = table;
            table.vkBeginCommandBuffer = &begin;
            table.vkEndCommandBuffer = &end;
            table.vkCmdBindPipeline = &bind;
            table.vkCmdPushConstants = &push;
            table.vkCmdDispatch = &dispatch;
            table.vkCmdCopyBuffer = &copy;
            table.vkCmdFillBuffer = &fill;
            table.vkCmdPipelineBarrier2 = &barrier;
            table.vkQueueSubmit2 = &submit;
            table.vkWaitSemaphores = &wait;
            table.vkQueueWaitIdle = &wait_idle;
        };
    }

    order how = order::recorded;
    std::mt19937 random;
    std::size_t drop_every = 0;  // of the barriers recorded from now on, every n-th is forgotten

    // What it did.
    int flushes = 0;                 // times that the host waited for something
    std::size_t commands = 0;        // run in another order than recorded
    std::size_t moved = 0;           // of these, the ones that did not run at their place
    std::size_t barriers = 0;        // recorded
    std::size_t most_at_once = 0;    // command buffers that one flush held
    bool last_seen_by_host = false;  // the last flush's last command is made visible to the host

private:
    using stages = VkPipelineStageFlags2;
    struct command {
        enum class kind { dispatch, copy, fill, barrier } what;
        stages stage = 0;               // where it runs
        stages before = 0, behind = 0;  // of a barrier
        VkPipeline pipeline = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        std::array<std::uint32_t, 4> pushed{};
        std::array<std::uint32_t, 3> grid{};
        VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
        std::vector<VkBufferCopy> regions;
        VkDeviceSize offset = 0, size = 0;
        std::uint32_t word = 0;
    };
    struct recording {
        bool once = true;
        VkPipeline pipeline = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        std::array<std::uint32_t, 4> pushed{};
        std::vector<command> list;
    };

    /// Single stages, which are all that commands run in.
    static stages expand(stages s) {
        constexpr stages transfers = VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT;
        stages out =
            s & (VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_HOST_BIT | transfers);
        if (s & VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT) out |= transfers;
        if (s & VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
            out |= transfers | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
        return out;
    }

    /// Runs everything that was submitted and signals the last of its values.
    VkResult flush() {
        if (pending_.empty()) return VK_SUCCESS;
        ++flushes;
        most_at_once = std::max(most_at_once, held_);
        std::vector<const command*> list;
        std::vector<stages> after;  // what each command of `list` is ordered before
        std::vector<std::vector<std::size_t>> needs;  // commands that each must follow
        for (const command& c : pending_) {
            if (c.what == command::kind::barrier) {
                for (std::size_t i = 0; i < list.size(); ++i)
                    if ((list[i]->stage | after[i]) & c.before) after[i] |= c.behind;
                continue;
            }
            std::vector<std::size_t>& earlier = needs.emplace_back();
            for (std::size_t i = 0; i < list.size(); ++i)
                if (after[i] & c.stage) earlier.push_back(i);
            list.push_back(&c);
            after.push_back(0);
        }
        last_seen_by_host = !after.empty() && (after.back() & VK_PIPELINE_STAGE_2_HOST_BIT) != 0;
        const VkResult result = run(list, needs);
        pending_.clear();
        held_ = 0;
        return result;
    }

    VkResult run(const std::vector<const command*>& list,
                 const std::vector<std::vector<std::size_t>>& needs) {
        VkCommandBufferBeginInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
        if (const VkResult r = real_.vkBeginCommandBuffer(carrier_, &info); r != VK_SUCCESS)
            return r;
        std::vector<char> done(list.size(), 0);
        for (std::size_t place = 0; place < list.size(); ++place) {
            const std::size_t i = next(needs, done);
            done[i] = 1;
            moved += i != place;
            commands += how != order::recorded;
            replay(*list[i]);
            full_barrier();
        }
        if (const VkResult r = real_.vkEndCommandBuffer(carrier_); r != VK_SUCCESS) return r;
        VkCommandBufferSubmitInfo what{};
        what.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
        what.commandBuffer = carrier_;
        VkSubmitInfo2 one{};
        one.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
        one.commandBufferInfoCount = 1;
        one.pCommandBufferInfos = &what;
        one.signalSemaphoreInfoCount = 1;
        one.pSignalSemaphoreInfos = &signal_;
        return real_.vkQueueSubmit2(queue_, 1, &one, VK_NULL_HANDLE);
    }

    std::size_t next(const std::vector<std::vector<std::size_t>>& needs,
                     const std::vector<char>& done) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < needs.size(); ++i) {
            bool free = !done[i];
            for (const std::size_t earlier : needs[i]) free = free && done[earlier];
            if (free) ready.push_back(i);
        }
        switch (how) {
            case order::recorded: return ready.front();
            case order::reversed: return ready.back();
            default: return ready[random() % ready.size()];
        }
    }

    void replay(const command& c) {
        switch (c.what) {
            case command::kind::dispatch:
                real_.vkCmdBindPipeline(carrier_, VK_PIPELINE_BIND_POINT_COMPUTE, c.pipeline);
                real_.vkCmdPushConstants(carrier_, c.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                         sizeof c.pushed, c.pushed.data());
                real_.vkCmdDispatch(carrier_, c.grid[0], c.grid[1], c.grid[2]);
                break;
            case command::kind::copy:
                real_.vkCmdCopyBuffer(carrier_, c.from, c.to,
                                      static_cast<std::uint32_t>(c.regions.size()),
                                      c.regions.data());
                break;
            case command::kind::fill:
                real_.vkCmdFillBuffer(carrier_, c.to, c.offset, c.size, c.word);
                break;
            case command::kind::barrier: break;
        }
    }
    void full_barrier() {
        VkMemoryBarrier2 memory{};
        memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
        memory.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        memory.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
        memory.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT;
        memory.dstAccessMask =
            VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT;
        VkDependencyInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
        info.memoryBarrierCount = 1;
        info.pMemoryBarriers = &memory;
        real_.vkCmdPipelineBarrier2(carrier_, &info);
    }

    static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer b,
                                                const VkCommandBufferBeginInfo* info) {
        recording& r = current->recordings_[b] = {};
        r.once = (info->flags & VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT) != 0;
        return VK_SUCCESS;
    }
    static VKAPI_ATTR VkResult VKAPI_CALL end(VkCommandBuffer) { return VK_SUCCESS; }
    static VKAPI_ATTR void VKAPI_CALL bind(VkCommandBuffer b, VkPipelineBindPoint, VkPipeline p) {
        current->recordings_[b].pipeline = p;
    }
    static VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer b, VkPipelineLayout layout,
                                           VkShaderStageFlags, std::uint32_t offset,
                                           std::uint32_t size, const void* data) {
        recording& r = current->recordings_[b];
        r.layout = layout;
        std::memcpy(reinterpret_cast<char*>(r.pushed.data()) + offset, data, size);
    }
    static command& add(VkCommandBuffer b, decltype(command::what) what, stages stage) {
        recording& r = current->recordings_[b];
        command c{};
        c.what = what;
        c.stage = stage;
        c.pipeline = r.pipeline;
        c.layout = r.layout;
        c.pushed = r.pushed;
        r.list.push_back(std::move(c));
        return r.list.back();
    }
    static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer b, std::uint32_t x, std::uint32_t y,
                                               std::uint32_t z) {
        add(b, command::kind::dispatch, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT).grid = {x, y, z};
    }
    static VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer b, VkBuffer from, VkBuffer to,
                                           std::uint32_t count, const VkBufferCopy* regions) {
        command& c = add(b, command::kind::copy, VK_PIPELINE_STAGE_2_COPY_BIT);
        c.from = from;
        c.to = to;
        c.regions.assign(regions, regions + count);
    }
    static VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer b, VkBuffer to, VkDeviceSize offset,
                                           VkDeviceSize size, std::uint32_t word) {
        command& c = add(b, command::kind::fill, VK_PIPELINE_STAGE_2_CLEAR_BIT);
        c.to = to;
        c.offset = offset;
        c.size = size;
        c.word = word;
    }
    static VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer b, const VkDependencyInfo* info) {
        adversary& self = *current;
        ++self.barriers;
        if (self.drop_every > 0 && self.barriers % self.drop_every == 0) return;
        command& c = add(b, command::kind::barrier, 0);
        // Barriers of buffers order stages too, but their memory only; nobody records them today.
        CHECK(info->memoryBarrierCount == 1);
        CHECK(info->bufferMemoryBarrierCount == 0);
        c.before = expand(info->pMemoryBarriers->srcStageMask);
        c.behind = expand(info->pMemoryBarriers->dstStageMask);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t count,
                                                 const VkSubmitInfo2* info, VkFence fence) {
        CHECK(count == 1);
        CHECK(info->waitSemaphoreInfoCount == 0);
        CHECK(info->signalSemaphoreInfoCount == 1);
        CHECK(fence == VK_NULL_HANDLE);
        adversary& self = *current;
        self.queue_ = queue;
        self.signal_ = info->pSignalSemaphoreInfos[0];
        for (std::uint32_t i = 0; i < info->commandBufferInfoCount; ++i) {
            const VkCommandBuffer b = info->pCommandBufferInfos[i].commandBuffer;
            const recording& r = self.recordings_.at(b);
            self.pending_.insert(self.pending_.end(), r.list.begin(), r.list.end());
            if (r.once) self.carrier_ = b;  // its pool was reset, and it is not submitted again
        }
        ++self.held_;
        return VK_SUCCESS;
    }
    static VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice device, const VkSemaphoreWaitInfo* info,
                                               std::uint64_t timeout) {
        if (const VkResult r = current->flush(); r != VK_SUCCESS) return r;
        return current->real_.vkWaitSemaphores(device, info, timeout);
    }
    static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
        if (const VkResult r = current->flush(); r != VK_SUCCESS) return r;
        return current->real_.vkQueueWaitIdle(queue);
    }

    inline static adversary* current = nullptr;

    vulkan::dispatcher real_;
    std::map<VkCommandBuffer, recording> recordings_;
    std::vector<command> pending_;
    std::size_t held_ = 0;
    VkCommandBuffer carrier_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkSemaphoreSubmitInfo signal_{};
};

}  // namespace test
