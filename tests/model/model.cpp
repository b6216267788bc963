// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <thread>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::errc;
using pumice::model;
using pumice::shape;

namespace {

any_tensor upload(const pumice::npy_array& a) {
    return pumice::from_bytes(a.dtype, a.shape, a.bytes);
}
any_tensor picture(const std::string& model, int digit) {
    return upload(pumice::read_npy(data("expected/" + model + "." + std::to_string(digit) +
                                        ".in.npy")));
}

std::vector<float> floats_of(const any_tensor& t) {
    return pumice::to_vector<float>(pumice::astype(t, dtype::f32));
}
std::vector<float> expected(const std::string& model, int digit) {
    const auto a =
        pumice::read_npy(data("expected/" + model + "." + std::to_string(digit) + ".out.npy"));
    return pumice::constant_values<float>(pumice::make_constant(a.dtype, a.shape, a.bytes));
}

/// The largest difference, relative to values above 1.
double worst(const std::vector<float>& is, const std::vector<float>& should) {
    REQUIRE(is.size() == should.size());
    double most = 0;
    for (std::size_t i = 0; i < is.size(); ++i)
        most = std::max(most, std::fabs(double(is[i]) - double(should[i])) /
                                  std::max(1.0, std::fabs(double(should[i]))));
    return most;
}

std::filesystem::path file(const std::string& name) { return data("models/" + name + ".onnx"); }

any_tensor noise(const shape& s, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> v(static_cast<std::size_t>(pumice::element_count(s)));
    for (float& f : v) f = static_cast<float>(random() % 1000) / 1000;
    return pumice::from_bytes(dtype::f32, s, std::as_bytes(std::span(v)));
}

}  // namespace

TEST_CASE("model: load, run, read in five calls") {
    const auto m = model::load(file("mnist-12"));
    const auto x = picture("mnist-12", 0);
    const auto y = m(x);
    const auto values = pumice::to_vector<float>(y);
    CHECK(std::max_element(values.begin(), values.end()) == values.begin());
}

TEST_CASE("model: the digits as ONNX Runtime sees them, 6 decimals in f32 and 3 in f16 (S6)") {
    for (const char* name :
         {"mnist-12", "mnist_mlp_png_probs", "mnist_conv_fp16", "mnist_mlp_fp16"}) {
        const auto m = model::load(file(name));
        for (int digit : {0, 1}) {
            CAPTURE(name);
            CAPTURE(digit);
            const auto is = floats_of(m(picture(name, digit))), should = expected(name, digit);
            // As NumPy's assert_almost_equal counts decimals: 1.5 units of the last one.
            CHECK(worst(is, should) <= (m.inputs()[0].dtype == dtype::f16 ? 5e-4 : 1.5e-6));
            CHECK(std::max_element(is.begin(), is.end()) - is.begin() == digit);
        }
    }
}

TEST_CASE("model: f16 products are cooperative ones where the device has such matrices (S6)") {
    if (!pumice::default_context().device().cooperative_matrix)
        PUMICE_SKIP("cooperative-matrix", "the device lists no cooperative matrices");
    const pumice::context usual = pumice::default_context();
    // Those of a row are expected to take less where they are cut along k, so they are asked for.
    const pumice::context asked(pumice::choose_kernel{
        [](std::span<const pumice::kernel_candidate> list) {
            std::size_t best = 0;
            const auto rank = [&](std::size_t i) {
                return std::pair(!list[i].name.ends_with("/cooperative"), list[i].seconds);
            };
            for (std::size_t i = 1; i < list.size(); ++i)
                if (rank(i) < rank(best)) best = i;
            return best;
        }});
    for (const auto& [name, products] : {std::pair("mnist_mlp_fp16", 3), {"mnist_conv_fp16", 3}}) {
        CAPTURE(name);
        for (const bool by_policy : {true, false}) {
            pumice::set_default_context(by_policy ? asked : usual);
            const std::string plan = pumice::explain(model::load(file(name))(picture(name, 0)));
            int cooperative = 0;
            std::istringstream lines(plan);
            for (std::string line; std::getline(lines, line);) {
                cooperative +=
                    line.starts_with("matmul/cooperative") || line.starts_with("conv/cooperative");
                CHECK_FALSE(line.starts_with("matmul/tiled"));
                CHECK_FALSE(line.starts_with("conv/tiled"));
            }
            CHECK_MESSAGE((by_policy ? cooperative == products : cooperative <= products), plan);
        }
    }
}

