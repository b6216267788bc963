// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rows, lines and short rows of values joined by a way, by the vectors that the processor has.
#pragma once

#include <pumice/base/wide.hpp>
#include <pumice/host/ways.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Lines that are joined in one pass, where they lie in memory.
inline constexpr int most_lines = 4;
/// Rows of at most so many values are short: a block holds several.
inline constexpr std::int64_t most_short = 32;

template <class Way>
struct join_row {
    using first = typename Way::first;
    using second = typename Way::second;
    [[gnu::always_inline]] void operator()(first* a, second* b, const void* v, std::int64_t n,
                                           std::int64_t place, double given) const {
        Way::row(*a, *b, static_cast<const typename Way::value*>(v), n, place, given);
    }
};
/// Each of `count` lines joined to the same n numbers.
template <class Way>
struct join_each {
    using first = typename Way::first;
    using second = typename Way::second;
    using value = typename Way::value;
    template <std::size_t Count>
    [[gnu::always_inline]] static void some(first* __restrict a, second* __restrict b,
                                            const void* const* lines, std::int64_t begin,
                                            std::int64_t n, std::int64_t place,
                                            const double* given) {
        if constexpr (Count == 1) {
            const auto* v = static_cast<const value*>(lines[0]) + begin;
            for (std::int64_t i = 0; i < n; ++i)
                Way::one(a[i], b[i], v[i], place, given ? given[i] : 0);
            return;
        }
        const value* v[Count];
        for (std::size_t c = 0; c < Count; ++c) v[c] = static_cast<const value*>(lines[c]) + begin;
        for (std::int64_t i = 0; i < n; ++i) {
            first r = a[i];
            second s = b[i];
#pragma GCC unroll 4
            for (std::size_t c = 0; c < Count; ++c)
                Way::one(r, s, v[c][i], place + static_cast<std::int64_t>(c), given ? given[i] : 0);
            a[i] = r;
            b[i] = s;
        }
    }
    template <std::size_t Count>
    [[gnu::always_inline]] static void all(first* a, second* b, const void* const* lines,
                                           std::int64_t n, std::int64_t place,
                                           const double* given) {
        std::int64_t i = 0;
        for (; i + lane_step <= n; i += lane_step)
            some<Count>(a + i, b + i, lines, i, lane_step, place, given ? given + i : nullptr);
        some<Count>(a + i, b + i, lines, i, n - i, place, given ? given + i : nullptr);
    }
    [[gnu::always_inline]] void operator()(first* a, second* b, const void* const* lines, int count,
                                           std::int64_t n, std::int64_t place,
                                           const double* given) const {
        if constexpr (!std::is_same_v<second, std::int64_t>)  // places are chosen line by line
            if (count == most_lines) return all<most_lines>(a, b, lines, n, place, given);
        for (int c = 0; c < count; ++c) all<1>(a, b, lines + c, n, place + c, given);
    }
};
/// The same of `count` of so many lines in all. Of eight lines of doubles and more, four are added
/// up plainly.
template <class Way>
void join_lines(typename Way::first* a, typename Way::second* b, const void* const* lines,
                int count, std::int64_t n, std::int64_t place, const double* given,
                std::int64_t in_all) {
    if constexpr (std::is_same_v<Way, joined_sum<double, as_it_is>>)
        if (count == most_lines && in_all >= 2 * most_lines)
            return run_wide(add_four_lines{}, a, b, lines, n);
    run_wide(join_each<Way>{}, a, b, lines, count, n, place, given);
}
/// What each of `count` rows of n values comes to that follow each other.
template <class Way>
struct join_short {
    using first = typename Way::first;
    using second = typename Way::second;
    [[gnu::always_inline]] static void rows(first* __restrict a, second* __restrict b,
                                            const typename Way::value* v, std::int64_t count,
                                            std::int64_t n, const double* given) {
        for (std::int64_t i = 0; i < count; ++i, v += n) {
            const double by = given ? given[i] : 0;
            first r;
            second s;
            Way::start(r, s);
            if constexpr (requires { Way::wider(v, n, by); }) r = Way::wider(v, n, by);
            else if constexpr (requires { Way::place_in(v, n); }) r = v[s = Way::place_in(v, n)];
            else
                for (std::int64_t k = 0; k < n; ++k) Way::one(r, s, v[k], k, by);
            a[i] = r;
            b[i] = s;
        }
    }
    /// Coordinates and colours: so many rows of three that they become vectors.
    [[gnu::always_inline]] static void threes(first* __restrict a, second* __restrict b,
                                              const typename Way::value* v, const double* given) {
        for (std::int64_t i = 0; i < lane_step; ++i) {
            const double by = given ? given[i] : 0;
            first r;
            second s;
            Way::start(r, s);
            Way::one(r, s, v[3 * i], 0, by);
            Way::one(r, s, v[3 * i + 1], 1, by);
            Way::one(r, s, v[3 * i + 2], 2, by);
            a[i] = r;
            b[i] = s;
        }
    }
    [[gnu::always_inline]] void operator()(first* a, second* b, const void* values,
                                           std::int64_t count, std::int64_t n,
                                           const double* given) const {
        const auto* v = static_cast<const typename Way::value*>(values);
        // Of a length that it knows, the compiler would make branches.
        if constexpr (requires { Way::place_in(v, n); }) return rows(a, b, v, count, n, given);
        std::int64_t i = 0;
        if constexpr (!requires { Way::wider(v, n, 0.0); })
            if (n == 3)
                for (; i + lane_step <= count; i += lane_step)
                    threes(a + i, b + i, v + 3 * i, given ? given + i : nullptr);
        const double* const by = given ? given + i : nullptr;
        if (n == 3) rows(a + i, b + i, v + 3 * i, count - i, 3, by);
        else rows(a, b, v, count, n, by);
    }
};

