// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/reduce.hpp>

#include <cmath>

namespace {

using namespace test;

constexpr reduction all_reductions[] = {reduction::sum,       reduction::prod,   reduction::max,
                                        reduction::min,       reduction::mean,   reduction::any,
                                        reduction::all,       reduction::argmax, reduction::argmin,
                                        reduction::logsumexp, reduction::var};

dtype result_of(reduction what, dtype value) {
    switch (what) {
        case reduction::any:
        case reduction::all: return dtype::boolean;
        case reduction::argmax:
        case reduction::argmin: return dtype::i64;
        default: return value;
    }
}

/// Sums of the prologue's absolute values, by row-major outer coordinate.
std::vector<double> absolute_sums(reduce_problem p, const workspace& w) {
    program body = *p.prologue.body;
    const std::uint16_t value = body.outputs[0],
                        wide = body.push({instruction::code::cast, dtype::f64, 0, {value}});
    body.outputs[0] =
        body.push({instruction::code::apply, dtype::f64, 0, {wide}, &op_info_of<op::abs>});
    p.prologue.body = std::make_shared<program>(body);
    std::vector<bytes> memory = w.buffers;
    std::vector<double> sums(static_cast<std::size_t>(element_count(p.outer)));
    host_buffers host = w.host(memory);
    host.memory.push_back(reinterpret_cast<std::byte*>(sums.data()));
    const int last = static_cast<int>(host.memory.size()) - 1;
    p.what = reduction::sum;
    p.result = dtype::f64;
    p.epilogue = stores(dtype::f64, {last, dtype::f64, 0, row_major_strides(p.outer)});
    reference(p, host);
    return sums;
}

/// Sums within 4 eps log2(n) sum|x|. A product makes one rounding a factor.
tolerance allowed_for(const reduce_problem& p, const workspace& w) {
    const dtype type = p.prologue.type();
    tolerance t{1};
    if (!is_floating(type)) return {};
    const auto n = static_cast<double>(element_count(p.inner));
    const double eps = type == dtype::f64 ? 0x1p-52 : 0x1p-23;
    switch (p.what) {
        case reduction::sum:
        case reduction::mean:
            t.absolute = absolute_sums(p, w);
            for (double& a : t.absolute)
                a *= 4 * eps * std::log2(std::max(n, 2.0)) / (p.what == reduction::mean ? n : 1);
            break;
        case reduction::prod: t.ulps = n + 1; break;
        case reduction::logsumexp:
            t.ulps = 4;
            t.absolute.assign(static_cast<std::size_t>(element_count(p.outer)), 16 * eps);
            break;
        case reduction::var:
            // A lane adds up its squares without compensation; what it divides by is not exact.
            t.ulps = type == dtype::f64 || type == dtype::f32 ? 8 + 4 * std::sqrt(n) : 2;
            t.absolute.assign(static_cast<std::size_t>(element_count(p.outer)), eps);
            break;
        default: t.ulps = 0;
    }
    return t;
}

template <class... K>
void check_any(int which, machine& m, const reduce_problem& p, const workspace& w,
               const std::vector<result>& out, const std::vector<tolerance>& t,
               const std::string& about, tally& count) {
    int k = 0;
    ((which < 0 || k++ == which ? static_cast<void>(check<K>(m, p, w, out, t, about, count))
                                : static_cast<void>(0)),
     ...);
}
/// One of the kernels, or all of them.
void check_kernels(int which, machine& m, const reduce_problem& p, const workspace& w,
                   const std::vector<result>& out, const std::vector<tolerance>& t,
                   const std::string& about, tally& count) {
    check_any<reduce_rows, reduce_vector_rows, reduce_columns, reduce_vector_columns,
              reduce_slices>(which, m, p, w, out, t, about, count);
}

std::string describe(const reduce_problem& p) {
    return std::string(to_string(p.what)) + " of " + std::string(to_string(p.prologue.type())) +
           " " + to_string(p.outer) + " over " + to_string(p.inner);
}

shape joined(shape a, const shape& b) {
    for (std::int64_t d : b) a.push_back(d);
    return a;
}

/// A reduction of one operand, stored as it is.
reduce_problem plain(workspace& w, reduction what, dtype type, const shape& outer,
                     const shape& inner, placing layout, values how, std::vector<result>& out) {
    reduce_problem p{what, outer, inner, {}, {}, result_of(what, type)};
    p.prologue = reads(w.input(type, joined(outer, inner), layout, how));
    const operand o = w.output(p.result, outer, layout);
    p.epilogue = stores(p.result, o);
    out = {{o, outer}};
    return p;
}

}  // namespace

