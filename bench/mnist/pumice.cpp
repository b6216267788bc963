// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// mnist-12.onnx, one picture: graph built, run and read each time. usage: [model file]
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
    const bench::timing t = bench::measure(run, 200);
    bench::report("mnist-12_f32", t, 0, 0, std::to_string(dispatches) + " dispatches");
    std::printf(
        "{\"peer\":\"pumice\",\"case\":\"mnist-12_f32_start\",\"load_us\":%.0f,\"first_us\":%.0f}"
        "\n",
        loaded - start, first - loaded);
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
