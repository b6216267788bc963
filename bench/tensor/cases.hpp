// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The tensor cases, by the names that bench/peers/torch_ref.py gives the same work.
#pragma once

#include <pumice/front.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

namespace bench {

namespace pm = pumice;

struct tensor_input {
    pm::dtype type;
    pm::shape extent;
    double scale = 1;  // of normal random numbers
};

struct tensor_case {
    using operands = std::span<const pm::any_tensor>;
    std::string name;
    double flop, bytes;  // of a call; 0 where it is not judged by them
    std::vector<tensor_input> inputs;
    std::function<pm::any_tensor(operands)> op;
    /// The context's policies: none, one that stores no prologue, or all that products may give up.
    enum class policies { usual, fused_whatever, reduced } by = policies::usual;
};

class tensor_cases {
public:
    /// Sizes are divided by `shrink`, counts of elements by its square.
    explicit tensor_cases(std::int64_t shrink) : shrink_(shrink) {
        for (const pm::dtype t : {pm::dtype::f16, pm::dtype::bf16, pm::dtype::f32}) products(t);
        for (const pm::dtype t : {pm::dtype::f32, pm::dtype::f16}) {
            elementwise(t);
            rows(t);
            windows(t);
            attention(t);
        }
        windows(pm::dtype::bf16);
        reduced_products();
    }
    const std::vector<tensor_case>& list() const { return list_; }

private:
    using operands = tensor_case::operands;
    using policies = tensor_case::policies;
    static std::string of(pm::dtype t) { return std::string(pm::to_string(t)); }
    static double size(pm::dtype t) { return pm::info(t).bits / 8.0; }
    std::int64_t less(std::int64_t n) const { return std::max<std::int64_t>(n / shrink_, 1); }
    template <class F>
    void add(std::string name, double flop, double bytes, std::vector<tensor_input> inputs, F op,
             policies by = policies::usual) {
        list_.push_back({std::move(name), flop, bytes, std::move(inputs),
                         [op](operands x) { return pm::any_tensor(op(x)); }, by});
    }
    static pm::any_tensor turned(const pm::any_tensor& x) {
        return pm::permute_dims(x, std::array<std::int64_t, 2>{1, 0});
    }

    /// As a policy may allow, and of 8-bit integers, which are exact.
    void reduced_products() {
        using enum pm::dtype;
        for (const std::int64_t side : {1024, 2048, 4096, 8192}) {
            const std::int64_t n = less(side);
            const double cube = 2.0 * double(n) * double(n) * double(n),
                         k = 1 / std::sqrt(double(n));
            const std::string end = "_" + std::to_string(side);
            for (const auto& [t, way] : {std::pair(f16, "_f16_sums"), {f32, "_bf16_3x"}}) {
                add(
                    "gemm_" + of(t) + end + way, cube, 0, {{t, {n, n}}, {t, {n, n}, k}},
                    [](operands x) { return pm::matmul(x[0], x[1]); }, policies::reduced);
                add(
                    "gemm_" + of(t) + end + "_turned" + way, cube, 0, {{t, {n, n}}, {t, {n, n}, k}},
                    [](operands x) { return pm::matmul(x[0], turned(x[1])); }, policies::reduced);
            }
            const auto wide = [](const pm::any_tensor& x) { return pm::astype(x, i32); };
            add("gemm_i8" + end, cube, 0, {{i8, {n, n}}, {i8, {n, n}}},
                [wide](operands x) { return pm::matmul(wide(x[0]), wide(x[1])); });
            add("gemm_i8" + end + "_turned", cube, 0, {{i8, {n, n}}, {i8, {n, n}}},
                [wide](operands x) { return pm::matmul(wide(x[0]), turned(wide(x[1]))); });
        }
    }

