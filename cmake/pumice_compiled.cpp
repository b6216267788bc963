// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one source of pumice::compiled.
#define PUMICE_COMPILING 1
#include <pumice/array_api.hpp>
#include <pumice/engine.hpp>
#include <pumice/model/detail/parse_shader_attributes.hpp>
#include <pumice/model/onnx/detail/open.hpp>
#include <pumice/package/make_package.hpp>

namespace pumice { inline namespace PUMICE_ABI {

constinit std::atomic<engine_factory*> engine_hook{&make_engine};

namespace detail {

template void save_package<0>(const std::filesystem::path&, const executable&,
                              const package_contents&, const package_options&);
template loaded_package load_package<0>(const std::filesystem::path&, const context&,
                                        const package_names&);
template package_contents look_into_package<0>(const std::filesystem::path&, bool);
template bool has_package_magic<0>(const std::filesystem::path&);

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
