// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pools of any type, pads, strides and dilations against the problem's reference.
#include <pumice/host/pool.hpp>

#include "support.hpp"
#include "windows.hpp"

#include <doctest/doctest.h>

using namespace host_test;

namespace {

std::vector<std::byte> bytes_of_values(const std::vector<float>& v) {
    const auto bytes = std::as_bytes(std::span(v));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("host pool: pools as the reference") {
    for (const window& w : windows)
        for (const pm::dtype type : number_types)
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

TEST_CASE("host pool: many planes of short lines, NaN and zeros of both signs among them") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::int64_t planes : {1, 2, 15, 16, 17, 400})
        for (const int taps : {2, 3, 7})
            for (const int stride : {1, 2}) {
                const std::int64_t out = (8 - taps) / stride + 1;
                std::vector<float> v(static_cast<std::size_t>(planes * 64)), best, mean;
                for (std::size_t i = 0; i < v.size(); ++i)
                    v[i] = i % 97 == 5 ? nan : i % 3 == 0 ? -0.0f : float(i * 7919 % 31) - 20;
                for (std::int64_t p = 0; p < planes; ++p)
                    for (std::int64_t y = 0; y < out; ++y)
                        for (std::int64_t x = 0; x < out; ++x) {
                            float top = -std::numeric_limits<float>::infinity();
                            double sum = 0;
                            for (std::int64_t i = 0; i < taps; ++i)
                                for (std::int64_t j = 0; j < taps; ++j) {
                                    const float at =
                                        v[static_cast<std::size_t>((p * 8 + y * stride + i) * 8 +
                                                                   x * stride + j)];
                                    top = at > top || at != at ? at : top;
                                    sum += double(at);
                                }
                            best.push_back(top);
                            mean.push_back(float(sum / (taps * taps)));
                        }
                const pm::any_tensor x = pm::from_bytes(pm::dtype::f32, {planes, 1, 8, 8},
                                                        std::as_bytes(std::span(v)), host());
                pm::pool_op op{.window = {taps, taps}, .stride = {stride, stride}};
                CHECK(bytes_of(pm::pool(x, op)) == bytes_of_values(best));
                op.what = pm::pooling::average;
                CHECK(bytes_of(pm::pool(x, op)) == bytes_of_values(mean));
            }
}
