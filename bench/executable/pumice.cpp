// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Chains of adds, recorded: what a kernel and a barrier cost, alone and within megakernels, and the
// line C + S N through the latencies of chains of N. Names as in bench/peers/torch_ref.py. usage:
// [regular expression]
#include <bench/support/measure.hpp>

namespace pm = pumice;

namespace {

const bench::filter* asked = nullptr;

/// The median latency of a chain, 0 where nobody asks for it.
double chain(const pm::context& home, const std::string& name, int length, std::int64_t count) {
    if (!asked->takes(name)) return 0;
    const auto add = pm::compile([length](pm::any_tensor x, const pm::any_tensor& z) {
        for (int i = 0; i < length; ++i) x = x + z;
        return x;
    });
    const pm::any_tensor inputs[] = {pm::full(pm::dtype::f32, {count}, 1, home),
                                     pm::full(pm::dtype::f32, {count}, 0, home)};
    pm::eval(inputs);
    const pm::executable e = add.get(inputs[0], inputs[1]);
    const std::uint64_t before = home.stats().barriers, kernels = home.stats().dispatches;
    e.run(inputs);
    const std::uint64_t barriers = home.stats().barriers - before;
    const std::uint64_t dispatches = home.stats().dispatches - kernels;
    const bench::timing t = bench::measure_recorded(e, inputs, 120);
    bench::json_line line;
    line.add("case", name).add("med_us", t.queued).add("min_us", t.queued_least);
    bench::add_distribution(line, "sync", t.sync);
    line.add("kernels", double(dispatches)).add("barriers", double(barriers));
    return bench::median(t.sync);
}

/// The least squares, of relative deviations: a chain of 10 000 would be all that counts otherwise.
void fit(const std::string& name, const std::vector<std::pair<double, double>>& points) {
    double w = 0, n = 0, nn = 0, t = 0, nt = 0;
    for (const auto& [length, us] : points) {
        if (us <= 0) return;
        const double weight = 1 / (us * us);
        w += weight, n += weight * length, nn += weight * length * length;
        t += weight * us, nt += weight * length * us;
    }
    const double slope = (w * nt - n * t) / (w * nn - n * n);
    bench::json_line()
        .add("case", name)
        .add("mode", "fit")
        .add("C_us", (t - slope * n) / w)
        .add("S_us", slope);
}

}  // namespace

int main(int argc, char** argv) try {
    const bench::filter names(argc > 1 ? argv[1] : nullptr);
    asked = &names;
    const pm::context fused, unfused{pm::fusion::none{}},
        joined{pm::fusion::none{}, pm::megakernels{}};
    {
        bench::json_line line;
        bench::add_machine(line, fused);
    }
    const std::pair<const pm::context*, std::string> ways[] = {
        {&fused, "_f32"}, {&unfused, "_f32_unfused"}, {&joined, "_f32_megakernels"}};
    for (const auto& [home, end] : ways) {
        std::vector<std::pair<double, double>> points;
        for (const int n : {1, 2, 4, 8, 10, 16, 32, 64, 100, 1000, 10000}) {
            const std::string name = "chain_add_n" + std::to_string(n) + end;
            points.emplace_back(n, chain(*home, name, n, 1));
        }
        fit("chain_add" + end, points);
        for (const int n : {1, 16, 64}) {
            chain(*home, "chain_add_64Ki_n" + std::to_string(n) + end, n, 1 << 16);
            chain(*home, "chain_add_1Mi_n" + std::to_string(n) + end, n, 1 << 20);
        }
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
