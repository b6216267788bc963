// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices on the host: tiles that stay in registers, over columns packed into panels.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/host/lanes.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/narrow_products.hpp>
#include <pumice/host/small_products.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/matmul.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline constexpr std::int64_t tile_rows = 4;
template <class T>
inline constexpr std::int64_t tile_columns = 2 * lanes_of<T>::count;

/// sums[r][0..columns) += a[r][0..depth) times a panel of `depth` lines of so many columns, for
/// each of Rows rows.
template <class T, int Rows>
struct matmul_tile {
    [[gnu::always_inline]] void operator()(const T* a, std::int64_t row, const T* panel,
                                           std::int64_t depth, T* sums) const {
        typename lanes_of<T>::vector low[std::size_t{Rows}] = {}, high[std::size_t{Rows}] = {};
        for (std::int64_t k = 0; k < depth; ++k, panel += tile_columns<T>) {
            const typename lanes_of<T>::vector b = lanes_at(panel),
                                               c = lanes_at(panel + lanes_of<T>::count);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                const T factor = a[r * row + k];
                low[r] += b * factor;
                high[r] += c * factor;
            }
        }
        for (int r = 0; r < Rows; ++r) {
            lanes_at(sums + r * tile_columns<T>) += low[r];
            lanes_at(sums + r * tile_columns<T> + lanes_of<T>::count) += high[r];
        }
    }
};

/// Elements of the right factor that are packed at a time.
inline constexpr std::int64_t most_packed = 1 << 20;

/// Some columns of a matrix of a batch, and rows of the left factor against them.
template <class T>
class column_product {
public:
    static constexpr std::int64_t columns = tile_columns<T>;

    /// The right factor's columns [first, first + n) of k rows.
    column_product(number_rows<T>& right, const index_list& batch, std::int64_t k,
                   std::int64_t first, std::int64_t n)
        : k_(k), n_(n), panels_((n + columns - 1) / columns),
          packed_(static_cast<std::size_t>(panels_ * columns * k)) {
        for (std::int64_t i = 0; i < k; ++i) {
            const T* const line = right.read(batch + i + first, n);
            for (std::int64_t p = 0; p < panels_; ++p)
                std::copy_n(line + p * columns, std::min(columns, n - p * columns),
                            packed_.data() + (p * k + i) * columns);
        }
    }

    /// out[r][j] for `rows` <= tile_rows rows of the left factor, whose rows lie `step` apart.
    void rows(const T* left, std::int64_t step, std::int64_t rows, T* out) const {
        for (std::int64_t p = 0; p < panels_; ++p) {
            alignas(32) T sums[static_cast<std::size_t>(tile_rows * columns)] = {};
            const T* const panel = packed_.data() + p * columns * k_;
            for (std::int64_t k = 0; k < k_; k += tile_depth) {
                const std::int64_t depth = std::min(tile_depth, k_ - k);
                const T *const a = left + k, *const b = panel + k * columns;
                if (rows == tile_rows)
                    run_wide(matmul_tile<T, tile_rows>{}, a, step, b, depth, sums + 0);
                else
                    for (std::int64_t r = 0; r < rows; ++r)
                        run_wide(matmul_tile<T, 1>{}, a + r * step, step, b, depth,
                                 sums + r * columns);
            }
            const std::int64_t count = std::min(columns, n_ - p * columns);
            for (std::int64_t r = 0; r < rows; ++r)
                std::copy_n(sums + r * columns, count, out + r * n_ + p * columns);
        }
    }

private:
    std::int64_t k_, n_, panels_;
    array_list<T> packed_;
};

/// Of the widest type in which an epilogue takes what it is given.
inline int bits_given(const fused& f) {
    int bits = 0;
    for (const instruction& i : f.body->view().code)
        if (i.what == instruction::code::given) bits = std::max(bits, int(info(i.type).bits));
    return bits;
}

template <class T, std::same_as<matmul_problem> P>
void multiply_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    if (multiply_small_ones<T>(p, buffers, threads) ||
        multiply_along_batch<T>(p, buffers, threads) || multiply_narrow<T>(p, buffers, threads))
        return;
    const std::int64_t group = 16 * tile_rows, groups = (p.m + group - 1) / group;
    const std::int64_t width =
        std::max<std::int64_t>(most_packed / p.k / tile_columns<T>, 1) * tile_columns<T>;
    const std::int64_t blocks = (p.n + width - 1) / width;
    const bool alone = p.m * p.n * p.k < least_part * 8;
    for_each_row(p.batch + 1, [&](const index_list& batch) {
        const auto some_columns = [&](std::int64_t block) {
            const std::int64_t first = block * width, n = std::min(width, p.n - first);
            number_rows<T> b(p.b, buffers);
            const column_product<T> product(b, batch, p.k, first, n);
            const auto some_rows = [&](std::int64_t part) {
                number_rows<T> a(p.a, buffers);
                number_results<T> out(p.epilogue, buffers);
                array_list<T> left(static_cast<std::size_t>(tile_rows * p.k)),
                    sums(static_cast<std::size_t>(tile_rows * n));
                const std::int64_t end = std::min((part + 1) * group, p.m);
                for (std::int64_t m = part * group; m < end; m += tile_rows) {
                    const std::int64_t rows = std::min(tile_rows, end - m);
                    for (std::int64_t r = 0; r < rows; ++r)
                        a.read(batch + (m + r) + 0, p.k, left.data() + r * p.k);
                    product.rows(left.data(), p.k, rows, sums.data());
                    for (std::int64_t r = 0; r < rows; ++r) {
                        const index_list at = batch + (m + r) + first;
                        if (out.in_place()) std::copy_n(sums.data() + r * n, n, out.place(at, n));
                        else out.write(at, n, sums.data() + r * n);
                    }
                }
            };
            if (!alone && groups > 1) threads.run(groups, 1, some_rows);
            else
                for (std::int64_t i = 0; i < groups; ++i) some_rows(i);
        };
        if (!alone && groups == 1) threads.run(blocks, 1, some_columns);
        else
            for (std::int64_t i = 0; i < blocks; ++i) some_columns(i);
    });
}

}  // namespace detail

/// Sums are taken in the type that the factors are computed in; of integers modulo 2^32 where the
/// epilogue sees no more of them, else modulo 2^64.
template <std::same_as<matmul_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    const dtype a = p.a.type(), b = p.b.type();
    if (p.k == 0 || is_floating(a) != is_floating(b)) return;
    if (computes_in_float(p.a) && computes_in_float(p.b))
        out.solve<detail::multiply_all<float, P>>(p, buffers);
    else if (is_floating(a)) out.solve<detail::multiply_all<double, P>>(p, buffers);
    else if (detail::bits_given(p.epilogue) <= 32)
        out.solve<detail::multiply_all<std::uint32_t, P>>(p, buffers);
    else out.solve<detail::multiply_all<std::uint64_t, P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
