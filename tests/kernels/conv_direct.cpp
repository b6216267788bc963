// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// When convolutions are computed an output channel at a time, and how many outputs share what they
// read.
#include "support.hpp"

#include <pumice/exec/select.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using pumice_test::over;

namespace {

device_info machine() {
    device_info d;
    d.type = device_type::discrete_gpu;
    d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
    d.int64_arithmetic = true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_count = {0x7fffffff, 65535, 65535};
    d.shared_memory = 48 << 10;
    return d;
}

conv_problem convolution(std::int64_t in, std::int64_t out, int group, std::int64_t size,
                         std::int64_t window, int dilation = 1) {
    conv_problem p;
    p.batch = 4, p.in_channels = in, p.out_channels = out;
    p.shape_of.group = group;
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = p.out_size[i] = size;
        p.window[i] = window;
        p.shape_of.dilation[i] = dilation;
        p.shape_of.pad_begin[i] = p.shape_of.pad_end[i] = static_cast<int>(window / 2) * dilation;
    }
    p.input = over({4, in, size, size}, instruction::code::leaf, 0);
    p.weight = over({out, in / group, window, window}, instruction::code::leaf, 1);
    p.epilogue = over({4, out, size, size}, instruction::code::given, 2);
    return p;
}

/// The outputs of an invocation that may be asked for: lines, of runs of so many.
std::vector<int> lines(const conv_problem& p, int run = 1) {
    std::vector<int> all;
    for (const configuration& c : conv_direct::supports(p, machine()).ways)
        if (c.sizes[1] == run) all.push_back(c.sizes[0]);
    return all;
}

std::string chosen(const conv_problem& p) { return choose(p, machine(), {}).record->kernel; }

}  // namespace

TEST_CASE("conv_direct: outputs below each other share lines where windows overlap") {
    CHECK(lines(convolution(64, 64, 64, 56, 3)) == std::vector{1, 2, 4, 8});
    CHECK(lines(convolution(64, 64, 64, 56, 1)) == std::vector{1});     // nothing to share
    CHECK(lines(convolution(64, 64, 64, 56, 3, 2)) == std::vector{1});  // with gaps
    CHECK(lines(convolution(64, 64, 64, 56, 7)) == std::vector{1});     // not as constants
    CHECK(lines(convolution(64, 64, 64, 3, 3)) == std::vector{1, 2, 4});
}

TEST_CASE(
    "conv_direct: outputs beside each other are computed in runs where lines are whole runs") {
    CHECK(lines(convolution(64, 64, 64, 56, 3), 4) == std::vector{1, 2, 4});
    CHECK(lines(convolution(64, 64, 64, 56, 3, 2), 4) == std::vector{1});  // with gaps
    CHECK(lines(convolution(64, 64, 64, 54, 3), 4).empty());
    CHECK(lines(convolution(64, 64, 64, 56, 7), 4).empty());  // not as constants
    conv_problem turned = convolution(64, 64, 64, 56, 3);     // of lines that end inside a run
    turned.out_size[1] = 54, turned.shape_of.pad_begin[1] = turned.shape_of.pad_end[1] = 0;
    turned.epilogue = over({4, 64, 56, 54}, instruction::code::given, 2);
    CHECK(lines(turned, 4).empty());
}

TEST_CASE("conv_direct: is chosen for groups of few channels") {
    CHECK(chosen(convolution(256, 256, 256, 56, 3)) == "conv/direct");
    CHECK(chosen(convolution(256, 512, 256, 28, 3)) == "conv/direct");
    CHECK(chosen(convolution(256, 256, 1, 28, 3)) != "conv/direct");
}

TEST_CASE("conv_direct: an empty input is left to others") {
    conv_problem p = convolution(8, 8, 8, 4, 3);
    p.in_size[0] = 0;
    CHECK(!conv_direct::supports(p, machine()).yes);
    CHECK(conv_tiled::supports(p, machine()).yes);
}

TEST_CASE("conv_direct: a launch has an invocation for each column of outputs") {
    const conv_problem p = convolution(32, 32, 32, 20, 3);
    for (const configuration& way : conv_direct::supports(p, machine()).ways) {
        const launch l = conv_direct::make(p, machine(), way);
        const std::int64_t high = (20 + way.sizes[0] - 1) / way.sizes[0];
        CHECK(std::int64_t{l.grid[0]} * l.grid[1] * l.grid[2] ==
              (4 * 32 * high * (20 / way.sizes[1]) + 127) / 128);
        CHECK(l.accesses.size() == 3);
    }
}