TEST_CASE("model: ten additions are one dispatch") {
    const auto m = model::load(file("multi_chain_add-10"));
    const float one = 1;
    const auto x = pumice::from_bytes(dtype::f32, {1}, std::as_bytes(std::span(&one, 1)));
    const auto before = pumice::stats();
    const auto y = m(x);
    CHECK(pumice::to_vector<float>(y) == std::vector<float>{1});
    CHECK(pumice::stats().dispatches - before.dispatches == 1);
}

TEST_CASE("model: outputs stay on the device until they are read, weights go up at load") {
    const auto m = model::load(file("mnist-12"));
    const auto x = picture("mnist-12", 0);
    const auto before = pumice::stats();
    const auto y = m.run({x});
    pumice::eval(y);
    CHECK(pumice::stats().downloads == before.downloads);
    pumice::to_vector<float>(y[0]);
    const auto first = pumice::stats();
    pumice::to_vector<float>(m(x));
    CHECK(pumice::stats().uploads == first.uploads);
    const bool on_host = pumice::default_context().device().type == pumice::device_type::host;
    CHECK(first.uploads - before.uploads == (on_host ? 0 : 1));  // the picture alone
}

TEST_CASE("model: zeros give finite outputs") {
    const auto m = model::load(file("mnist-12"));
    for (float v : floats_of(m(pumice::zeros(dtype::f32, {1, 1, 28, 28})))) CHECK(std::isfinite(v));
}

TEST_CASE("model: a batch is its parts") {
    const auto open = model::load(file("mnist_mlp_png_probs"));
    for (std::int64_t batch : {1, 3, 32}) {
        const auto m =
            model::load(file("mnist_mlp_png_probs"), pumice::load_options{.batch = batch});
        CHECK(m.inputs()[0].text() == "f32 (" + std::to_string(batch) + ", 1, 28, 28)");
        CHECK(m.outputs()[0].text() == "f32 (" + std::to_string(batch) + ", 10)");
        const auto x = noise({batch, 1, 28, 28}, 5);
        const auto whole = floats_of(m(x));
        CHECK(worst(floats_of(open(x)), whole) <= 1e-6);
        for (std::int64_t i = 0; i < batch; ++i) {
            const pumice::slice part[] = {{i, i + 1, 1}};
            const auto one = floats_of(open(pumice::slice_view(x, part)));
            CHECK(worst(one, {whole.begin() + i * 10, whole.begin() + (i + 1) * 10}) <= 1e-6);
        }
        CHECK(thrown_by([&] { m(pumice::zeros(dtype::f32, {batch + 1, 1, 28, 28})); }).first ==
              errc::shape_mismatch);
    }
    CHECK(model::load(file("mnist_mlp_png_probs"), pumice::load_options{.dims = {{"batch", 4}}})
              .inputs()[0]
              .dims[0]
              .size == 4);
    CHECK(open.inputs()[0].text() == "f32 (batch, 1, 28, 28)");
    const auto [code, what] = thrown_by([&] {
        model::load(file("mnist_mlp_png_probs"), pumice::load_options{.dims = {{"btach", 4}}});
    });
    CHECK(code == errc::invalid_argument);
    CHECK(contains(what, "batch"));
}

TEST_CASE("model: f16 in place of f32, in and out as before") {
    const auto full = model::load(file("mnist_mlp_png_probs")),
               half = model::load(file("mnist_mlp_png_probs"),
                                  pumice::load_options{.compute = dtype::f16});
    for (int digit : {0, 1}) {
        const auto y = half(picture("mnist_mlp_png_probs", digit));
        CHECK(y.dtype() == dtype::f32);
        CHECK(worst(floats_of(y), expected("mnist_mlp_png_probs", digit)) <= 2e-3);
    }
    CHECK(contains(half.dump(), "f16"));
    CHECK(!contains(full.dump(), "f16"));
    CHECK(thrown_by([] {
              model::load(file("mnist-12"), pumice::load_options{.compute = dtype::i8});
          }).first == errc::invalid_argument);
}

TEST_CASE("model: the ONNX chain Mul, Add, Relu is the kernel of relu(a * b + c)") {
    const auto m = model::load(data("expected/operators/chain_relu.onnx"));
    const pumice::matrix<float> a = pumice::ones<float>({4, 5}), b = pumice::ones<float>({4, 5});
    const pumice::vector<float> c = pumice::ones<float>({5});
    const pumice::matrix<float> typed = pumice::relu(a * b + c);
    pumice::eval(std::vector<any_tensor>{typed});
    const auto before = pumice::stats();
    const std::vector<std::pair<std::string, any_tensor>> named{{"c", c}, {"b", b}, {"a", a}};
    const auto y = m.run(named)[0];
    pumice::eval(std::vector<any_tensor>{y});
    CHECK(pumice::stats().dispatches - before.dispatches == 1);
    CHECK(pumice::stats().pipelines == before.pipelines);
    CHECK(pumice::stats().slang_compiles == before.slang_compiles);
    CHECK(floats_of(y) == floats_of(typed));
}

