// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The error that a call throws, for tests of what it says. Anything but a pumice::error goes on.
#pragma once

#include <pumice/base/error.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>

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

/// Its code, or nothing where nothing is thrown.
template <class F>
std::optional<pumice::errc> code_of(F&& f) {
    try {
        f();
    } catch (const pumice::error& e) {
        return e.code();
    }
    return std::nullopt;
}

/// Its text, or "nothing was thrown".
template <class F>
std::string text_of_error(F&& f) {
    try {
        f();
    } catch (const pumice::error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

}  // namespace test
