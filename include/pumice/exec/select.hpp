// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel solves a problem: candidates in lists, `supports()` with reasons, cost or policy.
#pragma once

#include <pumice/exec/lower.hpp>
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/elementwise.hpp>
#include <pumice/kernels/matmul.hpp>
#include <pumice/kernels/normalize.hpp>
#include <pumice/kernels/own_kernel.hpp>
#include <pumice/kernels/pool.hpp>
#include <pumice/kernels/reduce.hpp>
#include <pumice/kernels/scan.hpp>
#include <pumice/kernels/scatter.hpp>
#include <pumice/kernels/sort.hpp>
#include <pumice/kernels/take.hpp>
#include <pumice/policy/policies.hpp>

#include <span>

namespace pumice::inline PUMICE_ABI {

/// A chosen kernel, ready to launch.
struct choice {
    std::vector<launch> launches;  // in order; hazards between them are tracked as between any
    std::int64_t scratch = 0;      // bytes of buffer -2
    std::shared_ptr<kernel_record> record;
};

namespace detail {

/// A kernel, the type of its problems forgotten.
struct kernel_entry {
    std::string_view name;
    bool portable;
    support (*supports)(const void* p, const device_info&);
    void (*make)(choice&, const void* p, const device_info&);
    void (*reference)(const void* p, const host_buffers&);
};

template <kernel_type K>
struct kernel_entry_of {
    using P = typename K::problem_type;
    static const P& typed(const void* p) { return *static_cast<const P*>(p); }
    static support supports(const void* p, const device_info& device) {
        return K::supports(typed(p), device);
    }
    static void make(choice& c, const void* p, const device_info& device) {
        if constexpr (requires { K::make_all(typed(p), device); }) {
            c.launches = K::make_all(typed(p), device);
            c.scratch = K::scratch(typed(p), device);
        } else {
            c.launches.push_back(K::make(typed(p), device));
        }
    }
    static void reference(const void* p, const host_buffers& buffers) {
        K::reference(typed(p), buffers);
    }
    static constexpr kernel_entry value{K::name, K::portable, supports, make, reference};
};

template <kernel_type... K>
inline constexpr kernel_entry kernel_list[] = {kernel_entry_of<K>::value...};

using kernel_entries = std::span<const kernel_entry>;

// The lists: a kernel is part of the library by standing here.
inline kernel_entries kernels_for(const elementwise_problem&) {
    return kernel_list<elementwise_vector4, elementwise_strided>;
}
inline kernel_entries kernels_for(const reduce_problem&) {
    return kernel_list<reduce_rows4, reduce_rows, reduce_columns, reduce_slices>;
}
inline kernel_entries kernels_for(const normalize_problem&) {
    return kernel_list<normalize_rows4, normalize_rows, normalize_columns, normalize_streamed4,
                       normalize_streamed, normalize_streamed_columns>;
}
inline kernel_entries kernels_for(const matmul_problem&) {
    return kernel_list<matmul_cooperative, matmul_tiled>;
}
inline kernel_entries kernels_for(const conv_problem&) {
    return kernel_list<conv_cooperative, conv_tiled>;
}
inline kernel_entries kernels_for(const pool_problem&) {
    return kernel_list<pool_windows, pool_global>;
}
inline kernel_entries kernels_for(const take_problem&) {
    return kernel_list<take_chunks, take_elements>;
}
inline kernel_entries kernels_for(const sort_problem&) { return kernel_list<sort_rows>; }
inline kernel_entries kernels_for(const scatter_problem&) { return kernel_list<scatter_rows>; }

inline kernel_entries kernels_for(const own_kernel_problem&) {
    return kernel_list<own_kernel_slang>;
}
inline kernel_entries kernels_for(const scan_problem&) {
    return kernel_list<scan_rows4, scan_rows, scan_columns>;
}

inline choice choose(kernel_entries kernels, const void* p, const device_info& device,
                     const policy_set& policies) {
    std::vector<kernel_candidate> able;
    std::vector<std::size_t> able_kernels;
    std::vector<std::string> reasons;  // of each kernel, empty where it takes the problem
    for (const kernel_entry& k : kernels) {
        support s = k.supports(p, device);
        reasons.push_back(s.yes ? std::string() : cat({k.name, ": ", s.reason}));
        if (!s.yes) continue;
        able.push_back({k.name, k.portable, true, s.cost, {}});
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
    const auto list = [](std::string& text, const fused& f) {
        for (const instruction& i : f.body->code)
            if (i.arity() != 0)
                append_text(text, {(text.empty() ? "" : ", "), i.op ? i.op->name : "cast"});
    };
    p.visit([&](const auto& q) {
        if constexpr (requires { q.body; }) list(before, q.body);
        if constexpr (requires { q.prologue; }) list(before, q.prologue);
        if constexpr (requires { q.input; }) list(before, q.input);
        if constexpr (requires { q.inputs; })
            for (const fused& f : q.inputs) list(before, f);
        if constexpr (requires {
                          q.a;
                          q.b;
                      })
            list(before, q.a), list(before, q.b);
        if constexpr (requires { q.epilogue; })
            if (q.epilogue.body) list(after, q.epilogue);
    });
    return after.empty() ? before : cat({before, before.empty() ? "| " : " | ", after});
}

/// The kernel for a problem on a device, by the policy. Throws errc::unsupported with every reason.
inline choice choose(const problem& p, const device_info& device, const policy_set& policies) {
    const auto kernels = p.visit([](const auto& q) { return detail::kernels_for(q); });
    choice c = detail::choose(kernels, p.get(), device, policies);
    if (const auto* own = p.get_if<own_kernel_problem>())
        c.record->kernel = cat({"kernel/", own->call->what->name});
    c.record->fused = fused_name(p);
    return c;
}

/// What kernels of a problem's kind do, as their names begin: "matmul", "reduce". A kernel of the
/// user's own by its name.
inline std::string_view family_of(const problem& p) {
    if (const auto* own = p.get_if<own_kernel_problem>()) return own->call->what->name;
    const auto kernels = p.visit([](const auto& q) { return detail::kernels_for(q); });
    return kernels[0].name.substr(0, kernels[0].name.find('/'));
}

/// Solves a problem on the host by the kernels' reference.
inline void solve_on_host(const problem& p, const host_buffers& buffers) {
    const auto kernels = p.visit([](const auto& q) { return detail::kernels_for(q); });
    kernels[0].reference(p.get(), buffers);
}

}  // namespace pumice::inline PUMICE_ABI
