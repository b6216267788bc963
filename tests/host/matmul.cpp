// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products against sums in double; tests/device compares any layout with the reference.
#include <pumice/host/matmul.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace host_test;

TEST_CASE("host matmul: ragged sizes and batches, with a prologue and an epilogue" *
          doctest::test_suite("host alone")) {
    const pm::context home = host();
    for (const auto& [m, k, n] : {std::array{1, 1, 1},
                                  {3, 5, 7},
                                  {4, 256, 16},
                                  {65, 300, 33},
                                  {130, 257, 50},
                                  // columns in several blocks: by rows, and each block by a thread
                                  {70, 20'000, 100},
                                  {2, 70'000, 37}}) {
        const pm::matrix<float> a = ramp(m, k, home), b = ramp(k, n, home);
        const std::vector<float> x = a.to_vector(), y = b.to_vector();
        std::vector<double> want(std::size_t(m * n), 1.0);
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j)
                for (int l = 0; l < k; ++l)
                    want[std::size_t(i * n + j)] +=
                        2 * double(x[std::size_t(i * k + l)]) * double(y[std::size_t(l * n + j)]);
        const pm::matrix<float> c = pm::matmul(a * 2.0f, b) + 1.0f;
        CHECK(near(c.to_vector(), want, 8 * 0x1p-23 * k));
        const pm::matrix<float> turned =
            pm::matmul(pm::transpose(pm::transpose(a) * 2.0f), b) + 1.0f;
        CHECK(near(turned.to_vector(), want, 8 * 0x1p-23 * k));
    }
}

namespace {

/// Values of a type that its products wrap around, or round.
template <class T>
std::vector<T> numbers(std::int64_t n, int seed) {
    std::vector<T> v(static_cast<std::size_t>(n));
    std::uint64_t state = static_cast<std::uint64_t>(seed);
    for (T& x : v) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if constexpr (std::is_floating_point_v<T>) x = T(double(state >> 11) * 0x1p-53 - 0.4);
        else x = static_cast<T>(state >> (64 - 8 * sizeof(T)));
    }
    return v;
}

template <class T>
void multiplies_as_plain_loops(const pm::context& home) {
    for (const auto& [m, k, n] :
         {std::array{1, 1, 1}, {3, 5, 7}, {4, 256, 8}, {65, 300, 33}, {130, 257, 50}}) {
        const std::vector<T> x = numbers<T>(m * k, 1), y = numbers<T>(k * n, 2);
        const pm::matrix<T> a(pm::from_span<T>({m, k}, x, home)),
            b(pm::from_span<T>({k, n}, y, home));
        const pm::matrix<T> c = pm::matmul(a + a, b) + T(1);
        const std::vector<T> got = c.to_vector();
        // What reads a product in the same kernel sees it wrapped, as who reads it from memory.
        const pm::any_tensor product = pm::matmul(pm::any_tensor(a), pm::any_tensor(b));
        const auto read_at_once = pm::to_vector<double>(pm::astype(product, pm::dtype::f64));
        pm::eval(product);
        CHECK(read_at_once == pm::to_vector<double>(pm::astype(product, pm::dtype::f64)));
        std::int64_t wrong = 0;
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                using sum =
                    std::conditional_t<std::is_floating_point_v<T>, long double, std::uint64_t>;
                sum want = 1;
                for (int l = 0; l < k; ++l)
                    want += 2 * static_cast<sum>(x[std::size_t(i * k + l)]) *
                            static_cast<sum>(y[std::size_t(l * n + j)]);
                const T found = got[std::size_t(i * n + j)];
                if constexpr (std::is_floating_point_v<T>)
                    wrong += !(std::fabs(double(found - want)) <= 2 * k * 0x1p-52);
                else wrong += found != static_cast<T>(want);
            }
        CHECK_MESSAGE(wrong == 0, m, " x ", k, " x ", n);
    }
}

}  // namespace

TEST_CASE("host matmul: f64 as sums in a wider type, integers modulo 2^bits" *
          doctest::test_suite("host alone")) {
    const pm::context home = host();
    multiplies_as_plain_loops<double>(home);
    multiplies_as_plain_loops<std::int8_t>(home);
    multiplies_as_plain_loops<std::uint8_t>(home);
    multiplies_as_plain_loops<std::int16_t>(home);
    multiplies_as_plain_loops<std::int32_t>(home);
    multiplies_as_plain_loops<std::uint32_t>(home);
    multiplies_as_plain_loops<std::int64_t>(home);
    multiplies_as_plain_loops<std::uint64_t>(home);
}
