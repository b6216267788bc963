// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products: in tiles by plain arithmetic or by cooperative matrices (shaders/matmul.slang),
// or of few sums (shaders/split_k.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/packed.hpp>
#include <pumice/kernels/slices.hpp>
#include <pumice/kernels/split_k.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Batch axes over which the right factor repeats become rows of the left one, where memory allows.
inline void fold_batch(product& p) {
    while (p.batch.rank() > 0) {
        const int last = p.batch.rank() - 1;
        for (const operand& o : p.right.leaves)
            if (o.steps[last] != 0 && p.batch[last] != 1) return;
        array_list<operand*> rows = operands_of(p.left);
        for (operand* o : operands_of(p.epilogue)) rows.push_back(o);
        for (const operand* o : rows)
            if (p.m != 1 && p.batch[last] != 1 && o->steps[last] != o->steps[last + 1] * p.m)
                return;
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
    product p{q.batch, q.m, q.n, q.k,        {q.n},
              {q.k},   q.a, q.b, q.epilogue, info(q.a.type()).arithmetic};
    swap_axes(p.right, q.batch.rank(), q.batch.rank() + 1);  // (k, n) -> (n, k)
    fold_batch(p);
    array_list<operand*> all = operands_of(p.left);
    for (fused* f : {&p.right, &p.epilogue})
        for (operand* o : operands_of(*f)) all.push_back(o);
    const int batch = collapse(p.batch, all, 0, p.batch.rank());
    int turned = 0;  // outputs that are contiguous along m
    for (const operand& o : p.epilogue.outputs)
        turned += o.steps[batch] == 1 && o.steps[batch + 1] != 1 ? 1
                  : o.steps[batch + 1] == 1                      ? -1
                                                                 : 0;
    if (turned > 0 && p.n > 1) transpose(p);
    return p;
}

/// The same with the side of few rows as the right one, as tiles in slices have it.
inline product narrow(product p) {
    if (p.m < p.n) transpose(p);
    return p;
}
/// A product as a tile of cooperative matrices has it.
inline product turned_for(product p, const fragments& kind, const configuration& way) {
    return row_of(matrix_tiles, way, kind.deeper()).slices > 1 ? narrow(std::move(p)) : p;
}

/// The problem with the side of few rows as the left one.
inline product split_k_product_of(const matmul_problem& q) {
    product p = product_of(q);
    if (p.m > few_rows && p.n <= few_rows) transpose(p);
    return p;
}

/// A row of sums: of floats in double, rounded once; of integers modulo 2^64.
template <class T>
void multiply_row(span<const T> left, const T* right, span<T> sums) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (const T factor : left)
        for (T& sum : sums) sum += factor * *right++;
}

}  // namespace detail

/// What every kernel of products computes.
template <std::same_as<matmul_problem> P>
void reference(const P& p, const host_buffers& buffers) {
    using detail::operator+;
    const dtype type = p.a.type(), wide = detail::widest_sum(type);
    host_rows a(p.a, buffers), b(p.b, buffers), out(p.epilogue, buffers);
    detail::wide_values left(p.k), right(p.n * p.k), sums(p.n);
    for_each_row(p.batch + 1, [&](const index_list& at) {
        for (std::int64_t i = 0; i < p.k; ++i) b.read(at + i + 0, wide, right.at(i * p.n), p.n);
        for (std::int64_t row = 0; row < p.m; ++row) {
            a.read(at + row + 0, wide, left.at(0), p.k);
            detail::visit_sum(type, [&]<class T>(T) {
                detail::multiply_row<T>(left.as<T>(), right.as<T>().data(), sums.as<T>());
            });
            out.write(at + row + 0, wide, sums.at(0), p.n);
        }
    });
}

namespace detail {
/// What products by plain arithmetic need.
inline support supports_arithmetic(const matmul_problem& p, const device_info& device) {
    if (support s = supports_programs({&p.a, &p.b, &p.epilogue}, device); !s.yes) return s;
    return supports_sum(p.a.type(), p.b.type());
}
}  // namespace detail

/// Plain arithmetic: every element type, any strides, any device.
struct matmul_tiled {
    using problem_type = matmul_problem;
    static constexpr std::string_view name = "matmul/tiled";
    static constexpr bool portable = true;

    static support supports(const matmul_problem& p, const device_info& device) {
        if (support s = detail::supports_arithmetic(p, device); !s.yes) return s;
        return detail::supports_registers(detail::product_of(p), device);
    }
    static launch make(const matmul_problem& asked, const device_info& device,
                       const configuration& way) {
        const detail::product p = detail::product_of(asked);
        return detail::staged_launch(p, detail::register_core(p, way, device), device,
                                     detail::is_wide(p));
    }
};

/// Cooperative matrices: f16 or bf16 summed in f32, integers of 8 bits in 32; f32 as two bf16 whose
/// least product is left out, or f16 summed in f16, where a policy allows it. A fused factor is
/// rounded to what they multiply first. A configuration is a tile, and in how many slices of k the
/// sums are taken.
template <reduced_precision Needs>
struct matmul_matrices {
    using problem_type = matmul_problem;
    static constexpr reduced_precision needs = Needs;
    static constexpr std::string_view name = Needs == reduced_precision::bf16_3x ? "matmul/bf16_3x"
                                             : Needs == reduced_precision::f16_accumulation
                                                 ? "matmul/f16_accumulation"
                                                 : "matmul/cooperative";
    static constexpr bool portable = false;

