// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a problem means, by plain loops: which coordinates its programs are over, in which order.
// The kernels' references follow it; operands lie transposed or padded here, so that a mixed-up
// axis shows.
#include "support.hpp"

#include <pumice/core/layout.hpp>
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/elementwise.hpp>
#include <pumice/kernels/matmul.hpp>
#include <pumice/kernels/normalize.hpp>
#include <pumice/kernels/pool.hpp>
#include <pumice/kernels/reduce.hpp>
#include <pumice/kernels/take.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace pumice;

namespace {

fused reads(int buffer, const strides& steps, std::int64_t offset = 0) {
    pumice_test::builder b;
    b.out({b.leaf(0)});
    return made(b, {{buffer, dtype::f32, offset, steps}});
}
/// Stores twice the value that it is given.
fused stores_twice(int buffer, const strides& steps) {
    pumice_test::builder b;
    const auto g = b.given();
    b.out({b.apply<op::add>(g, g)});
    return made(b, {}, {{buffer, dtype::f32, 0, steps}});
}

/// Numbers that are small, whole and without a period that the extents share.
std::vector<float> numbers(std::size_t n) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = float(int(i * 7 % 11) - 5);
    return v;
}
host_buffers over(std::initializer_list<std::vector<float>*> list) {
    host_buffers b;
    for (std::vector<float>* v : list) b.memory.push_back(reinterpret_cast<std::byte*>(v->data()));
    return b;
}
float at(const std::vector<float>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; }

}  // namespace

TEST_CASE("an elementwise problem: each output at each coordinate") {
    std::vector<float> a = numbers(12), sums(12), products(12);
    pumice_test::builder b;
    const auto x = b.leaf(0), y = b.leaf(1);
    b.out({b.apply<op::add>(x, y), b.apply<op::multiply>(x, y)});
    elementwise_problem p{{3, 4},
                          made(b, {{0, dtype::f32, 0, {1, 3}}, {0, dtype::f32, 11, {0, -1}}},
                               {{1, dtype::f32, 0, {4, 1}}, {2, dtype::f32, 0, {1, 3}}})};
    reference(p, over({&a, &sums, &products}));
    for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 4; ++j) {
            CHECK(at(sums, i * 4 + j) == at(a, i + 3 * j) + at(a, 11 - j));
            CHECK(at(products, i + 3 * j) == at(a, i + 3 * j) * at(a, 11 - j));
        }
}

TEST_CASE(
    "a reduction: the prologue over kept axes, then reduced ones; the epilogue over kept ones") {
    std::vector<float> a = numbers(2 * 3 * 4), out(4, -1);
    reduce_problem p;
    p.outer = {4};     // the last axis of (2, 3, 4) is kept
    p.inner = {2, 3};  // the others are summed
    p.prologue = reads(0, {1, 12, 4});
    p.epilogue = stores_twice(1, {-1});
    p.epilogue.outputs[0].offset = 3;
    reference(p, over({&a, &out}));
    for (std::int64_t k = 0; k < 4; ++k) {
        float sum = 0;
        for (std::int64_t i = 0; i < 6; ++i) sum += at(a, i * 4 + k);
        CHECK(at(out, 3 - k) == 2 * sum);
    }
}

TEST_CASE("softmax: along the inner axis, the last coordinate of both programs") {
    std::vector<float> a = numbers(3 * 5), out(15);
    normalize_problem p;
    p.outer = {3};
    p.inner = {5};
    p.prologue = reads(0, {1, 3});  // the axis that is normed is the outer one in memory
    p.epilogue = stores_twice(1, {5, 1});
    for (const bool log : {false, true}) {
        p.what = log ? normalization::log_softmax : normalization::softmax;
        reference(p, over({&a, &out}));
        for (std::int64_t i = 0; i < 3; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < 5; ++j) sum += std::exp(double(at(a, i + 3 * j)));
            for (std::int64_t j = 0; j < 5; ++j) {
                const double share = std::exp(double(at(a, i + 3 * j))) / sum;
                CHECK(at(out, i * 5 + j) ==
                      doctest::Approx(2 * (log ? std::log(share) : share)).epsilon(1e-5));
            }
        }
    }
}

