// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Running sums and products on the host, of any type: along the axis, or along a kept one where
// neighbours lie closer; lines are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/base/wide.hpp>
#include <pumice/host/accumulate.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/scan.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// out[i] = so_far[i * step] joined with v[i]; a step of 0 is one line, of 1 neighbouring lines.
template <class State, class T, class Result>
struct join_running {
    [[gnu::always_inline]] void operator()(bool product, const void* values, std::int64_t n,
                                           State* so_far, std::int64_t step, void* to) const {
        const auto* v = static_cast<const T*>(values);
        auto* out = static_cast<Result*>(to);
        if (step == 0) {
            State r = *so_far;
            if (product)
                for (std::int64_t i = 0; i < n; ++i)
                    out[i] =
                        static_cast<Result>(r = static_cast<State>(r * static_cast<State>(v[i])));
            else
                for (std::int64_t i = 0; i < n; ++i)
                    out[i] =
                        static_cast<Result>(r = static_cast<State>(r + static_cast<State>(v[i])));
            *so_far = r;
            return;
        }
        for (std::int64_t i = 0; i < n; ++i) {
            const auto x = static_cast<State>(v[i]);
            so_far[i] = static_cast<State>(product ? so_far[i] * x : so_far[i] + x);
            out[i] = static_cast<Result>(so_far[i]);
        }
    }
};

class host_scan {
public:
    static constexpr std::int64_t block = host_program::block;

    host_scan(const scan_problem& asked, const host_buffers& buffers)
        : p_(asked), buffers_(buffers), type_(asked.prologue.type()) {
        if (p_.outer.empty()) return;
        const int last = p_.outer.rank() - 1;
        const std::int64_t kept = p_.outer.back();
        across_ = std::min(kept, p_.length) < block / 4
                      ? kept > p_.length
                      : spacing_along(p_.prologue, last) < spacing_along(p_.prologue, last + 1);
        if (!across_) return;
        for (fused* f : {&p_.prologue, &p_.epilogue})
            for (operand* o : operands_of(*f)) {
                o->steps.push_back(o->steps[last]);
                o->steps.erase(last);
            }
    }

    void run(const thread_pool& threads) {
        with_host_arithmetic(info(type_).arithmetic, [&]<class H>(H) {
            if constexpr (!std::is_same_v<H, bool>) lines<typename number_of<H>::type>(threads);
        });
    }

private:
    template <class T>
    void lines(const thread_pool& threads) {
        constexpr bool real = std::is_floating_point_v<T>;
        using result = std::conditional_t<real, double, T>;
        // Sums of f32 are kept in double, of f64 in long double; integers wrap.
        using state = typename std::conditional_t<
            real, std::conditional<std::is_same_v<T, float>, double, long double>,
            std::make_unsigned<T>>::type;
        const bool product = p_.what == reduction::prod;
        const dtype given = real ? dtype::f64 : computed_as(type_);
        shape outer = p_.outer;
        if (across_) outer.erase(outer.rank() - 1);
        const std::int64_t kept = across_ ? p_.outer.back() : 1, tile = std::min(kept, block),
                           tiles = (kept + tile - 1) / tile, cells = element_count(outer) * tiles,
                           longest = std::max(p_.length, p_.count),
                           share = std::max<std::int64_t>(1, thread_part / (tile * longest)),
                           parts = (cells + share - 1) / share;
        threads.run(parts, parts_for_a_thread(share * tile * longest), [&](std::int64_t part) {
            host_rows values(p_.prologue, buffers_), out(p_.epilogue, buffers_);
            result results[block];
            const auto write = [&](const index_list& at, std::int64_t n) {
                if (!is_floating(type_)) settle_block(type_, results, n);
                out.write(at, given, reinterpret_cast<const std::byte*>(results), n);
            };
            for (std::int64_t c = part * share; c < std::min(cells, (part + 1) * share); ++c) {
                index_list at = outer;
                std::int64_t row = c / tiles;
                for (int d = at.rank() - 1; d >= 0; row /= outer[d], --d) at[d] = row % outer[d];
                const std::int64_t begin = c % tiles * tile, n = std::min(tile, kept - begin);
                state so_far[block];
                std::fill(so_far, so_far + n, static_cast<state>(product ? 1 : 0));
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
                    if (j >= 0 && j < p_.length) {
                        at[axis] = across_ ? j : 0;
                        const void* const v =
                            values.values(at, across_ ? begin : j, across_ ? n : m);
                        run_wide(join_running<state, T, result>{}, product, v, across_ ? n : m,
                                 so_far, std::int64_t{across_}, static_cast<void*>(results));
                    } else {
                        for (std::int64_t k = 0; k < (across_ ? n : m); ++k)
                            results[k] = static_cast<result>(so_far[across_ ? k : 0]);
                    }
                    at[axis] = i;
                    if (across_) at[last] = begin;
                    write(at, across_ ? n : m);
                    if (across_) at[last] = 0;
                    i += m;
                }
            }
        });
    }

    scan_problem p_;
    const host_buffers& buffers_;
    dtype type_;
    bool across_ = false;  // blocks go along the innermost kept axis
};

inline void scan_lines(const scan_problem& p, const host_buffers& buffers,
                       const thread_pool& threads) {
    host_scan(p, buffers).run(threads);
}

}  // namespace detail

inline void find_loop(const scan_problem& p, const host_buffers& buffers, host_loop& out) {
    if (p.prologue.type() == dtype::boolean || element_count(p.outer) == 0 || p.count == 0 ||
        p.outer.rank() == max_rank)
        return;
    out.solve<detail::scan_lines>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
