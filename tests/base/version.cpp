// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Who tells the version tells the same: its macros, the ABI namespace, CMake's project.
#include <pumice/base/config.hpp>
#include <pumice/version.hpp>

#include <doctest/doctest.h>

#include <string>

#define PUMICE_TEST_TEXT_OF(x) #x
#define PUMICE_TEST_TEXT(x) PUMICE_TEST_TEXT_OF(x)

namespace {

const std::string major = std::to_string(PUMICE_VERSION_MAJOR),
                  minor = std::to_string(PUMICE_VERSION_MINOR),
                  patch = std::to_string(PUMICE_VERSION_PATCH);

}  // namespace

TEST_CASE("CMake's project has the version of the header") {
    CHECK(std::string(PUMICE_TEST_PROJECT_VERSION) == major + "." + minor + "." + patch);
}

TEST_CASE("the ABI namespace is named after the version that a change of ABI raises") {
    const std::string name = PUMICE_TEST_TEXT(PUMICE_ABI), front = "v" + major + "_" + minor + "_";
    CHECK_MESSAGE((name == front + "tl" || name == front + "std"), name);
}
