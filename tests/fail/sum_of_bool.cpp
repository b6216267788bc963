// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: op_needs_numbers_use_astype.*bool
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<bool>& a) {
#ifdef RIGHT
    auto y = pm::sum(pm::astype<int>(a));
    static_cast<void>(y);
#else
    auto y = pm::sum(a);
    static_cast<void>(y);
#endif
}
