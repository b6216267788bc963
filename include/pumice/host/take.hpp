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

/// n elements of `Size` bytes along the last axis, from the coordinates `at` on, and of the next
/// `lines` - 1 along the one before, where takes_lines() says so.
template <std::size_t Size, class Index>
void take_some(const take_problem& p, const host_buffers& buffers, const index_list& at,
               std::int64_t n, std::int64_t lines) {
    const int last = p.domain.rank() - 1;
    const auto place = [&](const operand& o, std::int64_t size) {
        const host_array a = buffers.array(o);
        return a.data + offset_of(a, at) * size;
    };
    const std::byte* values = place(p.values, Size);
    const std::byte* indices = place(p.indices, sizeof(Index));
    std::byte* out = place(p.output, Size);
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
    if (p.length.rank() == 2) {
        const std::int64_t down = p.length[0], along = p.length[1], step_down = p.step[0],
                           step_along = p.step[1], next = p.next * std::int64_t{sizeof(Index)};
        for (std::int64_t i = 0; i < n; ++i) {
            Index y, x;
            std::memcpy(&y, indices + i * pick * std::int64_t{sizeof y}, sizeof y);
            std::memcpy(&x, indices + i * pick * std::int64_t{sizeof x} + next, sizeof x);
            std::memcpy(out + i * write * size,
                        values +
                            (i * read + step_down * taken(y, down) + step_along * taken(x, along)) *
                                size,
                        Size);
        }
        return;
    }
    if (p.length.rank() != 1) {
        for (std::int64_t i = 0; i < n; ++i)
            std::memcpy(out + i * write * size, values + (i * read + offset(i)) * size, Size);
        return;
    }
    const std::int64_t length = p.length[0], step = p.step[0];
    while (true) {
        for (std::int64_t i = 0; i < n; ++i) {
            Index index;
            std::memcpy(&index, indices + i * pick * std::int64_t{sizeof index}, sizeof index);
            std::memcpy(out + i * write * size,
                        values + (i * read + step * taken(index, length)) * size, Size);
        }
        if (--lines == 0) return;
        values += p.values.steps[last - 1] * size;
        indices += p.indices.steps[last - 1] * std::int64_t{sizeof(Index)};
        out += p.output.steps[last - 1] * size;
    }
}
/// Whether the last axis is short and has indices of its own: then several lines are taken at once.
inline bool takes_lines(const take_problem& p) {
    const int last = p.domain.rank() - 1;
    return last > 0 && p.domain[last] < short_line && p.indices.steps[last] != 0 &&
           p.length.rank() == 1;
}

/// Copies bytes, few of them without a call.
[[gnu::always_inline]] inline void copy_few(const std::byte* from, std::byte* to, std::size_t n) {
    const auto ends = [=]<class Word>(Word first) {  // which overlap
        Word last;
        std::memcpy(&first, from, sizeof first);
        std::memcpy(&last, from + n - sizeof last, sizeof last);
        std::memcpy(to, &first, sizeof first);
        std::memcpy(to + n - sizeof last, &last, sizeof last);
    };
    if (n > 16) std::memcpy(to, from, n);
    else if (n >= 8) ends(std::uint64_t{});
    else if (n >= 4) ends(std::uint32_t{});
    else
        for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
}
/// The same of n short rows, which lie dense in both, of `row` elements.
template <class Index>
void take_rows(const take_problem& p, const host_buffers& buffers, const index_list& at,
               std::int64_t n, std::int64_t row) {
    const int last = p.domain.rank() - 1;
    const std::int64_t size = info(p.values.type).bits / 8;
    const auto place = [&](const operand& o, std::int64_t bytes) {
        const host_array a = buffers.array(o);
        return a.data + offset_of(a, at) * bytes;
    };
    const std::byte *values = place(p.values, size), *indices = place(p.indices, sizeof(Index));
    std::byte* out = place(p.output, size);
    const std::int64_t read = p.values.steps[last] * size,
                       pick = p.indices.steps[last] * std::int64_t{sizeof(Index)},
                       next = p.next * std::int64_t{sizeof(Index)},
                       write = p.output.steps[last] * size, length = p.length[0],
                       step = p.step[0] * size;
    const int more = p.length.rank();
    const auto bytes = static_cast<std::size_t>(row * size);
    for (; n > 0; --n, values += read, indices += pick, out += write) {
        Index index;
        std::memcpy(&index, indices, sizeof index);
        std::int64_t from = step * taken(index, length);
        for (int k = 1; k < more; ++k) {
            std::memcpy(&index, indices + k * next, sizeof index);
            from += p.step[k] * size * taken(index, p.length[k]);
        }
        copy_few(values + from, out, bytes);
    }
}
/// Where the last axis is of short rows that are moved as they lie, it is left out of the problem:
/// gives the elements of a row, else 1.
inline std::int64_t leave_rows_out(take_problem& p) {
    const int last = p.domain.rank() - 1;
    const std::int64_t row = p.domain[last];
    if (last == 0 || row >= short_line || p.indices.steps[last] != 0 || p.values.steps[last] != 1 ||
        p.output.steps[last] != 1)
        return 1;
    p.domain.erase(last);
    for (operand* const o : {&p.values, &p.indices, &p.output}) o->steps.erase(last);
    return row;
}

template <std::same_as<take_problem> P>
void take_all(const P& asked, const host_buffers& buffers, const thread_pool& threads) {
    take_problem p = asked;
    collapse(p.domain, {&p.values, &p.indices, &p.output}, 0, p.domain.rank());
    const bool wide = p.indices.type == dtype::i64;
    const std::int64_t row = leave_rows_out(p);
    const auto by_size = [wide]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
        return wide ? take_some<Size, std::int64_t> : take_some<Size, std::int32_t>;
    };
    decltype(&take_some<1, std::int32_t>) some = nullptr;
    if (row > 1) some = wide ? take_rows<std::int64_t> : take_rows<std::int32_t>;
    else switch (info(p.values.type).bits) {
            case 8: some = by_size(std::integral_constant<std::size_t, 1>{}); break;
            case 16: some = by_size(std::integral_constant<std::size_t, 2>{}); break;
            case 32: some = by_size(std::integral_constant<std::size_t, 4>{}); break;
            default: some = by_size(std::integral_constant<std::size_t, 8>{});
        }
    const bool lines = row == 1 && takes_lines(p);
    const std::int64_t count = element_count(p.domain), length = p.domain.back(),
                       share = lines ? thread_part / length * length : thread_part / row,
                       parts = (count + share - 1) / share;
    threads.run(parts, parts_for_a_thread(thread_part), [&](std::int64_t part) {
        const std::int64_t end = std::min(count, (part + 1) * share);
        std::int64_t i = part * share;
        index_list at = row_at(p.domain, i / length);
        for (std::int64_t n; i < end; i += n, next_row(p.domain, at)) {
            std::int64_t& first = at[at.rank() - 1] = i % length;
            n = std::min(end - i, length - first);
            if (!lines) {
                some(p, buffers, at, n, row);
            } else {
                std::int64_t& line = at[at.rank() - 2];
                const std::int64_t more = std::min((end - i) / n, p.domain[at.rank() - 2] - line);
                some(p, buffers, at, n, more);
                line += more - 1;
                n *= more;
            }
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
