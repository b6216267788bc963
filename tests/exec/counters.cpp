// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What an evaluation costs, pinned: dispatches, uploads, downloads, submits.
#include "chain.hpp"

#include <pumice/front.hpp>

#include <doctest/doctest.h>
#include <tests/support/skip.hpp>

#include <cmath>

namespace pm = pumice;
using test::filled, test::twenty;

namespace {

struct cost {
    explicit cost(const pm::context& c) : home(c), before(c.stats()) {}
    pm::context home;
    pm::statistics before;
    std::uint64_t dispatches() const { return home.stats().dispatches - before.dispatches; }
    std::uint64_t uploads() const { return home.stats().uploads - before.uploads; }
    std::uint64_t downloads() const { return home.stats().downloads - before.downloads; }
    std::uint64_t submits() const { return home.stats().submits - before.submits; }
    std::uint64_t barriers() const { return home.stats().barriers - before.barriers; }
};

bool on_vulkan(const pm::context& c) { return c.device().type != pm::device_type::host; }

/// Whether data goes up to, and comes down from, the device's memory by copies that the device
/// makes: a barrier on the way up; on the way down a submit of its own with one before it and one
/// after.
unsigned copied_up(const pm::context& c) {
    return !c.device().unified_memory && !c.device().mapped_device_memory;
}
unsigned copied_down(const pm::context& c) { return !c.device().unified_memory; }

/// Rows of at least 40 columns: more elements than the host computes at once, so that they wait to
/// be fused.
constexpr std::int64_t many = 110;

}  // namespace

TEST_CASE("a chain of twenty ops is one dispatch, one upload an operand, one download") {
    const pm::context home;
    const auto a = filled(home, 7, 33, 0), b = filled(home, 7, 33, 1), c = filled(home, 7, 33, -2),
               d = filled(home, 7, 33, 3);
    auto y = twenty(a, b, c, d);
    CHECK(decltype(y)::tree::nodes == 20);
    const cost k(home);
    pm::matrix<float> z = y;
    z.to_vector();
    z.to_vector();
    CHECK(k.dispatches() == 1);
    if (!on_vulkan(home)) return;
    CHECK(k.uploads() == 4);
    CHECK(k.downloads() == 1);
    CHECK(k.submits() == 1 + copied_down(home));
    CHECK(k.barriers() == copied_up(home) + 2 * copied_down(home));
}

TEST_CASE(
    "sixteen operands, the most that a type takes, are one dispatch; a seventeenth is joined "
    "again") {
    const pm::context home;
    std::vector<pm::matrix<float>> x;
    for (int i = 0; i < 17; ++i) x.push_back(filled(home, 3, 5, float(i)));
    auto y = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] + x[8] + x[9] + x[10] + x[11] +
             x[12] + x[13] + x[14] + x[15];
    CHECK(decltype(y)::tree::leaves == pm::max_tree_leaves);
    cost k(home);
    pm::matrix<float> z = y;
    CHECK(z.to_vector()[1] == 124.0f);
    CHECK(k.dispatches() == 1);
    k = cost(home);
    pm::matrix<float> w = pm::abs(x[0] * x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] + x[8] +
                                  x[9] + x[10] + x[11] + x[12] + x[13] + x[14] + x[15] + x[16]);
    CHECK(w.to_vector()[0] == 135.0f);
    CHECK(k.dispatches() == 2);
}

TEST_CASE("with fusion off each op is a dispatch, and the values agree") {
    const pm::context fused, apart(pm::fusion::none{});
    std::vector<float> values[2];
    for (const pm::context* home : {&fused, &apart}) {
        const auto a = filled(*home, 7, 33, 0), b = filled(*home, 7, 33, 1),
                   c = filled(*home, 7, 33, -2), d = filled(*home, 7, 33, 3);
        const cost k(*home);
        pm::matrix<float> z = twenty(a, b, c, d);
        values[home == &apart] = z.to_vector();
        CHECK(k.dispatches() == (home == &apart ? 20 : 1));
    }
    for (std::size_t i = 0; i < values[0].size(); ++i)
        CHECK(values[0][i] == doctest::Approx(values[1][i]));
}

