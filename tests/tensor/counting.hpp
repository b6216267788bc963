// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Typed tensors that hold 0, 1, 2 ..., and what is made of them.
#pragma once

#include <tests/graph/support.hpp>

#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/view.hpp>

#include <doctest/doctest.h>

namespace pumice_test {

using reals = std::vector<float>;
inline const pumice::context home(host());

/// 0, 1, 2 ... under extents that the type knows.
template <std::int64_t... Ns>
auto counting() {
    constexpr std::int64_t n = (Ns * ... * 1);
    return pumice::reshape<Ns...>(pumice::arange<float>(0, double(n), 1, home));
}

/// The run-time shape is one that the type describes; gives the values.
template <class X>
reals values(const X& x) {
    CHECK(X::extents_type::matches(x.shape()));
    return pumice::to_vector<float>(pumice::astype(pumice::any_tensor(x), pumice::dtype::f32));
}

}  // namespace pumice_test
