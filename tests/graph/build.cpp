// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and types that the builders infer, and what they refuse, with the words that they say.
#include <pumice/graph/build.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
any_tensor of(const shape& s, dtype t = dtype::f32) { return data(home, s, t); }
bool says(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* p : parts)
        if (text.find(p) == std::string::npos) return false;
    return true;
}

}  // namespace

TEST_CASE("elementwise: broadcast, promoted, numbers take the tensors' type") {
    const any_tensor r = apply<op::add>(of({2, 1}, dtype::f16), of({3}));
    CHECK(r.shape() == shape{2, 3});
    CHECK(r.dtype() == dtype::f32);
    CHECK(apply<op::less>(of({2}), 1.0).dtype() == dtype::boolean);
    CHECK(apply<op::add>(of({2}, dtype::i8), 3.0).dtype() == dtype::i8);
    CHECK(apply<op::where>(of({2}, dtype::boolean), of({2}, dtype::f16), 0.0).dtype() ==
          dtype::f16);
    CHECK(apply<op::add>(of({2}, dtype::i8), of({2}, dtype::u8)).dtype() == dtype::i16);
    CHECK(code_of([] { apply<op::add>(of({2}), of({3})); }) == errc::shape_mismatch);
    CHECK(code_of([] { apply<op::add>(of({2}), of({2}, dtype::i32)); }) == errc::dtype_mismatch);
    CHECK(code_of([] { apply<op::exp>(of({2}, dtype::i32)); }) == errc::dtype_mismatch);
    CHECK(code_of([] { apply<op::add>(of({2}, dtype::i32), 0.5); }) == errc::dtype_mismatch);
    CHECK(code_of([] { apply<op::where>(of({2}), of({2}), of({2})); }) == errc::dtype_mismatch);
    CHECK(code_of([] { apply<op::add>(1.0, 2.0); }) == errc::invalid_argument);
    CHECK(says(text_of_error([] { apply<op::add>(of({2}), of({2}, dtype::boolean)); }),
               {"[add]", "f32, bool", "astype"}));
}

