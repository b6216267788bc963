// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The formats that `model::load` knows: a line each.
#pragma once

#include <pumice/model/onnx/builder.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Throws errc::io_failed, errc::bad_file, errc::unsupported_op, errc::unsupported.
inline std::shared_ptr<model_builder> open_model(const std::filesystem::path& path,
                                                 const load_options& o) {
    return std::make_shared<onnx::builder>(onnx::read(path, o.limits), o);
}
/// The bytes of a file, which are copied. Data in other files is refused.
inline std::shared_ptr<model_builder> open_model(std::span<const std::byte> bytes,
                                                 const load_options& o) {
    auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    return std::make_shared<onnx::builder>(onnx::read(onnx::source{"model", *copy, copy, {}, false},
                                                      o.limits),
                                           o);
}

}}}  // namespace pumice::PUMICE_ABI::detail
