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
    std::string_view blob;
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
            if (m.name == name) return m.blob;
        return {};
    }
};

namespace detail {

/// Those of this program, or null. pumice::compiled brings them where the machine that built it
/// has Slang (cmake/PumicePrecompile.cmake); they are named before main.
inline constinit const precompiled_library* precompiled = nullptr;

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
