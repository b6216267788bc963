// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/elementwise.hpp>

#include <cmath>
#include <set>

namespace {

using namespace test;

/// Every kernel, where it takes the problem.
void check_all(machine& m, const elementwise_problem& p, const workspace& w,
               const std::vector<result>& outputs, const std::vector<tolerance>& allowed,
               const std::string& about, tally& count) {
    check<elementwise_strided>(m, p, w, outputs, allowed, about, count);
    check<elementwise_vectors>(m, p, w, outputs, allowed, about, count);
    check<elementwise_tiled>(m, p, w, outputs, allowed, about, count);
}

/// Steps of a dense operand over `domain` whose axis `along` is the contiguous one; every other
/// axis takes `pad` elements more than it needs.
strides contiguous_along(const shape& domain, int along, std::int64_t pad) {
    strides s = strides::filled(domain.rank(), 1);
    std::int64_t step = domain[along] + pad;
    for (int i = domain.rank() - 1; i >= 0; --i)
        if (i != along) s[i] = step, step *= domain[i];
    return s;
}

/// An input with these steps. Flipped axes are read from their end.
operand laid(workspace& w, dtype type, const shape& domain, const strides& steps,
             std::int64_t offset, std::initializer_list<int> flipped = {}) {
    operand o{0, type, offset, steps};
    for (const int axis : flipped) {
        o.offset += o.steps[axis] * (domain[axis] - 1);
        o.steps[axis] = -o.steps[axis];
    }
    const std::int64_t end = range_of(o, domain, false).end * 8 / info(type).bits;
    const operand flat = w.input(type, {end}, placing::dense, values::special);
    o.buffer = flat.buffer;
    o.offset += flat.offset;
    return o;
}

std::vector<const op_info*> ops_of_table() {
    std::vector<const op_info*> list;
    [&]<class... Ops>(op_list<Ops...>) { (list.push_back(&op_info_of<Ops>), ...); }(all_ops{});
    return list;
}

/// Ops that may subtract nearly equal numbers: their error is measured at the size of what they
/// add.
bool cancels(const op_info& op) {
    static const std::set<std::string_view> names{
        "fma",       "lerp",         "gelu",       "gelu_tanh",
        "logaddexp", "hard_sigmoid", "hard_swish", "squared_difference",
        "remainder", "mish",         "silu"};
    return names.contains(op.name);
}

/// 2 units in the last place, 4 where a function of math.slang is called.
tolerance allowed_for(const op_info& op, dtype type, const array_list<host_array>& in,
                      std::int64_t n) {
    tolerance t{op.body.find("pm_") == std::string_view::npos ? 2.0 : 4.0};
    if (!is_floating(type) || !cancels(op)) return t;
    const double eps = type == dtype::f64 ? 0x1p-52 : 0x1p-23;
    for (std::int64_t i = 0; i < n; ++i) {
        double v[3] = {};
        for (int k = 0; k < op.arity; ++k)
            visit(type, [&]<class T>(T) {
                const T x = detail::load_element<T>(in[static_cast<std::size_t>(k)].data, i);
                v[k] = std::fabs(static_cast<double>(convert<double>(x)));
            });
        double size = v[0] + v[1] + v[2] + v[0] * v[1] + v[1] * v[2] + v[0] * v[2];
        if (op.name == "squared_difference") size = (v[0] + v[1]) * (v[0] + v[1]);
        t.absolute.push_back(std::isfinite(size) ? 4 * eps * size : 0);
    }
    return t;
}

/// Several ops of one arity over the same operands, one output each; false if it did not go well.
bool check_ops(machine& m, std::span<const op_info* const> ops, dtype type, values how, dice& d,
               tally& count) {
    const shape domain{193};
    const int arity = ops[0]->arity;
    workspace w(d);
    maker make;
    std::vector<std::uint16_t> x, results;
    array_list<operand> in, out;
    for (int k = 0; k < arity; ++k) {
        const dtype t = k == 0 && ops[0]->rule.selects ? dtype::boolean : type;
        in.push_back(w.input(t, domain, placing::dense, how));
        x.push_back(make.leaf(in.back()));
    }
    x.resize(3, 0);
    std::vector<result> stored;
    std::vector<tolerance> allowed;
    std::string about(to_string(type));
    for (const op_info* op : ops) {
        const std::uint16_t r = make.apply(*op, x[0], x[1], x[2]);
        results.push_back(r);
        out.push_back(w.output(make.body.code[r].type, domain, placing::dense));
        stored.push_back({out.back(), domain});
        about += " " + std::string(op->name);
    }
    std::vector<bytes> memory = w.buffers;
    const host_buffers host = w.host(memory);
    for (const op_info* op : ops)
        allowed.push_back(allowed_for(*op, type, host.arrays(in), domain[0]));
    const elementwise_problem p{domain, make.build(results, out)};
    const support s = elementwise_vectors::supports(p, m.info());
    if (!s.yes) {
        ++count.refused[s.reason];
        return true;
    }
    ++count.ran;
    std::vector<bytes> want = w.buffers, got = w.buffers;
    reference(p, w.host(want));
    try {
        const launch one = elementwise_vectors::make(p, m.info());
        m.run({&one, 1}, got, w.origins);
    } catch (const error& e) {
        if (ops.size() == 1) FAIL_CHECK(about << ": " << std::string(e.what()));
        return false;
    }
    // Which inputs gave a wrong result is said below, so the whole comparison runs once more on
    // failure.
    if (agree(got, want, w, stored, allowed, about)) return true;
    if (ops.size() == 1 && is_floating(type) && !cancels(*ops[0]))
        MESSAGE(std::string(ops[0]->name)
                << " is not named in `cancels` (" << __FILE__
                << "): it belongs there if it may subtract nearly equal numbers");
    return false;
}

}  // namespace

