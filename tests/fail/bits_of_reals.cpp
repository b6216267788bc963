// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: op_does_not_take.*bitwise_xor.*float
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<int>& b) {
#ifdef RIGHT
    auto y = b ^ b;
    static_cast<void>(a), static_cast<void>(y);
#else
    auto y = a ^ a;
    static_cast<void>(b), static_cast<void>(y);
#endif
}
