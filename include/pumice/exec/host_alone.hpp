// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small reductions and softmax of dense floats, run from the node itself: a plan would cost more.
#pragma once

#include <pumice/exec/host_normalize.hpp>
#include <pumice/exec/host_reduce.hpp>
#include <pumice/graph/node.hpp>

#include <algorithm>

namespace pumice::inline PUMICE_ABI {

class host_alone {
public:
    explicit host_alone(const node& n) noexcept {
        const auto* r = n.op.get_if<reduce_op>();
        const auto* s = n.op.get_if<normalize_op>();
        if (!r && !s) return;
        const node& from = *n.inputs[0];
        if (from.type != dtype::f32 || n.type != dtype::f32 || !from.row_major() || !n.row_major())
            return;
        std::int64_t rows = 1, length = 1;
        const std::vector<int>& axes = r ? r->axes : s->axes;
        const int rank = from.extent.rank(), count = static_cast<int>(axes.size());
        const bool last =
            count > 0 && axes[0] == rank - count;  // ascending: no gap behind the first
        const bool first = count > 0 && axes.back() == count - 1;
        for (int i = 0; i < rank; ++i)
            (std::binary_search(axes.begin(), axes.end(), i) ? length : rows) *= from.extent[i];
        // Where there are more, threads share the work.
        if (rows * length == 0 || rows * length > (r ? least_part : least_part / 8)) return;
        if (r && detail::reduces_fast(r->what) && (last || first)) reduces_ = r;
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