TEST_CASE("every op of the table agrees with the host on every element type") {
    for (const auto& m : machines()) {
        tally count("ops on " + m->info().name);
        dice d(1);
        std::map<std::tuple<dtype, int, bool>, std::vector<const op_info*>> groups;
        for (const dtype type : all_dtypes)
            for (const op_info* op : ops_of_table())
                if (op->rule.takes(type)) groups[{type, op->arity, op->rule.selects}].push_back(op);
        for (const auto& [key, ops] : groups)
            for (std::size_t at = 0; at < ops.size(); at += max_outputs) {
                const std::span some =
                    std::span(ops).subspan(at, std::min<std::size_t>(max_outputs, ops.size() - at));
                for (const values how : {values::plain, values::special}) {
                    if (some.size() == 1 || check_ops(*m, some, std::get<0>(key), how, d, count))
                        continue;
                    for (std::size_t k = 0; k < some.size(); ++k)
                        check_ops(*m, some.subspan(k, 1), std::get<0>(key), how, d, count);
                }
                if (some.size() == 1)
                    check_ops(*m, some, std::get<0>(key), values::special, d, count);
            }
    }
}

TEST_CASE("every element type converts to every other as on the host") {
    for (const auto& m : machines()) {
        tally count("casts on " + m->info().name);
        dice d(2);
        for (const dtype from : all_dtypes)
            for (std::size_t first = 0; first < std::size(all_dtypes); first += max_outputs) {
                const shape domain{211};
                workspace w(d);
                maker make;
                const std::uint16_t x =
                    make.leaf(w.input(from, domain, placing::dense, values::special));
                std::vector<std::uint16_t> casts;
                array_list<operand> out;
                std::vector<result> stored;
                for (std::size_t k = first;
                     k < std::min(first + max_outputs, std::size(all_dtypes)); ++k) {
                    casts.push_back(make.cast(all_dtypes[k], x));
                    out.push_back(w.output(all_dtypes[k], domain, placing::dense));
                    stored.push_back({out.back(), domain});
                }
                const elementwise_problem p{domain, make.build(casts, out)};
                check<elementwise_vectors>(*m, p, w, stored, {tolerance{}},
                                           "cast " + std::string(to_string(from)), count);
            }
    }
}

