// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shapes that do not meet.
#include <pumice/front.hpp>

namespace pm = pumice;

// expect: shapes_do_not_broadcast.*extents<2, ?3>.*extents<4>
void broadcast(pm::tensor<float, pm::extents<2, 3>>& a, pm::tensor<float, pm::extents<4>>& b,
               pm::tensor<float, pm::extents<3>>& c) {
#ifdef RIGHT
    auto y = a + c;
#else
    auto y = a + b;
#endif
}

// expect: shapes_do_not_broadcast.*extents<2, ?3>.*extents<2, ?4>
void broadcast_to(pm::tensor<float, pm::extents<2, 3>>& a) {
#ifdef RIGHT
    auto y = pm::broadcast_to<4, 2, 3>(a);
#else
    auto y = pm::broadcast_to<2, 4>(a);
#endif
}

// expect: matmul_shapes_do_not_match.*extents<2, ?3>.*extents<4, ?5>
void matmul(pm::tensor<float, pm::extents<2, 3>>& a, pm::tensor<float, pm::extents<4, 5>>& b,
            pm::tensor<float, pm::extents<3, 5>>& c) {
#ifdef RIGHT
    auto y = pm::matmul(a, c);
#else
    auto y = pm::matmul(a, b);
#endif
}

// expect: number_of_elements_differs.*extents<2, ?3>.*extents<4>
void reshape(pm::tensor<float, pm::extents<2, 3>>& a) {
#ifdef RIGHT
    auto y = pm::reshape<6>(a);
#else
    auto y = pm::reshape<4>(a);
#endif
}

// expect: extents_do_not_match.*extents<-1, ?-1>.*extents<-1>
void concat_of_two_ranks(pm::matrix<float>& a, pm::vector<float>& b) {
#ifdef RIGHT
    auto y = pm::concat(pm::axis<0>, a, pm::expand_dims(b, pm::axis<0>));
#else
    auto y = pm::concat(pm::axis<0>, a, b);
#endif
}

// expect: extents_are_a_list_in_braces<int, ?int>
void extents_as_arguments(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a += pm::zeros<float>({2, 3});
#else
    a += pm::zeros<float>(2, 3);
#endif
}

// expect: extents_are_a_list_in_braces
void flattened_by_a_number(const pm::matrix<float>& a) {
#ifdef RIGHT
    static_cast<void>(pm::reshape(a, {-1}));
#else
    static_cast<void>(pm::reshape(a, -1));
#endif
}
