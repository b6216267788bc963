// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Long chains and wide results: nothing recurses along them, and time and memory grow with their
// length. What took quadratic time would not come back at these lengths, what recursed would not at
// this stack.
#include <pumice/front.hpp>
#include <pumice/graph/print.hpp>

#include <tests/support/skip.hpp>
#include <tests/support/small_stack.hpp>

#include <doctest/doctest.h>

#include <numeric>

namespace pm = pumice;

namespace {

using axes = std::array<std::int64_t, 2>;
using part = std::array<pm::slice, 1>;

pm::any_tensor counting(const pm::context& home) {
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), 0.0f);
    return pm::from_span<float>({4, 6}, values, home);
}
std::vector<float> values(const pm::any_tensor& x) {
    return x.as<pm::tensor<float, pm::dims<2>>>().to_vector();
}
pm::any_tensor cut(const pm::any_tensor& x, std::int64_t begin, std::int64_t end) {
    return pm::slice_view(x, part{pm::slice{begin, end, 1}});
}

/// One step of a chain. After an even number of steps the values are as before, or `gain` higher a
/// step.
struct chained {
    const char* name;
    pm::any_tensor (*step)(const pm::any_tensor& x, int number);
    float gain = 0;
};
const chained views[] = {
    {"permute_dims", [](const pm::any_tensor& x, int) { return pm::permute_dims(x, axes{1, 0}); }},
    {"flip", [](const pm::any_tensor& x, int) { return pm::flip(x); }},
    {"slice_view", [](const pm::any_tensor& x, int) { return cut(x, 0, x.shape()[0]); }},
    {"expand_dims, squeeze",
     [](const pm::any_tensor& x, int n) {
         return n % 2 == 0 ? pm::expand_dims(x, 1) : pm::squeeze(x, 1);
     }},
    {"broadcast_to and a slice of it",
     [](const pm::any_tensor& x, int) {
         return pm::squeeze(cut(pm::broadcast_to(pm::expand_dims(x, 0), {3, 4, 6}), 1, 2), 0);
     }},
    {"reshape",
     [](const pm::any_tensor& x, int n) {
         return pm::reshape(x, n % 2 == 0 ? pm::shape{2, 3, 4} : pm::shape{4, 6});
     }},
};
const chained computed[] = {
    {"add", [](const pm::any_tensor& x, int) { return pm::apply<pm::op::add>(x, 1.0); }, 1},
    {"add to itself",
     [](const pm::any_tensor& x, int) {
         return pm::apply<pm::op::multiply>(pm::apply<pm::op::add>(x, x), 0.5);
     }},
    {"astype", [](const pm::any_tensor& x,
                  int n) { return pm::astype(x, n % 2 == 0 ? pm::dtype::f64 : pm::dtype::f32); }},
    {"add of a flipped one",
     [](const pm::any_tensor& x, int) { return pm::apply<pm::op::add>(pm::flip(x), 1.0); }, 1},
    {"reshape of a transposed one",
     [](const pm::any_tensor& x, int) {
         return pm::reshape(pm::permute_dims(pm::reshape(x, {2, 2, 6}),
                                             std::array<std::int64_t, 3>{1, 0, 2}),
                            {4, 6});
     }},
    {"concat",
     [](const pm::any_tensor& x, int) {
         const pm::any_tensor halves[] = {cut(x, 2, 4), cut(x, 0, 2)};
         return pm::concat(halves);
     }},
    {"cumulative maximum of maxima",
     [](const pm::any_tensor& x, int) {
         return pm::apply<pm::op::maximum>(x, pm::reduce(pm::reduction::min, x,
                                                         std::array<std::int64_t, 1>{1}, true));
     }},
};

pm::any_tensor chain(const chained& l, pm::any_tensor x, int length) {
    for (int i = 0; i < length; ++i) x = l.step(x, i);
    return x;
}
void check(const chained& l, const pm::any_tensor& got, int length,
           const std::vector<float>& from) {
    std::vector<float> wanted = from;
    for (float& v : wanted) v += l.gain * float(length);
    CHECK_MESSAGE(values(got) == wanted, l.name);
}

const int a_million = test::address_sanitizer ? 20'000 : 1'000'000;

/// How many nodes of the evaluation stand one behind the other.
int depth(const pm::any_tensor& x) {
    int n = 0;
    for (const pm::node* at = x.get().get(); !at->realised(); at = at->inputs[0].get()) ++n;
    return n;
}

}  // namespace

