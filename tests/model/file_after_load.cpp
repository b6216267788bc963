// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What another process does to a model's files, after they were loaded and while they are: never
// more than an error.
#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/model/onnx/resolve.hpp>

#include <tests/model/support.hpp>

#include <atomic>
#include <thread>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::errc;
using pumice::model;

namespace {

constexpr std::int64_t width = 100'000;  // long enough not to be read with the structure

std::string numbers(float first) {
    std::vector<float> v(width);
    for (std::int64_t i = 0; i < width; ++i)
        v[static_cast<std::size_t>(i)] = first + float(i % 100);
    return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}

enum class kept { raw, typed, outside };

/// y = leaky_relu(x * w + b): w long, b short, both here or in w.bin.
message model_with(kept where) {
    message w = tensor_of("w", 1, {width});
    if (where == kept::raw) w.text(9, numbers(1));
    if (where == kept::typed) w.text(4, numbers(1));
    if (where == kept::outside)
        w.put(13, message{}.text(1, "location").text(2, "w.bin")).number(14, 1);
    return model_of(message{}
                        .put(5, w)
                        .put(5, floats("b", {1}, {-50}))
                        .put(1, node_of("Mul", {"x", "w"}, {"p"}, {}, "product"))
                        .put(1, node_of("Add", {"p", "b"}, {"s"}))
                        .put(1, node_of("LeakyRelu", {"s"}, {"y"}, {attribute("alpha", 0.5f)}))
                        .put(11, value_of("x", 1, {width}))
                        .put(12, value_of("y", 1, {width})));
}

bool right(const model& m) {
    const auto y =
        pumice::to_vector<float>(m(pumice::astype(pumice::ones<float>({width}), dtype::f32)));
    for (std::int64_t i = 0; i < width; ++i) {
        const float s = 1 + float(i % 100) - 50;
        if (y[static_cast<std::size_t>(i)] != (s < 0 ? s / 2 : s)) return false;
    }
    return true;
}

void overwrite(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file << std::string(std::filesystem::file_size(path), '\x5a');
}

}  // namespace

TEST_CASE("file after load: cut, rewritten, replaced or gone, the model computes what it did") {
    using change = void (*)(const std::filesystem::path&);
    const change changes[] = {
        [](const std::filesystem::path& p) { std::filesystem::resize_file(p, 0); }, &overwrite,
        [](const std::filesystem::path& p) {
            const auto other = p.string() + ".new";
            std::ofstream(other) << "something else";
            std::filesystem::rename(other, p);
        },
        [](const std::filesystem::path& p) { std::filesystem::remove(p); }};
    for (kept where : {kept::raw, kept::typed, kept::outside})
        for (const change& apply : changes) {
            temporary_folder folder;
            const auto path = folder.write("m.onnx", model_with(where).bytes);
            const auto data = folder.write("w.bin", numbers(1));
            const model m = model::load(path);
            apply(path);
            apply(data);
            CHECK(right(m));
            CHECK(contains(m.dump(), "product"));
            CHECK(m.infer_shapes().back().shape == pumice::shape{width});
            CHECK(right(m));
        }
}

TEST_CASE("file after load: open axes do not leave weights behind in the file") {
    temporary_folder folder;
    message graph;  // with the axis taken as 1, as while loading, the product does not fit
    graph.put(5, tensor_of("w", 1, {2, width}).text(9, numbers(1) + numbers(2)))
        .put(5, longs("to", {2}, {2, width}))
        .put(1, node_of("Reshape", {"x", "to"}, {"r"}))
        .put(1, node_of("Mul", {"r", "w"}, {"y"}))
        .put(11, value_of("x", 1, {-1}))
        .put(12, message{}.text(1, "y"));
    const auto path = folder.write("m.onnx", model_of(graph).bytes);
    const model m = model::load(path);
    std::filesystem::resize_file(path, 0);
    const auto y = pumice::to_vector<float>(m(any_tensor(pumice::ones<float>({2 * width}))));
    CHECK(y[5] == 6);
    CHECK(y[width + 5] == 7);
}

TEST_CASE("file after load: no descriptor stays open, in whichever way loading ends") {
    const auto open = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    temporary_folder folder;
    const auto path = folder.write("m.onnx", model_with(kept::outside).bytes);
    folder.write("w.bin", numbers(1));
    const model first = model::load(path);
    const auto before = open();
    std::vector<model> held;
    for (int i = 0; i < 3; ++i) held.push_back(model::load(path));
    CHECK(open() == before);
    std::filesystem::resize_file(folder.path() / "w.bin", 100);
    CHECK(thrown_by([&] { model::load(path); }).first == errc::bad_file);
    CHECK(open() == before);
}

TEST_CASE("file after load: cut and written anew while it is loaded, it is taken or refused") {
    for (const auto& [where, home] : {std::pair(kept::raw, storing_context()),
                                      {kept::outside, storing_context()},
                                      // a device, and threads that read
                                      {kept::raw, pumice::default_context()},
                                      {kept::outside, pumice::default_context()}}) {
        temporary_folder folder;
        const std::string whole = model_with(where).bytes, weights = numbers(1);
        const auto path = folder.write("m.onnx", whole);
        const auto data = folder.write("w.bin", weights);
        const auto& victim = where == kept::raw ? path : data;
        const std::string& text = where == kept::raw ? whole : weights;
        std::atomic<bool> stop{false};
        std::thread other([&] {
            for (std::size_t n = 0; !stop; n = (n + 37'777) % text.size()) {
                std::filesystem::resize_file(victim, n);
                std::ofstream(victim, std::ios::binary | std::ios::in | std::ios::out) << text;
            }
        });
        int taken = 0, refused = 0;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        while (std::chrono::steady_clock::now() < end) {
            const auto fault = test::code_of([&] { model::load(path, home); });
            ++(fault ? refused : taken);
            if (fault) REQUIRE((*fault == errc::bad_file || *fault == errc::io_failed));
        }
        stop = true;
        other.join();
        CHECK(taken + refused > 10);
        CHECK(refused > 0);
    }
}

TEST_CASE("file after load: the long data of a file takes no memory before it is uploaded") {
    temporary_folder folder;
    message w = tensor_of("w", 1, {width}).text(9, numbers(1));
    const auto path = folder.write("m.onnx", model_of(message{}
                                                          .put(5, w)
                                                          .put(1, node_of("Add", {"x", "w"}, {"y"}))
                                                          .put(11, value_of("x", 1, {width}))
                                                          .put(12, message{}.text(1, "y")))
                                                 .bytes);
    const auto p = pumice::onnx::resolve(pumice::onnx::read(path));
    CHECK(pumice::constant_of(p.constants[0])->in_file());
    const auto& bytes =
        p.file.from.bytes;  // what lies past the piece that was read with the beginning
    CHECK(bytes[bytes.size() / 2] == std::byte(0));
    CHECK(bytes[bytes.size() / 2 + 2] == std::byte(0));
    pumice::model_limits limits;
    limits.file_bytes = 1000;
    CHECK(thrown_by([&] { pumice::onnx::read(path, limits); }).first == errc::bad_file);
    limits = {.structure_bytes = 1000};
    CHECK(contains(thrown_by([&] { pumice::onnx::read(path, limits); }).second, "structure_bytes"));
}
