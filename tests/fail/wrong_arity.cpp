// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: the op takes another number of operands
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    auto y = pm::clip(a, 0, 1);
    static_cast<void>(y);
#else
    auto y = pm::clip(a, 0);
#endif
}
