// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: op_needs_floating_point_use_astype.*int
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<int>& a) {
#ifdef RIGHT
    auto y = pm::softmax(pm::astype<float>(a));
    static_cast<void>(y);
#else
    auto y = pm::softmax(a);
    static_cast<void>(y);
#endif
}
