// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What reduced precisions are called, as the policies that allow them are.
#include <pumice/core/precision.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("precision: names are the policies'") {
    CHECK(to_string(reduced_precision::none) == "none");
    CHECK(to_string(reduced_precision::bf16_3x) == "bf16_3x");
    CHECK(to_string(reduced_precision::f16_accumulation) == "f16_accumulation");
}
