// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a step of a loop costs above its kernels: loops of 1 000 steps, recorded and evaluated,
// beside the same kernels recorded one after the other. An argument is another number of steps.
#include <bench/support/measure.hpp>

#include <pumice/tensor/control.hpp>

#include <cstdlib>

namespace pm = pumice;

namespace {

using number = pm::tensor<std::int32_t, pm::dims<0>>;
using body = std::function<pm::any_tensor(const pm::any_tensor& x, const pm::any_tensor& z)>;

double latency(const pm::executable& e, std::span<const pm::any_tensor> inputs) {
    return bench::median(bench::measure_recorded(e, inputs, 20, 2).sync);
}

/// Microseconds a step, and what of them is not the kernels'.
void line(const std::string& name, int steps, double us, double kernels) {
    bench::json_line()
        .add("case", "loop_" + name)
        .add("us_a_step", us / steps)
        .add("above_kernels_us", (us - kernels) / steps);
}

void compare(const pm::context& home, const std::string& name, int steps, const pm::shape& extent,
             const body& step) {
    const pm::any_tensor x = pm::full(pm::dtype::f32, extent, 0.001, home),
                         z = pm::full(pm::dtype::f32, extent, 0.001, home);
    pm::eval(x, z);
    const pm::any_tensor inputs[] = {x, z};
    const auto chain = pm::compile([&](pm::any_tensor v, const pm::any_tensor& w) {
        for (int i = 0; i < steps; ++i) v = step(v, w);
        return v;
    });
    const auto counted = [&](const pm::any_tensor& v, const pm::any_tensor& w) {
        return pm::fori_loop(
            0, steps, [&](const number&, const pm::any_tensor& a) { return step(a, w); }, v);
    };
    // A chain has no counter, a loop one of an i32, which its steps may read.
    const auto counting = [&](const pm::any_tensor& v, const pm::any_tensor& w) {
        const pm::any_tensor least = pm::full(pm::dtype::i32, {}, steps, home);
        return pm::while_loop(
            [&](const pm::any_tensor& i, const pm::any_tensor&) {
                return pm::apply<pm::op::less>(i, least);
            },
            [&](const pm::any_tensor& i, const pm::any_tensor& a) {
                return std::tuple(pm::apply<pm::op::add>(i, pm::scalar(pm::dtype::i32, 1)),
                                  step(a, w));
            },
            pm::full(pm::dtype::i32, {}, 0, home), v);
    };
    const double kernels = latency(chain.get(x, z), inputs);
    line(name + "_kernels", steps, kernels, kernels);
    const auto recorded = pm::compile(counted);
    line(name + "_fori_loop", steps, latency(recorded.get(x, z), inputs), kernels);
    line(name + "_fori_loop_evaluated", steps,
         bench::median(bench::measure_calls([&](std::size_t) { return counted(x, z); }, 20, 2)
                           .sync),
         kernels);
    const auto tested = pm::compile([&](const pm::any_tensor& v, const pm::any_tensor& w) {
        return std::get<1>(counting(v, w));
    });
    line(name + "_while_loop", steps, latency(tested.get(x, z), inputs), kernels);
}

}  // namespace

int main(int count, char** arguments) try {
    const int steps = count > 1 ? std::atoi(arguments[1]) : 1000;
    const pm::context home{pm::fusion::none{}};  // so that a chain has a kernel for each step
    {
        bench::json_line l;
        bench::add_machine(l, home);
        l.add("steps", steps);
    }
    compare(home, "add_f32_4096", steps, {4096},
            [](const pm::any_tensor& x, const pm::any_tensor& z) { return x + z; });
    compare(home, "matmul_f32_256", steps, {256, 256},
            [](const pm::any_tensor& x, const pm::any_tensor& z) { return pm::matmul(x, z); });
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
