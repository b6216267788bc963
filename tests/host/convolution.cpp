// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of any type, pads, strides and dilations against the problem's reference.
#include <pumice/host/convolution.hpp>

#include "windows.hpp"

#include <doctest/doctest.h>

using namespace host_test;

TEST_CASE("host convolution: convolutions as the reference") {
    for (const window& w : windows)
        for (const pm::dtype type : number_types)
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