    void products(pm::dtype t) {
        const std::string type = "_" + of(t);
        const auto plain = [](operands x) { return pm::matmul(x[0], x[1]); };
        const auto times_turned = [](operands x) { return pm::matmul(x[0], turned(x[1])); };
        const auto factor = [&](std::int64_t rows, std::int64_t columns, std::int64_t k) {
            return tensor_input{t, {rows, columns}, 1 / std::sqrt(double(k))};
        };
        const auto product = [&](const std::string& name, std::int64_t m, std::int64_t n,
                                 std::int64_t k) {
            m = less(m), n = less(n), k = less(k);
            add(name, 2.0 * double(m) * double(n) * double(k), 0, {{t, {m, k}}, factor(k, n, k)},
                plain);
        };
        for (const std::int64_t n : {512, 1024, 2048, 4096, 8192})
            product("gemm" + type + "_" + std::to_string(n), n, n, n);
        product("gemm" + type + "_odd_4095x4097x4093", 4095, 4097, 4093);
        product("gemm" + type + "_4096x512x14336", 4096, 512, 14336);

        const std::int64_t n = less(4096), small = less(512);
        const double cube = 2.0 * double(n) * double(n) * double(n);
        const tensor_input square{t, {n, n}};
        add("gemm" + type + "_4096_turned", cube, 0, {square, factor(n, n, n)}, times_turned);
        add("bmm" + type + "_32x512", 64.0 * double(small) * double(small) * double(small), 0,
            {{t, {32, small, small}}, {t, {32, small, small}, 1 / std::sqrt(double(small))}},
            plain);
        add("gemm_bias_relu" + type + "_4096", cube, 0, {square, factor(n, n, n), {t, {n}}},
            [](operands x) {
                return pm::relu(pm::any_tensor(pm::matmul(x[0], turned(x[1])) + x[2]));
            });
        for (const bool fused : {false, true})
            add(
                "gemm_prologue" + type + "_4096" + (fused ? "_fused" : ""), cube, 0,
                {square, factor(n, n, n), square},
                [](operands x) { return pm::matmul(pm::any_tensor(pm::relu(x[0]) * x[2]), x[1]); },
                fused ? policies::fused_whatever : policies::usual);

        // A matrix of 14336 rows of 4096: times vectors, and vectors times it.
        const std::int64_t rows = less(14336), columns = less(4096);
        const double area = double(rows) * double(columns);
        for (const std::int64_t few : {1, 8}) {
            const std::string end =
                type + "_14336x4096" + (few > 1 ? "_rows" + std::to_string(few) : "");
            const double bytes = size(t) * (area + double(few * (rows + columns)));
            add("gemv" + end, 2 * area * double(few), bytes,
                {{t, {few, columns}}, factor(rows, columns, columns)}, times_turned);
            add("gemv" + end + "_turned", 2 * area * double(few), bytes,
                {{t, {few, rows}}, factor(rows, columns, rows)}, plain);
        }
    }

    void elementwise(pm::dtype t) {
        const std::string type = "_" + of(t);
        const auto given = [&](std::int64_t mib16) {  // of so many sixteenths of a MiB
            const double elements = double(mib16) * 65536 / size(t) / double(shrink_ * shrink_);
            return tensor_input{t, {std::max<std::int64_t>(std::int64_t(elements), 16)}};
        };
        const auto moved = [&](const tensor_input& x, double times) {
            return times * size(t) * double(pm::element_count(x.extent));
        };
        struct amount {
            const char* name;
            std::int64_t mib16;
        };
        for (const auto& [name, mib16] :
             {amount{"_256KiB", 4}, amount{"_1MiB", 16}, amount{"_4MiB", 64}, amount{"_16MiB", 256},
              amount{"_64MiB", 1024}, amount{"_256MiB", 4096}, amount{"_1GiB", 16384}}) {
            const tensor_input v = given(mib16);
            const std::string end = type + name;
            add("add" + end, 0, moved(v, 3), {v, v}, [](operands x) { return x[0] + x[1]; });
            add("copy" + end, 0, moved(v, 2), {v}, [](operands x) { return x[0] * 1.0; });
            add("eltchain" + end, 0, moved(v, 6), {v, v, v, v, v}, [](operands x) {
                return pm::relu(pm::any_tensor(x[0] * x[1] + x[2])) * x[3] + x[4];
            });
        }
        const tensor_input v = given(1024), most = given(16384);
        add("gelu" + type + "_64MiB", 0, moved(v, 2), {v},
            [](operands x) { return pm::apply<pm::op::gelu>(x[0]); });
        add("gelu_tanh" + type + "_64MiB", 0, moved(v, 2), {v},
            [](operands x) { return pm::apply<pm::op::gelu_tanh>(x[0]); });
        if (t == pm::dtype::f32)
            add("cast_f32_f16_1GiB", 0, moved(most, 1.5), {most},
                [](operands x) { return pm::astype(x[0], pm::dtype::f16); });
    }