TEST_CASE("every reduction of every type, any layout") {
    for (const auto& m : machines()) {
        tally count("reduce on " + m->info().name);
        dice d(11);
        int turn = 0;
        for (const dtype type : all_dtypes)
            for (const reduction what : all_reductions)
                for (int i = 0; i < samples(1); ++i) {
                    workspace w(d, d.chance(0.1));
                    const bool product = what == reduction::prod;
                    const shape outer = random_shape(d, static_cast<int>(d.in(0, 3)), 300);
                    const shape inner =
                        random_shape(d, static_cast<int>(d.in(0, 3)), product ? 20 : 300);
                    std::vector<result> out;
                    const reduce_problem p =
                        plain(w, what, type, outer, inner,
                              d.chance(0.4) ? placing::dense : placing::any, values::plain, out);
                    check_kernels(turn++ % 5, *m, p, w, out, {allowed_for(p, w)}, describe(p),
                                  count);
                }
    }
}

TEST_CASE("reductions with NaN, infinities and extremes") {
    for (const auto& m : machines()) {
        tally count("special reductions on " + m->info().name);
        dice d(12);
        for (const dtype type :
             {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::i8, dtype::u64})
            for (const reduction what :
                 {reduction::max, reduction::min, reduction::argmax, reduction::argmin,
                  reduction::any, reduction::logsumexp, reduction::var, reduction::sum}) {
                if ((what == reduction::logsumexp || what == reduction::var) && !is_floating(type))
                    continue;
                workspace w(d);
                std::vector<result> out;
                const shape outer{61}, inner{d.in(2, 40)};
                reduce_problem p =
                    plain(w, what, type, outer, inner, placing::dense,
                          what == reduction::sum ? values::tiny : values::special, out);
                // Whole rows of one special value.
                if (is_floating(type))
                    visit(type, [&]<class T>(T) {
                        const std::int64_t n = inner[0];
                        const auto put = [&](std::int64_t row, std::int64_t from, std::int64_t to,
                                             float v) {
                            for (std::int64_t i = from; i < to; ++i) {
                                const T value = convert<T>(v);
                                std::memcpy(w.buffers[0].data() +
                                                static_cast<std::size_t>(row * n + i) * sizeof(T),
                                            &value, sizeof(T));
                            }
                        };
                        constexpr float inf = std::numeric_limits<float>::infinity(),
                                        nan = std::numeric_limits<float>::quiet_NaN();
                        put(0, 0, n, -inf), put(1, 0, n, inf), put(2, 0, n, nan), put(3, 0, n, 0),
                            put(4, n - 1, n, nan);
                        put(5, 0, n - 1, -inf), put(6, 0, 1, inf), put(7, 0, 1, -inf),
                            put(7, 1, 2, inf), put(8, 0, 2, inf);
                    });
                check_kernels(-1, *m, p, w, out,
                              {what == reduction::sum ? tolerance{} : allowed_for(p, w)},
                              describe(p), count);
            }
    }
}

