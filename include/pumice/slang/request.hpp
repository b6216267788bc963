// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is asked of the Slang service and what it gives: plain data, no Slang header.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/shader_language.hpp>
#include <pumice/base/text.hpp>
#include <pumice/slang/detail/digest.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

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

class slang_compiler;
struct kernel_request;
struct spirv_code;

/// Compiles a shader as it stands (slang/shader.hpp).
using shader_builder = spirv_code(slang_compiler& with, const kernel_request&);

/// One kernel: `entry` of `module`, specialised with `arguments` (types and integers as Slang
/// text, in the order of the entry point's generic parameters).
struct kernel_request {
    std::string module;  // of the library, or one of `generated`
    std::string entry;
    std::vector<std::string> arguments = {};
    array_list<generated_module> generated = {};  // each may import the ones before it
    /// Of a shader as it stands, which is the one generated module and imports none of the library.
    std::optional<shader_language> language = {};
    shader_builder* build = nullptr;  // of one
};

/// A compiled kernel. Its SPIR-V entry point is named "main".
struct spirv_code {
    array_list<std::uint32_t> words;
};

/// The codes of kernels by the digests of their requests, ascending.
class spirv_table {
public:
    struct entry {
        digest name;
        std::shared_ptr<const spirv_code> code;
    };
    const entry* begin() const noexcept { return entries_.begin(); }
    const entry* end() const noexcept { return entries_.end(); }
    std::size_t size() const noexcept { return entries_.size(); }
    /// The code of a name, or null.
    std::shared_ptr<const spirv_code> find(const digest& name) const {
        const entry* const at = place_of(name);
        return at != end() && at->name == name ? at->code : nullptr;
    }
    /// A later code of the same name replaces the one before.
    void set(const digest& name, std::shared_ptr<const spirv_code> code) {
        const std::size_t at = static_cast<std::size_t>(place_of(name) - begin());
        if (at < size() && entries_[at].name == name) entries_[at].code = std::move(code);
        else entries_.insert(begin() + at, entry{name, std::move(code)});
    }

private:
    const entry* place_of(const digest& name) const {
        return std::lower_bound(begin(), end(), name,
                                [](const entry& e, const digest& d) { return e.name < d; });
    }
    array_list<entry> entries_;
};

/// For messages and logs: `ew.ewVec<p_0123, int>`.
inline std::string to_string(const kernel_request& request) {
    std::string text = cat({request.module, ".", request.entry});
    for (std::size_t i = 0; i < request.arguments.size(); ++i)
        append_text(text, {(i == 0 ? "<" : ", "), request.arguments[i]});
    return request.arguments.empty() ? text : text + ">";
}

}}  // namespace pumice::PUMICE_ABI