TEST_CASE("operands in any layout, any rank, any type, several outputs") {
    for (const auto& m : machines()) {
        tally count("layouts on " + m->info().name);
        dice d(3);
        for (int i = 0; i < samples(240); ++i) {
            const bool wide = d.chance(0.1);
            const dtype type = all_dtypes[d.in(0, std::ssize(all_dtypes) - 1)];
            const int rank = static_cast<int>(d.in(0, 8));
            const shape domain = random_shape(d, rank, 3000);
            const placing layout = d.chance(0.3) ? placing::dense : placing::any;
            workspace w(d, wide);
            maker make;
            const std::uint16_t x = make.leaf(w.input(type, domain, layout)),
                                y = make.leaf(w.input(dtype::boolean, domain, layout));
            std::vector<std::uint16_t> values{
                make.apply<op::where>(y, x, make.value(scalar(type, 3)))};
            if (d.chance(0.5)) values.push_back(x);
            if (d.chance(0.3)) values.push_back(make.apply<op::logical_not>(y));
            array_list<operand> out;
            std::vector<result> results;
            for (const std::uint16_t v : values) {
                out.push_back(w.output(make.body.code[v].type, domain, layout));
                results.push_back({out.back(), domain});
            }
            const elementwise_problem p{domain, make.build(values, out)};
            check_all(*m, p, w, results, {tolerance{}},
                      std::string(to_string(type)) + to_string(domain) + (wide ? " wide" : ""),
                      count);
        }
    }
}

TEST_CASE("index values and scalars of every type") {
    for (const auto& m : machines()) {
        tally count("indices on " + m->info().name);
        dice d(4);
        for (const dtype type : all_dtypes) {
            if (type == dtype::boolean) continue;
            const shape domain{7, d.in(1, 257)};
            workspace w(d);
            maker make;
            const std::uint16_t row = make.leaf(w.iota(type, {1, 0}, 3)),
                                all = make.leaf(w.iota(type, {domain[1], 1}));
            const std::uint16_t sum =
                make.apply<op::add>(make.apply<op::add>(row, all), make.value(scalar(type, 5)));
            const operand out = w.output(type, domain, placing::dense);
            const elementwise_problem p{domain, make.build({sum}, {out})};
            check_all(*m, p, w, {{out, domain}}, {tolerance{2}}, std::string(to_string(type)),
                      count);
        }
    }
}

TEST_CASE("a domain without elements writes nothing") {
    for (const auto& m : machines()) {
        tally count("empty on " + m->info().name);
        dice d(5);
        for (const shape& domain : {shape{0}, shape{3, 0}, shape{0, 4}, shape{2, 0, 5}}) {
            workspace w(d);
            const operand in = w.input(dtype::f32, domain, placing::dense),
                          out = w.output(dtype::f32, shape{16}, placing::dense);
            fused f = reads(in);
            f.outputs = {operand{out.buffer, out.type, 0, row_major_strides(domain)}};
            check_all(*m, {domain, f}, w, {}, {}, to_string(domain), count);
        }
    }
}

TEST_CASE("the short forms of half types keep to their bound at every value") {
    for (const auto& m : machines()) {
        tally count("all halves on " + m->info().name);
        dice d(11);
        for (const dtype type : {dtype::f16, dtype::bf16})
            for (const op_info* op :
                 {&op_info_of<op::exp>, &op_info_of<op::exp2>, &op_info_of<op::log>,
                  &op_info_of<op::sigmoid>, &op_info_of<op::tanh>, &op_info_of<op::erf>,
                  &op_info_of<op::gelu>}) {
                const shape domain{std::int64_t{1} << 16};
                workspace w(d);
                maker make;
                const operand in = w.input(type, domain, placing::dense);
                for (std::int64_t i = 0; i < domain[0]; ++i) {
                    // A device may take a subnormal float as 0: of input or result, or, where gelu
                    // multiplies by one, from -13 down to where its results are such.
                    const bool factor = op == &op_info_of<op::gelu> && i >= 0xc150 && i < 0xc160;
                    const bool tiny = type == dtype::bf16 && ((i & 0x7fff) < 8 << 7 || factor);
                    const auto bits = static_cast<std::uint16_t>(tiny ? i & 0x8000 : i);
                    std::memcpy(w.buffers[0].data() + 2 * i, &bits, 2);
                }
                const std::uint16_t y = make.apply(*op, make.leaf(in));
                const operand out = w.output(type, domain, placing::dense);
                const elementwise_problem p{domain, make.build({y}, {out})};
                check<elementwise_vectors>(*m, p, w, {{out, domain}}, {tolerance{4}},
                                           std::string(op->name) + " of " +
                                               std::string(to_string(type)),
                                           count);
            }
    }
}

