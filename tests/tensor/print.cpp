// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Printing, against what NumPy prints for the same array; where it differs, the case says so.
#include <pumice/tensor/axes.hpp>
#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/print.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

namespace pm = pumice;

namespace {

const pm::context home(pumice_test::host());

template <class T>
std::string text(const pm::shape& extent, const std::vector<T>& values) {
    return pm::to_string(pm::any_tensor(pm::from_span<T>(extent, values, home)));
}

}  // namespace

TEST_CASE("print: ranks 0 to 3") {
    CHECK(text<float>({}, {1.5f}) == "1.5");
    CHECK(text<float>({3}, {1, 2, 3}) == "[1. 2. 3.]");
    CHECK(text<std::int32_t>({2, 2}, {1, 2, 3, 4}) == "[[1 2]\n [3 4]]");
    CHECK(text<std::int32_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}) ==
          "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]");
    CHECK(text<float>({0}, {}) == "[]");
    CHECK(text<float>({2, 0}, {}) == "[]");  // NumPy too
    CHECK(text<float>({std::int64_t{1} << 40, 0}, {}) == "[]");
    CHECK(text<float>({1, 1}, {7}) == "[[7.]]");
}

TEST_CASE("print: columns are as wide as the widest") {
    CHECK(text<std::int32_t>({2, 2}, {1, -20, 300, 4}) == "[[  1 -20]\n [300   4]]");
    CHECK(text<float>({2}, {0.5f, 100}) == "[ 0.5 100.]");
}

TEST_CASE("print: integers, bools, halves, infinities and NaN") {
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(text<std::int8_t>({2}, {-128, 127}) == "[-128  127]");
    CHECK(text<std::uint64_t>({1}, {18446744073709551615u}) == "[18446744073709551615]");
    CHECK(text<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()}) ==
          "[-9223372036854775808]");
    CHECK(text<float>({3}, {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) ==
          "[ inf -inf  nan]");
    CHECK(text<pm::f16>({2}, {pm::f16(0.5f), pm::f16(-2)}) == "[0.5 -2.]");
    CHECK(text<pm::bf16>({1}, {pm::bf16(3)}) == "[3.]");
    const pm::any_tensor flags = pm::arange<float>(2, home) < 1.0f;
    CHECK(pm::to_string(flags) == "[ True False]");
}

TEST_CASE("print: digits: six of f32 and eight of f64, and exponents where they are shorter") {
    CHECK(text<float>({1}, {0.1f}) == "[0.1]");
    CHECK(text<float>({1}, {1.0f / 3}) == "[0.333333]");  // NumPy: 0.33333334
    CHECK(text<double>({1}, {1.0 / 3}) == "[0.33333333]");
    CHECK(text<float>({1}, {1e10f}) == "[1e+10]");
    CHECK(text<float>({1}, {-0.0f}) == "[-0.]");
    CHECK(text<double>({1}, {1e-300}) == "[1e-300]");
}

TEST_CASE("print: above a thousand elements only the edges, three on either side") {
    CHECK(pm::to_string(pm::arange<std::int32_t>(0, 1001, 1, home)) ==
          "[   0    1    2 ...  998  999 1000]");
    const std::string thousand = pm::to_string(pm::arange<std::int32_t>(0, 1000, 1, home));
    CHECK(thousand.find("...") == std::string::npos);
    const pm::any_tensor m =
        pm::reshape(pm::any_tensor(pm::arange<std::int32_t>(0, 10000, 1, home)), {100, 100});
    CHECK(pm::to_string(m) ==
          "[[   0    1    2 ...   97   98   99]\n"
          " [ 100  101  102 ...  197  198  199]\n"
          " [ 200  201  202 ...  297  298  299]\n"
          " ...\n"
          " [9700 9701 9702 ... 9797 9798 9799]\n"
          " [9800 9801 9802 ... 9897 9898 9899]\n"
          " [9900 9901 9902 ... 9997 9998 9999]]");
    // A short axis stays whole.
    const pm::any_tensor narrow =
        pm::reshape(pm::any_tensor(pm::arange<std::int32_t>(0, 1200, 1, home)), {600, 2});
    CHECK(pm::to_string(narrow) ==
          "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [1194 1195]\n [1196 1197]\n [1198 "
          "1199]]");
}

TEST_CASE("print: streams take tensors and expressions, views too") {
    const pm::matrix<float> m = pm::from_span<float>({2, 2}, std::vector<float>{1, 2, 3, 4}, home);
    std::ostringstream out;
    out << m << '\n' << m * 2.0f << '\n' << pm::transpose(m);
    CHECK(out.str() == "[[1. 2.]\n [3. 4.]]\n[[2. 4.]\n [6. 8.]]\n[[1. 3.]\n [2. 4.]]");
}

TEST_CASE("print: shapes and element types") {
    std::ostringstream out;
    out << pm::shape{2, 3} << pm::shape{4} << pm::shape{} << pm::dtype::f16 << pm::dtype::boolean;
    CHECK(out.str() == "(2, 3)(4,)()f16bool");
}
