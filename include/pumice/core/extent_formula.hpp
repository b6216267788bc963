// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a whole number of a plan (an extent, a stride, a count) depends on an extent that each run
// brings.
#pragma once

#include <pumice/base/error.hpp>

#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

/// A polynomial of degree 3 at most, exact in whole numbers: Newton's forward differences.
class extent_formula {
public:
    /// What one is found from; the last value checks the polynomial that the others give.
    static constexpr int samples = 5;

    constexpr extent_formula() = default;
    /// The same number for every extent.
    constexpr explicit extent_formula(std::int64_t number) noexcept : difference_{number} {}

    /// Finds the polynomial through the values at the extents first, first + step, ...; false where
    /// there is none of degree 3 that is whole for every extent.
    constexpr bool find(std::int64_t first, const std::int64_t (&values)[samples],
                        std::int64_t step = 1) {
        std::int64_t d[samples] = {};
        if (!take_differences(values, d)) return false;
        if (step != 1) {
            // Newton's form with steps, at the first extents: of whole numbers over 6 step^3.
            const std::int64_t over = 6 * step * step * step;
            std::int64_t next[samples] = {};
            for (std::int64_t i = 0; i < samples; ++i) {
                const std::int64_t factors[] = {over, i * 6 * step * step,
                                                i * (i - step) * 3 * step,
                                                i * (i - step) * (i - 2 * step)};
                std::int64_t total = 0, part = 0;
                for (int k = 0; k < samples - 1; ++k)
                    if (__builtin_mul_overflow(d[k], factors[k], &part) ||
                        __builtin_add_overflow(total, part, &total))
                        return false;
                if (total % over != 0) return false;
                next[i] = total / over;
            }
            if (!take_differences(next, d)) return false;
        }
        first_ = first;
        for (int k = 0; k < samples - 1; ++k) difference_[k] = d[k];
        return true;
    }

    constexpr bool is_constant() const noexcept {
        return difference_[1] == 0 && difference_[2] == 0 && difference_[3] == 0;
    }
    /// The power of 2 that divides the number for every extent; 0 where it is always 0.
    constexpr std::uint64_t even() const noexcept {
        std::uint64_t bits = 0;
        for (const std::int64_t d : difference_) bits |= static_cast<std::uint64_t>(d);
        return bits & (~bits + 1);
    }
    /// The number for an extent. Throws errc::size_overflow.
    constexpr std::int64_t at(std::int64_t extent) const {
        std::int64_t total = difference_[0], choose = 1;
        int degree = samples - 2;  // what lies above may not fit where it counts for nothing
        while (degree > 0 && difference_[degree] == 0) --degree;
        for (int k = 1; k <= degree; ++k) {
            // k values of the extent from first on; the product of k neighbours is a multiple of k!
            std::int64_t part = 0;
            if (__builtin_mul_overflow(choose, extent - first_ - (k - 1), &choose)) overflow();
            choose /= k;
            if (__builtin_mul_overflow(choose, difference_[k], &part) ||
                __builtin_add_overflow(total, part, &total))
                overflow();
        }
        return total;
    }

private:
    /// Leaves in `d` the differences of each order at the first; false where the last is not 0.
    static constexpr bool take_differences(const std::int64_t (&values)[samples],
                                           std::int64_t (&d)[samples]) {
        for (int i = 0; i < samples; ++i) d[i] = values[i];
        for (int k = 1; k < samples; ++k)
            for (int i = samples - 1; i >= k; --i)
                if (__builtin_sub_overflow(d[i], d[i - 1], &d[i])) return false;
        return d[samples - 1] == 0;
    }
    [[noreturn]] static void overflow() {
        fail(errc::size_overflow, "extent",
             {"a size that depends on an extent does not fit in 63 bits"});
    }
    std::int64_t first_ = 0;
    std::int64_t difference_[samples - 1] = {};
};

}}  // namespace pumice::PUMICE_ABI
