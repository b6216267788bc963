// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of runners: a function to run, and its values.
#pragma once

#include <pumice/front.hpp>
#include <pumice/runner.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace test {

namespace pm = pumice;

/// relu(x - 1) * 2 of one array, of a shape.
inline std::vector<pm::any_tensor> shift(std::span<const pm::any_tensor> x) {
    const pm::any_tensor one =
        pm::astype(pm::ones<float>({1}, pm::context(x[0].get()->owner)), x[0].dtype());
    const pm::any_tensor y = pm::relu(x[0] - one);
    return {pm::any_tensor(y + y)};
}
inline pm::tensor_info input_of(pm::dtype type, const pm::shape& extent,
                                const std::string& name = "x") {
    pm::tensor_info info;
    info.name = name;
    info.dtype = type;
    info.shape = extent;
    return info;
}
inline pm::runner shifting(const pm::context& home, const pm::shape& extent,
                           const pm::runner_options& o = {}) {
    const pm::tensor_info x = input_of(pm::dtype::f32, extent);
    return {home, std::span(&x, 1), shift, o};
}
inline std::vector<float> counting(std::size_t n, int from) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<float>((static_cast<int>(i) * 7 + from) % 19) - 8;
    return v;
}
inline std::vector<float> shifted(const std::vector<float>& x) {
    std::vector<float> y;
    for (const float v : x) y.push_back(v < 1 ? 0 : 2 * (v - 1));
    return y;
}
template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& v) {
    return std::as_bytes(std::span(v));
}
template <class T>
std::vector<T> values_of(const pm::runner_tensor_view& t) {
    std::vector<T> v(static_cast<std::size_t>(t.size_bytes()) / sizeof(T));
    t.read(std::as_writable_bytes(std::span(v)));
    return v;
}
inline bool on_host(const pm::context& c) { return c.device().type == pm::device_type::host; }

}  // namespace test
