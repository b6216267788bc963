// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products on every device against their reference: ragged sizes, batches, any strides,
// fused prologues and epilogues, every element type.
#include "kernel_harness.hpp"

#include <pumice/kernels/matmul.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/spacing.hpp>

#include <cmath>

using namespace test;

namespace {

shape with(shape s, std::int64_t a, std::int64_t b) {
    s.push_back(a);
    s.push_back(b);
    return s;
}

enum class prologue { copy, fused };  // fused: relu(x * y + z)
enum class epilogue { store, bias, several };

struct sizes {
    shape batch;
    std::int64_t m, n, k;
};

/// A problem with its buffers, and how far its outputs may be off.
struct sample {
    workspace w;
    matmul_problem p;
    std::vector<result> outputs;
    std::vector<tolerance> allowed;
    std::string about;

    sample(dice& d, dtype t, const sizes& s, prologue pro, epilogue epi, placing where,
           bool high = false)
        : w(d, high) {
        p.batch = s.batch;
        p.m = s.m, p.n = s.n, p.k = s.k;
        p.accumulator = t == dtype::f64 ? dtype::f64 : dtype::f32;
        p.a = factor(t, with(s.batch, s.m, s.k), pro, where);
        p.b = factor(t, with(s.batch, s.k, s.n), pro, where);
        finish(t, with(s.batch, s.m, s.n), epi, where);
        about = std::string(to_string(t)) + " batch " + to_string(s.batch) + " m " +
                std::to_string(s.m) + " n " + std::to_string(s.n) + " k " + std::to_string(s.k) +
                (pro == prologue::fused ? " fused" : "") + " epilogue " +
                std::to_string(static_cast<int>(epi));
        if (is_floating(t)) bound(t, pro, epi);
        else allowed.push_back({});
    }

