// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: condition_must_be_bool.*float
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    auto y = pm::where(a > 0, a, 0);
    static_cast<void>(y);
#else
    auto y = pm::where(a, a, 0);
    static_cast<void>(y);
#endif
}
