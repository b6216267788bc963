// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Weights lie once where they are used and nowhere else; who lacks memory is told of them by name.
#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <fstream>

using namespace pumice_test;
namespace pm = pumice;
using pm::any_tensor;
using pm::dtype;
using pm::errc;
using pm::memory_role;
using pm::model;

namespace {

constexpr std::int64_t mib = 1 << 20;

float weight(std::int64_t i) { return float(i % 61) - 30; }

/// Numbers from `first` on as a file has them.
std::string numbers(std::int64_t first, std::int64_t count) {
    std::string text(static_cast<std::size_t>(count) * sizeof(float), '\0');
    for (std::int64_t i = 0; i < count; ++i) {
        const float v = weight(first + i);
        std::memcpy(text.data() + i * 4, &v, sizeof v);
    }
    return text;
}

message outside(std::string_view name, const std::vector<std::int64_t>& dims, std::int64_t type,
                std::int64_t offset) {
    return tensor_of(name, type, dims)
        .put(13, message{}.text(1, "location").text(2, "w.bin"))
        .put(13, message{}.text(1, "offset").text(2, std::to_string(offset)))
        .number(14, 1);
}

/// y = x * w[0] * w[1] ..., products of matrices {rows[i], rows[i + 1]} that lie behind one another
/// in w.bin.
std::filesystem::path chain(const temporary_folder& folder, const std::vector<std::int64_t>& rows) {
    message graph;
    std::int64_t at = 0;
    std::string from = "x";
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
        const std::string w = "layer." + std::to_string(i) + ".weight";
        const std::string to = i + 2 == rows.size() ? "y" : "h" + std::to_string(i);
        graph.put(5, outside(w, {rows[i], rows[i + 1]}, 1, at * 4));
        graph.put(1, node_of("MatMul", {from, w}, {to}));
        at += rows[i] * rows[i + 1];
        from = to;
    }
    graph.put(11, value_of("x", 1, {1, rows.front()})).put(12, value_of("y", 1, {1, rows.back()}));
    std::ofstream file(folder.path() / "w.bin", std::ios::binary);
    for (std::int64_t done = 0; done < at; done += mib)
        file << numbers(done, std::min(at - done, mib));
    return folder.write("m.onnx", model_of(graph).bytes);
}

/// What such a chain gives for the unit vector `row`: of one matrix that row of it.
any_tensor unit(std::int64_t n, std::int64_t row, const pm::context& home) {
    std::vector<float> v(static_cast<std::size_t>(n));
    v[static_cast<std::size_t>(row)] = 1;
    return pm::from_bytes(dtype::f32, {1, n}, std::as_bytes(std::span(v)), home);
}

/// A line of /proc/self/status, in bytes.
std::int64_t status(std::string_view line) {
    std::ifstream file("/proc/self/status");
    for (std::string text; std::getline(file, text);)
        if (text.starts_with(line)) return std::stoll(text.substr(line.size() + 1)) * 1024;
    return -1;
}

bool on_host(const pm::context& c) { return c.device().type == pm::device_type::host; }

std::uint64_t weights_of(const pm::context& c) { return c.stats().memory[memory_role::weights]; }

}  // namespace

TEST_CASE("weights: long ones of every kind arrive, and the host keeps none of them") {
    temporary_folder folder;
    const pm::context home;
    constexpr std::int64_t n = 300'000;
    std::string flags(n, '\0');
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = static_cast<char>(i % 7);
    message typed = tensor_of("typed", 1, {n});
    typed.text(4, numbers(5, n));
    message graph;
    graph.put(5, tensor_of("raw", 1, {n}).text(9, numbers(1, n)))
        .put(5, typed)
        .put(5, outside("out", {n}, 1, 8))
        .put(5, tensor_of("flags", 9, {n}).text(9, flags))
        .put(1, node_of("Where", {"flags", "raw", "typed"}, {"w"}))
        .put(1, node_of("Add", {"w", "out"}, {"s"}))
        .put(1, node_of("Add", {"x", "s"}, {"y"}))
        .put(11, value_of("x", 1, {n}))
        .put(12, value_of("y", 1, {n}));
    const auto path = folder.write("m.onnx", model_of(graph).bytes);
    folder.write("w.bin", "12345678" + numbers(3, n));
    const any_tensor x = pm::ones<float>({n}, home);
    const auto wanted = [&](std::int64_t i) {
        return 1 + (i % 7 != 0 ? weight(1 + i) : weight(5 + i)) + weight(3 + i);
    };
    const auto right = [&](const model& m) {
        const auto y = pm::to_vector<float>(m(x));
        for (std::int64_t i = 0; i < n; ++i)
            if (y[static_cast<std::size_t>(i)] != wanted(i)) return false;
        return true;
    };
    CHECK(right(model::load(path, home)));
    CHECK(right(model::load(path, home)));  // again, where kernels are known

    // Converted on their way. These numbers are halves, too.
    const model half = model::load(path, home, pm::load_options{.compute = dtype::f16});
    CHECK(right(half));

    // In memory.
    const model plain = model::from_bytes(
        slurp(folder.write("n.onnx",
                           model_of(message{}
                                        .put(5, tensor_of("raw", 1, {n}).text(9, numbers(1, n)))
                                        .put(1, node_of("Add", {"x", "raw"}, {"y"}))
                                        .put(11, value_of("x", 1, {n}))
                                        .put(12, value_of("y", 1, {n})))
                               .bytes)),
        home);
    CHECK(pm::to_vector<float>(plain(x))[77] == 1 + weight(78));
}

