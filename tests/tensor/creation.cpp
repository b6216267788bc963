// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Creation against NumPy's semantics.
#include <pumice/tensor/creation.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>

namespace pm = pumice;

namespace {

const pm::context home(pumice_test::host());
using reals = std::vector<float>;

reals range(double start, double stop, double step) {
    return pm::arange<float>(start, stop, step, home).to_vector();
}

}  // namespace

TEST_CASE("creation: arange, as numpy.arange counts") {
    CHECK(range(0, 5, 1) == reals{0, 1, 2, 3, 4});
    CHECK(range(2, 3, 0.25) == reals{2, 2.25f, 2.5f, 2.75f});
    CHECK(range(5, 0, -2) == reals{5, 3, 1});
    CHECK(range(0, 5, 2) == reals{0, 2, 4});
    CHECK(range(0, 4.5, 2) == reals{0, 2, 4});
    CHECK(range(3, 3, 1).empty());
    CHECK(range(3, 0, 1).empty());
    CHECK(range(0, 3, -1).empty());
    CHECK(range(0, 1, 10) == reals{0});
    CHECK(pm::arange<float>(3, home).to_vector() == reals{0, 1, 2});
    CHECK(pm::arange<std::int64_t>(-3, 3, 2, home).to_vector() ==
          std::vector<std::int64_t>{-3, -1, 1});
    CHECK(pm::arange<std::uint8_t>(250, 256, 1, home).to_vector() ==
          std::vector<std::uint8_t>{250, 251, 252, 253, 254, 255});
    CHECK(pm::arange<double>(0, 1, 0.1, home).to_vector().size() == 10);
    CHECK(pm::arange<double>(0, 1, 0.1, home).to_vector()[9] == 9 * 0.1);
}

TEST_CASE("creation: arange of integers, downwards too where they have no sign") {
    CHECK(pm::arange<std::uint8_t>(250, 256, 1, home).to_vector() ==
          std::vector<std::uint8_t>{250, 251, 252, 253, 254, 255});
    CHECK(pm::arange<std::uint8_t>(5, -1, -1, home).to_vector() ==
          std::vector<std::uint8_t>{5, 4, 3, 2, 1, 0});
    CHECK(pm::arange<std::int8_t>(127, -129, -85, home).to_vector() ==
          std::vector<std::int8_t>{127, 42, -43, -128});
    CHECK(pm::arange<std::uint8_t>(300, 0, 1, home).to_vector().empty());
    const auto top = pm::arange<std::int64_t>(0x1p63 - 2048, 0x1p63, 1, home).to_vector();
    REQUIRE(top.size() == 2048);
    CHECK(top.back() == std::numeric_limits<std::int64_t>::max());
    CHECK(pm::arange<std::uint64_t>(0, 1.8e19, 1e19, home).to_vector() ==
          std::vector<std::uint64_t>{0, 10000000000000000000ULL});
}

TEST_CASE("creation: arange of half types counts in float") {
    const auto h = pm::arange<pm::f16>(-2048, 2048, 1, home).to_vector();
    const auto b = pm::arange<pm::bf16>(-256, 256, 1, home).to_vector();
    int wrong = 0;
    for (int i = 0; i < 4096; ++i) wrong += float(h[std::size_t(i)]) != float(i - 2048);
    for (int i = 0; i < 512; ++i) wrong += float(b[std::size_t(i)]) != float(i - 256);
    CHECK(wrong == 0);
    CHECK(float(pm::arange<pm::f16>(0, 1, 1e-5, home).to_vector()[70000]) ==
          doctest::Approx(0.7).epsilon(1e-3));
    // A step that nothing takes need not fit.
    CHECK(pm::to_vector<std::int32_t>(pm::arange(pm::dtype::i32, 0, 1e18, 1e308, home)) ==
          std::vector<std::int32_t>{0});
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(pumice_test::code_of([&] { pm::arange<float>(0, nan, 1, home); }) ==
          pm::errc::invalid_argument);
    CHECK(pumice_test::text_of_error([] { pm::arange<int>(0, 1, 0.1, home); }) ==
          "[arange] the step 0.1 is not an integer; i32 counts in whole numbers");
}

TEST_CASE("creation: linspace includes both ends, as numpy.linspace") {
    const auto line = [](double a, double b, std::int64_t n) {
        return pm::linspace<float>(a, b, n, home).to_vector();
    };
    CHECK(line(0, 1, 5) == reals{0, 0.25f, 0.5f, 0.75f, 1});
    CHECK(line(1, -1, 3) == reals{1, 0, -1});
    CHECK(line(2, 7, 1) == reals{2});
    CHECK(line(2, 7, 0).empty());
    CHECK(line(3, 3, 3) == reals{3, 3, 3});
    CHECK(pm::linspace<double>(0, 1, 11, home).to_vector()[10] == 1.0);
    for (const std::int64_t n : {7, 10, 50, 100, 1000, 4097}) {
        const auto v = line(0.1, 0.7, n);
        CHECK(v.front() == 0.1f);
        CHECK(v.back() == 0.7f);
        CHECK(std::is_sorted(v.begin(), v.end()));
        CHECK(pm::linspace<double>(-0.3, 0.9, n, home).to_vector().back() == 0.9);
        CHECK(float(pm::linspace<pm::f16>(0.1, 0.7, n, home).to_vector().back()) ==
              float(pm::f16(0.7f)));
    }
    CHECK(pm::linspace<float>(-3e38, 3e38, 2, home).to_vector() == reals{-3e38f, 3e38f});
    CHECK(pm::linspace<float>(-3e38, 3e38, 3, home).to_vector() == reals{-3e38f, 0, 3e38f});
    CHECK(pm::linspace<double>(-1.7e308, 1.7e308, 3, home).to_vector() ==
          std::vector<double>{-1.7e308, 0, 1.7e308});
}

