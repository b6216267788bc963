// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Parts of tensors replaced, against NumPy's x[...] = values.
#include <pumice/graph/assign.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = host();

std::vector<float> updated(const any_tensor& x, const any_tensor& v, std::vector<slice> s) {
    return values(slice_update(x, v, s));
}

}  // namespace

TEST_CASE("slice_update: steps of either sign, broadcast values, whole, none") {
    const any_tensor x = counting(home, {2, 3});  // 0 1 2 / 3 4 5
    const any_tensor row = slice_view(counting(home, {10}), std::vector<slice>{{7, 10, 1}});
    using list = std::vector<float>;
    CHECK(updated(x, row, {{1, 2, 1}}) == list{0, 1, 2, 7, 8, 9});
    CHECK(updated(x, row, {}) == list{7, 8, 9, 7, 8, 9});
    CHECK(updated(x, row, {{}, {{}, {}, -1}}) == list{9, 8, 7, 9, 8, 7});
    CHECK(updated(x, slice_view(row, std::vector<slice>{{0, 2, 1}}), {{0, 1, 1}, {0, 3, 2}}) ==
          list{7, 1, 8, 3, 4, 5});
    CHECK(updated(x, row, {{2, 2, 1}}) == list{0, 1, 2, 3, 4, 5});
    // From itself: what it was before.
    CHECK(updated(x, slice_view(x, std::vector<slice>{{1, 2, 1}}), {{0, 1, 1}}) ==
          list{3, 4, 5, 3, 4, 5});
    CHECK(values(x) == list{0, 1, 2, 3, 4, 5});
    const any_tensor nothing = counting(home, {0, 3});
    CHECK(updated(nothing, row, {}).empty());
}

TEST_CASE("slice_update: what does not fit is named") {
    const any_tensor x = counting(home, {2, 3});
    CHECK(text_of_error([&] { updated(x, counting(home, {2}), {}); }).find("(2,)") !=
          std::string::npos);
    CHECK(text_of_error([&] { updated(x, counting(home, {1, 2, 3}), {}); }).find("broadcast") !=
          std::string::npos);
    CHECK(text_of_error([&] {
              updated(x, any_tensor(home->create(dtype::i32, {}, nullptr)), {});
          }).find("astype") != std::string::npos);
    CHECK(text_of_error([&] { updated(x, x, {{}, {}, {}}); }).find("rank 2") != std::string::npos);
}
