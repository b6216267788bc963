// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions whose groups have few channels, so that memory limits them (shaders/conv.slang).
#pragma once

#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/detail/rows.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// An output channel at a time, by plain arithmetic. Configurations: outputs of an invocation, one
/// below the other, which share what they read, and beside each other, where they are read and
/// written in runs.
struct conv_direct {
    using problem_type = conv_problem;
    static constexpr std::string_view name = "conv/direct";
    static constexpr bool portable = false;

    static support supports(const conv_problem& p, const device_info& device) {
        support s = detail::supports_convolution(p, device);
        if (!s.yes) return s;
        if (support index = supports_index(is_wide(p), device); !index.yes) return index;
        if (p.in_size[0] * p.in_size[1] == 0) return support::no("there is nothing to read");
        const shape out = output_of(p);
        const device_rates rates = device.rates();
        const double bytes = bytes_of(p.input, input_of(p)) + bytes_of(p.weight, weights_of(p)) +
                             bytes_of(p.epilogue, out),
                     taps = static_cast<double>(p.window[0] * p.window[1]) *
                            static_cast<double>(p.in_channels / p.shape_of.group);
        const auto offer = [&](int run) {
            for (const int lines : {1, 2, 4, 8}) {
                if (lines > 1 && (!shares(p) || lines >= 2 * p.out_size[0])) break;
                if (lines * run > most_outputs) break;
                const double invocations =
                    static_cast<double>(element_count(grid_of(p, lines, run)));
                // Reads that caches answer, as plain operations. Where workgroups are fewer than
                // keep the device busy, each has its part of it all the same.
                const double window = static_cast<double>(p.window[0]),
                             shared = (window + (lines - 1) * p.shape_of.stride[0]) / window,
                             reads = run == 1
                                         ? 1.0
                                         : reads_of_runs(p, run) / static_cast<double>(p.window[1]),
                             work = taps *
                                    (2.0 * lines * run +
                                     shared * reads *
                                         (access + run * detail::prologue_work(p.input, access))),
                             busy = std::max(invocations, rates.groups * 256);
                s.ways.push_back({{lines, run},
                                  std::hypot(seconds_to_move(device, bytes, 0.9, invocations,
                                                             (run == 1 ? 32 : 64) * lines),
                                             rates.launch + rates.latency +
                                                 busy * work / rates.arithmetic)});
            }
        };
        offer(1);
        if (const vector_runs r = runs(p)) offer(r.elements);
        return s;
    }
    static launch make(const conv_problem& p, const device_info& device, const configuration& way) {
        const conv_op& op = p.shape_of;
        const bool wide = is_wide(p);
        const int lines = way.sizes[0], run = way.sizes[1];
        const shape grid = grid_of(p, lines, run), input = input_of(p), weights = weights_of(p),
                    output = output_of(p);
        const bool known = small(p);
        launch l("conv", run > 1 ? "directRuns" : "direct",
                 {emitted_name(p.input.body->view()), emitted_name(p.weight.body->view()),
                  emitted_name(p.epilogue.body->view()), index_type(wide),
                  slang_name(info(p.input.type()).arithmetic)},
                 {&p.input, &p.weight, &p.epilogue});
        if (run == 1) l.specialise({by_channels(p) ? 1 : 0});
        l.specialise({lines, lines > 1 ? op.stride[0] : 0, known ? p.window[0] : 0,
                      known ? p.window[1] : 0});
        if (run > 1)
            l.specialise({depthwise(p) ? 1 : 0, op.stride[1], op.dilation[1], op.pad_begin[1], run,
                          runs(p).masks[0], runs(p).masks[1], reads_own(p, run) ? 1 : 0});
        l.threads = group;
        const std::int64_t count = element_count(grid);
        const std::uint32_t width = spread(l, (count + group - 1) / group, device);
        write_block(l, wide, "DirectParams",
                    {{"P.Args input", block::arguments{p.input, input}},
                     {"K.Args weight", block::arguments{p.weight, weights}},
                     {"E.Args output", block::arguments{p.epilogue, output}},
                     {"Places<P, I, 2> reads", block::places{p.input, 2}},
                     {"Steps<P, I, 2> window", block::steps{p.input, 2, 2}},
                     {"Places<K, I, 4> weights", block::places{p.weight, 4}},
                     {"Places<E, I, 4> writes", block::places{p.epilogue, 4}},
                     {"Extents<I, 4> extent", block::extents{grid}},
                     {"I count", count},
                     {"int channels", p.in_channels / op.group},
                     {"int outputs", p.out_channels / op.group},
                     {"int lines", p.out_size[0]},
                     {"int size[2]", p.in_size},
                     {"int taps[2]", p.window},
                     {"int stride[2]", op.stride},
                     {"int dilation[2]", op.dilation},
                     {"int padBegin[2]", op.pad_begin},
                     {"uint width", width}});
        return l;
    }

private:
    static constexpr int group = 128;        // invocations: small, since each takes many registers
    static constexpr int most_runs = 4;      // of a line, likewise
    static constexpr int most_outputs = 16;  // sums that an invocation has registers for
    static constexpr double access = 24;  // plain operations in the time of a read and its address

