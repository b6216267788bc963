// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: op_does_not_take.*logical_and.*float
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    auto y = pm::logical_and(a > 0, a < 1);
    static_cast<void>(y);
#else
    auto y = pm::logical_and(a, a);
    static_cast<void>(y);
#endif
}
