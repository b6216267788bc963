// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small reductions and softmax of dense floats, run as they are: a plan would cost more.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/host_normalize.hpp>
#include <pumice/exec/host_reduce.hpp>
#include <pumice/graph/node.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A loop over a dense array of floats, seen as rows that are each reduced or normalised; in
/// row-major order.
class host_alone {
public:
    using loop = void(const void* op, bool down, const float* in, std::int64_t rows,
                      std::int64_t length, float* out);

    host_alone() = default;
    /// What `op` makes of `from`; nothing where the host has no loop for it, or it is a job for
    /// threads.
    host_alone(const operation& op, const node& from) {
        if (from.type == dtype::f32 && from.row_major()) op.find_alone(from, *this);
    }

    explicit operator bool() const noexcept { return run_; }
    std::int64_t count() const noexcept { return rows_ * length_; }

    void run(const std::byte* from, std::byte* to) const {
        run_(op_, down_, reinterpret_cast<const float*>(from), rows_, length_,
             reinterpret_cast<float*>(to));
    }

    /// Takes a loop over the axes, which are the last or, `down`, the first, of at most so many
    /// elements.
    void take(loop* how, const void* op, const array_list<int>& axes, const shape& extent,
              std::int64_t most) noexcept {
        const int rank = extent.rank(), count = static_cast<int>(axes.size());
        if (count == 0) return;
        down_ = axes[0] != rank - count;  // ascending: no gap behind the first
        if (down_ && axes.back() != count - 1) return;
        std::int64_t first = 1, last = 1;
        const int cut = down_ ? count : rank - count;
        for (int i = 0; i < cut; ++i) first *= extent[i];
        for (int i = cut; i < rank; ++i) last *= extent[i];
        if (first * last == 0 || first * last > most) return;
        rows_ = down_ ? last : first;
        length_ = down_ ? first : last;
        op_ = op;
        run_ = how;
    }

private:
    const void* op_ = nullptr;
    loop* run_ = nullptr;
    bool down_ = false;
    std::int64_t rows_ = 1, length_ = 1;
};

template <class Op>
void find_alone(const Op& op, const node& from, host_alone& out) {
    if constexpr (std::is_same_v<Op, reduce_op>) {
        if (!detail::reduces_fast(op.what)) return;
        out.take(
            [](const void* r, bool down, const float* in, std::int64_t rows, std::int64_t length,
               float* to) {
                detail::reduce_dense(static_cast<const reduce_op*>(r)->what, down, in, rows, length,
                                     to);
            },
            &op, op.axes, from.extent, least_part);
    } else if constexpr (std::is_same_v<Op, normalize_op>) {
        const int rank = from.extent.rank();
        if (op.what > normalization::log_softmax || op.axes.empty() ||
            op.axes[0] != rank - static_cast<int>(op.axes.size()))
            return;
        out.take(
            [](const void* s, bool, const float* in, std::int64_t rows, std::int64_t length,
               float* to) {
                const bool logarithm =
                    static_cast<const normalize_op*>(s)->what == normalization::log_softmax;
                for (std::int64_t i = 0; i < rows; ++i)
                    detail::softmax_floats(logarithm, in + i * length, length, to + i * length);
            },
            &op, op.axes, from.extent, least_part / 8);
    }
}

}}  // namespace pumice::PUMICE_ABI
