// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elementwise work of the host device: a native loop or a program over any strides, in several
// threads.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/exec/host_values.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/reference.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// outputs[k][c] = program(leaves[..][c]) for every c in `domain`.
struct host_elementwise {
    program_view body;
    native_loop* native = nullptr;  // the same, where there is one
    shape domain;
    array_list<host_array> leaves;
    std::span<const scalar> scalars;
    array_list<host_array> outputs;  // overlap no leaf

    void run(const thread_pool& threads) {
        array_list<host_array*> both;
        for (auto* list : {&leaves, &outputs})
            for (host_array& a : *list) both.push_back(&a);
        collapse(domain, std::move(both), 0, domain.rank());
        const std::int64_t count = element_count(domain);
        const std::int64_t parts = (count + thread_part - 1) / thread_part;
        threads.run(parts, parts_for_a_thread(thread_part), [&](std::int64_t part) {
            const std::int64_t begin = part * thread_part,
                               end = std::min(begin + thread_part, count);
            if (native) run_native(begin, end);
            else run_program(begin, end);
        });
    }

private:
    /// f of each stretch of a row within the elements [begin, end), counted in row-major order.
    template <class F>
    void each_stretch(std::int64_t begin, std::int64_t end, std::int64_t most, F&& f) const {
        const std::int64_t length = domain.back();
        for (std::int64_t i = begin; i < end;) {
            const std::int64_t row = i / length, row_end = std::min(end, (row + 1) * length);
            for (const index_list at = row_at(domain, row); i < row_end;) {
                const std::int64_t n = std::min(most, row_end - i);
                f(host_place{at, i % length, n});
                i += n;
            }
        }
    }

    void run_program(std::int64_t begin, std::int64_t end) const {
        host_program machine(body, leaves, scalars, outputs);
        each_stretch(begin, end, host_program::block,
                     [&](const host_place& to) { machine.run(to); });
    }

    /// What lies dense is used in place, the rest by way of dense blocks.
    void run_native(std::int64_t begin, std::int64_t end) const {
        constexpr std::int64_t block = host_program::block;
        const int last = domain.rank() - 1;
        const host_array& out = outputs[0];
        std::int64_t most = end;
        for (const host_array& a : leaves)
            if (a.steps[last] != 1) most = block;
        if (out.steps[last] != 1) most = block;
        alignas(64) std::byte dense[max_leaves + 1][8 * block];
        each_stretch(begin, end, most, [&](const host_place& to) {
            const void* in[max_leaves];
            for (std::size_t k = 0; k < leaves.size(); ++k) {
                const host_array& a = leaves[k];
                const int bits = info(a.type).bits;
                in[k] = a.data + to.offset(a) * (bits / 8);
                if (to.step(a) == 1) continue;
                detail::copy_elements(bits, in[k], to.step(a), dense[k], 1, to.count);
                in[k] = dense[k];
            }
            const int bits = info(out.type).bits;
            std::byte* const place = out.data + to.offset(out) * (bits / 8);
            if (to.step(out) == 1) return native(in, scalars.data(), place, to.count);
            native(in, scalars.data(), dense[max_leaves], to.count);
            detail::copy_elements(bits, dense[max_leaves], 1, place, to.step(out), to.count);
        });
    }
};

namespace detail {
inline bool run_fast(const elementwise_problem& p, const host_buffers& b,
                     const thread_pool& threads) {
    const array_list<scalar> scalars = b.scalars(p.body);
    host_elementwise{p.body.body->view(),     nullptr, p.domain,
                     b.arrays(p.body.leaves), scalars, b.arrays(p.body.outputs)}
        .run(threads);
    return true;
}
}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
