// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A function that no file defines is an error to call, not a crash.
#include <pumice/base/of_engine.hpp>

#include <doctest/doctest.h>

namespace pumice_test {
template <class T>
PUMICE_OF_ENGINE int half_of(const T& x);
template <class T>
PUMICE_OF_ENGINE int twice_of(const T& x);
template <class T>
int twice_of(const T& x) {
    return static_cast<int>(2 * x);
}
}  // namespace pumice_test

TEST_CASE("of_engine: a function is called where a file defines it") {
    CHECK(pumice::detail::of_engine(&pumice_test::twice_of<int>)(4) == 8);
    try {
        pumice::detail::of_engine (&pumice_test::half_of<int>)(4);
        FAIL("there is no such function");
    } catch (const pumice::error& e) {
        CHECK(e.code() == pumice::errc::no_engine);
        CHECK(e.reasons()[0].find("include <pumice/engine.hpp>") != std::string::npos);
    }
}
