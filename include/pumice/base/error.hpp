// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one error type: a code, the place, and the reasons as a list.
#pragma once

#include <pumice/base/text.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// What went wrong, in a form that a program can act on.
enum class errc {
    invalid_argument,  // a value outside its stated domain
    shape_mismatch,    // shapes that an op cannot take
    dtype_mismatch,    // element types that an op cannot take
    rank_mismatch,     // number of axes
    axis_out_of_range,
    index_out_of_range,
    size_overflow,     // a size that does not fit in 63 bits or in a device limit
    context_mismatch,  // tensors of two contexts in one op
    no_engine,         // a program of front headers only, linked without an engine
    no_vulkan_loader,
    no_device,
    device_lost,
    out_of_memory,   // of a device, or for a tensor's values; else the host's is std::bad_alloc
    unsupported,     // no kernel takes the problem; the reasons say why
    no_slang,        // a kernel has to be compiled and there is no Slang library
    compile_failed,  // Slang refused a kernel
    vulkan_failed,   // a Vulkan call failed; the reasons name it
    io_failed,
    bad_file,        // a file that breaks its format
    unsupported_op,  // a model asks for an operator that Pumice lacks
    cancelled,
    forked,       // it was made before fork(), by the parent of this process
    exiting,      // the process is at its end, and the driver has ended
    values_lost,  // a run that wrote over the tensor failed or was stopped halfway
    not_finite,   // NaN or infinity where the policy check_finite looked for it
};

constexpr std::string_view to_string(errc code) noexcept {
    constexpr std::string_view names[] = {
        "invalid_argument", "shape_mismatch",    "dtype_mismatch",
        "rank_mismatch",    "axis_out_of_range", "index_out_of_range",
        "size_overflow",    "context_mismatch",  "no_engine",
        "no_vulkan_loader", "no_device",         "device_lost",
        "out_of_memory",    "unsupported",       "no_slang",
        "compile_failed",   "vulkan_failed",     "io_failed",
        "bad_file",         "unsupported_op",    "cancelled",
        "forked",           "exiting",           "values_lost",
        "not_finite",
    };
    return names[static_cast<int>(code)];
}

/// Thrown by `x()`, returned by `try_x()`. `what()` reads `[where] message` and one reason a line.
class error : public std::exception {
public:
    error(errc code, std::string_view place, std::string_view message,
          std::vector<std::string> reasons = {});

    errc code() const noexcept { return code_; }
    const std::string& where() const noexcept { return where_; }
    const std::string& message() const noexcept { return message_; }
    const std::vector<std::string>& reasons() const noexcept { return reasons_; }
    const char* what() const noexcept override { return text_.c_str(); }

private:
    errc code_;
    std::string where_;
    std::string message_;
    std::vector<std::string> reasons_;
    std::string text_;
};

/// Throws an error. Cold, so that a check costs its place little more than a call.
[[noreturn, gnu::cold]] void fail(errc code, std::string_view place,
                                  std::initializer_list<piece> message);

#ifndef PUMICE_COMPILED

PUMICE_INLINE error::error(errc code, std::string_view place, std::string_view message,
                           std::vector<std::string> reasons)
    : code_(code), where_(place), message_(message), reasons_(std::move(reasons)),
      text_(cat({"[", place, "] ", message})) {
    for (const std::string& reason : reasons_) append_text(text_, {"\n  - ", reason});
}
PUMICE_INLINE void fail(errc code, std::string_view place, std::initializer_list<piece> message) {
    throw error(code, place, cat(message));
}

#endif

}}  // namespace pumice::PUMICE_ABI
