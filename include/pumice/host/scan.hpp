// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Running sums and products on the host, of any type: along the axis, or along the innermost kept
// one where neighbours lie closer, or the longest where both are short; lines are shared among
// threads.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/base/wide.hpp>
#include <pumice/host/accumulate.hpp>
#include <pumice/host/joins.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/scan.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

// What is kept of a line: sums of f32 in double, of f64 with what each addition lost, products of
// reals wider; integers wrap.

template <class T>
struct running_sum {
    using held =
        typename std::conditional_t<std::is_floating_point_v<T>, std::type_identity<double>,
                                    std::make_unsigned<T>>::type;
    held sum = 0;
    [[gnu::always_inline]] void join(T v) { sum = static_cast<held>(sum + static_cast<held>(v)); }
    [[gnu::always_inline]] T get() const { return static_cast<T>(sum); }
};
template <>
struct running_sum<double> {
    double sum = 0, lost = 0;
    [[gnu::always_inline]] void join(double v) { joined_sum<double, as_it_is>::add(sum, lost, v); }
    [[gnu::always_inline]] double get() const {
        return joined_sum<double, as_it_is>::total(sum, lost);
    }
    /// out[i] = the sum up to v[i], as long as no sum is infinite, which `lost` shows for good. One
    /// addition waits for the other: while what one stretch lost is added up, so is the next
    /// stretch, and what each addition lost is found by vectors.
    [[gnu::always_inline]] void join_finite(const double* v, std::int64_t n, double* out) {
        constexpr std::int64_t stretch = 64;
        double sums[2][stretch + 1], each[stretch];
        double *now = sums[0], *next = sums[1];
        const auto add = [](double& total, double more) { return total += more; };
        if (n >= stretch) {
            now[0] = sum;
            for (std::int64_t i = 0; i < stretch; ++i) now[i + 1] = add(sum, v[i]);
        }
        for (; n >= stretch; n -= stretch, v += stretch, out += stretch) {
            lost_of(now, v, each, stretch);
            if (n < 2 * stretch) {
                for (std::int64_t i = 0; i < stretch; ++i) out[i] = now[i + 1] + add(lost, each[i]);
            } else {
                next[0] = sum;
                for (std::int64_t i = 0; i < stretch; ++i) {
                    out[i] = now[i + 1] + add(lost, each[i]);
                    next[i + 1] = add(sum, v[stretch + i]);
                }
            }
            std::swap(now, next);
        }
        for (std::int64_t i = 0; i < n; ++i) {
            join(v[i]);
            out[i] = sum + lost;
        }
    }
    [[gnu::always_inline]] bool is_finite() const { return lost == lost; }

private:
    /// What the additions of v[i] to sums[i] lost, which gave sums[i + 1].
    [[gnu::always_inline]] static void lost_of(const double* sums, const double* v,
                                               double* __restrict each, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
            const double part = sums[i + 1] - sums[i];
            each[i] = (sums[i] - (sums[i + 1] - part)) + (v[i] - part);
        }
    }
};
template <class T>
struct running_product {
    using held =
        typename std::conditional_t<std::is_floating_point_v<T>,
                                    std::conditional<std::is_same_v<T, float>, double, long double>,
                                    std::make_unsigned<T>>::type;
    held product = 1;
    [[gnu::always_inline]] void join(T v) {
        product = static_cast<held>(product * static_cast<held>(v));
    }
    [[gnu::always_inline]] T get() const { return static_cast<T>(product); }
};

/// out[i] = so_far[i * step] joined with v[i]; a step of 0 is one line, of 1 neighbouring lines.
template <class State, class T>
struct join_running {
    [[gnu::always_inline]] void operator()(const void* values, std::int64_t n, State* so_far,
                                           std::int64_t step, T* out) const {
        const auto* v = static_cast<const T*>(values);
        if (step == 0) {
            State r = *so_far;
            if constexpr (requires { r.is_finite(); })
                if (out != v) {  // else what is read again would be gone
                    r.join_finite(v, n, out);
                    if (r.is_finite()) return void(*so_far = r);
                    r = *so_far;
                }
#pragma GCC unroll 4  // one addition after the other takes less than to count
            for (std::int64_t i = 0; i < n; ++i) {
                r.join(v[i]);
                out[i] = r.get();
            }
            *so_far = r;
            return;
        }
        for (std::int64_t i = 0; i < n; ++i) {
            so_far[i].join(v[i]);
            out[i] = so_far[i].get();
        }
    }
};

template <std::same_as<scan_problem> P>
class host_scan {
public:
    static constexpr std::int64_t block = host_program::block;

    host_scan(const P& asked, const host_buffers& buffers)
        : p_(asked), buffers_(buffers), type_(asked.prologue.type()) {
        if (p_.outer.empty()) return;
        const int last = p_.outer.rank() - 1;
        const array_list<operand*> operands = operands_of(p_.prologue, p_.epilogue);
        if (std::max(p_.outer.back(), p_.count) < short_line)
            near_ = put_longest_last(p_.outer, 0, operands);
        const std::int64_t kept = p_.outer.back();
        across_ = std::min(kept, p_.length) < short_line
                      ? kept > p_.length
                      : spacing_along(p_.prologue, last) < spacing_along(p_.prologue, last + 1);
        if (!across_) return;
        for (operand* o : operands) {
            o->steps.push_back(o->steps[last]);
            o->steps.erase(last);
        }
    }