TEST_CASE("a norm over two axes, the last coordinates of both programs") {
    constexpr std::int64_t rows = 3, m = 2, n = 5;
    std::vector<float> a = numbers(rows * m * n), out(rows * m * n);
    normalize_problem p;
    p.epsilon = 0.5;
    p.outer = {rows};
    p.inner = {m, n};
    p.prologue = reads(0, {n, rows * n, 1});  // rows lie between the two axes
    p.epilogue = stores_twice(1, {m * n, n, 1});
    for (const bool centred : {false, true}) {
        p.what = centred ? normalization::layer_norm : normalization::rms_norm;
        reference(p, over({&a, &out}));
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto value = [&](std::int64_t i) {
                return double(at(a, r * n + i / n * rows * n + i % n));
            };
            double mean = 0, square = 0;
            for (std::int64_t i = 0; centred && i < m * n; ++i) mean += value(i) / (m * n);
            for (std::int64_t i = 0; i < m * n; ++i)
                square += (value(i) - mean) * (value(i) - mean) / (m * n);
            for (std::int64_t i = 0; i < m * n; ++i)
                CHECK(at(out, r * m * n + i) ==
                      doctest::Approx(2 * (value(i) - mean) / std::sqrt(square + 0.5))
                          .epsilon(1e-5));
        }
    }
}

TEST_CASE(
    "a product: a over (m, k), b over (k, n), the epilogue over (m, n), each behind the batch") {
    constexpr std::int64_t batch = 2, m = 3, n = 4, k = 5;
    std::vector<float> a = numbers(batch * m * k), b = numbers(k * n), out(batch * m * n);
    matmul_problem p;
    p.batch = {batch};
    p.m = m, p.n = n, p.k = k;
    p.a = reads(0, {m * k, 1, m});  // a is transposed in memory
    p.b = reads(1, {0, n, 1});      // b is the same for the batch
    p.epilogue = stores_twice(2, {m * n, n, 1});
    reference(p, over({&a, &b, &out}));
    for (std::int64_t z = 0; z < batch; ++z)
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                float sum = 0;
                for (std::int64_t x = 0; x < k; ++x)
                    sum += at(a, z * m * k + i + x * m) * at(b, x * n + j);
                CHECK(at(out, z * m * n + i * n + j) == 2 * sum);
            }
}

TEST_CASE(
    "a convolution: input (n, c, y, x), weight (out, within the group, ky, kx), as ONNX Conv") {
    conv_problem p;
    p.batch = 2, p.in_channels = 4, p.out_channels = 6;
    p.shape_of.group = 2;
    const int sizes[] = {5, 7}, windows[] = {3, 2}, stride[] = {2, 1}, dilation[] = {1, 2},
              begin[] = {1, 0}, end[] = {0, 2};
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = sizes[i];
        p.window[i] = windows[i];
        p.shape_of.stride[i] = stride[i];
        p.shape_of.dilation[i] = dilation[i];
        p.shape_of.pad_begin[i] = begin[i];
        p.shape_of.pad_end[i] = end[i];
        p.out_size[i] =
            (sizes[i] + begin[i] + end[i] - (windows[i] - 1) * dilation[i] - 1) / stride[i] + 1;
    }
    const shape in{2, 4, 5, 7}, weights{6, 2, 3, 2}, result{2, 6, p.out_size[0], p.out_size[1]};
    std::vector<float> x = numbers(std::size_t(element_count(in))),
                       w = numbers(std::size_t(element_count(weights))),
                       out(std::size_t(element_count(result)));
    const strides xs = row_major_strides(in), ws = row_major_strides(weights),
                  os = row_major_strides(result);
    p.input = reads(0, xs);
    p.weight = reads(1, ws);
    p.epilogue = stores_twice(2, os);
    reference(p, over({&x, &w, &out}));
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t c = 0; c < 6; ++c)
            for (std::int64_t i = 0; i < p.out_size[0]; ++i)
                for (std::int64_t j = 0; j < p.out_size[1]; ++j) {
                    float sum = 0;
                    for (std::int64_t g = 0; g < 2; ++g)
                        for (std::int64_t ky = 0; ky < 3; ++ky)
                            for (std::int64_t kx = 0; kx < 2; ++kx) {
                                const std::int64_t y = i * 2 + ky - 1, z = j + kx * 2;
                                if (y < 0 || y >= 5 || z < 0 || z >= 7) continue;
                                const std::int64_t channel = c / 3 * 2 + g;
                                sum += at(x, b * xs[0] + channel * xs[1] + y * xs[2] + z) *
                                       at(w, c * ws[0] + g * ws[1] + ky * ws[2] + kx);
                            }
                    CHECK(at(out, b * os[0] + c * os[1] + i * os[2] + j) == 2 * sum);
                }
}

