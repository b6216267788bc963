// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The steps of an evaluation, run by the host.
#pragma once

#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/plan/at_step.hpp>
#include <pumice/exec/scheduler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What the host runs for each step of a plan, kept with it.
inline const array_list<std::shared_ptr<const kernel_record>>& host_records(known_plan& k) {
    while (k.host_records.size() < k.what.steps.size())
        k.host_records.push_back(host_record(k.what.steps[k.host_records.size()]));
    return k.host_records;
}

/// Who holds the memory of a value that a run makes: the family of what computes it.
inline memory_label label_of(const plan& p, int v) {
    const plan_value& value = p.at(v);
    return {value.role == value_role::output ? memory_role::outputs : memory_role::temporaries,
            value.made_by < 0 ? std::string_view()
                              : p.steps[static_cast<std::size_t>(value.made_by)].what.kind().name};
}

/// Of each value the last step that names it, or what lies in it.
inline array_list<std::size_t> last_steps(const plan& p) {
    array_list<std::size_t> last(p.values.size(), 0);
    for (std::size_t i = 0; i < p.steps.size(); ++i)
        for (const int v : p.steps[i].buffers) last[static_cast<std::size_t>(p.root(v))] = i;
    return last;
}

/// Gives the values that take over the memory of given ones in this run that memory; of each value
/// it, or null.
inline void take_over(plan_run& run, array_list<storage*>& by_value) {
    const plan& p = run.what();
    by_value.clear();
    by_value.resize(p.values.size(), nullptr);
    for (std::size_t k = 0; k < p.givings.size() && !run.givings.empty(); ++k) {
        if (!run.givings.contains(static_cast<int>(k))) continue;
        const auto to = static_cast<std::size_t>(p.givings[k].to);
        run.made[to] = run.given[static_cast<std::size_t>(p.givings[k].from)]->data;
        by_value[to] = run.made[to].get();
    }
}

/// Steps [begin, end) of a plan as the host runs them, but for those that a giving makes needless.
struct host_steps {
    const plan& what;
    std::size_t begin, end;
    giving_mask givings;
    span<const scalar> numbers;
    const array_list<std::shared_ptr<const kernel_record>>& records;  // of all steps
    const array_list<std::byte*>& memory;                             // where each value lies
    /// Of each value whose memory is another's: it is lost from when a step begins to write it.
    const array_list<storage*>* taken_over = nullptr;
};

/// Runs them in order. Throws errc::cancelled once `stop` is asked for. Gives the bytes of results
/// that were written.
inline std::int64_t run_on_host(const host_steps& list, const thread_pool& threads,
                                profile_recorder* profile, stop_view stop) {
    std::int64_t written = 0;
    for (std::size_t i = list.begin; i < list.end; ++i) {
        const plan_step& s = list.what.steps[i];
        if (list.givings.contains(s.unless_given)) continue;
        host_buffers buffers{{}, list.numbers};
        std::int64_t touched = 0;
        for (const int v : s.buffers) {
            buffers.memory.push_back(list.memory[static_cast<std::size_t>(v)]);
            touched += list.what.at(v).bytes();
        }
        const std::string name = profile ? profile_name(*list.records[i]) : "";
        const profile_scope running(profile, name, profile_recorder::on_device, touched,
                                    list.records[i]->origin);
        if (stop.stop_requested()) throw_cancelled();
        if (list.taken_over)
            for (const int v : s.outputs)
                if (storage* const over = (*list.taken_over)[static_cast<std::size_t>(v)])
                    over->lost = true;
        at_step(s, [&] { run_on_host(s.what, buffers, threads); });
        written += list.records[i]->written;
    }
    return written;
}

}}  // namespace pumice::PUMICE_ABI
