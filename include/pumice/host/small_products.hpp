// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Batches of small products on the host: by plain loops over factors where they lie, for to pack
// one takes longer than to multiply it; or, of values that are computed, by vectors along the
// batch.
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
        if (lines)
            for (; count > 0; --count, left += a[2], right += b[2], to += out[2])
                add(right, left, to);
        else if (k == 2) each<2>(left, right, to, count);
        else if (k == 3) each<3>(left, right, to, count);
        else if (k == 4) each<4>(left, right, to, count);
        else each<0>(left, right, to, count);
    }
    /// Sums of so many products, or of k where it is 0.
    template <int Depth>
    [[gnu::always_inline]] void each(const T* left, const T* right, T* to,
                                     std::int64_t count) const {
        const std::int64_t depth = Depth == 0 ? k : Depth;
        for (; count > 0; --count, left += a[2], right += b[2], to += out[2])
            for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t i = 0; i < m; ++i) {
                    T sum = 0;
#pragma GCC unroll 4
                    for (std::int64_t l = 0; l < depth; ++l)
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

/// out[i][j] = the sum of a[i][l] * b[l][j], each of them a line of `step` products: whole vectors.
template <class T>
struct multiply_side_by_side {
    std::int64_t m, n, k, step;

    [[gnu::always_inline]] void operator()(const T* a, const T* b, T* out) const {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j, out += step)
                for (std::int64_t u = 0; u < step; u += lanes_of<T>::count) {
                    typename lanes_of<T>::vector sum = {};
                    for (std::int64_t l = 0; l < k; ++l)
                        sum += lanes_at(a + (i * k + l) * step + u) *
                               lanes_at(b + (l * n + j) * step + u);
                    lanes_at(out + u) = sum;
                }
    }
};

/// Multiplies all, if they are many small ones, of any values.
template <class T, std::same_as<matmul_problem> P>
bool multiply_along_batch(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    const std::int64_t work = p.m * p.n * p.k, numbers = p.m * p.k + p.k * p.n + p.m * p.n;
    if (work == 0 || work > small_product || p.k > tile_depth || p.batch.rank() == 0) return false;
    P q = p;
    array_list<operand*> all;
    for (fused* f : {&q.a, &q.b, &q.epilogue})
        for (operand* o : operands_of(*f)) all.push_back(o);
    const int last = collapse(q.batch, all, 0, q.batch.rank()) - 1;
    const std::int64_t line = q.batch[last];
    if (line < lanes_of<T>::count) return false;
    for (operand* o : all) {  // the batch goes last
        o->steps.push_back(o->steps[last]);
        o->steps.erase(last);
    }
    constexpr std::int64_t lanes = lanes_of<T>::count;
    const std::int64_t most = some_numbers<T> / numbers / lanes * lanes,
                       step = std::clamp(most, 2 * lanes, host_program::block),
                       parts = (line + step - 1) / step;
    for_each_row(q.batch, [&](const index_list& rest) {
        threads.run(parts, parts_for_a_thread(step * numbers), [&](std::int64_t part) {
            host_rows a(q.a, buffers), b(q.b, buffers), out(q.epilogue, buffers);
            array_list<T> room(static_cast<std::size_t>(numbers * step));
            T *const left = room.data(), *const right = left + p.m * p.k * step,
                     *const sums = right + p.k * p.n * step;
            const std::int64_t first = part * step, count = std::min(step, line - first);
            const auto each = [&](std::int64_t rows, std::int64_t columns, T* at, auto&& f) {
                for (std::int64_t i = 0; i < rows * columns; ++i, at += step)
                    f(rest + i / columns + i % columns + first, at);
            };
            const auto read = [count](host_rows& from) {
                return [&from, count](const index_list& at, T* to) {
                    from.read(at, dtype_of<T>, reinterpret_cast<std::byte*>(to), count);
                };
            };
            each(p.m, p.k, left, read(a));
            each(p.k, p.n, right, read(b));
            run_wide(multiply_side_by_side<T>{p.m, p.n, p.k, step}, left, right, sums);
            each(p.m, p.n, sums, [&](const index_list& at, const T* from) {
                out.write(at, dtype_of<T>, reinterpret_cast<const std::byte*>(from), count);
            });
        });
    });
    return true;
}

}}}  // namespace pumice::PUMICE_ABI::detail
