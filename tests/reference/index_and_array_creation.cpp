// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors indexed as people type it: the ranks that the types promise, numbers, new axes, ellipsis,
// and what is assigned through them. tests/reference/array_api.cpp has NumPy's answers to more.
#include <pumice/array_api.hpp>

#include <doctest/doctest.h>

#include <functional>

namespace pm = pumice;

namespace {

using reals = std::vector<float>;

/// Makes tensors on the host while it lives: kernels for these few elements would cost seconds.
class on_host {
public:
    on_host() { pm::set_default_context(pm::context(pm::host_only{})); }
    on_host(const on_host&) = delete;
    ~on_host() { pm::set_default_context(before_); }

private:
    pm::context before_ = pm::default_context();
};

/// 0, 1, 2 ...
template <std::int64_t... Ns>
auto counting() {
    return pm::reshape<Ns...>(pm::arange<float>(double((Ns * ...))));
}
template <class X>
reals values(const X& x) {
    CHECK(X::extents_type::matches(x.shape()));
    return pm::to_vector<float>(x);
}
template <int Rank, class X>
reals of_rank(const X& x) {
    static_assert(X::rank() == Rank);
    return values(x);
}

}  // namespace

TEST_CASE("index: numbers take axes away, newaxis makes one, the ellipsis stands for the rest") {
    const on_host here;
    const auto x = counting<2, 3, 4>();
    CHECK(of_rank<0>(x(1, 2, 3)) == reals{23});
    CHECK(x(-1, -1, -1).item() == 23);
    CHECK(of_rank<1>(x(0, 1)) == reals{4, 5, 6, 7});
    CHECK(of_rank<2>(x[1]).size() == 12);
    CHECK(of_rank<1>(x(pm::ellipsis, 1, 2)) == reals{6, 18});
    CHECK(of_rank<1>(x(pm::all, 1, 2)) == reals{6, 18});
    CHECK(of_rank<4>(x(pm::newaxis, 0, pm::slice{0, 1}, pm::newaxis)) == reals{0, 1, 2, 3});
    CHECK(of_rank<1>(pm::view(x, 0, pm::slice{{}, {}, -1}, 0)) == reals{8, 4, 0});
    CHECK(of_rank<3>(x()).size() == 24);
    const pm::any_tensor any = x;
    CHECK(any(0, pm::ellipsis, pm::newaxis).shape() == pm::shape{3, 4, 1});
    CHECK(any[1].shape() == pm::shape{3, 4});
    CHECK_THROWS_AS(any(0, pm::ellipsis, pm::ellipsis), pm::error);
    CHECK_THROWS_AS(x(2), pm::error);
    CHECK_THROWS_AS(x(0, -4), pm::error);
}

TEST_CASE("index: expressions are read without a name for them") {
    const on_host here;
    const pm::vector<float> a{1, 2, 3}, b{10, 20, 30};
    CHECK((pm::sum(a) + 1.0f).item() == 7);
    CHECK((a + b).to_vector() == reals{11, 22, 33});
    CHECK((a + b)(1).item() == 22);
    CHECK((a + b)[pm::slice{1, {}}].to_vector() == reals{22, 33});
    const auto sum = a + b;
    CHECK(sum.host()[2] == 33);
    CHECK(sum.get() == sum.get());
}

TEST_CASE("index: masks and tensors of indices select") {
    const on_host here;
    const auto x = counting<3, 4>();
    const pm::matrix<bool> even = x % 2.0f == 0.0f;
    CHECK(of_rank<1>(x[even]) == reals{0, 2, 4, 6, 8, 10});
    const pm::vector<bool> rows{true, false, true};
    CHECK(of_rank<2>(x[rows]) == reals{0, 1, 2, 3, 8, 9, 10, 11});
    CHECK(of_rank<1>(x[x > 100.0f]).empty());
    const pm::vector<int> i{2, -1, 0};
    CHECK(of_rank<2>(x[i]) == reals{8, 9, 10, 11, 8, 9, 10, 11, 0, 1, 2, 3});
    CHECK(of_rank<1>(x(i, i)) == reals{10, 11, 0});
    CHECK(of_rank<1>(x(i, 1)) == reals{9, 9, 1});
    const pm::any_tensor any = x;
    CHECK(any[pm::any_tensor(even)].shape() == pm::shape{6});
    CHECK(pm::nonzero(any).size() == 2);
    CHECK_THROWS_AS((x[rows[pm::slice{0, 2}]]), pm::error);
    CHECK_THROWS_AS(x(i, 4), pm::error);
}

