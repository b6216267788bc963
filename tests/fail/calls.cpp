// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What functions take, and what a tensor is not.
#include <pumice/front.hpp>
#include <pumice/tensor/scan_loop.hpp>

#include <cmath>

namespace pm = pumice;

// expect: the op takes another number of operands
void wrong_arity(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::clip(a, 0, 1);
#else
    auto y = pm::clip(a, 0);
#endif
}

// expect: reduces_one_tensor_use_maximum_or_minimum
void max_of_two(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::maximum(a, b);
#else
    auto y = pm::max(a, b);
#endif
}

// expect: reduces_one_tensor_use_maximum_or_minimum.*double
void min_with_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::minimum(a, 0.5);
#else
    auto y = pm::min(a, 0.5);
#endif
}

// expect: join_masks_by_one_bar.*tensor<bool
void either_mask(pm::matrix<bool>& a, pm::matrix<bool>& b) {
#ifdef RIGHT
    auto y = a | b;
#else
    auto y = a || b;
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*bool.*extents<-1, ?-1>
void if_equal(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    if (pm::all(a == b).item()) return;
#else
    if (a == b) return;
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*bool.*extents<>
void if_any(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    if (pm::any(a > 0).item()) return;
#else
    if (pm::any(a > 0)) return;
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*float.*extents<>
void cast_to_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::sum(a).item();
#else
    auto y = static_cast<double>(pm::sum(a));
#endif
}

// expect: join_masks_by_one_ampersand.*greater.*less
void and_of_conditions(pm::vector<float>& a) {
#ifdef RIGHT
    auto y = (a > 0) & (a < 1);
#else
    auto y = (a > 0) && (a < 1);
#endif
}

// expect: no member named .sum.
void method(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::sum(a);
#else
    auto y = a.sum();
#endif
}

// expect: tensor_is_no_number_use_item_or_all.*float.*extents<-1, ?-1>
void of_std(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::sqrt(a);
#else
    auto y = std::sqrt(a);
#endif
}

// expect: compiled_functions_take_tensors.*float
void compiled_with_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::compile([](pm::matrix<float> x, pm::scalar_tensor<float> s) {
        return x * s;
    })(a, pm::scalar_tensor<float>(2.0f));
#else
    auto y = pm::compile([](pm::matrix<float> x, float s) { return x * s; })(a, 2.0f);
#endif
}

// expect: the compiled function does not take these arguments
void compiled_with_too_few(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::compile([](pm::matrix<float> x, pm::matrix<float> z) { return x * z; })(a, b);
#else
    auto y = pm::compile([](pm::matrix<float> x, pm::matrix<float> z) { return x * z; })(a);
#endif
}

// expect: a compiled function takes and gives tensors
void compiled_gives_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::compile([](pm::matrix<float> x) { return pm::sum(x); })(a);
#else
    auto y = pm::compile([](pm::matrix<float> x) { return pm::sum(x).item(); })(a);
#endif
}

// expect: operator==.*char|invalid operands.*char
void text_as_an_operand(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = a == 1;
#else
    auto y = a == "1";
#endif
}

// expect: no_operand_is_a_tensor.*float
void op_of_a_number(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = std::abs(-3.0f);
#else
    auto y = pm::abs(-3.0f);
#endif
}

// expect: length_makes_no_tensor_use_zeros_or_empty
void tensor_of_a_length(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::vector<float> y = pm::zeros<float>({5});
#else
    pm::vector<float> y(5);
#endif
}

// expect: length_makes_no_tensor_use_zeros_or_empty<int, ?int>
void tensor_of_lengths(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    pm::matrix<float> y = pm::zeros<float>({2, 3});
#else
    pm::matrix<float> y(2, 3);
#endif
}

// expect: elements_are_of_another_type<.*double, float>
void doubles_as_floats(pm::matrix<float>& a, pm::matrix<float>& b) {
    const std::vector<double> values{1, 2};
#ifdef RIGHT
    auto y = pm::astype<float>(pm::adapt(values));
#else
    auto y = pm::from_span<float>({2}, values);
#endif
}

// expect: deleted.*host
void memory_of_a_temporary(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto sorted = pm::sort(a, pm::axis<1>);
    auto y = sorted.host();
#else
    auto y = pm::sort(a, pm::axis<1>).host();
#endif
}

// expect: a_const_tensor_is_read_by_to_vector
void memory_of_a_const_tensor(const pm::vector<float>& a) {
#ifdef RIGHT
    auto y = a.to_vector();
#else
    auto y = a.host();
#endif
}

// expect: what_decides_is_a_tensor_of_bool<.*bool>
void loop_while_true(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::while_loop([](const auto& x) { return pm::all(x < 100); },
                            [](const auto& x) { return x + 1; }, a);
#else
    auto y =
        pm::while_loop([](const auto&) { return true; }, [](const auto& x) { return x + 1; }, a);
#endif
}

// expect: function_of_scan_gives_carry_and_y
void scan_of_one_result(pm::matrix<float>& a, pm::matrix<float>& b) {
#ifdef RIGHT
    auto y = pm::scan([](const auto& c, const auto& x) { return std::tuple(c + x, c + x); },
                      pm::sum(a, pm::axis<0>), a);
#else
    auto y =
        pm::scan([](const auto& c, const auto& x) { return c + x; }, pm::sum(a, pm::axis<0>), a);
#endif
}
