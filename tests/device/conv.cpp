// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions on every device against their reference: groups, strides, dilations, pads, windows,
// any layout, fused prologues and epilogues.
#include "kernel_harness.hpp"

#include <pumice/kernels/conv_channels.hpp>
#include <pumice/kernels/conv_direct.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/spacing.hpp>

#include <cmath>

using namespace test;

namespace {

/// By how much of the sum of magnitudes of k terms a kernel is off that is less exact.
using inexactness = double (*)(double k);
double exact(double) { return 0; }

struct sample {
    workspace w;
    conv_problem p;
    std::vector<result> outputs;
    std::vector<tolerance> allowed;
    std::string about;

    sample(dice& d, dtype t, const conv_problem& shape_of, bool fused_input, bool epilogue,
           placing where, bool high = false, inexactness more = exact)
        : w(d, high), p(shape_of) {
        p.accumulator = t == dtype::f64 ? dtype::f64 : dtype::f32;
        const conv_op& op = p.shape_of;
        for (int i = 0; i < 2; ++i)
            p.out_size[i] = (p.in_size[i] + op.pad_begin[i] + op.pad_end[i] -
                             (p.window[i] - 1) * op.dilation[i] - 1) /
                                op.stride[i] +
                            1;
        const shape in{p.batch, p.in_channels, p.in_size[0], p.in_size[1]},
            weights{p.out_channels, p.in_channels / op.group, p.window[0], p.window[1]},
            out{p.batch, p.out_channels, p.out_size[0], p.out_size[1]};
        p.weight = reads(w.input(t, weights, where));
        maker m;
        const auto x = m.leaf(w.input(t, in, where));
        // Not 0 where the input is 0: padding must come after the prologue. Of two leaves, one of
        // them repeated, or of three: the parameters behind it lie at other places.
        if (fused_input && d.chance(0.5)) {
            operand bias = w.input(t, {p.in_channels}, where);
            bias.steps = {0, bias.steps[0], 0, 0};
            p.input = m.build({m.apply<op::relu>(m.apply<op::add>(x, m.leaf(bias)))});
        } else if (fused_input) {
            p.input = m.build({m.apply<op::relu>(
                m.apply<op::add>(m.apply<op::multiply>(x, m.leaf(w.input(t, in, where))),
                                 m.leaf(w.input(t, in, where))))});
        } else {
            p.input = m.build({x});
        }
        maker e;
        const auto g = e.given(t);
        std::vector<std::uint16_t> values{g};
        if (epilogue) {
            operand bias = w.input(t, {p.out_channels}, where);
            bias.steps = {0, bias.steps[0], 0, 0};
            values[0] = e.apply<op::relu>(e.apply<op::add>(g, e.leaf(bias)));
            values.push_back(e.apply<op::add>(g, e.leaf(w.input(t, out, where))));
        }
        array_list<operand> stored;
        for (std::size_t i = 0; i < values.size(); ++i) {
            stored.push_back(w.output(t, out, where));
            outputs.push_back({stored.back(), out});
        }
        p.epilogue = e.build(values, stored);
        about = std::string(to_string(t)) + " input " + to_string(in) + " weight " +
                to_string(weights) + " group " + std::to_string(op.group) + " stride " +
                std::to_string(op.stride[0]) + "," + std::to_string(op.stride[1]) + " dilation " +
                std::to_string(op.dilation[0]) + "," + std::to_string(op.dilation[1]) + " pads " +
                std::to_string(op.pad_begin[0]) + "," + std::to_string(op.pad_begin[1]) + "," +
                std::to_string(op.pad_end[0]) + "," + std::to_string(op.pad_end[1]) +
                (fused_input ? " fused" : "") + (epilogue ? " epilogue" : "");
        if (is_floating(t)) bound(t, in, weights, out, fused_input, epilogue, more);
        else allowed.push_back({});
    }

