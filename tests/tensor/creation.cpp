// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Creation against NumPy's semantics, and the random numbers against Philox4x32-10 written out
// here, which is itself held against the known answers of Random123
// (github.com/DEShawResearch/random123, tests/kat_vectors).
#include <pumice/tensor/creation.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pm = pumice;

namespace {

const pm::context home(pumice_test::host());
using reals = std::vector<float>;

reals range(double start, double stop, double step) {
    return pm::arange<float>(start, stop, step, home).to_vector();
}

/// Philox4x32-10 as in Salmon et al., SC11, figure 5 and table 2: all four words.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
                                    std::array<std::uint32_t, 2> k) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p = std::uint64_t{0xD2511F53} * c[0],
                            q = std::uint64_t{0xCD9E8D57} * c[2];
        c = {std::uint32_t(q >> 32) ^ c[1] ^ k[0], std::uint32_t(q),
             std::uint32_t(p >> 32) ^ c[3] ^ k[1], std::uint32_t(p)};
        k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
    }
    return c;
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

TEST_CASE("creation: a std::vector<bool>, whose elements have no memory of their own") {
    const std::vector<bool> flags{true, false, true, true};
    CHECK(pm::adapt(flags, home).to_vector() == flags);
    CHECK(pm::to_vector<bool>(pm::from_span<bool>({2, 2}, flags, home)) == flags);
    CHECK(pm::adapt(std::vector<bool>(), home).to_vector().empty());
}

TEST_CASE("creation: Philox, against Random123's known answers") {
    using words = std::array<std::uint32_t, 4>;
    CHECK(philox({0, 0, 0, 0}, {0, 0}) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    constexpr std::uint32_t f = 0xffffffff;
    CHECK(philox({f, f, f, f}, {f, f}) == words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
    // The first word of the block at counter (x, 0, 0, 0) under the key (y, 0).
    for (const std::uint32_t x : {0u, 1u, 2u, 12345u, 0x80000000u, f})
        for (const std::uint32_t y : {0u, 1u, 0x9e3779b9u, f})
            CHECK(pm::host_math::pm_philox(x, y) == philox({x, 0, 0, 0}, {y, 0})[0]);
}

TEST_CASE("creation: uniform numbers are the key's, and lie in [0, 1) in every element type") {
    const pm::random::key key(7);
    const auto u = pm::random::uniform<float>({3, 1000}, key, 0, 1, home).rank<2>().to_vector();
    int wrong = 0;
    for (std::uint32_t i = 0; i < u.size(); ++i) {
        const std::uint32_t bits = philox({i, 0, 0, 0}, {7, 0})[0] >> 8;
        wrong += u[i] != 1 - float(bits + 1) / float(1 << 24);
    }
    CHECK(u.size() == 3000);
    CHECK(wrong == 0);
    CHECK(pm::random::uniform<float>({3000}, key, 0, 1, home).rank<1>().to_vector() == u);
    CHECK(pm::random::uniform<float>({3000}, pm::random::key(8), 0, 1, home)
              .rank<1>()
              .to_vector() != u);

    const auto bounds = [&]<class T>(T) {
        double low = 1, high = 0, sum = 0;
        const pm::vector<T> x = pm::random::uniform<T>({20000}, key, 0, 1, home);
        for (const T v : x.to_vector()) {
            low = std::min(low, double(v));
            high = std::max(high, double(v));
            sum += double(v);
        }
        CHECK(low >= 0);
        CHECK(high < 1);
        CHECK(high > 0.99);
        CHECK(sum / 20000 == doctest::Approx(0.5).epsilon(0.02));
    };
    bounds(float{});
    bounds(double{});
    bounds(pm::f16{});
    bounds(pm::bf16{});
    const pm::vector<float> wide = pm::random::uniform<float>({20000}, key, -3, 5, home);
    for (const float v : wide.to_vector()) wrong += !(v >= -3 && v < 5);
    CHECK(wrong == 0);
}

TEST_CASE("creation: normal numbers have their mean and deviation") {
    const pm::vector<float> x = pm::random::normal<float>({50000}, pm::random::key(11), 2, 3, home);
    double sum = 0, squares = 0;
    for (const float v : x.to_vector()) {
        sum += v;
        squares += double(v) * v;
    }
    CHECK(std::isfinite(squares));  // a logarithm of 0 would show here
    const double mean = sum / 50000;
    CHECK(mean == doctest::Approx(2).epsilon(0.03));
    CHECK(std::sqrt(squares / 50000 - mean * mean) == doctest::Approx(3).epsilon(0.02));
}

TEST_CASE(
    "creation: keys repeat when copied, differ by next, and the process-wide one follows the "
    "seed") {
    pm::random::key a(5), b = a;
    const std::uint32_t first = a.next().seed(), second = a.next().seed();
    CHECK(first != second);
    CHECK(b.next().seed() == first);
    CHECK(pm::random::key(5).seed() == 5);
    const auto draw = [] {
        return pm::random::uniform<float>({4}, pm::random::detail::fresh(), 0, 1, home)
            .rank<1>()
            .to_vector();
    };
    pm::random::seed(42);
    const reals once = draw(), then = draw();
    CHECK(once != then);
    pm::random::seed(42);
    CHECK(draw() == once);
}
