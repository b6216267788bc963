// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: axis_is_outside_the_rank<2, ?2>
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    auto y = pm::sum(a, pm::axis<1>);
    static_cast<void>(y);
#else
    auto y = pm::sum(a, pm::axis<2>);
    static_cast<void>(y);
#endif
}
