// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the time of a network goes: a table, and a trace that ui.perfetto.dev opens.
//     06_profile [MODEL.onnx [TRACE.json]]
#include <pumice.hpp>
#include <pumice/model.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace pm = pumice;

int main(int argc, char** argv) try {
    const std::string model = argc > 1
                                  ? argv[1]
                                  : std::filesystem::path(__FILE__).parent_path().parent_path() /
                                        "tests/data/models/mnist-12.onnx";
    const pm::model network = pm::model::load(model);
    const pm::any_tensor x = pm::zeros(pm::dtype::f32, {1, 1, 28, 28});
    pm::to_vector<float>(network(x));  // compiles the kernels

    pm::profiler profiler;
    for (int i = 0; i < 100; ++i) pm::to_vector<float>(network(x));
    const pm::profile p = profiler.finish();

    std::printf("%s%s", pm::default_context().device_report().c_str(), p.table().c_str());
    if (argc > 2) std::ofstream(argv[2]) << p.chrome_trace();
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
