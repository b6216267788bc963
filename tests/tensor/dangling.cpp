// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Programs that look as if something dangled. Tensors and expressions are values, so all of them
// are right; under the sanitizers a wrong one would not pass. Everything runs on the host.
#include <pumice/front.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <optional>

namespace pm = pumice;

namespace {

using numbers = std::vector<float>;

pm::context fresh() { return pm::context(pumice_test::host()); }
pm::vector<float> of(const pm::context& home, const numbers& v) { return pm::adapt(v, home); }

auto from_locals(const pm::context& home) {
    const auto a = of(home, {1, 2, 3}), b = of(home, {4, 5, 6});
    const auto named = a * b;
    return pm::relu(named - 5.0f) + a;
}

/// A member expression, deduced from the constructor's arguments.
template <class X>
struct holder {
    X x;
};
template <class X>
holder(X) -> holder<X>;

}  // namespace

TEST_CASE("dangling: an expression over locals is returned from a function") {
    const pm::context home = fresh();
    const auto y = from_locals(home);
    const pm::vector<float> z = from_locals(home) * 2.0f;
    CHECK(pm::vector<float>(y).to_vector() == numbers{1, 7, 16});
    CHECK(z.to_vector() == numbers{2, 14, 32});
}

TEST_CASE("dangling: an expression is stored in a struct that outlives its operands") {
    const pm::context home = fresh();
    std::optional<holder<decltype(from_locals(home))>> first;
    {
        auto inner = std::make_unique<holder<decltype(from_locals(home))>>(from_locals(home));
        first.emplace(*inner);
    }
    const auto second = *first;
    first.reset();
    CHECK(pm::vector<float>(second.x).to_vector() == numbers{1, 7, 16});
}

TEST_CASE("dangling: what was moved from is empty or as it was, and may be assigned to") {
    const pm::context home = fresh();
    auto a = of(home, {1, 2, 3});
    auto moved = std::move(a);
    CHECK_FALSE(a.has_value());
    CHECK_THROWS_AS(a.shape(), pm::error);
    CHECK_THROWS_AS(pm::vector<float>(a + 1.0f), pm::error);
    a = moved + 1.0f;
    CHECK(a.to_vector() == numbers{2, 3, 4});

    auto y = moved * 2.0f;
    auto taken = std::move(y);
    CHECK(pm::vector<float>(taken).to_vector() == numbers{2, 4, 6});
    y = moved * 3.0f;
    CHECK(pm::vector<float>(y).to_vector() == numbers{3, 6, 9});
    // A larger expression takes a temporary apart and leaves a name whole.
    auto z = std::move(taken) + moved;
    CHECK(pm::vector<float>(z).to_vector() == numbers{3, 6, 9});
}

TEST_CASE("dangling: an expression is captured by a lambda that is called later") {
    std::function<numbers()> later;
    std::function<pm::vector<float>(float)> scaled;
    {
        const pm::context home = fresh();
        const auto a = of(home, {1, 2, 3});
        const auto y = a * a + 1.0f;
        later = [y] { return pm::vector<float>(y).to_vector(); };
        scaled = [y = a + a](float by) { return pm::vector<float>(y * by); };
    }
    CHECK(later() == numbers{2, 5, 10});
    CHECK(later() == numbers{2, 5, 10});
    CHECK(scaled(2).to_vector() == numbers{4, 8, 12});
}

TEST_CASE("dangling: containers move their tensors about") {
    std::vector<pm::any_tensor> list;
    std::map<std::string, pm::any_tensor> named;
    {
        const pm::context home = fresh();
        pm::vector<float> x = of(home, {1, 2, 3});
        for (int i = 0; i < 100; ++i) {
            list.emplace_back(x + float(i));
            if (i % 2) list.push_back(list.front());  // of an element of the container itself
        }
        named["last"] = list.back();
    }
    list.erase(list.begin(), list.begin() + 120);
    CHECK(pm::to_vector<float>(list[0]) == numbers{81, 82, 83});
    list.clear();
    CHECK(pm::to_vector<float>(named["last"]) == numbers{1, 2, 3});
}

TEST_CASE("dangling: an operand is assigned to, or goes, before the expression runs") {
    const pm::context home = fresh();
    auto a = of(home, {1, 2, 3});
    auto b = std::make_unique<pm::vector<float>>(of(home, {10, 20, 30}));
    auto y = a + *b;
    const pm::vector<float> lazy = a * *b;
    a = of(home, {0, 0, 0});
    b.reset();
    CHECK(pm::vector<float>(y).to_vector() == numbers{11, 22, 33});
    CHECK(lazy.to_vector() == numbers{10, 40, 90});
    CHECK(a.to_vector() == numbers{0, 0, 0});
}

