// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops run: against plain C++ loops, evaluated and recorded, with what they plan,
// read back, hold and write counted, and with failures and stops in their middle.
#include <pumice/front.hpp>
#include <pumice/tensor/scan_loop.hpp>

#include <tests/exec/random_loops.hpp>
#include <tests/extend/add_backend.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace pm = pumice;
using i32 = pm::tensor<std::int32_t, pm::dims<0>>;
using vec = pm::vector<float>;
using test::code_of;

namespace {

pm::vector<float> floats(std::vector<float> v, const pm::context& home) {
    return pm::adapt(v, home);
}
/// v = v + 1 while v[0] < least.
template <class V>
auto counted(const V& v, float least) {
    return pm::while_loop([&](const pm::vector<float>& x) { return pm::max(x) < least; },
                          [](const pm::vector<float>& x) { return x + 1.0f; }, v);
}

void against_plain_loops(const pm::context& home, int count, unsigned seed) {
    for (int k = 0; k < count; ++k) {
        const test::random_loop loop(seed + unsigned(k));
        const std::vector<test::integers> want = loop.plainly();
        CHECK_MESSAGE(loop.by_tensors(home, false) == want, "seed " << seed + unsigned(k));
        CHECK_MESSAGE(loop.by_tensors(home, true) == want, "recorded, seed " << seed + unsigned(k));
    }
}

}  // namespace

TEST_CASE("control: random loops and branches give what plain C++ gives") {
    const int count = test::samples(40);
    MESSAGE(count << " programs from seed " << test::seed());
    against_plain_loops(pm::context(), count, unsigned(test::seed()));
    against_plain_loops(pm::context(pm::host_only{}), 2 * count, unsigned(test::seed()) + 1000);
}

TEST_CASE("control: and on a backend of one's own") {
    against_plain_loops(pm::context(mine::on_mine{1 << 24}), test::samples(20), 77);
}

TEST_CASE("control: without fusion, and with steps at random places") {
    against_plain_loops(pm::context(pm::fusion::none{}), test::samples(10), 4000);
    const pm::context spread(mine::on_mine{1 << 24}, pm::place_steps{[](pm::placement& p) {
                                 for (std::size_t i = 0; i < p.at.size(); ++i) p.at[i] = int(i % 3);
                             }});
    against_plain_loops(spread, test::samples(10), 5000);
}

TEST_CASE("control: a branch runs alone, with operands and captured values") {
    const pm::context home;
    const pm::vector<float> x = floats({1, 2, 3}, home), y = floats({10, 20, 30}, home);
    for (const float least : {0.0f, 100.0f}) {
        const auto [a, b] = pm::cond(
            pm::sum(x) > least,
            [&](const pm::vector<float>& v) { return std::tuple(v + y, pm::sum(v * y)); },
            [&](const pm::vector<float>& v) { return std::tuple(v - y, pm::sum(v)); }, x);
        const bool yes = least == 0;
        CHECK(a.to_vector() ==
              (yes ? std::vector<float>{11, 22, 33} : std::vector<float>{-9, -18, -27}));
        CHECK(b.item() == (yes ? 140 : 6));
    }
    const pm::tensor<bool, pm::dims<0>> large = pm::max(x) > 2.0f;
    pm::eval(large);
    const pm::statistics before = home.stats();
    const pm::vector<float> one =
        pm::cond(large, [&] { return x * 2.0f; }, [&] { return pm::exp(pm::sqrt(x)) + y; });
    CHECK(one.to_vector() == std::vector<float>{2, 4, 6});
    CHECK(home.stats().dispatches - before.dispatches == 1);
}

TEST_CASE("control: what is captured may be lazy, strided, a view or the function's result") {
    const pm::context home;
    const pm::matrix<float> m =
        pm::reshape_to(pm::arange<float>(0, 6, 1, home), std::int64_t{2}, std::int64_t{3});
    const auto turned = pm::transpose(m);
    const pm::vector<float> second = pm::sum(pm::view(m, pm::slice{1, 2}), pm::axis<0>);
    const pm::vector<float> lazy = pm::sum(m, pm::axis<0>) * 2.0f, x = floats({1, 1, 1}, home);
    const auto unmade = x * 3.0f;  // an expression, which becomes a node within the function
    const pm::vector<float> r = pm::fori_loop(
        0, 2,
        [&](const i32&, const pm::vector<float>& v) {
            return v + pm::sum(turned, pm::axis<1>) + lazy + unmade + second;
        },
        x);
    CHECK(r.to_vector() == std::vector<float>{31, 45, 59});
    CHECK(pm::vector<float>(unmade).to_vector() == std::vector<float>{3, 3, 3});
    const pm::vector<float> same =
        pm::cond(pm::sum(x) > 0.0f, [&] { return lazy; }, [&] { return x; });
    CHECK(same.to_vector() == lazy.to_vector());
}

