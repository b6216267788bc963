// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: more_indices_than_axes<3, 2>
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += b(0, pm::all);
#else
    a += b(0, 0, 0);
#endif
}
