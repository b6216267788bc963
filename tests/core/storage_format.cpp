// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/storage_format.hpp>

#include <doctest/doctest.h>

TEST_CASE("storage_format: where the block of an element begins and ends") {
    constexpr pumice::storage_format f{.name = "f", .elements = 32, .bytes = 18};
    CHECK(f.begin_of(0) == 0);
    CHECK(f.end_of(0) == 18);
    CHECK(f.begin_of(31) == 0);
    CHECK(f.begin_of(32) == 18);
    CHECK(f.end_of(70) == 54);
    CHECK(f.begin_of(-1) == -18);
    CHECK(f.unit() == 32);
    CHECK(f.held(64) == 36);
    constexpr pumice::storage_format runs{
        .name = "r", .elements = 8, .bytes = 1, .memory = pumice::dtype::i4, .run = 4, .inner = 1};
    CHECK(runs.unit() == 4);
    CHECK(runs.held(12) == 3);
    constexpr pumice::storage_format one{.name = "one"};
    CHECK(one.begin_of(7) == 7);
}
