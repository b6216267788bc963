// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is assigned to, and what is assigned.
#include <pumice/front.hpp>

namespace pm = pumice;

// expect: cannot_convert_elements_use_astype.*float.*int
void other_elements(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::matrix<int> y = pm::astype<int>(a * 2);
#else
    pm::matrix<int> y = a * 2;
#endif
}

// expect: extents_do_not_match.*extents<-1, ?-1>.*extents<-1>
void other_rank(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::vector<float> y = pm::sum(a, pm::axis<0>);
#else
    pm::vector<float> y = a * 2;
#endif
}

// expect: extents_do_not_match.*extents<2, ?3>.*extents<3, ?2>
void other_shape(pm::tensor<float, pm::extents<2, 3>>& a) {
#ifdef RIGHT
    pm::tensor<float, pm::extents<2, 3>> y = a + 1;
#else
    pm::tensor<float, pm::extents<3, 2>> y = a + 1;
#endif
}

// expect: extents_do_not_match.*extents<-1, ?-1, ?-1>.*extents<-1, ?-1>
void rank_of_creation(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::matrix<float> y = pm::zeros<float>({2, 3});
#else
    pm::matrix<float> y = pm::zeros<float>({2, 3, 4});
#endif
}

// expect: assign_to_a_part_by_at.*strided
void to_a_view(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(a, pm::slice{0, 1}) = pm::view(b, pm::slice{0, 1});
#else
    pm::view(a, pm::slice{0, 1}) = pm::view(b, pm::slice{0, 1});
#endif
}

// expect: assign_to_a_part_by_at<int>
void to_an_index(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(a, 0) = 1;
#else
    a[0] = 1;
#endif
}

// expect: assign_to_a_part_by_at<float>
void to_an_element(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(a, 0, 1) = 2.0f;
#else
    a[0][1] = 2.0f;
#endif
}

// expect: assign_to_a_part_by_at<double>
void add_to_an_element(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(a, 0, 1) += 2.0;
#else
    a(0, 1) += 2.0;
#endif
}

// expect: assign_to_a_part_by_at.*extents<-1, ?-1>.*row_major|assign_to_a_part_by_at.*extents<-1,
// -1>>>
void to_a_transpose(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    a = pm::transpose(b);
#else
    pm::transpose(a) = b;
#endif
}

// expect: assign_to_a_part_by_at.*extents<-1>
void to_a_sum(pm::matrix<float>& a, pm::vector<float>& b) {
#ifdef RIGHT
    b = pm::sum(a, pm::axis<0>);
#else
    pm::sum(a, pm::axis<0>) = b;
#endif
}

// expect: cannot_assign_to_a_const<const.*float
void to_a_const(const pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::at(b, 0) = a[0];
#else
    pm::at(a, 0) = b[0];
#endif
}

// expect: cannot_convert_elements_use_astype<bool, ?float>
void other_elements_to_a_part(pm::matrix<float>& a, pm::matrix<bool>& b) {
#ifdef RIGHT
    pm::at(a, 0) = pm::astype<float>(b[0]);
#else
    pm::at(a, 0) = b[0];
#endif
}

// expect: extents_do_not_match.*extents<-1, ?-1, ?-1>.*extents<-1>
void grown_by_adding(pm::vector<float>& a, pm::tensor<float, pm::dims<3>>& b) {
#ifdef RIGHT
    a += b(0, 0, pm::all);
#else
    a += b;
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*float.*extents<>.*strided
void number_of_an_element(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    const float y = a(0, 0).item();
#else
    const float y = a(0, 0);
#endif
}

// expect: \{1, 2, 3\}.*matrix<float>|no matching constructor for initialization of
// 'pm::matrix<float>'
void list_of_another_rank(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::matrix<float> y = {{1, 2, 3}};
#else
    pm::matrix<float> y = {1, 2, 3};
#endif
}

// expect: any_tensor.*matrix<float>
void any_tensor_unasked(pm::any_tensor& a) {
#ifdef RIGHT
    const pm::matrix<float> y(a);
#else
    const pm::matrix<float> y = a;
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*float.*extents<>
void number_of_a_sum(pm::matrix<float>& a) {
#ifdef RIGHT
    const float y = (2 * pm::sum(a)).item();
#else
    const float y = 2 * pm::sum(a);
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*long.*extents<>
void place_in_a_vector(pm::vector<float>& a) {
    std::vector<float> list(9);
#ifdef RIGHT
    list[static_cast<std::size_t>(pm::argmax(a).item())] = 1;
#else
    list[pm::argmax(a)] = 1;
#endif
}

// expect: range_makes_no_tensor_use_from_span_or_adapt<.*vector<float
void tensor_of_a_vector() {
    const std::vector<float> list{1, 2};
#ifdef RIGHT
    pm::vector<float> y = pm::from_span<float>({2}, list);
#else
    pm::vector<float> y = list;
#endif
}

// expect: tensors_have_no_iterators_use_host_or_unstack
void loop_over_rows(pm::matrix<float>& a) {
#ifdef RIGHT
    for (const auto& row : pm::unstack(a, pm::axis<0>)) pm::eval(row);
#else
    for (const auto& row : a) pm::eval(row);
#endif
}
