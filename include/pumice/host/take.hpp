// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elements picked by indices on the host, in several threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/take.hpp>

#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// n elements of `Size` bytes along the last axis, from the coordinates `at` on.
template <std::size_t Size, class Index>
void take_some(const take_problem& p, const host_buffers& buffers, const index_list& at,
               std::int64_t n) {
    const int last = p.domain.rank() - 1;
    const auto place = [&](const operand& o, std::int64_t size) {
        const host_array a = buffers.array(o);
        return a.data + offset_of(a, at) * size;
    };
    const std::byte* const values = place(p.values, Size);
    const std::byte* const indices = place(p.indices, sizeof(Index));
    std::byte* const out = place(p.output, Size);
    const std::int64_t read = p.values.steps[last], pick = p.indices.steps[last],
                       write = p.output.steps[last];
    const auto offset = [&](std::int64_t i) {
        std::int64_t sum = 0;
        for (int k = 0; k < p.length.rank(); ++k) {
            Index index;
            std::memcpy(&index, indices + (i * pick + k * p.next) * std::int64_t{sizeof index},
                        sizeof index);
            sum += p.step[k] * taken(index, p.length[k]);
        }
        return sum;
    };
    constexpr std::int64_t size = Size;
    if (pick == 0) {
        const std::byte* const from = values + offset(0) * size;
        return copy_elements(8 * static_cast<int>(Size), from, read, out, write, n);
    }
    if (p.length.rank() != 1) {
        for (std::int64_t i = 0; i < n; ++i)
            std::memcpy(out + i * write * size, values + (i * read + offset(i)) * size, Size);
        return;
    }
    const std::int64_t length = p.length[0], step = p.step[0];
    for (std::int64_t i = 0; i < n; ++i) {
        Index index;
        std::memcpy(&index, indices + i * pick * std::int64_t{sizeof index}, sizeof index);
        std::memcpy(out + i * write * size,
                    values + (i * read + step * taken(index, length)) * size, Size);
    }
}

template <std::same_as<take_problem> P>
void take_all(const P& asked, const host_buffers& buffers, const thread_pool& threads) {
    take_problem p = asked;
    collapse(p.domain, {&p.values, &p.indices, &p.output}, 0, p.domain.rank());
    const bool wide = p.indices.type == dtype::i64;
    const auto by_size = [wide]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
        return wide ? take_some<Size, std::int64_t> : take_some<Size, std::int32_t>;
    };
    decltype(&take_some<1, std::int32_t>) some = nullptr;
    switch (info(p.values.type).bits) {
        case 8: some = by_size(std::integral_constant<std::size_t, 1>{}); break;
        case 16: some = by_size(std::integral_constant<std::size_t, 2>{}); break;
        case 32: some = by_size(std::integral_constant<std::size_t, 4>{}); break;
        default: some = by_size(std::integral_constant<std::size_t, 8>{});
    }
    const std::int64_t count = element_count(p.domain), length = p.domain.back(),
                       parts = (count + thread_part - 1) / thread_part;
    threads.run(parts, parts_for_a_thread(thread_part), [&](std::int64_t part) {
        const std::int64_t end = std::min(count, (part + 1) * thread_part);
        std::int64_t i = part * thread_part;
        index_list at = row_at(p.domain, i / length);
        for (std::int64_t n; i < end; i += n, next_row(p.domain, at)) {
            std::int64_t& first = at[at.rank() - 1] = i % length;
            n = std::min(end - i, length - first);
            some(p, buffers, at, n);
            first = 0;
        }
    });
}

template <std::same_as<take_op> Op>
void take_alone(const host_loop& bound, std::byte* to, const thread_pool& threads) {
    const auto& given = *static_cast<const host_operands*>(bound.operands);
    const node &values = *given.inputs[0], &indices = *given.inputs[1];
    take_problem p;
    p.domain = given.extent;
    p.values = {0, values.type, values.offset, values.layout()};
    p.indices = {1, indices.type, indices.offset, indices.layout()};
    p.output = {2, given.type, 0, given.layout ? *given.layout : row_major_strides(given.extent)};
    set_operands(p, *static_cast<const Op*>(bound.what), values.extent, indices.extent);
    take_all(p, {{bytes_on_host(values), bytes_on_host(indices), to}}, threads);
}
template <std::same_as<take_op> Op>
void bind_loop(const Op& op, const host_operands& given, host_loop& out) {
    if (is_packed(given.type) || given.count == 0) return;
    out.what = &op;
    out.operands = &given;
    out.loop = take_alone<Op>;
}

}  // namespace detail

template <std::same_as<take_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (is_packed(p.values.type) || element_count(p.domain) == 0) return;
    out.solve<detail::take_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