    /// As for matrix products; sum |a b| comes from the reference, run on magnitudes in f64.
    void bound(dtype t, const shape& in, const shape& weights, const shape& out, bool fused_input,
               bool epilogue, inexactness more) {
        conv_problem q = p;
        std::vector<bytes> from = w.magnitudes(t);
        const host_buffers source = w.host(from);
        std::vector<bytes> memory;
        const auto in_double = [&](const fused& f, const shape& domain) {
            host_rows values(f, source);
            std::vector<double> all(static_cast<std::size_t>(element_count(domain)));
            double* to = all.data();
            for_each_row(domain, [&](const index_list& row) {
                index_list at = row;
                at.push_back(0);
                values.read(at, dtype::f64, reinterpret_cast<std::byte*>(to), domain.back());
                to += domain.back();
            });
            const auto* first = reinterpret_cast<const std::byte*>(all.data());
            memory.emplace_back(first, first + all.size() * sizeof(double));
            return reads({static_cast<int>(memory.size()) - 1, dtype::f64, 0,
                          row_major_strides(domain)});
        };
        q.input = in_double(p.input, in);
        q.weight = in_double(p.weight, weights);
        memory.emplace_back(static_cast<std::size_t>(element_count(out)) * sizeof(double));
        q.epilogue = stores(dtype::f64, {2, dtype::f64, 0, row_major_strides(out)});
        host_buffers host;
        for (bytes& b : memory) host.memory.push_back(b.data());
        reference(q, host);
        std::vector<double> sums(static_cast<std::size_t>(element_count(out)));
        std::memcpy(sums.data(), memory[2].data(), memory[2].size());
        const double e = epsilon(t == dtype::f64 ? dtype::f64 : dtype::f32);
        const double lost =
            fused_input && t != dtype::f64 && t != dtype::f32 ? 1.1 * epsilon(t) : 0;
        const auto k = static_cast<double>(weights[1] * weights[2] * weights[3]);
        for (double& s : sums)
            s = s * (4 * e * std::max(1.0, std::log2(k + 1)) + lost + more(k)) +
                (epilogue ? 8 * e * (s + 300) : 0);
        allowed.push_back({2, std::move(sums)});
    }
};

conv_problem geometry(std::int64_t n, std::int64_t in, std::int64_t out, std::int64_t height,
                      std::int64_t width, std::int64_t window, int group = 1, int stride = 1,
                      int pad = 0, int dilation = 1) {
    conv_problem p;
    p.batch = n;
    p.in_channels = in;
    p.out_channels = out;
    p.in_size[0] = height, p.in_size[1] = width;
    p.window[0] = p.window[1] = window;
    p.shape_of.group = group;
    for (int i = 0; i < 2; ++i) {
        p.shape_of.stride[i] = stride;
        p.shape_of.dilation[i] = dilation;
        p.shape_of.pad_begin[i] = p.shape_of.pad_end[i] = pad;
    }
    return p;
}

/// Any geometry with a result, a few thousand products an output channel.
conv_problem random_geometry(dice& d) {
    const int group = d.chance(0.3) ? static_cast<int>(d.in(2, 4)) : 1;
    conv_problem p = geometry(d.in(1, 3), group * d.in(1, 6), group * d.in(1, 9), d.in(1, 20),
                              d.in(1, 20), 1, group);
    for (int i = 0; i < 2; ++i) {
        p.shape_of.stride[i] = static_cast<int>(d.in(1, 3));
        p.shape_of.pad_begin[i] = static_cast<int>(d.in(0, 3));
        p.shape_of.pad_end[i] = static_cast<int>(d.in(0, 3));
        const std::int64_t room = p.in_size[i] + p.shape_of.pad_begin[i] + p.shape_of.pad_end[i];
        p.window[i] = d.in(1, std::min<std::int64_t>(room, 5));
        if (p.window[i] > 1)
            p.shape_of.dilation[i] =
                static_cast<int>(d.in(1,
                                      std::min<std::int64_t>(3, (room - 1) / (p.window[i] - 1))));
    }
    return p;
}

/// Convolutions of known models, cut down.
const std::vector<conv_problem>& known() {
    static const std::vector<conv_problem> list{
        geometry(1, 1, 8, 28, 28, 5, 1, 1, 2),     // mnist-12
        geometry(1, 8, 16, 14, 14, 5, 1, 1, 2),    //
        geometry(1, 16, 24, 14, 14, 1),            // a matrix
        geometry(2, 24, 40, 9, 8, 1),              // a matrix for each image
        geometry(3, 8, 8, 7, 7, 1),                // small images together
        geometry(1, 8, 12, 14, 14, 1, 1, 2),       // every other element
        geometry(1, 16, 16, 13, 13, 3, 16, 1, 1),  // a window for each channel
        geometry(1, 3, 16, 33, 31, 7, 1, 2, 3),    // the first of a residual network
    };
    return list;
}

template <class Kernel>
void run(machine& m, const sample& s, tally& count) {
    check<Kernel>(m, s.p, s.w, s.outputs, s.allowed, s.about, count);
}

}  // namespace

