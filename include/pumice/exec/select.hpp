// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel solves a problem: candidates in lists, `supports()` with reasons, cost or policy.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/plan/lower.hpp>
#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline choice choose(kernel_entries kernels, const void* p, const device_info& device,
                     const policy_set& policies) {
    array_list<kernel_candidate> able;
    array_list<std::size_t> able_kernels;
    std::vector<std::string> reasons;  // of each kernel, empty where it takes the problem
    for (const kernel_entry& k : kernels) {
        support s = k.supports(p, device);
        reasons.push_back(s.yes ? std::string() : cat({k.name, ": ", s.reason}));
        if (!s.yes) continue;
        able.push_back({k.name, k.portable, s.cost});
        able_kernels.push_back(reasons.size() - 1);
    }
    if (able.empty())
        throw error(errc::unsupported, "kernels",
                    cat({"no kernel takes the problem on ", device.name}), std::move(reasons));
    std::size_t best = 0;
    if (policies.kernel) {
        best = policies.kernel(able);
        if (best >= able.size())
            fail(errc::invalid_argument, "kernel policy",
                 {"chose candidate ", best, " of ", able.size()});
    } else {
        for (std::size_t i = 1; i < able.size(); ++i)
            if (able[i].cost < able[best].cost) best = i;
    }
    const std::size_t chosen = able_kernels[best];
    choice c;
    c.record = std::make_shared<kernel_record>();
    c.record->kernel = kernels[chosen].name;
    for (std::size_t i = 0; i < kernels.size(); ++i)
        if (i != chosen)
            c.record->rejected.push_back(reasons[i].empty() ? cat({kernels[i].name, ": costs more"})
                                                            : std::move(reasons[i]));
    kernels[chosen].make(c, p, device);
    return c;
}

}  // namespace detail

/// A kernel's ops as text: "multiply, add | relu", where the bar is the kernel's own work.
inline std::string fused_name(const problem& p) {
    std::string before, after;
    const auto list = [](std::string& text, const fused* f) {
        if (!f || !f->body) return;
        for (const instruction& i : f->body->code)
            if (i.arity() != 0)
                append_text(text, {(text.empty() ? "" : ", "), i.op ? i.op->name : "cast"});
    };
    for (const fused* f : p.kind().before(p.get())) list(before, f);
    list(after, p.kind().after(p.get()));
    return after.empty() ? before : cat({before, before.empty() ? "| " : " | ", after});
}

/// The kernel for a problem on a device, by the policy. Throws errc::unsupported with every reason.
inline choice choose(const problem& p, const device_info& device, const policy_set& policies) {
    choice c = detail::choose(p.kind().kernels, p.get(), device, policies);
    if (const auto* own = p.get_if<custom_kernel_problem>())
        c.record->kernel = cat({"kernel/", own->call->what->name});
    c.record->fused = fused_name(p);
    return c;
}

/// What kernels of a problem's kind do, as their names begin: "matmul", "reduce". A kernel of the
/// user's own by its name.
inline std::string_view family_of(const problem& p) {
    if (const auto* own = p.get_if<custom_kernel_problem>()) return own->call->what->name;
    const std::string_view name = p.kind().kernels[0].name;
    return name.substr(0, name.find('/'));
}

/// Solves a problem on the host by the kernels' reference.
inline void solve_on_host(const problem& p, const host_buffers& buffers) {
    p.kind().kernels[0].reference(p.get(), buffers);
}

/// Solves a problem, with the accuracy of the kernels' reference: by a loop of the host's own where
/// there is one.
inline void run_on_host(const problem& p, const host_buffers& buffers, const thread_pool& threads) {
    if (!p.kind().run_fast(p.get(), buffers, threads)) solve_on_host(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
