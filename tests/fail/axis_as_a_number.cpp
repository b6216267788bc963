// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: name_axes_in_the_type_as_axis_1
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::sum(b, pm::axis<1>, pm::keepdims);
#else
    a += pm::sum(b, 1);
#endif
}
