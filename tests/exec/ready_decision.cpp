// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops that run again: what is kept of them, what they write over, and what errors
// and profiles call the steps within.
#include <pumice/front.hpp>
#include <pumice/tensor/control.hpp>
#include <pumice/tensor/profile.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace pm = pumice;

namespace {

using count_i32 = pm::tensor<std::int32_t, pm::dims<0>>;

/// x = x + 1 while x[0] < least.
pm::vector<float> count_to(float least, const pm::vector<float>& x) {
    return pm::while_loop([&](const pm::vector<float>& v) { return pm::max(v) < least; },
                          [](const pm::vector<float>& v) { return v + 1.0f; }, x);
}
/// Rows 0 to n of a cache are set to their numbers, one in each step.
pm::any_tensor fill_rows(const pm::any_tensor& cache, int n) {
    return pm::fori_loop(
        0, n,
        [&](const count_i32& i, const pm::any_tensor& c) {
            const pm::any_tensor row =
                pm::broadcast_to(pm::reshape(pm::any_tensor(i), {1, 1}), {1, c.shape()[1]});
            return pm::scatter_nd(c, pm::reshape(pm::any_tensor(i), {1, 1}),
                                  pm::astype(row, pm::dtype::f32));
        },
        cache);
}
/// x + 1 on the host, which throws at the call that `fails_at` counts to.
struct failing {
    int calls = 0, fails_at = -1;
    pm::kernel add{"add_one",
                   "void add_one(uint3 t, Input<F32> x, Output<F32> y) { y[t.x] = x[t.x] + 1; }",
                   {.inputs = {{}}, .host = [this](const pm::kernel_arguments& given) {
                        if (calls++ == fails_at)
                            pm::fail(pm::errc::unsupported, "test", {"told to"});
                        const auto x = given.inputs[0].as<float>(),
                                   y = given.outputs[0].as<float>();
                        for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
                    }}};
};

}  // namespace

TEST_CASE("ready_decision: a loop that is evaluated again plans, records and allocates nothing") {
    const pm::context home;
    pm::vector<float> x = pm::zeros<float>({64}, home);
    pm::eval(x);
    const auto twice = [&](float least) {
        const pm::vector<float> v =
            pm::cond(pm::sum(x) < 1.0f, [&] { return count_to(least, x); }, [&] { return x; });
        return pm::vector<float>(v * 2.0f).to_vector()[63];
    };
    CHECK(twice(40) == 80);
    CHECK(twice(40) == 80);
    const pm::statistics before = home.stats();
    for (int i = 0; i < 5; ++i) CHECK(twice(40) == 80);
    const pm::statistics after = home.stats();
    CHECK(after.plans == before.plans);
    CHECK(after.pipelines == before.pipelines);
    CHECK(after.allocations == before.allocations);
    // Only what stands outside the decision is recorded anew in each evaluation.
    CHECK(after.recordings - before.recordings <= 5 * 6);
    CHECK(after.dispatches - before.dispatches >= 5 * 40);
}

TEST_CASE("ready_decision: what is kept is bounded, and given back when asked for") {
    const pm::context home;
    const pm::vector<float> x = pm::zeros<float>({1 << 14}, home);
    pm::eval(x);
    const auto body = [](const pm::vector<float>& v) {
        return pm::vector<float>(pm::softmax(pm::vector<float>(pm::sqrt(pm::softmax(v)))) + v);
    };
    const auto run = [&](int steps) {
        return pm::fori_loop(
                   0, steps, [&](const count_i32&, const pm::vector<float>& v) { return body(v); },
                   x)
            .to_vector()[0];
    };
    for (int i = 1; i <= 12; ++i) run(i);
    home.get()->trim();
    const std::uint64_t held = home.stats().device_bytes;
    for (int i = 1; i <= 12; ++i) run(i);
    const std::uint64_t kept = home.stats().device_bytes;
    for (int i = 13; i <= 60; ++i) run(i);
    CHECK(home.stats().device_bytes <= kept + (1u << 20));
    home.get()->trim();
    CHECK(home.stats().device_bytes <= held);
}

