// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of take: element by element, or in the widest chunks that all operands allow
// (shaders/take.slang).
#pragma once

#include <pumice/kernels/detail/rows.hpp>
#include <pumice/kernels/seconds.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// What an operand touches over `domain`, and `length[k]` times `step[k]` besides.
inline access range_of(operand o, const shape& domain, const index_list& length,
                       const index_list& step) {
    access a = pumice::range_of(o, domain, false);
    for (int k = 0; a.begin != a.end && k < length.rank(); ++k) {
        const std::int64_t reach = step[k] * (length[k] - 1);
        if (step[k] < 0) a.begin += byte_offset(o.type, reach);
        else a.end += byte_end(o.type, reach);
    }
    return a;
}

/// The problem over few axes.
struct take_plan {
    take_problem p;
    access reads, looks;  // what is touched of values and of indices
    int bits = 0;         // moved at once
    bool wide = false;

    take_plan(const take_problem& asked, bool chunks)
        : p(asked), reads(range_of(p.values, p.domain, p.length, p.step)),
          looks(range_of(p.indices, p.domain, {p.length.rank()}, {p.next})),
          bits(info(asked.values.type).bits) {
        operand one = p.values;
        one.type = dtype::u8;  // elements instead of bytes
        const access elements = range_of(one, p.domain, p.length, p.step);
        wide = needs_wide_index({p.indices, p.output}, p.domain) ||
               elements.begin < -0x7fffffffLL || elements.end > 0x7fffffffLL;
        collapse(p.domain, {&p.values, &p.indices, &p.output}, 0, p.domain.rank());
        if (chunks) widen();
    }

    /// Moves 16, 8 .. bytes at once where the innermost axis is contiguous and everything is
    /// aligned.
    void widen() {
        const int last = p.domain.rank() - 1, element = bits;
        if (p.values.steps[last] != 1 || p.output.steps[last] != 1 || p.indices.steps[last] != 0)
            return;
        for (const int wanted : {128, 64, 32, 16, 8}) {
            const std::int64_t k = wanted / element;
            bool fits = k > 1 && p.domain[last] % k == 0 && p.values.offset % k == 0 &&
                        p.output.offset % k == 0;
            for (int d = 0; d < last; ++d)
                fits = fits && p.values.steps[d] % k == 0 && p.output.steps[d] % k == 0;
            for (const std::int64_t s : p.step) fits = fits && s % k == 0;
            if (!fits) continue;
            for (operand* o : {&p.values, &p.output}) {
                o->offset /= k;
                for (int d = 0; d < last; ++d) o->steps[d] /= k;
            }
            for (std::int64_t& s : p.step) s /= k;
            p.domain[last] /= k;
            bits = wanted;
            return;
        }
    }

    launch make(const take_problem& asked, const device_info& device) const {
        const std::string index = index_type(wide);
        const int rank = p.domain.rank(), picks = p.length.rank();
        launch l("take", "cells",
                 {bits < 8 ? std::string("Nibble") : cat({"Cell", bits / 8}), index,
                  cat({p.indices.type == dtype::i64 ? "Pick64<" : "Pick32<", index, ">"}), rank,
                  picks},
                 {});
        l.threads = 256;
        const std::int64_t count = element_count(p.domain);
        const std::uint32_t width = spread(l, (count + 255) / 256, device);
        l.accesses = {reads, looks, pumice::range_of(asked.output, asked.domain, true)};
        write_block(l, wide, "TakeParams",
                    {{"C.Bits* values", block::address{p.values.buffer}},
                     {"N.Element* indices", block::address{p.indices.buffer}},
                     {"C.Bits* output", block::address{p.output.buffer}},
                     {"Extents<I, R> extent", block::extents{p.domain, rank}},
                     {"I read[R]", block::axes{p.values.steps, rank}},
                     {"I pick[R]", block::axes{p.indices.steps, rank}},
                     {"I write[R]", block::axes{p.output.steps, rank}},
                     {"I length[K]", block::axes{p.length, picks}},
                     {"I step[K]", block::axes{p.step, picks}},
                     {"I valuesAt", p.values.offset},
                     {"I indicesAt", p.indices.offset},
                     {"I outputAt", p.output.offset},
                     {"I next", p.next},
                     {"I count", count},
                     {"uint width", width}});
        return l;
    }
};