TEST_CASE("dangling: the host's elements are changed and freed after they were given") {
    const pm::context home = fresh();
    auto bytes = std::make_unique<numbers>(numbers{1, 2, 3});
    const auto x = pm::adapt(*bytes, home);
    const pm::matrix<float> m = pm::from_span<float>({1, 3}, *bytes, home);
    const pm::vector<float> y = x + 1.0f;
    (*bytes)[0] = 100;
    bytes.reset();
    CHECK(y.to_vector() == numbers{2, 3, 4});
    CHECK(m.to_vector() == numbers{1, 2, 3});
}

TEST_CASE("dangling: the context goes before its tensors") {
    std::optional<pm::vector<float>> stored, pending;
    {
        const pm::context home = fresh();
        stored = of(home, {1, 2, 3});
        pending = *stored * 2.0f;
    }
    const auto y = *pending + *stored;
    CHECK(pm::vector<float>(y).to_vector() == numbers{3, 6, 9});
    CHECK(pm::arange<float>(0, 3, 1, pm::context(stored->get()->owner)).to_vector() ==
          numbers{0, 1, 2});
    pm::eval(*pending);
    stored.reset();
    CHECK(pending->to_vector() == numbers{2, 4, 6});
}

TEST_CASE("dangling: an expression is kept over its evaluation") {
    const pm::context home = fresh();
    const auto a = of(home, {1, 2, 3});
    const auto y = pm::sqrt(a * a);
    const auto copy = y;
    const pm::vector<float> first = y;
    pm::eval(first);
    CHECK(copy.get() == first.get());  // the node is realised, and shared
    const pm::vector<float> second = y + copy;
    CHECK(second.to_vector() == numbers{2, 4, 6});
    CHECK(pm::vector<float>(y).to_vector() == numbers{1, 2, 3});
}

TEST_CASE("dangling: a tensor is assigned to itself and to what is made of it") {
    const pm::context home = fresh();
    auto x = of(home, {1, 2, 3});
    auto& same = x;
    x = same;
    CHECK(x.to_vector() == numbers{1, 2, 3});
    x = x + x;
    x += x;
    x *= x - 1.0f;
    CHECK(x.to_vector() == numbers{12, 56, 132});
    const auto& view = x;
    x = pm::flip(view);
    CHECK(x.to_vector() == numbers{132, 56, 12});
    auto y = x * 2.0f;
    auto& again = y;
    y = again;
    CHECK(pm::vector<float>(y).to_vector() == numbers{264, 112, 24});
}

TEST_CASE("dangling: either of two expressions of one type") {
    const pm::context home = fresh();
    const auto a = of(home, {-1, 2}), b = of(home, {3, -4});
    for (const bool flag : {true, false}) {
        const auto chosen = flag ? pm::relu(a) : pm::relu(b);
        const auto& bound = flag ? pm::abs(a) + b : pm::abs(b) + a;  // a temporary, bound
        CHECK(pm::vector<float>(chosen).to_vector() == (flag ? numbers{0, 2} : numbers{3, 0}));
        CHECK(pm::vector<float>(bound).to_vector() == (flag ? numbers{4, -2} : numbers{2, 6}));
    }
}

TEST_CASE("dangling: loops over temporaries") {
    const pm::context home = fresh();
    const auto a = of(home, {1, 2, 3});
    float sum = 0;
    for (const float v : pm::vector<float>(a * 2.0f + 1.0f).to_vector()) sum += v;
    CHECK(sum == 15);
    for (const auto& x : {a + 1.0f, a + 2.0f, a + 3.0f}) sum += pm::vector<float>(x).to_vector()[0];
    CHECK(sum == 24);
    for (const std::int64_t d : pm::vector<float>(a + a).shape()) CHECK(d == 3);
    for (const std::int64_t d : (a + a).shape()) CHECK(d == 3);
    const auto& node = pm::vector<float>(a + a).get();
    CHECK(node->extent == pm::shape{3});
    CHECK(node->realised());
}

TEST_CASE("dangling: views outlive what they look at") {
    const pm::context home = fresh();
    const auto row = [&] {
        const pm::matrix<float> m = pm::from_span<float>({2, 3}, numbers{1, 2, 3, 4, 5, 6}, home);
        return pm::view(pm::transpose(m), pm::slice{2, {}, 1}, pm::slice{});
    }();
    const auto flat = pm::reshape<2>(pm::matrix<float>(row + 1.0f));
    CHECK(row.to_vector() == numbers{3, 6});
    CHECK(flat.to_vector() == numbers{4, 7});
}

TEST_CASE("dangling: a chain of a million lazy nodes goes without taking stack") {
    const pm::context home(pumice_test::host());
    pm::vector<float> x = of(home, {1});
    pm::node_ptr n = x.get();
    for (int i = 0; i < 1000000; ++i)
        n = pm::make_node(pm::dtype::f32, {1}, pm::copy_op{pm::strides{1}}, {std::move(n)});
    n.reset();
    CHECK(x.to_vector() == numbers{1});
}
