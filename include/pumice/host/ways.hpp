// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Ways to join values of any type on the host: what each keeps of them, and what that comes to.
#pragma once

#include <pumice/expr/host.hpp>
#include <pumice/graph/operation.hpp>
#include <pumice/host/double_sums.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

// A way to reduce keeps two numbers, `first` and `second`, for each result. `one` joins a value to
// them, `join` what was found further on. `given` is what an earlier pass found.

struct no_second {};
struct as_it_is {
    static auto of(auto v, double) { return v; }
};
/// Sums of f(value): of integers modulo their width, of f32 in double, of f64 with what each
/// addition lost.
template <class T, class F>
struct joined_sum {
    static constexpr bool real = std::is_floating_point_v<T>,
                          keeps_lost = std::is_same_v<T, double>,
                          plain_doubles = keeps_lost && std::is_same_v<F, as_it_is>;
    using value = T;
    using first =
        typename std::conditional_t<real, std::type_identity<double>, std::make_unsigned<T>>::type;
    using second = std::conditional_t<keeps_lost, double, no_second>;

    [[gnu::always_inline]] static void add(first& sum, second& lost, first v) {
        if constexpr (keeps_lost) add_exactly(sum, lost, v);
        else sum = static_cast<first>(sum + v);
    }
    static void start(first& sum, second& lost) { sum = 0, lost = {}; }
    [[gnu::always_inline]] static void one(first& sum, second& lost, T v, std::int64_t,
                                           double given) {
        add(sum, lost, F::of(static_cast<first>(v), given));
    }
    /// What a lane adds up plainly is added to the sum after so many values.
    static constexpr std::int64_t together = 256;
    [[gnu::always_inline]] static void row(first& sum, second& lost, const T* v, std::int64_t n,
                                           std::int64_t, double given) {
        for (; n > together; v += together, n -= together) piece(sum, lost, v, together, given);
        piece(sum, lost, v, n, given);
    }
    [[gnu::always_inline]] static void piece(first& sum, second& lost, const T* v, std::int64_t n,
                                             double given) {
        constexpr std::int64_t lanes = 32;
        std::int64_t i = 0;
        if constexpr (plain_doubles) {
            i = n / lanes * lanes;
            if (i > 0) add(sum, lost, sum_in_lanes(v, n / lanes));
        } else if (n >= lanes) {
            first part[lanes] = {};
            for (; i + lanes <= n; i += lanes)
                for (std::int64_t k = 0; k < lanes; ++k)
                    part[k] =
                        static_cast<first>(part[k] + F::of(static_cast<first>(v[i + k]), given));
            for (std::int64_t half = lanes / 2; half > 0; half /= 2)
                for (std::int64_t k = 0; k < half; ++k)
                    part[k] = static_cast<first>(part[k] + part[k + half]);
            add(sum, lost, part[0]);
        }
        for (; i < n; ++i) add(sum, lost, F::of(static_cast<first>(v[i]), given));
    }
    /// Of few doubles, where a wider type is the processor's own.
    [[gnu::always_inline]] static double wider(const T* v, std::int64_t n, double given)
        requires(keeps_lost && std::numeric_limits<long double>::digits == 64)
    {
        long double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += F::of(v[i], given);
        return static_cast<double>(sum);
    }
    static void join(first& sum, second& lost, first more, second more_lost) {
        add(sum, lost, more);
        if constexpr (keeps_lost) lost += more_lost;
    }
    /// What was lost is not a number where the sum is infinite.
    static first total(first sum, second lost) {
        if constexpr (keeps_lost) {
            const first all = sum + lost;
            return all == all ? all : sum;
        } else {
            return sum;
        }
    }
};
struct squared_distance {
    static double of(double v, double mean) { return (v - mean) * (v - mean); }
};
struct exp_below {
    static double of(double v, double top) { return std::exp(v - top); }
};

/// Products: of integers modulo their width, of reals in long double.
template <class T>
struct joined_product {
    using value = T;
    using first =
        typename std::conditional_t<std::is_floating_point_v<T>, std::type_identity<long double>,
                                    std::make_unsigned<T>>::type;
    using second = no_second;

    static void start(first& r, second&) { r = 1; }
    [[gnu::always_inline]] static void one(first& r, second&, T v, std::int64_t, double) {
        r = static_cast<first>(r * static_cast<first>(v));
    }
    [[gnu::always_inline]] static void row(first& r, second& s, const T* v, std::int64_t n,
                                           std::int64_t, double) {
        for (std::int64_t i = 0; i < n; ++i) one(r, s, v[i], 0, 0);
    }
    static void join(first& r, second&, first more, second) { r = static_cast<first>(r * more); }
    static first total(first r, second) { return r; }
};

/// The greatest value, or the least where Sign is -1; NaN where there is one.
template <class T, int Sign>
struct joined_extreme {
    using value = T;
    using first = T;
    using second = no_second;