TEST_CASE("a large integer is the same number fused, unfused and with a tensor of run-time type") {
    const std::int64_t large = (std::int64_t(1) << 53) + 1;
    for (const pm::context& home : {pm::context(), pm::context(pm::fusion::none{})}) {
        const std::vector<std::int64_t> zeros{0, 1, -1};
        const pm::vector<std::int64_t> x = pm::adapt(zeros, home);
        const std::vector<std::int64_t> sums{large, large + 1, large - 1};
        CHECK(pm::vector<std::int64_t>(x + large).to_vector() == sums);
        CHECK(pm::to_vector<std::int64_t>(pm::any_tensor(x) + large) == sums);
    }
}

TEST_CASE(
    "z1 = y * 2, z2 = y + 1: y is computed once, in one kernel or, evaluated apart, in the first") {
    const pm::context home;
    const auto a = filled(home, many, 40, 0), b = filled(home, many, 40, 1);
    auto y = pm::relu(a * b);
    pm::matrix<float> z1 = y * 2.0f, z2 = y + 1.0f;
    cost k(home);
    pm::eval(z1, z2);
    CHECK(k.dispatches() == 1);
    auto x = pm::relu(a - b);
    pm::matrix<float> w1 = x * 2.0f, w2 = x + 1.0f;
    k = cost(home);
    w1.to_vector();
    pm::matrix<float> stored = x;
    CHECK(stored.get()->realised());  // another node waits for it, so the first kernel stored it
    w2.to_vector();
    CHECK(k.dispatches() == 2);
    CHECK(w2.to_vector()[1] == doctest::Approx(std::max(0.0f, -1.0f) + 1));
}

TEST_CASE(
    "a product takes its bias, residual and activation as epilogue, and operands as prologues") {
    const pm::context home;
    const auto a = filled(home, many, 40, 0), b = filled(home, 40, 45, -1),
               r = filled(home, many, 45, 2);
    const pm::vector<float> bias = pm::from_span<float>({45}, std::vector<float>(45, 0.5f), home);
    cost k(home);
    pm::matrix<float> y = pm::relu(pm::matmul(a, b) + bias);
    y.to_vector();
    CHECK(k.dispatches() == 1);
    k = cost(home);
    pm::matrix<float> z = pm::matmul(pm::abs(a) * 2.0f, b) + bias + r;
    z.to_vector();
    CHECK(k.dispatches() == 1);
    // A second reader of the product keeps it unfused: it is stored and read.
    k = cost(home);
    pm::matrix<float> p = pm::matmul(a, b);
    pm::matrix<float> w =
        p + pm::transpose(pm::matrix<float>(pm::matmul(pm::transpose(b), pm::transpose(a))));
    w.to_vector();
    CHECK(k.dispatches() == 2);
}

TEST_CASE("softmax(a * s + m) is one dispatch, and the example of the design two") {
    const pm::context home;
    const auto a = filled(home, many, 50, 0), m = filled(home, many, 50, 1),
               b = filled(home, 50, 50, 0);
    cost k(home);
    pm::matrix<float> y = pm::softmax(a * 0.125f + m, pm::axis<1>);
    y.to_vector();
    CHECK(k.dispatches() == 1);
    auto e = pm::relu(a * m + a);
    k = cost(home);
    pm::matrix<float> z = pm::softmax(pm::matmul(e, b) + 1.0f, pm::axis<1>);
    pm::eval(z);
    CHECK(k.dispatches() == 2);
    if (on_vulkan(home)) CHECK(k.barriers() == 1 + copied_up(home));
    if (on_vulkan(home)) CHECK(k.submits() == 1);
}

