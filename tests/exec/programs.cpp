// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random programs give the same values fused, unfused and eager, whatever aliases what.
#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace pm = pumice;

namespace {

using list = std::vector<pm::any_tensor>;

/// One random statement over matrices of shape (n, n): arithmetic, views, reductions, products, joins.
pm::any_tensor statement(std::mt19937& random, const list& have, std::int64_t n, bool heavy) {
    const auto pick = [&] { return have[random() % have.size()]; };
    const std::int64_t both[] = {1, 0}, last[] = {1};
    const pm::any_tensor a = pick(), b = pick();
    switch (random() % (heavy ? 16 : 12)) {
        case 0: return pm::apply<pm::op::add>(a, b);
        case 1: return pm::apply<pm::op::subtract>(a, b);
        case 2: return pm::apply<pm::op::multiply>(pm::apply<pm::op::tanh>(a), b);
        case 3: return pm::apply<pm::op::maximum>(a, b);
        case 4: return pm::apply<pm::op::where>(pm::apply<pm::op::less>(a, b), a, 0.25);
        case 5: return pm::apply<pm::op::sigmoid>(a);
        case 6: return pm::apply<pm::op::multiply>(a, double(random() % 7) * 0.25 - 0.75);
        case 7: return pm::permute_dims(a, both);
        case 8: return pm::flip(a, last);
        case 9: {
            const pm::slice row[] = {{std::int64_t(random() % std::uint64_t(n)), {}, 1}, {}};
            const pm::slice first[] = {{0, 1, 1}, {}};
            return pm::apply<pm::op::add>(a, pm::slice_view(pm::slice_view(b, row), first));
        }
        case 10: return pm::reshape(pm::reshape(a, {n * n}), {n, n});
        case 11: return pm::apply<pm::op::abs>(pm::apply<pm::op::negative>(a));
        case 12:
            return pm::apply<pm::op::subtract>(a, pm::reduce(pm::reduction::mean, b, last, true));
        case 13: return pm::softmax(a, 1);
        case 14: return pm::apply<pm::op::multiply>(pm::matmul(a, b), 1.0 / double(n));
        default: {
            const pm::slice low[] = {{0, n / 2, 1}, {}}, high[] = {{n / 2, n, 1}, {}};
            const pm::any_tensor halves[] = {pm::slice_view(b, high), pm::slice_view(a, low)};
            return pm::concat(halves, 0);
        }
    }
}

/// A program: statements that assign to random variables, so that old values stay alive in views only.
list run(const pm::context& home, unsigned seed, bool heavy) {
    std::mt19937 random(seed);
    const std::int64_t n = 2 + std::int64_t(random() % 9);
    list variables;
    for (int v = 0; v < 3; ++v) {
        std::vector<float> values(static_cast<std::size_t>(n * n));
        for (float& x : values) x = float(int(random() % 41) - 20) / 16;
        variables.push_back(pm::from_bytes(pm::dtype::f32, {n, n}, std::as_bytes(std::span(values)),
                                           home));
    }
    const int length = 2 + int(random() % 14);
    for (int s = 0; s < length; ++s) {
        const std::size_t target = random() % variables.size();
        variables[target] = statement(random, variables, n, heavy);
        if (home.get()->policies().eager && !variables[target].get()->realised())
            pm::eval(std::span<const pm::any_tensor>(&variables[target], 1));
        if (random() % 8 == 0)
            pm::eval(std::span<const pm::any_tensor>(&variables[random() % variables.size()], 1));
    }
    return variables;
}

int differences(const list& a, const list& b) {
    int wrong = 0;
    for (std::size_t v = 0; v < a.size(); ++v) {
        const std::vector<float> x = pm::to_vector<float>(a[v]), y = pm::to_vector<float>(b[v]);
        for (std::size_t i = 0; i < x.size(); ++i)
            wrong += !(std::fabs(x[i] - y[i]) <= 2e-5f * (1 + std::fabs(y[i])) ||
                       (std::isnan(x[i]) && std::isnan(y[i])));
    }
    return wrong;
}

}  // namespace

TEST_CASE("1000 random programs on the host: fused, unfused and eager agree") {
    const pm::context fused(pm::host_only{}), apart(pm::host_only{}, pm::fusion::none{}),
        eager(pm::host_only{}, pm::eager{});
    for (unsigned seed = 0; seed < 1000; ++seed) {
        const list expected = run(eager, seed, true);
        CHECK_MESSAGE(differences(run(fused, seed, true), expected) == 0, "seed " << seed);
        CHECK_MESSAGE(differences(run(apart, seed, true), expected) == 0, "seed " << seed);
    }
}

TEST_CASE("random programs on the device agree with the host") {
    const pm::context device, host(pm::host_only{}, pm::eager{});
    if (device.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the case is of a device");
    for (unsigned seed = 0; seed < 60; ++seed)
        CHECK_MESSAGE(differences(run(device, seed, true), run(host, seed, true)) == 0,
                      "seed " << seed);
}

TEST_CASE("a value that is overwritten stays what it was for whoever reads it") {
    const pm::context home;
    pm::matrix<float> y = pm::from_span<float>({2, 2}, std::vector<float>{1, 2, 3, 4}, home);
    const auto old = pm::transpose(y);
    auto pending = y * 10.0f;
    y = y + y;
    y += pm::transpose(y);
    CHECK(y.to_vector() == std::vector<float>{4, 10, 10, 16});
    CHECK(old.to_vector() == std::vector<float>{1, 3, 2, 4});
    CHECK(pm::matrix<float>(pending).to_vector() == std::vector<float>{10, 20, 30, 40});
    const pm::matrix<float> twice = pm::concat(pm::axis<0>, y, y);
    CHECK(twice.to_vector().size() == 8);
    CHECK(twice.to_vector()[6] == 10);
}