/// Elements of a type in memory that lie dense, as the numbers that they are computed in.
class dense_numbers {
public:
    dense_numbers(dtype type, const void* from)
        : type_(type),
          from_(const_cast<std::byte*>(static_cast<const std::byte*>(from))),  // is read alone
          ready_(computed_as(type) == type) {}
    /// Whether they are read where they lie; else what `read` gave is gone with its next call.
    bool in_place() const noexcept { return ready_; }
    /// n <= host_block_size numbers from element `at` on.
    const void* read(std::int64_t at, std::int64_t n) {
        if (ready_) return from_ + byte_offset(type_, at);
        exchange(type_, true, from_, at, 1, room_, n);
        return room_;
    }

private:
    dtype type_;
    std::byte* from_;
    bool ready_;
    alignas(64) std::byte room_[4 * host_block_size];
};

/// `rows` rows of n elements of a type that lie dense joined by a way, or, `down`, rows of `rows`
/// elements down their columns. `finish(i, first, second, count)` takes what
/// was found for the results from the i-th on.
template <class Way, class Finish>
void join_dense(dtype type, const void* from, bool down, std::int64_t rows, std::int64_t n,
                Finish&& finish) {
    constexpr std::int64_t block = host_block_size;
    dense_numbers values(type, from);
    for (std::int64_t i = 0; i < rows; i += block) {
        const std::int64_t count = std::min(block, rows - i);
        typename Way::first a[block];
        typename Way::second b[block];
        for (std::int64_t k = 0; k < count; k += lane_step)
            for (std::int64_t j = k; j < k + lane_step; ++j) Way::start(a[j], b[j]);
        if (down) {
            const int most = values.in_place() ? most_lines : 1;
            for (std::int64_t k = 0; k < n; k += most) {
                const void* lines[most_lines];
                const int some = static_cast<int>(std::min<std::int64_t>(most, n - k));
                for (int c = 0; c < some; ++c) lines[c] = values.read((k + c) * rows + i, count);
                join_lines<Way>(a + 0, b + 0, &lines[0], some, count, k, nullptr, n);
            }
        } else if (n <= most_short) {
            const std::int64_t tile = block / n;
            for (std::int64_t k = 0; k < count; k += tile) {
                const std::int64_t some = std::min(tile, count - k);
                run_wide(join_short<Way>{}, a + k, b + k, values.read((i + k) * n, some * n), some,
                         n, static_cast<const double*>(nullptr));
            }
        } else {
            for (std::int64_t k = 0; k < count; ++k)
                for (std::int64_t j = 0; j < n; j += block) {
                    const std::int64_t some = std::min(block, n - j);
                    run_wide(join_row<Way>{}, a + k, b + k, values.read((i + k) * n + j, some),
                             some, j, 0.0);
                }
        }
        finish(i, a + 0, b + 0, count);
    }
}

}}}  // namespace pumice::PUMICE_ABI::detail
