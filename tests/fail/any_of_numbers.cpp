// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: op_needs_bool.*float
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    auto y = pm::any(a > 0);
    static_cast<void>(y);
#else
    auto y = pm::any(a);
    static_cast<void>(y);
#endif
}