    static shape input_of(const conv_problem& p) {
        return {p.batch, p.in_channels, p.in_size[0], p.in_size[1]};
    }
    static shape weights_of(const conv_problem& p) {
        return {p.out_channels, p.in_channels / p.shape_of.group, p.window[0], p.window[1]};
    }
    static shape output_of(const conv_problem& p) {
        return {p.batch, p.out_channels, p.out_size[0], p.out_size[1]};
    }
    static bool is_wide(const conv_problem& p) {
        return needs_wide_index(p.input.leaves, input_of(p)) ||
               needs_wide_index(p.weight.leaves, weights_of(p)) ||
               needs_wide_index(all_operands(p.epilogue), output_of(p));
    }
    /// Whether each group has one channel and one output: the kernel then needs neither a loop
    /// nor a division for it.
    static bool depthwise(const conv_problem& p) {
        return p.in_channels == p.shape_of.group && p.out_channels == p.shape_of.group;
    }
    /// Whether the kernel has the window as constants.
    static bool small(const conv_problem& p) { return p.window[0] * p.window[1] <= 32; }
    /// Whether outputs that lie below each other read some of the same lines.
    static bool shares(const conv_problem& p) {
        const conv_op& op = p.shape_of;
        return small(p) && op.dilation[0] == 1 && op.stride[0] < p.window[0];
    }
    /// Whether channels are innermost in memory.
    static bool by_channels(const conv_problem& p) {
        return p.epilogue.outputs[0].steps[1] < p.epilogue.outputs[0].steps[3];
    }
    /// In which runs along x the input is read and the output written; 1 element where they are
    /// not.
    static vector_runs runs(const conv_problem& p) {
        if (by_channels(p) || !small(p) || p.shape_of.stride[1] > 2) return {};
        vector_runs read = runs_of({&p.input}, input_of(p), true), none;
        const vector_runs write = runs_of({&p.epilogue}, output_of(p), true, read.elements);
        if (!write) return none;
        if (write.elements < read.elements)
            read = runs_of({&p.input}, input_of(p), true, write.elements);
        if (read.elements != write.elements || reads_of_runs(p, write.elements) > most_runs)
            return none;
        read.masks[1] = write.masks[0];
        return read;
    }
    /// Runs of a line that hold what a run of results reads.
    static int reads_of_runs(const conv_problem& p, int run) {
        const conv_op& op = p.shape_of;
        const std::int64_t pad = op.pad_begin[1], shift = (pad + run - 1) / run * run - pad;
        return static_cast<int>((shift + (run - 1) * op.stride[1] +
                                 (p.window[1] - 1) * op.dilation[1] + run) /
                                run);
    }
    /// Whether each run of results reads a whole run of the input from its own x, times the stride.
    static bool reads_own(const conv_problem& p, int run) {
        return (p.out_size[1] - run) * p.shape_of.stride[1] + run <= p.in_size[1];
    }
    static shape grid_of(const conv_problem& p, int lines, int run) {
        const std::int64_t high = (p.out_size[0] + lines - 1) / lines;
        return by_channels(p) ? shape{p.batch, high, p.out_size[1], p.out_channels}
                              : shape{p.batch, p.out_channels, high, p.out_size[1] / run};
    }
};

static_assert(kernel_type<conv_direct>);

}}  // namespace pumice::PUMICE_ABI
