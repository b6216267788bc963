// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A loop's body recorded for many steps in one submit: what a step gives is what the next takes, so
// values lie in two places by turns, or in one where a step writes over what it was given.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/vulkan/executable.hpp>

#include <bit>

namespace pumice { inline namespace PUMICE_ABI {

/// Of one slot: the places of every second step, and recordings of 2, 4, 8 ... steps, made when
/// they are asked for. After each of them the carried values lie where they lay before.
class repeated_steps {
public:
    /// Pre: the slot outlives it, the first inputs of the graph are its outputs.
    repeated_steps(std::shared_ptr<vulkan_runtime> runtime, const recorded_graph& step,
                   const recorded_graph::slot& slot)
        : runtime_(std::move(runtime)), step_(step), slot_(slot), memory_(runtime_->memory()),
          block_bytes_((step.block_bytes() + 63) / 64 * 64) {
        const dispatch_list& list = step.dispatches();
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < list.of().outputs.size(); ++i) {
            const int out = list.of().outputs[i];
            const bool in_place = list.memory_of(out) == list.of().inputs[i];
            back_.push_back(in_place ? -1 : static_cast<std::int64_t>(bytes));
            if (!in_place)
                bytes += (static_cast<std::uint64_t>(list.of().at(out).bytes()) + 63) / 64 * 64;
        }
        if (bytes > 0)
            back_memory_.piece = memory_.allocate(bytes, vulkan::memory_usage::device,
                                                  {memory_role::temporaries, "steps of a loop"});
        blocks_.piece = memory_.allocate(2 * block_bytes_, vulkan::memory_usage::parameters);
        for (std::uint64_t turn = 0; turn < 2; ++turn) step.write_blocks(slot, block(turn));
    }

    /// Most steps in a submit: as many as keep the device at work while the host comes with the
    /// next, and no more than a watchdog or another program's work may wait for.
    static std::int64_t most(const recorded_graph& step) {
        constexpr std::size_t commands = 4096, steps = 64;
        constexpr double seconds = 0.02;
        const dispatch_list& list = step.dispatches();
        double one = 0;
        for (std::size_t i = 0; i < list.of().steps.size(); ++i)
            if (list.record(i)) one += list.record(i)->seconds;
        std::size_t most = steps;
        while (most > 1 &&
               (most * step.order().size() > commands || static_cast<double>(most) * one > seconds))
            most /= 2;
        return static_cast<std::int64_t>(most);
    }

    /// Where a run has its inputs and captured values. Pre: the device does not use the slot.
    void bind(span<const std::uint64_t> inputs) {
        for (std::uint64_t turn = 0; turn < 2; ++turn)
            step_.write_addresses(
                block(turn), addresses_[turn],
                [&](std::size_t i) { return turn == 0 ? inputs[i] : other(inputs, i); },
                [&](std::size_t i) { return turn == 0 ? other(inputs, i) : inputs[i]; });
        memory_.flush(blocks_.piece, 0, blocks_.piece.size);
    }
    /// Of 2^doublings steps, which begin where `bind` said.
    const vulkan::commands& recording(int doublings) {
        while (recordings_.size() <= static_cast<std::size_t>(doublings))
            recordings_.push_back(nullptr);
        auto& made = recordings_[static_cast<std::size_t>(doublings)];
        if (!made) {
            auto fresh = make_owned<held_commands>(*this);
            array_list<command> turns[2] = {step_.commands_of(address(0)),
                                            step_.commands_of(address(1))};
            array_list<placed_item> order = step_.order();
            fresh->list.begin(true);
            fresh->list.barrier(any_access, any_access);  // whatever was submitted before
            if (!order.empty()) order[0].barrier = false;
            for (int i = 0; i < 1 << doublings; ++i) {
                record_commands(fresh->list, turns[i % 2], order, {}, vulkan::scope::compute);
                if (!order.empty()) order[0].barrier = true;
            }
            if (step_.host_sees()) fresh->list.barrier(vulkan::scope::compute, vulkan::scope::host);
            fresh->list.end();
            made = std::move(fresh);
        }
        return made->list;
    }

private:
    struct held_memory {
        repeated_steps& of;
        vulkan::allocation piece;
        ~held_memory() {
            if (piece) of.memory_.free(piece, of.slot_.value);
        }
    };
    struct held_commands {
        repeated_steps& of;
        vulkan::commands list;
        explicit held_commands(repeated_steps& s) : of(s), list(s.runtime_->commands().take()) {}
        held_commands(const held_commands&) = delete;
        held_commands& operator=(const held_commands&) = delete;
        ~held_commands() { of.runtime_->commands().give(std::move(list), of.slot_.value); }
    };