    void run(const thread_pool& threads) {
        with_host_arithmetic(info(type_).arithmetic, [&]<class H>(H) {
            using number = typename number_of<H>::type;
            if constexpr (!std::is_same_v<H, bool>) {
                if (p_.what == reduction::prod) lines<number, running_product<number>>(threads);
                else lines<number, running_sum<number>>(threads);
            }
        });
    }

private:
    template <class T, class State>
    void lines(const thread_pool& threads) {
        // What is stored as it is given wraps there.
        const bool computes = p_.epilogue.body->view().code.size() > 1;
        shape outer = p_.outer;
        if (across_) outer.erase(outer.rank() - 1);
        const std::int64_t kept = across_ ? p_.outer.back() : 1,
                           tile = std::min(kept, width_of_lines(near_, p_.count)),
                           tiles = (kept + tile - 1) / tile, cells = element_count(outer) * tiles,
                           longest = std::max(p_.length, p_.count),
                           share = std::max<std::int64_t>(1, thread_part / (tile * longest)),
                           parts = (cells + share - 1) / share;
        threads.run(parts, parts_for_a_thread(share * tile * longest), [&](std::int64_t part) {
            host_rows values(p_.prologue, buffers_);
            number_results<T> out(p_.epilogue, buffers_);
            array_list<State> so_far(static_cast<std::size_t>(tile));
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                index_list at = outer;
                std::int64_t row = c / near_ / tiles * near_ + c % near_;
                for (int d = at.rank() - 1; d >= 0; row /= outer[d], --d) at[d] = row % outer[d];
                const std::int64_t begin = c / near_ % tiles * tile,
                                   n = std::min(tile, kept - begin);
                std::fill(so_far.begin(), so_far.end(), State());
                if (across_) at.push_back(0);
                at.push_back(0);
                const int last = at.rank() - 1, axis = across_ ? last - 1 : last;
                const std::int64_t step = across_ ? 1 : block;
                for (std::int64_t i = 0; i < p_.count;) {
                    const std::int64_t j = i - p_.lead,
                                       end = j < 0           ? p_.lead
                                             : j < p_.length ? p_.length + p_.lead
                                                             : p_.count,
                                       m = std::min({step, end - i, p_.count - i});
                    const std::int64_t count = across_ ? n : m;
                    const void* v = nullptr;
                    if (j >= 0 && j < p_.length) {
                        at[axis] = across_ ? j : 0;
                        v = values.values(at, across_ ? begin : j, count);
                    }
                    at[axis] = i;
                    if (across_) at[last] = begin;
                    T* const results = out.place(at, count);
                    if (v)
                        run_wide(join_running<State, T>{}, v, count, so_far.data(),
                                 std::int64_t{across_}, results);
                    else
                        for (std::int64_t k = 0; k < count; ++k)
                            results[k] = so_far[static_cast<std::size_t>(across_ ? k : 0)].get();
                    if (!is_floating(type_) && computes) settle_block(type_, results, count);
                    out.write(at, count, results);
                    if (across_) at[last] = 0;
                    i += m;
                }
            }
        });
    }

    P p_;
    const host_buffers& buffers_;
    dtype type_;
    bool across_ = false;    // blocks go along the innermost kept axis
    std::int64_t near_ = 1;  // see put_longest_last
};

template <std::same_as<scan_problem> P>
void scan_lines(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    host_scan(p, buffers).run(threads);
}

/// Rows that lie dense, a block at a time.
template <class T, class State>
void scan_rows(const host_loop& bound, dtype type, std::byte* to) {
    constexpr std::int64_t block = host_block_size;
    dense_numbers values(type, bound.from[0]);
    const bool in_place = values.in_place();
    for (std::int64_t row = 0; row < bound.rows; ++row) {
        State so_far;
        for (std::int64_t i = 0; i < bound.length; i += block) {
            const std::int64_t n = std::min(block, bound.length - i), at = row * bound.length + i;
            T room[block];
            T* const out = in_place ? reinterpret_cast<T*>(to + byte_offset(type, at)) : room + 0;
            run_wide(join_running<State, T>{}, values.read(at, n), n, &so_far, std::int64_t{0},
                     out);
            if (!in_place) exchange(type, false, to, at, 1, room, n);
        }
    }
}
template <std::same_as<scan_op> Op>
void scan_dense(const host_loop& bound, std::byte* to, const thread_pool&) {
    const dtype type = static_cast<const host_operands*>(bound.operands)->type;
    const bool adds = static_cast<const Op*>(bound.what)->what == reduction::sum;
    with_host_arithmetic(info(type).arithmetic, [&]<class H>(H) {
        using number = typename number_of<H>::type;
        if constexpr (!std::is_same_v<H, bool>) {
            if (adds) scan_rows<number, running_sum<number>>(bound, type, to);
            else scan_rows<number, running_product<number>>(bound, type, to);
        }
    });
}
/// Of little that lies dense, along the last axis.
template <std::same_as<scan_op> Op>
void bind_loop(const Op& op, const host_operands& given, host_loop& out) {
    const node& in = *given.inputs[0];
    if (op.leads || op.reverse || given.layout || !in.row_major() || is_packed(given.type) ||
        given.count == 0 || given.count > least_part || op.axis + 1 != in.extent.rank())
        return;
    out.what = &op;
    out.operands = &given;
    out.loop = scan_dense<Op>;
    out.dense = true;
    out.count = given.count;
    out.length = in.extent.back();
    out.rows = given.count / out.length;
    out.from[0] = first_value(in);
}

}  // namespace detail

template <std::same_as<scan_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (p.prologue.type() == dtype::boolean || element_count(p.outer) == 0 || p.count == 0 ||
        p.outer.rank() == max_rank)
        return;
    out.solve<detail::scan_lines<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
