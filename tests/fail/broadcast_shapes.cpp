// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: shapes_do_not_broadcast.*extents<2, ?3>.*extents<4>
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::tensor<float, pm::extents<2, 3>>& a, pm::tensor<float, pm::extents<4>>& b,
             pm::tensor<float, pm::extents<3>>& c) {
#ifdef RIGHT
    auto y = a + c;
    static_cast<void>(b), static_cast<void>(y);
#else
    auto y = a + b;
    static_cast<void>(c);
#endif
}
