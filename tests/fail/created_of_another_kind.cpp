// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: element_types_do_not_mix_use_astype
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::zeros<float>(b.shape());
#else
    a += pm::zeros<int>(b.shape());
#endif
}
