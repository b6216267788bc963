// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/runner/load.hpp>

#include <tests/model/support.hpp>

#include <filesystem>

#include <unistd.h>

using test::code_of;
using test::on_host;
using test::text_of_error;
using namespace pumice_test;
namespace pm = pumice;
using pm::run_status;
using pm::runner_kind;

namespace {

std::filesystem::path mnist() {
    return std::filesystem::path(pumice_test::tests_dir()) / "data/models/mnist-12.onnx";
}

}  // namespace

TEST_CASE("load: a package's runner has its names and its values") {
    const pumice_test::temporary_folder folder;
    const pm::model whole = pm::model::load(mnist());
    const auto at = folder.path() / "mnist.any";
    pm::package::save(at, whole);
    std::vector<float> picture(784), digits(10), wanted(10);
    for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = float(i * 31 % 256);
    const auto run = [&](const pm::runner& r, std::vector<float>& to) {
        REQUIRE(r.inputs()[0].name == whole.inputs()[0].name);
        REQUIRE(r.outputs()[0].name == whole.outputs()[0].name);
        REQUIRE(r.execute({r.wrap(r.inputs()[0].name, picture.data())},
                          {r.wrap(r.outputs()[0].name, to.data())}) == run_status::ok);
    };
    run(pm::runner(whole), wanted);
    run(pm::make_runner(runner_kind::best, at), digits);
    CHECK(digits == wanted);
    run(pm::runner(pm::package::load(at)), digits);
    CHECK(digits == wanted);
    const pm::shape other{2, 1, 28, 28};
    CHECK(code_of([&] { pm::make_runner(runner_kind::best, at, {}, std::span(&other, 1)); }) ==
          pm::errc::invalid_argument);
    pm::runner_options half;
    half.hardware_dtype = pm::dtype::f16;
    CHECK(code_of([&] { pm::make_runner(runner_kind::best, at, half); }) == pm::errc::unsupported);
}

TEST_CASE("load: a file's runner knows names and shapes, and computes what the model does") {
    const pm::model whole = pm::model::load(mnist());
    std::vector<float> picture(784), digits(10);
    for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = float(i * 31 % 256);
    const pm::any_tensor x =
        pm::from_bytes(pm::dtype::f32, {1, 1, 28, 28}, std::as_bytes(std::span(picture)));
    const std::vector<float> wanted = pm::to_vector<float>(whole(x));
    std::vector<pm::runner> runners{pm::runner(whole)};
    pm::runner_options o;
    o.sharing = pm::queue_sharing::shared;
    runners.push_back(pm::make_runner(runner_kind::best, mnist(), o));
    CHECK(runners[1].where().get() == pm::default_context().get());
    const auto folder =
        std::filesystem::temp_directory_path() / ("pumice-runner-" + std::to_string(::getpid()));
    o.sharing = pm::queue_sharing::exclusive;
    o.cache_folder = (folder / "{model}-{pid}").string();
    runners.push_back(pm::make_runner(runner_kind::best, mnist(), o));
    CHECK(runners[2].where().get() != pm::default_context().get());
    for (const pm::runner& r : runners) {
        CHECK(r.inputs()[0].shape == pm::shape{1, 1, 28, 28});
        CHECK(r.inputs()[0].name == whole.inputs()[0].name);
        CHECK(r.outputs()[0].name == whole.outputs()[0].name);
        CHECK(r.outputs()[0].shape == pm::shape{1, 10});
        CHECK_FALSE(r.inputs()[0].quantization);
        REQUIRE(r.execute({r.wrap(r.inputs()[0].name, picture.data())},
                          {r.wrap(r.outputs()[0].name, digits.data())}) == run_status::ok);
        CHECK(digits == wanted);
    }
    if (!on_host(runners[2].where()))
        CHECK(std::filesystem::exists(folder / ("mnist-12-" + std::to_string(::getpid()))));
    std::filesystem::remove_all(folder);
}