    static support supports(const matmul_problem& p, const device_info& device) {
        if (support s = detail::supports_programs({&p.a, &p.b, &p.epilogue}, device); !s.yes)
            return s;
        const detail::product whole = detail::product_of(p);
        const detail::fragments_or_reason of = fragments_for(p, whole);
        if (!of.kind) return of.none;
        const auto ways = [&](const detail::product& slice) {
            support s = detail::supports_matrices(slice, *of.kind, device);
            if (!s.yes) return s;
            for (const configuration& way :
                 detail::supports_matrices(detail::narrow(slice), *of.kind, device, true).ways)
                s.ways.push_back(way);
            return s;
        };
        support s = ways(whole);
        if (!s.yes) return s;
        detail::add_slices(s, whole, {2, 4, 8, 16}, detail::most_sums(device), device,
                           [&](const detail::product& slice) { return ways(slice).ways; });
        return s;
    }
    static launch make(const matmul_problem& asked, const device_info& device,
                       const configuration& way) {
        const detail::product whole = detail::product_of(asked);
        const detail::fragments& kind = *fragments_for(asked, whole).kind;
        const detail::product p = detail::turned_for(detail::sliced_as(whole, way), kind, way);
        return detail::staged_launch(p, detail::matrix_core(p, kind, way, device), device,
                                     detail::is_wide(p));
    }
    static array_list<launch> make_all(const matmul_problem& asked, const device_info& device,
                                       const configuration& way) {
        return detail::with_join(make(asked, device, way), detail::product_of(asked), way, device);
    }
    static std::int64_t scratch(const matmul_problem& asked, const device_info&,
                                const configuration& way) {
        return detail::slice_bytes(detail::product_of(asked), way);
    }

private:
    static detail::fragments_or_reason fragments_for(const matmul_problem& p,
                                                     const detail::product& whole) {
        return {whole, detail::multiplied_type(p.a), detail::multiplied_type(p.b), Needs};
    }
};
using matmul_cooperative = matmul_matrices<reduced_precision::none>;
using matmul_bf16_3x = matmul_matrices<reduced_precision::bf16_3x>;
using matmul_f16_accumulation = matmul_matrices<reduced_precision::f16_accumulation>;

/// The same, of factors that begin or end anywhere in memory, which are copied to whole tiles
/// first.
struct matmul_packed {
    using problem_type = matmul_problem;
    static constexpr std::string_view name = "matmul/packed";
    static constexpr bool portable = false;

    static support supports(const matmul_problem& asked, const device_info& device) {
        if (support s = detail::supports_programs({&asked.a, &asked.b, &asked.epilogue}, device);
            !s.yes)
            return s;
        const detail::product p = detail::product_of(asked);
        const detail::fragments_or_reason of = halves_for(asked, p);
        if (!of.kind) return of.none;
        support s = detail::supports_fragments(*of.kind, device);
        if (!s.yes) return s;
        if (!detail::is_ragged(p, p.left, p.m) && !detail::is_ragged(p, p.right, p.n))
            return support::no("tiles read the factors as they lie");
        const detail::packed_product packed(p);
        s = detail::supports_matrices(packed.of, *of.kind, device);
        for (configuration& way : s.ways)
            way.seconds += packed.left.seconds(device) + packed.right.seconds(device);
        return s;
    }
    /// The product of the packed copies.
    static launch make(const matmul_problem& asked, const device_info& device,
                       const configuration& way) {
        const detail::product p = detail::product_of(asked);
        const detail::product copies = detail::packed_product(p).of;
        return detail::staged_launch(copies,
                                     detail::matrix_core(copies, *halves_for(asked, copies).kind,
                                                         way, device),
                                     device, detail::is_wide(copies));
    }
    static array_list<launch> make_all(const matmul_problem& asked, const device_info& device,
                                       const configuration& way) {
        const detail::product p = detail::product_of(asked);
        const detail::packed_product packed(p);
        const bool wide = detail::is_wide(p) || detail::is_wide(packed.of);
        return {packed.left.make(device, wide), packed.right.make(device, wide),
                make(asked, device, way)};
    }
    static std::int64_t scratch(const matmul_problem& asked, const device_info&,
                                const configuration&) {
        const detail::product p = detail::product_of(asked);
        return detail::packed_product(p).bytes();
    }

private:
    static detail::fragments_or_reason halves_for(const matmul_problem& asked,
                                                  const detail::product& p) {
        return {p, detail::multiplied_type(asked.a), detail::multiplied_type(asked.b),
                reduced_precision::none};
    }
};

/// Few rows or columns, or few sums, by plain arithmetic: work for a whole device where tiles leave
/// it idle.
struct matmul_split_k {
    using problem_type = matmul_problem;
    static constexpr std::string_view name = "matmul/split_k";
    static constexpr bool portable = false;

    static support supports(const matmul_problem& asked, const device_info& device) {
        if (support s = detail::supports_arithmetic(asked, device); !s.yes) return s;
        return detail::supports_split_k(detail::split_k_product_of(asked), device);
    }
    static launch make(const matmul_problem& asked, const device_info& device,
                       const configuration& way) {
        const detail::product p = detail::split_k_product_of(asked);
        return detail::split_k_launch(p, device, detail::is_wide(p), way);
    }
    static std::int64_t scratch(const matmul_problem& asked, const device_info&,
                                const configuration& way) {
        return detail::split_k_scratch(detail::split_k_product_of(asked), way);
    }
};

static_assert(kernel_type<matmul_tiled> && kernel_type<matmul_split_k> &&
              kernel_type<matmul_cooperative> && kernel_type<matmul_packed> &&
              kernel_type<matmul_bf16_3x> && kernel_type<matmul_f16_accumulation>);

}}  // namespace pumice::PUMICE_ABI
