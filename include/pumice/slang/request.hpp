// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is asked of the Slang service and what it gives: plain data, no Slang header.
#pragma once

#include <pumice/base/text.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pumice::inline PUMICE_ABI {

/// A module of the library (shaders/<name>.slang), handed in by whoever owns the texts.
struct library_module {
    std::string name;
    std::string source;
};

/// A module made for one kernel. Its name is a hash of its text: equal name means equal text.
struct generated_module {
    std::string name;
    std::string text;
};

/// One kernel: `entry` of `module`, specialised with `arguments` (types and integers as Slang
/// text, in the order of the entry point's generic parameters).
struct kernel_request {
    std::string module;  // of the library, or one of `generated`
    std::string entry;
    std::vector<std::string> arguments = {};
    std::vector<generated_module> generated = {};  // each may import the ones before it
};

/// A compiled kernel. Its SPIR-V entry point is named "main".
struct spirv_code {
    std::vector<std::uint32_t> words;
};

/// For messages and logs: `ew.ewVec<p_0123, int>`.
inline std::string to_string(const kernel_request& request) {
    std::string text = cat({request.module, ".", request.entry});
    for (std::size_t i = 0; i < request.arguments.size(); ++i)
        append_text(text, {(i == 0 ? "<" : ", "), request.arguments[i]});
    return request.arguments.empty() ? text : text + ">";
}

}  // namespace pumice::inline PUMICE_ABI
