// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// mnist-12.onnx, one picture: recorded once, and built, run and read each time. usage: [model file]
#include <bench/support/measure.hpp>
#include <pumice/model.hpp>

namespace pm = pumice;

int main(int argc, char** argv) try {
    const double start = bench::now();
    const pm::model model = pm::model::load(argc > 1 ? argv[1] : "tests/data/models/mnist-12.onnx");
    const double loaded = bench::now();
    const pm::any_tensor input =
        pm::from_bytes(pm::dtype::f32, {1, 1, 28, 28},
                       std::as_bytes(std::span<const float>(std::vector<float>(784, 0.5f))));
    const auto run = [&] { return model.run(std::span(&input, 1))[0]; };
    bench::drain(run());
    const double first = bench::now();
    const pm::statistics before = pm::stats();
    bench::drain(run());
    const std::uint64_t dispatches = pm::stats().dispatches - before.dispatches;
    const std::string kernels = std::to_string(dispatches) + " dispatches";
    bench::report("mnist-12_f32_built", bench::measure(run, 200), 0, 0, kernels);
    const pm::executable recorded = model.compile();
    bench::report("mnist-12_f32", bench::measure(recorded, std::span(&input, 1)), 0, 0, kernels);
    // From pixels on the host to digits on the host.
    pm::any_tensor in[1], x = pm::zeros(pm::dtype::f32, {1, 1, 28, 28});
    std::vector<pm::any_tensor> out(1);
    std::vector<float> pixels(784, 0.25f), digits(10);
    std::vector<double> trips;
    for (int i = 0; i < 500; ++i) {
        const double begin = bench::now();
        in[0] = {};
        pm::write(x, std::as_bytes(std::span(pixels)));
        in[0] = x;
        recorded.run_into(out, in);
        pm::read(out[0], std::as_writable_bytes(std::span(digits)));
        trips.push_back(bench::now() - begin);
    }
    std::printf("{\"peer\":\"pumice\",\"case\":\"mnist-12_f32\",\"host_us\":%.3f}\n",
                bench::median(trips));
    std::printf(
        "{\"peer\":\"pumice\",\"case\":\"mnist-12_f32_start\",\"load_us\":%.0f,\"first_us\":%.0f}"
        "\n",
        loaded - start, first - loaded);
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
