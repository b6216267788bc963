// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a C++ programmer writes first: the plain loops that the host device is measured against.
#pragma once

#include <bench/host/measure.hpp>
#include <pumice/core/half.hpp>

#include <cmath>
#include <numeric>
#include <utility>

// libstdc++ 12 deprecates what its std::stable_sort calls, and clang++ says so.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace bench {

/// What elements are computed in: half types by the library's converter, others as they are.
template <class T>
using held = std::conditional_t<std::is_same_v<T, pumice::f16>, float, T>;

template <class T>
std::vector<T> values(std::int64_t n, std::uint32_t seed) {
    const std::vector<float> from = numbers(n, seed);
    std::vector<T> v(from.size());
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<T>(std::is_integral_v<T> ? std::fabs(from[i]) * 100 : from[i]);
    return v;
}
inline std::vector<std::int64_t> places(std::int64_t n, std::int64_t below) {
    std::vector<std::int64_t> v(static_cast<std::size_t>(n));
    std::uint64_t seed = 1;
    for (std::int64_t& x : v) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<std::int64_t>((seed >> 33) % static_cast<std::uint64_t>(below));
    }
    return v;
}

/// The least nanoseconds of each in nine rounds in which they take turns; three where they are
/// long.
template <class A, class B>
std::pair<double, double> in_turn(A&& a, B&& b) {
    using clock = std::chrono::steady_clock;
    const auto spent = [](auto& f, std::int64_t calls) {
        const auto start = clock::now();
        for (std::int64_t i = 0; i < calls; ++i) f();
        return std::chrono::duration<double, std::nano>(clock::now() - start).count() /
               static_cast<double>(calls);
    };
    // As many as take a quarter of a millisecond once caches and plans are there.
    const auto calls_for = [&](auto& f) {
        f();
        std::int64_t calls = 1;
        while (calls < 2048 && spent(f, calls) * static_cast<double>(calls) < 2.5e5) calls *= 2;
        return calls;
    };
    const std::int64_t of_a = calls_for(a), of_b = calls_for(b);
    double least_a = spent(a, of_a), least_b = spent(b, of_b);
    const int rounds = least_a + least_b > 1e8 ? 3 : 9;
    for (int i = 1; i < rounds; ++i) {
        least_a = std::min(least_a, spent(a, of_a));
        least_b = std::min(least_b, spent(b, of_b));
    }
    return {least_a, least_b};
}

