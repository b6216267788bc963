// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: element_types_do_not_mix_use_astype.*float.*bool
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<bool>& b) {
#ifdef RIGHT
    auto y = a * pm::astype<float>(b);
    static_cast<void>(y);
#else
    auto y = a * b;
    static_cast<void>(y);
#endif
}