TEST_CASE("creation: eye, with more columns, fewer and another diagonal, as numpy.eye") {
    const auto eye = [](std::int64_t rows, std::int64_t columns, std::int64_t k) {
        return pm::eye<float>(rows, columns, k, home).to_vector();
    };
    CHECK(eye(2, -1, 0) == reals{1, 0, 0, 1});
    CHECK(eye(2, 3, 1) == reals{0, 1, 0, 0, 0, 1});
    CHECK(eye(3, 2, -1) == reals{0, 0, 1, 0, 0, 1});
    CHECK(eye(2, 2, 5) == reals{0, 0, 0, 0});
    CHECK(eye(0, 3, 0).empty());
    CHECK(eye(2, 0, 0).empty());
    CHECK(pm::eye<bool>(2, -1, 0, home).to_vector() == std::vector<bool>{true, false, false, true});
}

TEST_CASE(
    "creation: full, zeros and ones of every element type cost no memory until they are stored") {
    for (const pm::dtype t : {pm::dtype::f64, pm::dtype::f16, pm::dtype::i8, pm::dtype::u64}) {
        const pm::any_tensor x = pm::full(t, {2, 2}, 3, home);
        CHECK_FALSE(x.get()->realised());
        CHECK(pm::to_vector<double>(pm::astype(x, pm::dtype::f64)) == std::vector<double>(4, 3));
    }
    const pm::matrix<std::int32_t> z = pm::zeros<std::int32_t>({2, 1}, home);
    CHECK(z.to_vector() == std::vector<std::int32_t>{0, 0});
    const pm::tensor<bool, pm::extents<3>> yes = pm::ones<bool>({3}, home);
    CHECK(yes.to_vector() == std::vector<bool>{true, true, true});
    const pm::scalar_tensor<float> one = pm::ones<float>({}, home);
    CHECK(one.item() == 1);
    CHECK(pm::zeros<float>({0, 3}, home).rank<2>().to_vector().empty());
    CHECK(pm::to_vector<float>(pm::full<float>({2}, std::numeric_limits<float>::infinity(),
                                               home)) ==
          reals(2, std::numeric_limits<float>::infinity()));
    // 64-bit integers do not pass through double.
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;
    CHECK(pm::to_vector<std::int64_t>(pm::full<std::int64_t>({1}, odd, home))[0] == odd);
    CHECK(pm::to_vector<std::int64_t>(pm::full(pm::dtype::i64, {1}, odd, home))[0] == odd);
    CHECK(pm::to_vector<std::uint64_t>(pm::full(pm::dtype::u64, {1}, ~0ull, home))[0] == ~0ull);
    CHECK(pm::to_vector<float>(pm::full(pm::dtype::f32, {1}, pm::f16(1.5f), home))[0] == 1.5f);
    CHECK(pm::to_vector<bool>(pm::full(pm::dtype::boolean, {1}, 3, home))[0]);
}