TEST_CASE("load: a cache folder's words are replaced once, whatever the model is called") {
    CHECK(pm::detail::expanded("a/{model}/{model}", "{model}s") == "a/{model}s/{model}s");
    CHECK(pm::detail::expanded("{model}", "{pid}") == "{pid}");
    CHECK(pm::detail::expanded("{pid}", "m") == std::to_string(::getpid()));
    CHECK(pm::detail::expanded("", "m") == "");
}

TEST_CASE("load: kinds by name, and what there is not is refused") {
    for (const char* name : {"best", "discrete", "integrated", "gpu", "cpu", "host"})
        CHECK_NOTHROW(pm::runner_kind_named(name));
    CHECK(text_of_error([] { pm::runner_kind_named("tpu"); }).find("\"tpu\"") != std::string::npos);
    CHECK(text_of_error([] {
              pm::make_runner(static_cast<runner_kind>(99), mnist());
          }).find("no kind of runner 99") != std::string::npos);
    CHECK(on_host(pm::make_runner(runner_kind::host, mnist()).where()));
    const bool gpu = pm::default_context().device().type < pm::device_type::cpu;
    if (!gpu && !std::getenv("PUMICE_DEVICE"))
        CHECK(code_of([] { pm::make_runner(runner_kind::gpu, mnist()); }) == pm::errc::no_device);
    CHECK(code_of([] { pm::make_runner(runner_kind::best, "/nonexistent.onnx"); }) ==
          pm::errc::io_failed);
    pm::runner_options o;
    o.sharing = pm::queue_sharing::shared;
    o.queue_index = 1;
    CHECK(code_of([&] { pm::make_runner(runner_kind::best, mnist(), o); }) ==
          pm::errc::invalid_argument);
    o.sharing = pm::queue_sharing::exclusive;
    o.queue_index = 1000;
    if (!on_host(pm::default_context()))
        CHECK(text_of_error([&] {
                  pm::make_runner(runner_kind::best, mnist(), o);
              }).find("none of index 1000") != std::string::npos);
    const pm::shape two[] = {{1}, {2}};
    CHECK(code_of([&] { pm::make_runner(runner_kind::host, mnist(), {}, two); }) ==
          pm::errc::invalid_argument);
}

TEST_CASE("load: what a file quantises at once, or gives quantised, has its scale and zero point") {
    message graph;
    graph.put(5, floats("s", {}, {0.5f}))
        .put(5, tensor_of("z", 2, {}).numbers(5, {3}))
        .put(5, floats("t", {3}, {0.25f, 0.5f, 1}))
        .put(1, node_of("QuantizeLinear", {"x", "s", "z"}, {"q"}))
        .put(1, node_of("DequantizeLinear", {"q", "s", "z"}, {"f"}))
        .put(1,
             node_of("DequantizeLinear", {"w", "t"}, {"g"}, {attribute("axis", std::int64_t(0))}))
        .put(1, node_of("Add", {"f", "g"}, {"y"}))
        .put(1, node_of("QuantizeLinear", {"y", "s", "z"}, {"u"}))
        .put(11, value_of("x", 1, {3}))
        .put(11, value_of("w", 3, {3}))
        .put(12, value_of("y", 1, {3}))
        .put(12, value_of("u", 2, {3}));
    const message whole = model_of(graph, 21);
    const pm::runner r(pm::model::from_bytes(whole.view()));
    const auto q = [&](const char* name) { return r.info(name).quantization; };
    REQUIRE(q("x"));
    CHECK(q("x")->scale == std::vector<float>{0.5f});
    CHECK(q("x")->zero_point == std::vector<std::int64_t>{3});
    CHECK_FALSE(q("x")->axis);
    REQUIRE(q("w"));
    CHECK(q("w")->scale == std::vector<float>{0.25f, 0.5f, 1});
    CHECK(q("w")->zero_point == std::vector<std::int64_t>{0, 0, 0});
    CHECK(q("w")->axis == 0);
    REQUIRE(q("u"));
    CHECK(q("u")->zero_point == std::vector<std::int64_t>{3});
}
