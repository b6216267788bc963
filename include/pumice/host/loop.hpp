// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A loop of the host's own, bound to what it computes and to operands as they lie in memory: the
// answer of `find_loop`, of an op as of a problem. Loops and references are templates of their
// problem or op, so that a file without such ops instantiates nothing of them.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/host/memory.hpp>
#include <pumice/kernels/reference.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What an op is computed from, and how its result is to lie.
struct host_operands {
    span<const node_ptr> inputs;  // realised, in memory of the host's
    span<const scalar> scalars;   // of an elementwise op that has none of its own
    dtype type;                   // of the result
    const shape& extent;
    std::int64_t count;               // of the result's elements
    const strides* layout = nullptr;  // row-major where null
    bool multiplied = false;          // a reduction reads the products of two inputs
};

/// None until a loop is bound; what it is bound to must outlive it.
struct host_loop {
    /// `to` is where an op's result begins; a problem's outputs are among its buffers.
    using function = void(const host_loop& bound, std::byte* to, const thread_pool& threads);

    function* loop = nullptr;
    /// One call over what lies dense, through `count` elements; else it is cut among threads, and
    /// brings operands by way of dense blocks.
    bool dense = false;

    // Where there is a loop:
    const void* what;      // the op or problem
    const void* operands;  // host_operands or host_buffers
    std::int64_t count;
    const void* from[max_leaves];  // where operands begin that lie dense
    bool down;                     // see take_rows
    std::int64_t rows, length;     // as many rows as results, where rows are joined

    host_loop() noexcept {}  // the nanoseconds of zeros count

    explicit operator bool() const noexcept { return loop; }
    void run(std::byte* to, const thread_pool& threads) const { loop(*this, to, threads); }

    /// Binds a function of a problem's and its buffers.
    template <auto Solve, class Problem>
    void solve(const Problem& p, const host_buffers& buffers) noexcept {
        what = &p;
        operands = &buffers;
        loop = [](const host_loop& bound, std::byte*, const thread_pool& threads) {
            Solve(*static_cast<const Problem*>(bound.what),
                  *static_cast<const host_buffers*>(bound.operands), threads);
        };
    }

    /// Binds a function of an op's to what lies dense, seen as rows of `length` along the axes,
    /// which are the last or, `down`, the first. None where they are neither, and of more than
    /// `most` elements, which are a job for threads. `joined`: a row gives one element.
    template <class Op>
    void take_rows(const Op& op, const host_operands& given, bool joined, std::int64_t most,
                   function* how) noexcept {
        const node& in = *given.inputs[0];
        const int rank = in.extent.rank(), reduced = static_cast<int>(op.axes.size());
        if (given.layout || !in.row_major() || reduced == 0) return;
        down = op.axes[0] != rank - reduced;  // ascending: no gap behind the first
        if (down && op.axes.back() != reduced - 1) return;
        std::int64_t n = 1;
        for (const int axis : op.axes) n *= in.extent[axis];
        count = joined ? given.count * n : given.count;
        if (count == 0 || count > most) return;
        rows = given.count;
        length = n;
        dense = true;
        from[0] = first_value(in);
        what = &op;
        operands = &given;
        loop = how;
    }
};

}}  // namespace pumice::PUMICE_ABI