template <class T, class A, class Join>
[[gnu::noinline]] void reduce_rows(const T* v, std::int64_t rows, std::int64_t n, T* out, A start,
                                   Join join) {
    for (std::int64_t i = 0; i < rows; ++i, v += n) {
        A r = start;
        for (std::int64_t k = 0; k < n; ++k) r = join(r, static_cast<A>(v[k]));
        out[i] = static_cast<T>(r);
    }
    use(out);
}
template <class T, class A, class Join>
[[gnu::noinline]] void reduce_columns(const T* v, std::int64_t rows, std::int64_t n, T* out,
                                      A start, Join join) {
    std::vector<A> r(static_cast<std::size_t>(n), start);
    for (std::int64_t i = 0; i < rows; ++i, v += n)
        for (std::int64_t k = 0; k < n; ++k)
            r[static_cast<std::size_t>(k)] =
                join(r[static_cast<std::size_t>(k)], static_cast<A>(v[k]));
    for (std::int64_t k = 0; k < n; ++k) out[k] = static_cast<T>(r[static_cast<std::size_t>(k)]);
    use(out);
}
template <class T>
[[gnu::noinline]] void squares_of_3(const T* v, std::int64_t points, T* out) {
    for (std::int64_t i = 0; i < points; ++i, v += 3) {
        const auto x = static_cast<held<T>>(v[0]), y = static_cast<held<T>>(v[1]),
                   z = static_cast<held<T>>(v[2]);
        out[i] = static_cast<T>(x * x + y * y + z * z);
    }
    use(out);
}
template <class T>
[[gnu::noinline]] void argmin_rows(const T* v, std::int64_t rows, std::int64_t n,
                                   std::int64_t* out) {
    for (std::int64_t i = 0; i < rows; ++i, v += n) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < n; ++k)
            if (static_cast<held<T>>(v[k]) < static_cast<held<T>>(v[best])) best = k;
        out[i] = best;
    }
    use(out);
}
template <class T>
[[gnu::noinline]] void argmin_columns(const T* v, std::int64_t rows, std::int64_t n,
                                      std::int64_t* out, T* least) {
    for (std::int64_t k = 0; k < n; ++k) out[k] = 0, least[k] = v[k];
    for (std::int64_t i = 1; i < rows; ++i)
        for (std::int64_t k = 0; k < n; ++k)
            if (static_cast<held<T>>(v[i * n + k]) < static_cast<held<T>>(least[k]))
                out[k] = i, least[k] = v[i * n + k];
    use(out);
}
template <class T>
[[gnu::noinline]] void running_sum(const T* v, std::int64_t n, T* out) {
    held<T> r = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        r = static_cast<held<T>>(r + static_cast<held<T>>(v[i]));
        out[i] = static_cast<T>(r);
    }
    use(out);
}
template <class T>
[[gnu::noinline]] void chain(const T* x, const T* y, std::int64_t n, T* out) {
    for (std::int64_t i = 0; i < n; ++i) {
        const auto a = static_cast<held<T>>(x[i]), b = static_cast<held<T>>(y[i]);
        const auto r = static_cast<held<T>>(a * b + b);
        out[i] = static_cast<T>(r > a ? r : a);
    }
    use(out);
}
template <class T>
[[gnu::noinline]] void transposed_sum(const T* v, std::int64_t rows, std::int64_t columns, T* out) {
    for (std::int64_t k = 0; k < columns; ++k)
        for (std::int64_t i = 0; i < rows; ++i) {
            const auto x = static_cast<held<T>>(v[i * columns + k]);
            out[k * rows + i] = static_cast<T>(x + x);
        }
    use(out);
}
template <class T>
[[gnu::noinline]] void argsort(const T* v, std::int64_t n, std::int64_t* out) {
    std::iota(out, out + n, std::int64_t{0});
    std::stable_sort(out, out + n, [v](std::int64_t a, std::int64_t b) {
        return static_cast<held<T>>(v[a]) < static_cast<held<T>>(v[b]);
    });
    use(out);
}
/// Where the k greatest lie, equal ones in their order, by whichever of two ways suits k.
template <class T>
[[gnu::noinline]] void top_k(const T* v, std::int64_t n, std::int64_t k, std::int64_t* all,
                             std::int64_t* out) {
    const auto before = [v](std::int64_t a, std::int64_t b) {
        const auto x = static_cast<held<T>>(v[a]), y = static_cast<held<T>>(v[b]);
        return x > y || (x == y && a < b);
    };
    std::iota(all, all + n, std::int64_t{0});
    if (k <= 100) std::partial_sort(all, all + k, all + n, before);
    else {
        std::nth_element(all, all + k, all + n, before);
        std::sort(all, all + k, before);
    }
    std::copy_n(all, k, out);
    use(out);
}
template <class From, class To>
[[gnu::noinline]] void cast(const From* v, std::int64_t n, To* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(static_cast<held<From>>(v[i]));
    use(out);
}
template <class T>
[[gnu::noinline]] void take(const T* v, const std::int64_t* at, std::int64_t n, T* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = v[at[i]];
    use(out);
}
template <class T>
[[gnu::noinline]] void scatter_add(const T* v, const std::int64_t* at, std::int64_t n, T* out) {
    for (std::int64_t i = 0; i < n; ++i) out[at[i]] += v[i];
    use(out);
}
template <class T>
[[gnu::noinline]] void variance(const T* v, std::int64_t rows, std::int64_t n, T* out) {
    for (std::int64_t i = 0; i < rows; ++i, v += n) {
        held<T> mean = 0, spread = 0;
        for (std::int64_t k = 0; k < n; ++k) mean += static_cast<held<T>>(v[k]);
        mean /= static_cast<held<T>>(n);
        for (std::int64_t k = 0; k < n; ++k) {
            const auto d = static_cast<held<T>>(v[k]) - mean;
            spread += d * d;
        }
        out[i] = static_cast<T>(spread / static_cast<held<T>>(n));
    }
    use(out);
}
template <class T>
[[gnu::noinline]] void normalize(bool soft, const T* v, std::int64_t rows, std::int64_t n, T* out) {
    using A = held<T>;
    for (std::int64_t i = 0; i < rows; ++i, v += n, out += n) {
        A top = static_cast<A>(v[0]), mean = 0, sum = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            const auto x = static_cast<A>(v[k]);
            top = x > top ? x : top;
            mean += x;
        }
        mean /= static_cast<A>(n);
        for (std::int64_t k = 0; k < n; ++k) {
            const auto x = static_cast<A>(v[k]);
            sum += soft ? std::exp(x - top) : (x - mean) * (x - mean);
        }
        const A root = std::sqrt(sum / static_cast<A>(n) + A(1e-5));
        for (std::int64_t k = 0; k < n; ++k) {
            const auto x = static_cast<A>(v[k]);
            out[k] = static_cast<T>(soft ? std::exp(x - top) / sum : (x - mean) / root);
        }
    }
    use(out);
}
template <class T>
[[gnu::noinline]] void rows_times_vector(const T* v, const T* by, std::int64_t rows, std::int64_t n,
                                         T* out) {
    using A = held<T>;
    for (std::int64_t i = 0; i < rows; ++i, v += n) {
        A sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += static_cast<A>(v[k]) * static_cast<A>(by[k]);
        out[i] = static_cast<T>(sum);
    }
    use(out);
}
/// Of at most 16 columns.
template <class T>
[[gnu::noinline]] void columns_times_vector(const T* v, const T* by, std::int64_t rows,
                                            std::int64_t n, T* out) {
    using A = held<T>;
    A sums[16] = {};
    for (std::int64_t i = 0; i < rows; ++i, v += n)
        for (std::int64_t k = 0; k < n; ++k)
            sums[k] += static_cast<A>(v[k]) * static_cast<A>(by[i]);
    for (std::int64_t k = 0; k < n; ++k) out[k] = static_cast<T>(sums[k]);
    use(out);
}
/// Without pads, of one image; over output channel, y, x, input channel and window.
template <class T>
[[gnu::noinline]] void conv(const T* x, const T* w, std::int64_t in, std::int64_t outs,
                            std::int64_t side, std::int64_t window, T* out) {
    const std::int64_t to = side - window + 1;
    for (std::int64_t o = 0; o < outs; ++o)
        for (std::int64_t i = 0; i < to; ++i)
            for (std::int64_t j = 0; j < to; ++j) {
                held<T> r = 0;
                for (std::int64_t c = 0; c < in; ++c)
                    for (std::int64_t a = 0; a < window; ++a)
                        for (std::int64_t b = 0; b < window; ++b)
                            r += static_cast<held<T>>(x[(c * side + i + a) * side + j + b]) *
                                 static_cast<held<T>>(w[((o * in + c) * window + a) * window + b]);
                out[(o * to + i) * to + j] = static_cast<T>(r);
            }
    use(out);
}
template <class T>
[[gnu::noinline]] void max_pool(const T* x, std::int64_t side, std::int64_t window, T* out) {
    const std::int64_t to = side - window + 1;
    for (std::int64_t i = 0; i < to; ++i)
        for (std::int64_t j = 0; j < to; ++j) {
            auto best = static_cast<held<T>>(x[i * side + j]);
            for (std::int64_t a = 0; a < window; ++a)
                for (std::int64_t b = 0; b < window; ++b) {
                    const auto v = static_cast<held<T>>(x[(i + a) * side + j + b]);
                    best = v > best ? v : best;
                }
            out[i * to + j] = static_cast<T>(best);
        }
    use(out);
}

}  // namespace bench