TEST_CASE("tiles: operands that are contiguous along another axis than the output") {
    for (const auto& m : machines()) {
        tally count("tiles on " + m->info().name);
        dice d(6);
        int taken = 0, runs = 0, skewed = 0;
        for (int i = 0; i < samples(150); ++i) {
            const dtype type = all_dtypes[static_cast<std::size_t>(i) % std::size(all_dtypes)];
            const int rank = static_cast<int>(d.in(2, 4)),
                      along = static_cast<int>(d.in(0, rank - 2));
            const bool aligned = d.chance(0.5);
            shape domain = shape::filled(rank, 1);
            for (int k = 0; k < rank; ++k) {
                const bool tiled = k == along || k == rank - 1;
                domain[k] = tiled ? d.in(2, 200) : d.in(1, rank == 4 ? 2 : 3);
                if (tiled && aligned) domain[k] = (domain[k] + 3) & ~std::int64_t{3};
            }
            if (d.chance(0.3)) domain[rank - 1] += 4 * detail::elementwise_tiles::side;
            workspace w(d, d.chance(0.15));
            maker make;
            const std::int64_t unit = aligned ? 4 : 1;
            const operand a =
                laid(w, type, domain, contiguous_along(domain, along, unit * d.in(0, 2)),
                     unit * d.in(0, 2));
            std::uint16_t v = make.leaf(a);
            if (d.chance(0.5)) {  // one more of that kind, seen from its end along the rows
                const operand b = laid(w, dtype::boolean, domain,
                                       contiguous_along(domain, along, unit * d.in(0, 2)),
                                       unit * d.in(0, 2), {rank - 1});
                v = make.apply<op::where>(make.leaf(b), v, make.value(scalar(type, 3)));
            }
            if (d.chance(0.5)) {  // one value for all, or one for each column
                strides steps = strides::filled(rank, 0);
                steps[rank - 1] = d.in(0, 1);
                const operand b = laid(w, dtype::boolean, domain, steps, d.in(0, 3));
                v = make.apply<op::where>(make.leaf(b), v, make.value(scalar(type, 5)));
            }
            if (type != dtype::boolean && d.chance(0.3)) {
                strides steps = strides::filled(rank, 0);
                for (int k = 0; k < rank; ++k) steps[k] = d.in(0, 3);
                const std::uint16_t n = make.leaf(w.iota(dtype::i32, steps, d.in(-5, 5)));
                v = make.apply<op::where>(make.apply<op::less>(n,
                                                               make.value(scalar(dtype::i32, 40))),
                                          v, make.value(scalar(type, 7)));
            }
            // The output is a part of this, now and then from its end.
            shape whole = domain;
            if (d.chance(0.4)) whole[rank - 1] += d.in(1, 9);
            operand out = w.output(type, whole, placing::dense);
            out.offset += d.in(0, whole.back() - domain.back());
            if (const int k = static_cast<int>(d.in(0, rank - 1)); k != rank - 1 && d.chance(0.3)) {
                out.offset += (domain[k] - 1) * out.steps[k];
                out.steps[k] = -out.steps[k];
            }
            const elementwise_problem p{domain, make.build({v}, {out})};
            const std::string about = std::string(to_string(type)) + to_string(domain) + " along " +
                                      std::to_string(along) + (w.high ? " wide" : "");
            INFO(about);
            // Everything here is for the kernel, but for types that the device lacks.
            const support s = elementwise_tiled::supports(p, m->info());
            const bool able = elementwise_strided::supports(p, m->info()).yes;
            CHECK_MESSAGE(s.yes == able, s.reason);
            if (s.yes) {
                const launch l = elementwise_tiled::make(p, m->info());
                runs += l.arguments.end()[-5] != "1";
                skewed += l.arguments.back() == "1";
            }
            taken +=
                check<elementwise_tiled>(*m, p, w, {{out, domain}}, {tolerance{}}, about, count);
        }
        CHECK(taken >= samples(150) / 2);
        CHECK(runs >= taken / 8);
        CHECK(runs <= taken * 7 / 8);
        CHECK(skewed >= taken / 16);
    }
}

