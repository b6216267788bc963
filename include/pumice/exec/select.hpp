// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel solves a problem: candidates in lists, `supports()` with reasons, cost or policy.
#pragma once

#include <pumice/exec/lower.hpp>
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/elementwise.hpp>
#include <pumice/kernels/matmul.hpp>
#include <pumice/kernels/pool.hpp>
#include <pumice/kernels/reduce.hpp>
#include <pumice/kernels/softmax.hpp>
#include <pumice/kernels/take.hpp>
#include <pumice/policy/policies.hpp>

#include <variant>

namespace pumice::inline PUMICE_ABI {

/// A chosen kernel, ready to launch.
struct choice {
    std::vector<launch> launches;  // in order; hazards between them are tracked as between any
    std::int64_t scratch = 0;      // bytes of buffer -2
    std::shared_ptr<kernel_record> record;
};

namespace detail {

template <kernel... K>
struct kernel_list {};

// The lists: a kernel is part of the library by standing here.
kernel_list<elementwise_vector4, elementwise_strided> kernels_for(const elementwise_problem&);
kernel_list<reduce_rows4, reduce_rows, reduce_columns, reduce_slices> kernels_for(
    const reduce_problem&);
kernel_list<softmax_rows4, softmax_rows, softmax_columns, softmax_streamed4, softmax_streamed,
            softmax_streamed_columns>
kernels_for(const softmax_problem&);
kernel_list<matmul_cooperative, matmul_tiled> kernels_for(const matmul_problem&);
kernel_list<conv_cooperative, conv_tiled> kernels_for(const conv_problem&);
kernel_list<pool_windows, pool_global> kernels_for(const pool_problem&);
kernel_list<take_chunks, take_elements> kernels_for(const take_problem&);

template <class K, class P>
void launch_with(choice& c, const P& p, const device_info& device) {
    if constexpr (requires { K::make_all(p, device); }) {
        c.launches = K::make_all(p, device);
        c.scratch = K::scratch(p, device);
    } else {
        c.launches.push_back(K::make(p, device));
    }
}

template <class P, class... K>
choice choose(const P& p, const device_info& device, const policy_set& policies,
              kernel_list<K...>) {
    using launcher = void (*)(choice&, const P&, const device_info&);
    const std::vector<launcher> launchers{&launch_with<K, P>...};
    std::vector<kernel_candidate> all;
    const auto ask = [&]<class Kernel>() {
        support s = Kernel::supports(p, device);
        all.push_back({Kernel::name, Kernel::portable, s.yes, s.cost, std::move(s.reason)});
    };
    (ask.template operator()<K>(), ...);
    std::vector<kernel_candidate> able;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].supported) continue;
        able.push_back(all[i]);
        index.push_back(i);
    }
    if (able.empty()) {
        std::vector<std::string> reasons;
        for (const kernel_candidate& c : all)
            reasons.push_back(std::string(c.name) + ": " + c.reason);
        throw error(errc::unsupported, "kernels", "no kernel takes the problem on " + device.name,
                    std::move(reasons));
    }
    std::size_t best = 0;
    if (policies.kernel) {
        best = policies.kernel(able);
        if (best >= able.size())
            throw error(errc::invalid_argument, "kernel policy",
                        "chose candidate " + std::to_string(best) + " of " +
                            std::to_string(able.size()));
    } else {
        for (std::size_t i = 1; i < able.size(); ++i)
            if (able[i].cost < able[best].cost) best = i;
    }
    choice c;
    c.record = std::make_shared<kernel_record>();
    c.record->kernel = able[best].name;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i != index[best])
            c.record->rejected.push_back(std::string(all[i].name) + ": " +
                                         (all[i].supported ? "costs more" : all[i].reason));
    launchers[index[best]](c, p, device);
    return c;
}

template <class P, class First, class... Rest>
void run_reference(const P& p, const host_buffers& buffers, kernel_list<First, Rest...>) {
    First::reference(p, buffers);
}

}  // namespace detail

/// The kernel for a problem on a device, by the policy. Throws errc::unsupported with every reason.
inline choice choose(const problem& p, const device_info& device, const policy_set& policies) {
    return std::visit(
        [&](const auto& q) {
            return detail::choose(q, device, policies, decltype(detail::kernels_for(q)){});
        },
        p);
}

/// Solves a problem on the host by the kernels' reference.
inline void solve_on_host(const problem& p, const host_buffers& buffers) {
    std::visit(
        [&](const auto& q) {
            detail::run_reference(q, buffers, decltype(detail::kernels_for(q)){});
        },
        p);
}

}  // namespace pumice::inline PUMICE_ABI
