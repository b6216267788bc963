// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Axes of one element that come or go between a kernel and what is computed from its result: they
// stop no epilogue, and what is stored is as it would be without them.
#include <pumice/front.hpp>
#include <pumice/graph/array_api.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace pm = pumice;
using pm::any_tensor;
using pm::shape;

namespace {

/// Of mixed size and sign, so that an element in another's place is seen.
any_tensor numbers(const shape& extent, const pm::context& home) {
    std::vector<float> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<float>((i * 37 + 11) % 101) / 16 - 3;
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)), home);
}

bool is_host(const pm::context& home) { return home.device().type == pm::device_type::host; }

struct anchor {
    const char* name;
    shape extent;  // of its result
    std::function<any_tensor(const any_tensor& x, const any_tensor& b)> of;
    shape x, b = {};
};

const std::int64_t first[] = {0}, second[] = {1}, outer[] = {0, 2};

any_tensor product(const any_tensor& x, const any_tensor& b) { return pm::matmul(x, b); }
any_tensor max_pool(const any_tensor& x, const any_tensor&) {
    return pm::pool(x, {.what = pm::pooling::max, .window = {2, 2}, .stride = {2, 2}});
}

std::vector<anchor> anchors() {
    using pm::reduction;
    const auto reduced = [](reduction what, pm::span<const std::int64_t> axes, bool keepdims) {
        return [=](const any_tensor& x, const any_tensor&) {
            return pm::reduce(what, x, axes, keepdims);
        };
    };
    return {
        {"sum", {5, 3}, reduced(reduction::sum, second, false), {5, 7, 3}},
        {"sum, axes kept", {1, 7, 1}, reduced(reduction::sum, outer, true), {5, 7, 3}},
        {"max of all", {}, reduced(reduction::max, {}, false), {3, 4}},
        {"mean down", {1, 33}, reduced(reduction::mean, first, true), {9, 33}},
        {"column of a product", {70, 1}, product, {70, 13}, {13, 1}},
        {"row of a product", {1, 19}, product, {1, 13}, {13, 19}},
        {"products", {2, 1, 5, 4}, product, {2, 1, 5, 6}, {6, 4}},
        {"softmax", {1, 3, 1, 6}, [](auto& x, auto&) { return pm::softmax(x); }, {1, 3, 1, 6}},
        {"running sum",
         {4, 1, 6},
         [](auto& x, auto&) { return pm::cumulative(reduction::sum, x, 2); },
         {4, 1, 6}},
        {"pool", {2, 3, 1, 4}, max_pool, {2, 3, 2, 8}},
    };
}

/// The largest difference: a kernel may round an anchor's last step and its epilogue's first at
/// once.
double off_by(const std::vector<float>& got, const std::vector<float>& want) {
    double most = got.size() == want.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
        most = std::max(most, double(std::abs(got[i] - want[i])) / (1 + std::abs(want[i])));
    return most;
}

/// Shapes with the same axes but for those of one element.
std::vector<shape> neighbours(const shape& extent) {
    shape bare;
    for (int i = 0; i < extent.rank(); ++i)
        if (extent[i] != 1) bare.push_back(extent[i]);
    std::vector<shape> all{bare};
    for (int at = 0; at <= bare.rank(); ++at) {
        shape one;
        for (int i = 0; i <= bare.rank(); ++i) {
            if (i == at) one.push_back(1);
            if (i < bare.rank()) one.push_back(bare[i]);
        }
        all.push_back(one);
    }
    shape two = all[1];
    two.push_back(1);
    all.push_back(two);
    return all;
}

/// `x` with that shape: by one reshape, or axis by axis.
any_tensor shaped(any_tensor x, const shape& to, bool at_once) {
    if (at_once) return pm::reshape(x, to);
    for (int i = x.rank(); i-- > 0;)
        if (x.shape()[i] == 1) x = pm::squeeze(x, i);
    for (int i = 0; i < to.rank(); ++i)
        if (to[i] == 1) x = pm::expand_dims(x, i);
    return x;
}

}  // namespace

