// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Launches of every kernel in the library's lists, of problems by hand, without a device: narrow
// and wide indices, several ranks, programs with and without operands and scalars.
#pragma once

#include <tests/kernels/products.hpp>

#include <pumice/exec/problem_kind.hpp>
#include <pumice/expr/ops.hpp>

namespace pumice_test {

using on_launch = callback<void(const kernel_entry&, const launch&)>;

/// An operand over a domain, contiguous from an offset that needs wide indices or not.
inline operand placed(int buffer, dtype t, const shape& domain, bool wide) {
    return {buffer, t, wide ? std::int64_t{1} << 32 : 16, row_major_strides(domain)};
}
/// The operand as it is; `more` instructions: (x + scalar) * iota.
inline fused reading_of(const operand& o, bool more = false) {
    fused f;
    program p;
    std::uint16_t x = p.push({instruction::code::leaf, o.type, 0});
    f.leaves.push_back(o);
    if (more) {
        const std::uint16_t s = p.push({instruction::code::scalar, o.type, 0}),
                            i = p.push({instruction::code::iota, o.type, 1});
        x = p.push({instruction::code::apply, o.type, 0, {x, s}, &op_info_of<op::add>});
        x = p.push({instruction::code::apply, o.type, 0, {x, i}, &op_info_of<op::multiply>});
        f.scalars.push_back(scalar_operand(o.type, 3));
        f.leaves.push_back({-1, o.type, 5, strides::filled(o.steps.rank(), 1)});
    }
    p.outputs.push_back(x);
    f.body = std::make_shared<program>(std::move(p));
    return f;
}
/// What is given; `more`: times a scalar, plus an operand beside the output.
inline fused storing(dtype given, const operand& o, bool more = false) {
    fused f;
    program p;
    std::uint16_t x = p.push({instruction::code::given, given, 0});
    if (more) {
        const std::uint16_t y = p.push({instruction::code::leaf, given, 0}),
                            s = p.push({instruction::code::scalar, given, 0});
        x = p.push({instruction::code::apply, given, 0, {x, s}, &op_info_of<op::multiply>});
        x = p.push({instruction::code::apply, given, 0, {x, y}, &op_info_of<op::add>});
        f.scalars.push_back(scalar_operand(given, 4));
        operand beside = o;
        beside.buffer = 7;
        beside.type = given;
        f.leaves.push_back(beside);
    }
    p.outputs.push_back(x);
    f.body = std::make_shared<program>(std::move(p));
    f.outputs.push_back(o);
    return f;
}

/// Each kernel that takes the problem, in each of its ways (of products: of each eighth).
template <class P>
void launches_of(const P& p, const on_launch& f) {
    device_info device = gpu();
    device.max_workgroup_size = {1024, 1024, 64};
    for (const kernel_entry& k : kernels_for<P>) {
        const support s = k.supports(&p, device);
        if (!s.yes) continue;
        for (std::size_t way = 0; way < s.ways.size(); way += 8) {
            choice c;
            k.make(c, &p, device, s.ways[way]);
            for (const launch& l : c.launches) f(k, l);
        }
    }
}

inline void elementwise_launches(bool wide, const on_launch& f) {
    for (const shape& domain : {shape{}, shape{64}, shape{6, 40}, shape{3, 70, 96}, shape{3, 5, 7}})
        for (const bool more : {false, true}) {
            elementwise_problem p{domain, reading_of(placed(0, dtype::f16, domain, wide), more)};
            p.body.outputs = {placed(1, dtype::f16, domain, false)};
            launches_of(p, f);
            if (domain.rank() < 2) continue;
            p.body.leaves[0].steps[domain.rank() - 1] = domain[domain.rank() - 2];
            p.body.leaves[0].steps[domain.rank() - 2] = 1;
            launches_of(p, f);
        }
}

inline void row_launches(bool wide, const on_launch& f) {
    const shape outer{3, 64}, inner{4, 256}, all{3, 64, 4, 256};
    for (const bool more : {false, true}) {
        for (const reduction what :
             {reduction::sum, reduction::argmax, reduction::var, reduction::logsumexp})
            for (const bool turned : {false, true}) {
                reduce_problem p;
                p.what = what;
                p.outer = outer, p.inner = inner;
                p.result = what == reduction::argmax ? dtype::i64 : dtype::f32;
                operand x = placed(0, dtype::f32, all, wide);
                if (turned) x.steps = {64 * 1024, 1, 256 * 64, 64};
                p.prologue = reading_of(x, more);
                p.epilogue = storing(p.result, placed(1, p.result, outer, false), more);
                launches_of(p, f);
            }
        reduce_problem by;
        by.what = reduction::by_op;
        by.by = &op_info_of<op::maximum>;
        by.inner = {100000};
        by.prologue = reading_of(placed(0, dtype::f32, by.inner, wide), more);
        by.epilogue = storing(dtype::f32, placed(1, dtype::f32, {}, false), more);
        launches_of(by, f);
        for (const dtype t : {dtype::f32, dtype::f64})
            for (const std::int64_t length : {std::int64_t{64}, std::int64_t{1} << 20}) {
                normalize_problem p;
                p.what = more ? normalization::layer_norm : normalization::softmax;
                p.outer = {5}, p.inner = {length};
                p.epsilon = 1e-5;
                const shape rows{5, length};
                p.prologue = reading_of(placed(0, t, rows, wide), more);
                p.epilogue = storing(t, placed(1, t, rows, false), more);
                launches_of(p, f);
            }
        scan_problem scan;
        scan.outer = outer;
        scan.length = scan.count = 512;
        const shape rows{3, 64, 512};
        scan.prologue = reading_of(placed(0, dtype::i32, rows, wide), more);
        scan.epilogue = storing(dtype::i32, placed(1, dtype::i32, rows, false), more);
        launches_of(scan, f);
    }
}

inline void product_launches(bool wide, const on_launch& f) {
    for (const dtype t : {dtype::f32, dtype::f16, dtype::i32})
        for (const std::int64_t k : {64, 67})
            for (const bool more : {false, true}) {
                if (wide && k == 64) continue;
                const shape a{2, 3, 96, k}, b{2, 3, k, 80}, c{2, 3, 96, 80};
                matmul_problem p;
                p.batch = {2, 3};
                p.m = 96, p.n = 80, p.k = k;
                p.accumulator = t == dtype::i32 ? t : dtype::f32;
                p.a = reading_of(placed(0, t, a, wide), more);
                p.b = reading_of(placed(1, t, b, false));
                p.b.leaves[0].steps[0] = 8;  // batches that do not collapse
                p.epilogue = storing(p.accumulator, placed(2, t, c, false), more);
                launches_of(p, f);
            }
    for (const dtype t : {dtype::f32, dtype::f16})
        for (const std::int64_t window : {1, 3}) {
            conv_problem p;
            p.batch = 2, p.in_channels = 16, p.out_channels = 24;
            p.shape_of.group = 2;
            p.shape_of.stride[0] = 2;
            p.shape_of.dilation[1] = window == 1 ? 1 : 2;
            for (int i = 0; i < 2; ++i) {
                p.in_size[i] = 20, p.window[i] = window;
                p.shape_of.pad_begin[i] = p.shape_of.pad_end[i] = static_cast<int>(window / 2);
                p.out_size[i] = (20 + window / 2 * 2 - p.shape_of.dilation[i] * (window - 1) - 1) /
                                    p.shape_of.stride[i] +
                                1;
            }
            const shape in{2, 16, 20, 20}, weight{24, 8, window, window},
                out{2, 24, p.out_size[0], p.out_size[1]};
            p.input = reading_of(placed(0, t, in, wide));
            p.weight = reading_of(placed(1, t, weight, false));
            p.epilogue = storing(dtype::f32, placed(2, t, out, false), true);
            launches_of(p, f);
        }
}

inline void other_launches(bool wide, const on_launch& f) {
    for (const std::int64_t window : {3, 9, 20}) {
        pool_problem p;
        p.shape_of.what = window == 9 ? pooling::average : pooling::max;
        p.batch = 2, p.channels = 5;
        for (int i = 0; i < 2; ++i) {
            p.shape_of.window[i] = static_cast<int>(window);
            p.in_size[i] = 20, p.out_size[i] = 21 - window;
        }
        const shape out{2, 5, 21 - window, 21 - window};
        p.input = reading_of(placed(0, dtype::f32, {2, 5, 20, 20}, wide), window == 9);
        p.epilogue = storing(dtype::f32, placed(1, dtype::f32, out, false), window == 9);
        launches_of(p, f);
    }
    for (const dtype index : {dtype::i32, dtype::i64}) {
        take_problem p;
        p.domain = {7, 9, 16};
        p.values = placed(0, dtype::f16, p.domain, wide);
        p.values.steps = {0, 0, 1};
        p.indices = {1, index, 0, {2, 14, 0}};
        p.output = placed(2, dtype::f16, p.domain, false);
        p.next = 1;
        p.length = {30, 40}, p.step = {640, 16};
        launches_of(p, f);
        scatter_problem s;
        s.what = index == dtype::i32 ? scattering::replace : scattering::sum;
        s.count = 30, s.rows = 20, s.width = 6;
        s.keys = placed(0, index, {30}, wide);
        s.order = placed(1, dtype::i64, {30}, false);
        s.updates = placed(2, dtype::f32, {30, 6}, false);
        s.data = placed(3, dtype::f32, {20, 6}, false);
        s.output = placed(4, dtype::f32, {20, 6}, false);
        launches_of(s, f);
    }
    for (const std::int64_t length : {100, 5000})
        for (const dtype t : {dtype::f16, dtype::i64}) {
            sort_problem p;
            p.outer = {3, 4};
            p.length = length;
            p.first = length;
            const shape all{3, 4, length};
            p.values = placed(0, t, all, wide);
            p.values.steps[0] += 5;
            p.output = placed(1, dtype::i64, all, false);
            launches_of(p, f);
        }
}

inline void custom_launches(bool wide, const on_launch& f) {
    kernel_options how;
    how.inputs = {{}, {.fused = true}, {.strided = true}};
    how.outputs = {{.fused = true}, {}, {}};
    how.scalars = {dtype::f32, dtype::boolean, dtype::f64, dtype::i64, dtype::i8, dtype::f16};
    const auto what = std::make_shared<custom_kernel>();
    what->name = "sample";
    what->how = how;
    what->text =
        "void sample(uint3 thread, Input<F32> a, IInput<F16> b, Input<I32> c, IOutput<F32> x, "
        "Output<F32> y, Output<F64> z, float s, bool t, double u, int64_t v, int w, float h)\n"
        "{\n    int i = int(thread.x);\n    x[i] = a[i] + b[i] + float(c.stride(0));\n    y[i] = "
        "t ? s + h : float(u);\n    z[i] = double(v + int64_t(w));\n}\n";
    const auto call = std::make_shared<kernel_call>();
    call->what = what;
    const shape domain{6, 10};
    call->inputs = {{dtype::f32, domain}, {dtype::f16, domain}, {dtype::i32, domain}};
    call->outputs = {{dtype::f32, domain}, {dtype::f32, domain}, {dtype::f64, domain}};
    call->scalars = {scalar(1.5f),
                     scalar(true),
                     scalar(2.5),
                     scalar(std::int64_t{-3}),
                     scalar(std::int8_t{-4}),
                     scalar(dtype::f16, 0.5)};
    call->threads = {60, 1, 1};
    custom_kernel_problem p;
    p.call = call;
    p.inputs = {reading_of(placed(0, dtype::f32, domain, false)),
                reading_of(placed(1, dtype::f16, domain, wide), true),
                reading_of(placed(2, dtype::i32, domain, false))};
    p.epilogue = storing(dtype::f32, placed(4, dtype::f32, domain, wide), true);
    p.outputs = {{}, placed(3, dtype::f32, domain, false), {-1, dtype::f64, 0, {}}};
    launches_of(p, f);
}

/// All of them.
inline void each_sample_launch(const on_launch& f) {
    for (const bool wide : {false, true}) {
        elementwise_launches(wide, f);
        row_launches(wide, f);
        product_launches(wide, f);
        other_launches(wide, f);
        custom_launches(wide, f);
    }
}

}  // namespace pumice_test