TEST_CASE("control: loops of no step, values that stay, and nothing in them") {
    const pm::context home;
    const pm::vector<float> x = floats({5, 6}, home);
    const auto grown = [](const i32&, const pm::vector<float>& v) { return v + 1.0f; };
    CHECK(pm::fori_loop(3, 3, grown, x).to_vector() == std::vector<float>{5, 6});
    CHECK(pm::fori_loop(3, 1, grown, x).to_vector() == std::vector<float>{5, 6});
    const auto least = std::numeric_limits<std::int64_t>::min();
    CHECK(pm::fori_loop(3, least, grown, x).to_vector() == std::vector<float>{5, 6});
    CHECK(counted(x, 0.0f).to_vector() == std::vector<float>{5, 6});
    const auto part = pm::view(pm::arange<float>(0, 8, 1, home), pm::slice{3, 5});
    CHECK(counted(part, 0.0f).to_vector() == std::vector<float>{3, 4});
    CHECK(counted(part, 6.0f).to_vector() == std::vector<float>{5, 6});
    CHECK(pm::fori_loop(
              0, 3, [](const i32&, const pm::vector<float>& v) { return v; }, x)
              .to_vector() == std::vector<float>{5, 6});
    CHECK(pm::fori_loop(0, 3, grown, pm::vector<float>(pm::zeros<float>({0}, home))).size() == 0);
    const auto swapped = pm::fori_loop(
        0, 3,
        [](const i32&, const pm::vector<float>& a, const pm::vector<float>& b) {
            return std::tuple(b, a);
        },
        x, part);
    CHECK(std::get<0>(swapped).to_vector() == std::vector<float>{3, 4});
    CHECK(std::get<1>(swapped).to_vector() == std::vector<float>{5, 6});
}

TEST_CASE("control: scan stacks rows, forwards and in reverse, evaluated and recorded") {
    const pm::context home;
    std::vector<float> numbers;
    for (int i = 0; i < 35; ++i) numbers.push_back(float(i % 11) - 4);
    const pm::matrix<float> xs = pm::from_span<float>({7, 5}, numbers, home);
    const pm::vector<float> init = pm::ones<float>({5}, home);
    for (const bool reverse : {false, true}) {
        const auto step = [](const pm::vector<float>& c, const pm::vector<float>& x) {
            const pm::vector<float> next = c * 0.5f + x;
            return std::tuple(next, pm::sum(next) + x);
        };
        std::vector<float> carry(5, 1), rows(35);
        for (std::size_t k = 0; k < 7; ++k) {
            const std::size_t row = reverse ? 6 - k : k;
            float sum = 0;
            for (std::size_t i = 0; i < 5; ++i)
                sum += carry[i] = carry[i] * 0.5f + numbers[row * 5 + i];
            for (std::size_t i = 0; i < 5; ++i) rows[row * 5 + i] = sum + numbers[row * 5 + i];
        }
        const auto close = [](const std::vector<float>& a, const std::vector<float>& b) {
            REQUIRE(a.size() == b.size());
            for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]));
        };
        const auto [c, ys] = pm::scan(step, init, xs, reverse);
        close(c.to_vector(), carry);
        close(ys.to_vector(), rows);
        const auto recorded =
            pm::compile([&](const pm::vector<float>& a, const pm::matrix<float>& b) {
                return pm::scan(step, a, b, reverse);
            });
        for (int run = 0; run < 2; ++run) {
            const auto [again, all_rows] = recorded(init, xs);
            close(again.to_vector(), carry);
            close(all_rows.to_vector(), rows);
        }
    }
    const auto [none, nothing] =
        pm::scan([](const pm::vector<float>& c,
                    const pm::vector<float>& x) { return std::tuple(c, x); },
                 init, pm::matrix<float>(pm::zeros<float>({0, 5}, home)));
    CHECK(none.to_vector() == init.to_vector());
    CHECK(nothing.shape() == pm::shape{0, 5});
}

