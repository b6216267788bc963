// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors joined along an axis on the host: each part is copied once to where it belongs.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Where the elements are of a tensor with values, or of a lazy view of one; else no data.
inline host_array array_behind(const node& n) {
    if (has_values(n)) return {bytes_on_host(n), n.type, n.offset, n.layout()};
    const node_ptr of = !n.realised() && is_view(n) ? n.viewed() : nullptr;
    if (!of || !has_values(*of)) return {};
    host_array a{bytes_on_host(*of), n.type, of->offset, row_major_strides(n.extent)};
    const auto* const view = n.op.get_if<view_op>();
    if (!view) return of->row_major() ? a : host_array{};
    const strides& steps = of->layout();
    for (int i = 0; i < steps.rank(); ++i) a.offset += view->start[i] * steps[i];
    for (int i = 0; i < a.steps.rank(); ++i) {
        const auto axis = static_cast<int>(view->source[i]);
        a.steps[i] = axis < 0 ? 0 : view->step[i] * steps[axis];
    }
    return a;
}

/// A part as rows, one for each place of the axes before the joined one. Steps count elements.
struct joined_part {
    const std::byte* from = nullptr;  // null where it does not lie so
    std::int64_t down, along, length;

    joined_part(const node& n, int axis, std::int64_t rows)
        : down(n.count() / rows), along(1), length(down) {
        if (has_values(n) && n.row_major()) {
            from = first_value(n);
            return;
        }
        const host_array a = array_behind(n);
        if (a.data && join(n.extent, a.steps, 0, axis, down) &&
            join(n.extent, a.steps, axis, n.extent.rank(), along))
            from = a.data + byte_offset(a.type, a.offset);
    }

private:
    /// The step of the axes [first, last) in row-major order; false where there is not one.
    static bool join(const shape& extent, const strides& steps, int first, int last,
                     std::int64_t& step) {
        std::int64_t n = 1;
        for (int i = last; i-- > first; n *= extent[i]) {
            if (extent[i] == 1) continue;
            if (n == 1) step = steps[i];
            else if (steps[i] != n * step) return false;
        }
        return true;
    }
};

inline std::int64_t rows_before(const shape& extent, int axis) {
    std::int64_t rows = 1;
    for (int i = 0; i < axis; ++i) rows *= extent[i];
    return rows;
}

template <std::same_as<concat_op> Op>
void join_parts(const host_loop& bound, std::byte* to, const thread_pool& threads) {
    const auto& given = *static_cast<const host_operands*>(bound.operands);
    const int axis = static_cast<const Op*>(bound.what)->axis, bits = info(given.type).bits;
    const std::int64_t rows = rows_before(given.extent, axis), width = given.count / rows,
                       size = bits / 8;
    if (rows == 1) {
        for (const node_ptr& input : given.inputs) {
            const joined_part p(*input, axis, rows);
            threads.run((p.length + thread_part - 1) / thread_part, parts_for_a_thread(thread_part),
                        [&](std::int64_t i) {
                            const std::int64_t first = i * thread_part;
                            copy_elements(bits, p.from + first * p.along * size, p.along,
                                          to + first * size, 1,
                                          std::min(thread_part, p.length - first));
                        });
            to += p.length * size;
        }
        return;
    }
    array_list<joined_part> parts;
    for (const node_ptr& input : given.inputs) parts.push_back({*input, axis, rows});
    const std::int64_t some = std::max<std::int64_t>(1, thread_part / width);
    threads.run((rows + some - 1) / some, parts_for_a_thread(some * width), [&](std::int64_t i) {
        const std::int64_t first = i * some, n = std::min(some, rows - first);
        std::byte* out = to + first * width * size;
        for (const joined_part& p : parts) {
            const std::byte* const from = p.from + first * p.down * size;
            if (p.length < short_line / 4)
                copy_rows(bits, from, p.down, p.along, out, width, n, p.length);
            else
                for (std::int64_t row = 0; row < n; ++row)
                    copy_elements(bits, from + row * p.down * size, p.along,
                                  out + row * width * size, 1, p.length);
            out += p.length * size;
        }
    });
}

/// Of parts that lie as rows of one step each, also where they are lazy views of what has values.
template <std::same_as<concat_op> Op>
void bind_loop(const Op& op, const host_operands& given, host_loop& out) {
    if (is_packed(given.type) || given.layout || given.count == 0) return;
    const std::int64_t rows = rows_before(given.extent, op.axis);
    for (const node_ptr& input : given.inputs)
        if (!joined_part(*input, op.axis, rows).from) return;
    out.what = &op;
    out.operands = &given;
    out.loop = join_parts<Op>;
}

}}}  // namespace pumice::PUMICE_ABI::detail
