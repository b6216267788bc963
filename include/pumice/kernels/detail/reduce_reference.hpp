// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions in plain C++: element after element, in a wider type than the kernels'.
#pragma once

#include <pumice/kernels/detail/rows.hpp>

#include <cmath>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// The type in which the prologue's value is reduced.
inline dtype reduced_type(const reduce_problem& p) {
    return p.what == reduction::any || p.what == reduction::all ? dtype::boolean
                                                                : p.prologue.type();
}

/// An integer wrapped to element type `type`; a real as it is.
template <class T>
T wrapped(dtype type, T value) {
    if constexpr (std::is_integral_v<T>) {
        const int unused = 64 - info(type).bits;
        return static_cast<T>(static_cast<T>(static_cast<std::uint64_t>(value) << unused) >>
                              unused);
    } else {
        return value;
    }
}

/// Sum, product and mean; integers wrap as the type that `type` is computed in does.
template <class T>
T sum_or_prod(reduction what, dtype type, span<const T> values) {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, long double>;
    Wide r = what == reduction::prod ? 1 : 0;
    for (T v : values)
        r = what == reduction::prod ? r * static_cast<Wide>(v) : r + static_cast<Wide>(v);
    if (what != reduction::mean) return static_cast<T>(r);
    if constexpr (std::is_integral_v<T>)
        return values.empty() ? T(0)
                              : static_cast<T>(wrapped(computed_as(type), static_cast<T>(r)) /
                                               static_cast<T>(values.size()));
    else return static_cast<T>(r / static_cast<Wide>(values.size()));
}

/// The place of the first extreme value, of the first NaN if there is one; 0 of nothing.
template <class T>
std::int64_t extreme_index(bool greatest, span<const T> v) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < v.size(); ++i)
        if (v[best] == v[best] && (v[i] != v[i] || (greatest ? v[i] > v[best] : v[i] < v[best])))
            best = i;
    return static_cast<std::int64_t>(best);
}

inline long double log_sum_exp(span<const double> values) {
    long double top = -std::numeric_limits<long double>::infinity(), sum = 0;
    for (double v : values) top = v != v || v > top ? v : top;
    if (top != top || std::isinf(top)) return top;
    for (double v : values) sum += std::exp(v - top);
    return top + std::log(sum);
}

/// The mean squared distance from the mean, which is worked out first.
inline long double variance(span<const double> values) {
    const auto n = static_cast<long double>(values.size());
    long double mean = 0, spread = 0;
    for (double v : values) mean += v;
    mean /= n;
    for (double v : values) spread += (v - mean) * (v - mean);
    return spread / n;
}

/// `values` of element type `type`, reduced; integers wrap to it.
template <class T>
T reduce_values(reduction what, dtype type, span<const T> values) {
    const bool least = what == reduction::min || what == reduction::all;
    switch (what) {
        case reduction::any:
        case reduction::all:
        case reduction::max:
        case reduction::min:
            if (values.empty()) return extreme_of<T>(type, !least);  // the other end
            return values[static_cast<std::size_t>(extreme_index(!least, values))];
        case reduction::logsumexp:
            if constexpr (std::is_floating_point_v<T>) return static_cast<T>(log_sum_exp(values));
            else return 0;
        case reduction::var:
            if constexpr (std::is_floating_point_v<T>) return static_cast<T>(variance(values));
            else return 0;
        default: return wrapped(type, sum_or_prod(what, type, values));
    }
}

/// `count` values of the type that `type` is computed in, joined by an op until one is left at the
/// front: the first half with the second, so that the op's loop is a long one.
inline void join_values(const op_info& op, dtype type, std::byte* values, std::int64_t count) {
    const dtype held = computed_as(type);
    const std::int64_t size = byte_offset(held, 1);
    alignas(8) std::byte joined[8 * host_block_size];
    while (count > 1) {
        const std::int64_t half = count / 2, second = count - half;
        for (std::int64_t i = 0; i < half; i += host_block_size) {
            const std::int64_t n = std::min(host_block_size, half - i);
            const void* const in[] = {values + i * size, values + (second + i) * size};
            op.host(info(type).arithmetic, in, joined, static_cast<std::size_t>(n));
            if (!is_floating(type)) settle_block(type, joined, n);
            std::memcpy(values + i * size, joined, static_cast<std::size_t>(n * size));
        }
        count = second;
    }
}

}  // namespace detail

/// What every reduction kernel computes.
template <std::same_as<reduce_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    const dtype type = detail::reduced_type(p),
                wide = p.by ? detail::computed_as(type) : detail::widest(type);
    const bool place = p.what == reduction::argmax || p.what == reduction::argmin;
    const fused program = cast_value(p.prologue, type);
    host_rows prologue(program, buffers), epilogue(p.epilogue, buffers);
    const std::int64_t columns = p.outer.empty() ? 1 : p.outer.back();
    const std::int64_t n = p.inner.empty() ? 1 : p.inner.back();
    detail::wide_values values, result(1);
    for_each_row(p.outer, [&](index_list at) {
        if (!p.outer.empty()) at.push_back(0);
        for (std::int64_t column = 0; column < columns; ++column) {
            if (!p.outer.empty()) at[at.rank() - 1] = column;
            values.clear();
            std::int64_t taken = 0;
            for_each_row(p.inner, [&](const index_list& inner) {
                index_list c = at;
                for (std::int64_t i : inner) c.push_back(i);
                if (!p.inner.empty()) c.push_back(0);
                values.grow(n);
                prologue.read(c, wide, values.at(0) + byte_offset(wide, taken), n);
                taken += n;
            });
            if (p.by) {
                if (taken == 0) values.grow(1);
                detail::join_values(*p.by, type, values.at(0), taken);
                epilogue.write(at, wide, values.at(0), 1);
                continue;
            }
            detail::visit_widest(type, [&]<class T>(T) {
                const span<const T> reduced = values.as<T>();
                if (place)
                    result.as<std::int64_t>()[0] =
                        detail::extreme_index(p.what == reduction::argmax, reduced);
                else result.as<T>()[0] = detail::reduce_values(p.what, type, reduced);
            });
            epilogue.write(at, place ? dtype::i64 : wide, result.at(0), 1);
        }
    });
}

}}  // namespace pumice::PUMICE_ABI
