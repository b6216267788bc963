// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A network from an ONNX file reads digits from pictures:
//     02_mnist [MODEL.onnx PICTURE.png...]
#include <pumice.hpp>
#include <pumice/model.hpp>

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#include <stb_image.h>

#include <algorithm>
#include <cstdio>

namespace pm = pumice;

/// 28 x 28 grey values from 0 to 1, white on black, as mnist-12 was trained.
pm::any_tensor load_picture(const std::string& path) {
    int width = 0, height = 0;
    const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(stbi_load(path.c_str(),
                                                                                &width, &height,
                                                                                nullptr, 1),
                                                                      &stbi_image_free);
    if (!pixels)
        throw pm::error(pm::errc::io_failed, "02_mnist", path + ": " + stbi_failure_reason());
    if (width != 28 || height != 28)
        throw pm::error(pm::errc::shape_mismatch, "02_mnist", path + " is not 28 x 28");
    std::vector<float> grey(28 * 28);
    for (std::size_t i = 0; i < grey.size(); ++i)
        grey[i] = static_cast<float>(pixels.get()[i]) / 255.0f;
    return pm::from_bytes(pm::dtype::f32, {1, 1, 28, 28}, std::as_bytes(std::span(grey)));
}

int main(int argc, char** argv) try {
    const std::string folder =
        std::filesystem::path(__FILE__).parent_path().parent_path() / "tests/data/models/";
    std::vector<std::string> files(argv + 1, argv + argc);
    if (files.size() < 2) files = {folder + "mnist-12.onnx", folder + "0.png", folder + "1.png"};

    const pm::model network = pm::model::load(files[0]);
    std::printf("%s\n", network.where().device_report().c_str());
    for (std::size_t i = 1; i < files.size(); ++i) {
        const pm::any_tensor p =
            pm::softmax(network(load_picture(files[i])));  // lazy: the softmax joins the network
        const std::vector<float> probabilities = pm::to_vector<float>(p);  // here it runs
        const auto best = std::max_element(probabilities.begin(), probabilities.end());
        std::printf("%s is a %d\n", std::filesystem::path(files[i]).filename().c_str(),
                    int(best - probabilities.begin()));
        for (std::size_t digit = 0; digit < probabilities.size(); ++digit)
            std::printf("  %zu: %.6f\n", digit, double(probabilities[digit]));
    }
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
