// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The steps of an evaluation, run by the host.
#pragma once

#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/scheduler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What the host runs for each step of a plan, kept with it.
inline const array_list<std::shared_ptr<const kernel_record>>& host_records(known_plan& k) {
    while (k.host_records.size() < k.what.steps.size())
        k.host_records.push_back(host_record(k.what.steps[k.host_records.size()].what));
    return k.host_records;
}

/// For each value that takes over the memory of a given one in this run: it, else null.
inline array_list<storage*> taken_over(plan_run& run) {
    const plan& p = run.what();
    array_list<storage*> by_value(p.values.size(), nullptr);
    for (std::size_t k = 0; k < p.givings.size() && !run.givings.empty(); ++k) {
        if (!run.givings.contains(static_cast<int>(k))) continue;
        const auto to = static_cast<std::size_t>(p.givings[k].to);
        run.made[to] = run.given[static_cast<std::size_t>(p.givings[k].from)]->data;
        by_value[to] = run.made[to].get();
    }
    return by_value;
}

/// Steps [begin, end) of a plan, as the host runs them: without those that a giving makes needless.
struct host_steps {
    const plan& what;
    std::size_t begin, end;
    giving_mask givings;
    std::span<const scalar> numbers;
    std::span<const std::shared_ptr<const kernel_record>> records;  // of all steps
};

/// Runs them in order. `memory_of(value)` is where it lies, `begins(value)` is called before it is
/// written. Throws errc::cancelled once `stop` is asked for. Gives the bytes of results that were
/// written.
template <class MemoryOf, class Begins>
std::int64_t run_on_host(const host_steps& list, const thread_pool& threads,
                         profile_recorder* profile, const std::stop_token& stop,
                         MemoryOf&& memory_of, Begins&& begins) {
    std::int64_t written = 0;
    for (std::size_t i = list.begin; i < list.end; ++i) {
        const plan_step& s = list.what.steps[i];
        if (list.givings.contains(s.unless_given)) continue;
        host_buffers buffers{{}, list.numbers};
        std::int64_t touched = 0;
        for (const int v : s.buffers) {
            buffers.memory.push_back(memory_of(v));
            touched += list.what.at(v).bytes();
        }
        const std::string name = profile ? profile_name(*list.records[i]) : "";
        const profile_scope running(profile, name, profile_recorder::on_device, touched);
        if (stop.stop_requested()) throw_cancelled();
        for (const int v : s.outputs) begins(v);
        run_on_host(s.what, buffers, threads);
        written += list.records[i]->written;
    }
    return written;
}

/// Those of a run over tensors; what takes over the memory of one is lost until the run is settled.
template <class MemoryOf>
std::int64_t run_on_host(const plan_run& run, std::size_t begin, std::size_t end,
                         const array_list<storage*>& taken_over, const thread_pool& threads,
                         profile_recorder* profile, const std::stop_token& stop,
                         MemoryOf&& memory_of) {
    return run_on_host({run.what(), begin, end, run.givings, run.numbers, run.records}, threads,
                       profile, stop, memory_of, [&](int v) {
                           if (storage* const over = taken_over[static_cast<std::size_t>(v)])
                               over->lost = true;
                       });
}

}}  // namespace pumice::PUMICE_ABI
