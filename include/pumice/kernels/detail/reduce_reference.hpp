// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions in plain C++: element after element, in a wider type than the kernels'.
#pragma once

#include <pumice/kernels/detail/rows.hpp>

#include <cmath>

namespace pumice::inline PUMICE_ABI {

namespace detail {

/// The type in which the prologue's value is reduced.
inline dtype reduced_type(const reduce_problem& p) {
    return p.what == reduction::any || p.what == reduction::all ? dtype::boolean
                                                                : p.prologue.type();
}

/// Calls `f` with the prologue's values along the last reduced axis, row after row, in row-major order.
template <class T, class F>
void for_each_reduced(const reduce_problem& p, host_prologue<T>& prologue, const index_list& at,
                      F&& f) {
    const std::int64_t n = p.inner.empty() ? 1 : p.inner.back();
    std::vector<T> values(static_cast<std::size_t>(n));
    for_each_row(p.inner, [&](const index_list& row) {
        index_list c = at;
        for (std::int64_t i : row) c.push_back(i);
        if (!p.inner.empty()) c.push_back(0);
        prologue.run(c, values.data(), n);
        for (const T& v : values) f(v);
    });
}

/// Sum, product and mean; integers wrap as their arithmetic type does.
template <class T>
T sum_or_prod(reduction what, const std::vector<T>& values) {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, long double>;
    Wide r = what == reduction::prod ? 1 : 0;
    for (T v : values)
        r = static_cast<Wide>(what == reduction::prod ? r * static_cast<Wide>(v)
                                                      : r + static_cast<Wide>(v));
    if (what != reduction::mean) return static_cast<T>(r);
    if constexpr (std::is_integral_v<T>)
        return values.empty() ? T(0)
                              : static_cast<T>(static_cast<T>(r) / static_cast<T>(values.size()));
    else return static_cast<T>(r / static_cast<Wide>(values.size()));
}

/// The place of the first extreme value, of the first NaN if there is one; 0 of nothing.
template <class T>
std::int64_t extreme_index(bool greatest, const std::vector<T>& v) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < v.size(); ++i)
        if (v[best] == v[best] && (v[i] != v[i] || (greatest ? v[i] > v[best] : v[i] < v[best])))
            best = i;
    return static_cast<std::int64_t>(best);
}

inline long double log_sum_exp(const std::vector<double>& values) {
    long double top = -std::numeric_limits<long double>::infinity(), sum = 0;
    for (double v : values) top = v != v || v > top ? v : top;
    if (top != top || std::isinf(top)) return top;
    for (double v : values) sum += std::exp(v - top);
    return top + std::log(sum);
}

/// `values` in the type that stands for storage type S, reduced to what the epilogue is given.
template <class S, class T>
auto reduce_values(reduction what, const std::vector<T>& values) {
    using Given = decltype(to_arithmetic(S{}));
    const bool least = what == reduction::min || what == reduction::all;
    if constexpr (std::is_same_v<S, bool>) {
        bool r = least;
        for (T v : values) r = least ? r && v != 0 : r || v != 0;
        return r;
    } else {
        T r = static_cast<T>(convert<S>(least ? std::numeric_limits<double>::infinity()
                                              : -std::numeric_limits<double>::infinity()));
        if (what == reduction::max || what == reduction::min) {
            if (!values.empty())
                r = values[static_cast<std::size_t>(extreme_index(!least, values))];
        } else if (what == reduction::logsumexp) {
            if constexpr (std::is_floating_point_v<T>) r = static_cast<T>(log_sum_exp(values));
        } else {
            r = sum_or_prod(what, values);
        }
        if constexpr (std::is_integral_v<T>) return to_arithmetic(static_cast<S>(r));
        else return static_cast<Given>(r);
    }
}

/// Values of storage type S: half types and float are reduced as double, integers as their
/// arithmetic type, bool as a byte.
template <class S>
void reduce_on_host(const reduce_problem& p, const fused& prologue_program,
                    const host_buffers& buffers) {
    using Plain = decltype(plain(to_arithmetic(S{})));
    using T = std::conditional_t<std::is_same_v<S, bool>, std::uint8_t,
                                 std::conditional_t<std::is_integral_v<S>, Plain, double>>;
    host_prologue<T> prologue(prologue_program, buffers);
    host_epilogue epilogue(p.epilogue, buffers);
    const std::int64_t columns = p.outer.empty() ? 1 : p.outer.back();
    std::vector<T> values;
    for_each_row(p.outer, [&](const index_list& row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            index_list at = row;
            if (!p.outer.empty()) at.push_back(column);
            values.clear();
            for_each_reduced(p, prologue, at, [&](T v) { values.push_back(v); });
            if (p.what == reduction::argmax || p.what == reduction::argmin) {
                const std::int64_t r = extreme_index(p.what == reduction::argmax, values);
                epilogue.run(at, &r, 1);
            } else {
                const auto r = reduce_values<S>(p.what, values);
                epilogue.run(at, &r, 1);
            }
        }
    });
}

}  // namespace detail

/// What every reduction kernel computes.
inline void reduce_reference(const reduce_problem& p, const host_buffers& buffers) {
    const dtype type = detail::reduced_type(p);
    const fused prologue = cast_value(p.prologue, type);
    visit(type, [&](auto s) { detail::reduce_on_host<decltype(s)>(p, prologue, buffers); });
}

}  // namespace pumice::inline PUMICE_ABI
