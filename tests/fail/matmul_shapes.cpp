// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul_shapes_do_not_match.*extents<2, ?3>.*extents<4, ?5>
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::tensor<float, pm::extents<2, 3>>& a, pm::tensor<float, pm::extents<4, 5>>& b,
             pm::tensor<float, pm::extents<3, 5>>& c) {
#ifdef RIGHT
    auto y = pm::matmul(a, c);
    static_cast<void>(b), static_cast<void>(y);
#else
    auto y = pm::matmul(a, b);
    static_cast<void>(c);
#endif
}
