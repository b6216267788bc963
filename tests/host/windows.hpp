// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pads, strides and dilations of windows, and the types that they go over.
#pragma once

#include "programs.hpp"

namespace host_test {

struct window {
    std::int64_t in[2];
    int taps[2], stride[2], dilation[2], begin[2], end[2];
};
inline const window windows[] = {{{9, 70}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
                                 {{9, 33}, {3, 5}, {2, 3}, {1, 2}, {1, 4}, {2, 1}},
                                 {{3, 40}, {5, 3}, {1, 1}, {2, 1}, {4, 1}, {4, 1}},
                                 {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 3}, {2, 0}},
                                 {{40, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
                                 {{0, 5}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};

template <class Problem, class Op>
void shape_like(const window& w, Op& op, Problem& p) {
    for (int i = 0; i < 2; ++i) {
        op.stride[i] = w.stride[i];
        op.dilation[i] = w.dilation[i];
        op.pad_begin[i] = w.begin[i];
        op.pad_end[i] = w.end[i];
        p.in_size[i] = w.in[i];
        p.out_size[i] =
            (w.in[i] + w.begin[i] + w.end[i] - (w.taps[i] - 1) * w.dilation[i] - 1) / w.stride[i] +
            1;
    }
}

inline const pm::dtype number_types[] = {pm::dtype::u8,  pm::dtype::i32, pm::dtype::u32,
                                         pm::dtype::i64, pm::dtype::u64, pm::dtype::f16,
                                         pm::dtype::f32, pm::dtype::f64};

}  // namespace host_test
