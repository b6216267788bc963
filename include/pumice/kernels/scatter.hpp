// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The scattering kernel: sorted updates, so that each row is written by who sees its first one, in
// the order of the updates (shaders/scatter.slang).
#pragma once

#include <pumice/kernels/detail/rows.hpp>
#include <pumice/kernels/seconds.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

template <class T>
T element_at(const host_array& a, const index_list& place) {
    return load_element<T>(a.data, offset_of(a, place));
}
template <class T>
void scatter_elements(const scatter_problem& p, const host_buffers& buffers) {
    using W = widest_of<T>;
    using sums = std::conditional_t<std::is_integral_v<W>, std::uint64_t, W>;  // they wrap
    const host_array keys = buffers.array(p.keys), order = buffers.array(p.order),
                     updates = buffers.array(p.updates), data = buffers.array(p.data),
                     output = buffers.array(p.output);
    const auto key = [&](std::int64_t i) {
        const std::int64_t k = p.keys.type == dtype::i64
                                   ? element_at<std::int64_t>(keys, {i})
                                   : std::int64_t{element_at<std::int32_t>(keys, {i})};
        return k < 0 && p.from_end ? k + p.rows : k;
    };
    const auto joined = [&](W v, W u) {
        switch (p.what) {
            case scattering::sum:
                return static_cast<W>(static_cast<sums>(v) + static_cast<sums>(u));
            case scattering::prod:
                return static_cast<W>(static_cast<sums>(v) * static_cast<sums>(u));
            case scattering::max: return u < v || v != v ? v : u;
            case scattering::min: return v < u || v != v ? v : u;
            default: return u;
        }
    };
    array_list<char> seen(static_cast<std::size_t>(p.rows), 0);  // without an order rows come again
    for (std::int64_t i = 0; i < p.count;) {
        const std::int64_t row = key(i), first = i;
        while (i < p.count && key(i) == row) ++i;
        if (row < 0 || row >= p.rows) continue;
        for (std::int64_t c = 0; c < p.width; ++c) {
            T last = element_at<T>(seen[static_cast<std::size_t>(row)] ? output : data, {row, c});
            W v = convert<W>(last);
            for (std::int64_t k = first; k < i; ++k) {
                const std::int64_t update =
                    order.data ? element_at<std::int64_t>(order, {k}) : offset_of(order, {k});
                last = element_at<T>(updates, {update, c});
                v = joined(v, convert<W>(last));
            }
            if (p.what != scattering::replace) last = convert<T>(v);
            store_element(output.data, offset_of(output, {row, c}), last);
        }
        seen[static_cast<std::size_t>(row)] = 1;
    }
}

}  // namespace detail

/// What the scattering kernel computes.
template <std::same_as<scatter_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    visit(p.output.type, [&]<class T>(T) { detail::scatter_elements<T>(p, buffers); });
}

struct scatter_rows {
    using problem_type = scatter_problem;
    static constexpr std::string_view name = "scatter/rows";
    static constexpr bool portable = true;

    static support supports(const scatter_problem& p, const device_info& device) {
        for (const dtype t : {p.output.type, dtype::i64})
            if (!device.supports(t)) return support::no({"the device has no ", to_string(t)});
        if (p.keys.type != dtype::i32 && p.keys.type != dtype::i64)
            return support::no({"keys are i32 or i64, not ", to_string(p.keys.type)});
        if (!p.order.in_memory() || p.from_end) return support::no("the keys are not sorted");
        if (p.what != scattering::replace && p.output.type == dtype::boolean)
            return support::no("there is no arithmetic of bool");
        if (support s = supports_index(wide(p), device); !s.yes) return s;
        const double count = static_cast<double>(p.count * p.width);
        return support::in(seconds_to_move(device, 3 * count * info(p.output.type).bits / 8.0, 0.5,
                                           count, 16));
    }
    static launch make(const scatter_problem& p, const device_info& device) {
        // What replaces is moved as it lies.
        constexpr const char* cells[] = {"U8", "U16", "U32", "U64"};
        constexpr const char* joins[] = {"Replace", "Add", "Mul", "Max", "Min"};
        const dtype type = p.output.type;
        int size = 0;
        while (8 << size < info(type).bits) ++size;
        const std::string_view element = p.what == scattering::replace && !is_packed(type)
                                             ? std::string_view(cells[size])
                                             : info(type).slang;
        launch l("scatter", "join",
                 {element, p.keys.type == dtype::i64 ? "int64_t" : "int", index_type(wide(p)),
                  cat({joins[static_cast<int>(p.what)], "<", element, ".Arith>"})},
                 {});
        const std::uint32_t width = spread(l, (p.count * p.width + 255) / 256, device);
        write_block(l, wide(p), "ScatterParams",
                    {{"N* keys", block::address{p.keys.buffer}},
                     {"int64_t* order", block::address{p.order.buffer}},
                     {"T.Storage* updates", block::address{p.updates.buffer}},
                     {"T.Storage* data", block::address{p.data.buffer}},
                     {"T.Storage* output", block::address{p.output.buffer}},
                     {"Matrix<I> key", "Matrix", matrix(p.keys).row},
                     {"Matrix<I> turn", "Matrix", matrix(p.order).row},
                     {"Matrix<I> update", "Matrix", matrix(p.updates).row},
                     {"Matrix<I> from", "Matrix", matrix(p.data).row},
                     {"Matrix<I> to", "Matrix", matrix(p.output).row},
                     {"I count", p.count},
                     {"I rows", p.rows},
                     {"I columns", p.width},
                     {"uint width", width}});
        l.accesses = {range_of(p.keys, {p.count}, false), range_of(p.order, {p.count}, false),
                      range_of(p.updates, {p.count, p.width}, false),
                      range_of(p.data, {p.rows, p.width}, false),
                      range_of(p.output, {p.rows, p.width}, true)};
        return l;
    }

private:
    static three_parameters matrix(const operand& o) {
        return {{{"I at", o.offset},
                 {"I down", o.steps[0]},
                 {"I along", o.steps.rank() > 1 ? o.steps[1] : 0}}};
    }
    static bool wide(const scatter_problem& p) {
        return needs_wide_index({p.keys, p.order}, {p.count}) ||
               needs_wide_index({p.updates}, {p.count, p.width}) ||
               needs_wide_index({p.data, p.output}, {p.rows, p.width});
    }
};

static_assert(kernel_type<scatter_rows>);

}}  // namespace pumice::PUMICE_ABI
