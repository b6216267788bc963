// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Packages that were cut, changed, or made to look right: each is refused by name, or does no harm.
#include <pumice/front.hpp>
#include <pumice/package.hpp>
#include <pumice/package/detail/format.hpp>

#include <tests/model/support.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>

namespace pm = pumice;
using pm::detail::package_header;

namespace {

/// A small one of a product, an op with a constant, and a reduction.
std::string sample(const pumice_test::temporary_folder& folder, const pm::context& home) {
    const pm::any_tensor w = pm::full(pm::dtype::f32, {6, 5}, 0.5, home),
                         c = pm::full(pm::dtype::f32, {5}, 2, home);
    const pm::any_tensor made[] = {w, c};
    pm::eval(made);
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {4, 6}}},
                  [&](std::span<const pm::any_tensor> t) {
                      return std::vector{pm::any_tensor(pm::matmul(t[0], w) * c),
                                         pm::any_tensor(pm::softmax(t[0], 1))};
                  });
    const auto at = folder.path() / "sample.pumice";
    pm::package::save(at, e);
    const auto bytes = pumice_test::slurp(at);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The number at a place of the header.
std::size_t number(const std::string& bytes, std::size_t at) {
    return static_cast<std::size_t>(package_header::number(std::as_bytes(std::span(bytes)), at));
}
/// The checksum of header and index made right again.
void sign(std::string& bytes) {
    const std::size_t end = package_header::size + number(bytes, 16);
    if (end > bytes.size() || end < package_header::size) return;
    std::memset(&bytes[32], 0, 16);
    const pm::digest d = pm::digest_of(std::string_view(bytes).substr(0, end));
    std::memcpy(&bytes[32], &d.low, 8);
    std::memcpy(&bytes[40], &d.high, 8);
}
/// Other bytes for the graph, with checksums and lengths that say so. Behind it come no kernels.
std::string with_graph(const std::string& bytes, const std::string& graph) {
    const std::size_t index = number(bytes, 16);
    const auto* const p = pm::package_v1::GetPackage(bytes.data() + package_header::size);
    const std::string weights =
        bytes.substr(p->weights()->begin(), static_cast<std::size_t>(p->weights()->bytes()));
    std::string made = bytes.substr(0, package_header::size + index);
    const auto put = [&](const pm::package_v1::Section* s, const std::string& part) {
        made.resize(pm::detail::aligned_up(made.size()));
        const pm::digest d = pm::digest_of(part);
        const pm::package_v1::Section fresh(made.size(), part.size(), d.high, d.low);
        std::memcpy(&made[static_cast<std::size_t>(reinterpret_cast<const char*>(s) -
                                                   bytes.data())],
                    &fresh, sizeof fresh);
        made += part;
    };
    put(p->graph(), graph);
    put(p->weights(), weights);
    const std::uint64_t all = made.size();
    std::memcpy(&made[24], &all, 8);
    sign(made);
    return made;
}

/// What becomes of a file: loaded and run, or refused.
enum class outcome { runs, refused, other };
outcome fate(const std::filesystem::path& file, const pm::context& home) {
    try {
        const pm::package p = pm::package::load(file, home);
        std::vector<pm::any_tensor> inputs;
        for (const pm::package_value& v : p.inputs())
            inputs.push_back(pm::zeros(v.dtype, v.shape, home));
        pm::eval(inputs);
        for (const pm::any_tensor& t : p.run(inputs)) pm::eval(std::span(&t, 1));
        return outcome::runs;
    } catch (const pm::error& e) {
        if (e.code() == pm::errc::bad_file) return outcome::refused;
        MESSAGE(e.what());
        return outcome::other;
    }
}

}  // namespace

TEST_CASE("damage: files that were cut or changed are refused, each by name") {
    const pumice_test::temporary_folder folder;
    const pm::context home(pm::host_only{});
    const std::string whole = sample(folder, home);
    REQUIRE(fate(folder.write("whole", whole), home) == outcome::runs);
    std::mt19937 random(1);
    int refused = 0, tried = 0;
    const auto expect = [&](const std::string& bytes, const std::string& what) {
        ++tried;
        const bool good = fate(folder.write("damaged", bytes), home) == outcome::refused;
        CHECK_MESSAGE(good, what);
        refused += good;
    };
    for (int i = 0; i < 100; ++i) {
        const std::size_t at = i < 64 ? static_cast<std::size_t>(i) : random() % whole.size();
        expect(whole.substr(0, at), "cut at " + std::to_string(at));
    }
    expect(whole + '\0', "a byte more");
    expect(whole + whole, "twice");
    const auto* const p = pm::package_v1::GetPackage(whole.data() + package_header::size);
    const auto graph_end = static_cast<std::size_t>(p->graph()->begin() + p->graph()->bytes());
    const std::size_t index_end = package_header::size + number(whole, 16);
    const auto flip = [&](std::size_t at) {
        if (at >= index_end && at < p->graph()->begin()) return;  // zeros that nothing reads
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        expect(bytes, "flipped at " + std::to_string(at));
    };
    for (std::size_t at = 0; at < package_header::size; ++at) flip(at);
    for (int i = 0; i < 150; ++i) flip(package_header::size + random() % (graph_end - 64));
    CHECK(refused == tried);
    CHECK(tried >= 300);
    // Weights are looked at where that is asked for.
    std::string bytes = whole;
    bytes[static_cast<std::size_t>(p->weights()->begin()) + 3] ^= 1;
    const auto file = folder.write("weights", bytes);
    CHECK(fate(file, home) == outcome::runs);
    const auto [code, text] = pumice_test::thrown_by([&] { pm::package::check(file); });
    CHECK(code == pm::errc::bad_file);
    CHECK(pumice_test::contains(text, "is damaged"));
    CHECK_NOTHROW(pm::package::check(folder.write("whole", whole)));
}

