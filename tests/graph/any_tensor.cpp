// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/any_tensor.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

TEST_CASE("a handle shares its node; an empty one says so") {
    const std::shared_ptr<engine> home = std::make_shared<fake_engine>();
    any_tensor x = data(home, {2, 3}, dtype::f16), y = x;
    CHECK(y.get() == x.get());
    CHECK(x.dtype() == dtype::f16);
    CHECK(x.rank() == 2);
    CHECK(x.size() == 6);
    CHECK(x.size_bytes() == 12);
    y = any_tensor();
    CHECK(!y.has_value());
    CHECK(code_of([&] { static_cast<void>(y.shape()); }) == errc::invalid_argument);
    const any_tensor z = std::move(x);
    CHECK(z.has_value());
    CHECK(text_of_error([&] { static_cast<void>(any_tensor().dtype()); }).find("empty") !=
          std::string::npos);
}