TEST_CASE("reductions by an op, of every type, any layout") {
    for (const auto& m : machines()) {
        tally count("reduce by an op on " + m->info().name);
        dice d(17);
        int turn = 0;
        const op_info* const ops[] = {&op_info_of<op::add>, &op_info_of<op::maximum>,
                                      &op_info_of<op::bitwise_xor>, &op_info_of<op::logical_xor>};
        for (const dtype type : all_dtypes)
            for (const op_info* by : ops) {
                if (!reduces(*by, type)) continue;
                for (int i = 0; i < samples(2); ++i) {
                    workspace w(d, d.chance(0.1));
                    std::vector<result> out;
                    reduce_problem p =
                        plain(w, reduction::by_op, type,
                              random_shape(d, static_cast<int>(d.in(0, 3)), 300),
                              random_shape(d, static_cast<int>(d.in(0, 3)), 3000),
                              d.chance(0.4) ? placing::dense : placing::any, values::tiny, out);
                    p.by = by;
                    check_kernels(turn++ % 5, *m, p, w, out, {tolerance{4}},
                                  std::string(by->name) + " " + describe(p), count);
                }
            }
        workspace w(d);  // long enough for slices
        std::vector<result> out;
        reduce_problem p = plain(w, reduction::by_op, dtype::i32, {3}, {200229}, placing::dense,
                                 values::plain, out);
        p.by = &op_info_of<op::bitwise_xor>;
        check_kernels(-1, *m, p, w, out, {tolerance{}}, "long " + describe(p), count);
    }
}

TEST_CASE("the variance of values far from 0 does not cancel, in a row nor in slices") {
    for (const auto& m : machines()) {
        tally count("distant variances on " + m->info().name);
        dice d(16);
        for (const std::int64_t length : {60, 700, 200000}) {
            workspace w(d);
            reduce_problem p{reduction::var, {2}, {length}, {}, {}, dtype::f32};
            maker in;
            const operand x = w.input(dtype::f32, {2, length}, placing::dense);
            p.prologue =
                in.build({in.apply<op::add>(in.leaf(x), in.value(scalar(dtype::f32, 16384)))});
            const operand out = w.output(dtype::f32, {2});
            p.epilogue = stores(dtype::f32, out);
            tolerance t;
            t.ulps = 200;
            check_kernels(-1, *m, p, w, {{out, {2}}}, {t}, "distant", count);
        }
    }
}

TEST_CASE("prologues and epilogues are part of the reduction") {
    for (const auto& m : machines()) {
        tally count("fused reductions on " + m->info().name);
        dice d(13);
        for (int i = 0; i < samples(24); ++i) {
            const dtype type = std::array{dtype::f32, dtype::f16, dtype::i32, dtype::i8,
                                          dtype::f64}[static_cast<std::size_t>(d.in(0, 4))];
            const reduction what =
                std::array{reduction::sum, reduction::max, reduction::any,
                           reduction::argmin}[static_cast<std::size_t>(d.in(0, 3))];
            workspace w(d, d.chance(0.2));
            reduce_problem p{what, random_shape(d, 2, 200), random_shape(d, 2, 600), {},
                             {},   result_of(what, type)};
            const shape all = joined(p.outer, p.inner);
            const placing layout = d.chance(0.5) ? placing::dense : placing::any;
            maker in;  // (x + y) * s - index along the last axis
            const std::uint16_t x = in.leaf(w.input(type, all, layout, values::tiny)),
                                y = in.leaf(w.input(dtype::i8, all, layout, values::tiny));
            strides along = strides::filled(all.rank(), 0);
            along[all.rank() - 1] = 1;
            const std::uint16_t sum = in.apply<op::add>(x, in.cast(type, y));
            p.prologue =
                in.build({in.apply<op::subtract>(in.apply<op::multiply>(sum,
                                                                        in.value(scalar(type, 3))),
                                                 in.leaf(w.iota(type, along)))});
            maker out;  // the result as f32, plus a value of the outer coordinate; and the result
                        // itself
            const std::uint16_t g = out.given(p.result),
                                z = out.leaf(w.input(dtype::f32, p.outer, layout, values::tiny));
            const operand first = w.output(dtype::f32, p.outer, layout),
                          second = w.output(p.result, p.outer, layout);
            p.epilogue =
                out.build({out.apply<op::add>(out.cast(dtype::f32, g), z), g}, {first, second});
            check_kernels(-1, *m, p, w, {{first, p.outer}, {second, p.outer}},
                          {tolerance{1}, tolerance{1}}, "fused " + describe(p), count);
        }
    }
}

