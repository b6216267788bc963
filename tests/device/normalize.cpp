// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/normalize.hpp>

#include <cmath>

namespace {

using namespace test;

constexpr dtype reals[] = {dtype::f32, dtype::f16, dtype::bf16, dtype::f64};

constexpr normalization all_kinds[] = {normalization::softmax, normalization::log_softmax,
                                       normalization::layer_norm, normalization::rms_norm};

shape domain_of(const normalize_problem& p) {
    shape domain = p.outer;
    for (std::int64_t d : p.inner) domain.push_back(d);
    return domain;
}

void check_kernels(machine& m, const normalize_problem& p, const workspace& w,
                   const std::vector<result>& out, const std::vector<tolerance>& t,
                   const std::string& about, tally& count) {
    const std::string text = std::string(to_string(p.what)) + " of " +
                             std::string(to_string(p.prologue.type())) + " " + to_string(p.outer) +
                             " x " + to_string(p.inner) + " " + about;
    check<normalize_rows>(m, p, w, out, t, text, count);
    check<normalize_vector_rows>(m, p, w, out, t, text, count);
    check<normalize_columns>(m, p, w, out, t, text, count);
    check<normalize_streamed>(m, p, w, out, t, text, count);
    check<normalize_vector_streamed>(m, p, w, out, t, text, count);
    check<normalize_streamed_columns>(m, p, w, out, t, text, count);
}

/// Softmax: v - top is rounded, so an error grows with |v - top|: 200 covers what exp does not
/// flush; what the arithmetic type cannot hold normally may be 0. Norms: what is summed up is
/// rounded as the row's largest value.
tolerance allowed_for(const normalize_problem& p, const std::vector<double>& exact) {
    const double eps = p.prologue.type() == dtype::f64 ? 0x1p-52 : 0x1p-23;
    const double least = p.prologue.type() == dtype::f64 ? 0x1p-1022 : 0x1p-126;
    const bool log = p.what == normalization::log_softmax;
    tolerance t{2};
    const auto size_of = [](double v) { return std::isfinite(v) ? std::fabs(v) : 0; };
    if (log || p.what == normalization::softmax) {
        for (const double v : exact) {
            const double size = size_of(v);
            t.absolute.push_back(log ? eps * (16 + 4 * size)
                                 : size == 0
                                     ? least
                                     : size * eps * (16 + 2 * std::fabs(std::log(size))) + least);
        }
        return t;
    }
    const auto length = static_cast<std::size_t>(element_count(p.inner));
    for (std::size_t row = 0; row < exact.size(); row += length) {
        double most = 0;
        for (std::size_t i = row; i < row + length; ++i) most = std::max(most, size_of(exact[i]));
        t.absolute.insert(t.absolute.end(), length, eps * (1 + 16 * most));
    }
    return t;
}

/// The reference in double, by row-major coordinate: what the tolerance is measured by.
std::vector<double> exact_of(normalize_problem p, const workspace& w) {
    const shape domain = domain_of(p);
    std::vector<bytes> memory = w.buffers;
    std::vector<double> values(static_cast<std::size_t>(element_count(domain)));
    host_buffers host = w.host(memory);
    host.memory.push_back(reinterpret_cast<std::byte*>(values.data()));
    const operand o{static_cast<int>(host.memory.size()) - 1, dtype::f64, 0,
                    row_major_strides(domain)};
    const dtype given = p.prologue.type();
    maker m;
    p.epilogue = m.build({m.cast(dtype::f64, m.given(given))}, {o});
    reference(p, host);
    return values;
}

}  // namespace

TEST_CASE("softmax and norms over rows and columns, any layout, any length, several axes") {
    for (const auto& m : machines()) {
        tally count("normalize on " + m->info().name);
        dice d(21);
        for (int i = 0; i < samples(32); ++i) {
            const dtype type = reals[i / 4 % 4];
            workspace w(d, d.chance(0.15));
            normalize_problem p{all_kinds[i % 4],
                                d.chance(0.1) ? 0 : 1e-5,
                                random_shape(d, static_cast<int>(d.in(0, 3)), 200),
                                {},
                                {},
                                {}};
            if (d.chance(0.4)) p.inner = random_shape(d, static_cast<int>(d.in(2, 3)), 300);
            else
                p.inner = {d.chance(0.2)   ? d.in(2, 3)
                           : d.chance(0.3) ? 4 * d.in(1, 64)
                                           : d.in(2, 257)};
            // Of one value or of equal ones there is no variance to divide by.
            if (element_count(p.inner) < 16) p.epsilon = 1e-5;
            const shape domain = domain_of(p);
            const placing layout = d.chance(0.5) ? placing::dense : placing::any;
            p.prologue = reads(w.input(type, domain, layout));
            if (p.epsilon == 0)
                for (int k = p.outer.rank(); k < domain.rank(); ++k)
                    if (p.prologue.leaves[0].steps[k] == 0) p.epsilon = 1e-5;
            const operand out = w.output(type, domain, layout);
            p.epilogue = stores(type, out);
            check_kernels(*m, p, w, {{out, domain}}, {allowed_for(p, exact_of(p, w))},
                          w.high ? "wide" : "", count);
        }
    }
}

