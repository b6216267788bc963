// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions along their channels: what is copied first, how much memory that takes, and which
// are refused. What they compute: tests/device/conv.cpp.
#include "products.hpp"

#include <pumice/exec/select.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace pumice;
using pumice_test::reads;
using pumice_test::stores;

namespace {

/// Strides of {n, c, y, x} with the channels innermost.
void turn(operand& o, const shape& domain) {
    const strides s = row_major_strides({domain[0], domain[2], domain[3], domain[1]});
    o.steps = {s[0], s[3], s[1], s[2]};
}

struct layout_of {
    bool input, weight, output;  // channels innermost
};

conv_problem convolution(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t window,
                         layout_of last = {}, dtype t = dtype::f16) {
    conv_problem p;
    p.batch = 8, p.in_channels = in, p.out_channels = out;
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = p.out_size[i] = size;
        p.window[i] = window;
        p.shape_of.pad_begin[i] = p.shape_of.pad_end[i] = static_cast<int>(window / 2);
    }
    const shape input{8, in, size, size}, weight{out, in, window, window},
        output{8, out, size, size};
    p.input = reads(t, input, 0);
    p.weight = reads(t, weight, 1);
    p.epilogue = stores(t, output, 2);
    p.accumulator = dtype::f32;
    if (last.input) turn(p.input.leaves[0], input);
    if (last.weight) turn(p.weight.leaves[0], weight);
    if (last.output) turn(p.epilogue.outputs[0], output);
    return p;
}

/// The kernels of the launches of a way without slices: "pack pack staged".
std::string launches(const conv_problem& p) {
    const support s = conv_channels::supports(p, pumice_test::gpu());
    REQUIRE_MESSAGE(s.yes, s.reason);
    const auto whole = std::find_if(s.ways.begin(), s.ways.end(),
                                    [](const configuration& c) { return c.sizes[3] == 0; });
    REQUIRE(whole != s.ways.end());
    std::string text;
    for (const launch& l : conv_channels::make_all(p, pumice_test::gpu(), *whole))
        append_text(text, {text.empty() ? "" : " ", l.entry});
    return text;
}

}  // namespace

TEST_CASE("conv_channels: what does not lie along the channels is copied first") {
    CHECK(launches(convolution(64, 64, 28, 3)) == "pack pack staged");
    CHECK(launches(convolution(64, 64, 28, 3, {true, false, false})) == "pack staged");
    CHECK(launches(convolution(64, 64, 28, 3, {false, true, false})) == "pack staged");
    CHECK(launches(convolution(64, 64, 28, 3, {true, true, true})) == "staged");
    // Channels that are no whole chunks of 16 bytes.
    CHECK(launches(convolution(60, 64, 28, 3, {true, true, true})) == "pack pack staged");
    CHECK(launches(convolution(60, 64, 28, 3, {true, true, true}, dtype::f32)) == "staged");
    // An element in between.
    conv_problem apart = convolution(64, 64, 28, 3, {true, true, true});
    apart.input.leaves[0].offset = 1;
    CHECK(launches(apart) == "pack staged");
}

TEST_CASE("conv_channels: copies take whole chunks, and the input's its padding") {
    const auto bytes = [](const conv_problem& p) {
        return conv_channels::scratch(p, pumice_test::gpu(), {{64, 64, 64}, 0});
    };
    const std::int64_t weights = 64 * 9 * 64 * 2, input = 8 * 30 * 30 * 64 * 2;
    CHECK(bytes(convolution(64, 64, 28, 3)) == weights + input);
    CHECK(bytes(convolution(61, 64, 28, 3)) == weights + input);
    CHECK(bytes(convolution(64, 64, 28, 3, {true, false, false})) == weights);
    CHECK(bytes(convolution(64, 64, 28, 3, {true, true, false})) == 0);
    const support s = conv_channels::supports(convolution(512, 8, 300, 3), pumice_test::gpu());
    CHECK_FALSE(s.yes);
    CHECK(s.reason == "its copies take 712 MiB");
}

TEST_CASE("conv_channels: outputs whose channels lie together are rows of windows") {
    const detail::channel_convolution first(convolution(64, 32, 28, 3), pumice_test::gpu()),
        last(convolution(64, 32, 28, 3, {true, true, true}), pumice_test::gpu());
    CHECK(first.of.m == 32);
    CHECK(first.of.n == 8 * 28 * 28);
    CHECK_FALSE(first.of.windows_left);
    CHECK(last.of.m == 8 * 28 * 28);
    CHECK(last.of.n == 32);
    CHECK(last.of.windows_left);
}

TEST_CASE("conv_channels: is chosen where there are many channels, not for what is none of its") {
    const auto chosen = [](const conv_problem& p) {
        return choose(p, pumice_test::gpu(), {}).record->kernel;
    };
    CHECK(chosen(convolution(256, 256, 56, 3)) == "conv/channels");
    CHECK(chosen(convolution(256, 256, 56, 3, {true, true, true})) == "conv/channels");
    const auto refusal = [](const conv_problem& p) {
        return conv_channels::supports(p, pumice_test::gpu()).reason;
    };
    CHECK(refusal(convolution(64, 64, 28, 1)) == "its windows lie as a matrix already");
    CHECK(refusal(convolution(64, 64, 28, 3, {}, dtype::i32)) == "it sums in f32");
    conv_problem far = convolution(64, 64, 28, 3);
    for (int i = 0; i < 2; ++i) {
        far.shape_of.pad_begin[i] = far.shape_of.pad_end[i] = far.shape_of.stride[i] = 0x7fffffff;
        far.out_size[i] = 3;
    }
    CHECK(refusal(far) == "its padding is too large to be copied");
    conv_problem empty = convolution(64, 64, 28, 3);
    empty.in_size[0] = 0;
    CHECK(refusal(empty) == "there is nothing to read");
    for (std::int64_t conv_problem::* const none :
         {&conv_problem::batch, &conv_problem::in_channels, &conv_problem::out_channels}) {
        conv_problem p = convolution(64, 64, 28, 3);
        p.*none = 0;
        CHECK(refusal(p) == "there is nothing to read");
    }
    device_info narrow = pumice_test::gpu();
    narrow.int64_arithmetic = false;
    conv_problem high = convolution(64, 64, 28, 3, {true, true, true});
    high.input.leaves[0].offset = std::int64_t{1} << 32;
    CHECK_FALSE(conv_channels::supports(high, narrow).yes);
}