TEST_CASE("weights: a model of 257 MiB takes its weights once, and 64 MiB beside them at most") {
    temporary_folder folder;
    const std::vector<std::int64_t> rows{4096, 8192, 4128};  // 128 MiB and 129 MiB
    const auto path = chain(folder, rows);
    const temporary_folder other;
    const auto small = chain(other, {16, 32, 16});
    const pm::context home;
    /// Peak of what is resident while a model is loaded and run, without what the context has.
    const auto beside = [&](const std::filesystem::path& file, std::int64_t width) {
        home.trim();
        const any_tensor x = unit(width, 1, home);
        std::ofstream peak("/proc/self/clear_refs");
        REQUIRE((peak << 5 << std::flush).good());  // it is now
        const std::int64_t before = status("VmRSS:");
        const std::uint64_t held = home.stats().device_bytes + weights_of(home);
        std::int64_t device = 0;
        {
            const model m = model::load(file, home);
            pm::to_vector<float>(m(x));
            const pm::statistics s = home.stats();
            device = static_cast<std::int64_t>((on_host(home) ? s.memory[memory_role::weights]
                                                              : s.device_bytes) -
                                               held);
        }
        return status("VmHWM:") - before - device;
    };
    // Once before, so that Slang and the driver have what they keep.
    beside(small, 16);
    beside(path, rows[0]);
    const std::int64_t least = beside(small, 16), most = beside(path, rows[0]);
    MESSAGE("beside the weights: ", most - least, " bytes");
    CHECK(most - least < 64 * mib);
    CHECK(weights_of(home) == 0);
    const model m = model::load(path, home);
    CHECK(weights_of(home) >= std::uint64_t(257 * mib));
    CHECK(weights_of(home) < std::uint64_t(260 * mib));
}

TEST_CASE("weights: models of 1 and 3 GiB, of weights in a file of their own, load and run") {
    for (const std::size_t count : {1u, 3u}) {
        CAPTURE(count);
        temporary_folder folder;
        constexpr std::int64_t rows = 1 << 16, columns = 4096;
        const std::vector<std::int64_t> written{1, 40'000, rows - 1};
        message graph;
        std::vector<std::string> parts;
        // Of a file with holes only what is written takes room.
        const auto data = folder.write("w.bin", "");
        std::filesystem::resize_file(data, std::uintmax_t(count) << 30);
        std::fstream file(data, std::ios::binary | std::ios::in | std::ios::out);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string w = "w" + std::to_string(i);
            const auto at = static_cast<std::int64_t>(i) << 30;
            graph.put(5, outside(w, {rows, columns}, 1, at));
            graph.put(1, node_of("Gather", {w, "x"}, {parts.emplace_back("rows of " + w)}));
            for (const std::int64_t row : written) {
                file.seekp(at + row * columns * 4);
                file << numbers(row, columns);
            }
        }
        file.close();
        graph.put(1, node_of("Sum", parts, {"y"}))
            .put(11, value_of("x", 7, {3}))
            .put(12, message{}.text(1, "y"));
        const auto path = folder.write("m.onnx", model_of(graph).bytes);
        const pm::context home;
        const std::uint64_t before = weights_of(home);
        const model m = model::load(path, home);
        CHECK(weights_of(home) - before >= std::uint64_t(count) << 30);
        const auto y =
            pm::to_vector<float>(m(pm::from_bytes(dtype::i64, {3},
                                                  std::as_bytes(std::span(written)), home)));
        REQUIRE(std::ssize(y) == 3 * columns);
        bool right = true;
        for (std::size_t i = 0; i < y.size(); ++i)
            right = right && y[i] == float(count) * weight(written[i / columns] +
                                                           static_cast<std::int64_t>(i) % columns);
        CHECK(right);
    }
}

