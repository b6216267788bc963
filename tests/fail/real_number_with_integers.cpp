// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: number_does_not_fit_the_element_type.*double.*int
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<int>& a) {
#ifdef RIGHT
    auto y = a * 2;
    static_cast<void>(y);
#else
    auto y = a * 2.5;
    static_cast<void>(y);
#endif
}