    fused factor(dtype t, const shape& domain, prologue pro, placing where) {
        if (pro == prologue::copy) return reads(w.input(t, domain, where));
        maker m;
        const auto x = m.leaf(w.input(t, domain, where)), y = m.leaf(w.input(t, domain, where)),
                   z = m.leaf(w.input(t, domain, where));
        return m.build({m.apply<op::relu>(m.apply<op::add>(m.apply<op::multiply>(x, y), z))});
    }
    void finish(dtype t, const shape& domain, epilogue epi, placing where) {
        maker m;
        const auto g = m.given(t);
        std::vector<std::uint16_t> values{g};
        if (epi != epilogue::store) {
            operand bias = w.input(t, {domain.back()}, where);
            const std::int64_t step = bias.steps[0];
            bias.steps = strides::filled(domain.rank(), 0);
            bias.steps[domain.rank() - 1] = step;
            values[0] = m.apply<op::relu>(m.apply<op::add>(g, m.leaf(bias)));
        }
        if (epi == epilogue::several) {
            values[0] = m.apply<op::add>(values[0], m.leaf(w.input(t, domain, where)));
            values.push_back(m.apply<op::multiply>(g, m.value(scalar(t, 0.5))));
            values.push_back(m.cast(is_floating(t) ? dtype::f32 : t, g));
        }
        array_list<operand> stored;
        for (std::size_t i = 0; i < values.size(); ++i) {
            stored.push_back(w.output(i == 2 && is_floating(t) ? dtype::f32 : t, domain, where));
            outputs.push_back({stored.back(), domain});
        }
        p.epilogue = m.build(values, stored);
    }
    /// Integers of 8 bits as a factor of a wider type.
    fused widened(dtype stored, dtype t, const shape& domain, placing where) {
        maker m;
        return m.build({m.cast(t, m.leaf(w.input(stored, domain, where)))});
    }
    /// For a kernel that is off by `more` of the sum of magnitudes.
    sample less_exact(dtype t, epilogue epi, double more) const {
        sample s = *this;
        s.allowed.clear();
        s.bound(t, prologue::copy, epi, more);
        return s;
    }
    /// 4 eps log2(k) sum |a b| in the type of the sum, what the cooperative kernels lose by
    /// rounding a fused factor to its storage type, and a few roundings of the epilogue.
    void bound(dtype t, prologue pro, epilogue epi, double more = 0) {
        const double e = epsilon(t == dtype::f64 ? dtype::f64 : dtype::f32);
        const double lost =
            pro == prologue::fused && t != dtype::f64 && t != dtype::f32 ? 2.1 * epsilon(t) : 0;
        const double per =
            4 * e * std::max(1.0, std::log2(static_cast<double>(p.k) + 1)) + lost + more;
        std::vector<bytes> memory = w.magnitudes(t);
        const host_buffers host = w.host(memory);
        host_rows a(p.a, host), b(p.b, host);
        std::vector<double> left(static_cast<std::size_t>(p.k)),
            right(static_cast<std::size_t>(p.n)), sum(static_cast<std::size_t>(p.n)), all;
        for_each_row(with(p.batch, p.m, 1), [&](const index_list& at) {
            a.read(place(at, at.back(), 0), dtype::f64, reinterpret_cast<std::byte*>(left.data()),
                   p.k);
            std::fill(sum.begin(), sum.end(), 0.0);
            for (std::int64_t i = 0; i < p.k; ++i) {
                b.read(place(at, i, 0), dtype::f64, reinterpret_cast<std::byte*>(right.data()),
                       p.n);
                for (std::size_t j = 0; j < right.size(); ++j)
                    sum[j] += left[static_cast<std::size_t>(i)] * right[j];
            }
            for (const double v : sum)
                all.push_back(v * per + (epi == epilogue::store ? 0 : 8 * e * (v + 300)));
        });
        allowed.push_back({2, std::move(all)});
    }
    /// The batch coordinates of `at` with others behind.
    index_list place(const index_list& at, std::int64_t i, std::int64_t j) const {
        index_list r;
        for (int b = 0; b < p.batch.rank(); ++b) r.push_back(at[b]);
        return with(r, i, j);
    }
};

template <class Kernel>
void run(machine& m, const sample& s, tally& count) {
    check<Kernel>(m, s.p, s.w, s.outputs, s.allowed, s.about, count);
}

std::int64_t ragged(dice& d) {
    constexpr std::int64_t list[] = {1,  2,  3,  4,  5,  7,  8,   13,  16,  17,  31,  32,  33,
                                     37, 48, 64, 65, 96, 97, 127, 128, 129, 131, 200, 256, 257};
    return list[d.in(0, 25)];
}

}  // namespace

TEST_CASE("matmul: products in plain arithmetic") {
    for (const auto& m : machines()) {
        tally count("matmul/tiled");
        dice d(11);
        for (const dtype t :
             {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::u8, dtype::i64})
            for (int i = 0; i < samples(t == dtype::f32 ? 9 : 3); ++i) {
                const sizes s{random_shape(d, static_cast<int>(d.in(0, 2)), 6), ragged(d),
                              ragged(d), ragged(d)};
                const auto pro = d.chance(0.3) ? prologue::fused : prologue::copy;
                const auto epi = static_cast<epilogue>(d.in(0, 2));
                run<matmul_tiled>(*m,
                                  sample(d, t, s, pro, epi,
                                         d.chance(0.4) ? placing::dense : placing::any),
                                  count);
            }
    }
}

