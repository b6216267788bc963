// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the tests of exchange/ share.
#pragma once

#include <pumice.hpp>

#include <tests/support/files.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

namespace pumice_test {

using test::code_of;
using test::text_of_error;

/// Element i is i * 5 % 7 (bool: whether that is not 0), as in the files of make_expected.py.
inline pumice::any_tensor numbers(pumice::dtype type, const pumice::shape& extent) {
    std::vector<float> values(static_cast<std::size_t>(pumice::element_count(extent)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 5 % 7);
    return pumice::astype(pumice::any_tensor(pumice::from_span<float>(extent, values)), type);
}

}  // namespace pumice_test
