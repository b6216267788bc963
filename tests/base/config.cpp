// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/config.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <typeinfo>

namespace pumice { inline namespace PUMICE_ABI {
struct probe {};
}}  // namespace pumice::PUMICE_ABI

TEST_CASE("the version and the kind of expected are in every mangled name") {
    const std::string_view name = typeid(pumice::probe).name();
    const std::string version = "v" + std::to_string(PUMICE_VERSION_MAJOR) + "_" +
                                std::to_string(PUMICE_VERSION_MINOR) + "_";
    CHECK_MESSAGE(name.find(version) != std::string_view::npos, name);
    CHECK((name.find("_tl") != std::string_view::npos ||
           name.find("_std") != std::string_view::npos));
}

TEST_CASE("a true assertion is no statement of its own") {
    bool other = false;
    if (sizeof(int) > 1) PUMICE_ASSERT(1 + 1 == 2);
    else other = true;
    CHECK(!other);
}