TEST_CASE("matmul: factors in rows or columns, in full vectors") {
    for (const auto& m : machines()) {
        tally count("matmul/transposed");
        dice d(14);
        for (const dtype t : {dtype::f32, dtype::f16, dtype::f64})
            for (int turned = 0; turned < (t == dtype::f64 ? 1 : 4); ++turned) {
                sample s(d, t, {{2}, 64, 40, 72}, prologue::copy, epilogue::store, placing::dense);
                if (turned & 1) s.p.a.leaves[0].steps = {64 * 72, 1, 64};
                if (turned & 2) s.p.b.leaves[0].steps = {40 * 72, 1, 72};
                s.p.epilogue.outputs[0].steps =
                    turned == 3 ? strides{64 * 40, 1, 64} : s.p.epilogue.outputs[0].steps;
                s.outputs[0].where = s.p.epilogue.outputs[0];
                s.allowed.clear();
                s.bound(t, prologue::copy, epilogue::store);
                run<matmul_tiled>(*m, s, count);
                run<matmul_cooperative>(*m, s, count);
            }
    }
}

TEST_CASE("matmul: no products, and offsets past 32 bits") {
    for (const auto& m : machines()) {
        tally count("matmul/edges");
        dice d(15);
        const sample none(d, dtype::f32, {{2}, 5, 7, 0}, prologue::copy, epilogue::bias,
                          placing::dense);
        run<matmul_tiled>(*m, none, count);
        run<matmul_split_k>(*m, none, count);
        run<matmul_cooperative>(*m,
                                sample(d, dtype::f16, {{}, 9, 4, 0}, prologue::copy,
                                       epilogue::several, placing::any),
                                count);
        const sample far(d, dtype::f32, {{2}, 8, 33, 20}, prologue::fused, epilogue::bias,
                         placing::any, true);
        run<matmul_tiled>(*m, far, count);
        run<matmul_split_k>(*m, far, count);
        run<matmul_cooperative>(*m,
                                sample(d, dtype::f16, {{2}, 24, 33, 40}, prologue::copy,
                                       epilogue::bias, placing::dense, true),
                                count);
    }
}

namespace {

bool any_way(const configuration&) { return true; }
bool of_four_rows(const configuration& way) { return way.sizes[0] >= 4; }
bool in_slices(const configuration& way) { return way.sizes[3] != 0; }
/// Parts of k are counted at run time: a few numbers of them stand for all.
bool in_some_parts(const configuration& way) {
    return way.sizes[3] == 0 || way.sizes[3] == 2 || way.sizes[3] == 16;
}

/// Every configuration in which the kernel takes the problem, of those that are asked for.
template <class Kernel>
void run_each(machine& m, const sample& s, tally& count,
              bool (*asked)(const configuration&) = any_way) {
    const support answer = Kernel::supports(s.p, m.info());
    CHECK_MESSAGE(answer.yes == !answer.ways.empty(), answer.reason);
    static int i = 0;
    for (const configuration& way : answer.ways)
        if (asked(way) && test::sampled(i++))
            check<Kernel>(m, s.p, s.w, s.outputs, s.allowed, s.about, count, &way);
}

}  // namespace