TEST_CASE("creation: of the host's elements, in row-major order") {
    const std::array<float, 4> a{1, 2, 3, 4};
    const pm::matrix<float> m = pm::from_span<float>({2, 2}, a, home);
    CHECK(m.to_vector() == reals{1, 2, 3, 4});
    CHECK(pm::adapt(a, home).to_vector() == reals{1, 2, 3, 4});
    CHECK(pm::adapt(std::vector<double>{}, home).to_vector().empty());
    pm::set_default_context(home);
    CHECK(pm::matrix<std::int32_t>{{1, 2, 3}, {4, 5, 6}}.to_vector() ==
          std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
    CHECK(pm::vector<pm::f16>{pm::f16(1.5f)}.item() == pm::f16(1.5f));
    CHECK(pm::matrix<float>{{}, {}}.shape() == pm::shape{2, 0});
    pm::detail::release_default();
}

TEST_CASE("creation: of a range under a shape") {
    const std::vector<int> six{0, 1, 2, 3, 4, 5};
    const pm::matrix<int> m = pm::adapt(six, {2, 3}, home);
    CHECK(m.shape() == pm::shape{2, 3});
    CHECK(m.to_vector() == six);
    CHECK_THROWS_AS(pm::adapt(six, {2, 2}, home), pm::error);
}

TEST_CASE("creation: a std::vector<bool>, whose elements have no memory of their own") {
    const std::vector<bool> flags{true, false, true, true};
    CHECK(pm::adapt(flags, home).to_vector() == flags);
    CHECK(pm::to_vector<bool>(pm::from_span<bool>({2, 2}, flags, home)) == flags);
    CHECK(pm::adapt(std::vector<bool>(), home).to_vector().empty());
}

TEST_CASE("creation: without a type, of float, and a range of whole numbers of theirs") {
    static_assert(std::same_as<decltype(pm::zeros({2, 3})), pm::matrix<float>>);
    static_assert(std::same_as<decltype(pm::ones({2})), pm::vector<float>>);
    static_assert(std::same_as<decltype(pm::eye(3)), pm::matrix<float>>);
    static_assert(std::same_as<decltype(pm::linspace(0.0, 1.0, 5)), pm::vector<float>>);
    static_assert(std::same_as<decltype(pm::arange(10)), pm::vector<int>>);
    static_assert(std::same_as<decltype(pm::arange(0, 10L)), pm::vector<long>>);
    static_assert(std::same_as<decltype(pm::arange(0, 1, 0.5)), pm::vector<float>>);
    pm::set_default_context(home);
    CHECK(pm::arange(4).to_vector() == std::vector<int>{0, 1, 2, 3});
    CHECK(pm::arange(5, 0, -2).to_vector() == std::vector<int>{5, 3, 1});
    CHECK(pm::arange(0, 1, 0.25).to_vector() == reals{0, 0.25f, 0.5f, 0.75f});
    CHECK(pm::linspace(0, 1, 3).to_vector() == reals{0, 0.5f, 1});
    CHECK(pm::eye(2).to_vector() == reals{1, 0, 0, 1});
    CHECK(pm::ones(pm::shape{2}).to_vector() == reals{1, 1});
    static_assert(std::same_as<decltype(pm::arange(0LL, 5LL)), pm::vector<std::int64_t>>);
    CHECK(pm::arange(2LL).to_vector() == std::vector<std::int64_t>{0, 1});
    pm::detail::release_default();
}

TEST_CASE("creation: ranges of integers that a double does not tell apart") {
    using whole = std::vector<std::int64_t>;
    using limits = std::numeric_limits<std::int64_t>;
    pm::set_default_context(home);
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;
    CHECK(pm::arange(odd, odd + 3).to_vector() == whole{odd, odd + 1, odd + 2});
    CHECK(pm::arange<std::int64_t>(odd, odd - 5, -2).to_vector() == whole{odd, odd - 2, odd - 4});
    CHECK(pm::arange(odd - 1, odd).to_vector() == whole{odd - 1});
    CHECK(pm::arange(odd, odd).to_vector().empty());
    CHECK(pm::arange(limits::max() - 2, limits::max()).to_vector() ==
          whole{limits::max() - 2, limits::max() - 1});
    CHECK(pm::arange(limits::min(), limits::min() + 2).to_vector() ==
          whole{limits::min(), limits::min() + 1});
    CHECK(pm::arange(limits::min(), limits::max(), limits::max()).to_vector() ==
          whole{limits::min(), -1, limits::max() - 1});
    const std::uint64_t top = 18446744073709551613u;
    CHECK(pm::arange(top, top + 2).to_vector() == std::vector<std::uint64_t>{top, top + 1});
    CHECK(pumice_test::code_of([&] { pm::arange(limits::max()); }) == pm::errc::size_overflow);
    CHECK(pumice_test::code_of([&] { pm::arange(odd, odd, 0); }) == pm::errc::invalid_argument);
    CHECK(pumice_test::code_of([&] { pm::arange<std::uint8_t>(odd, odd + 1); }) ==
          pm::errc::dtype_mismatch);
    pm::detail::release_default();
}

TEST_CASE("creation: a number that a type does not hold is refused") {
    pm::set_default_context(home);
    const auto refused = [](auto&& call) {
        CHECK(pumice_test::code_of(call) == pm::errc::dtype_mismatch);
    };
    refused([] { pm::full<std::uint8_t>({2}, 300); });
    refused([] { pm::full<std::uint8_t>(pm::shape{2}, -1); });
    refused([] { pm::full<int>({2}, 3.7); });
    CHECK(pm::full<int>({2}, 3.0).to_vector() == std::vector<int>{3, 3});
    CHECK(pm::full<pm::f16>({1}, 0.5f).to_vector() == std::vector<pm::f16>{pm::f16(0.5f)});
    CHECK(pm::full<bool>({1}, 2).to_vector() == std::vector<bool>{true});
    static_assert(std::same_as<decltype(pm::full({2, 3}, 1.5)), pm::matrix<double>>);
    pm::detail::release_default();
}

TEST_CASE("creation: what is made from a shape is computed with in place") {
    const pm::vector<float> v = pm::adapt(std::vector<float>{1, 2}, home);
    auto x = pm::zeros<float>(v.shape(), home);
    x += v;
    x *= 3;
    x -= 1.0f;
    x /= 2;
    static_assert(std::same_as<decltype(x), pm::created<float>>);
    CHECK(x.to_vector() == std::vector<float>{1, 2.5f});
}
