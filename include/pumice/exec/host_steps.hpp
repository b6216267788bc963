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
    record->written = written_bytes(p);
    return record;
}

/// The same for each step of a plan, kept with it.
inline const array_list<std::shared_ptr<const kernel_record>>& host_records(known_plan& k) {
    while (k.host_records.size() < k.what.steps.size())
        k.host_records.push_back(host_record(k.what.steps[k.host_records.size()].what));
    return k.host_records;
}

/// Runs the steps in order. `make(value)` is new memory for a value, kept in `run.made`,
/// `memory_of(node)` that of a realised one, where it lies from its offset 0. The run's givings are
/// carried out; what a step writes over is lost until the run is settled. Throws errc::cancelled
/// once `stop` is asked for. Gives the bytes of results that were written.
template <class Make, class MemoryOf>
std::int64_t run_steps_on_host(plan_run& run, const thread_pool& threads, profile_recorder* profile,
                               const std::stop_token& stop, Make&& make, MemoryOf&& memory_of) {
    const plan& p = run.what();
    run.records = host_records(*run.planned);
    array_list<std::byte*> memory(p.values.size());
    array_list<storage*> written_over(p.values.size(), nullptr);  // by who writes the value
    for (std::size_t k = 0; k < p.givings.size() && !run.givings.empty(); ++k) {
        if (!run.givings.contains(static_cast<int>(k))) continue;
        const auto to = static_cast<std::size_t>(p.givings[k].to);
        const node& from = *run.given[static_cast<std::size_t>(p.givings[k].from)];
        memory[to] = memory_of(from);
        run.made[to] = from.data;
        written_over[to] = from.data.get();
    }
    for (const array_list<int>* list : {&p.outputs, &p.temporaries})
        for (const int v : *list)
            if (p.at(v).alias < 0 && !written_over[static_cast<std::size_t>(v)])
                memory[static_cast<std::size_t>(v)] =
                    make(p.at(v), run.made[static_cast<std::size_t>(v)]);
    std::int64_t written = 0;
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
        const plan_step& s = p.steps[i];
        if (run.givings.contains(s.unless_given)) continue;
        host_buffers buffers{{}, run.numbers};
        std::int64_t touched = 0;
        for (const int v : s.buffers) {
            const auto number = static_cast<std::size_t>(v);
            const node* const given = run.given[number];
            buffers.memory.push_back(given ? memory_of(*given) + run.begin_of(number)
                                           : memory[number]);
            touched += p.at(v).bytes();
        }
        const std::string name = profile ? profile_name(*run.records[i]) : "";
        const profile_scope running(profile, name, profile_recorder::on_device, touched);
        if (stop.stop_requested()) throw_cancelled();
        for (const int v : s.outputs)
            if (storage* const over = written_over[static_cast<std::size_t>(v)]) over->lost = true;
        run_on_host(s.what, buffers, threads);
        written += run.records[i]->written;
    }
    return written;
}

}}  // namespace pumice::PUMICE_ABI