/// The problem of an op over values and indices of these shapes, each an operand over its own.
template <std::same_as<take_op> Op>
void set_operands(take_problem& p, const Op& op, const shape& from, const shape& by) {
    const strides values = std::exchange(p.values.steps, {}),
                  indices = std::exchange(p.indices.steps, {});
    // Axes of the result: those before `axis`, those of the indices, those after what they
    // pick.
    const bool tuples = op.what == taking::tuples;
    const int picked = tuples ? static_cast<int>(by.back()) : 1,
              index_rank = op.what == taking::slices ? by.rank()
                           : tuples                  ? by.rank() - 1
                                                     : 0,
              shared = tuples ? op.axis : 0;  // axes that both have, in front
    for (int k = 0; k < picked; ++k) {
        p.length.push_back(from[op.axis + k]);
        p.step.push_back(values[op.axis + k]);
    }
    if (tuples) p.next = indices[by.rank() - 1];
    if (op.what == taking::elements) {
        p.values.steps = values;
        p.values.steps[op.axis] = 0;
        p.indices.steps = indices;
        return;
    }
    for (int d = 0; d < op.axis; ++d) {
        p.values.steps.push_back(values[d]);
        p.indices.steps.push_back(d < shared ? indices[d] : 0);
    }
    for (int d = shared; d < index_rank; ++d) {
        p.values.steps.push_back(0);
        p.indices.steps.push_back(indices[d]);
    }
    for (int d = op.axis + picked; d < from.rank(); ++d) {
        p.values.steps.push_back(values[d]);
        p.indices.steps.push_back(0);
    }
}

/// The place that an index means.
inline std::int64_t taken(std::int64_t index, std::int64_t length) {
    if (index >= 0 && index < length) [[likely]]
        return index;
    return std::clamp<std::int64_t>(index < 0 ? index + length : index, 0, length - 1);
}

inline support supports_take(const take_problem& p, bool chunks, const device_info& device) {
    const int bits = info(p.values.type).bits;
    if ((bits <= 8 && !device.storage8) || (bits == 16 && !device.storage16))
        return support::no({"the device cannot store ", to_string(p.values.type)});
    if (p.indices.type != dtype::i32 && p.indices.type != dtype::i64)
        return support::no({"indices are i32 or i64, not ", to_string(p.indices.type)});
    if (p.indices.type == dtype::i64 && !device.int64_arithmetic)
        return support::no("the device has no i64");
    for (const std::int64_t n : p.length)
        if (n == 0) return support::no("there is nothing to take from");
    const take_plan plan(p, chunks);
    if (support index = supports_index(plan.wide, device); !index.yes) return index;
    if (chunks && plan.bits == bits)
        return support::no("the innermost axis is not contiguous, or not aligned");
    const double count = static_cast<double>(element_count(plan.p.domain));
    return support::in(seconds_to_move(device, 2 * count * std::max(plan.bits / 8, 4), 0.8, count,
                                       plan.bits / 4.0));
}

template <bool Chunks>
struct take_kernel {
    using problem_type = take_problem;

    static support supports(const take_problem& p, const device_info& device) {
        return supports_take(p, Chunks, device);
    }
    static launch make(const take_problem& p, const device_info& device) {
        return take_plan(p, Chunks).make(p, device);
    }
};

}  // namespace detail

/// What every take kernel computes.
template <std::same_as<take_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    const host_array values = buffers.array(p.values), indices = buffers.array(p.indices),
                     output = buffers.array(p.output);
    const auto move = [&](const index_list& at) {
        std::int64_t from = offset_of(values, at), place = offset_of(indices, at);
        for (int k = 0; k < p.length.rank(); ++k, place += p.next) {
            std::int64_t i = 0;
            if (p.indices.type == dtype::i64) std::memcpy(&i, indices.data + place * 8, 8);
            else i = *reinterpret_cast<const std::int32_t*>(indices.data + place * 4);
            from += p.step[k] * detail::taken(i, p.length[k]);
        }
        detail::copy_element(p.values.type, values.data, from, output.data, offset_of(output, at));
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

static_assert(kernel_type<take_elements> && kernel_type<take_chunks>);

}}  // namespace pumice::PUMICE_ABI