TEST_CASE("unit axes: an epilogue behind them is its kernel's, and gives what it gives elsewhere") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})})
        for (const anchor& a : anchors())
            for (const shape& to : neighbours(a.extent))
                for (const bool at_once : {false, true}) {
                    CAPTURE(a.name);
                    const std::string extent = pm::to_string(to);
                    CAPTURE(extent);
                    CAPTURE(at_once);
                    const any_tensor x = numbers(a.x, home), b = numbers(a.b, home),
                                     w = numbers(to, home), v = numbers(a.extent, home);
                    const auto behind = [&](const any_tensor& y) {
                        return pm::apply<pm::op::multiply>(pm::apply<pm::op::add>(shaped(y, to,
                                                                                         at_once),
                                                                                  w),
                                                           2.0);
                    };
                    // Once more across them, before the result.
                    const auto twice = [&](const any_tensor& y) {
                        return behind(pm::apply<pm::op::subtract>(y, v));
                    };
                    const any_tensor stored = a.of(x, b);
                    pm::eval(stored);
                    for (const auto& f : {std::function<any_tensor(const any_tensor&)>(behind),
                                          std::function<any_tensor(const any_tensor&)>(twice)}) {
                        const std::vector<float> want = pm::to_vector<float>(f(stored));
                        const any_tensor y = f(a.of(x, b));
                        const auto before = home.stats().dispatches;
                        pm::eval(y);
                        if (!is_host(home)) CHECK(home.stats().dispatches - before == 1);
                        CHECK(y.shape() == to);
                        CHECK(off_by(pm::to_vector<float>(y), want) < 1e-6);
                    }
                }
}

TEST_CASE("unit axes: what moves elements, or is a result itself, is stored first") {
    const pm::context home;
    if (is_host(home)) PUMICE_SKIP("vulkan-device", "kernels are counted");
    const any_tensor x = numbers({5, 7, 3}, home);
    const auto dispatches = [&](const std::vector<any_tensor>& results) {
        const auto before = home.stats().dispatches;
        pm::eval(results);
        return home.stats().dispatches - before;
    };
    const std::int64_t turn[] = {1, 0};
    const any_tensor s = pm::reduce(pm::reduction::sum, x, second),
                     t = pm::apply<pm::op::add>(pm::permute_dims(s, turn), 1.0);
    CHECK(dispatches({t}) == 2);
    const any_tensor u = pm::reduce(pm::reduction::max, x, second), seen = pm::expand_dims(u, 0),
                     y = pm::apply<pm::op::add>(seen, 1.0);
    CHECK(dispatches({seen, y}) == 2);
    CHECK(pm::to_vector<float>(seen) == pm::to_vector<float>(u));
}

TEST_CASE("unit axes: a reshape of lazy values that only has others copies nothing") {
    const pm::context home;
    const any_tensor x = numbers({6, 1, 4}, home), y = pm::apply<pm::op::add>(x, 1.0),  // lazy
        flat = pm::reshape(pm::reshape(pm::squeeze(y, 1), {6, 1, 1, 4}), {24});
    const auto before = home.stats().dispatches;
    pm::eval(flat);
    if (!is_host(home)) CHECK(home.stats().dispatches - before == 1);
    CHECK(pm::to_vector<float>(flat) == pm::to_vector<float>(pm::apply<pm::op::add>(x, 1.0)));
}

TEST_CASE("unit axes: reshapes of views of reshapes read what the first one does") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const any_tensor x = numbers({1, 2, 5}, home);
        const auto chain = [](const any_tensor& t) {
            any_tensor y = pm::reshape(t, {2, 5, 1});
            y = pm::expand_dims(pm::expand_dims(y, 1), 4);
            y = pm::expand_dims(pm::reshape(y, {10}), 0);
            return pm::reshape(pm::reshape(y, {10, 1}), {5, 2});
        };
        const auto compiled = pm::compile(chain);
        const std::vector<float> want = pm::to_vector<float>(x);
        CHECK(pm::to_vector<float>(chain(x)) == want);
        CHECK(pm::to_vector<float>(compiled(x)) == want);
        const any_tensor lazy = pm::apply<pm::op::negative>(pm::apply<pm::op::negative>(x));
        CHECK(pm::to_vector<float>(chain(lazy)) == want);
        CHECK(pm::to_vector<float>(compiled(lazy)) == want);
    }
}
