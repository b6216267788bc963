// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pictures to files and back by stb (https://github.com/nothings/stb), whose headers the includer
// has; no other header of Pumice includes them. As stb wants it, one source file of a program
// defines STB_IMAGE_IMPLEMENTATION and STB_IMAGE_WRITE_IMPLEMENTATION before it includes this.
#pragma once

#include <pumice/base/replaced_file.hpp>
#include <pumice/model/input_file.hpp>
#include <pumice/tensor/creation.hpp>

#include <stb_image.h>
#include <stb_image_write.h>

#include <algorithm>
#include <climits>
#include <filesystem>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
/// What stb hands out belongs to malloc.
struct stb_pixels {
    stbi_uc* data;
    explicit stb_pixels(stbi_uc* made) : data(made) {}
    stb_pixels(const stb_pixels&) = delete;
    ~stb_pixels() { stbi_image_free(data); }
};
}  // namespace detail

/// The pixels of a picture's file (PNG, JPEG, BMP, GIF, TGA, PNM, PSD) as u8 (height, width,
/// channels), the first row on top: as many channels as the file has, or `channels` (1: grey, 2:
/// grey and alpha, 3: RGB, 4: RGBA), converted. Of 16 bits the upper 8 are kept; what a cut BMP,
/// TGA or PNM lacks is 0. Throws errc::io_failed where the file cannot be read, errc::bad_file
/// where it is no such picture or has more than 2^30 values, errc::invalid_argument for another
/// number of channels.
inline tensor<std::uint8_t, dims<3>> load_image(const std::filesystem::path& path, int channels = 0,
                                                const context& home = default_context()) {
    if (channels < 0 || channels > 4)
        fail(errc::invalid_argument, "load_image", {channels, " channels, not 1 to 4 or 0"});
    const std::shared_ptr<input_file> file = input_file::open(path);
    if (file->size() > INT_MAX)
        throw error(errc::bad_file, "load_image", path.string() + ": has more than 2^31 bytes");
    std::vector<std::byte> bytes(static_cast<std::size_t>(file->size()));
    file->read(0, bytes);
    int width = 0, height = 0, has = 0;
    if (stbi_info_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                              static_cast<int>(bytes.size()), &width, &height, &has) != 0 &&
        std::int64_t{width} * height > (std::int64_t{1} << 30) / (channels ? channels : has))
        throw error(errc::bad_file, "load_image",
                    path.string() + ": has " + std::to_string(height) + " x " +
                        std::to_string(width) + " pixels, more than 2^30 values");
    const detail::stb_pixels
        pixels(stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                                     static_cast<int>(bytes.size()), &width, &height, &has,
                                     channels));
    if (!pixels.data)
        throw error(errc::bad_file, "load_image",
                    path.string() + ": " + (bytes.empty() ? "is empty" : stbi_failure_reason()));
    const shape extent{height, width, channels ? channels : has};
    const span<const std::uint8_t> values(pixels.data,
                                          static_cast<std::size_t>(element_count(extent)));
    return from_span<std::uint8_t>(extent, values, home);
}

/// Writes a tensor or an expression of u8 (height, width, channels) or (height, width), evaluated,
/// as the picture that the name ends in: .png, .bmp, .tga, .jpg. Throws errc::dtype_mismatch for
/// other elements, errc::shape_mismatch for what has not 1 to 4 channels or no pixels,
/// errc::unsupported for other names, errc::io_failed.
inline void save_image(const std::filesystem::path& path, const any_tensor& x) {
    if (x.dtype() != dtype::u8)
        fail(errc::dtype_mismatch, "save_image",
             {"pixels are u8, not ", to_string(x.dtype()),
              ": clip(round(x * 255), 0, 255) and astype make them of reals"});
    const shape& s = x.shape();
    const std::int64_t channels = s.rank() == 3 ? s[2] : 1;
    if (s.rank() < 2 || s.rank() > 3 || channels < 1 || channels > 4 || element_count(s) == 0 ||
        element_count(s) > INT_MAX)
        fail(errc::shape_mismatch, "save_image",
             {"the shape ", to_string(s), " is none of (height, width, 1 to 4 channels)"});
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(element_count(s)));
    read(x, as_writable_bytes(span(pixels)));
    const int height = static_cast<int>(s[0]), width = static_cast<int>(s[1]),
              deep = static_cast<int>(channels);
    const std::string end = path.extension().string();
    const bool jpeg = end == ".jpg" || end == ".jpeg";
    if ((jpeg || end == ".tga") && std::max(height, width) > 0xffff)
        fail(errc::unsupported, "save_image",
             {end, " has no pictures of more than 65535 pixels a side, as ", to_string(s),
              "; .png has"});
    std::string file;
    const auto append = [](void* to, void* data, int size) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                              static_cast<std::size_t>(size));
    };
    int made = 0;
    if (end == ".png")
        made = stbi_write_png_to_func(append, &file, width, height, deep, pixels.data(), 0);
    else if (end == ".bmp")
        made = stbi_write_bmp_to_func(append, &file, width, height, deep, pixels.data());
    else if (end == ".tga")
        made = stbi_write_tga_to_func(append, &file, width, height, deep, pixels.data());
    else if (jpeg)
        made = stbi_write_jpg_to_func(append, &file, width, height, deep, pixels.data(), 90);
    else
        throw error(errc::unsupported, "save_image",
                    path.string() + " names no .png, .bmp, .tga or .jpg");
    if (made == 0) throw error(errc::io_failed, "save_image", "cannot write " + path.string());
    detail::replaced_file out(path);
    out.stream << file;
    out.finish("save_image");
}
template <array_argument X>
    requires(!std::derived_from<std::remove_cvref_t<X>, any_tensor>)
void save_image(const std::filesystem::path& path, X&& x) {
    save_image(path, any_tensor(std::forward<X>(x).get()));
}

}}  // namespace pumice::PUMICE_ABI
