// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Affine maps from the coordinates of a kernel's domain to the indices of a node; views compose.
#pragma once

#include <pumice/graph/fused.hpp>
#include <pumice/graph/node.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// index[a] = start[a] + sum over d of step[a][d] * coordinate[d].
struct affine {
    int axes = 0, coordinates = 0;
    std::int64_t start[max_rank] = {};
    std::int64_t step[max_rank][max_rank] = {};

    static affine identity(int rank) {
        affine m;
        m.axes = m.coordinates = rank;
        for (int i = 0; i < rank; ++i) m.step[i][i] = 1;
        return m;
    }
    friend bool operator==(const affine& a, const affine& b) noexcept {
        if (a.axes != b.axes || a.coordinates != b.coordinates) return false;
        for (int i = 0; i < a.axes; ++i) {
            if (a.start[i] != b.start[i]) return false;
            for (int d = 0; d < a.coordinates; ++d)
                if (a.step[i][d] != b.step[i][d]) return false;
        }
        return true;
    }

    /// The indices of an operand of extent `to` that is broadcast against extent `from` (this
    /// map's).
    affine broadcast_to(const shape& from, const shape& to) const {
        affine m;
        m.axes = to.rank();
        m.coordinates = coordinates;
        for (int i = 0; i < m.axes; ++i) {
            const int a = i + from.rank() - to.rank();
            if (to[i] == 1 && from[a] != 1) continue;  // repeated: the only index is 0
            m.start[i] = start[a];
            for (int d = 0; d < coordinates; ++d) m.step[i][d] = step[a][d];
        }
        return m;
    }

    /// The indices of a node of extent `to`, which has axes of one element more or less than `from`
    /// (this map's).
    affine but_for_unit_axes(const shape& from, const shape& to) const {
        affine m;
        m.axes = to.rank();
        m.coordinates = coordinates;
        for (int i = 0, a = 0; i < m.axes; ++i) {
            if (to[i] == 1) continue;
            while (from[a] == 1) ++a;
            m.start[i] = start[a];
            for (int d = 0; d < coordinates; ++d) m.step[i][d] = step[a][d];
            ++a;
        }
        return m;
    }

    /// The indices of the view's input, where this map gives the indices of the view.
    affine through(const view_op& v) const {
        affine m;
        m.axes = v.start.rank();
        m.coordinates = coordinates;
        for (int i = 0; i < m.axes; ++i) m.start[i] = v.start[i];
        for (int o = 0; o < axes; ++o) {
            const auto a = static_cast<int>(v.source[o]);
            if (a < 0) continue;
            m.start[a] += v.step[o] * start[o];
            for (int d = 0; d < coordinates; ++d) m.step[a][d] += v.step[o] * step[o][d];
        }
        return m;
    }

    /// Keeps the node's axes as coordinates in the order (kept first, then the others): how a
    /// reduction reads.
    static affine picking(const index_list& order) {
        affine m;
        m.axes = m.coordinates = order.rank();
        for (int c = 0; c < order.rank(); ++c) m.step[order[c]][c] = 1;
        return m;
    }

    /// Offset and strides over the coordinates of memory with these strides.
    void locate(const strides& layout, operand& out) const {
        out.steps = strides::filled(coordinates, 0);
        for (int a = 0; a < axes; ++a) {
            out.offset += layout[a] * start[a];
            for (int d = 0; d < coordinates; ++d) out.steps[d] += layout[a] * step[a][d];
        }
    }
};

}}  // namespace pumice::PUMICE_ABI
