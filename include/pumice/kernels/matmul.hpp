// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products: in tiles by plain arithmetic or by cooperative matrices (shaders/matmul.slang).
#pragma once

#include <pumice/kernels/tile.hpp>

namespace pumice::inline PUMICE_ABI {

namespace detail {

inline void swap_axes(fused& f, int a, int b) {
    for (operand* o : operands_of(f)) std::swap(o->steps[a], o->steps[b]);
}

/// Batch axes over which the right factor repeats become rows of the left one, where memory allows.
inline void fold_batch(product& p) {
    while (p.batch.rank() > 0) {
        const int last = p.batch.rank() - 1;
        for (const operand& o : p.right.leaves)
            if (o.steps[last] != 0 && p.batch[last] != 1) return;
        std::vector<operand*> rows = operands_of(p.left);
        for (operand* o : operands_of(p.epilogue)) rows.push_back(o);
        for (const operand* o : rows)
            if (p.m != 1 && p.batch[last] != 1 && o->steps[last] != o->steps[last + 1] * p.m) return;
        for (operand* o : rows) {
            if (p.m == 1) o->steps[last + 1] = o->steps[last];
            o->steps.erase(last);
        }
        for (operand* o : operands_of(p.right)) o->steps.erase(last);
        p.m *= p.batch[last];
        p.batch.erase(last);
    }
}

/// The problem as a product: few batch axes, columns along the memory of the outputs.
inline product product_of(const matmul_problem& q) {
    product p{q.batch, q.m, q.n, q.k, {q.n}, {q.k}, q.a, q.b, q.epilogue, info(q.a.type()).arithmetic};
    swap_axes(p.right, q.batch.rank(), q.batch.rank() + 1);  // (k, n) -> (n, k)
    fold_batch(p);
    std::vector<operand*> all = operands_of(p.left);
    for (fused* f : {&p.right, &p.epilogue})
        for (operand* o : operands_of(*f)) all.push_back(o);
    const int batch = collapse(p.batch, all, 0, p.batch.rank());
    int turned = 0;                  // outputs that are contiguous along m
    for (const operand& o : p.epilogue.outputs)
        turned += o.steps[batch] == 1 && o.steps[batch + 1] != 1 ? 1 : o.steps[batch + 1] == 1 ? -1 : 0;
    if (turned > 0 && p.n > 1) {     // transpose(a b) = transpose(b) transpose(a)
        std::swap(p.left, p.right);
        std::swap(p.m, p.n);
        swap_axes(p.epilogue, batch, batch + 1);
        p.columns = {p.n};
    }
    return p;
}

inline void matmul_reference(const matmul_problem& p, const host_buffers& buffers) {
    with_host_arithmetic(sum_of(p.a.type(), p.b.type()).value_or(arithmetic::f32), [&]<class A>(A) {
        // Sums of floats are taken in double and rounded once.
        using sum_type = std::conditional_t<std::is_same_v<A, float>, double, A>;
        using value_type = std::conditional_t<std::is_floating_point_v<A>, A, decltype(plain(A{}))>;
        if constexpr (!std::is_same_v<A, bool>) {
            host_prologue<value_type> a(p.a, buffers), b(p.b, buffers);
            host_epilogue out(p.epilogue, buffers);
            const auto n = static_cast<std::size_t>(p.n), k = static_cast<std::size_t>(p.k);
            std::vector<value_type> left(k), right(n * k);
            std::vector<sum_type> sums(n);
            std::vector<A> given(n);
            for_each_row(p.batch + 1, [&](const index_list& at) {
                for (std::int64_t i = 0; i < p.k; ++i) b.run(at + i + 0, right.data() + static_cast<std::size_t>(i) * n, p.n);
                for (std::int64_t row = 0; row < p.m; ++row) {
                    a.run(at + row + 0, left.data(), p.k);
                    std::fill(sums.begin(), sums.end(), sum_type(0));
                    for (std::size_t i = 0; i < k; ++i)
                        for (std::size_t j = 0; j < n; ++j) sums[j] = sums[j] + sum_type(left[i]) * sum_type(right[i * n + j]);
                    for (std::size_t j = 0; j < n; ++j) given[j] = A(sums[j]);
                    out.run(at + row + 0, given.data(), p.n);
                }
            });
        }
    });
}

}  // namespace detail

/// Plain arithmetic: every element type, any strides, any device.
struct matmul_tiled {
    using problem_type = matmul_problem;
    static constexpr std::string_view name = "matmul/tiled";
    static constexpr bool portable = true;

    static support supports(const matmul_problem& p, const device_info& device) {
        if (support s = detail::supports_programs({&p.a, &p.b, &p.epilogue}, device); !s.yes) return s;
        if (!detail::sum_of(p.a.type(), p.b.type()))
            return support::no("values of " + std::string(to_string(p.a.type())) + " and " + std::string(to_string(p.b.type())) + " are not summed together");
        return detail::supports_registers(detail::product_of(p), device);
    }
    static launch make(const matmul_problem& asked, const device_info& device) {
        const detail::product p = detail::product_of(asked);
        return detail::staged_launch(p, detail::register_core(p, *detail::register_tile_for(p, device)), device, detail::is_wide_matrix(p));
    }
    static void reference(const matmul_problem& p, const host_buffers& b) { detail::matmul_reference(p, b); }
};

/// Cooperative matrices over f16 or bf16, summed in f32. A fused factor is rounded to that type first.
struct matmul_cooperative {
    using problem_type = matmul_problem;
    static constexpr std::string_view name = "matmul/cooperative";
    static constexpr bool portable = false;

    static support supports(const matmul_problem& p, const device_info& device) {
        if (support s = detail::supports_programs({&p.a, &p.b, &p.epilogue}, device); !s.yes) return s;
        return detail::supports_matrices(detail::product_of(p), p.a.type(), p.b.type(), device);
    }
    static launch make(const matmul_problem& asked, const device_info& device) {
        const detail::product p = detail::product_of(asked);
        return detail::staged_launch(p, detail::matrix_core_for(p, asked.a.type(), device), device, detail::is_wide_matrix(p));
    }
    static void reference(const matmul_problem& p, const host_buffers& b) { detail::matmul_reference(p, b); }
};

static_assert(kernel<matmul_tiled> && kernel<matmul_cooperative>);

}  // namespace pumice::inline PUMICE_ABI