TEST_CASE("ready_decision: a loop writes over what it is given for good") {
    const pm::context home;
    constexpr std::uint64_t bytes = 256 * 64 * 4;
    const auto made = pm::compile([](const pm::any_tensor& c) { return fill_rows(c, 100); });
    pm::any_tensor cache = pm::any_tensor(pm::zeros<float>({256, 64}, home));
    const pm::executable filled = made.get(cache);
    cache = filled.run_donating(std::move(cache))[0];
    const pm::statistics before = home.stats();
    cache = filled.run_donating(std::move(cache))[0];
    const pm::statistics after = home.stats();
    CHECK(after.written_bytes - before.written_bytes < bytes);  // no copy at the first step
    std::vector<float> want(256 * 64);
    for (std::size_t i = 0; i < 100 * 64; ++i) want[i] = float(i / 64);
    CHECK(pm::to_vector<float>(cache) == want);
    // By one handle as input and result, and with a second holder, who keeps what he has.
    std::vector<pm::any_tensor> list{std::move(cache)};
    filled.run_into(list, list);
    const pm::statistics in_place = home.stats();
    CHECK(in_place.written_bytes - after.written_bytes < bytes);
    pm::any_tensor zeros = pm::any_tensor(pm::zeros<float>({256, 64}, home));
    const pm::any_tensor second = zeros;
    CHECK(pm::to_vector<float>(filled.run_donating(std::move(zeros))[0]) == want);
    CHECK(pm::to_vector<float>(second) == std::vector<float>(256 * 64, 0));
    CHECK(pm::to_vector<float>(list[0]) == want);
}

TEST_CASE("ready_decision: a loop that fails gives back what it had not begun to write over") {
    const pm::context home(pm::host_only{});
    failing f;
    const auto work = pm::compile([&](const pm::any_tensor& v) {
        return pm::fori_loop(
            0, 10,
            [&](const count_i32&, const pm::any_tensor& a) {
                return pm::apply<pm::op::add>(f.add(pm::vector<float>(a)), a);
            },
            v);
    });
    const std::vector<float> start{1, 2};
    const pm::executable e = work.get(pm::any_tensor(pm::adapt(start, home)));
    for (const int at : {0, 4}) {
        pm::any_tensor x = pm::any_tensor(pm::vector<float>(pm::adapt(start, home) * 1.0f));
        pm::eval(x);
        f.calls = 0;
        f.fails_at = at;
        CHECK(test::code_of([&] { e.run_donating(std::move(x)); }) == pm::errc::unsupported);
        REQUIRE(x.has_value());
        if (at == 0) CHECK(pm::to_vector<float>(x) == start);
        else CHECK(test::code_of([&] { pm::to_vector<float>(x); }) == pm::errc::values_lost);
        // The handle that is both takes new values afterwards.
        std::vector<pm::any_tensor> both{x};
        f.calls = 0;
        f.fails_at = -1;
        if (at == 0) {
            e.run_into(both, both);
            CHECK(pm::to_vector<float>(both[0])[0] == 1024 + 1023);
        }
    }
}

TEST_CASE("ready_decision: names within a function show in what explains, fails and measures") {
    for (const bool recorded : {false, true}) {
        const pm::context home;
        const pm::vector<float> x = pm::ones<float>({8}, home);
        pm::eval(x);
        const auto loop = [](const pm::vector<float>& from) {
            return pm::fori_loop(
                0, 3,
                [](const count_i32&, const pm::vector<float>& v) {
                    return pm::named(pm::vector<float>(pm::softmax(v)), "weights of a step");
                },
                from);
        };
        const auto made = pm::compile(loop);
        CHECK((recorded ? made.get(x).explain() : pm::explain(loop(x))).find("weights of a step") !=
              std::string::npos);
        pm::profiler p(home);
        const pm::vector<float> y = recorded ? made(x) : loop(x);
        CHECK(y.to_vector()[0] == doctest::Approx(0.125f));
        const pm::profile seen = p.finish();
        CHECK(std::any_of(seen.events.begin(), seen.events.end(), [](const auto& s) {
            return s.origin.find("weights of a step") != std::string::npos;
        }));
    }
    const pm::context home(pm::host_only{});
    failing f;
    f.fails_at = 2;
    const pm::vector<float> x = pm::ones<float>({8}, home);
    const pm::vector<float> y =
        pm::named(pm::fori_loop(
                      0, 5,
                      [&](const count_i32&, const pm::vector<float>& v) {
                          return pm::named(pm::vector<float>(f.add(v)), "one more");
                      },
                      x),
                  "the sum");
    const std::string text = test::text_of_error([&] { pm::eval(y); });
    CHECK(text.find("computes one more") != std::string::npos);
    CHECK(text.find("computes the sum") != std::string::npos);
}
