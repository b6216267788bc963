// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Modules of the library that Slang compiled when the program was built, so that its first kernels
// need not wait for that.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>

#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// A module as slang::IModule::serialize wrote it.
struct precompiled_module {
    std::string_view name;
    const void* data;
    std::size_t size;
};

/// Modules, and what they were compiled from and by: another Slang's must not be loaded.
struct precompiled_library {
    std::string_view sources;  // kernel_service::digest_of_library
    std::string_view options;  // detail::compile_options
    std::string_view tag;      // of the Slang
    span<const precompiled_module> modules;

    /// The blob of a module; empty where there is none.
    std::string_view find(std::string_view name) const noexcept {
        for (const precompiled_module& m : modules)
            if (m.name == name) return {static_cast<const char*>(m.data), m.size};
        return {};
    }
};

namespace detail {

/// Those of this program, or null. pumice::compiled brings them where the machine that built it
/// has Slang (cmake/PumicePrecompile.cmake): before any object of the program is made where the
/// linker knows weak names, else before main.
#if defined(__ELF__)
[[gnu::weak]] extern const precompiled_library modules_of_program;
inline constinit const precompiled_library* precompiled = &modules_of_program;
#else
extern const precompiled_library modules_of_program;
inline constinit const precompiled_library* precompiled = nullptr;
#endif

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