    /// Where value i lies after every second step.
    std::uint64_t other(span<const std::uint64_t> inputs, std::size_t i) const {
        return i >= back_.size() || back_[i] < 0
                   ? inputs[i]
                   : back_memory_.piece.device_address + static_cast<std::uint64_t>(back_[i]);
    }
    std::uint64_t address(std::uint64_t turn) const {
        return blocks_.piece.device_address + turn * block_bytes_;
    }
    std::byte* block(std::uint64_t turn) const {
        return static_cast<std::byte*>(blocks_.piece.mapped) + turn * block_bytes_;
    }

    std::shared_ptr<vulkan_runtime> runtime_;
    const recorded_graph& step_;
    const recorded_graph::slot& slot_;
    vulkan::memory& memory_;
    std::uint64_t block_bytes_;
    array_list<std::int64_t> back_;  // of each output its place in `back_memory_`; -1: in place
    held_memory back_memory_{*this, {}}, blocks_{*this, {}};
    array_list<std::uint64_t> addresses_[2];            // that the blocks of a step have
    array_list<unique_ptr<held_commands>> recordings_;  // of 2^i steps
};

/// Runs recorded bodies of loops, many steps at once.
class step_repeater {
public:
    explicit step_repeater(vulkan_executable& body) : body_(body), lane_(body.lane_) {}

    /// Up to `steps` steps over the carried values and what is captured: how many were submitted,
    /// 0 where the loop has to go step by step.
    std::int64_t run(span<any_tensor> values, std::size_t carried, std::int64_t steps) {
        array_list<node_ptr> held;
        recorded_graph* const step = steps < 2 ? nullptr : prepare(values, carried, held);
        const std::int64_t most = step ? repeated_steps::most(*step) : 0;
        if (most < 2) return 0;
        auto lock = lane_.lock();
        if (lane_.timed()) return 0;  // it looks at each step
        recorded_graph::slot& s = body_.take(*step, lock, {});
        const vulkan_executable::borrowed lent{body_, s};
        array_list<std::uint64_t> at;
        array_list<byte_range> touched;
        for (std::size_t i = 0; i < held.size(); ++i) {
            const node& n = *held[i];
            if (n.count() == 0) {
                at.push_back(0);
                continue;
            }
            vulkan_storage& memory = storage_of(n);
            if (!memory.on_device) lane_.bring({&memory}, lock);
            const std::int64_t begin = byte_offset(n.type, n.offset);
            at.push_back(memory.piece.device_address + static_cast<std::uint64_t>(begin));
            touched.push_back(range_in(memory.piece, begin, begin + byte_count(n.type, n.count()),
                                       i < carried));
        }
        if (!s.repeated) s.repeated = std::make_shared<repeated_steps>(lane_.runtime(), *step, s);
        auto& many = *static_cast<repeated_steps*>(s.repeated.get());
        many.bind(span(at.data(), at.size()));
        std::int64_t done = 0;
        while (steps - done >= 2) {
            const auto doublings =
                static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::min(most,
                                                                                    steps -
                                                                                        done)))) -
                1;
            const vulkan::commands& recording = many.recording(doublings);
            lane_.make_room(touched.size());
            s.value = lane_.submit(recording);
            for (std::size_t i = 0; i < held.size(); ++i) {
                if (held[i]->count() == 0) continue;
                vulkan_storage& memory = memory_of(*held[i]);
                memory.last_use = s.value;
                if (i >= carried) continue;
                memory.written = s.value;
                memory.host.reset();
                memory.host_sees = step->host_sees();
                memory.was_read = false;
            }
            lane_.all_is_seen(touched);
            const std::int64_t now = std::int64_t{1} << doublings;
            lane_.counted.evals += static_cast<std::uint64_t>(now);
            lane_.counted.written_bytes +=
                static_cast<std::uint64_t>(now * step->dispatches().written_bytes());
            done += now;
            lock.unlock();
            lane_.make_way();
            lock.lock();
        }
        return done;
    }

private:
    /// Values as kernels read them, and the recording that writes over what it may. Null where a
    /// carried value is not the loop's own, or a run differs from the one before.
    recorded_graph* prepare(span<any_tensor> values, std::size_t carried,
                            array_list<node_ptr>& held) {
        const plan& p = body_.what();
        vulkan_engine& home = *body_.home_;
        if (!p.parameters.empty() || p.range || home.policies().submit_budget > 0) return nullptr;
        const std::lock_guard plans(home.mutex_);
        for (std::size_t i = 0; i < carried; ++i)
            if (!home.may_overwrite(values[i], p.at(p.outputs[i])) ||
                !vulkan_engine::lies_dense(*values[i].get(), 16))
                return nullptr;
        recorded_graph& step =
            body_.recording_for(home.what_gives(p, values, values.first(carried), false));
        if (step.has_shaders()) return nullptr;
        if (step.dispatches().stages().size() != 1 || step.dispatches().stages()[0].host)
            return nullptr;
        for (std::size_t i = 0; i < values.size(); ++i)
            held.push_back(i < carried ? values[i].get() : home.dense(values[i], 16));
        return &step;
    }

    vulkan_executable& body_;
    vulkan_lane& lane_;
};

}}  // namespace pumice::PUMICE_ABI
