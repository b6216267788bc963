// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: cannot_convert_elements_use_astype.*float.*int
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    pm::matrix<int> y = pm::astype<int>(a * 2);
#else
    pm::matrix<int> y = a * 2;
#endif
}
