// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan run once: its dispatches become commands over the memory at hand, in one parameter ring
// and one submit.
#pragma once

#include <pumice/exec/vulkan/host_access.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Gives what the run makes its memory, brings what it reads to the device, records and submits.
/// Those givings of the list are carried out. Pre: the caller has the lane's lock.
inline void run_once(vulkan_lane& lane, plan_run& run, const dispatch_list& list,
                     const array_list<std::shared_ptr<const vulkan::pipeline>>& pipelines) {
    const std::shared_ptr<vulkan_runtime>& runtime = lane.runtime();
    const plan& p = run.what();
    profile_scope preparing(lane.profiling(), "preparing");

    array_list<vulkan_storage*> memory(p.values.size(), nullptr);  // of each value
    array_list<vulkan_storage*> made, written_over;
    const auto find_memory = [&](int v) {
        if (p.at(v).alias >= 0) return;  // within another's memory
        const auto number = static_cast<std::size_t>(v);
        if (const int from = list.memory_of(v); from != v) {
            run.made[number] = run.given[static_cast<std::size_t>(from)]->data;
            written_over.push_back(static_cast<vulkan_storage*>(run.made[number].get()));
        } else {
            const auto fresh = std::make_shared<vulkan_storage>(runtime, p.at(v).bytes());
            fresh->allocate_result();
            run.made[number] = fresh;
        }
        memory[number] = static_cast<vulkan_storage*>(run.made[number].get());
        made.push_back(memory[number]);
    };
    for (const array_list<int>* values : {&p.outputs, &p.temporaries})
        for (const int v : *values) find_memory(v);
    temporary_memory temp{runtime->memory(), {}, 0};
    array_list<command> items;
    array_list<ordered_item> accesses;
    array_list<vulkan_storage*> touched;
    const block_offsets blocks(list.launches());
    const vulkan::allocation ring = temp.get(blocks.size, vulkan::memory_kind::parameters);
    vulkan::allocation scratch;  // of the step at hand
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::size_t step = list.step_of(i);
        const array_list<int>& buffers = p.steps[step].buffers;
        if (i == 0 || list.step_of(i - 1) != step) {
            for (const int v : buffers) {
                vulkan_storage*& s = memory[static_cast<std::size_t>(v)];
                if (!s) s = &storage_of(*run.given[static_cast<std::size_t>(v)]);
                lane.upload(*s, temp, items, accesses);
                touched.push_back(s);
            }
            if (list.scratch_bytes(step) > 0)
                scratch = temp.get(static_cast<std::uint64_t>(list.scratch_bytes(step)),
                                   vulkan::memory_kind::device);
        }
        struct place {
            const vulkan::allocation& piece;
            std::int64_t begin;  // in it
        };
        const auto place_of = [&](int buffer) -> place {
            if (buffer < 0) return {scratch, 0};
            const auto v = static_cast<std::size_t>(buffers[static_cast<std::size_t>(buffer)]);
            return {memory[v]->piece, run.begin_of(v)};
        };
        const launch& l = *list.launches()[i];
        write_block(
            l,
            [&](int buffer) {
                const place at = place_of(buffer);
                return at.piece.device_address + static_cast<std::uint64_t>(at.begin);
            },
            run.numbers, static_cast<std::byte*>(ring.mapped) + blocks.at[i]);
        items.push_back(command_of(list, i, pipelines, ring.device_address + blocks.at[i]));
        ordered_item o;
        for (const access& a : l.accesses) {
            if (a.end <= a.begin) continue;
            const place at = place_of(a.buffer);
            o.accesses.push_back(range_in(at.piece, at.begin + a.begin, at.begin + a.end, a.write));
        }
        accesses.push_back(std::move(o));
    }
    runtime->memory().flush(ring, 0, ring.size);
    preparing.end();
    const std::uint64_t value = lane.record(items, accesses, written_over);
    temp.value = value;
    for (vulkan_storage* s : touched) s->last_use = std::max(s->last_use, value);
    for (vulkan_storage* s : made) {
        s->host.reset();
        s->on_device = true;
        s->host_sees = s->was_read = false;
        s->written = s->last_use = value;
    }
    ++lane.counted.evals;
    lane.counted.written_bytes += static_cast<std::uint64_t>(list.written_bytes());
}

}}  // namespace pumice::PUMICE_ABI