TEST_CASE("weights: what memory is for, and what a context gives back") {
    temporary_folder folder;
    const pm::context home;
    const auto path = chain(folder, {2048, 2048, 1024});  // 16 MiB and 8 MiB
    const std::uint64_t bytes = 24 * mib;
    {
        const model m = model::load(path, home);
        const pm::memory_bytes loaded = home.stats().memory;
        CHECK(loaded[memory_role::weights] >= bytes);
        CHECK(loaded[memory_role::weights] < bytes + mib);
        CHECK(loaded[memory_role::staging] == 0);
        CHECK(loaded[memory_role::temporaries] == 0);
        any_tensor wide = pm::ones<float>({1024, 1024}, home);
        const any_tensor sum(pm::matrix<float>(wide) + 1.0f);
        pm::eval(std::span(&sum, 1));
        const pm::memory_bytes ran = home.stats().memory;
        CHECK(ran[memory_role::outputs] >= std::uint64_t(4 * mib));
        const pm::executable e = m.compile();
        const std::vector<any_tensor> x{unit(2048, 3, home)}, y = e.run(x);
        pm::to_vector<float>(y[0]);
        const pm::memory_bytes compiled = home.stats().memory;
        CHECK(compiled[memory_role::weights] == loaded[memory_role::weights]);
        if (!on_host(home)) {
            CHECK(compiled[memory_role::parameters] > 0);
            CHECK(compiled[memory_role::temporaries] >= 2048 * 4);  // between the products
            CHECK(compiled[memory_role::inputs] >= 2048 * 4);
        }
    }
    const pm::memory_bytes free = home.stats().memory;
    CHECK(free[memory_role::weights] == 0);
    CHECK(free[memory_role::outputs] == 0);
    CHECK(free.pooled >= bytes);
    CHECK(home.trim() >= bytes);
    CHECK(home.stats().memory.pooled == 0);
    CHECK(home.trim() < std::uint64_t(mib));  // but for this thread's small blocks
    const model again = model::load(path, home);
    CHECK(pm::to_vector<float>(again(unit(2048, 0, home)))[0] ==
          pm::to_vector<float>(again(unit(2048, 0, home)))[0]);
}

TEST_CASE("weights: where memory is limited, those that hold most are named") {
    const pm::context home(pm::memory_limit{100 * mib});
    if (on_host(home)) PUMICE_SKIP("vulkan-device", "the limit is of a device");
    temporary_folder folder;
    // 13 matrices of 4 MiB, then two of 32 MiB.
    std::vector<std::int64_t> rows(14, 1024);
    rows.push_back(8192);
    rows.push_back(1024);
    const auto path = chain(folder, rows);
    const model first = model::load(chain(temporary_folder(), {2048, 2048}), home);
    const auto [code, text] = thrown_by([&] { model::load(path, home); });
    CHECK(code == errc::out_of_memory);
    CHECK(contains(text, "for weights \"layer.14.weight\""));
    CHECK(contains(text, "the limit of this memory, 104857600 bytes"));
    CHECK(contains(text, "held by weights \"layer.13.weight\": 33554432 bytes"));
    CHECK(contains(text, "held by weights \"layer.0.weight\": 20971520 bytes in 2 pieces"));
    CHECK(contains(text, " others: "));
    // Nothing is lost, and what was given back can be had.
    CHECK(pm::to_vector<float>(first(unit(2048, 1, home)))[5] == weight(2048 + 5));
    const model second = model::load(chain(folder, {1024, 8192}), home);
    CHECK(pm::to_vector<float>(second(unit(1024, 1, home)))[5] == weight(8192 + 5));
}

TEST_CASE("weights: where an allocation is limited, one that passes it is named, and many fit") {
    const pm::context home(pm::allocation_limit{64 * mib});
    if (on_host(home)) PUMICE_SKIP("vulkan-device", "the limit is of a device");
    temporary_folder folder;
    const auto wide = chain(folder, {256, 1024, 17 * 1024, 16});  // 1 MiB, 68 MiB, 1 MiB
    const auto [code, text] = thrown_by([&] { model::load(wide, home); });
    CHECK(code == errc::size_overflow);
    CHECK(contains(text, "for weights \"layer.1.weight\""));
    CHECK(contains(text, "largest allocation (policy allocation_limit): 67108864 bytes"));
    CHECK(weights_of(home) == 0);

    // An open axis, whose faults may wait for a run, does not hide it.
    message graph;
    graph.put(5, outside("wide", {17, mib}, 1, 0))
        .put(1, node_of("Add", {"x", "wide"}, {"y"}))
        .put(11, value_of("x", 1, {-1, mib}))
        .put(12, message{}.text(1, "y"));
    const auto open = folder.write("open.onnx", model_of(graph).bytes);
    CHECK(contains(thrown_by([&] { model::load(open, home); }).second, "weights \"wide\""));

    std::vector<std::int64_t> rows(10, 2048);  // nine of 16 MiB
    const auto path = chain(folder, rows);
    const model m = model::load(path, home);
    CHECK(weights_of(home) >= std::uint64_t(9 * 16 * mib));
    const pm::context free;
    const auto x = unit(2048, 1, home), same = unit(2048, 1, free);
    CHECK(pm::to_vector<float>(m(x)) == pm::to_vector<float>(model::load(path, free)(same)));
}
