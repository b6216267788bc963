// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The product that matrix products and convolutions come to, as its kernels see it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/seconds.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// epilogue(sum over k of left * right): matrix product or convolution, as the staged loop sees it.
struct product {
    shape batch;  // at least one axis
    std::int64_t m = 0, n = 0, k = 0;
    shape columns, depth;  // the axes that n and k stand for, one at least
    fused left, right;     // over batch ++ {m} ++ depth, batch ++ {n} ++ depth
    fused epilogue;        // over batch ++ {m} ++ columns
    arithmetic sum = arithmetic::f32;
    shape image = {};           // of the factor whose rows are windows: what it is over; else empty
    bool windows_left = false;  // whether that factor is the left one
    double window_work = 160;   // plain operations for an element of a window
    bool padded = false;        // the factors go on in memory to multiples of `side`
    std::int64_t scratch = 0;   // bytes that the factors have of the launches' scratch, if any

    static constexpr std::int64_t side = 128;  // a multiple of every tile's sides
    static constexpr std::int64_t up(std::int64_t n) noexcept {
        return (n + side - 1) / side * side;
    }
    /// Rows of a factor that may be read, of those that count.
    std::int64_t readable(std::int64_t rows) const noexcept { return padded ? up(rows) : rows; }
    bool gathers() const noexcept { return !image.empty(); }
};

inline shape operator+(shape a, const shape& b) {
    for (std::int64_t d : b) a.push_back(d);
    return a;
}
inline shape operator+(shape a, std::int64_t d) {
    a.push_back(d);
    return a;
}

/// A program that hands on its only operand.
inline fused leaf_program(const operand& o) {
    auto read = std::make_shared<program>();
    read->outputs.push_back(read->push({instruction::code::leaf, o.type}));
    fused f;
    f.body = std::move(read);
    f.leaves.push_back(o);
    return f;
}

/// Whether a program's operands over `domain` need 64-bit indices.
inline bool is_wide(fused f, const shape& domain) {
    array_list<operand> all;
    for (const operand* o : operands_of(f)) all.push_back(*o);
    return needs_wide_index(all, domain);
}
inline shape left_domain(const product& p) {
    return p.windows_left ? p.image : p.batch + p.m + p.depth;
}
inline shape right_domain(const product& p) {
    return p.gathers() && !p.windows_left ? p.image : p.batch + p.n + p.depth;
}
inline bool is_wide(const product& p) {
    return std::max({p.m, p.n, p.k}) > (1 << 30) || is_wide(p.left, left_domain(p)) ||
           is_wide(p.right, right_domain(p)) || is_wide(p.epilogue, p.batch + p.m + p.columns);
}

inline void swap_axes(fused& f, int a, int b) {
    for (operand* o : operands_of(f)) std::swap(o->steps[a], o->steps[b]);
}

/// transpose(a b) = transpose(b) transpose(a). Pre: n stands for one axis.
inline void transpose(product& p) {
    std::swap(p.left, p.right);
    std::swap(p.m, p.n);
    swap_axes(p.epilogue, p.batch.rank(), p.batch.rank() + 1);
    p.columns = {p.n};
    p.windows_left = p.gathers() && !p.windows_left;
}

/// No, naming what the device lacks for one of the programs.
inline support supports_programs(std::initializer_list<const fused*> programs,
                                 const device_info& device) {
    for (const fused* f : programs)
        if (support s = supports_types(*f, device); !s.yes) return s;
    return {};
}

/// No where products of values of types a and b have no type in which they are summed.
inline support supports_sum(dtype a, dtype b) {
    const arithmetic x = info(a).arithmetic;
    if (x == info(b).arithmetic && x != arithmetic::boolean) return {};
    return support::no({"values of ", to_string(a), " and ", to_string(b),
                        " are not summed together"});
}

/// Bytes of both factors and of the results, each once.
inline double bytes_of(const product& p) {
    return bytes_of(p.left, left_domain(p)) + bytes_of(p.right, right_domain(p)) +
           bytes_of(p.epilogue, p.batch + p.m + p.columns);
}

}}}  // namespace pumice::PUMICE_ABI::detail
