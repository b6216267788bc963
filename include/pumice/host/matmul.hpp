// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of float matrices on the host: tiles that stay in registers, over columns packed into
// panels.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/host/lanes.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/matmul.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline constexpr std::int64_t tile_rows = 4, tile_columns = 2 * lane_count, tile_depth = 256;

/// sums[r][0..16) += a[r][0..depth) times a panel of `depth` lines of 16, for each of Rows rows.
template <int Rows>
struct matmul_tile {
    [[gnu::always_inline]] void operator()(const float* a, std::int64_t row, const float* panel,
                                           std::int64_t depth, float* sums) const {
        float_lanes low[std::size_t{Rows}] = {}, high[std::size_t{Rows}] = {};
        for (std::int64_t k = 0; k < depth; ++k, panel += tile_columns) {
            const float_lanes b = lanes_at(panel), c = lanes_at(panel + lane_count);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                const float factor = a[r * row + k];
                low[r] += b * factor;
                high[r] += c * factor;
            }
        }
        for (int r = 0; r < Rows; ++r) {
            lanes_at(sums + r * tile_columns) += low[r];
            lanes_at(sums + r * tile_columns + lane_count) += high[r];
        }
    }
};

/// Floats of the right factor that are packed at a time.
inline constexpr std::int64_t most_packed = 1 << 20;

/// Some columns of a matrix of a batch, and rows of the left factor against them.
class float_product {
public:
    /// The right factor's columns [first, first + n) of k rows.
    float_product(float_rows& right, const index_list& batch, std::int64_t k, std::int64_t first,
                  std::int64_t n)
        : k_(k), n_(n), panels_((n + tile_columns - 1) / tile_columns),
          packed_(static_cast<std::size_t>(panels_ * tile_columns * k)) {
        for (std::int64_t i = 0; i < k; ++i) {
            const float* const line = right.read(batch + i + first, n);
            for (std::int64_t p = 0; p < panels_; ++p)
                std::copy_n(line + p * tile_columns, std::min(tile_columns, n - p * tile_columns),
                            packed_.data() + (p * k + i) * tile_columns);
        }
    }

    /// out[r][j] for `rows` <= tile_rows rows of the left factor, whose rows lie `step` apart.
    void rows(const float* left, std::int64_t step, std::int64_t rows, float* out) const {
        for (std::int64_t p = 0; p < panels_; ++p) {
            alignas(32) float sums[tile_rows * tile_columns] = {};
            const float* const panel = packed_.data() + p * tile_columns * k_;
            for (std::int64_t k = 0; k < k_; k += tile_depth) {
                const std::int64_t depth = std::min(tile_depth, k_ - k);
                const float *const a = left + k, *const b = panel + k * tile_columns;
                if (rows == tile_rows)
                    run_wide(matmul_tile<tile_rows>{}, a, step, b, depth, sums + 0);
                else
                    for (std::int64_t r = 0; r < rows; ++r)
                        run_wide(matmul_tile<1>{}, a + r * step, step, b, depth,
                                 sums + r * tile_columns);
            }
            const std::int64_t columns = std::min(tile_columns, n_ - p * tile_columns);
            for (std::int64_t r = 0; r < rows; ++r)
                std::copy_n(sums + r * tile_columns, columns, out + r * n_ + p * tile_columns);
        }
    }

private:
    std::int64_t k_, n_, panels_;
    array_list<float> packed_;
};

template <std::same_as<matmul_problem> P>
void multiply_floats(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    const std::int64_t group = 16 * tile_rows, groups = (p.m + group - 1) / group;
    const std::int64_t width =
        std::max<std::int64_t>(most_packed / p.k / tile_columns, 1) * tile_columns;
    const std::int64_t blocks = (p.n + width - 1) / width;
    const bool alone = p.m * p.n * p.k < least_part * 8;
    for_each_row(p.batch + 1, [&](const index_list& batch) {
        const auto some_columns = [&](std::int64_t block) {
            const std::int64_t first = block * width, n = std::min(width, p.n - first);
            float_rows b(p.b, buffers);
            const float_product product(b, batch, p.k, first, n);
            const auto some_rows = [&](std::int64_t part) {
                float_rows a(p.a, buffers);
                float_results out(p.epilogue, buffers);
                array_list<float> left(static_cast<std::size_t>(tile_rows * p.k)),
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

/// Of factors that are computed in float.
template <std::same_as<matmul_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (computes_in_float(p.a) && computes_in_float(p.b) && p.k != 0)
        out.solve<detail::multiply_floats<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
