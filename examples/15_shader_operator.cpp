// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An ONNX model one of whose operators is a Vulkan compute shader (docs/45_shader_operators.md):
//     15_shader_operator [MODEL.onnx]
#include <pumice.hpp>
#include <pumice/model.hpp>

#include <cstdio>

namespace pm = pumice;

int main(int argc, char** argv) try {
    const std::filesystem::path file =
        argc > 1 ? std::filesystem::path(argv[1])
                 : std::filesystem::path(__FILE__).parent_path().parent_path() /
                       "tests/data/models/twice.onnx";
    const pm::model m = pm::model::load(file);
    if (m.where().device().type == pm::device_type::host) {
        std::puts("shader operators need a Vulkan device");
        return 0;
    }
    const pm::executable ready = m.compile();
    std::vector<pm::any_tensor> inputs;
    for (const auto& v : ready.inputs()) inputs.push_back(pm::full(v.dtype, v.shape, 21));

    pm::profiler profiler;
    const std::vector<pm::any_tensor> outputs = ready.run(inputs);
    const std::vector<float> values = pm::to_vector<float>(outputs[0]);
    std::fputs(profiler.finish().table().c_str(), stdout);  // the shader stands there by its name
    std::printf("%zu values, the first is %g\n", values.size(), double(values[0]));
    return values[0] == 42 || argc > 1 ? 0 : 1;
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
