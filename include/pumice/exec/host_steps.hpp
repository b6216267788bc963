// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The steps of an evaluation, run by the host.
#pragma once

#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/scheduler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What the host runs for a problem, as kernels are recorded.
inline std::shared_ptr<kernel_record> host_record(const problem& p) {
    auto record = std::make_shared<kernel_record>();
    record->kernel = cat({"host/", family_of(p)});
    record->fused = fused_name(p);
    return record;
}

/// Runs the steps in order. `make(value)` is new memory for a value, kept in `run.made`,
/// `memory_of(node)` that of a realised one, where it lies from its offset 0. Throws
/// errc::cancelled once `stop` is asked for.
template <class Make, class MemoryOf>
void run_steps_on_host(plan_run& run, const thread_pool& threads, profile_recorder* profile,
                       const std::stop_token& stop, Make&& make, MemoryOf&& memory_of) {
    const plan& p = *run.what;
    array_list<std::byte*> memory(p.values.size());
    for (const array_list<int>* list : {&p.outputs, &p.temporaries})
        for (const int v : *list)
            if (p.at(v).alias < 0)
                memory[static_cast<std::size_t>(v)] =
                    make(p.at(v), run.made[static_cast<std::size_t>(v)]);
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
        const plan_step& s = p.steps[i];
        host_buffers buffers;
        std::int64_t touched = 0;
        for (const int v : s.buffers) {
            const node* const given = run.given[static_cast<std::size_t>(v)];
            buffers.memory.push_back(given ? memory_of(*given)
                                           : memory[static_cast<std::size_t>(v)]);
            touched += p.at(v).bytes();
        }
        if (!run.records[i]) run.records[i] = host_record(s.what);
        const std::string name = profile ? profile_name(*run.records[i]) : "";
        const profile_scope running(profile, name, profile_recorder::on_device, touched);
        if (stop.stop_requested()) throw_cancelled();
        run_on_host(s.what, buffers, threads);
    }
}

}}  // namespace pumice::PUMICE_ABI