TEST_CASE("control: scan carries, reads and stacks several tensors") {
    const pm::context home;
    const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 0, 2};
    const pm::matrix<float> xs = pm::from_span<float>({3, 2}, a, home);
    const vec weights = pm::from_span<float>({3}, b, home), zero = pm::zeros<float>({2}, home);
    // A sum, and the greatest so far; of each step its row, weighted, and the sum's own sum.
    const auto step = [](const std::tuple<vec, vec>& carry,
                         const std::tuple<vec, pm::scalar_tensor<float>>& x) {
        const auto& [sum, most] = carry;
        const vec row = std::get<0>(x) * std::get<1>(x);
        const vec next = sum + row;
        return std::tuple(std::tuple(next, pm::maximum(most, row)), std::tuple(row, pm::sum(next)));
    };
    for (const bool reverse : {false, true}) {
        const auto [carry, ys] =
            pm::scan(step, std::tuple(zero, zero), std::tuple(xs, weights), reverse);
        CHECK(std::get<0>(carry).to_vector() == std::vector<float>{11, 14});
        CHECK(std::get<1>(carry).to_vector() == std::vector<float>{10, 12});
        const pm::matrix<float>& rows = std::get<0>(ys);
        const vec& sums = std::get<1>(ys);
        CHECK(rows.to_vector() == std::vector<float>{1, 2, 0, 0, 10, 12});
        CHECK(sums.to_vector() ==
              (reverse ? std::vector<float>{25, 22, 22} : std::vector<float>{3, 3, 25}));
    }
    // What is carried alone may be several, and so may what is stacked alone.
    const auto [pair, last] =
        pm::scan([](const std::tuple<vec, vec>& c,
                    const vec&
                        x) { return std::tuple(std::tuple(std::get<1>(c), x), std::get<0>(c)); },
                 std::tuple(zero, zero), xs);
    CHECK(std::get<0>(pair).to_vector() == std::vector<float>{3, 4});
    CHECK(std::get<1>(pair).to_vector() == std::vector<float>{5, 6});
    CHECK(last.to_vector() == std::vector<float>{0, 0, 0, 0, 1, 2});
}

TEST_CASE("control: scan of every element type") {
    const pm::context home;
    for (std::size_t k = 0; k < pm::dtype_table.size(); ++k) {
        const auto type = static_cast<pm::dtype>(k);
        if (type == pm::dtype::f64 && !home.device().supports(type)) continue;
        std::vector<float> numbers(12);
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i % 3 == 1);
        const pm::any_tensor xs =
            pm::astype(pm::from_bytes(pm::dtype::f32, {6, 2}, std::as_bytes(std::span(numbers)),
                                      home),
                       type);
        const pm::any_tensor init = pm::astype(pm::full(pm::dtype::f32, {2}, 0, home), type);
        const auto [last, rows] = pm::scan(
            [](const pm::any_tensor& c, const pm::any_tensor& x) {
                const pm::any_tensor next =
                    pm::astype(pm::apply<pm::op::maximum>(pm::astype(c, pm::dtype::f32),
                                                          pm::astype(x, pm::dtype::f32)),
                               c.dtype());
                return std::tuple(next, x);
            },
            init, xs);
        CHECK(pm::to_vector<float>(pm::astype(last, pm::dtype::f32)) == std::vector<float>{1, 1});
        CHECK_MESSAGE(pm::to_vector<float>(pm::astype(rows, pm::dtype::f32)) == numbers,
                      to_string(type));
    }
}