TEST_CASE("index: a mask assigns as where does, indices assign rows, numbers a part") {
    const on_host here;
    const auto zeros = pm::zeros<float>({2, 3});
    pm::matrix<float> x = zeros;
    pm::at(x, 0) = 1.0f;
    pm::at(x, pm::all, 2) += 5.0f;
    CHECK(values(x) == reals{1, 1, 6, 0, 0, 5});
    pm::at(x, x > 4.0f) = -1.0f;
    pm::at(x, x < 0.0f) *= 2.0f;
    CHECK(values(x) == reals{1, 1, -2, 0, 0, -2});
    pm::at(x, pm::vector<bool>{false, true}) = pm::vector<float>{7, 8, 9};
    CHECK(values(x) == reals{1, 1, -2, 7, 8, 9});
    pm::at(x, pm::vector<int>{1, 0}) = pm::matrix<float>(x);
    CHECK(values(x) == reals{7, 8, 9, 1, 1, -2});
    pm::at(x, pm::vector<int>{0}) -= 1.0f;
    pm::at(x, 1, pm::newaxis) = pm::matrix<float>{{4, 5, 6}};
    CHECK(values(x) == reals{6, 7, 8, 4, 5, 6});
    pm::any_tensor any = x;
    pm::at(any, 1, 1) = 50;
    pm::at(any, any > 40) = 3;
    CHECK(pm::to_vector<float>(any) == reals{6, 7, 8, 4, 3, 6});
    CHECK(values(zeros) == reals(6));
    CHECK_THROWS_AS((pm::at(any, pm::vector<bool>{true}) = 1), pm::error);
    CHECK_THROWS_AS((pm::at(any, 0) = pm::vector<int>{1, 2, 3}), pm::error);
}

TEST_CASE("index: how many a mask selects is no question for a compiled function") {
    const on_host here;
    const auto f = pm::compile([](const pm::vector<float>& x) { return x[x > 0.0f]; });
    try {
        f(pm::vector<float>{1, 2});
        FAIL("it was compiled");
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::unsupported);
        CHECK(e.where() == "masked_select");
        CHECK(std::string(e.what()).find("where") != std::string::npos);
    }
}

TEST_CASE("index: a compiled function can be copied") {
    const on_host here;
    const auto f = pm::compile([](const pm::vector<float>& x) { return x * 2.0f; });
    const pm::vector<float> x{1, 2};
    f(x);
    const auto g = f;
    CHECK(g.recorded() == 1);
    const std::function<pm::vector<float>(const pm::vector<float>&)> h = g;
    CHECK(h(x).to_vector() == reals{2, 4});
}

