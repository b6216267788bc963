// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/scan.hpp>

#include <cmath>

namespace {

using namespace test;

constexpr dtype numbers[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16,
                             dtype::i8,  dtype::i16, dtype::i32, dtype::i64,
                             dtype::u8,  dtype::u16, dtype::u32, dtype::u64};

shape with(shape outer, std::int64_t n) {
    outer.push_back(n);
    return outer;
}

void check_kernels(machine& m, const scan_problem& p, const workspace& w,
                   const std::vector<result>& out, const std::vector<tolerance>& t,
                   const std::string& about, tally& count) {
    const std::string text =
        std::string(to_string(p.what)) + " of " + std::string(to_string(p.prologue.type())) + " " +
        to_string(p.outer) + " along " + std::to_string(p.length) + " to " +
        std::to_string(p.count) + " after " + std::to_string(p.lead) + " " + about;
    check<scan_rows>(m, p, w, out, t, text, count);
    check<scan_vector_rows>(m, p, w, out, t, text, count);
    check<scan_columns>(m, p, w, out, t, text, count);
}

/// Sums within 4 eps log2(n) sum|x|, here of the elements up to each. A product makes
/// one rounding a factor.
tolerance allowed_for(scan_problem p, const workspace& w) {
    const dtype type = p.prologue.type();
    if (!is_floating(type)) return {};
    tolerance t{1};
    const auto n = static_cast<double>(p.length);
    if (p.what == reduction::prod) {
        t.ulps = n + 1;
        return t;
    }
    program body = *p.prologue.body;
    const std::uint16_t wide =
        body.push({instruction::code::cast, dtype::f64, 0, {body.outputs[0]}});
    body.outputs[0] =
        body.push({instruction::code::apply, dtype::f64, 0, {wide}, &op_info_of<op::abs>});
    p.prologue.body = std::make_shared<program>(body);
    const shape domain = with(p.outer, p.count);
    t.absolute.resize(static_cast<std::size_t>(element_count(domain)));
    std::vector<bytes> memory = w.buffers;
    host_buffers host = w.host(memory);
    host.memory.push_back(reinterpret_cast<std::byte*>(t.absolute.data()));
    const int last = static_cast<int>(host.memory.size()) - 1;
    p.epilogue = stores(dtype::f64, {last, dtype::f64, 0, row_major_strides(domain)});
    reference(p, host);
    const double eps = type == dtype::f64 ? 0x1p-52 : 0x1p-23;
    for (double& a : t.absolute) a *= 4 * eps * std::log2(std::max(n, 2.0));
    return t;
}

/// A scan of one operand, stored as it is. Leads: 0, or 1 with as many results, or with one more.
scan_problem plain(workspace& w, reduction what, dtype type, const shape& outer,
                   std::int64_t length, int leads, placing layout, std::vector<result>& out) {
    scan_problem p{what, outer, length, length + (leads == 2), leads > 0, {}, {}};
    const values how = what == reduction::prod ? values::tiny : values::plain;
    p.prologue = reads(w.input(type, with(outer, length), layout, how));
    const operand o = w.output(type, with(outer, p.count), layout);
    p.epilogue = stores(type, o);
    out = {{o, with(outer, p.count)}};
    return p;
}

}  // namespace

TEST_CASE("running sums and products of every type, any layout, any length") {
    for (const auto& m : machines()) {
        tally count("scan on " + m->info().name);
        dice d(71);
        for (const dtype type : numbers)
            for (const reduction what : {reduction::sum, reduction::prod})
                for (int i = 0; i < samples(1); ++i) {
                    workspace w(d, d.chance(0.1));
                    const bool dense = d.chance(0.5);
                    const shape outer = random_shape(d, static_cast<int>(d.in(0, 3)), 100);
                    const std::int64_t length = what == reduction::prod ? d.in(1, 20)
                                                : dense                 ? 4 * d.in(1, 100)
                                                                        : d.in(1, 400);
                    std::vector<result> out;
                    const scan_problem p = plain(w, what, type, outer, length,
                                                 dense ? 0 : static_cast<int>(d.in(0, 2)),
                                                 dense ? placing::dense : placing::any, out);
                    check_kernels(*m, p, w, out, {allowed_for(p, w)}, w.high ? "wide" : "", count);
                }
    }
}

TEST_CASE("long scans carry from piece to piece, along the row and across it") {
    for (const auto& m : machines()) {
        tally count("long scan on " + m->info().name);
        dice d(72);
        for (const dtype type : {dtype::f32, dtype::i8})
            for (const std::int64_t length : {1024, 4096, 5003, 20000})
                for (const bool across : {false, true}) {
                    workspace w(d);
                    std::vector<result> out;
                    scan_problem p = plain(w, reduction::sum, type, {5}, length, length % 3 == 1,
                                           placing::dense, out);
                    if (across)
                        p.prologue.leaves[0].steps = p.epilogue.outputs[0].steps =
                            out[0].where.steps = {1, 5};
                    check_kernels(*m, p, w, out, {allowed_for(p, w)}, across ? "across" : "along",
                                  count);
                }
    }
}

TEST_CASE("many short columns take a lane each") {
    for (const auto& m : machines()) {
        tally count("short columns on " + m->info().name);
        dice d(73);
        workspace w(d);
        std::vector<result> out;
        scan_problem p = plain(w, reduction::sum, dtype::f32, {40000}, 40, 1, placing::dense, out);
        p.prologue.leaves[0].steps = p.epilogue.outputs[0].steps = out[0].where.steps = {1, 40000};
        check_kernels(*m, p, w, out, {allowed_for(p, w)}, "", count);
    }
}

TEST_CASE("prologues and epilogues are part of the scan") {
    for (const auto& m : machines()) {
        tally count("fused scan on " + m->info().name);
        dice d(74);
        for (int i = 0; i < samples(6); ++i) {
            const dtype type = std::array{dtype::f32, dtype::f16, dtype::i32}[std::size_t(i % 3)];
            const placing layout = i < 3 ? placing::dense : placing::any;
            workspace w(d, d.chance(0.3));
            scan_problem p{reduction::sum, {d.in(1, 9)}, 4 * d.in(1, 64), 0, i >= 3, {}, {}};
            p.count = p.length;
            const shape domain = with(p.outer, p.length);
            maker in;
            p.prologue = in.build({in.apply<op::multiply>(in.leaf(w.input(type, domain, layout,
                                                                          values::tiny)),
                                                          in.value(scalar(type, 2)))});
            maker out;  // the result in double, and its sum with another operand
            const std::uint16_t g = out.given(type), wide = out.cast(dtype::f64, g);
            const operand first = w.output(dtype::f64, domain, layout),
                          second = w.output(dtype::f64, domain, layout);
            const std::uint16_t z = out.leaf(w.input(dtype::f64, domain, layout, values::tiny));
            p.epilogue = out.build({wide, out.apply<op::add>(wide, z)}, {first, second});
            check_kernels(*m, p, w, {{first, domain}, {second, domain}}, {{}, {}}, "fused", count);
        }
    }
}

TEST_CASE("a scan of nothing gives what nothing gives") {
    for (const auto& m : machines()) {
        tally count("empty scan on " + m->info().name);
        dice d(75);
        for (const auto& [outer, length, leads] :
             {std::tuple{std::int64_t{0}, std::int64_t{7}, 0}, {3, 0, 0}, {3, 0, 2}}) {
            workspace w(d);
            std::vector<result> out;
            const scan_problem p =
                plain(w, reduction::prod, dtype::i32, {outer}, length, leads, placing::dense, out);
            check_kernels(*m, p, w, out, {{}}, "empty", count);
        }
    }
}
