// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/image.hpp>

#include <tests/exchange/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("image: what is written is read back, whatever its size and channels") {
    const pumice_test::temporary_folder folder;
    for (const char* end : {".png", ".bmp", ".tga", ".jpg"})
        for (const std::int64_t channels : {1, 2, 3, 4}) {
            CAPTURE(end);
            CAPTURE(channels);
            const pm::any_tensor x =
                pm::astype(pumice_test::numbers(pm::dtype::i32, {5, 7, channels}) * 36,
                           pm::dtype::u8);
            const std::filesystem::path file = folder.path() / (std::string("a") + end);
            pm::save_image(file, x);
            const bool exact = std::string_view(end) != ".jpg";
            const bool bmp = std::string_view(end) == ".bmp";
            const pm::tensor<std::uint8_t, pm::dims<3>> y = pm::load_image(file);
            // BMP has neither grey nor alpha of two channels, JPEG no alpha.
            if (exact && (!bmp || channels == 3)) {
                CHECK(y.shape() == x.shape());
                CHECK(y.to_vector() == pm::to_vector<std::uint8_t>(x));
            } else {
                CHECK(y.shape()[0] == 5);
                CHECK(y.shape()[1] == 7);
            }
            CHECK(pm::load_image(file, 3).shape() == pm::shape{5, 7, 3});
        }
}

TEST_CASE("image: of two axes it is grey; rows lie from top to bottom; expressions and views") {
    const pumice_test::temporary_folder folder;
    const std::filesystem::path file = folder.path() / "grey.png";
    const pm::matrix<std::uint8_t> x = {{0, 64, 128}, {255, 32, 1}};
    pm::save_image(file, pm::transpose(x));
    CHECK(pm::load_image(file).to_vector() == std::vector<std::uint8_t>{0, 255, 64, 32, 128, 1});
    CHECK(pm::load_image(file).shape() == pm::shape{3, 2, 1});
    pm::save_image(file, x / 2);
    CHECK(pm::load_image(file, 3).to_vector()[3] == 32);
}

TEST_CASE("image: what cannot be read or written is named") {
    const pumice_test::temporary_folder folder;
    const auto says = [](auto&& call, pm::errc code, const char* part) {
        CHECK(pumice_test::code_of(call) == code);
        const std::string text = pumice_test::text_of_error(call);
        CHECK_MESSAGE(text.find(part) != text.npos, text);
    };
    const pm::matrix<std::uint8_t> x = {{1, 2}, {3, 4}};
    const std::filesystem::path png = folder.path() / "a.png";
    says([&] { pm::load_image(png); }, pm::errc::io_failed, "a.png");
    says([&] { pm::load_image(folder.path()); }, pm::errc::io_failed, "regular file");
    // The head of a BMP of 40 000 x 40 000 pixels.
    std::string head("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x40\x9c\0\0\x40\x9c\0\0\1\0\x18\0",
                     30);
    head.resize(54);
    std::ofstream(png, std::ios::binary) << head;
    says([&] { pm::load_image(png); }, pm::errc::bad_file, "40000 x 40000 pixels");
    for (const char* name : {"a.tga", "a.jpg"})
        says([&] { pm::save_image(folder.path() / name, pm::zeros<std::uint8_t>({1, 70000})); },
             pm::errc::unsupported, ".png");
    std::ofstream(png) << "no picture";
    says([&] { pm::load_image(png); }, pm::errc::bad_file, "a.png: ");
    std::ofstream(png).close();
    says([&] { pm::load_image(png); }, pm::errc::bad_file, "is empty");
    says([&] { pm::load_image(png, 5); }, pm::errc::invalid_argument, "5 channels");
    says([&] { pm::save_image(png, pm::astype<float>(x)); }, pm::errc::dtype_mismatch,
         "u8, not f32");
    says([&] { pm::save_image(png, pm::zeros<std::uint8_t>({2, 2, 5})); }, pm::errc::shape_mismatch,
         "(2, 2, 5)");
    says([&] { pm::save_image(png, pm::zeros<std::uint8_t>({0, 2})); }, pm::errc::shape_mismatch,
         "(0, 2)");
    says([&] { pm::save_image(folder.path() / "a.webp", x); }, pm::errc::unsupported, "a.webp");
    says([&] { pm::save_image(folder.path() / "none" / "a.png", x); }, pm::errc::io_failed,
         "cannot write");
}