TEST_CASE("elementwise: a number is exact in the tensors' type") {
    const auto number = [](dtype type, const any_operand& v) {
        const any_operand list[] = {of({2}, type), v};
        const any_tensor r = apply(op_info_of<op::add>, list);
        return r.get()->op.get_if<elementwise_op>()->scalars.front();
    };
    const std::int64_t large = (std::int64_t(1) << 53) + 1;
    CHECK(number(dtype::i64, large).as<std::int64_t>() == large);
    CHECK(number(dtype::i64, -large).as<std::int64_t>() == -large);
    CHECK(number(dtype::u64, ~std::uint64_t{0}).as<std::uint64_t>() == ~std::uint64_t{0});
    CHECK(number(dtype::u64, 0x1p63).as<std::uint64_t>() == std::uint64_t(1) << 63);
    CHECK(number(dtype::i64, -0x1p63).as<std::int64_t>() ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(number(dtype::f32, 3).as<double>() == 3);
    CHECK(number(dtype::f64, 0.1).as<double>() == 0.1);
    for (double none : {0.5, 0x1p64, -0x1p64, 1e300, HUGE_VAL, -HUGE_VAL, std::nan("")})
        CHECK(code_of([&] { number(dtype::i64, none); }) == errc::dtype_mismatch);
}

TEST_CASE("astype of the same type is the tensor itself") {
    const any_tensor x = of({2});
    CHECK(astype(x, dtype::f32).get() == x.get());
    CHECK(astype(x, dtype::u8).dtype() == dtype::u8);
}

TEST_CASE("reductions: axes, kept or not, types") {
    const any_tensor x = of({2, 3, 4});
    const std::int64_t last[] = {-1}, two[] = {2, 0}, twice[] = {1, -2}, outside[] = {3};
    CHECK(reduce(reduction::sum, x).shape() == shape{});
    CHECK(reduce(reduction::sum, x, last).shape() == shape{2, 3});
    CHECK(reduce(reduction::sum, x, last, true).shape() == shape{2, 3, 1});
    CHECK(reduce(reduction::max, x, two).shape() == shape{3});
    CHECK(reduce(reduction::argmax, x, last).dtype() == dtype::i64);
    CHECK(reduce(reduction::any, of({2}, dtype::boolean)).dtype() == dtype::boolean);
    CHECK(code_of([&] { reduce(reduction::sum, x, twice); }) == errc::invalid_argument);
    CHECK(code_of([&] { reduce(reduction::sum, x, outside); }) == errc::axis_out_of_range);
    CHECK(code_of([&] { reduce(reduction::argmax, x, two); }) == errc::invalid_argument);
    CHECK(code_of([] { reduce(reduction::mean, of({2}, dtype::i32)); }) == errc::dtype_mismatch);
    CHECK(code_of([] { reduce(reduction::any, of({2})); }) == errc::dtype_mismatch);
    CHECK(code_of([] { reduce(reduction::sum, of({2}, dtype::boolean)); }) == errc::dtype_mismatch);
    CHECK(code_of([] { reduce(reduction::max, of({0})); }) == errc::invalid_argument);
    CHECK(code_of([&] { reduce(reduction::max, of({2, 0}), last); }) == errc::invalid_argument);
    CHECK(reduce(reduction::max, of({0, 3}), last).shape() == shape{0});
    CHECK(reduce(reduction::sum, of({0})).shape() == shape{});
}

TEST_CASE("a reduction by an op takes ops of two values that give the type that they take") {
    const any_tensor x = of({2, 3, 4});
    const std::int64_t last[] = {-1};
    CHECK(reduce(op_info_of<op::maximum>, x, last, true).shape() == shape{2, 3, 1});
    CHECK(reduce(op_info_of<op::logical_xor>, of({2}, dtype::boolean)).dtype() == dtype::boolean);
    CHECK(code_of([&] { reduce(op_info_of<op::less>, x); }) == errc::dtype_mismatch);
    CHECK(code_of([&] { reduce(op_info_of<op::exp>, x); }) == errc::dtype_mismatch);
    CHECK(code_of([&] { reduce(op_info_of<op::bitwise_xor>, x); }) == errc::dtype_mismatch);
    CHECK(says(text_of_error([&] { reduce(op_info_of<op::less>, x); }), {"[reduce by less]"}));
    CHECK(code_of([&] { reduce(op_info_of<op::add>, of({2, 0}), last); }) ==
          errc::invalid_argument);
}

TEST_CASE("matmul, as NumPy's") {
    const auto product = [](const shape& a, const shape& b) {
        return matmul(of(a), of(b)).shape();
    };
    CHECK(product({2, 3}, {3, 4}) == shape{2, 4});
    CHECK(product({3}, {3, 4}) == shape{4});
    CHECK(product({2, 3}, {3}) == shape{2});
    CHECK(product({3}, {3}) == shape{});
    CHECK(product({5, 1, 2, 3}, {6, 3, 4}) == shape{5, 6, 2, 4});
    CHECK(product({5, 2, 3}, {3}) == shape{5, 2});
    CHECK(product({0, 3}, {3, 4}) == shape{0, 4});
    CHECK(product({2, 0}, {0, 4}) == shape{2, 4});
    CHECK(matmul(of({2, 3}, dtype::f16), of({3, 4})).dtype() == dtype::f32);
    CHECK(says(text_of_error([&] { product({2, 3}, {4, 5}); }),
               {"[matmul]", "(2, 3)", "(4, 5)", "3 columns against 4 rows"}));
    CHECK(code_of([&] { product({2, 3}, {4, 5}); }) == errc::shape_mismatch);
    CHECK(code_of([&] { product({}, {4, 5}); }) == errc::rank_mismatch);
    CHECK(code_of([&] { product({2, 2, 3}, {3, 3, 4}); }) == errc::shape_mismatch);
    CHECK(code_of([] { matmul(of({2, 2}, dtype::i32), of({2, 2}, dtype::f32)); }) ==
          errc::dtype_mismatch);
}

TEST_CASE("joins and gathers") {
    const std::vector<any_tensor> good{of({2, 3}), of({2, 1}), of({2, 0})},
        ragged{of({2, 3}), of({3, 3})}, mixed{of({2}), of({2}, dtype::f16)};
    CHECK(concat(good, 1).shape() == shape{2, 4});
    CHECK(code_of([&] { concat(ragged, 1); }) == errc::shape_mismatch);
    CHECK(code_of([&] { concat(mixed, 0); }) == errc::dtype_mismatch);
    CHECK(code_of([&] { concat(std::vector<any_tensor>{}, 0); }) == errc::invalid_argument);
    CHECK(take(of({5, 6}), of({2, 3}, dtype::i64), 1).shape() == shape{5, 2, 3});
    CHECK(take(of({5, 6}), of({}, dtype::i32), 0).shape() == shape{6});
    CHECK(code_of([] { take(of({5}), of({2})); }) == errc::dtype_mismatch);
    CHECK(code_of([] { take(of({0}), of({2}, dtype::i64)); }) == errc::index_out_of_range);
}

TEST_CASE("copies: only where the memory lies otherwise") {
    const any_tensor x = of({2, 3});
    CHECK(copy(x).get() == x.get());
    const any_tensor y = copy<column_major>(x);
    CHECK(y.get() != x.get());
    CHECK(y.get()->layout() == strides{1, 2});
    CHECK(copy<column_major>(y).get() == y.get());
}

TEST_CASE("two contexts do not mix") {
    const std::shared_ptr<engine> other = std::make_shared<fake_engine>();
    CHECK(code_of([&] { apply<op::add>(of({2}), data(other, {2})); }) == errc::context_mismatch);
}
