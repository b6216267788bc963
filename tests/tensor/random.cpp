// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random numbers against Philox4x32-10 written out here, which is itself held against the known
// answers of Random123 (github.com/DEShawResearch/random123, tests/kat_vectors).
#include <pumice/tensor/axes.hpp>
#include <pumice/tensor/random.hpp>

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

TEST_CASE("random: Philox, against Random123's known answers") {
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

TEST_CASE("random: uniform numbers are the key's, and lie in [0, 1) in every element type") {
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

TEST_CASE("random: normal numbers have their mean and deviation") {
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
    "random: keys repeat when copied, differ by next, and the process-wide one follows the "
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

TEST_CASE("random: bounds, or mean and deviation, without a key take the process-wide stream's") {
    static_assert(std::same_as<decltype(pm::random::normal({2}, 5, 0)), pm::vector<float>>);
    pm::random::seed(7);
    const auto with_key =
        pm::random::uniform<float>({50}, pm::random::detail::fresh(), 2, 3, home).to_vector();
    pm::random::seed(7);
    const auto without = pm::random::uniform<float>({50}, 2, 3, home).to_vector();
    CHECK(without == with_key);
    CHECK(pm::random::uniform<float>({50}, 2, 3, home).to_vector() != without);
    CHECK(pm::random::normal<float>({3}, 5, 0, home).to_vector() == reals{5, 5, 5});
    CHECK(pm::random::normal<double>(pm::shape{1, 2}, 5, 0, home).to_vector() ==
          std::vector<double>{5, 5});
    pm::random::seed(pm::random::default_seed);
}

TEST_CASE("random: integers are the remainders of 64 bits, permutations their order") {
    const pm::random::key k(77);
    const auto word = [](std::uint32_t i, std::uint32_t change) {
        return std::uint64_t{philox({i, 0, 0, 0}, {77u ^ change, 0})[0]};
    };
    const auto whole = pm::random::integers<std::int32_t>({1000}, -5, 3, k, home).to_vector();
    std::array<int, 8> counts{};
    for (std::uint32_t i = 0; i < whole.size(); ++i) {
        const std::uint64_t w = word(i, 0xc2b2ae35u) << 32 | word(i, 0);
        REQUIRE(whole[i] == static_cast<std::int32_t>(w % 8) - 5);
        ++counts[static_cast<std::size_t>(whole[i] + 5)];
    }
    for (const int n : counts) CHECK(std::abs(n - 125) < 60);
    // Of all 64 bits, of one value, of small types.
    const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
    const auto wide = pm::random::integers({3}, least, most, k, home).to_vector();
    CHECK(wide[0] != wide[1]);
    CHECK(pm::random::integers<std::uint8_t>({4}, 255, 256, k, home).to_vector() ==
          std::vector<std::uint8_t>(4, 255));
    CHECK_THROWS_AS(pm::random::integers({2}, 3, 3, k, home), pm::error);
    CHECK_THROWS_AS(pm::random::integers<std::uint8_t>({2}, 0, 257, k, home), pm::error);

    std::vector<std::int64_t> order = pm::random::permutation(1000, k, home).to_vector();
    CHECK(order != pm::random::permutation(1000, pm::random::key(78), home).to_vector());
    CHECK(!std::is_sorted(order.begin(), order.end()));
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(order[i] == std::int64_t(i));
    CHECK(pm::random::permutation(0, k, home).to_vector().empty());
    CHECK_THROWS_AS(pm::random::permutation(-1, k, home), pm::error);
}

TEST_CASE("random: f64 has 53 bits of its own, bounds are kept, and a range has to be a number") {
    const pm::random::key key(1);
    auto x = pm::random::uniform<double>({100000}, key, 0, 1, home).to_vector();
    std::sort(x.begin(), x.end());
    CHECK(std::unique(x.begin(), x.end()) - x.begin() > 99990);
    CHECK(x.front() >= 0);
    CHECK(x.back() < 1);
    const auto near = pm::random::uniform<double>({1000}, key, 1e9, 1e9 + 1, home).to_vector();
    const auto [least, most] = std::minmax_element(near.begin(), near.end());
    CHECK(*least >= 1e9);
    CHECK(*most <= 1e9 + 1);
    CHECK(*most - *least > 0.9);
    const auto large = pm::random::uniform<double>({1000}, key, 0, 1e300, home).to_vector();
    CHECK(*std::max_element(large.begin(), large.end()) > 9e299);
    const auto small = pm::random::uniform<double>({1000}, key, 0, 1e-300, home).to_vector();
    CHECK(*std::max_element(small.begin(), small.end()) > 9e-301);

    const auto normal = pm::random::normal<double>({50000}, key, 1e10, 1, home).to_vector();
    double sum = 0, squares = 0;
    for (const double v : normal) sum += v - 1e10, squares += (v - 1e10) * (v - 1e10);
    CHECK(sum / 50000 == doctest::Approx(0).epsilon(0.02));
    CHECK(squares / 50000 == doctest::Approx(1).epsilon(0.03));

    // low - high of f32 is rounded; what falls below `low` by that is `low`.
    const auto wide = pm::random::uniform<float>({1 << 22}, pm::random::key(3), 1, 1e9, home);
    CHECK(pm::min(wide).item() >= 1);
    CHECK(pumice_test::text_of_error([&] {
              pm::random::uniform<float>({2}, key, -3e38, 3e38, home);
          }) ==
          "[uniform] from -3e+38 to 3e+38 is a range that f32 does not hold; use f64 or scale "
          "the result");
    CHECK(pumice_test::code_of([&] {
              pm::random::uniform<double>({2}, key, -1.7e308, 1.7e308, home);
          }) == pm::errc::invalid_argument);
}