TEST_CASE("index: results of creation, of lists and of numbers are operands") {
    const on_host here;
    const pm::matrix<float> a{{1, 2}, {3, 4}};
    CHECK((pm::zeros<float>({2}) + a).to_vector() == reals{1, 2, 3, 4});
    const pm::matrix<float> b = pm::ones<float>(a.shape()) + a * 2.0f;
    CHECK(b.to_vector() == reals{3, 5, 7, 9});
    CHECK(pm::where(a > 2.0f, a, pm::zeros<float>({2, 2})).to_vector() == reals{0, 0, 3, 4});
    const auto noise = pm::random::normal<float>(a.shape());
    CHECK(noise.to_vector().size() == 4);
    const pm::matrix<bool> below = noise < a;
    CHECK(below.shape() == a.shape());
    const pm::tensor<int, pm::dims<3>> cube{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
    CHECK(cube.to_vector() == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK_THROWS_AS((pm::tensor<int, pm::dims<3>>{{{1, 2}, {3}}}), pm::error);
    CHECK((pm::scalar_tensor<float>(3) * a).to_vector() == reals{3, 6, 9, 12});
    const pm::vector<pm::f16> h{1.0f, 2.5f};
    CHECK(pm::astype<float>(h * pm::f16(2) + 1.0f).to_vector() == reals{3, 6});
    CHECK((a * 2.0L + 1LL).to_vector() == reals{3, 5, 7, 9});
    const auto row = pm::reshape(a, {4});
    static_assert(row.rank() == 1);
    static_assert(decltype(pm::expand_dims(row, 0))::rank() == 2);
    CHECK(pm::reshape_to(a, 1, 4).rank() == 2);
    const pm::matrix<float> product = pm::einsum("ij,jk->ik", a, a);
    CHECK(product.to_vector() == reals{7, 10, 15, 22});
    pm::random::seed(7);
    CHECK(pm::random::seed() == 7);
    pm::random::seed(pm::random::default_seed);
}

TEST_CASE("index: updates of a handle, and typed forms of the array API") {
    const on_host here;
    pm::vector<int> n{1, 6, 12};
    n %= 5, n <<= 2, n |= 1;
    CHECK(n.to_vector() == std::vector<int>{5, 5, 9});
    n ^= 3, n &= 14, n >>= 1;
    CHECK(n.to_vector() == std::vector<int>{3, 3, 5});
    pm::any_tensor any = n;
    any += 1, any *= any, any -= n, any /= 2;
    CHECK(pm::to_vector<int>(any) == std::vector<int>{6, 6, 15});

    const auto x = pm::asarray({3.0f, 1.0f, 3.0f});
    CHECK(pm::device(x).get() == pm::default_context().get());
    CHECK(x.shape() == pm::shape{3});
    CHECK(x.size() == 3);
    CHECK(pm::asarray(2.0f).rank() == 0);
    CHECK(pm::asarray(std::vector<int>{1, 2}).to_vector().size() == 2);
    CHECK(pm::empty<float>({2, 5}).size() == 10);
    CHECK(pm::empty_like<int>(x).dtype() == pm::dtype::i32);
    CHECK(pm::full_like(x, 7).to_vector() == reals{7, 7, 7});
    const std::int64_t odd = (std::int64_t{1} << 53) + 1;
    const pm::any_tensor whole = pm::astype(pm::any_tensor(x), pm::dtype::i64);
    CHECK(pm::to_vector<std::int64_t>(pm::full_like(whole, odd))[0] == odd);
    const auto u = pm::unique_all(x);
    static_assert(std::same_as<decltype(u.values)::element_type, float>);
    CHECK(u.values.to_vector() == reals{1, 3});
    CHECK(u.inverse_indices.to_vector() == std::vector<std::int64_t>{1, 0, 1});
    CHECK(pm::unique_counts(x).second.to_vector() == std::vector<std::int64_t>{1, 2});
    CHECK(pm::nonzero(x > 2.0f)[0].to_vector() == std::vector<std::int64_t>{0, 2});
    CHECK(of_rank<1>(pm::repeat(x, pm::vector<int>{0, 2, 1})) == reals{1, 1, 3});
    CHECK(of_rank<1>(pm::diff(x)) == reals{-2, 2});
    CHECK(of_rank<0>(pm::vecdot(x, x)) == reals{19});
    CHECK(pm::searchsorted(u.values, x, pm::side::right).to_vector() ==
          std::vector<std::int64_t>{2, 1, 2});
    CHECK(pm::count_nonzero(x > 1.0f, pm::axis<0>).item() == 2);

    const pm::matrix<float> m{{1, 2, 3}, {4, 5, 6}};
    const pm::matrix<float> square = pm::tensordot(m, pm::matrix_transpose(m), 1);
    CHECK(square.to_vector() == reals{14, 32, 32, 77});
    CHECK(of_rank<2>(pm::tensordot(m, m, pm::axis<1>, pm::axis<1>)) == square.to_vector());
    CHECK(of_rank<2>(pm::tril(m)) == reals{1, 0, 0, 4, 5, 0});
    CHECK(of_rank<2>(pm::triu(m, 1)) == reals{0, 2, 3, 0, 0, 6});
    CHECK(of_rank<2>(pm::moveaxis(m, 0, 1)) == reals{1, 4, 2, 5, 3, 6});
    CHECK(of_rank<2>(pm::roll(m, {1, 1}, pm::axes<0, 1>)) == reals{6, 4, 5, 3, 1, 2});
    CHECK(of_rank<1>(pm::concat(std::nullopt, m, x)).size() == 9);
    CHECK(of_rank<0>(pm::squeeze(x(pm::newaxis, pm::slice{0, 1}), pm::axes<0, 1>)) == reals{3});
    const auto [down, along] = pm::broadcast_arrays(m, x);
    CHECK(of_rank<2>(along) == reals{3, 1, 3, 3, 1, 3});
    CHECK(of_rank<2>(down).size() == 6);
    const auto [columns, rows] = pm::meshgrid(x, pm::asarray({5, 6}));
    CHECK(of_rank<2>(columns) == reals{3, 1, 3, 3, 1, 3});
    CHECK(rows.to_vector() == std::vector<int>{5, 5, 5, 6, 6, 6});
    CHECK(pm::nextafter(x, pm::zeros_like(x))(1).item() == 1 - 0x1p-24f);
    CHECK(of_rank<0>(pm::trace(m)) == reals{6});
    CHECK(of_rank<1>(pm::diagonal(m, 1)) == reals{2, 6});
    CHECK(of_rank<1>(pm::diagonal(m, -1)) == reals{4});
    CHECK(of_rank<1>(pm::diagonal(m, 5)).empty());
    CHECK((!(m > 2.0f)).to_vector() == std::vector<bool>{true, true, false, false, false, false});
    const pm::matrix<std::int8_t> small{{100, 100}, {1, 2}};
    const pm::vector<std::int64_t> wide = pm::sum(small, pm::axis<1>);
    CHECK(wide.to_vector() == std::vector<std::int64_t>{200, 3});
    const pm::vector<float> averaged = pm::sum(small, pm::axis<0>, pm::as<float>) / 2.0f;
    CHECK(averaged.to_vector() == reals{50.5, 51});
    CHECK(pm::matmul(small, small)(1, 0).item() == 102);
    CHECK(pm::linspace<float>(0, 4, 4, false).to_vector() == reals{0, 1, 2, 3});

    // A sorter is of the vector's length; counts whose sum would overflow are refused.
    CHECK_THROWS_AS(pm::searchsorted(pm::any_tensor(x), pm::any_tensor(x), pm::side::left,
                                     pm::any_tensor(pm::vector<int>{1, 2, 0, 0})),
                    pm::error);
    const std::int64_t far = std::int64_t{1} << 62;
    CHECK_THROWS_AS(pm::repeat(x, pm::vector<std::int64_t>{far, far, 3}), pm::error);
}
