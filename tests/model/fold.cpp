// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/build.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/model/fold.hpp>

#include <tests/model/support.hpp>

#include <atomic>
#include <thread>

using pumice::any_tensor;
using pumice::dtype;
using longs_t = std::vector<std::int64_t>;
namespace op = pumice::op;

namespace {

any_tensor constant(const pumice::shape& s, const longs_t& v) {
    return pumice::make_constant<std::int64_t>(s, v);
}
std::optional<any_tensor> fold(const any_tensor& t, std::int64_t limit) {
    static const pumice::constant_folder folder;
    return folder.fold(t, limit);
}
longs_t value(const any_tensor& t) {
    const auto folded = fold(t, 1000);
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
    CHECK(value(pumice::reduce(pumice::reduction::argmax, a, last)) == longs_t{2, 2});
    CHECK(value(pumice::take_along_axis(a, constant({2, 1}, {-1, 0}), 1)) == longs_t{3, 4});
    CHECK(value(pumice::reduce(pumice::reduction::sum, constant({0}, {}))) == longs_t{0});
    CHECK(value(pumice::concat(std::vector<any_tensor>{constant({0}, {}), constant({0}, {})}, 0))
              .empty());
}

TEST_CASE("fold: what is large, unknown or the device's stays") {
    const any_tensor a = constant({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(!fold(pumice::apply<op::add>(a, a), 5));
    CHECK(!fold(pumice::make_abstract(dtype::i64, {2}), 100));
    CHECK(!fold(pumice::apply<op::add>(a, pumice::make_abstract(dtype::i64, {3})), 100));
    const any_tensor f = pumice::astype(a, dtype::f32);
    CHECK(!fold(pumice::softmax(f), 100));
    CHECK(!fold(pumice::broadcast_to(constant({1}, {7}), {1 << 20, 1 << 20}), 1000));
}

TEST_CASE("fold: a long chain takes no stack, and half types round at each op") {
    any_tensor sum = constant({1}, {0});
    for (int i = 0; i < 20000; ++i) sum = pumice::apply<op::add>(sum, 1.0);
    CHECK(value(sum) == longs_t{20000});
    const any_tensor one = pumice::astype(constant({1}, {2048}), dtype::f16);
    const any_tensor kept = pumice::apply<op::subtract>(pumice::apply<op::add>(one, 1.0), 2048.0);
    CHECK(value(pumice::astype(kept, dtype::i64)) == longs_t{0});
}

TEST_CASE("fold: several threads share a folder") {
    const pumice::constant_folder folder;
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::int64_t i = 0; i < 50; ++i) {
                const any_tensor a = constant({2}, {t, i});
                const auto f = folder.fold(pumice::apply<op::multiply>(a, a), 10);
                right += f && pumice::constant_values<std::int64_t>(*f) == longs_t{t * t, i * i};
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(right == 200);
}

TEST_CASE("fold: another shape of the same bytes takes no memory") {
    const any_tensor a = constant({2, 3}, {1, 2, 3, 4, 5, 6});
    const auto r = fold(pumice::reshape(a, {3, 2}), 1);
    REQUIRE(r);
    CHECK(r->shape() == pumice::shape{3, 2});
    CHECK(pumice::constant_of(*r)->bytes().data() == pumice::constant_of(a)->bytes().data());
}