TEST_CASE("damage: an index of any bytes with a right checksum does no harm") {
    const pumice_test::temporary_folder folder;
    const pm::context home(pm::host_only{});
    const std::string whole = sample(folder, home);
    std::mt19937 random(2);
    const std::size_t index = number(whole, 16);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
        std::string bytes = whole;
        for (unsigned n = random() % 4 + 1; n > 0; --n) {
            const std::size_t at = package_header::size + random() % (index - 8);
            const std::uint32_t odd[] = {0,          1,          0x7fffffff,
                                         0xffffffff, 0x80000000, std::uint32_t(random())};
            const std::uint32_t value = odd[random() % 6];
            std::memcpy(&bytes[at], &value, random() % 4 + 1);
        }
        sign(bytes);
        refused += fate(folder.write("odd", bytes), home) != outcome::runs;
    }
    CHECK(refused > 200);
}

TEST_CASE("damage: a part that begins behind the end of the file is refused") {
    const pumice_test::temporary_folder folder;
    const pm::context home(pm::host_only{});
    std::string bytes = sample(folder, home);
    const auto* const p = pm::package_v1::GetPackage(bytes.data() + package_header::size);
    REQUIRE(p->weights()->begin() > p->graph()->begin() + p->graph()->bytes());
    bytes.resize(static_cast<std::size_t>(p->graph()->begin() + p->graph()->bytes()));
    const std::uint64_t size = bytes.size(), much = std::uint64_t{1} << 40;
    std::memcpy(&bytes[24], &size, 8);
    const auto* const cut = pm::package_v1::GetPackage(bytes.data() + package_header::size);
    pm::package_v1::Section large(cut->weights()->begin(), much, 0, 0);
    std::memcpy(&bytes[static_cast<std::size_t>(reinterpret_cast<const char*>(cut->weights()) -
                                                bytes.data())],
                &large, sizeof large);
    sign(bytes);
    const auto [code, what] =
        pumice_test::thrown_by([&] { pm::package::load(folder.write("behind", bytes), home); });
    CHECK(code == pm::errc::bad_file);
    CHECK_MESSAGE(what.find("weights lies where it cannot") != std::string::npos, what);
}

TEST_CASE("damage: a graph with other numbers and a right checksum does no harm") {
    const pumice_test::temporary_folder folder;
    const pm::context home(pm::host_only{});
    const std::string whole = sample(folder, home);
    const auto* const p = pm::package_v1::GetPackage(whole.data() + package_header::size);
    const std::string graph = whole.substr(p->graph()->begin(), p->graph()->bytes());
    REQUIRE(fate(folder.write("same", with_graph(whole, graph)), home) == outcome::runs);
    std::vector<std::size_t> digits;
    for (std::size_t i = 0; i < graph.size(); ++i)
        if (graph[i] >= '0' && graph[i] <= '9') digits.push_back(i);
    std::mt19937 random(3);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
        std::string odd = graph;
        const std::size_t at = digits[random() % digits.size()];
        const char* const values[] = {
            "0", "1", "7", "-1", "99999999", "9223372036854775807", "null", "[]", "\"x\"", "1e300"};
        odd.replace(at, 1, values[random() % 10]);
        refused += fate(folder.write("odd", with_graph(whole, odd)), home) != outcome::runs;
    }
    for (const char* text : {"", "{}", "[", "{\"plan\": 1}", "{\"plan\": 2}", "null"})
        CHECK(fate(folder.write("odd", with_graph(whole, text)), home) == outcome::refused);
    CHECK(fate(folder.write("odd", with_graph(whole, std::string(100'000, '['))), home) ==
          outcome::refused);
    CHECK(refused > 100);
}

TEST_CASE("damage: parts of a folder that are missing, cut or links are refused") {
    const pumice_test::temporary_folder folder;
    const pm::context home(pm::host_only{});
    const pm::any_tensor w = pm::full(pm::dtype::f32, {64}, 0.5, home);
    pm::eval(std::span(&w, 1));
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {64}}},
                  [&](std::span<const pm::any_tensor> t) {
                      return std::vector{pm::any_tensor(t[0] * w)};
                  });
    pm::package_options o;
    o.form = pm::package_form::folder;
    int number = 0;
    for (const char* part :
         {"package.index", "partition_0/graph.json", "partition_0/weights.bin"}) {
        const auto fresh = [&] {
            const auto to = folder.path() / std::to_string(number++);
            pm::package::save(to, e, o);
            REQUIRE(fate(to, home) == outcome::runs);
            return to;
        };
        const auto code_of = [&](const std::filesystem::path& at) {
            return pumice_test::thrown_by([&] { pm::package::load(at, home); }).first;
        };
        const auto cut = fresh();
        std::filesystem::resize_file(cut / part, std::filesystem::file_size(cut / part) - 1);
        CHECK(code_of(cut) == pm::errc::bad_file);
        const auto missing = fresh();
        std::filesystem::rename(missing / part, folder.path() / ("aside" + std::to_string(number)));
        CHECK(code_of(missing) == pm::errc::io_failed);
        std::filesystem::create_symlink(folder.path() / ("aside" + std::to_string(number)),
                                        missing / part);
        CHECK(code_of(missing) == pm::errc::io_failed);
    }
    CHECK(pumice_test::thrown_by([&] { pm::package::save(folder.path() / "0", e, o); }).first ==
          pm::errc::io_failed);
}
