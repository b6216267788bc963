// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Expressions as values: what becomes a node and when, and that fusing changes no result.
#include <pumice/tensor/creation.hpp>
#include <pumice/tensor/expression.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using reals = std::vector<float>;

namespace {

pm::context fresh(auto... policies) {
    pm::policy_set set;
    (policies.apply(set), ...);
    return pm::context(std::make_shared<pm::host_engine>(std::move(set), "host"));
}
reals values(const auto& x) {
    return pm::to_vector<float>(pm::astype(pm::any_tensor(x.get()), pm::dtype::f32));
}
pm::vector<float> of(const pm::context& home, const reals& v) { return pm::adapt(v, home); }
/// The same, still to be computed: what is made of it is not computed at once.
pm::vector<float> lazy(const pm::context& home, const reals& v) {
    return pm::vector<float>(pm::apply<pm::op::add>(pm::any_tensor(of(home, v)), 0.0));
}

}  // namespace

TEST_CASE("expression: nothing is made before it is asked for, then one node that copies share") {
    const pm::context home = fresh();
    const auto a = lazy(home, {1, 2, 3});
    auto y = a * a + 1.0f;
    CHECK(a.get()->pending_uses == 0);
    const auto before = y;
    const pm::node_ptr n = y.get();
    const auto after = y;
    CHECK(before.get() == n);
    CHECK(after.get() == n);
    CHECK(n->inputs.size() == 2);
    CHECK(n->op.get_if<pm::elementwise_op>()->scalars.size() == 1);
    CHECK(home.stats().evals == 0);
    CHECK(values(y) == reals{2, 5, 10});
}

TEST_CASE("expression: a temporary is taken apart, a named one is one operand") {
    const pm::context home = fresh();
    const auto a = lazy(home, {1, 2, 3}), b = lazy(home, {4, 5, 6});
    const auto product = a * b;
    const auto whole = a * b + a;
    const auto named = product + a;
    static_assert(decltype(whole)::tree::leaves == 3 && decltype(named)::tree::leaves == 2);
    CHECK(named.get()->inputs[0] == product.get());
    CHECK(values(whole) == values(named));
}

TEST_CASE("expression: numbers stand on either side, and take the tensor's type") {
    const pm::context home = fresh();
    const auto a = of(home, {1, 2, 4});
    CHECK(values(a - 1.0f) == reals{0, 1, 3});
    CHECK(values(1 - a) == reals{0, -1, -3});
    CHECK(values(8.0 / a) == reals{8, 4, 2});
    CHECK(values(-a + 10) == reals{9, 8, 6});
    const pm::vector<std::uint8_t> small = pm::adapt(std::vector<std::uint8_t>{250, 1}, home);
    CHECK(values(small + 10) == reals{4, 11});  // it wraps in its own type
    CHECK((small + 10).dtype() == pm::dtype::u8);
}

TEST_CASE("expression: conditions, choices and logic") {
    const pm::context home = fresh();
    const auto a = of(home, {1, 2, 3}), b = of(home, {3, 2, 1});
    CHECK(values(a < b) == reals{1, 0, 0});
    CHECK(values(a >= b) == reals{0, 1, 1});
    CHECK(values(pm::where(a < b, a, 0)) == reals{1, 0, 0});
    CHECK(values((a < b) | (a == b)) == reals{1, 1, 0});
    CHECK(values((a != b) & ~(a < b)) == reals{0, 0, 1});
    CHECK(values((a < b) ^ (a > b)) == reals{1, 0, 1});
}

TEST_CASE("expression: element types meet as the array API says, within one kernel") {
    const pm::context home = fresh();
    const pm::vector<pm::f16> h = pm::astype<pm::f16>(of(home, {1, 2, 3}));
    const auto y = h * of(home, {0.5f, 0.25f, 1});
    static_assert(decltype(y)::dtype() == pm::dtype::f32);
    CHECK(values(y) == reals{0.5f, 0.5f, 3});
    const pm::vector<std::int8_t> i = pm::astype<std::int8_t>(of(home, {-1, 2, 100}));
    const pm::vector<std::uint8_t> u = pm::astype<std::uint8_t>(of(home, {255, 2, 100}));
    CHECK(values(i + u) == reals{254, 4, 200});
    CHECK(pm::astype<float>(h * h).shape() == pm::shape{3});
}

TEST_CASE("expression: run-time tensors go through the same functions") {
    const pm::context home = fresh();
    CHECK(pm::astype<std::int32_t>(pm::any_tensor(of(home, {1, 2.5f}))).dtype() == pm::dtype::i32);
    const auto a = of(home, {1, 2, 3});
    const pm::any_tensor x = a;
    const pm::any_tensor y = pm::relu(x - 2.0f) + a;
    CHECK(values(y) == reals{1, 2, 4});
    CHECK(values(pm::where(pm::less(x, 2.0), x, -1.0)) == reals{1, -1, -1});
}

TEST_CASE("expression: past the bound of a type it becomes a tensor, with the same values") {
    const pm::context home = fresh();
    const auto a = of(home, {1, 2, 3});
    auto eight = a + a + a + a + a + a + a + a;
    const auto sixteen = std::move(eight) + (a + a + a + a + a + a + a + a);
    static_assert(pm::fuses<decltype(sixteen)>);
    const auto more = (a + a + a + a + a + a + a + a + a) + (a + a + a + a + a + a + a + a);
    static_assert(!pm::fuses<decltype(more)>);
    CHECK(values(sixteen) == reals{16, 32, 48});
    CHECK(values(more) == reals{17, 34, 51});
}

TEST_CASE("expression: with fusion off each op is a node, and eager runs it at once") {
    const pm::context apart = fresh(pm::fusion::none{}), eager = fresh(pm::eager{});
    const auto a = of(apart, {1, -2, 3}), b = of(eager, {1, -2, 3});
    const auto make = [](const auto& x) {
        return pm::vector<float>(pm::astype<float>(pm::astype<std::int32_t>(pm::relu(x * 2.5f)) +
                                                   pm::astype<std::int32_t>(x)));
    };
    const auto y = make(a), z = make(b);
    CHECK_FALSE(y.get()->realised());
    CHECK(z.get()->realised());
    CHECK(values(y) == reals{3, -2, 10});
    CHECK(values(z) == reals{3, -2, 10});
    CHECK(apart.stats().dispatches > 4);
    CHECK(eager.stats().dispatches == 1);  // one expression is one op
}

TEST_CASE("expression: its kernel has every distinct operand once") {
    const pm::context home = fresh();
    const auto a = of(home, {1, 2, 3}), b = of(home, {4, 5, 6});
    CHECK((a * b + a * b).kernel().view().leaves() == 2);
    CHECK((a * b + a * b).kernel().view().code.size() == 4);
    CHECK((a * a).kernel().view().leaves() == 1);
    CHECK((a * b).kernel().view().leaves() == 2);
}