TEST_CASE("conv: windows in plain arithmetic") {
    for (const auto& m : machines()) {
        tally count("conv/tiled");
        dice d(21);
        for (const conv_problem& p : known())
            run<conv_tiled>(*m, sample(d, dtype::f32, p, false, d.chance(0.5), placing::dense),
                            count);
        for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32})
            for (int i = 0; i < samples(t == dtype::f32 ? 6 : 2); ++i)
                run<conv_tiled>(*m,
                                sample(d, t, random_geometry(d), d.chance(0.4), d.chance(0.5),
                                       d.chance(0.3) ? placing::dense : placing::any),
                                count);
    }
}

TEST_CASE("conv: an output channel at a time") {
    for (const auto& m : machines()) {
        tally count("conv/direct");
        dice d(26);
        std::vector<conv_problem> all = known();
        all.push_back(geometry(2, 12, 12, 19, 23, 3, 12, 2, 1));  // every other line
        all.push_back(geometry(1, 6, 12, 40, 9, 5, 6, 1, 2));     // two outputs of each channel
        all.push_back(geometry(1, 4, 4, 20, 20, 3, 4, 1, 2, 2));  // a window with gaps
        all.push_back(geometry(1, 2, 2, 30, 30, 9, 2, 1, 4));     // a large window
        all.push_back(geometry(3, 5, 5, 1, 7, 1, 5));             // one line
        all.push_back(geometry(2, 3, 3, 9, 24, 3, 3, 1, 1));      // in runs along x
        all.push_back(geometry(1, 3, 6, 11, 32, 3, 3, 2, 1));     // of every other element
        all.push_back(geometry(1, 4, 4, 8, 16, 3, 2, 1, 2, 2));   // with gaps
        all.push_back(geometry(1, 2, 2, 5, 8, 5, 2, 1, 2));       // mostly padding
        all.push_back(geometry(1, 2, 2, 5, 8, 1, 2, 1, 4));       // more outputs than inputs
        for (const conv_problem& p : all)
            for (const dtype t : {dtype::f32, dtype::f16})
                run<conv_direct>(*m, sample(d, t, p, false, d.chance(0.5), placing::dense), count);
        for (const dtype t :
             {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::i64})
            for (int i = samples(12); i > 0; --i)
                run<conv_direct>(*m,
                                 sample(d, t, random_geometry(d), d.chance(0.4), d.chance(0.5),
                                        placing::any),
                                 count);
    }
}

TEST_CASE("conv: few sums, cut along their products") {
    for (const auto& m : machines()) {
        tally count("conv/split_k");
        dice d(24);
        for (const conv_problem& p : known())
            run<conv_split_k>(*m, sample(d, dtype::f32, p, false, d.chance(0.5), placing::dense),
                              count);
        for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32})
            for (int i = 0; i < samples(t == dtype::f32 ? 6 : 2); ++i)
                run<conv_split_k>(*m,
                                  sample(d, t, random_geometry(d), d.chance(0.4), d.chance(0.5),
                                         d.chance(0.3) ? placing::dense : placing::any),
                                  count);
    }
}

