// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the tests of exchange/ share.
#pragma once

#include <pumice.hpp>

#include <tests/support/files.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>

namespace pumice_test {

using test::code_of;
using test::text_of_error;

/// Element i is i * 5 % 7 (bool: whether that is not 0), as in the files of make_expected.py.
inline pumice::any_tensor numbers(pumice::dtype type, const pumice::shape& extent) {
    std::vector<float> values(static_cast<std::size_t>(pumice::element_count(extent)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 5 % 7);
    return pumice::astype(pumice::any_tensor(pumice::from_span<float>(extent, values)), type);
}

/// In four threads at once: `hand_over(x, n)` gives the sum x + n back, for 32 sums.
template <class F>
void hand_over_in_threads(const F& hand_over) {
    const pumice::any_tensor x = numbers(pumice::dtype::i32, {40, 50});
    const std::vector<int> values = pumice::to_vector<int>(x);
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int n = t; n < t + 8; ++n) {
                const std::vector<int> got = pumice::to_vector<int>(hand_over(x, n));
                bool same = got.size() == values.size();
                for (std::size_t i = 0; same && i < got.size(); ++i) same = got[i] == values[i] + n;
                right += same;
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(right == 32);
}

/// std::mdspan's members, for standard libraries that have none yet.
template <class T, std::size_t Rank, bool RowMajor = true, std::size_t Static = std::size_t(-1)>
class other_mdspan {
public:
    using element_type = T;
    static constexpr std::size_t rank() { return Rank; }
    static constexpr std::size_t static_extent(std::size_t i) {
        return i == 0 ? Static : std::size_t(-1);
    }
    other_mdspan(T* data, const std::array<std::int64_t, Rank>& extent)
        : data_(data), extent_(extent) {
        std::int64_t step = 1;
        for (std::size_t k = 0; k < Rank; ++k) {
            const std::size_t i = RowMajor ? Rank - 1 - k : k;
            step_[i] = step;
            step *= extent_[i];
        }
    }
    T* data_handle() const { return data_; }
    std::int64_t extent(std::size_t i) const { return extent_[i]; }
    std::int64_t stride(std::size_t i) const { return step_[i]; }
    T& at(std::int64_t i, std::int64_t j) const { return data_[i * step_[0] + j * step_[1]]; }

private:
    T* data_;
    std::array<std::int64_t, Rank> extent_, step_{};
};

}  // namespace pumice_test
