// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Softmax and the norms in plain C++: row after row, in a wider type than the kernels'.
#pragma once

#include <pumice/kernels/detail/reduce_reference.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Softmax or its logarithm: the largest value is taken off first.
inline void softmax_values(bool logarithm, span<double> row) {
    long double top = -std::numeric_limits<long double>::infinity(), sum = 0;
    for (double v : row) top = std::max<long double>(top, v);
    for (double v : row) sum += std::exp(v - top);
    const long double log_of_sum = std::log(sum);
    for (double& v : row)
        v = static_cast<double>(logarithm ? v - top - log_of_sum : std::exp(v - top) / sum);
}

/// (v - mean) / sqrt(variance + epsilon), or without the mean.
inline void norm_values(bool centred, double epsilon, span<double> row) {
    const auto n = static_cast<long double>(row.size());
    long double mean = 0, square = 0;
    for (double v : row) mean += v;
    mean = centred ? mean / n : 0;
    for (double v : row) square += (v - mean) * (v - mean);
    const long double root = std::sqrt(square / n + epsilon);
    for (double& v : row) v = static_cast<double>((v - mean) / root);
}

}  // namespace detail

/// What every normalisation kernel computes.
template <std::same_as<normalize_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    host_rows prologue(p.prologue, buffers), epilogue(p.epilogue, buffers);
    const std::int64_t n = p.inner.back();
    detail::wide_values row;
    shape outer = p.outer;
    outer.push_back(1);  // for_each_row leaves out the last axis
    for_each_row(outer, [&](const index_list& at) {
        const auto each_line = [&](auto&& f) {
            for_each_row(p.inner, [&](const index_list& inner) {
                index_list c = at;
                for (std::int64_t i : inner) c.push_back(i);
                c.push_back(0);
                f(c);
            });
        };
        row.clear();
        each_line([&](const index_list& c) { prologue.read(c, dtype::f64, row.grow(n), n); });
        const bool logarithm = p.what == normalization::log_softmax;
        if (logarithm || p.what == normalization::softmax)
            detail::softmax_values(logarithm, row.as<double>());
        else detail::norm_values(p.what == normalization::layer_norm, p.epsilon, row.as<double>());
        std::int64_t line = 0;
        each_line([&](const index_list& c) {
            epilogue.write(c, dtype::f64, row.at(line), n);
            line += n;
        });
    });
}

}}  // namespace pumice::PUMICE_ABI