TEST_CASE("conv: channels that lie together") {
    for (const auto& m : machines()) {
        tally count("conv/channels");
        dice d(27);
        // Channels that are no whole chunks; groups; gaps, strides, a border; slices of k, two
        // images and two groups, whose factors are copied or lie so already, and results likewise.
        const conv_problem list[] = {
            geometry(1, 3, 16, 17, 15, 7, 1, 2, 3), geometry(3, 4, 6, 9, 8, 3, 1, 2, 1),
            geometry(2, 24, 20, 11, 7, 3, 2, 1, 2, 2), geometry(2, 16, 9, 6, 5, 3, 1, 1, 1),
            geometry(2, 64, 36, 5, 7, 2, 2)};
        for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16}) {
            for (const conv_problem& p : list)
                for (const bool last : {false, true})
                    run<conv_channels>(*m,
                                       sample(d, t, p, d.chance(0.3), d.chance(0.5),
                                              last ? placing::channels_last : placing::dense),
                                       count);
            for (const placing lying : {placing::dense, placing::channels_last}) {
                const sample two(d, t, list[4], false, true, lying);
                for (const configuration& way : conv_channels::supports(two.p, m->info()).ways)
                    if (way.sizes[3] == 2 && way.sizes[0] == 32 && way.sizes[1] == 32)
                        check<conv_channels>(*m, two.p, two.w, two.outputs, two.allowed, two.about,
                                             count, &way);
            }
            for (int i = 0; i < samples(2); ++i)
                run<conv_channels>(*m,
                                   sample(d, t, random_geometry(d), d.chance(0.4), d.chance(0.5),
                                          d.chance(0.5) ? placing::channels_last : placing::any),
                                   count);
        }
    }
}

TEST_CASE("conv: offsets past 32 bits") {
    for (const auto& m : machines()) {
        tally count("conv/far");
        dice d(23);
        const conv_problem p = geometry(2, 4, 6, 9, 8, 3, 2, 1, 1);
        run<conv_tiled>(*m, sample(d, dtype::f32, p, true, true, placing::any, true), count);
        run<conv_split_k>(*m, sample(d, dtype::f32, p, true, true, placing::any, true), count);
        run<conv_direct>(*m, sample(d, dtype::f32, p, true, true, placing::any, true), count);
        run<conv_cooperative>(*m, sample(d, dtype::f16, p, false, true, placing::any, true), count);
        for (const placing lying : {placing::any, placing::channels_last})
            run<conv_channels>(*m, sample(d, dtype::f16, p, true, true, lying, true), count);
        const conv_problem whole = geometry(2, 8, 6, 9, 8, 3, 1, 2, 1);  // read where it lies
        run<conv_channels>(*m,
                           sample(d, dtype::f32, whole, false, true, placing::channels_last, true),
                           count);
    }
}

TEST_CASE("conv: windows in cooperative matrices") {
    bool any = false;
    for (const auto& m : machines()) {
        tally count("conv/cooperative");
        dice d(22);
        for (const conv_problem& p : known())
            run<conv_cooperative>(*m,
                                  sample(d, dtype::f16, p, false, d.chance(0.5), placing::dense),
                                  count);
        for (const dtype t : {dtype::f16, dtype::bf16})
            for (int i = 0; i < samples(5); ++i)
                run<conv_cooperative>(*m,
                                      sample(d, t, random_geometry(d), d.chance(0.4), d.chance(0.5),
                                             d.chance(0.3) ? placing::dense : placing::any),
                                      count);
        any = any || count.ran > 0;
    }
    if (!any) PUMICE_SKIP("cooperative-matrix", "no device lists cooperative f16 or bf16 matrices");
}

TEST_CASE("conv: windows in fragments of less exact kernels, and of 8-bit integers") {
    int halves = 0, others = 0;
    for (const auto& m : machines()) {
        tally sums("conv/f16_accumulation"), parts("conv/bf16_3x"),
            integers("conv/cooperative 8-bit integers");
        dice d(24);
        for (int i = 0; i < samples(5); ++i) {
            const conv_problem p = random_geometry(d);
            const auto lying = d.chance(0.3) ? placing::dense : placing::any;
            const bool epilogue = d.chance(0.5);
            run<conv_f16_accumulation>(*m,
                                       sample(d, dtype::f16, p, false, epilogue, lying, false,
                                              [](double k) { return 0x1p-11 * (k + 2); }),
                                       sums);
            run<conv_bf16_3x>(*m,
                              sample(d, dtype::f32, p, false, epilogue, lying, false,
                                     [](double) { return 0x1p-13; }),
                              parts);
            if (i < 2)
                run<conv_cooperative>(*m,
                                      sample(d, i == 0 ? dtype::i8 : dtype::u8, p, false, epilogue,
                                             lying),
                                      integers);
        }
        halves += sums.ran;
        others += parts.ran + integers.ran;
    }
    if (halves + others == 0)
        PUMICE_SKIP("cooperative-matrix", "no device sums cooperative f16 matrices in f16");
}