TEST_CASE("a pool: windows over the padded input, an average over what they hold of it") {
    pool_problem p;
    p.batch = 1, p.channels = 2;
    const shape in{1, 2, 4, 5};
    for (int i = 0; i < 2; ++i) {
        p.in_size[i] = in[2 + i];
        p.shape_of.window[i] = 3;
        p.shape_of.stride[i] = 2;
        p.shape_of.pad_begin[i] = p.shape_of.pad_end[i] = 1;
        p.out_size[i] = (p.in_size[i] + 2 - 3) / 2 + 1;
    }
    std::vector<float> x = numbers(40), out(std::size_t(2 * p.out_size[0] * p.out_size[1]));
    p.input = reads(0, row_major_strides(in));
    p.epilogue = stores_twice(1, row_major_strides({1, 2, p.out_size[0], p.out_size[1]}));
    for (const pooling what : {pooling::max, pooling::average})
        for (const bool pads : {false, true}) {
            p.shape_of.what = what;
            p.shape_of.count_include_pad = pads;
            reference(p, over({&x, &out}));
            std::int64_t next = 0;
            for (std::int64_t c = 0; c < 2; ++c)
                for (std::int64_t i = 0; i < p.out_size[0]; ++i)
                    for (std::int64_t j = 0; j < p.out_size[1]; ++j) {
                        float most = -100, sum = 0;
                        int inside = 0, window = 0;
                        for (std::int64_t y = 2 * i - 1; y < 2 * i + 2; ++y)
                            for (std::int64_t z = 2 * j - 1; z < 2 * j + 2; ++z) {
                                window += y < 5 && z < 6;  // the padded input ends there
                                if (y < 0 || y >= 4 || z < 0 || z >= 5) continue;
                                ++inside;
                                most = std::max(most, at(x, c * 20 + y * 5 + z));
                                sum += at(x, c * 20 + y * 5 + z);
                            }
                        const float wanted =
                            what == pooling::max ? most : sum / float(pads ? window : inside);
                        CHECK(at(out, next++) == doctest::Approx(2 * wanted));
                    }
        }
}

TEST_CASE(
    "take: the index axes stand where the axis was; negative indices count back, others are "
    "clamped") {
    std::vector<float> x = numbers(2 * 5 * 3), out(2 * 4 * 3);
    std::vector<std::int32_t> rows{4, -1, 0, 99};
    take_problem p;
    p.domain = {2, 2, 2, 3};
    p.length = {5};
    p.step = {3};
    p.values = {0, dtype::f32, 0, {15, 0, 0, 1}};
    p.indices = {1, dtype::i32, 0, {0, 2, 1, 0}};
    p.output = {2, dtype::f32, 0, row_major_strides(p.domain)};
    host_buffers b = over({&x, &out, &out});
    b.memory[1] = reinterpret_cast<std::byte*>(rows.data());
    reference(p, b);
    const std::int64_t row[] = {4, 4, 0, 4};
    for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t r = 0; r < 4; ++r)
            for (std::int64_t c = 0; c < 3; ++c)
                CHECK(at(out, (i * 4 + r) * 3 + c) == at(x, i * 15 + row[r] * 3 + c));
}

TEST_CASE("what a problem starts as asks for nothing") {
    CHECK(reduce_problem{}.result == dtype::f32);
    CHECK(conv_problem{}.shape_of.group == 1);
}
