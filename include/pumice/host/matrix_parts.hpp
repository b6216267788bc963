// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the host's loops read and write of matrices, part by part: rows and columns may be short.
#pragma once

#include <pumice/host/values.hpp>
#include <pumice/kernels/product.hpp>

#include <algorithm>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Numbers of a matrix: where the first lies, and the steps of its two axes.
template <class T>
struct numbers_at {
    T* first;
    std::int64_t step[2];
};
/// Copies n0 x n1 numbers, along the first axis in the inner loop.
template <class T>
void copy_numbers(numbers_at<const T> from, numbers_at<T> to, std::int64_t n0, std::int64_t n1) {
    for (std::int64_t l = 0; l < n1; ++l) {
        const T* const v = from.first + l * from.step[1];
        T* const out = to.first + l * to.step[1];
        if (from.step[0] == 1 && to.step[0] == 1) {
            std::copy_n(v, n0, out);
        } else {
            for (std::int64_t i = 0; i < n0; ++i) out[i * to.step[0]] = v[i * from.step[0]];
        }
    }
}

/// Parts of the matrices of a batch: in place where they lie in memory as T, else by way of lines
/// along the longer axis of a part.
template <class T>
class matrix_parts {
public:
    /// `along`: the longer axis, 0 or 1.
    matrix_parts(const operand* alone, const fused& f, const host_buffers& buffers, int rank,
                 int along)
        : along_(along) {
        if (alone) {
            array_ = buffers.array(*alone);
            return;
        }
        const fused* lines = &f;
        if (along == 0) swap_axes(turned_.emplace(f), rank, rank + 1), lines = &*turned_;
        lines_.emplace(*lines, buffers);
    }
    bool in_place() const noexcept { return !lines_; }
    std::int64_t step(int axis) const { return array_.steps[array_.steps.rank() - 2 + axis]; }

    /// Where the numbers of a part lie, of which there are n.
    numbers_at<T> place(const index_list& batch, const std::int64_t (&from)[2],
                        const std::int64_t (&n)[2]) {
        if (in_place())
            return {reinterpret_cast<T*>(array_.data) + offset_of(array_, batch) +
                        from[0] * step(0) + from[1] * step(1),
                    {step(0), step(1)}};
        room_.resize(static_cast<std::size_t>(n[0] * n[1]));
        return {room_.data(), {along_ == 0 ? 1 : n[1], along_ == 0 ? n[0] : 1}};
    }
    /// The same, with the values of a factor.
    numbers_at<const T> read(const index_list& batch, const std::int64_t (&from)[2],
                             const std::int64_t (&n)[2]) {
        const numbers_at<T> all = place(batch, from, n);
        each_line(batch, from, n, [&](const index_list& at, std::int64_t i, std::int64_t length) {
            lines_->read(at, dtype_of<T>, reinterpret_cast<std::byte*>(room_.data() + i), length);
        });
        return {all.first, {all.step[0], all.step[1]}};
    }
    /// Hands what was put there on to an epilogue.
    void write(const index_list& batch, const std::int64_t (&from)[2], const std::int64_t (&n)[2]) {
        each_line(batch, from, n, [&](const index_list& at, std::int64_t i, std::int64_t length) {
            lines_->write(at, dtype_of<T>, reinterpret_cast<const std::byte*>(room_.data() + i),
                          length);
        });
    }

private:
    template <class F>
    void each_line(const index_list& batch, const std::int64_t (&from)[2],
                   const std::int64_t (&n)[2], const F& f) {
        if (in_place()) return;
        const int across = 1 - along_;
        for (std::int64_t i = 0; i < n[across]; ++i)
            f(batch + (from[across] + i) + from[along_], i * n[along_], n[along_]);
    }

    int along_;
    host_array array_;
    std::optional<fused> turned_;
    std::optional<host_rows> lines_;
    array_list<T> room_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