TEST_CASE("control: a loop of 1 000 steps is one plan, known the next time, and holds no more") {
    const pm::context home;
    pm::vector<float> x = pm::zeros<float>({256}, home);
    pm::eval(x);
    const pm::statistics before = home.stats();
    const pm::vector<float> y = counted(x, 1000.0f);
    CHECK(y.to_vector()[255] == 1000);
    const pm::statistics after = home.stats();
    CHECK(after.plans - before.plans == 1);
    CHECK(after.dispatches - before.dispatches >= 1000);
    pm::vector<float> z = counted(y, 1500.0f);
    CHECK(z.to_vector()[0] == 1500);
    CHECK(home.stats().plans - after.plans == 1);  // another bound: numbers of a loop are its own
    const pm::statistics warm = home.stats();
    z = counted(x, 1500.0f);
    CHECK(z.to_vector()[0] == 1500);
    CHECK(home.stats().plans == warm.plans);
    CHECK(home.stats().device_bytes_peak < (8u << 20));
    const std::uint64_t held = home.stats().device_bytes;
    for (int i = 0; i < 20; ++i) z = counted(x, 300.0f + float(i));
    CHECK(z.to_vector()[0] == 319);
    CHECK(home.stats().device_bytes <= held + (1u << 16));
}

TEST_CASE("control: a loop whose steps are counted reads nothing back") {
    const pm::context home;
    const pm::vector<float> x = pm::ones<float>({64}, home);
    pm::eval(x);
    const auto work = pm::compile([](const pm::vector<float>& v) {
        return pm::fori_loop(
            0, 100,
            [](const i32& i, const pm::vector<float>& a) { return a + pm::astype<float>(i); }, v);
    });
    const pm::statistics before = home.stats();
    const pm::vector<float> y = work(x);
    const pm::statistics after = home.stats();
    CHECK(after.downloads == before.downloads);
    CHECK(y.to_vector()[63] == 1 + 99 * 50);
}

TEST_CASE("control: a carried value is written where it lies") {
    const pm::context home;
    const pm::matrix<float> cache = pm::zeros<float>({1024, 64}, home);
    pm::eval(cache);
    constexpr std::uint64_t bytes = 1024 * 64 * 4;
    const pm::statistics before = home.stats();
    const pm::any_tensor filled = pm::fori_loop(
        0, 200,
        [&](const i32& i, const pm::any_tensor& c) {
            const pm::any_tensor row =
                pm::broadcast_to(pm::reshape(pm::any_tensor(i), {1, 1}), {1, 64});
            return pm::scatter_nd(c, pm::reshape(pm::any_tensor(i), {1, 1}),
                                  pm::astype(row, pm::dtype::f32));
        },
        pm::any_tensor(cache));
    const std::vector<float> got = pm::to_vector<float>(filled);
    for (std::size_t i = 0; i < got.size(); ++i)
        REQUIRE(got[i] == (i / 64 < 200 ? float(i / 64) : 0));
    const std::uint64_t written = home.stats().written_bytes - before.written_bytes;
    CHECK(written < 3 * bytes);  // the first step copies; 200 copies would be 200 times that
    CHECK(cache.to_vector() == std::vector<float>(1024 * 64, 0));
}

TEST_CASE("control: random numbers without a key are new in each step and each run") {
    const pm::context home;
    const pm::vector<float> start = pm::zeros<float>({4}, home);
    const auto draws = [&](const pm::vector<float>& from) {
        return pm::scan(
            [&](const pm::vector<float>& c, const pm::vector<float>&) {
                const pm::vector<float> u =
                    pm::random::uniform<float>({4}, pm::random::detail::fresh(), 0, 1, home);
                return std::tuple(pm::vector<float>(c + u), u);
            },
            from, pm::matrix<float>(pm::zeros<float>({3, 4}, home)));
    };
    const auto recorded = pm::compile(draws);
    std::vector<std::vector<float>> rows;
    for (const auto& [sum, ys] : {draws(start), draws(start), recorded(start), recorded(start)}) {
        const std::vector<float> all = ys.to_vector(), total = sum.to_vector();
        for (std::size_t k = 0; k < 3; ++k)
            rows.emplace_back(all.begin() + std::ptrdiff_t(4 * k),
                              all.begin() + std::ptrdiff_t(4 * k + 4));
        CHECK(total[0] == doctest::Approx(all[0] + all[4] + all[8]));
    }
    std::sort(rows.begin(), rows.end());
    CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
}

