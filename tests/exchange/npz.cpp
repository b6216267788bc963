// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/npz.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>

namespace pm = pumice;
using namespace pumice_test;
using pm::errc;

namespace {

void same(const pm::any_tensor& a, const pm::any_tensor& b) {
    CHECK(a.dtype() == b.dtype());
    CHECK(a.shape() == b.shape());
    CHECK(pm::detail::bytes_of(a) == pm::detail::bytes_of(b));
}

pm::named_tensors several() {
    return {
        {"weights", numbers(pm::dtype::f16, {3, 5})},  {"bias", numbers(pm::dtype::f64, {5})},
        {"mask", numbers(pm::dtype::boolean, {2, 2})}, {"none", numbers(pm::dtype::i32, {0, 3})},
        {"columns", numbers(pm::dtype::i16, {4, 2})},  {"deep/name", numbers(pm::dtype::u32, {1})}};
}

}  // namespace

TEST_CASE("npz: NumPy's archives are read, stored and deflated") {
    for (const char* name : {"exchange/stored.npz", "exchange/deflated.npz"}) {
        const pm::named_tensors read = pm::load_npz(data(name));
        for (const auto& [key, x] : several()) same(read.at(key), x);
        CHECK(pm::to_vector<std::int64_t>(read.at("steps")) == std::vector<std::int64_t>{5});
        CHECK(read.at("steps").rank() == 0);
        CHECK(read.size() == (read.contains("long") ? 8 : 7));
    }
    CHECK(pm::load_npz(data("exchange/deflated.npz")).at("long").size() == 40000);
}

TEST_CASE("npz: what is written comes back, and equal values make equal files") {
    const temporary_folder folder;
    pm::named_tensors arrays = several();
    std::vector<float> noise(100'000);
    for (std::size_t i = 0; i < noise.size(); ++i)
        noise[i] = static_cast<float>(i * 2654435761u % 1000003);
    arrays.emplace("noise", pm::adapt(noise));
    arrays.emplace("zeros", pm::zeros(pm::dtype::f32, {300, 300}));
    for (const pm::npz_entries how : {pm::npz_entries::stored, pm::npz_entries::deflated}) {
        const auto path = folder.path() / "a.npz", again = folder.path() / "b.npz";
        pm::save_npz(path, arrays, how);
        const pm::named_tensors read = pm::load_npz(path);
        CHECK(read.size() == arrays.size());
        for (const auto& [key, x] : arrays) same(read.at(key), x);
        pm::save_npz(again, arrays, how);
        CHECK(slurp(path) == slurp(again));
        const auto bytes = std::filesystem::file_size(path);
        CHECK((bytes > 760'000) == (how == pm::npz_entries::stored));
    }
    pm::save_npz(folder.path() / "none.npz", {});
    CHECK(pm::load_npz(folder.path() / "none.npz").empty());
}

TEST_CASE("npz: limits are held before memory is taken, and names that cannot be are refused") {
    const temporary_folder folder;
    const auto path = data("exchange/deflated.npz");
    CHECK(text_of_error([&] {
              pm::load_npz(path, {.bytes = 160'000});
          }).find("npz_limits::bytes") != std::string::npos);
    CHECK(text_of_error([&] { pm::load_npz(path, {.arrays = 7}); }).find("npz_limits::arrays") !=
          std::string::npos);
    CHECK(pm::load_npz(path, {.bytes = 170'000, .arrays = 8}).size() == 8);
    const auto to = folder.path() / "x.npz";
    const pm::any_tensor x = numbers(pm::dtype::f32, {2});
    for (const std::string& name :
         {std::string(), std::string("a\0b", 3), std::string(70'000, 'a')})
        CHECK(code_of([&] { pm::save_npz(to, {{name, x}}); }) == errc::invalid_argument);
    CHECK(code_of([&] { pm::save_npz(to, {{"x", pm::astype(x, pm::dtype::u4)}}); }) ==
          errc::unsupported);
    CHECK_FALSE(std::filesystem::exists(to));
    CHECK(code_of([&] { pm::save_npz(folder.path() / "none/x.npz", {{"x", x}}); }) ==
          errc::io_failed);
    CHECK(code_of([&] { pm::load_npz(to); }) == errc::io_failed);
}

TEST_CASE("npz: an archive cut anywhere, or with any byte changed, is read or refused") {
    const temporary_folder folder;
    const auto path = folder.path() / "x.npz";
    int accepted = 0, refused = 0;
    const auto read = [&] {
        const auto code = code_of([&] {
            const pm::detail::zip_reader archive(pm::input_file::open(path), 16);
            for (std::size_t i = 0; i < archive.entries().size(); ++i)
                if (archive.entries()[i].size < 1 << 20) archive.read(i);
        });
        CHECK(code.value_or(errc::bad_file) == errc::bad_file);
        ++(code ? refused : accepted);
        return !code;
    };
    for (const pm::npz_entries how : {pm::npz_entries::stored, pm::npz_entries::deflated}) {
        pm::save_npz(path,
                     {{"a", numbers(pm::dtype::u8, {3})}, {"b", numbers(pm::dtype::f32, {2})}},
                     how);
        CHECK(read());
        const auto good = slurp(path);
        {
            std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
            const auto put = [&](std::size_t i, std::byte b) {
                file.seekp(static_cast<std::streamoff>(i));
                file.put(static_cast<char>(b));
                file.flush();
            };
            for (std::size_t i = 0; i < good.size(); ++i) {
                for (const int change : {1, 0x80, 0xff}) {
                    put(i, good[i] ^ static_cast<std::byte>(change));
                    read();
                }
                put(i, good[i]);
            }
        }
        for (std::size_t n = good.size(); n-- > 0;) {
            std::filesystem::resize_file(path, n);
            CHECK_FALSE(read());
        }
    }
    CHECK(refused > accepted);
}
