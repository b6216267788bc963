// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/build.hpp>
#include <pumice/model/fold.hpp>

#include <tests/model/support.hpp>

using pumice::any_tensor;
using pumice::dtype;
using longs_t = std::vector<std::int64_t>;
namespace op = pumice::op;

namespace {

any_tensor constant(const pumice::shape& s, const longs_t& v) {
    return pumice::make_constant<std::int64_t>(s, v);
}
longs_t value(const any_tensor& t) {
    const auto folded = pumice::fold(t, 1000);
    REQUIRE(folded);
    return pumice::constant_values<std::int64_t>(*folded);
}

}  // namespace

TEST_CASE("fold: elementwise, broadcast, with scalars and casts") {
    const any_tensor a = constant({2, 3}, {1, 2, 3, 4, 5, 6}), b = constant({3}, {10, 20, 30});
    CHECK(value(pumice::apply<op::add>(a, b)) == longs_t{11, 22, 33, 14, 25, 36});
    CHECK(value(pumice::apply<op::multiply>(a, 2.0)) == longs_t{2, 4, 6, 8, 10, 12});
    CHECK(value(pumice::astype(pumice::apply<op::sqrt>(
                                   pumice::astype(pumice::apply<op::multiply>(a, a), dtype::f32)),
                               dtype::i64)) == longs_t{1, 2, 3, 4, 5, 6});
    CHECK(value(pumice::apply<op::divide>(a, constant({}, {0}))) == longs_t{0, 0, 0, 0, 0, 0});
    const auto least = std::numeric_limits<std::int64_t>::min();
    CHECK(value(pumice::apply<op::divide>(constant({1}, {least}), constant({1}, {-1}))) ==
          longs_t{least});
    CHECK(value(pumice::apply<op::remainder>(constant({1}, {least}), constant({1}, {-1}))) ==
          longs_t{0});
}

TEST_CASE("fold: views, concat, take, reductions") {
    const any_tensor a = constant({2, 3}, {1, 2, 3, 4, 5, 6});
    const std::int64_t swap[] = {1, 0}, last[] = {1};
    CHECK(value(pumice::permute_dims(a, swap)) == longs_t{1, 4, 2, 5, 3, 6});
    CHECK(value(pumice::reshape(pumice::permute_dims(a, swap), {6})) == longs_t{1, 4, 2, 5, 3, 6});
    CHECK(value(pumice::flip(a)) == longs_t{6, 5, 4, 3, 2, 1});
    CHECK(value(pumice::broadcast_to(constant({1}, {7}), {2, 2})) == longs_t{7, 7, 7, 7});
    const any_tensor parts[] = {a, constant({2, 1}, {8, 9})};
    CHECK(value(pumice::concat(parts, 1)) == longs_t{1, 2, 3, 8, 4, 5, 6, 9});
    CHECK(value(pumice::take(a, constant({2}, {-1, 0}), 1)) == longs_t{3, 1, 6, 4});
    CHECK(value(pumice::reduce(pumice::reduction::sum, a, last)) == longs_t{6, 15});
    CHECK(value(pumice::reduce(pumice::reduction::prod, a)) == longs_t{720});
    CHECK(value(pumice::reduce(pumice::reduction::max, a, last)) == longs_t{3, 6});
    CHECK(value(pumice::reduce(pumice::reduction::min, a, last, true)) == longs_t{1, 4});
    CHECK(value(pumice::reduce(pumice::reduction::sum, constant({0}, {}))) == longs_t{0});
    CHECK(value(pumice::concat(std::vector<any_tensor>{constant({0}, {}), constant({0}, {})}, 0))
              .empty());
}

TEST_CASE("fold: what is large, unknown or the device's stays") {
    const any_tensor a = constant({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(!pumice::fold(pumice::apply<op::add>(a, a), 5));
    CHECK(!pumice::fold(pumice::make_abstract(dtype::i64, {2}), 100));
    CHECK(!pumice::fold(pumice::apply<op::add>(a, pumice::make_abstract(dtype::i64, {3})), 100));
    const any_tensor f = pumice::astype(a, dtype::f32);
    CHECK(!pumice::fold(pumice::softmax(f), 100));
    CHECK(!pumice::fold(pumice::broadcast_to(constant({1}, {7}), {1 << 20, 1 << 20}), 1000));
}

TEST_CASE("fold: another shape of the same bytes takes no memory") {
    const any_tensor a = constant({2, 3}, {1, 2, 3, 4, 5, 6});
    const auto r = pumice::fold(pumice::reshape(a, {3, 2}), 1);
    REQUIRE(r);
    CHECK(r->shape() == pumice::shape{3, 2});
    CHECK(pumice::constant_of(*r)->bytes().data() == pumice::constant_of(a)->bytes().data());
}