TEST_CASE("control: what kernels compute of captured values alone is computed before any step") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const pm::matrix<float> a = pm::full<float>({30, 30}, 0.1f, home),
                                b = pm::full<float>({30, 30}, 0.2f, home);
        const pm::vector<float> x = pm::ones<float>({30}, home);
        pm::eval(a, b, x);
        const auto step = [&](const pm::vector<float>& v) {
            return pm::vector<float>(pm::matmul(pm::matmul(a, b), v) * 0.05f +
                                     pm::sum(pm::relu(a * 2.0f), pm::axis<0>));
        };
        const auto loop = [&](int steps) {
            return pm::fori_loop(
                0, steps, [&](const i32&, const pm::vector<float>& v) { return step(v); }, x);
        };
        const auto nested = [&](int steps) {
            return pm::fori_loop(
                0, steps,
                [&](const i32&, const pm::vector<float>& v) {
                    return pm::fori_loop(
                        0, 3,
                        [&](const i32&, const pm::vector<float>& w) {
                            return pm::vector<float>(step(w) + pm::sum(v) * 0.01f);
                        },
                        v);
                },
                x);
        };
        const auto dispatches = [&](const auto& f, int steps) {
            const std::uint64_t before = home.stats().dispatches;
            const pm::vector<float> y = f(steps);
            pm::eval(y);
            return home.stats().dispatches - before;
        };
        // Each step: its number, and the product with v.
        CHECK(dispatches(loop, 20) - dispatches(loop, 10) == 20);
        // The sum of v once for three steps, and the numbers of both loops, of which one begins
        // anew.
        CHECK(dispatches(nested, 20) - dispatches(nested, 10) == 10 * (2 + 1 + 3 * 2));
        pm::vector<float> want = x, also = x;
        for (int i = 0; i < 10; ++i) {
            want = step(want);
            const pm::vector<float> v = also;
            for (int k = 0; k < 3; ++k) also = pm::vector<float>(step(also) + pm::sum(v) * 0.01f);
        }
        CHECK(pm::vector<float>(loop(10)).to_vector() == want.to_vector());
        CHECK(pm::vector<float>(nested(10)).to_vector() == also.to_vector());
        CHECK(pm::vector<float>(loop(0)).to_vector() == x.to_vector());
        const auto recorded = pm::compile([&](const pm::matrix<float>& m) {
            return pm::fori_loop(
                0, 4,
                [&](const i32&, const pm::vector<float>& v) {
                    return pm::vector<float>(v + pm::sum(pm::sort(pm::matmul(m, m)), pm::axis<0>));
                },
                x);
        });
        const pm::vector<float> once = pm::sum(pm::sort(pm::matmul(a, a)), pm::axis<0>);
        CHECK(recorded(a).to_vector()[29] == doctest::Approx(1 + 4 * once.to_vector()[29]));
        CHECK(recorded(b).to_vector()[29] != doctest::Approx(1 + 4 * once.to_vector()[29]));
    }
}

TEST_CASE("control: a loop or branch within a body draws anew in each step") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const vec one(pm::ones<float>({1}, home));
        const auto fresh = [&] {
            return vec(pm::random::uniform<float>({1}, pm::random::detail::fresh(), 0, 1, home));
        };
        const auto loop = [&] {
            return vec(pm::fori_loop(
                0, 2, [&](const auto&, const vec& v) { return vec(v + fresh()); }, one));
        };
        const auto branch = [&](const auto& f) {
            return vec(pm::cond(pm::sum(one) > 0.0f, f, [&] { return one; }));
        };
        const std::function<vec()> bodies[] = {loop, [&] { return branch(fresh); },
                                               [&] { return branch(loop); },
                                               [&] { return vec(pm::sort(loop()) * 2.0f); }};
        for (const auto& body : bodies) {
            std::vector<float> each =
                std::get<1>(pm::scan([&](const vec& c,
                                         const vec&) { return std::tuple(vec(c + 1.0f), body()); },
                                     one, pm::matrix<float>(pm::zeros<float>({5, 1}, home))))
                    .to_vector();
            std::sort(each.begin(), each.end());
            CHECK(each.size() == 5);
            CHECK(std::adjacent_find(each.begin(), each.end()) == each.end());
        }
    }
}

