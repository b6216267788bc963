// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/npy.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::dtype;
using pumice::errc;

TEST_CASE("npy: every element type and shape comes back") {
    temporary_folder folder;
    for (const auto& [code, type] : pumice::detail::npy_codes)
        for (const pumice::shape& s :
             {pumice::shape{}, pumice::shape{3}, pumice::shape{2, 3}, pumice::shape{0, 4},
              pumice::shape{1, 1, 2, 1, 1, 3, 1, 2}}) {
            pumice::npy_array a{type, s, {}};
            a.bytes.resize(static_cast<std::size_t>(pumice::byte_count(a.dtype,
                                                                       pumice::element_count(s))));
            for (std::size_t i = 0; i < a.bytes.size(); ++i)
                a.bytes[i] = static_cast<std::byte>(i * 7 & (type == dtype::boolean ? 1 : 255));
            const auto path = folder.path() / "a.npy";
            pumice::write_npy(path, a);
            CHECK((std::filesystem::file_size(path) - a.bytes.size()) % 64 == 0);
            const pumice::npy_array b = pumice::read_npy(path);
            CHECK(b.dtype == a.dtype);
            CHECK(b.shape == a.shape);
            CHECK(b.bytes == a.bytes);
        }
}

TEST_CASE("npy: a type that NumPy's files have no code for is refused") {
    temporary_folder folder;
    const pumice::npy_array a{dtype::f8_e4m3, {1}, {std::byte{0}}};
    const auto [code, what] = thrown_by([&] { pumice::write_npy(folder.path() / "a.npy", a); });
    CHECK(code == errc::unsupported);
    CHECK(what.find("f8_e4m3") != std::string::npos);
}

TEST_CASE("npy: bytes that are not those of the shape are not written") {
    temporary_folder folder;
    const pumice::npy_array a{dtype::f32, {2, 3}, std::vector<std::byte>(20)};
    const auto [code, what] = thrown_by([&] { pumice::write_npy(folder.path() / "a.npy", a); });
    CHECK(code == errc::invalid_argument);
    CHECK(what.find("has 24 bytes, not 20") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "a.npy"));
}

TEST_CASE("npy: what NumPy wrote") {
    const auto a = pumice::read_npy(data("expected/mnist-12.0.in.npy"));
    CHECK(a.dtype == dtype::f32);
    CHECK(a.shape == pumice::shape{1, 1, 28, 28});
    CHECK(a.bytes.size() == 28 * 28 * 4);
}

TEST_CASE("npy: a file cut anywhere, or with any byte changed, is read or refused") {
    temporary_folder folder;
    pumice::write_npy(folder.path() / "a.npy", {dtype::f32, {2, 2}, std::vector<std::byte>(16)});
    const auto good = slurp(folder.path() / "a.npy");
    for (std::size_t n = 0; n < good.size(); ++n)
        CHECK(thrown_by([&] { pumice::parse_npy(std::span(good).first(n), "cut"); }).first ==
              errc::bad_file);
    for (std::size_t i = 0; i < good.size(); ++i)
        for (int v : {0, 1, 48, 57, 127, 128, 255}) {
            auto bad = good;
            bad[i] = static_cast<std::byte>(v);
            CHECK(test::code_of([&] {
                      pumice::parse_npy(bad, "changed");
                  }).value_or(errc::bad_file) == errc::bad_file);
        }
}

TEST_CASE("npy: shapes that lie are refused before memory is taken") {
    const auto file = [](const std::string& shape, const std::string& type = "<f4",
                         const std::string& order = "False") {
        std::string header =
            "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
        std::string text("\x93NUMPY\x01\x00", 8);
        text += static_cast<char>(header.size());
        text += '\0';
        return text + header + "0123";
    };
    const std::string good = file("(1,)");
    CHECK(pumice::parse_npy(std::as_bytes(std::span(good)), "good").shape == pumice::shape{1});
    for (const std::string& text :
         {file("(4611686018427387904, 4)"), file("(9223372036854775807, 2)"), file("(-1,)"),
          file("(1"), file("1"), file("(1;1)"), file("(1,1,1,1,1,1,1,1,1)"),
          file("(99999999999999999999999,)"), file("(2,)"), file("(1,)", "<f3"),
          file("(1,)", "<f4", "true"), file("(a)")})
        CHECK_MESSAGE(thrown_by([&] {
                          pumice::parse_npy(std::as_bytes(std::span(text)), "liar");
                      }).first == errc::bad_file,
                      text);
}