TEST_CASE(
    "layer_norm(x + r) * g + b, rms_norm(x) * g and a scaled group_norm are one dispatch each") {
    const pm::context home;
    const auto x = filled(home, many, 50, 0), r = filled(home, many, 50, 1);
    const pm::vector<float> g = pm::from_span<float>({50}, std::vector<float>(50, 0.5f), home),
                            b = pm::from_span<float>({50}, std::vector<float>(50, 2), home);
    cost k(home);
    pm::matrix<float> y = pm::layer_norm(x + r) * g + b;
    y.to_vector();
    CHECK(k.dispatches() == 1);
    k = cost(home);
    pm::matrix<float> z = pm::rms_norm(x) * g;
    z.to_vector();
    CHECK(k.dispatches() == 1);
    k = cost(home);
    auto n = pm::group_norm(x, 5, g, b);
    n.to_vector();
    CHECK(k.dispatches() == 1);
    k = cost(home);
    pm::vector<float> d = pm::std(x, pm::axis<1>, pm::correction{1});
    d.to_vector();
    CHECK(k.dispatches() == 1);
}

TEST_CASE("cumulative_sum(x * s) - x is one dispatch, with an initial value or reversed too") {
    const pm::context home;
    const auto x = filled(home, many, 50, 0);
    cost k(home);
    pm::matrix<float> y = pm::cumulative_sum(x * 2.0f, pm::axis<1>) - x;
    y.to_vector();
    CHECK(k.dispatches() == 1);
    k = cost(home);
    auto z = pm::abs(pm::cumulative_sum(x, pm::axis<0>, pm::include_initial));
    pm::any_tensor r = pm::cumulative_prod(pm::any_tensor(x), 1, {.reverse = true});
    pm::eval(z, r);
    CHECK(k.dispatches() == 2);
    // The initial value of no elements is written though nothing is read.
    CHECK(pm::to_vector<float>(pm::cumulative_prod(pm::any_tensor(filled(home, 3, 0, 0)), 1,
                                                   {.include_initial = true})) ==
          std::vector<float>{1, 1, 1});
}

TEST_CASE("a product read by two kernels is computed once") {
    const pm::context home;
    const auto a = filled(home, 12, 12, 0), b = filled(home, 12, 12, 1);
    const cost k(home);
    pm::matrix<float> p = pm::matmul(a, b);
    pm::matrix<float> s = pm::softmax(p, pm::axis<1>);
    pm::matrix<float> q = pm::matmul(p, b);
    pm::eval(s, q);
    CHECK(k.dispatches() == 3);
}

TEST_CASE("views cost nothing") {
    const pm::context home;
    const auto a = filled(home, 6, 8, 0);
    pm::eval(a);
    const cost k(home);
    auto t = pm::transpose(a);
    auto f = pm::flip(t, pm::axis<0>);
    auto v = pm::view(f, pm::slice{1, {}, 2}, pm::slice{});
    const auto r = pm::reshape<4, 12>(a);
    pm::eval(v, r);
    CHECK(k.dispatches() == 0);
    CHECK(v.shape() == pm::shape{4, 6});
    CHECK(v.to_vector()[0] == a.to_vector()[6]);
    CHECK(r.to_vector() == a.to_vector());
    pm::matrix<float> sum = v + v;
    CHECK(sum.to_vector()[7] == 2 * v.to_vector()[7]);
}

TEST_CASE(
    "upload() brings data up before the evaluation that reads it, once; lazy tensors stay lazy") {
    const pm::context home;
    const auto a = filled(home, 300, 257, 0), b = filled(home, 1, 3, 1),
               none = filled(home, 0, 3, 1);
    const pm::any_tensor sum = a + 1.0f, list[] = {a, b, none, sum, a};
    const cost k(home);
    pm::upload(list);
    pm::upload(list);
    CHECK_FALSE(sum.get()->realised());
    CHECK(k.dispatches() == 0);
    if (on_vulkan(home)) CHECK(k.uploads() == 2);
    CHECK(pm::to_vector<float>(sum)[5] == a.to_vector()[5] + 1);
    if (on_vulkan(home)) CHECK(k.uploads() == 2);

    const pm::context other;
    const pm::any_tensor mixed[] = {a, filled(other, 2, 2, 0)};
    CHECK_THROWS_AS(pm::upload(mixed), pm::error);
    pm::upload({});
}

