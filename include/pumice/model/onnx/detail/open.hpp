// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From ONNX to a builder. With pumice::compiled the whole reader is compiled with the engine.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>
#include <pumice/model/builder.hpp>
#include <pumice/model/detail/model_options.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>

#ifndef PUMICE_COMPILED
#include <pumice/model/onnx/builder.hpp>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

/// Throws errc::io_failed, errc::bad_file, errc::unsupported_op, errc::unsupported.
PUMICE_FUNCTION std::shared_ptr<model_builder> open(const std::filesystem::path& path,
                                                    const load_options& o);
/// The bytes of a file, which are copied.
PUMICE_FUNCTION std::shared_ptr<model_builder> open(span<const std::byte> bytes,
                                                    const load_options& o);

#ifndef PUMICE_COMPILED

PUMICE_BODY
std::shared_ptr<model_builder> open(const std::filesystem::path& path, const load_options& o) {
    return std::make_shared<builder>(read(path, o.limits), o);
}

PUMICE_BODY
std::shared_ptr<model_builder> open(span<const std::byte> bytes, const load_options& o) {
    auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    return std::make_shared<builder>(read(source{"model", *copy, copy, {}, false}, o.limits), o);
}

#endif

}}}  // namespace pumice::PUMICE_ABI::onnx
