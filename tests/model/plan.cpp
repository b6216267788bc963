// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The plan of a model: as its text stands in tests/data/expected (PUMICE_GOLDEN_WRITE=1 writes it),
// and bound again.
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <cstdlib>
#include <sstream>

using namespace pumice_test;

TEST_CASE("plan of a model: mnist-12 is five steps, as the golden text says") {
    const std::filesystem::path golden = data("expected/mnist-12.plan.json");
    const pumice::context home(pumice::host_only{});
    const auto m = pumice::model::load(data("models/mnist-12.onnx"), home);
    const std::string text = pumice::to_json(m.compile().planned());
    if (std::getenv("PUMICE_GOLDEN_WRITE")) std::ofstream(golden) << text;
    std::ostringstream expected;
    expected << std::ifstream(golden).rdbuf();
    CHECK(text == expected.str());
    CHECK(pumice::plan_from_json(text).steps.size() == 5);
}

TEST_CASE("plan of a model: bound with its weights it gives the model's results") {
    const pumice::npy_array in = pumice::read_npy(data("expected/mnist-12.0.in.npy"));
    for (const pumice::context& home : {pumice::context(pumice::host_only{}), pumice::context()}) {
        const auto m = pumice::model::load(data("models/mnist-12.onnx"), home);
        const pumice::executable e = m.compile();
        const pumice::executable bound =
            pumice::bind(home, pumice::plan_from_json(pumice::to_json(e.planned())), e.constants());
        const pumice::any_tensor x = pumice::from_bytes(in.dtype, in.shape, in.bytes, home);
        CHECK(pumice::to_vector<float>(bound.run({x})[0]) ==
              pumice::to_vector<float>(e.run({x})[0]));
    }
}
