// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/npz.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>
#include <tests/support/full_disk.hpp>

namespace pm = pumice;
using namespace pumice_test;
using pm::errc;

TEST_CASE("save: each type and shape comes back, from tensors, views and expressions") {
    const temporary_folder folder;
    const auto path = folder.path() / "x.npy";
    for (const auto& [code, type] : pm::detail::npy_codes)
        for (const pm::shape& s :
             {pm::shape{}, pm::shape{3}, pm::shape{2, 0}, pm::shape{2, 3, 4}}) {
            const pm::any_tensor x = numbers(type, s);
            pm::save(path, x);
            const pm::any_tensor y = pm::load(path);
            CHECK(y.dtype() == type);
            CHECK(y.shape() == s);
            CHECK(pm::detail::bytes_of(y) == pm::detail::bytes_of(x));
        }
    const pm::matrix<float> m = {{1, 2, 3}, {4, 5, 6}};
    pm::save(path, pm::transpose(m));
    CHECK(pm::load<float>(path).to_vector() == std::vector<float>{1, 4, 2, 5, 3, 6});
    pm::save(path, m * 2.0f + 1.0f);
    CHECK((pm::load<float, 2>(path).shape() == pm::shape{2, 3}));
    CHECK(pm::load<float>(path).to_vector() == std::vector<float>{3, 5, 7, 9, 11, 13});
}

TEST_CASE("save: the bytes are NumPy's, and its files in both orders are read") {
    const temporary_folder folder;
    const auto path = folder.path() / "x.npy";
    const pm::tensor<float, pm::dims<3>> x(numbers(pm::dtype::f32, {2, 3, 4}));
    pm::save(path, x);
    CHECK(slurp(path) == slurp(data("exchange/rows.npy")));
    for (const char* name : {"exchange/rows.npy", "exchange/columns.npy"})
        CHECK(pm::load<float, 3>(data(name)).to_vector() == x.to_vector());
    CHECK(pm::load<std::uint8_t, 2>(data("exchange/columns_u1.npy")).to_vector() ==
          pm::to_vector<std::uint8_t>(numbers(pm::dtype::u8, {5, 3})));
}

TEST_CASE("save: on a full disk the old file stays, an archive too") {
    const temporary_folder folder;
    const auto npy = folder.path() / "x.npy", npz = folder.path() / "x.npz";
    const pm::any_tensor small = numbers(pm::dtype::f32, {2}),
                         large = numbers(pm::dtype::f32, {5000});
    pm::save(npy, small);
    pm::save_npz(npz, {{"x", small}});
    {
        const test::full_disk full(4096);
        CHECK(code_of([&] { pm::save(npy, large); }) == errc::io_failed);
        CHECK(code_of([&] { pm::save_npz(npz, {{"x", large}}); }) == errc::io_failed);
    }
    CHECK(pm::load(npy).shape() == pm::shape{2});
    CHECK(pm::load_npz(npz).at("x").shape() == pm::shape{2});
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("save: what cannot be is refused by name") {
    const temporary_folder folder;
    const auto path = folder.path() / "x.npy";
    const pm::any_tensor small = numbers(pm::dtype::f32, {2});
    CHECK(code_of([&] { pm::save(path, pm::astype(small, pm::dtype::i4)); }) == errc::unsupported);
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(code_of([&] { pm::load(path); }) == errc::io_failed);
    CHECK(code_of([&] { pm::save(folder.path() / "none/x.npy", small); }) == errc::io_failed);
    CHECK(text_of_error([&] { pm::save(folder.path() / "x.npz", small); }).find("save_npz") !=
          std::string::npos);
    CHECK(text_of_error([&] { pm::load(folder.path() / "x.npz"); }).find("load_npz") !=
          std::string::npos);
    pm::save(path, small);
    CHECK(text_of_error([&] { pm::load<double>(path); }).find("holds f32, not f64") !=
          std::string::npos);
    CHECK(text_of_error([&] { pm::load<float, 2>(path); }).find("2 axes") != std::string::npos);
}