    [[gnu::always_inline]] static bool beats(T v, T best) {
        return (Sign > 0 ? v > best : v < best) | (v != v);
    }
    static constexpr T highest() {
        using limits = std::numeric_limits<T>;
        return limits::has_infinity ? limits::infinity() : limits::max();
    }
    static constexpr T lowest() {
        if constexpr (std::is_floating_point_v<T>) return -highest();
        else return std::numeric_limits<T>::min();
    }
    static void start(first& best, second&) { best = Sign > 0 ? lowest() : highest(); }
    [[gnu::always_inline]] static void one(first& best, second&, T v, std::int64_t, double) {
        if (v != v) [[unlikely]]
            best = v;
        else best = (Sign > 0 ? v > best : v < best) ? v : best;  // one instruction
    }
    [[gnu::always_inline]] static void row(first& best, second& s, const T* v, std::int64_t n,
                                           std::int64_t, double) {
        constexpr std::int64_t lanes = 32;
        std::int64_t i = 0;
        if (n >= lanes) {
            T part[lanes];
            for (std::int64_t k = 0; k < lanes; ++k) part[k] = v[k];
            for (i = lanes; i + lanes <= n; i += lanes)
                for (std::int64_t k = 0; k < lanes; ++k)
                    part[k] = beats(v[i + k], part[k]) ? v[i + k] : part[k];
            for (std::int64_t k = 0; k < lanes; ++k) one(best, s, part[k], 0, 0);
        }
        for (; i < n; ++i) one(best, s, v[i], 0, 0);
    }
    static void join(first& best, second& s, first more, second) { one(best, s, more, 0, 0); }
    static first total(first best, second) { return best; }
};

/// Where the first extreme value lies, or the first NaN.
template <class T, int Sign>
struct joined_place {
    using extreme = joined_extreme<T, Sign>;
    using value = T;
    using first = T;
    using second = std::int64_t;

    static void start(first& best, second& at) { best = 0, at = -1; }
    [[gnu::always_inline]] static void one(first& best, second& at, T v, std::int64_t place,
                                           double) {
        const bool better = (at < 0) | ((best == best) & extreme::beats(v, best));
        best = better ? v : best;
        at = better ? place : at;
    }
    [[gnu::always_inline]] static void row(first& best, second& at, const T* v, std::int64_t n,
                                           std::int64_t place, double) {
        T top = v[0];
        no_second none;
        extreme::row(top, none, v, n, 0, 0);
        if (at >= 0 && (best != best || !extreme::beats(top, best))) return;
        std::int64_t i = 0;
        while (top == top ? v[i] != top : v[i] == v[i]) ++i;
        best = v[i];
        at = place + i;
    }
    /// The place in a short row: all of it is compared, without a branch to guess.
    [[gnu::always_inline]] static second place_in(const T* v, std::int64_t n) {
        T top = v[0];
        no_second none;
        for (std::int64_t k = 1; k < n; ++k) extreme::one(top, none, v[k], 0, 0);
        second at = 0;
        if (top != top) [[unlikely]] {
            while (v[at] == v[at]) ++at;
            return at;
        }
        for (std::int64_t k = n; k-- > 0;) at += (k - at) & -second{v[k] == top};
        return at;
    }
    static void join(first& best, second& at, first more, second where) {
        one(best, at, more, where, 0);
    }
    static std::int64_t total(first, second at) { return at; }
};

/// What a way finds as values of results: each as it is, or where it is a mean of `mean_of` values,
/// 0: none.
template <class Way>
struct results_of {
    using first = typename Way::first;
    using second = typename Way::second;
    using total = decltype(Way::total(first(), second()));
    static constexpr bool place = std::is_same_v<second, std::int64_t>,
                          real = std::is_floating_point_v<total>;
    using type = std::conditional_t<place, std::int64_t, typename Way::value>;

    static void put(const first* a, const second* b, std::int64_t n, std::int64_t mean_of,
                    type* out) {
        if (mean_of == 0 || place) return each(a, b, n, out, [](total r) { return one(r); });
        using whole = std::conditional_t<std::is_signed_v<type>, std::int64_t, std::uint64_t>;
        using wide = std::conditional_t<real, total, whole>;
        const auto count = static_cast<wide>(mean_of);
        each(a, b, n, out, [count](total r) {
            if constexpr (real) return one(r / count);
            else return static_cast<type>(static_cast<wide>(one(r)) / count);
        });
    }

private:
    [[gnu::always_inline]] static type one(total r) {
        if constexpr (real) return static_cast<type>(static_cast<double>(r));
        else return static_cast<type>(r);
    }
    template <class F>
    [[gnu::always_inline]] static void each(const first* a, const second* b, std::int64_t n,
                                            type* __restrict out, const F& f) {
        std::int64_t i = 0;
        for (; i + lane_step <= n; i += lane_step) some(a + i, b + i, lane_step, out + i, f);
        some(a + i, b + i, n - i, out + i, f);
    }
    template <class F>
    [[gnu::always_inline]] static void some(const first* a, const second* b, std::int64_t n,
                                            type* __restrict out, const F& f) {
        for (std::int64_t k = 0; k < n; ++k) out[k] = f(Way::total(a[k], b[k]));
    }
};

/// The numbers that values of a host arithmetic are.
template <class T>
struct number_of : std::type_identity<T> {};
template <>
struct number_of<bool> : std::type_identity<std::uint8_t> {};
template <class T>
struct number_of<wrapping<T>> : std::type_identity<T> {};

/// Calls f with the way of a reduction that takes one pass over numbers of type T.
template <class T, class F>
void with_way(reduction what, F&& f) {
    switch (what) {
        case reduction::any:
        case reduction::max: return f(joined_extreme<T, 1>{});
        case reduction::all:
        case reduction::min: return f(joined_extreme<T, -1>{});
        case reduction::argmax: return f(joined_place<T, 1>{});
        case reduction::argmin: return f(joined_place<T, -1>{});
        case reduction::prod: return f(joined_product<T>{});
        default: return f(joined_sum<T, as_it_is>{});
    }
}

}}}  // namespace pumice::PUMICE_ABI::detail