TEST_CASE("upload() of more than one staging's worth is whole") {
    const pm::context home;
    std::vector<pm::any_tensor> list;
    for (int i = 0; i < 5; ++i) list.push_back(filled(home, 4096, 1500, float(i)));
    pm::upload(list);
    const pm::slice last_row{4095, {}, 1};
    const auto end_of = [&](const pm::any_tensor& t) {
        return pm::to_vector<float>(pm::slice_view(t, std::span(&last_row, 1)));
    };
    for (int i = 0; i < 5; ++i)
        CHECK(end_of(list[std::size_t(i)]) == end_of(filled(home, 4096, 1500, float(i))));
}

TEST_CASE("a long loop runs flat: bounded pending nodes, bounded memory") {
    const pm::context home;
    pm::matrix<float> x = filled(home, 4, 4, 0), g = filled(home, 4, 4, 1);
    for (int i = 0; i < 20000; ++i) x = x * 0.9f + g;
    const std::vector<float> v = x.to_vector(), w = g.to_vector();
    for (std::size_t i = 0; i < v.size(); ++i) CHECK(v[i] == doctest::Approx(w[i] * 10));
    if (on_vulkan(home)) CHECK(home.stats().device_bytes_peak < (16u << 20));
}

TEST_CASE(
    "a loop that reads a value of what it does not evaluate has few plans, and computes it twice") {
    const pm::context home;
    const std::vector<float> starts(many * 40, 3.0f);
    pm::vector<float> x = pm::from_span<float>({many * 40}, starts, home), velocity = x * 0.0f;
    float change = 0;
    const std::uint64_t plans = home.stats().plans;
    const cost spent(home);
    constexpr int steps = 60;
    for (int i = 0; i < steps; ++i) {
        velocity = velocity * 0.5f - (x - 2.0f / x) * 0.25f;
        const pm::vector<float> y = x + velocity;
        change = pm::max(pm::abs(y - x)).item();
        x = y;
    }
    CHECK(change < 1e-4f);
    CHECK(x.to_vector()[0] == doctest::Approx(std::sqrt(2.0)));
    CHECK(home.stats().plans - plans <= 12);
    CHECK(spent.dispatches() <= 3 * steps);
}

TEST_CASE("the parts of a concatenation are computed where they belong, and stay tensors") {
    for (const bool traced : {false, true}) {
        const pm::context home;
        const auto x = pm::arange(pm::dtype::f32, 0, 48, 1, home);
        const pm::any_tensor a = pm::reshape(x, {6, 8}) * 0.125, b = pm::reshape(x, {8, 6}) * 1.0;
        const pm::any_tensor small[] = {a, b};
        pm::eval(small);
        const auto product = [&](double by) { return pm::relu(pm::matmul(a, b) - by); };
        pm::any_tensor held;
        const auto joined = [&](const pm::any_tensor& y) {
            held = pm::softmax(pm::matmul(y, b), 1);
            const pm::any_tensor parts[] = {product(10), held, pm::matmul(a, b)};
            return pm::concat(parts, 0);
        };
        std::vector<float> expected;
        for (const pm::any_tensor& part :
             {product(10), pm::softmax(pm::matmul(a, b), 1), pm::matmul(a, b)})
            for (const float v : pm::to_vector<float>(part)) expected.push_back(v);
        const auto before = home.stats().dispatches;
        if (traced) {
            const auto g = pm::compile(joined);
            CHECK(pm::to_vector<float>(g(a)) == expected);
            CHECK(pm::to_vector<float>(g(a)) == expected);
            continue;
        }
        const pm::any_tensor whole = joined(a);
        CHECK(pm::to_vector<float>(whole) == expected);
        // Two products with what follows, a product and its softmax: nothing is copied.
        CHECK(home.stats().dispatches - before == 4);
        const auto after = home.stats().dispatches;
        CHECK(pm::to_vector<float>(held) ==
              std::vector<float>(expected.begin() + 36, expected.begin() + 72));
        CHECK(pm::to_vector<float>(held * 2.0)[3] == 2 * expected[39]);
        CHECK(home.stats().dispatches - after == 1);  // it was computed with the whole
        // Columns do not lie in one piece: they are copied.
        const pm::any_tensor sides[] = {product(10), product(20)};
        const pm::any_tensor wide = pm::concat(sides, 1);
        CHECK(pm::to_vector<float>(wide)[6 * 2 + 6] == pm::to_vector<float>(product(20))[6]);
    }
}
