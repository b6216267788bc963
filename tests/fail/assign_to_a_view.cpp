// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: assign_to_a_part_by_at
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(a, pm::slice{0, 1}) = pm::view(b, pm::slice{0, 1});
#else
    pm::view(a, pm::slice{0, 1}) = pm::view(b, pm::slice{0, 1});
#endif
}