TEST_CASE("tiles: long programs, whose evaluations are not written out, with loops of their own") {
    for (const auto& m : machines()) {
        tally count("long programs in tiles on " + m->info().name);
        dice d(7);
        for (const dtype type : {dtype::f32, dtype::i32})
            for (const shape& domain : {shape{68, 132}, shape{67, 131}}) {
                workspace w(d);
                maker make;
                std::uint16_t v =
                    make.leaf(laid(w, type, domain, contiguous_along(domain, 0, 0), 0));
                for (const int by : {90001, 7001, 501, 77, 9})
                    v = make.apply<op::fmod>(v, make.value(scalar(type, by)));
                v = make.apply<op::negative>(v);
                const operand out = w.output(type, domain, placing::dense);
                const elementwise_problem p{domain, make.build({v}, {out})};
                CHECK(elementwise_tiled::make(p, m->info()).arguments.end()[-3] ==
                      (domain[0] == 68 ? "1" : "4"));
                CHECK(check<elementwise_tiled>(*m, p, w, {{out, domain}}, {tolerance{}},
                                               to_string(domain), count));
            }
    }
}

TEST_CASE("tiles: what the kernel refuses") {
    device_info device;
    device.shared_memory = 16 << 10;
    device.float64_arithmetic = true;
    const auto asked = [&](const shape& domain, const array_list<operand>& leaves,
                           const strides& stored, int outputs = 1) {
        maker make;
        std::uint16_t v = make.leaf(leaves[0]);
        for (std::size_t k = 1; k < leaves.size(); ++k)
            v = make.apply<op::add>(v, make.leaf(leaves[k]));
        std::vector<std::uint16_t> values(1, v);
        if (outputs == 2) values.push_back(make.apply<op::negative>(v));
        array_list<operand> out;
        for (int k = 0; k < outputs; ++k) out.push_back({8 + k, leaves[0].type, 0, stored});
        return elementwise_tiled::supports({domain, make.build(values, out)}, device);
    };
    const auto leaf = [](int buffer, const strides& steps, dtype type = dtype::f32) {
        return operand{buffer, type, 0, steps};
    };
    const shape whole{64, 64};
    CHECK(asked(whole, {leaf(0, {1, 64})}, {64, 1}).yes);
    CHECK(asked(whole, {leaf(0, {1, 64})}, {64, 1}, 2).reason ==
          "the program has more than one output");
    CHECK(asked(whole, {leaf(0, {1, 64})}, {128, 2}).reason ==
          "the output is not contiguous along the innermost axis");
    CHECK(asked(whole, {leaf(0, {64, 1})}, {64, 1}).reason ==
          "no operand is contiguous along another axis");
    CHECK(asked(whole, {leaf(0, {2, 128})}, {64, 1}).reason ==
          "no operand is contiguous along another axis");
    CHECK(asked(whole, {leaf(0, {-1, 64})}, {64, 1}).reason ==
          "no operand is contiguous along another axis");
    CHECK(asked(whole, {leaf(0, {1, 64}), leaf(1, {64, 1})}, {64, 1}).reason ==
          "an operand lies along the output's axis");
    CHECK(asked({8, 8, 8}, {leaf(0, {1, 8, 64}), leaf(1, {8, 1, 64})}, {64, 8, 1}).reason ==
          "operands are contiguous along different axes");
    CHECK(asked(whole, {leaf(0, {1, 64}, dtype::f64)}, {64, 1}).reason ==
          "a tile takes 32768 bytes of shared memory, the device has 16384");
    device.shared_memory = 32 << 10;
    CHECK(asked(whole, {leaf(0, {1, 64}, dtype::f64)}, {64, 1}).yes);
}