TEST_CASE("control: what is made of random numbers is new in each step") {
    const pm::context home;
    const pm::vector<float> sums = std::get<1>(pm::scan(
        [&](const pm::vector<float>& c, const pm::vector<float>&) {
            const pm::vector<float> u =
                pm::random::uniform<float>({64}, pm::random::detail::fresh(), 0, 1, home);
            return std::tuple(pm::vector<float>(c + 1.0f), pm::sum(pm::sort(u)));
        },
        pm::vector<float>(pm::zeros<float>({4}, home)),
        pm::matrix<float>(pm::zeros<float>({5, 4}, home))));
    std::vector<float> each = sums.to_vector();
    std::sort(each.begin(), each.end());
    CHECK(std::adjacent_find(each.begin(), each.end()) == each.end());
}

namespace {

/// x + 1 on the host, which throws or stops when it is called for the time that `calls` counts to.
struct faulty {
    int calls = 0, fails_at = -1, stops_at = -1;
    std::stop_source stop;
    pm::kernel add{"add_one",
                   "void add_one(uint3 t, Input<F32> x, Output<F32> y) { y[t.x] = x[t.x] + 1; }",
                   {.inputs = {{}}, .host = [this](const pm::kernel_arguments& given) {
                        if (calls == fails_at) pm::fail(pm::errc::unsupported, "test", {"told to"});
                        if (calls++ == stops_at) stop.request_stop();
                        const auto x = given.inputs[0].as<float>(),
                                   y = given.outputs[0].as<float>();
                        for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
                    }}};
    pm::vector<float> operator()(const pm::vector<float>& v) const {
        return pm::vector<float>(add(v));
    }
};

}  // namespace

TEST_CASE("control: a fault in the middle loses nothing") {
    const pm::context home(pm::host_only{});
    faulty f;
    const pm::vector<float> x = floats({1, 2}, home);
    const pm::vector<float> y = pm::fori_loop(
        0, 10, [&](const i32&, const pm::vector<float>& v) { return f(v); },
        pm::vector<float>(x * 2.0f));
    f.fails_at = 5;
    CHECK(code_of([&] { pm::eval(y); }) == pm::errc::unsupported);
    CHECK_FALSE(y.get()->realised());
    CHECK(x.to_vector() == std::vector<float>{1, 2});
    f.fails_at = -1;
    CHECK(y.to_vector() == std::vector<float>{12, 14});

    const auto work = pm::compile([&](const pm::vector<float>& v) {
        return pm::fori_loop(
            0, 10, [&](const i32&, const pm::vector<float>& a) { return f(a); }, v);
    });
    const pm::executable recorded = work.get(x);
    std::vector<pm::any_tensor> in{x}, out = recorded.run(in);
    f.calls = 0, f.fails_at = 5;
    CHECK(code_of([&] { recorded.run_into(out, in); }) == pm::errc::unsupported);
    pm::any_tensor given = pm::copy(pm::any_tensor(x));
    CHECK(code_of([&] { recorded.run_donating(std::move(given)); }) == pm::errc::unsupported);
    CHECK(pm::to_vector<float>(given) == std::vector<float>{1, 2});
    CHECK(pm::to_vector<float>(out[0]) == std::vector<float>{11, 12});
    f.fails_at = -1;
    CHECK(pm::to_vector<float>(recorded.run(in)[0]) == std::vector<float>{11, 12});
}

TEST_CASE("control: who reads a value that is not there is told what traces the function") {
    const pm::context home;
    const pm::vector<float> x = floats({1, 2}, home);
    const auto said = [](auto&& f) { return test::thrown_by(f).where(); };
    const auto step = [](const pm::vector<float>& v) { return v * v.to_vector()[0]; };
    const auto loops = [&](const pm::vector<float>& v) {
        return pm::while_loop([](const pm::vector<float>& a) { return pm::max(a) < 9.0f; }, step,
                              v);
    };
    const auto decided = [&](const pm::vector<float>& v) {
        return pm::cond(pm::max(v) < 9.0f, step, step, v);
    };
    CHECK(said([&] { loops(x); }) == "while_loop");
    CHECK(said([&] { decided(x); }) == "cond");
    CHECK(said([&] {
              pm::fori_loop(
                  0, 2, [&](const i32&, const pm::vector<float>& v) { return decided(v); }, x);
          }) == "cond");
    // That of the function around it.
    CHECK(said([&] {
              pm::fori_loop(
                  0, 2,
                  [&](const i32&, const pm::vector<float>& v) {
                      const auto reads = [&](const pm::vector<float>& a) {
                          return a * v.to_vector()[0];
                      };
                      return pm::cond(pm::max(x) < 9.0f, reads, reads, x);
                  },
                  x);
          }) == "fori_loop");
    CHECK(said([&] { pm::compile(loops)(x); }) == "while_loop");
    pm::vector<float> kept = x;  // of a function that is traced no more
    const auto keeps = [&](const pm::vector<float>& v) { return kept = v; };
    const pm::vector<float> same =
        pm::fori_loop(0, 2, [&](const i32&, const pm::vector<float>& v) { return keeps(v); }, x);
    CHECK(said([&] { kept.to_vector(); }) == "control");
    CHECK(said([&] { pm::compile(step)(x); }) == "compile");
    CHECK(x.to_vector() == std::vector<float>{1, 2});
}