TEST_CASE("a million views of views are one view, lazy or traced" *
          doctest::test_suite("host alone")) {
    const pm::context home(pm::host_only{});
    const pm::any_tensor x = counting(home);
    const std::vector<float> from = values(x);
    for (const chained& l : views) {
        test::on_small_stack([&] {
            const pm::any_tensor y = chain(l, x, a_million);
            CHECK_MESSAGE(depth(y) <= 1, l.name);
            check(l, y, 0, from);
            const pm::any_tensor behind = chain(l, pm::apply<pm::op::add>(x, 0.0), a_million);
            CHECK_MESSAGE(depth(behind) <= 2, l.name);
            check(l, behind, 0, from);
            const auto f =
                pm::compile([&](const pm::any_tensor& a) { return chain(l, a, a_million); });
            check(l, f(x), 0, from);
        });
    }
}

TEST_CASE("long chains of what computes, in one evaluation and traced" *
          doctest::test_suite("host alone")) {
    const pm::context home(pm::host_only{});
    const pm::any_tensor x = counting(home);
    const std::vector<float> from = values(x);
    for (const chained& l : computed) {
        const int length = test::address_sanitizer ? 2'000 : 20'000;
        test::on_small_stack([&] {
            check(l, chain(l, x, length), length, from);
            const auto f =
                pm::compile([&](const pm::any_tensor& a) { return chain(l, a, length); });
            check(l, f(x), length, from);
            static_cast<void>(chain(l, x, length));  // and let go unevaluated
        });
    }
}

TEST_CASE("the same on a device") {
    const pm::context home;
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host has cases of its own");
    const pm::any_tensor x = counting(home);
    const std::vector<float> from = values(x);
    const int length = test::address_sanitizer ? 500 : 2'000;
    for (const std::span<const chained> list :
         {std::span<const chained>(views), std::span<const chained>(computed)})
        for (const chained& l : list) {
            if (l.name == std::string("astype")) continue;  // not every device has f64
            test::on_small_stack([&] {
                check(l, chain(l, x, length), length, from);
                const auto f =
                    pm::compile([&](const pm::any_tensor& a) { return chain(l, a, length); });
                check(l, f(x), length, from);
            });
        }
}

TEST_CASE("one tensor read by, one concatenation of, and one function with very many" *
          doctest::test_suite("host alone")) {
    const pm::context home(pm::host_only{});
    const pm::any_tensor x = counting(home);
    const int many = test::address_sanitizer ? 5'000 : 50'000;
    test::on_small_stack([&] {
        std::vector<pm::any_tensor> all;
        const pm::any_tensor lazy = pm::apply<pm::op::add>(x, 1.0);
        for (int i = 0; i < many; ++i)
            all.push_back(pm::apply<pm::op::add>(cut(lazy, i % 4, i % 4 + 1), double(i)));
        const pm::any_tensor joined = pm::concat(all);
        const pm::any_tensor last = cut(joined, many - 1, many);
        CHECK(values(last)[0] == float(6 * ((many - 1) % 4) + 1 + many - 1));

        const auto f = pm::compile([&](const pm::any_tensor& a) {
            std::vector<pm::any_tensor> results;
            for (int i = 0; i < many; ++i) results.push_back(pm::apply<pm::op::add>(a, double(i)));
            results.push_back(results.back());
            return results;
        });
        const std::vector<pm::any_tensor> results = f(x);
        REQUIRE(results.size() == std::size_t(many) + 1);
        CHECK(values(results[7])[2] == 9);
        CHECK(values(results.back())[0] == float(many - 1));
    });
}

TEST_CASE("a view that is only held takes nobody out of a kernel" *
          doctest::test_suite("host alone")) {
    const pm::context home(pm::host_only{});
    const pm::any_tensor x = counting(home);
    const pm::any_tensor sum = pm::apply<pm::op::add>(x, 1.0), held = pm::flip(sum);
    const pm::any_tensor used = cut(held, 0, 2), y = pm::apply<pm::op::multiply>(used, 2.0);
    const auto before = home.stats().dispatches;
    CHECK(values(y)[0] == 48);
    CHECK(home.stats().dispatches == before + 1);
    CHECK_FALSE(sum.get()->realised());
    CHECK(values(held)[0] == 24);
    // One that somebody outside reads makes what it looks at worth storing.
    const pm::any_tensor other = pm::apply<pm::op::add>(x, 2.0), seen = pm::flip(other);
    const pm::any_tensor outside = pm::apply<pm::op::add>(seen, 1.0),
                         inside = pm::apply<pm::op::add>(cut(seen, 0, 1), 1.0);
    CHECK(values(inside)[0] == 26);
    CHECK(other.get()->realised());
    CHECK(values(outside)[0] == 26);
}
