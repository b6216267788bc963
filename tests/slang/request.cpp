// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/slang/request.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("a request reads as a call of a generic") {
    kernel_request r{"elementwise", "strided"};
    CHECK(to_string(r) == "elementwise.strided");
    r.arguments = {"p_1"};
    CHECK(to_string(r) == "elementwise.strided<p_1>");
    r.arguments = {"p_1", "int", "3"};
    CHECK(to_string(r) == "elementwise.strided<p_1, int, 3>");
}