TEST_CASE("model: eight threads share one") {
    const auto m = model::load(file("mnist-12"));
    const auto x0 = picture("mnist-12", 0), x1 = picture("mnist-12", 1);
    const auto y0 = floats_of(m(x0)), y1 = floats_of(m(x1));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 5; ++i)
                if (floats_of(m(t % 2 ? x1 : x0)) != (t % 2 ? y1 : y0)) ++wrong;
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
}

TEST_CASE("model: wrong calls name the input and the model's signature") {
    const auto m = model::load(file("mnist-12"));
    const auto fails = [&](errc wanted, auto&& f, std::string_view part) {
        const auto [code, what] = thrown_by(f);
        CHECK_MESSAGE(code == wanted, what);
        CHECK_MESSAGE(contains(what, part), what);
        CHECK_MESSAGE(contains(what, "input \"Input3\" f32 (1, 1, 28, 28)"), what);
    };
    const auto good = pumice::zeros(dtype::f32, {1, 1, 28, 28});
    fails(
        errc::shape_mismatch, [&] { m(pumice::zeros(dtype::f32, {1, 28, 28})); },
        "f32 (1, 28, 28)");
    fails(errc::dtype_mismatch, [&] { m(pumice::zeros(dtype::f16, {1, 1, 28, 28})); }, "f16");
    fails(errc::invalid_argument, [&] { m(good, good); }, "takes 1 inputs, got 2");
    fails(errc::invalid_argument, [&] { m(any_tensor()); }, "empty");
    fails(
        errc::invalid_argument,
        [&] { m.run(std::vector<std::pair<std::string, any_tensor>>{{"input3", good}}); },
        "\"input3\"");
    fails(
        errc::context_mismatch,
        [&] { m(pumice::zeros(dtype::f32, {1, 1, 28, 28}, storing_context())); },
        "another context");
}

TEST_CASE("model: what cannot be loaded is a typed error, and try_load gives it") {
    temporary_folder folder;
    CHECK(thrown_by([&] { model::load(folder.path() / "none.onnx"); }).first == errc::io_failed);
    CHECK(thrown_by([&] { model::load(data("models/0.png")); }).first == errc::bad_file);
    CHECK(thrown_by([&] { model::load(folder.write("empty.onnx", "")); }).first == errc::bad_file);
    const auto result = model::try_load(data("models/0.png"));
    REQUIRE(!result);
    CHECK(result.error().code() == errc::bad_file);
    CHECK(model::try_load(file("mnist-12")).has_value());
    CHECK(model::try_from_bytes({}).error().code() == errc::bad_file);
}

TEST_CASE("model: external data, and two models through one program") {
    temporary_folder folder;
    const float w[] = {10, 20, 30};
    folder.write("w.bin", std::string_view(reinterpret_cast<const char*>(w), sizeof w));
    message t = tensor_of("w", 1, {3});
    t.put(13, message{}.text(1, "location").text(2, "w.bin")).number(14, 1);
    const auto m = model_of(message{}
                                .put(1, node_of("Add", {"x", "w"}, {"y"}))
                                .put(5, t)
                                .put(11, value_of("x", 1, {3}))
                                .put(12, message{}.text(1, "y")));
    const auto path = folder.write("m.onnx", m.bytes);
    CHECK(floats_of(model::load(path)(pumice::zeros(dtype::f32, {3}))) ==
          std::vector<float>{10, 20, 30});
    CHECK(thrown_by([&] { model::from_bytes(m.view()); }).first == errc::bad_file);
}

TEST_CASE(
    "model: weights are uploaded once while loading, constants of the graph are computed once") {
    const auto where = storing_context();
    const auto m = model::load(file("mnist-12"), where);
    CHECK(where.stats().uploads == 6);  // 4 of the convolutions, the reshaped matrix, its bias
    const auto x = pumice::zeros(dtype::f32, {1, 1, 28, 28}, where);
    for (int i = 0; i < 3; ++i) m(x);
    CHECK(where.stats().uploads == 7);
    CHECK(m.infer_shapes().back().shape == shape{1, 10});
    CHECK(where.stats().uploads == 7);

    const auto chain = model::load(data("expected/operators/chain_constant_weights.onnx"), where);
    const auto before = where.stats();
    chain(pumice::zeros(dtype::f32, {3, 4}, where));
    CHECK(where.stats().uploads == before.uploads + 1);
    CHECK(before.evals == 1);  // the product of two weights
}
