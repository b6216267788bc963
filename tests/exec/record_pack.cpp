// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Programs with their pack, where there is neither Slang nor a cache: they run, compile nothing,
// and say what is missing.
#include "support.hpp"

#include <pumice/exec/null_engine.hpp>
#include <pumice/exec/record_pack.hpp>
#include <pumice/front.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <fstream>

#include <sys/stat.h>

namespace pm = pumice;

namespace {

std::vector<float> work(const pm::context& home) {
    const auto numbers = [&](const pm::shape& s) {
        std::vector<float> v(static_cast<std::size_t>(pm::element_count(s)));
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i % 7) - 3;
        return pm::from_bytes(pm::dtype::f32, s, std::as_bytes(std::span(v)), home);
    };
    const pm::any_tensor a = numbers({12, 9}), b = numbers({9, 12});
    const pm::any_tensor y = pm::softmax(pm::matmul(a, b) * 0.25, 1) + 1.0;
    const pm::any_tensor f =
        pm::matmul(pm::astype(a, pm::dtype::f16), pm::astype(b, pm::dtype::f16));
    return pm::to_vector<float>(y + pm::astype(f, pm::dtype::f32));
}

/// Where there is no Slang and an empty cache, until it goes.
struct bare_machine {
    test::temporary_folder folder;
    test::variable no_slang{"PUMICE_SLANG_LIBRARY", (folder.path / "gone").string()};
    pm::cache_folder cache{(folder.path / "cache").string()};
};

bool on_host() { return pm::default_context().device().type == pm::device_type::host; }

}  // namespace

TEST_CASE("pack: a program runs from it with no Slang and no cache, as it ran when recorded") {
    if (on_host()) PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    std::vector<float> expected;
    const std::string pack = pm::record_pack([&](const pm::context& c) { expected = work(c); });
    CHECK(pm::record_pack([](const pm::context& c) { work(c); }) == pack);
    const bare_machine machine;
    const auto bytes = std::as_bytes(std::span(pack));
    {
        const pm::context home(pm::pack(bytes), machine.cache);
        CHECK(work(home) == expected);
        CHECK(home.stats().slang_compiles == 0);
        CHECK(home.stats().slang_opens == 0);
        CHECK(home.stats().cache_hits == 0);
    }
    const auto file = (machine.folder.path / "my.pack").string();
    std::ofstream(file, std::ios::binary) << pack;
    CHECK(work(pm::context(pm::pack(file), machine.cache)) == expected);
    const test::variable named("PUMICE_PACK", file);
    CHECK(work(pm::context(machine.cache)) == expected);
}

TEST_CASE(
    "pack: what it does not hold is named, with what to do; a wrong pack is refused at once") {
    if (on_host()) PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    const std::string pack = pm::record_pack([](const pm::context& c) { work(c); });
    const bare_machine machine;
    const pm::context home(pm::pack(std::as_bytes(std::span(pack))), machine.cache);
    std::string what;
    try {
        const pm::any_tensor x = pm::full(pm::dtype::f32, {5}, 2.0, home);
        pm::to_vector<float>(pm::tanh(x) * pm::cos(x));
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::no_slang);
        what = e.what();
    }
    CHECK_MESSAGE(what.find("record it anew") != std::string::npos, what);
    CHECK(!work(home).empty());
    const auto code = [&](const std::string& wrong) {
        return test::code_of([&] {
            pm::context(pm::pack(std::as_bytes(std::span(wrong))), machine.cache);
        });
    };
    std::string newer = pack;
    newer[24] = 9;
    CHECK(code(newer) == pm::errc::bad_file);
    CHECK(code(pack.substr(0, pack.size() - 4)) == pm::errc::bad_file);
    CHECK_THROWS_AS(pm::context(pm::pack((machine.folder.path / "no.pack").string())), pm::error);
}

TEST_CASE("pack: recorded on the null device for this device, the same bytes, and nothing runs") {
    if (on_host()) PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    const std::string here = pm::record_pack([](const pm::context& c) { work(c); });
    const pm::device_info info = pm::default_context().device();
    const std::string there = pm::record_pack(
        [](const pm::context& c) {
            for (const float v : work(c)) CHECK(v == 0);
            CHECK(c.stats().submits == 0);
        },
        pm::null_device{info});
    CHECK(there == here);
    const pm::context nothing{pm::null_device{info}};
    CHECK_THROWS_AS(work(nothing), pm::error);
}

TEST_CASE("pack: what PUMICE_RECORD_PACK names is never written over if it is no pack") {
    test::temporary_folder folder;
    const auto text_of = [](const std::filesystem::path& path) {
        std::ifstream in(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const auto refused = [&](const std::filesystem::path& path) {
        const test::variable record("PUMICE_RECORD_PACK", path.string());
        const pm::error e = test::thrown_by([] { pm::context(); });
        CHECK(e.code() == pm::errc::invalid_argument);
        CHECK(e.message().find(path.string()) == 0);
    };
    const auto source = folder.path / "source.cpp", pipe = folder.path / "pipe";
    std::ofstream(source) << "int main() {}\n";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const auto& path : {source, pipe, folder.path}) refused(path);
    CHECK(text_of(source) == "int main() {}\n");
    CHECK(std::filesystem::is_fifo(pipe));

    // A link leads to the pack, an empty file becomes one; one that is no more when it ends stays.
    const auto link = folder.path / "link", pack = folder.path / "real.pack";
    std::filesystem::create_symlink("real.pack", link);
    std::ofstream{pack};
    for (int i = 0; i < 2; ++i) pm::detail::recorder_of(link.string());
    CHECK(std::filesystem::is_symlink(link));
    CHECK(text_of(pack) == pm::pack_recorder().bytes());
    const test::captured_log log;
    {
        const auto recorder = pm::detail::recorder_of(link.string());
        std::ofstream(pack, std::ios::trunc) << "mine";
    }
    CHECK(text_of(pack) == "mine");
    CHECK(log.with("is no pack").size() == 1);
}

TEST_CASE("pack: compiled functions and PUMICE_RECORD_PACK, several contexts into one file") {
    if (on_host()) PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    test::temporary_folder folder;
    const std::string file = (folder.path / "all.pack").string();
    const auto twice = [](const pm::context& home) {
        const auto f = pm::compile([](const pm::any_tensor& x) { return x + x; });
        return pm::to_vector<float>(f(pm::full(pm::dtype::f32, {9}, 2.0, home)));
    };
    {
        const test::variable record("PUMICE_RECORD_PACK", file);
        work(pm::context());
        twice(pm::context());
    }
    const bare_machine machine;
    const pm::context home(pm::pack(file), machine.cache);
    CHECK(!work(home).empty());
    CHECK(twice(home) == std::vector<float>(9, 4.0f));
    CHECK(home.stats().slang_compiles == 0);
}
