// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: a tensor has at most 8 axes
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    pm::tensor<float, pm::dims<8>> y;
    static_cast<void>(a);
#else
    pm::tensor<float, pm::dims<9>> y;
    static_cast<void>(a);
#endif
}
