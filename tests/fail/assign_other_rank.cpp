// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// expect: extents_do_not_match.*extents<-1, ?-1>.*extents<-1>|extents_do_not_match
#include <pumice/front.hpp>

namespace pm = pumice;

void program(pm::matrix<float>& a) {
#ifdef RIGHT
    pm::vector<float> y = pm::sum(a, pm::axis<0>);
#else
    pm::vector<float> y = a * 2;
#endif
}
