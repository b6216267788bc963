// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: cannot_index_with
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += b[0];
#else
    a += b["0"];
#endif
}
