// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An ONNX model becomes a package, which runs without its file, its parser and Slang:
//     14_package [MODEL.onnx]
#include <pumice.hpp>
#include <pumice/model.hpp>
#include <pumice/package.hpp>

#include <cstdio>

namespace pm = pumice;

int main(int argc, char** argv) try {
    const std::filesystem::path file =
        argc > 1 ? std::filesystem::path(argv[1])
                 : std::filesystem::path(__FILE__).parent_path().parent_path() /
                       "tests/data/models/mnist-12.onnx";
    const auto to = std::filesystem::temp_directory_path() / "14_package.pumice";

    // Once, where the model and Slang are.
    const pm::model network = pm::model::load(file);
    pm::package_options options;
    options.name = file.stem().string();
    pm::package::save(to, network, options);

    // From then on: the weights are mapped or go up, the kernels are there.
    const pm::package p = pm::package::load(to);
    std::printf("%s, %.1f KiB, weights %.1f KiB\n", p.name().c_str(),
                double(std::filesystem::file_size(to)) / 1024,
                double(p.contents().weight_bytes) / 1024);
    for (const std::string& device : p.contents().devices)
        std::printf("kernels for %s\n", device.c_str());
    std::vector<pm::any_tensor> inputs;
    for (const pm::package_value& v : p.inputs()) {
        std::printf("takes %s: %s %s\n", v.name.c_str(), std::string(to_string(v.dtype)).c_str(),
                    to_string(v.shape).c_str());
        inputs.push_back(pm::full(v.dtype, v.shape, 1));
    }
    const std::vector<pm::any_tensor> by_package = p.run(inputs),
                                      by_model = network.compile().run(inputs);
    bool same = true;
    for (std::size_t i = 0; i < by_package.size(); ++i) {
        same = same && pm::to_vector<float>(by_package[i]) == pm::to_vector<float>(by_model[i]);
        std::printf("gives %s: %s\n", p.outputs()[i].name.c_str(),
                    same ? "the model's bits" : "something else");
    }
    std::filesystem::remove(to);
    return same ? 0 : 1;
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
