// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Batches of small products on the host, by plain loops over factors where they lie: to pack one
// takes longer than to multiply it.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/narrow_products.hpp>
#include <pumice/host/values.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Multiplications up to which a product is small: at 12 x 12 x 12 both ways take as long.
inline constexpr std::int64_t small_product = 12 * 12 * 12;

/// out[i][j] = the sum of a[i][l] * b[l][j], from the first l on, of each of a line of products;
/// steps of rows, columns and products.
template <class T>
struct multiply_small {
    std::int64_t m, n, k;
    std::int64_t a[3], b[3], out[3];

    [[gnu::always_inline]] void operator()(const T* left, const T* right, T* to,
                                           std::int64_t count) const {
        const bool lines = n >= lanes_of<T>::count && b[1] == 1 && out[1] == 1;
        const add_products<T> add{n, m, k, b[0], {a[1], a[0]}, out[0]};
        for (; count > 0; --count, left += a[2], right += b[2], to += out[2])
            if (lines) add(right, left, to);
            else one(left, right, to);
    }
    [[gnu::always_inline]] void one(const T* left, const T* right, T* to) const {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                T sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                    sum += left[i * a[0] + l * a[1]] * right[l * b[0] + j * b[1]];
                to[i * out[0] + j * out[1]] = sum;
            }
    }
};

/// Multiplies all, if they are small ones of numbers that lie in memory.
template <class T, std::same_as<matmul_problem> P>
bool multiply_small_ones(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    const operand* const left = leaf_alone<T>(p.a);
    const operand* const right = leaf_alone<T>(p.b);
    const operand* const to = result_alone<T>(p.epilogue);
    const std::int64_t work = p.m * p.n * p.k, count = element_count(p.batch);
    if (!left || !right || !to || count < 2 || work > small_product) return false;
    const host_array a = buffers.array(*left), b = buffers.array(*right), out = buffers.array(*to);
    const int rank = p.batch.rank();
    const auto steps = [rank](const host_array& x, int d) { return x.steps[rank + d]; };
    const multiply_small<T> some{p.m,
                                 p.n,
                                 p.k,
                                 {steps(a, 0), steps(a, 1), steps(a, -1)},
                                 {steps(b, 0), steps(b, 1), steps(b, -1)},
                                 {steps(out, 0), steps(out, 1), steps(out, -1)}};
    // A line of the batch's last axis at a time, and of it as many as are worth a thread.
    const std::int64_t line = p.batch.back(),
                       part =
                           std::max<std::int64_t>(1, thread_part / std::max<std::int64_t>(work, 1)),
                       parts = (line + part - 1) / part;
    for_each_row(p.batch, [&](const index_list& at) {
        const T* const x = reinterpret_cast<const T*>(a.data) + offset_of(a, at);
        const T* const y = reinterpret_cast<const T*>(b.data) + offset_of(b, at);
        T* const z = reinterpret_cast<T*>(out.data) + offset_of(out, at);
        threads.run(parts, worth_a_thread / thread_part, [&](std::int64_t i) {
            const std::int64_t u = i * part;
            run_wide(some, x + u * some.a[2], y + u * some.b[2], z + u * some.out[2],
                     std::min(line - u, part));
        });
    });
    return true;
}

}}}  // namespace pumice::PUMICE_ABI::detail
