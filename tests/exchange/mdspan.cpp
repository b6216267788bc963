// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/mdspan.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>

namespace pm = pumice;
using namespace pumice_test;
using pm::errc;

TEST_CASE("mdspan: a tensor's own memory is shown, and what others show is copied") {
    pm::matrix<float> x = {{1, 2, 3}, {4, 5, 6}};
    const auto seen = pm::as_mdspan<other_mdspan<const float, 2>>(x);
    CHECK(seen.at(1, 0) == 4);
    CHECK(seen.data_handle() == x.host().data());
    pm::as_mdspan<other_mdspan<float, 2, true, 2>>(x).at(0, 1) = 7;
    CHECK(x.to_vector() == std::vector<float>{1, 7, 3, 4, 5, 6});
    CHECK(pm::from_mdspan(pm::as_mdspan<other_mdspan<const float, 2>>(x)).to_vector() ==
          x.to_vector());

    std::vector<std::int16_t> columns = {1, 2, 3, 4, 5, 6};
    const pm::matrix<std::int16_t> y =
        pm::from_mdspan(other_mdspan<std::int16_t, 2, false>(columns.data(), {2, 3}));
    CHECK(y.to_vector() == std::vector<std::int16_t>{1, 3, 5, 2, 4, 6});
    CHECK(pm::from_mdspan(other_mdspan<const bool, 1>(nullptr, {0})).size() == 0);

    CHECK(code_of([&] { pm::as_mdspan<other_mdspan<const float, 2, false>>(x); }) ==
          errc::invalid_argument);
    CHECK(code_of([&] { pm::as_mdspan<other_mdspan<const float, 2, true, 3>>(x); }) ==
          errc::shape_mismatch);
#ifdef __cpp_lib_mdspan
    static_assert(std::same_as<decltype(pm::as_mdspan(x))::element_type, const float>);
    CHECK(pm::as_mdspan(x).data_handle() == x.host().data());
#endif
}