TEST_CASE("matmul: every size of tile and of cut") {
    for (const auto& m : machines()) {
        tally count("matmul/every configuration");
        dice d(16);
        const sample plain(d, dtype::f32, {{}, 140, 132, 36}, prologue::copy, epilogue::bias,
                           placing::dense);
        run_each<matmul_tiled>(*m, plain, count);
        run_each<matmul_split_k>(*m, plain, count, in_some_parts);
        // Where all of every tile is there.
        run_each<matmul_tiled>(*m,
                               sample(d, dtype::f32, {{}, 128, 256, 64}, prologue::copy,
                                      epilogue::store, placing::dense),
                               count);
        for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16}) {
            // Few rows over a factor that lies along its columns: in slices of k; of f16 by chunks
            // of eight.
            run_each<matmul_split_k>(*m,
                                     sample(d, t, {{2}, 5, t == dtype::f16 ? 264 : 260, 2048},
                                            prologue::copy, epilogue::several, placing::dense),
                                     count, in_some_parts);
            run_each<matmul_split_k>(*m,
                                     sample(d, t, {{}, 3, 37, 512}, prologue::fused, epilogue::bias,
                                            placing::any),
                                     count, in_some_parts);
            // Over one that lies along k, where an invocation of four rows has four columns.
            sample turned(d, t, {{}, 7, 37, 520}, prologue::copy, epilogue::bias, placing::dense);
            turned.p.b.leaves[0].steps = {1, 520};
            turned.allowed.clear();
            turned.bound(t, prologue::copy, epilogue::bias);
            if (t != dtype::f16) run_each<matmul_split_k>(*m, turned, count, of_four_rows);
        }
        // One column and two, along k and along rows.
        for (const std::int64_t n : {1, 2})
            for (const std::int64_t along : {0, 1}) {
                sample narrow(d, dtype::f32, {{}, 7, n, 520}, prologue::copy, epilogue::bias,
                              placing::dense);
                if (along == 1) narrow.p.b.leaves[0].steps = {1, 520};
                narrow.allowed.clear();
                narrow.bound(dtype::f32, prologue::copy, epilogue::bias);
                run_each<matmul_split_k>(*m, narrow, count, in_some_parts);
            }
        // So deep that slices of k are offered whatever lies together.
        run_each<matmul_split_k>(*m,
                                 sample(d, dtype::f32, {{}, 2, 10, 64 * 1024 + 16}, prologue::copy,
                                        epilogue::bias, placing::dense),
                                 count, in_slices);
        for (const dtype t : {dtype::f16, dtype::bf16}) {
            run_each<matmul_cooperative>(*m,
                                         sample(d, t, {{}, 140, 136, 136}, prologue::copy,
                                                epilogue::bias, placing::dense),
                                         count);
            run_each<matmul_packed>(*m,
                                    sample(d, t, {{2}, 37, 51, 133}, prologue::copy,
                                           epilogue::several, placing::dense),
                                    count);
            // In slices of k, of aligned factors and of others.
            run_each<matmul_cooperative>(*m,
                                         sample(d, t, {{2}, 72, 40, 512}, prologue::copy,
                                                epilogue::several, placing::dense),
                                         count);
            run_each<matmul_cooperative>(*m,
                                         sample(d, t, {{}, 33, 17, 256}, prologue::fused,
                                                epilogue::bias, placing::any),
                                         count);
        }
    }
}

TEST_CASE("matmul: products of few rows, columns or sums") {
    for (const auto& m : machines()) {
        tally count("matmul/split_k");
        dice d(13);
        for (const dtype t :
             {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::u8, dtype::i64})
            for (int i = 0; i < samples(t == dtype::f32 ? 12 : 3); ++i) {
                sizes s{random_shape(d, static_cast<int>(d.in(0, 2)), 6), d.in(1, 8), ragged(d),
                        ragged(d) * d.in(1, 3)};
                if (d.chance(0.3)) std::swap(s.m, s.n);
                if (d.chance(0.3)) s.m = ragged(d);
                const auto pro = d.chance(0.2) ? prologue::fused : prologue::copy;
                const auto epi = static_cast<epilogue>(d.in(0, 2));
                run<matmul_split_k>(*m,
                                    sample(d, t, s, pro, epi,
                                           d.chance(0.5) ? placing::dense : placing::any),
                                    count);
            }
    }
}

TEST_CASE("matmul: products in cooperative matrices") {
    bool any = false;
    for (const auto& m : machines()) {
        tally count("matmul/cooperative"), copied("matmul/packed");
        dice d(12);
        int of_f16 = 0;
        for (const dtype t : {dtype::f16, dtype::bf16, dtype::f8_e4m3, dtype::f8_e5m2}) {
            const int before = count.ran;
            for (int i = 0; i < samples(12); ++i) {
                const sizes s{random_shape(d, static_cast<int>(d.in(0, 2)), 6), ragged(d),
                              ragged(d), ragged(d)};
                const auto pro = d.chance(0.3) ? prologue::fused : prologue::copy;
                const auto epi = static_cast<epilogue>(d.in(0, 2));
                const sample of(d, t, s, pro, epi, d.chance(0.5) ? placing::dense : placing::any);
                run<matmul_cooperative>(*m, of, count);
                run<matmul_packed>(*m, of, copied);
            }
            // Floats of 8 bits are multiplied as f16 wherever that is.
            const int ran = count.ran - before;
            if (t == dtype::f16) of_f16 = ran;
            if (info(t).bits == 8) CHECK(ran == of_f16);
        }
        any = any || count.ran > 0;
    }
    if (!any) PUMICE_SKIP("cooperative-matrix", "no device lists cooperative f16 or bf16 matrices");
}

