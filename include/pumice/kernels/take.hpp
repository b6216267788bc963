// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of take: element by element, or in the widest chunks that all operands allow
// (shaders/take.slang).
#pragma once

#include <pumice/kernels/detail/rows.hpp>

#include <algorithm>

namespace pumice::inline PUMICE_ABI {

namespace detail {

/// The problem with values, indices and output all over the output's axes, few of them.
struct take_plan {
    take_problem p;
    shape domain, input;              // of the output, of the values
    operand values, indices, output;  // indices: 0 along axes that are not theirs
    std::int64_t axis_step = 0;
    int bytes = 0;  // moved at once
    bool wide = false;

    take_plan(const take_problem& asked, bool chunks)
        : p(asked), domain(asked.domain), values(asked.values), indices(asked.indices),
          output(asked.output), axis_step(asked.values.steps[asked.axis]),
          bytes(info(asked.values.type).bits / 8) {
        const int rest = p.axis + p.index_rank;
        input = part_of(domain, 0, p.axis);
        input.push_back(p.length);
        for (int d = rest; d < domain.rank(); ++d) input.push_back(domain[d]);
        values.steps.erase(p.axis);
        for (int d = p.axis; d < rest; ++d) values.steps.insert(d, 0);
        indices.steps = strides::filled(domain.rank(), 0);
        for (int d = p.axis; d < rest; ++d) indices.steps[d] = p.indices.steps[d - p.axis];
        wide = needs_wide_index({p.values}, input) || needs_wide_index({indices, output}, domain);
        collapse(domain, {&values, &indices, &output}, 0, domain.rank());
        if (chunks) widen();
    }

    /// Moves 16, 8 .. bytes at once where the innermost axis is contiguous and everything is aligned.
    void widen() {
        const int last = domain.rank() - 1, element = bytes;
        if (values.steps[last] != 1 || output.steps[last] != 1 || indices.steps[last] != 0) return;
        for (const int wanted : {16, 8, 4, 2}) {
            const std::int64_t k = wanted / element;
            bool fits = k > 1 && domain[last] % k == 0 && axis_step % k == 0 &&
                        values.offset % k == 0 && output.offset % k == 0;
            for (int d = 0; d < last; ++d)
                fits = fits && values.steps[d] % k == 0 && output.steps[d] % k == 0;
            if (!fits) continue;
            for (operand* o : {&values, &output}) {
                o->offset /= k;
                for (int d = 0; d < last; ++d) o->steps[d] /= k;
            }
            axis_step /= k;
            domain[last] /= k;
            bytes = wanted;
            return;
        }
    }

    launch make(const device_info& device) const {
        const std::string index = index_type(wide);
        const int rank = domain.rank();
        launch l("take", "cells",
                 {cat({"Cell", bytes}), index,
                  cat({indices.type == dtype::i64 ? "Pick64<" : "Pick32<", index, ">"}), rank},
                 {});
        const std::int64_t count = element_count(domain);
        const std::uint32_t width = spread(l, (count + 255) / 256, device);
        block_writer w(l, wide);
        for (const operand* o : {&values, &indices, &output}) w.address(o->buffer, 0);
        l.accesses = {range_of(p.values, input, false),
                      range_of(p.indices, part_of(p.domain, p.axis, p.index_rank), false),
                      range_of(p.output, p.domain, true)};
        for (const index_list& list : {domain, values.steps, indices.steps, output.steps})
            w.row(list, rank);
        for (const std::int64_t n :
             {values.offset, indices.offset, output.offset, axis_step, p.length, count})
            w.index(n);
        w.integer(static_cast<std::int32_t>(width));
        return l;
    }
};

/// The place that an index means.
inline std::int64_t taken(std::int64_t index, std::int64_t length) {
    return std::clamp<std::int64_t>(index < 0 ? index + length : index, 0, length - 1);
}

inline support supports_take(const take_problem& p, bool chunks, const device_info& device) {
    const int bits = info(p.values.type).bits;
    if ((bits == 8 && !device.storage8) || (bits == 16 && !device.storage16))
        return support::no({"the device cannot store ", to_string(p.values.type)});
    if (p.indices.type != dtype::i32 && p.indices.type != dtype::i64)
        return support::no({"indices are i32 or i64, not ", to_string(p.indices.type)});
    if (p.indices.type == dtype::i64 && !device.int64_arithmetic)
        return support::no("the device has no i64");
    if (p.length == 0) return support::no("there is nothing to take from");
    const take_plan plan(p, chunks);
    if (support index = supports_index(plan.wide, device); !index.yes) return index;
    if (chunks && plan.bytes * 8 == bits)
        return support::no("the innermost axis is not contiguous, or not aligned");
    support s;
    s.cost = chunks ? 1 : 2;
    return s;
}

/// What every take kernel computes.
inline void take_reference(const take_problem& p, const host_buffers& buffers) {
    const host_array values = buffers.array(p.values), indices = buffers.array(p.indices),
                     output = buffers.array(p.output);
    const std::int64_t bytes = info(p.values.type).bits / 8;
    const auto move = [&](const index_list& at) {
        index_list index, source;
        for (int d = 0; d < at.rank(); ++d) {
            const bool own = d >= p.axis && d < p.axis + p.index_rank;
            (own ? index : source).push_back(at[d]);
        }
        const std::int64_t place = offset_of(indices, index);
        std::int64_t i = 0;
        if (p.indices.type == dtype::i64) std::memcpy(&i, indices.data + place * 8, 8);
        else i = *reinterpret_cast<const std::int32_t*>(indices.data + place * 4);
        source.insert(p.axis, taken(i, p.length));
        std::memcpy(output.data + offset_of(output, at) * bytes,
                    values.data + offset_of(values, source) * bytes,
                    static_cast<std::size_t>(bytes));
    };
    for_each_row(p.domain, [&](index_list at) {
        if (p.domain.empty()) return move(at);
        at.push_back(0);
        for (std::int64_t i = 0; i < p.domain.back(); ++i) {
            at[at.rank() - 1] = i;
            move(at);
        }
    });
}

template <bool Chunks>
struct take_kernel {
    using problem_type = take_problem;

    static support supports(const take_problem& p, const device_info& device) {
        return supports_take(p, Chunks, device);
    }
    static launch make(const take_problem& p, const device_info& device) {
        return take_plan(p, Chunks).make(device);
    }
    static void reference(const take_problem& p, const host_buffers& buffers) {
        take_reference(p, buffers);
    }
};

}  // namespace detail

/// An element per invocation.
struct take_elements : detail::take_kernel<false> {
    static constexpr std::string_view name = "take/elements";
    static constexpr bool portable = true;
};

/// Up to 16 bytes per invocation: rows of a table.
struct take_chunks : detail::take_kernel<true> {
    static constexpr std::string_view name = "take/chunks";
    static constexpr bool portable = false;
};

static_assert(kernel<take_elements> && kernel<take_chunks>);

}  // namespace pumice::inline PUMICE_ABI
