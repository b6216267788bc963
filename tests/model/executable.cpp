// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models recorded once: what a steady run costs, and that it gives what a fresh evaluation gives.
#include "allocations.hpp"

#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>
#include <tests/support/samples.hpp>

#include <random>

using namespace pumice_test;
namespace pm = pumice;

namespace {

std::vector<float> pixels(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> v(784);
    for (float& f : v) f = float(random() % 256) / 255;
    return v;
}
pm::any_tensor tensor_of(const std::vector<float>& v, const pm::shape& extent) {
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)));
}

}  // namespace

TEST_CASE("executable: a steady run of mnist-12 allocates, records and compiles nothing") {
    const auto model = pm::model::load(data("models/mnist-12.onnx"));
    const pm::executable e = model.compile();
    const pm::memory_use use = e.memory();
    std::printf("measured mnist-12: %lld bytes, unshared %lld, least %lld\n",
                static_cast<long long>(use.bytes), static_cast<long long>(use.unshared),
                static_cast<long long>(use.least));
    CHECK(10 * use.bytes <= 11 * use.least);
    std::vector<float> picture = pixels(1), digits(10);
    pm::any_tensor in[1], x = tensor_of(picture, {1, 1, 28, 28});
    std::vector<pm::any_tensor> out(1);
    const auto once = [&] {
        in[0] = {};  // so that x is the only handle, and is written in place
        pm::write(x, std::as_bytes(std::span(picture)));
        in[0] = x;
        e.run_into(out, in);
        pm::read(out[0], std::as_writable_bytes(std::span(digits)));
    };
    for (int i = 0; i < 3; ++i) once();
    const pm::device_info& device = pm::default_context().device();
    const bool on_host = device.type == pm::device_type::host;
    const pm::statistics before = pm::stats();
    const std::uint64_t allocated = test::allocations();
    for (int i = 0; i < 100; ++i) once();
    const std::uint64_t allocations = test::allocations() - allocated;
    const pm::statistics after = pm::stats();
    CHECK(after.recordings == before.recordings);
    CHECK(after.slang_compiles == before.slang_compiles);
    CHECK(after.pipelines == before.pipelines);
    CHECK(after.allocations == before.allocations);
    CHECK(after.maps == before.maps);
    CHECK(after.device_bytes == before.device_bytes);
    if (on_host) return;
    CHECK(after.submits - before.submits == 100);
    // One on which nothing of the run depends, between what depends on each other, and for the
    // host.
    const pm::statistics first = pm::stats();
    const pm::executable again = model.compile();
    again.run_into(out, in).wait();
    const pm::statistics recorded = pm::stats();
    CHECK(recorded.recordings - first.recordings == 1);
    CHECK(recorded.dispatches - first.dispatches == 5);
    CHECK(recorded.barriers - first.barriers == (device.unified_memory ? 5 : 6));
    CHECK(after.host_waits - before.host_waits <= 100);
    // The validation layer runs on this thread and allocates.
    if (!std::getenv("VK_INSTANCE_LAYERS")) CHECK(allocations == 0);
}

TEST_CASE(
    "executable: 1000 runs of mnist-12 with exchanged inputs, bit for bit a fresh evaluation") {
    const auto model = pm::model::load(data("models/mnist-12.onnx"));
    const pm::executable e = model.compile();
    std::vector<pm::any_tensor> pictures;
    std::vector<std::vector<float>> expected;
    for (unsigned i = 0; i < 10; ++i) {
        pictures.push_back(tensor_of(pixels(i), {1, 1, 28, 28}));
        expected.push_back(pm::to_vector<float>(model(pictures.back())));
    }
    std::vector<pm::any_tensor> out(1);
    int different = 0;
    for (unsigned i = 0; i < unsigned(test::samples(1000)); ++i) {
        const unsigned k = i * 7 % 10;
        e.run_into(out, std::span(&pictures[k], 1));
        different += pm::to_vector<float>(out[0]) != expected[k];
    }
    CHECK(different == 0);
}

TEST_CASE("executable: every model of the tests, recorded, is the model") {
    const bool on_host = pm::default_context().device().type == pm::device_type::host;
    int models = 0;
    for (const auto& file : std::filesystem::directory_iterator(data("models"))) {
        if (file.path().extension() != ".onnx") continue;
        if (on_host && file.path().stem() == "twice") continue;  // its operator is a Vulkan shader
        CAPTURE(file.path().string());
        ++models;
        const auto model = pm::model::load(file.path());
        std::vector<pm::any_tensor> inputs;
        for (const pm::model_value& v : model.inputs()) {
            pm::shape s;
            for (const pm::model_dim& d : v.dims) s.push_back(d.size < 0 ? 1 : d.size);
            std::vector<float> values(static_cast<std::size_t>(pm::element_count(s)), 0.25f);
            inputs.push_back(pm::astype(tensor_of(values, s), v.dtype));
        }
        // Evaluated first: a cast that joined a model would read numbers before they are rounded to
        // f16.
        const auto fresh = model.run(inputs);
        pm::eval(fresh);
        const auto recorded = model.compile().run(inputs);
        REQUIRE(fresh.size() == recorded.size());
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            CHECK(fresh[i].shape() == recorded[i].shape());
            CHECK(pm::to_vector<float>(pm::astype(fresh[i], pm::dtype::f32)) ==
                  pm::to_vector<float>(pm::astype(recorded[i], pm::dtype::f32)));
        }
    }
    CHECK(models >= 5);
}

TEST_CASE("executable: what a function adds to a model is recorded with it, open axes by shape") {
    const auto model = pm::model::load(data("models/mnist_mlp_png_probs.onnx"));
    const auto best = pm::compile([&](const pm::any_tensor& x) {
        const std::int64_t last[] = {1};
        return pm::reduce(pm::reduction::argmax, model(x), last);
    });
    for (std::int64_t batch : {1, 3}) {
        const auto x =
            tensor_of(std::vector<float>(std::size_t(784 * batch), 0.5f), {batch, 1, 28, 28});
        const std::int64_t last[] = {1};
        CHECK(pm::to_vector<std::int64_t>(best(x)) ==
              pm::to_vector<std::int64_t>(pm::reduce(pm::reduction::argmax, model(x), last)));
    }
    CHECK(best.recorded() == 2);
    const pm::shape wrong[] = {{1, 1, 28, 28}, {1}};
    CHECK(thrown_by([&] { model.compile(wrong); }).first == pm::errc::invalid_argument);
    const pm::shape small[] = {{1, 1, 9, 9}};
    CHECK(thrown_by([&] { model.compile(small); }).first == pm::errc::shape_mismatch);
}
