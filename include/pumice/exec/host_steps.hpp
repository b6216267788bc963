// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The steps of an evaluation, run by the host.
#pragma once

#include <pumice/base/key_map.hpp>
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

/// Runs the steps in order. `make(i)` is new memory for the i-th stored node, `memory_of` a
/// realised one where it lies from its offset 0. Throws errc::cancelled once `stop` is asked for.
template <class Make, class MemoryOf>
void run_steps_on_host(evaluation& e, const thread_pool& threads, profile_recorder* profile,
                       const std::stop_token& stop, Make&& make, MemoryOf&& memory_of) {
    key_map<const node*, std::byte*> fresh;
    for (std::size_t i = 0; i < e.stored.size(); ++i) fresh[e.stored[i]] = make(i);
    for (step& s : e.steps) {
        host_buffers buffers;
        std::int64_t touched = 0;
        for (node* n : s.buffers) {
            std::byte* const* const f = fresh.find(n);
            buffers.memory.push_back(f ? *f : memory_of(*n));
            touched += byte_count(n->type, n->count());
        }
        if (!s.record) s.record = host_record(s.what);
        const std::string name = profile ? profile_name(*s.record) : "";
        const profile_scope running(profile, name, profile_recorder::on_device, touched);
        if (stop.stop_requested()) throw_cancelled();
        run_on_host(s.what, buffers, threads);
    }
}

}}  // namespace pumice::PUMICE_ABI