TEST_CASE("a reduction of nothing gives its identity, a reduction to nothing writes nothing") {
    for (const auto& m : machines()) {
        tally count("empty reductions on " + m->info().name);
        dice d(14);
        for (const reduction what : all_reductions) {
            const dtype type =
                what == reduction::any || what == reduction::all ? dtype::boolean : dtype::f32;
            workspace w(d);
            std::vector<result> out;
            const reduce_problem p =
                plain(w, what, type, {5, 3}, {0}, placing::dense, values::plain, out);
            check_kernels(0, *m, p, w, out, {tolerance{}}, "nothing: " + describe(p), count);
        }
        workspace w(d);
        std::vector<result> out;
        const reduce_problem p =
            plain(w, reduction::sum, dtype::f32, {3, 0}, {4}, placing::dense, values::plain, out);
        check_kernels(-1, *m, p, w, {}, {tolerance{}}, "to nothing", count);
    }
}

TEST_CASE("long sums keep their bound") {
    for (const auto& m : machines()) {
        tally count("long sums on " + m->info().name);
        dice d(15);
        for (const dtype type : {dtype::f32, dtype::f16, dtype::f64, dtype::i32})
            for (const bool columns : {false, true}) {
                const shape outer{columns ? 3 : 2}, inner{200000 + d.in(0, 999)};
                workspace w(d);
                std::vector<result> out;
                reduce_problem p = plain(w, d.chance(0.5) ? reduction::sum : reduction::mean, type,
                                         outer, inner, placing::dense, values::plain, out);
                if (columns) p.prologue.leaves[0].steps = {1, outer[0]};
                if (is_floating(type))  // equal terms: the worst for a serial sum
                    visit(type, [&]<class T>(T) {
                        const T v = convert<T>(0.1f);
                        for (std::size_t i = 0; i < static_cast<std::size_t>(inner[0]); ++i)
                            std::memcpy(w.buffers[0].data() + i * sizeof(T), &v, sizeof(T));
                    });
                check_kernels(-1, *m, p, w, out, {allowed_for(p, w)}, "long " + describe(p), count);
            }
    }
}

TEST_CASE("slices of several workgroups are joined apart") {
    for (const auto& m : machines()) {
        tally count("slices of neighbours on " + m->info().name);
        dice d(16);
        for (const dtype type : {dtype::f32, dtype::f16, dtype::i32, dtype::u8})
            for (const bool columns : {false, true})
                // One workgroup, some of which the last has few, as many as are counted, and more.
                for (const std::int64_t n : {std::int64_t{3}, std::int64_t{70}, std::int64_t{296},
                                             std::int64_t{2504}, std::int64_t{9000}}) {
                    if (n > (columns ? type == dtype::f32 ? 9000 : 3000 : 100)) continue;
                    const shape outer{n}, inner{2300 + d.in(0, 999)};
                    const reduction what = d.chance(0.5) ? reduction::sum : reduction::argmax;
                    workspace w(d);
                    std::vector<result> out;
                    reduce_problem p =
                        plain(w, what, type, outer, inner, placing::dense, values::plain, out);
                    if (columns) p.prologue.leaves[0].steps = {1, n};
                    check_any<reduce_slices>(-1, *m, p, w, out, {allowed_for(p, w)},
                                             "slices of " + describe(p), count);
                }
    }
}