    void rows(pm::dtype t) {
        const std::int64_t side = less(8192);
        const std::string end = "_" + of(t) + "_8192x8192";
        const tensor_input square{t, {side, side}}, row{t, {side}};
        const double bytes = size(t) * double(side) * double(side);
        static constexpr std::int64_t last[] = {1}, first[] = {0};
        const auto reduced = [&](const char* name, pm::reduction what,
                                 std::span<const std::int64_t> axes, bool keep = false) {
            add(name + end, 0, bytes, {square},
                [what, axes, keep](operands x) { return pm::reduce(what, x[0], axes, keep); });
        };
        add("softmax" + end, 0, 2 * bytes, {square}, [](operands x) { return pm::softmax(x[0]); });
        add("layernorm" + end, 0, 2 * bytes, {square, row, row},
            [](operands x) { return pm::layer_norm(x[0], last) * x[1] + x[2]; });
        add("rmsnorm" + end, 0, 2 * bytes, {square, row},
            [](operands x) { return pm::rms_norm(x[0], last) * x[1]; });
        reduced("sum_rows", pm::reduction::sum, last);
        reduced("sum_cols", pm::reduction::sum, first);
        reduced("sum_full", pm::reduction::sum, {});
        reduced("max_rows", pm::reduction::max, last);
        reduced("reducemean_rows", pm::reduction::mean, last, true);
        add("transpose" + end, 0, 2 * bytes, {square},
            [](operands x) { return pm::copy(turned(x[0])); });
        add("cumsum_rows" + end, 0, 2 * bytes, {square},
            [](operands x) { return pm::cumulative(pm::reduction::sum, x[0], 1); });
        add("cumsum_cols" + end, 0, 2 * bytes, {square},
            [](operands x) { return pm::cumulative(pm::reduction::sum, x[0], 0); });
        add("sort" + end, 0, 2 * bytes, {square}, [](operands x) { return pm::sort(x[0]); });
        const std::int64_t long_row = less(less(10'000'000)), many = less(less(1 << 20));
        add("sort_" + of(t) + "_10M", 0, 2 * size(t) * double(long_row), {{t, {long_row}}},
            [](operands x) { return pm::sort(x[0]); });
        add("sort_" + of(t) + "_1Mix64", 0, 2 * size(t) * double(many * 64), {{t, {many, 64}}},
            [](operands x) { return pm::sort(x[0]); });
        add("layernorm_written_out" + end, 0, 2 * bytes, {square}, [](operands x) {
            const pm::any_tensor d = x[0] - pm::reduce(pm::reduction::mean, x[0], last, true),
                                 v = pm::reduce(pm::reduction::mean, d * d, last, true);
            return d / pm::sqrt(pm::any_tensor(v + 1e-5f));
        });
        add("softmax_written_out" + end, 0, 2 * bytes, {square}, [](operands x) {
            const pm::any_tensor e =
                pm::exp(pm::any_tensor(x[0] - pm::reduce(pm::reduction::max, x[0], last, true)));
            return e / pm::reduce(pm::reduction::sum, e, last, true);
        });
    }

