// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: permute_dims names every axis once
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    auto y = pm::permute_dims(a, pm::axes<1, 0>);
    static_cast<void>(y);
#else
    auto y = pm::permute_dims(a, pm::axes<1>);
    static_cast<void>(y);
#endif
}
