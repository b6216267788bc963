// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a test case says that it cannot run here. tests/skips.txt lists what may be skipped in which
// run; main.cpp counts.
#pragma once

#include <string>
#include <string_view>

namespace pumice_test {

/// Notes that the running test case is skipped. `what` is a name of tests/skips.txt; any other
/// fails the case.
void skip(std::string_view what, std::string_view reason);

/// The folder tests/ with data/ and golden/: of the checkout, or where PUMICE_TESTS points.
std::string tests_dir();

}  // namespace pumice_test

/// Ends a test case that cannot run here, such as PUMICE_SKIP("cooperative-matrix", info.name + "
/// lists none").
#define PUMICE_SKIP(what, reason)            \
    do {                                     \
        pumice_test::skip((what), (reason)); \
        return;                              \
    } while (false)
