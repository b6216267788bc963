// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products, rows, elementwise work, convolutions: queued, with a submit each; alone and waited for;
// and the kernels by the device's clock. usage: [regular expression of names] [divisor of sizes]
#include <bench/support/ceilings.hpp>
#include <bench/tensor/cases.hpp>

#include <pumice/policy/passes.hpp>

#include <cstdlib>
#include <limits>

namespace pm = pumice;

namespace {

constexpr double cache = 64e6;  // bytes; operands rotate through four times as many

double bytes_of(const bench::tensor_case& c) {
    double sum = 0;
    for (const bench::tensor_input& i : c.inputs)
        sum += double(pm::element_count(i.extent)) * pm::info(i.type).bits / 8;
    return sum;
}

/// Sets of operands of a case, taken in turn.
class rotation {
public:
    rotation(const bench::tensor_case& c, const pm::context& home, double shrink)
        : op_(c.op), width_(c.inputs.size()) {
        const auto sets =
            static_cast<std::size_t>(std::clamp(4 * cache / (shrink * shrink) / bytes_of(c), 1.0,
                                                256.0));
        std::uint32_t key = 0;
        for (std::size_t s = 0; s < sets; ++s)
            for (const bench::tensor_input& i : c.inputs) {
                const bool whole = !pm::is_floating(i.type);
                operands_.push_back(pm::random::normal(whole ? pm::dtype::f32 : i.type, i.extent,
                                                       pm::random::key(++key), 0,
                                                       whole ? 30 : i.scale, home));
                if (whole) operands_.back() = pm::astype(operands_.back(), i.type);
                pm::eval(std::span(&operands_.back(), 1));
            }
        bench::drain(operands_.back());
    }
    pm::any_tensor operator()(std::size_t i) const {
        const std::size_t sets = operands_.size() / width_;
        return op_(std::span(operands_).subspan(i % sets * width_, width_));
    }

private:
    const std::function<pm::any_tensor(bench::tensor_case::operands)>& op_;
    std::size_t width_;
    std::vector<pm::any_tensor> operands_;
};

struct homes {
    pm::context each{pm::gathering::none{}}, gathered,
        fused{pm::gathering::none{}, pm::without_pass{"store_prologues"}},
        reduced{pm::gathering::none{}, pm::precision::bf16_3x{}, pm::precision::f16_accumulation{}};
    const pm::context& of(bench::tensor_case::policies by) const {
        using policies = bench::tensor_case::policies;
        return by == policies::usual ? each : by == policies::fused_whatever ? fused : reduced;
    }
};

void run(const bench::tensor_case& c, const homes& on, const bench::ceilings& most,
         std::int64_t shrink) {
    const pm::context& home = on.of(c.by);
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    double kernel = unknown, gathered = unknown;
    const rotation call(c, home, double(shrink));
    const double busy = shrink > 1 ? 0 : 0.2;
    bench::keep_busy(home, busy);
    const bench::timing t = bench::measure_calls(std::cref(call));
    if (home.device().timestamp_period > 0) {
        std::size_t i = 0;
        bench::keep_busy(home, busy);
        kernel = 1e6 * pm::kernel_seconds(home, [&] { return call(i++); });
    }
    if (bytes_of(c) < 64e6 &&
        c.by == bench::tensor_case::policies::usual) {  // where the host's part may be seen
        const rotation again(c, on.gathered, double(shrink));
        bench::keep_busy(on.gathered, busy);
        gathered = bench::measure_calls(std::cref(again)).queued;
    }
    const double judged = std::isnan(kernel) ? t.queued : kernel;
    const bool matrices =
        pm::info(c.inputs[0].type).bits < 32 || c.by == bench::tensor_case::policies::reduced;
    const double rate = matrices && most.matrix > 0 ? most.matrix : most.arithmetic;

    bench::json_line line;
    line.add("case", c.name);
    bench::add_timing(line, t);
    line.add("kernel_us", kernel).add("gathered_us", gathered);
    if (c.flop > 0) line.add("tflops", c.flop / judged * 1e-6);
    if (c.bytes > 0) line.add("gbps", c.bytes / judged * 1e-3);
    if (most.copy > 0)
        line.add("share", std::max(c.flop / rate, c.bytes / most.copy) / (judged * 1e-6));
    pm::any_tensor one = call(0);
    pm::eval(std::span(&one, 1));
    const std::string kernels = "\n" + pm::explain(one);  // a line that is not indented for each
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < kernels.size(); ++i)
        count += kernels[i] == '\n' && kernels[i + 1] != ' ';
    line.add("kernel", kernels.substr(1, kernels.find('\n', 1) - 1)).add("kernels", double(count));
}

}  // namespace

int main(int argc, char** argv) try {
    const bench::filter asked(argc > 1 ? argv[1] : nullptr);
    const std::int64_t shrink = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1;
    const homes on;
    const bench::ceilings most = bench::measure_ceilings(on.each, shrink);
    {
        bench::json_line line;
        bench::add_machine(line, on.each);
        bench::add_ceilings(line, most);
        line.add("shrink", double(shrink));
    }
    const bench::tensor_cases cases(shrink);
    for (const bench::tensor_case& c : cases.list()) {
        if (!asked.takes(c.name)) continue;
        try {
            run(c, on, most, shrink);
        } catch (const pm::error& e) {
            bench::json_line().add("case", c.name).add("error", e.what());
        }
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
