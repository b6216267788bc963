// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: extents_do_not_match.*extents<2, ?3>.*extents<3, ?2>
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::tensor<float, pm::extents<2, 3>>& a) {
#ifdef RIGHT
    pm::tensor<float, pm::extents<2, 3>> y = a + 1;
#else
    pm::tensor<float, pm::extents<3, 2>> y = a + 1;
#endif
}
