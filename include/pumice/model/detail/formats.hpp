// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The formats that `model::load` knows: a line each.
#pragma once

#include <pumice/model/input_file.hpp>
#include <pumice/model/onnx/detail/open.hpp>
#ifdef PUMICE_VGF  // the CMake target pumice::vgf
#include <pumice/model/vgf/builder.hpp>
#endif

#include <array>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Whether a file that begins so is in Arm's VGF. (An ONNX file begins with the tag of a field.)
inline bool is_vgf(span<const std::byte> front) {
    constexpr std::string_view magic = "VGF1";
    return front.size() >= magic.size() &&
           std::memcmp(front.data(), magic.data(), magic.size()) == 0;
}
[[noreturn]] inline void throw_no_vgf(const std::string& name) {
    throw error(errc::unsupported, "model",
                name + ": is a VGF file, which this program was compiled without",
                {"link the CMake target pumice::vgf, which is there where CMake finds Arm's VGF "
                 "library (tools/deps --dev takes it)"});
}

/// Throws errc::io_failed, errc::bad_file, errc::unsupported_op, errc::unsupported.
inline std::shared_ptr<model_builder> open_model(const std::filesystem::path& path,
                                                 const load_options& o) {
    const std::shared_ptr<input_file> file = input_file::open(path);
    std::array<std::byte, 4> front{};
    if (file->size() >= front.size()) file->read(0, front);
    if (is_vgf(front)) {
#ifdef PUMICE_VGF
        return vgf::open(file, o);
#else
        throw_no_vgf(path.filename().string());
#endif
    }
    return onnx::open(path, o);
}
/// The bytes of a file, which are copied. Data in other files is refused.
inline std::shared_ptr<model_builder> open_model(span<const std::byte> bytes,
                                                 const load_options& o) {
    if (is_vgf(bytes)) {
#ifdef PUMICE_VGF
        const auto copy =
            std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
        return vgf::open(*copy, copy, o);
#else
        throw_no_vgf("model");
#endif
    }
    return onnx::open(bytes, o);
}

}}}  // namespace pumice::PUMICE_ABI::detail
