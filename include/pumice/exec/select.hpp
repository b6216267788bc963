// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel solves a problem: candidates in lists, `supports()` with reasons, cost or policy.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/plan/lower.hpp>
#include <pumice/policy/policies.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// "12.3 us expected in 128x128x64"
inline std::string expected_text(double seconds, const std::string& configuration) {
    char time[32];
    std::snprintf(time, sizeof time, "%.3g us expected", seconds * 1e6);
    return cat({time, configuration.empty() ? "" : " in ", configuration});
}

namespace detail {

inline choice choose(kernel_entries kernels, const void* p, const device_info& device,
                     const policy_set& policies) {
    array_list<support> answers;
    array_list<kernel_candidate> able;
    for (const kernel_entry& k : kernels) {
        answers.push_back(k.supports(p, device));
        if (answers.back().yes && !policies.allows(k.needs))
            answers.back() =
                support::no({"the policy precision::", to_string(k.needs), " would allow it"});
        for (const configuration& way : answers.back().ways)
            able.push_back({k.name, k.portable, way.seconds, way.sizes});
    }
    std::vector<std::string> rejected;
    const auto reject = [&](std::size_t i, std::string&& why) {
        rejected.push_back(cat({kernels[i].name, ": ", why}));
    };
    if (able.empty()) {
        for (std::size_t i = 0; i < kernels.size(); ++i) reject(i, std::move(answers[i].reason));
        if (policies.fallback == cpu_fallback::mode::forbid)
            rejected.push_back("the policy cpu_fallback::warn would let the host compute it");
        throw error(errc::unsupported, "kernels",
                    cat({"no kernel takes the problem on ", device.name}), std::move(rejected));
    }
    std::size_t best = 0;
    if (policies.kernel) {
        best = policies.kernel(able);
        if (best >= able.size())
            fail(errc::invalid_argument, "kernel policy",
                 {"chose candidate ", best, " of ", able.size()});
    } else {
        for (std::size_t i = 1; i < able.size(); ++i)
            if (able[i].seconds < able[best].seconds) best = i;
    }
    choice c;
    c.record = std::make_shared<kernel_record>();
    for (std::size_t i = 0, first = 0; i < kernels.size(); ++i) {
        const array_list<configuration>& ways = answers[i].ways;
        if (first <= best && best < first + ways.size()) {
            const configuration& way = ways[best - first];
            c.record->kernel = kernels[i].name;
            c.record->configuration = to_string(way);
            c.record->seconds = way.seconds;
            kernels[i].make(c, p, device, way);
        } else {
            reject(i, ways.empty()
                          ? std::move(answers[i].reason)
                          : expected_text(answers[i].best().seconds, to_string(answers[i].best())));
        }
        first += ways.size();
    }
    c.record->rejected = std::move(rejected);
    return c;
}

}  // namespace detail

/// A kernel's ops as text: "multiply, add | relu", where the bar is the kernel's own work, or "abs
/// | max | sqrt" of a kind that has several ops.
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
    if (before.empty() && after.empty() && p.get_if<elementwise_problem>()) return "copy";
    if (const std::string_view op = p.kind().op(p.get()); !op.empty())
        before = cat({before, before.empty() ? "" : " | ", op});
    return after.empty() ? before : cat({before, before.empty() ? "| " : " | ", after});
}

/// The kernel for a problem on a device, by the policy. Throws errc::unsupported with every reason.
inline choice choose(const problem& p, const device_info& device, const policy_set& policies) {
    choice c = detail::choose(p.kind().kernels, p.get(), device, policies);
    if (const auto* own = p.get_if<custom_kernel_problem>())
        c.record->kernel = cat({"kernel/", own->call->what->name});
    c.record->fused = fused_name(p);
    c.record->written = written_bytes(p);
    c.record->dispatches = static_cast<int>(c.launches.size());
    return c;
}

/// A problem's kind: "matmul", "reduce". A kernel of the user's own by its name.
inline std::string_view family_of(const problem& p) {
    if (const auto* own = p.get_if<custom_kernel_problem>()) return own->call->what->name;
    return p.kind().name;
}

/// Whether a device, or the host, can solve a problem.
inline bool can_run(const problem& p, const device_info& at) {
    if (p.kind().decisions) return true;  // the engine's
    if (at.type == device_type::host) {
        const auto* own = p.get_if<custom_kernel_problem>();
        return !own || own->call->what->how.host;
    }
    const kernel_entries kernels = p.kind().kernels;  // those that need least stand last
    for (std::size_t k = kernels.size(); k-- > 0;)
        if (kernels[k].needs == reduced_precision::none && kernels[k].supports(p.get(), at).yes)
            return true;
    return false;
}

/// Why no kernel of a device takes a problem: each with its reason.
inline std::vector<std::string> refusals(const problem& p, const device_info& device) {
    std::vector<std::string> list;
    for (const kernel_entry& k : p.kind().kernels)
        if (const support s = k.supports(p.get(), device); !s.yes)
            list.push_back(cat({k.name, ": ", s.reason}));
    return list;
}

/// What the host runs for a problem, as kernels are recorded.
inline std::shared_ptr<kernel_record> host_record(const problem& p) {
    auto record = std::make_shared<kernel_record>();
    record->kernel = cat({p.kind().decisions ? "" : "host/", family_of(p)});
    record->fused = fused_name(p);
    record->written = written_bytes(p);
    return record;
}

/// The same of a step.
inline std::shared_ptr<kernel_record> host_record(const plan_step& s) {
    auto record = host_record(s.what);
    record->origin = origin_of(s);
    return record;
}

/// Solves a problem on the host by its reference.
inline void solve_on_host(const problem& p, const host_buffers& buffers) {
    p.kind().reference(p.get(), buffers);
}

/// Solves a problem, with the accuracy of its reference: by a loop of the host's own where there is
/// one.
inline void run_on_host(const problem& p, const host_buffers& buffers, const thread_pool& threads) {
    host_loop loop;
    p.kind().find_loop(p.get(), buffers, loop);
    if (loop) loop.run(nullptr, threads);
    else solve_on_host(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