    void windows(pm::dtype t) {
        const std::string type = "_" + of(t);
        const std::int64_t images = less(32);
        const auto less_side = [&](std::int64_t n) {
            return shrink_ > 1 ? std::min(n, less(n) + 8) : n;
        };
        struct layer {
            const char* name;
            std::int64_t n, in, side, out, window;
            int stride, pad;
            bool depthwise = false;
        };
        for (const layer& l : {layer{"3x3_256_56_n32", 32, 256, 56, 256, 3, 1, 1},
                               layer{"3x3_256_56_n1", 1, 256, 56, 256, 3, 1, 1},
                               layer{"7x7stem_n32", 32, 3, 224, 64, 7, 2, 3},
                               layer{"1x1_256_64_56_n32", 32, 256, 56, 64, 1, 1, 0},
                               layer{"3x3_512_7_n32", 32, 512, 7, 512, 3, 1, 1},
                               layer{"dw3x3_256_56_n32", 32, 256, 56, 256, 3, 1, 1, true}}) {
            const std::int64_t n = less(l.n), in = l.in > 3 ? less(l.in) : l.in, out = less(l.out),
                               side = less_side(l.side), each = l.depthwise ? 1 : in,
                               across = (side + 2 * l.pad - l.window) / l.stride + 1;
            pm::conv_op how;
            how.group = l.depthwise ? static_cast<int>(in) : 1;
            for (int i = 0; i < 2; ++i) {
                how.stride[i] = l.stride;
                how.pad_begin[i] = how.pad_end[i] = l.pad;
            }
            const double scale = 1 / std::sqrt(double(each * l.window * l.window)),
                         outputs = double(n * out * across * across),
                         bytes = size(t) * (double(n * in * side * side) + outputs);
            const double flop = 2 * outputs * double(each * l.window * l.window);
            add("conv2d" + type + "_" + l.name + "_nchw", flop, l.depthwise ? bytes : 0,
                {{t, {n, in, side, side}}, {t, {out, each, l.window, l.window}, scale}},
                [how](operands x) { return pm::conv(x[0], x[1], how); });
            add("conv2d" + type + "_" + l.name + "_nhwc", flop, l.depthwise ? bytes : 0,
                {{t, {n, side, side, in}}, {t, {out, l.window, l.window, each}, scale}},
                [how](operands x) {
                    const std::array<std::int64_t, 4> order{0, 3, 1, 2};
                    return pm::conv(pm::permute_dims(x[0], order), pm::permute_dims(x[1], order),
                                    how);
                });
        }
        if (t == pm::dtype::bf16) return;
        const std::int64_t channels = less(64), side = less_side(112), wide = less_side(225);
        pm::pool_op halves;
        for (int i = 0; i < 2; ++i) halves.window[i] = halves.stride[i] = 2;
        add("maxpool2" + type + "_32x64x112", 0,
            size(t) * 1.25 * double(images * channels * side * side),
            {{t, {images, channels, side, side}}},
            [halves](operands x) { return pm::pool(x[0], halves); });
        add("nhwc_to_nchw" + type + "_32x225x225x64", 0,
            2 * size(t) * double(images * wide * wide * channels),
            {{t, {images, wide, wide, channels}}}, [](operands x) {
                return pm::copy(pm::permute_dims(x[0], std::array<std::int64_t, 4>{0, 3, 1, 2}));
            });
    }

    void attention(pm::dtype t) {
        const std::int64_t keys = less(4096), heads = less(32);
        const auto given = [&](std::int64_t rows) {
            return tensor_input{t, {1, heads, rows, 128}};
        };
        const auto op = [](operands x) {
            const pm::any_tensor turned =
                pm::permute_dims(x[1], std::array<std::int64_t, 4>{0, 1, 3, 2});
            const pm::any_tensor scores = pm::matmul(x[0], turned) * 0.08838834764831845;
            return pm::matmul(pm::softmax(scores), x[2]);
        };
        add("attention_" + of(t) + "_b1h32s4096d128",
            4.0 * double(heads) * double(keys) * double(keys) * 128, 0,
            {given(keys), given(keys), given(keys)}, op);
        add("attention_decode_" + of(t) + "_b1h32kv4096d128", 0,
            2 * size(t) * double(heads * keys * 128), {given(1), given(keys), given(keys)}, op);
    }

    std::int64_t shrink_;
    std::vector<tensor_case> list_;
};

}  // namespace bench
