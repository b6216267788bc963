// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/pool.hpp>

#include <cmath>

namespace {

using namespace test;

/// As ONNX sizes the output: with ceil_mode the last window may pass the padded input, but starts
/// before its end.
std::int64_t out_size(const pool_op& op, int axis, std::int64_t in) {
    const std::int64_t reach = op.dilation[axis] * (op.window[axis] - 1) + 1,
                       padded = in + op.pad_begin[axis] + op.pad_end[axis];
    if (padded < reach) return 0;
    std::int64_t n =
        (padded - reach + (op.ceil_mode ? op.stride[axis] - 1 : 0)) / op.stride[axis] + 1;
    if (op.ceil_mode && (n - 1) * op.stride[axis] >= in + op.pad_begin[axis]) --n;
    return n;
}

pool_problem random_pool(dice& d, pooling what) {
    pool_problem p;
    p.shape_of.what = what;
    p.shape_of.ceil_mode = d.chance(0.3);
    p.shape_of.count_include_pad = d.chance(0.4);
    p.batch = d.in(1, 3);
    p.channels = d.in(1, 9);
    do {
        for (int i = 0; i < 2; ++i) {
            p.in_size[i] = d.in(1, 40);
            p.shape_of.window[i] = static_cast<int>(d.in(1, 5));
            p.shape_of.stride[i] = static_cast<int>(d.in(1, 3));
            p.shape_of.dilation[i] = d.chance(0.3) ? static_cast<int>(d.in(2, 3)) : 1;
            p.shape_of.pad_begin[i] = static_cast<int>(d.in(0, p.shape_of.window[i] - 1));
            p.shape_of.pad_end[i] = static_cast<int>(d.in(0, p.shape_of.window[i] - 1));
            p.out_size[i] = out_size(p.shape_of, i, p.in_size[i]);
        }
    } while (p.out_size[0] == 0 || p.out_size[1] == 0);
    return p;
}

void check_kernels(machine& m, const pool_problem& p, const workspace& w,
                   const std::vector<result>& out, const std::vector<tolerance>& t,
                   const std::string& about, tally& count) {
    const pool_op& op = p.shape_of;
    const std::string text = std::string(op.what == pooling::max ? "max " : "average ") +
                             std::string(to_string(p.input.type())) + " " +
                             to_string(detail::pool_input(p)) + " -> " +
                             to_string(detail::pool_output(p)) + (op.ceil_mode ? " ceil" : "") +
                             (op.count_include_pad ? " with padding " : " ") + about;
    check<pool_windows>(m, p, w, out, t, text, count);
    check<pool_global>(m, p, w, out, t, text, count);
}

tolerance allowed_for(const pool_problem& p, double largest) {
    if (p.shape_of.what == pooling::max) return {};
    const double eps = p.input.type() == dtype::f64 ? 0x1p-52 : 0x1p-23;
    const double n = p.shape_of.window[0] * p.shape_of.window[1];
    return {1, std::vector<double>(static_cast<std::size_t>(element_count(detail::pool_output(p))),
                                   4 * eps * std::max(1.0, std::log2(n)) * largest)};
}

}  // namespace

TEST_CASE("pools of any window, padding and type") {
    for (const auto& m : machines()) {
        tally count("pool on " + m->info().name);
        dice d(41);
        for (int i = 0; i < samples(60); ++i) {
            const dtype type = all_dtypes[i % 12];
            pool_problem p = random_pool(d, is_floating(type) && d.chance(0.6) ? pooling::average
                                                                               : pooling::max);
            workspace w(d, d.chance(0.15));
            const placing layout = d.chance(0.5) ? placing::dense : placing::any;
            p.input =
                reads(w.input(type, detail::pool_input(p), layout,
                              p.shape_of.what == pooling::max && d.chance(0.5) ? values::special
                                                                               : values::plain));
            const operand out = w.output(type, detail::pool_output(p), layout);
            p.epilogue = stores(type, out);
            check_kernels(*m, p, w, {{out, detail::pool_output(p)}}, {allowed_for(p, 64)},
                          w.high ? "wide" : "", count);
        }
    }
}

TEST_CASE("global pools, prologues and epilogues") {
    for (const auto& m : machines()) {
        tally count("global pool on " + m->info().name);
        dice d(42);
        for (int i = 0; i < samples(10); ++i) {
            const dtype type = i % 2 ? dtype::f32 : dtype::f16;
            const pooling what = d.chance(0.5) ? pooling::max : pooling::average;
            pool_problem p = i < 6 ? pool_problem{} : random_pool(d, what);
            if (i < 6) {
                p.shape_of.what = what;
                p.batch = d.in(1, 3), p.channels = d.in(1, 30);
                for (int k = 0; k < 2; ++k)
                    p.in_size[k] = p.shape_of.window[k] =
                        static_cast<int>(i == 0 ? 16 : d.in(1, 31)),
                    p.out_size[k] = 1;
            }
            workspace w(d);
            const placing layout = i < 2 ? placing::dense : placing::any;
            maker in;
            const std::uint16_t x =
                in.leaf(w.input(type, detail::pool_input(p), layout, values::tiny));
            p.input =
                in.build({in.apply<op::relu>(in.apply<op::add>(x, in.value(scalar(type, 1))))});
            maker out;
            const shape domain = detail::pool_output(p);
            const std::uint16_t g = out.given(type),
                                z = out.leaf(w.input(dtype::f32, domain, layout, values::tiny));
            const operand first = w.output(dtype::f32, domain, layout),
                          second = w.output(type, domain, layout);
            p.epilogue = out.build({out.apply<op::subtract>(out.cast(dtype::f32, g), z), g},
                                   {first, second});
            tolerance t = allowed_for(p, 5);
            for (double& a : t.absolute)
                a += type == dtype::f16 ? 0x1p-8 : 0;  // the cast rounds to half
            check_kernels(*m, p, w, {{first, domain}, {second, domain}}, {t, t}, "fused", count);
        }
    }
}