TEST_CASE("long rows, along the row and across it") {
    for (const auto& m : machines()) {
        tally count("long normalize on " + m->info().name);
        dice d(22);
        int turn = 0;
        for (const std::int64_t length : {400, 1024, 2000, 4003, 8192, 16384, 20000})
            for (const bool across : {false, true}) {
                workspace w(d);
                const int kind = (turn + turn / 4) % 4;  // each along the row and across it
                ++turn;
                normalize_problem p{all_kinds[kind], 1e-5, {5}, {length}, {}, {}};
                const shape domain{5, length};
                p.prologue = reads(w.input(dtype::f32, domain, placing::dense));
                operand out = w.output(dtype::f32, domain, placing::dense);
                if (across) p.prologue.leaves[0].steps = out.steps = {1, 5};
                p.epilogue = stores(dtype::f32, out);
                check_kernels(*m, p, w, {{out, domain}}, {allowed_for(p, exact_of(p, w))},
                              across ? "across" : "along", count);
            }
    }
}

TEST_CASE("the variance of values far from 0 does not cancel") {
    for (const auto& m : machines()) {
        tally count("distant normalize on " + m->info().name);
        dice d(26);
        for (const std::int64_t length : {60, 700, 20000}) {
            workspace w(d);
            normalize_problem p{normalization::layer_norm, 0, {7}, {length}, {}, {}};
            const shape domain{7, length};
            maker in;
            p.prologue =
                in.build({in.apply<op::add>(in.leaf(w.input(dtype::f32, domain, placing::dense)),
                                            in.value(scalar(dtype::f32, 16384)))});
            const operand out = w.output(dtype::f32, domain);
            p.epilogue = stores(dtype::f32, out);
            check_kernels(*m, p, w, {{out, domain}}, {allowed_for(p, exact_of(p, w))}, "distant",
                          count);
        }
    }
}

TEST_CASE("rows with infinities and NaN give what NumPy gives") {
    for (const auto& m : machines()) {
        tally count("special normalize on " + m->info().name);
        dice d(23);
        for (const dtype type : reals)
            for (const normalization what : all_kinds) {
                workspace w(d);
                const shape domain{9, 12};
                normalize_problem p{what, 1e-5, {9}, {12}, {}, {}};
                p.prologue = reads(w.input(type, domain, placing::dense));
                visit(type, [&]<class T>(T) {
                    const auto put = [&](std::int64_t row, std::int64_t from, std::int64_t to,
                                         float v) {
                        for (std::int64_t i = from; i < to; ++i) {
                            const T value = convert<T>(v);
                            std::memcpy(w.buffers[0].data() +
                                            static_cast<std::size_t>(row * 12 + i) * sizeof(T),
                                        &value, sizeof(T));
                        }
                    };
                    constexpr float inf = std::numeric_limits<float>::infinity(),
                                    nan = std::numeric_limits<float>::quiet_NaN();
                    put(0, 0, 12, -inf), put(1, 0, 11, -inf), put(2, 3, 4, nan), put(3, 0, 1, inf),
                        put(4, 0, 12, inf);
                    put(5, 0, 12, 3), put(6, 0, 6, -inf), put(7, 0, 1, 60000), put(7, 1, 2, -60000),
                        put(8, 0, 12, -60000);
                });
                const operand out = w.output(type, domain, placing::dense);
                p.epilogue = stores(type, out);
                check_kernels(*m, p, w, {{out, domain}}, {allowed_for(p, exact_of(p, w))},
                              "special", count);
            }
    }
}

TEST_CASE("prologues and epilogues are part of the normalisation") {
    for (const auto& m : machines()) {
        tally count("fused normalize on " + m->info().name);
        dice d(24);
        for (int i = 0; i < samples(9); ++i) {
            const dtype type = i % 2 ? dtype::f16 : dtype::f32;
            workspace w(d, d.chance(0.3));
            normalize_problem p{
                std::array{normalization::softmax, normalization::layer_norm,
                           normalization::rms_norm}[static_cast<std::size_t>(i % 3)],
                1e-5,
                {d.in(1, 9), d.in(1, 9)},
                {i < 4 ? 4 * d.in(1, 64) : d.in(1, 257)},
                {},
                {}};
            const shape domain = domain_of(p);
            const placing layout = i < 4 ? placing::dense : placing::any;
            maker in;  // scaled and masked scores
            const std::uint16_t score =
                in.apply<op::multiply>(in.leaf(w.input(type, domain, layout)),
                                       in.value(scalar(type, 0.25)));
            const std::uint16_t mask = in.leaf(w.input(dtype::boolean, domain, layout));
            p.prologue = in.build({in.apply<op::where>(mask, score, in.value(scalar(type, -30)))});
            maker out;  // the result in float, and its product with another operand
            const std::uint16_t g = out.given(type), wide = out.cast(dtype::f32, g);
            const operand first = w.output(dtype::f32, domain, layout),
                          second = w.output(dtype::f32, domain, layout);
            const std::uint16_t z = out.leaf(w.input(dtype::f32, domain, layout, values::tiny));
            p.epilogue = out.build({wide, out.apply<op::multiply>(wide, z)}, {first, second});
            const tolerance t = allowed_for(p, exact_of(p, w));
            tolerance scaled = t;
            for (double& a : scaled.absolute) a *= 4;
            check_kernels(*m, p, w, {{first, domain}, {second, domain}}, {t, scaled}, "fused",
                          count);
        }
    }
}

TEST_CASE("a normalisation without rows writes nothing") {
    for (const auto& m : machines()) {
        tally count("empty normalize on " + m->info().name);
        dice d(25);
        for (const shape& domain : {shape{0, 7}, shape{3, 0}}) {
            workspace w(d);
            normalize_problem p{normalization::layer_norm, 1e-5, {domain[0]}, {domain[1]}, {}, {}};
            p.prologue = reads(w.input(dtype::f32, domain, placing::dense));
            p.epilogue = stores(dtype::f32, w.output(dtype::f32, domain, placing::dense));
            check_kernels(*m, p, w, {}, {}, "empty", count);
        }
    }
}
