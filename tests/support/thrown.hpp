// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The error that a call throws, for tests of what it says.
#pragma once

#include <pumice/base/error.hpp>

#include <doctest/doctest.h>

namespace test {

/// Fails the case where nothing is thrown.
template <class F>
pumice::error thrown_by(F&& f) {
    try {
        f();
    } catch (const pumice::error& e) {
        return e;
    }
    FAIL("nothing was thrown");
    return {pumice::errc::cancelled, "", ""};
}

}  // namespace test
