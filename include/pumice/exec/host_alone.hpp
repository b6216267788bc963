// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small reductions and softmax of dense floats, run as they are: a plan would cost more.
#pragma once

#include <pumice/exec/host_normalize.hpp>
#include <pumice/exec/host_reduce.hpp>
#include <pumice/graph/node.hpp>

#include <algorithm>

namespace pumice::inline PUMICE_ABI {

class host_alone {
public:
    host_alone() = default;
    /// What `op` makes of `from`, where that has no more than `most` elements, in row-major order.
    host_alone(const operation& op, const node& from,
               std::int64_t most = std::numeric_limits<std::int64_t>::max()) noexcept {
        const auto* r = op.get_if<reduce_op>();
        const auto* s = op.get_if<normalize_op>();
        if ((!r && !s) || from.type != dtype::f32 || !from.row_major()) return;
        std::int64_t rows = 1, length = 1;
        const std::vector<int>& axes = r ? r->axes : s->axes;
        const int rank = from.extent.rank(), count = static_cast<int>(axes.size());
        const bool last =
            count > 0 && axes[0] == rank - count;  // ascending: no gap behind the first
        const bool first = count > 0 && axes.back() == count - 1;
        if (!last && !first) return;
        for (int i = 0; i < rank; ++i)
            ((last ? i >= rank - count : i < count) ? length : rows) *= from.extent[i];
        // Where there are more than a part, threads share the work.
        const std::int64_t part = std::min(most, r ? least_part : least_part / 8);
        if (rows * length == 0 || rows * length > part) return;
        if (r && detail::reduces_fast(r->what)) reduces_ = r;
        if (s && s->what <= normalization::log_softmax && last) normalizes_ = s;
        down_ = !last;
        rows_ = rows;
        length_ = length;
    }

    explicit operator bool() const noexcept { return reduces_ || normalizes_; }

    void run(const std::byte* from, std::byte* to) const {
        const auto* in = reinterpret_cast<const float*>(from);
        auto* out = reinterpret_cast<float*>(to);
        if (reduces_) return detail::reduce_dense(reduces_->what, down_, in, rows_, length_, out);
        const bool logarithm = normalizes_->what == normalization::log_softmax;
        for (std::int64_t i = 0; i < rows_; ++i)
            detail::softmax_floats(logarithm, in + i * length_, length_, out + i * length_);
    }

private:
    const reduce_op* reduces_ = nullptr;
    const normalize_op* normalizes_ = nullptr;
    bool down_ = false;
    std::int64_t rows_ = 0, length_ = 0;
};

}  // namespace pumice::inline PUMICE_ABI
