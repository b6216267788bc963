// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Matrices of the host device, and what their rows give in double.
#pragma once

#include <pumice/exec/make_engine.hpp>
#include <pumice/front.hpp>

#include <algorithm>
#include <cmath>

namespace host_test {

namespace pm = pumice;

inline pm::context host() { return pm::context(pm::host_only{}); }

inline pm::matrix<float> ramp(std::int64_t rows, std::int64_t columns, const pm::context& home) {
    std::vector<float> v(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float((i * 7919) % 1013) / 1013 - 0.4f;
    return pm::matrix<float>(pm::from_span<float>({rows, columns}, v, home));
}

/// The elements as they lie in memory, dense in row-major order.
inline std::vector<std::byte> bytes_of(const pm::any_tensor& x) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(pm::byte_count(x.dtype(), x.size())));
    x.get()->owner->read(x.get(), bytes.data());
    return bytes;
}

/// f of each row, by double.
template <class F>
std::vector<double> by_rows(const pm::matrix<float>& x, F&& f) {
    const std::vector<float> v = x.to_vector();
    const std::int64_t columns = x.shape()[1];
    std::vector<double> r;
    for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
        std::vector<double> row(v.begin() + i * columns, v.begin() + (i + 1) * columns);
        r.push_back(f(row));
    }
    return r;
}
inline double total_of(const std::vector<double>& v) {
    double s = 0;
    for (const double x : v) s += x;
    return s;
}
inline bool near(const std::vector<float>& got, const std::vector<double>& want, double bound) {
    if (got.size() != want.size()) return false;
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::fabs(double(got[i]) - want[i]) <= bound)) return false;
    return true;
}

}  // namespace host_test
