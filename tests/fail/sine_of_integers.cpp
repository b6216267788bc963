// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: op_does_not_take.*sin.*int
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<int>& a) {
#ifdef RIGHT
    auto y = pm::sin(pm::astype<float>(a));
    static_cast<void>(y);
#else
    auto y = pm::sin(a);
    static_cast<void>(y);
#endif
}
