// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Run-time shapes and strides: at most eight signed 64-bit numbers, no heap.
#pragma once

#include <pumice/base/fixed_string.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/checked.hpp>
#include <pumice/core/dtype.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

namespace pumice { inline namespace PUMICE_ABI {

inline constexpr int max_rank = 8;

/// A short list of numbers by axis: shapes, strides, axes.
class index_list {
public:
    constexpr index_list() noexcept = default;
    constexpr index_list(std::initializer_list<std::int64_t> values)
        : index_list(span(values.begin(), values.size())) {}
    constexpr explicit index_list(span<const std::int64_t> values) {
        if (values.size() > max_rank)
            fail(errc::rank_mismatch, "shape",
                 {"rank ", values.size(), " is above the limit of 8"});
        for (std::int64_t v : values) items_[rank_++] = v;
    }
    static constexpr index_list filled(int rank, std::int64_t value) {
        index_list r;
        for (int i = 0; i < rank; ++i) r.push_back(value);
        return r;
    }

    constexpr int rank() const noexcept { return static_cast<int>(rank_); }
    constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(rank_); }
    constexpr bool empty() const noexcept { return rank_ == 0; }
    /// Pre: 0 <= i < rank; nothing is checked, and nothing counts from the end.
    constexpr std::int64_t& operator[](int i) noexcept { return items_[i]; }
    constexpr std::int64_t operator[](int i) const noexcept { return items_[i]; }
    constexpr std::int64_t back() const noexcept { return items_[rank_ - 1]; }
    constexpr void push_back(std::int64_t v) {
        if (rank_ == max_rank)
            fail(errc::rank_mismatch, "shape", {"the rank would pass the limit of 8"});
        items_[rank_++] = v;
    }
    constexpr void insert(int at, std::int64_t v) {
        push_back(v);
        for (int i = rank() - 1; i > at; --i) std::swap(items_[i], items_[i - 1]);
    }
    constexpr void erase(int at) noexcept {
        for (int i = at + 1; i < rank(); ++i) items_[i - 1] = items_[i];
        items_[--rank_] = 0;
    }
    constexpr const std::int64_t* data() const noexcept { return items_; }
    constexpr std::int64_t* data() noexcept { return items_; }
    constexpr const std::int64_t* begin() const noexcept { return items_; }
    constexpr const std::int64_t* end() const noexcept { return items_ + rank_; }
    constexpr std::int64_t* begin() noexcept { return items_; }
    constexpr std::int64_t* end() noexcept { return items_ + rank_; }
    [[gnu::always_inline]] friend constexpr bool operator==(const index_list& a,
                                                            const index_list& b) noexcept {
        if (a.rank_ != b.rank_) return false;
        for (int i = 0; i < a.rank(); ++i)
            if (a.items_[i] != b.items_[i]) return false;
        return true;
    }

private:
    std::int64_t items_[max_rank] = {};
    std::int64_t rank_ = 0;  // as wide as the items, so that copies do not wait for it
};

/// The lengths of a tensor's axes, at most 8: in braces, or `pm::shape(list)` of a std::vector, an
/// array or a span of std::int64_t.
using shape = index_list;
using strides = index_list;

namespace detail {
/// The index of the i-th element in row-major order.
constexpr index_list index_of(std::int64_t i, const shape& extent) noexcept {
    index_list at = extent;
    for (int d = extent.rank(); d-- > 0; i /= extent[d]) at[d] = i % extent[d];
    return at;
}
}  // namespace detail

/// "(2, 3)", "(2,)", "()": as NumPy prints shapes.
PUMICE_FUNCTION std::string to_string(const index_list& list);

#ifndef PUMICE_COMPILED
PUMICE_BODY std::string to_string(const index_list& list) {
    std::string text = "(";
    for (int i = 0; i < list.rank(); ++i) append_text(text, {i > 0 ? ", " : "", list[i]});
    return text += list.rank() == 1 ? ",)" : ")";
}
#endif

namespace detail {
[[noreturn, gnu::noinline]] inline void fail_count(const shape& s, bool negative) {
    if (negative)
        fail(errc::invalid_argument, "shape",
             {"the shape ", to_string(s), " has a negative extent"});
    fail(errc::size_overflow, "shape",
         {"the elements of shape ", to_string(s), " cannot be counted in 63 bits"});
}

/// element_count of any shape, apart from it so that its common case is short enough to be inlined.
constexpr std::int64_t count_checked(const shape& s) {
    std::int64_t n = 1;
    bool zero = false;
    for (std::int64_t d : s) {
        if (d < 0) fail_count(s, true);
        if (d == 0) zero = true;
        else if (!fits_product(n, d)) fail_count(s, false);
        else n *= d;
    }
    return zero ? 0 : n;
}
}  // namespace detail

/// Number of elements; throws errc::size_overflow, and errc::invalid_argument for a negative
/// extent.
constexpr std::int64_t element_count(const shape& s) {
    std::int64_t n = 1;
    for (std::int64_t d : s) {
        if ((n | d) >> 31 != 0) return detail::count_checked(s);
        n *= d;
    }
    return n != 0 ? n : detail::count_checked(s);
}

/// Bytes that `count` elements take, densely packed.
constexpr std::int64_t byte_count(dtype type, std::int64_t count) {
    const std::int64_t bits = checked_multiply(count, info(type).bits, "shape");
    return bits / 8 + (bits % 8 != 0);
}

/// Element strides of a dense array whose last axis is contiguous.
constexpr strides row_major_strides(const shape& s) {
    strides r = strides::filled(s.rank(), 1);
    for (int i = s.rank() - 2; i >= 0; --i)
        r[i] = checked_multiply(r[i + 1], std::max<std::int64_t>(s[i + 1], 1), "shape");
    return r;
}

/// True where `st` addresses `s` densely in row-major order; strides of extents 0 and 1 do not
/// count.
constexpr bool is_row_major(const shape& s, const strides& st) noexcept {
    std::int64_t expected = 1;
    bool dense = true;
    for (int i = s.rank() - 1; i >= 0; --i) {
        dense = dense && (s[i] == 1 || st[i] == expected);
        expected *= s[i];
    }
    return dense || expected == 0;
}

/// An axis counted from the end when negative, as NumPy does. Throws errc::axis_out_of_range.
constexpr int normalize_axis(std::int64_t axis, int rank, const char* place) {
    if (axis < -rank || axis >= rank)
        fail(errc::axis_out_of_range, place, {"axis ", axis, " is outside the rank ", rank});
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// NumPy's broadcasting of two shapes. Throws errc::shape_mismatch.
constexpr shape broadcast(const shape& a, const shape& b, std::string_view place) {
    const int rank = std::max(a.rank(), b.rank());
    shape r = shape::filled(rank, 1);
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
        const std::int64_t x = ia < 0 ? 1 : a[ia], y = ib < 0 ? 1 : b[ib];
        if (x != y && x != 1 && y != 1)
            fail(errc::shape_mismatch, place,
                 {"shapes ", to_string(a), " and ", to_string(b), " do not broadcast (axis ", i,
                  ": ", x, " against ", y, ")"});
        r[i] = x == 1 ? y : x;
    }
    return r;
}

}}  // namespace pumice::PUMICE_ABI
