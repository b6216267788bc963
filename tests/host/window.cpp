// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pools and convolutions of any type, pads, strides and dilations against the problem's reference.
#include <pumice/host/window.hpp>

#include "programs.hpp"

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

using host_test::same_as_reference;

struct window {
    std::int64_t in[2];
    int taps[2], stride[2], dilation[2], begin[2], end[2];
};
const window windows[] = {{{9, 70}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
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

const pm::dtype types[] = {pm::dtype::u8,  pm::dtype::i32, pm::dtype::u32, pm::dtype::i64,
                           pm::dtype::u64, pm::dtype::f16, pm::dtype::f32, pm::dtype::f64};

}  // namespace

TEST_CASE("host window: pools as the reference") {
    for (const window& w : windows)
        for (const pm::dtype type : types)
            for (const bool average : {false, true}) {
                if (average && !pm::is_floating(type)) continue;
                pm::pool_problem p;
                p.batch = 2, p.channels = 3;
                p.shape_of.what = average ? pm::pooling::average : pm::pooling::max;
                p.shape_of.count_include_pad = w.begin[0] > 1;
                for (int i = 0; i < 2; ++i) p.shape_of.window[i] = w.taps[i];
                shape_like(w, p.shape_of, p);
                p.input = host_test::reading(0, type, {2, 3, w.in[0], w.in[1]}, w.stride[0] == 2);
                p.epilogue = host_test::storing(1, type, {2, 3, p.out_size[0], p.out_size[1]});
                CHECK(same_as_reference(p));
            }
}

TEST_CASE("host window: convolutions as the reference") {
    for (const window& w : windows)
        for (const pm::dtype type : types)
            for (const int groups : {1, 2}) {
                pm::conv_problem p;
                p.batch = 2, p.in_channels = 4, p.out_channels = 6;
                p.shape_of.group = groups;
                for (int i = 0; i < 2; ++i) p.window[i] = w.taps[i];
                shape_like(w, p.shape_of, p);
                p.input = host_test::reading(0, type, {2, 4, w.in[0], w.in[1]}, false);
                p.weight = host_test::reading(1, type, {6, 4 / groups, w.taps[0], w.taps[1]}, true);
                p.epilogue = host_test::storing(2, type, {2, 6, p.out_size[0], p.out_size[1]});
                CHECK(same_as_reference(p));
            }
}