namespace {

/// A less exact kernel over ragged sizes and whole tiles; `off`: by how much of the sum of
/// magnitudes of k terms.
template <class Kernel>
int run_less_exact(machine& m, dtype t, double (*off)(std::int64_t k)) {
    tally count{std::string(Kernel::name)};
    dice d(17);
    const auto one = [&](const sizes& s, epilogue epi, placing lying) {
        return sample(d, t, s, prologue::copy, epi, lying).less_exact(t, epi, off(s.k));
    };
    for (int i = 0; i < samples(24); ++i)
        run<Kernel>(m,
                    one({random_shape(d, static_cast<int>(d.in(0, 2)), 6), ragged(d), ragged(d),
                         ragged(d)},
                        static_cast<epilogue>(d.in(0, 2)),
                        d.chance(0.5) ? placing::dense : placing::any),
                    count);
    run_each<Kernel>(m, one({{}, 256, 256, 128}, epilogue::store, placing::dense), count);
    return count.ran;
}

}  // namespace

TEST_CASE("matmul: f32 in parts of bf16") {
    int ran = 0;
    for (const auto& m : machines())
        ran += run_less_exact<matmul_bf16_3x>(*m, dtype::f32, [](std::int64_t) { return 0x1p-13; });
    if (ran == 0) PUMICE_SKIP("cooperative-kind", "no device lists cooperative bf16 matrices");
}

TEST_CASE("matmul: f16 summed in f16") {
    int ran = 0;
    for (const auto& m : machines())
        ran += run_less_exact<matmul_f16_accumulation>(*m, dtype::f16, [](std::int64_t k) {
            return 0x1p-11 * static_cast<double>(k + 2);
        });
    if (ran == 0)
        PUMICE_SKIP("cooperative-matrix", "no device sums cooperative f16 matrices in f16");
}

TEST_CASE("matmul: integers of 8 bits in cooperative matrices") {
    bool any = false;
    for (const auto& m : machines()) {
        tally count("matmul/cooperative 8-bit integers");
        dice d(18);
        for (const auto& [stored, t] : {std::pair(dtype::i8, dtype::i8),
                                        {dtype::u8, dtype::u8},
                                        {dtype::i8, dtype::i32},
                                        {dtype::u8, dtype::i32},
                                        {dtype::u8, dtype::u32},
                                        {dtype::i8, dtype::u32}}) {
            for (int i = 0; i < samples(3); ++i) {
                const auto lying = d.chance(0.5) ? placing::dense : placing::any;
                const auto pick = [&] { return d.chance(0.5) ? ragged(d) : d.in(1, 16) * 16; };
                const sizes z{random_shape(d, static_cast<int>(d.in(0, 2)), 4), pick(), pick(),
                              pick()};
                sample s(d, t, z, prologue::copy, static_cast<epilogue>(d.in(0, 1)), lying);
                if (stored != t) {
                    s.p.a = s.widened(stored, t, with(z.batch, z.m, z.k), lying);
                    s.p.b = s.widened(stored, t, with(z.batch, z.k, z.n), lying);
                }
                run<matmul_cooperative>(*m, s, count);
                if (i == 0) run_each<matmul_cooperative>(*m, s, count);
            }
        }
        any = any || count.ran > 0;
    }
    if (!any)
        PUMICE_SKIP("cooperative-kind", "no device lists fragments of 8-bit integers of 16 bytes");
}
