// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What lies between the dispatches of a plan, in one piece of memory.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/memory_plan.hpp>
#include <pumice/exec/plan/dispatch_list.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Temporaries and scratch memory, and where they lie.
struct arena {
    array_list<planned_buffer> buffers;
    array_list<int> number;  // among the buffers, of each memory that dispatches name; -1: none
    memory_plan memory;

    std::int64_t offset_of(std::size_t named) const noexcept {
        return memory.offsets[static_cast<std::size_t>(number[named])];
    }
};

/// Plans the arena of dispatches that run in this order: memory is shared only across barriers that
/// stand there anyway, or within one kernel that reads and writes element by element.
inline arena plan_arena(const dispatch_list& list, const array_list<placed_item>& order) {
    const plan& p = list.of();
    arena a;
    a.number.assign(p.values.size() + p.steps.size(), -1);
    const auto include = [&](std::size_t named, std::int64_t bytes, std::string name) {
        a.number[named] = static_cast<int>(a.buffers.size());
        a.buffers.push_back({bytes, -1, -1, -1, std::move(name)});
    };
    for (const int v : p.temporaries)
        if (p.at(v).place == 0) include(static_cast<std::size_t>(v), p.at(v).bytes(), {});
    for (std::size_t i = 0; i < p.steps.size(); ++i)
        if (list.scratch_bytes(i) > 0)
            include(p.values.size() + i, list.scratch_bytes(i),
                    cat({list.record(i)->kernel, " scratch"}));

    // Of each buffer how many dispatches touch it at its last moment, and the last of them.
    array_list<int> readers(a.buffers.size(), 0);
    array_list<std::size_t> last_reader(a.buffers.size(), 0);
    int moment = 0;
    for (const placed_item& placed : order) {
        moment += placed.barrier;
        for (const access& touched : list.launches()[placed.index]->accesses) {
            const int number = a.number[list.memory_of(placed.index, touched.buffer)];
            if (number < 0) continue;
            const auto n = static_cast<std::size_t>(number);
            planned_buffer& b = a.buffers[n];
            if (b.first < 0) b.first = moment;
            if (b.last != moment) readers[n] = 0;
            if (readers[n] == 0 || last_reader[n] != placed.index) ++readers[n];
            last_reader[n] = placed.index;
            b.last = moment;
            if (touched.write && b.name.empty())
                b.name = list.record(list.step_of(placed.index))->kernel;
        }
    }

    array_list<char> taken(a.buffers.size(), 0);
    for (const giving& g : p.givings) {
        if (p.at(g.from).role != value_role::temporary || p.at(g.from).place != 0) continue;
        const auto from = static_cast<std::size_t>(a.number[static_cast<std::size_t>(g.from)]),
                   to = static_cast<std::size_t>(a.number[static_cast<std::size_t>(g.to)]);
        planned_buffer &giver = a.buffers[from], &taker = a.buffers[to];
        if (giver.first < 0 || giver.bytes != taker.bytes || giver.last != taker.first ||
            readers[from] != 1 || taker.in_place_of >= 0 || taken[from])
            continue;
        taker.in_place_of = static_cast<int>(from);
        taken[from] = 1;
    }
    for (planned_buffer& b : a.buffers)
        if (b.first < 0) b.first = b.last = 0, b.bytes = 0;
    a.memory = plan_memory(a.buffers);
    return a;
}

}}  // namespace pumice::PUMICE_ABI