TEST_CASE("control: a backend that fails in the middle loses nothing") {
    const pm::context home(mine::on_mine{1 << 20});
    const pm::vector<float> x = floats({1, 2}, home);
    const pm::vector<float> y = counted(x, 30.0f);
    mine::engine_of(home).fail_in = 25;
    CHECK(code_of([&] { pm::eval(y); }) == pm::errc::device_lost);
    CHECK_FALSE(y.get()->realised());
    CHECK(y.to_vector() == std::vector<float>{29, 30});
}

TEST_CASE("control: a run is stopped between steps, and what there was stays") {
    const pm::context home(pm::host_only{});
    faulty f;
    const pm::vector<float> x = floats({1, 2}, home);
    const auto endless = pm::compile([&](const pm::vector<float>& v) {
        return pm::while_loop([](const pm::vector<float>& a) { return pm::sum(a) > -1.0f; },
                              [&](const pm::vector<float>& a) { return f(a); }, v);
    });
    const pm::executable recorded = endless.get(x);
    f.stops_at = 50;
    std::vector<pm::any_tensor> in{x}, out(1);
    CHECK(code_of([&] { recorded.run_into(out, in, f.stop.get_token()); }) == pm::errc::cancelled);
    CHECK(f.calls == 51);
    CHECK_FALSE(out[0].has_value());
    CHECK(x.to_vector() == std::vector<float>{1, 2});
}

TEST_CASE("control: a loop on a device is stopped too") {
    const pm::context home;
    const pm::vector<float> x = floats({1, 2}, home);
    const auto endless = pm::compile([&](const pm::vector<float>& v) {
        return pm::while_loop([](const pm::vector<float>& a) { return pm::sum(a) > -1.0f; },
                              [&](const pm::vector<float>& a) { return a * 1.0f; }, v);
    });
    const pm::executable recorded = endless.get(x);
    std::stop_source source;
    std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        source.request_stop();
    });
    CHECK(code_of([&] { recorded.run(std::vector<pm::any_tensor>{x}, source.get_token()); }) ==
          pm::errc::cancelled);
    CHECK(pm::vector<float>(x + 1.0f).to_vector() == std::vector<float>{2, 3});
}

TEST_CASE("control: several threads run one recorded loop") {
    const pm::context home;
    const auto work = pm::compile([](const pm::vector<float>& v) { return counted(v, 50.0f); });
    std::vector<std::vector<float>> got(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < got.size(); ++i)
            threads.emplace_back([&, i] {
                for (int k = 0; k < 5; ++k) got[i] = work(floats({float(i), 0}, home)).to_vector();
            });
    }
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == std::vector<float>{50, 50 - float(i)});
}

TEST_CASE("control: explain shows what runs in a branch and in a step") {
    const pm::context home;
    const pm::vector<float> x = floats({1, 2}, home);
    const std::string text = pm::explain(counted(x, 9.0f));
    CHECK(text.find("control") != std::string::npos);
    CHECK(text.find("less") != std::string::npos);
    const auto work = pm::compile([](const pm::vector<float>& v) { return counted(v, 9.0f); });
    const std::string recorded = work.get(x).explain();
    CHECK(recorded.find("while_loop") != std::string::npos);
    CHECK(recorded.find("each step:") != std::string::npos);
    CHECK(work.get(x).memory().bytes >= 0);
}
