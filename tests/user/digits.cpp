// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A network from an ONNX file, run and compiled; compared with what the file's authors stored.
#include "check.hpp"

#include <pumice/model.hpp>

#include <tests/support/skip.hpp>

#include <algorithm>

namespace pm = pumice;

TEST_CASE("user: a model reads noise alike in all ways of running it") {
    const pm::model network =
        pm::model::load(pumice_test::tests_dir() + "/data/models/mnist-12.onnx");
    const pm::any_tensor picture =
        pm::astype(pm::any_tensor(pm::random::uniform<float>({1, 1, 28, 28}, pm::random::key(8))),
                   pm::dtype::f32);
    const std::vector<float> once = pm::to_vector<float>(network(picture));
    CHECK(once.size() == 10);
    const pm::executable recorded = network.compile({pm::shape{1, 1, 28, 28}});
    std::vector<float> often;
    const auto kernels =
        pumice_test::kernels_of([&] { often = pm::to_vector<float>(recorded.run({picture})[0]); });
    CHECK(pumice_test::worst(once, often) < 1e-4);
    CHECK(kernels <= 6);
    // To the model one may add.
    const pm::any_tensor sure = pm::softmax(network(picture));
    const std::vector<float> p = pm::to_vector<float>(sure);
    double sum = 0;
    for (const float each : once) sum += std::exp(double(each) - double(once[0]));
    for (std::size_t i = 0; i < p.size(); ++i)
        CHECK(double(p[i]) ==
              doctest::Approx(std::exp(double(once[i]) - double(once[0])) / sum).epsilon(1e-3));
}
