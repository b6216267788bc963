// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Steps at the places that a policy names: values are those of one place, what crosses is copied
// once, and what a device cannot run is the host's.
#include <pumice.hpp>
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <pumice/exec/plan/verify.hpp>
#include <pumice/policy/placement.hpp>

#include <tests/exec/crossings.hpp>
#include <tests/exec/random_programs.hpp>
#include <tests/exec/support.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace pm = pumice;

namespace {

/// Sends each step to the host or the device, as a hash of its number and a seed says.
auto scattered(unsigned seed) {
    return pm::place_steps{[seed](pm::placement& p) {
        const int host = p.host();
        for (std::size_t i = 0; i < p.at.size(); ++i)
            if ((i * 2654435761u + seed * 40503u) >> 3 & 1 && p.steps[i].can_run_at(host))
                p.at[i] = host;
    }};
}
/// Sends what a predicate names to the host.
template <class F>
auto to_host(F chosen) {
    return pm::place_steps{[chosen](pm::placement& p) {
        for (std::size_t i = 0; i < p.at.size(); ++i)
            if (chosen(p.steps[i])) p.at[i] = p.host();
    }};
}
auto family(std::string_view name) {
    return to_host([name](const pm::step_view& s) { return s.family == name; });
}

std::optional<pm::context> open(const auto& policy, bool staged = false) {
    test::wishes w;
    w.staged = staged;
    policy.apply(w.policies);
    return test::open_context(w);
}
pm::any_tensor ramp(const pm::context& home, pm::shape extent, float scale = 0.125f) {
    std::vector<float> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i % 37) * scale - 1;
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)), home);
}

}  // namespace

TEST_CASE("place: random programs at random places, evaluated, agree with the host") {
    const pm::context host(pm::host_only{}, pm::eager{});
    const unsigned programs = unsigned(test::samples(150));
    std::uint64_t on_host = 0, on_device = 0;
    for (const bool staged : {false, true})
        for (unsigned round = 0; round < 3; ++round) {
            const std::optional<pm::context> home = open(scattered(round), staged);
            if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
            for (unsigned k = round; k < programs; k += 3) {
                const unsigned seed = staged ? programs + k : k;  // 300 programs
                CHECK_MESSAGE(test::differences(test::run(*home, seed), test::run(host, seed)) == 0,
                              "seed " << seed);
            }
            on_host += home->stats().host_kernels;
            on_device += home->stats().dispatches;
        }
    CHECK(on_host > programs);
    CHECK(on_device > programs);
}

TEST_CASE("place: and recorded, run again and again, with memory that is given") {
    const pm::context host{pm::host_only{}};
    const unsigned programs = unsigned(test::samples(150));
    std::uint64_t on_host = 0;
    int crossed = 0;
    for (const bool staged : {false, true})
        for (unsigned round = 0; round < 2; ++round) {
            const std::optional<pm::context> home = open(scattered(round + 7), staged);
            if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
            for (unsigned k = round; k < programs; k += 2) {
                const unsigned seed = staged ? programs + k : k;  // 300 programs
                test::traced_program there(seed, host), here(seed, *home);
                const test::crossings across(here.recording.planned());
                CHECK(across.again == 0);
                crossed += across.all;
                test::variables expected = there.start, held = here.start;
                for (int i = 0; i < 3; ++i) {
                    expected = there.recording.run(expected);
                    if (i > 0)
                        here.recording.run_into(held, held);  // over its inputs, where it may
                    else held = here.recording.run(held);
                    CHECK_MESSAGE(test::differences(held, expected) == 0,
                                  "seed " << seed << " run " << i);
                }
            }
            on_host += home->stats().host_kernels;
        }
    CHECK(on_host > programs);
    CHECK(crossed > int(programs) / 3);
}

TEST_CASE("place: what crosses is copied once for each place, evaluated and recorded") {
    for (const bool staged : {false, true}) {
        const std::optional<pm::context> home = open(family("normalize"), staged);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const std::int64_t rows[] = {0};
        const auto f = [&](const pm::any_tensor& x, const pm::any_tensor& w) {
            const pm::any_tensor h = pm::matmul(x, w);  // read by two steps of the host's
            const pm::any_tensor a = pm::softmax(h, 1), b = pm::softmax(h, 0);
            return std::vector<pm::any_tensor>{
                pm::matmul(a, w), pm::reduce(pm::reduction::sum, pm::matmul(b, a), rows)};
        };
        const pm::context host(pm::host_only{});
        const std::vector<pm::any_tensor> expected =
            f(ramp(host, {24, 24}), ramp(host, {24, 24}, 0.0625f));
        const pm::any_tensor x = ramp(*home, {24, 24}), w = ramp(*home, {24, 24}, 0.0625f);
        pm::statistics before = home->stats();
        const std::vector<pm::any_tensor> y = f(x, w);
        pm::eval(y);
        pm::statistics after = home->stats();
        CHECK(after.downloads - before.downloads == 1);
        CHECK(after.uploads - before.uploads == 4);  // x, w, and what the host made
        CHECK(after.host_kernels - before.host_kernels == 2);
        CHECK(test::differences(y, expected) == 0);

        const pm::executable e =
            pm::trace(*home, std::vector<pm::executable::value>(2, {pm::dtype::f32, {24, 24}}),
                      [&](std::span<const pm::any_tensor> given) { return f(given[0], given[1]); });
        const pm::plan& p = e.planned();
        CHECK(pm::find_faults(p).empty());
        int across = 0;
        for (const pm::plan_step& s : p.steps) across += p.is_transfer(s);
        CHECK(across == 3);
        for (int i = 0; i < 3; ++i) CHECK(test::differences(e.run({x, w}), expected) == 0);
        CHECK(e.explain().find("by the host") != std::string::npos);
        CHECK(e.explain().find("host/normalize") != std::string::npos);
    }
}

TEST_CASE(
    "place: a placed plan runs where all is in one memory, and no plan at places that are not") {
    const std::optional<pm::context> home = open(family("normalize"));
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::executable e =
        pm::trace(*home, std::vector<pm::executable::value>{{pm::dtype::f32, {6, 6}}},
                  [](std::span<const pm::any_tensor> given) {
                      return std::vector{pm::matmul(pm::softmax(given[0], 1), given[0])};
                  });
    const pm::context host{pm::host_only{}};
    pm::plan p = pm::plan_from_json(pm::to_json(e.planned()));
    CHECK(test::differences(pm::bind(host, p).run({ramp(host, {6, 6})}),
                            e.run({ramp(*home, {6, 6})})) == 0);
    CHECK(test::differences(pm::bind(*home, p).run({ramp(*home, {6, 6})}),
                            e.run({ramp(*home, {6, 6})})) == 0);
    for (pm::plan_step& s : p.steps) s.place = 2;
    for (pm::plan_value& v : p.values) v.place = 2;
    CHECK(test::thrown_by([&] { pm::bind(*home, p); }).code() == pm::errc::invalid_argument);
}

TEST_CASE("place: parts of one value are written at one place") {
    unsigned calls = 0;
    for (unsigned seed = 0; seed < 12; ++seed) {
        const std::optional<pm::context> home = open(scattered(seed));
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::any_tensor x = ramp(*home, {6, 5});
        const pm::any_tensor parts[] = {pm::softmax(x, 1), x * 2.0, pm::cumulative_sum(x, 0)};
        const pm::any_tensor y = pm::concat(parts, 0);
        const pm::context host(pm::host_only{});
        const pm::any_tensor z = ramp(host, {6, 5});
        const pm::any_tensor expected[] = {pm::softmax(z, 1), z * 2.0, pm::cumulative_sum(z, 0)};
        CHECK(test::differences({y}, {pm::concat(expected, 0)}) == 0);
        calls += home->stats().host_kernels > 0;
    }
    CHECK(calls > 3);
}

TEST_CASE("place: a tensor that changes on the host is what the device reads next") {
    for (const bool staged : {false, true}) {
        const std::optional<pm::context> home =
            open(to_host([](const pm::step_view& s) { return s.written <= 4096; }), staged);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::any_tensor large = ramp(*home, {64, 64});
        pm::any_tensor x =
            pm::reduce(pm::reduction::sum, large * 1.0, std::vector<std::int64_t>{0});
        const std::vector<float> start = pm::to_vector<float>(x);
        pm::any_tensor y = large + x;  // x is on the device now too
        pm::eval(std::span(&y, 1));
        for (int i = 0; i < 3; ++i) {
            x = x + 1.0;  // in place, by the host
            y = large * 0.0 + x;
            CHECK(pm::to_vector<float>(y)[5] == doctest::Approx(start[5] + float(i + 1)));
        }
    }
}

TEST_CASE("place: threads share a recording of both places, and a stop ends a run between them") {
    const std::optional<pm::context> home = open(family("normalize"));
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto layers = [](const pm::any_tensor& x) {
        pm::any_tensor y = x;
        for (int i = 0; i < 4; ++i) y = pm::matmul(pm::softmax(y, 1), x);
        return y;
    };
    const pm::context host(pm::host_only{});
    const auto f = pm::compile(layers);
    std::array<std::vector<float>, 4> expected;
    for (std::size_t t = 0; t < 4; ++t)
        expected[t] = pm::to_vector<float>(layers(ramp(host, {16, 16}, float(t) / 8)));
    f(ramp(*home, {16, 16}));
    std::array<int, 4> wrong{};
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                const pm::any_tensor x = ramp(*home, {16, 16}, float(t) / 8);
                for (int i = 0; i < 20; ++i) {
                    const std::vector<float> y = pm::to_vector<float>(f(x));
                    for (std::size_t k = 0; k < y.size(); ++k)
                        wrong[t] += std::fabs(y[k] - expected[t][k]) > 1e-4f;
                }
            });
    }
    CHECK(wrong == std::array<int, 4>{});
    const pm::executable e =
        pm::trace(*home, std::vector<pm::executable::value>{{pm::dtype::f32, {16, 16}}},
                  [&](std::span<const pm::any_tensor> given) {
                      return std::vector<pm::any_tensor>{layers(given[0])};
                  });
    std::stop_source stop;
    stop.request_stop();
    const pm::any_tensor x = ramp(*home, {16, 16});
    CHECK(test::thrown_by([&] { e.run({x}, stop.get_token()); }).code() == pm::errc::cancelled);
    CHECK(test::differences(e.run({x}, std::stop_source().get_token()),
                            {layers(ramp(host, {16, 16}))}) == 0);
}

TEST_CASE("place: a policy that names no place, or one that cannot run the step, is told so") {
    const pm::kernel slang_only(
        "twice",
        "void twice(uint3 thread, Input<F32> x, Output<F32> y) { y[thread.x] = 2 * x[thread.x]; }",
        {.inputs = {{.type = pm::dtype::f32}}});
    const auto everywhere = to_host([](const pm::step_view&) { return true; });
    const std::optional<pm::context> home = open(everywhere);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::any_tensor x = ramp(*home, {8});
    const pm::error cannot = test::thrown_by([&] {
        const pm::any_tensor y = slang_only(x);
        pm::eval(std::span(&y, 1));
    });
    CHECK(cannot.code() == pm::errc::unsupported);
    CHECK(std::string(cannot.what()).find("(twice) to host, which cannot run it") !=
          std::string::npos);
    const std::optional<pm::context> lost =
        open(pm::place_steps{[](pm::placement& p) { p.at[0] = 7; }});
    const pm::any_tensor y = ramp(*lost, {8}) + 1.0;
    const pm::error nowhere = test::thrown_by([&] { pm::eval(std::span(&y, 1)); });
    CHECK(nowhere.code() == pm::errc::invalid_argument);
    CHECK(std::string(nowhere.what()).find("to place 7 of 2") != std::string::npos);
    CHECK_FALSE(y.get()->realised());
}

TEST_CASE("cpu_fallback: what a device cannot run the host computes, is told once, or is refused") {
    static std::vector<std::string> heard;
    const auto on_device_without_f64 = [](auto mode) -> std::optional<pm::context> {
        test::wishes w;
        w.without_f64 = true;
        mode.apply(w.policies);
        return test::open_context(w);
    };
    const auto double_work = [](const pm::context& at) {
        const pm::any_tensor x = ramp(at, {32, 8});
        const pm::any_tensor wide = pm::astype(x * 2.0, pm::dtype::f64);
        return pm::astype(pm::softmax(wide * 0.1, 1), pm::dtype::f32) + x;
    };
    const pm::context host(pm::host_only{});
    const pm::any_tensor expected = double_work(host);
    const pm::log_sink old = pm::set_log_sink([](pm::severity level, std::string_view text) {
        if (level == pm::severity::warning) heard.emplace_back(text);
    });
    struct restore {
        pm::log_sink old;
        ~restore() { pm::set_log_sink(old); }
    } const at_the_end{old};
    for (const bool warns : {true, false}) {
        const auto home = warns ? on_device_without_f64(pm::cpu_fallback::warn{})
                                : on_device_without_f64(pm::cpu_fallback::allow{});
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        heard.clear();
        for (int i = 0; i < 2; ++i) {
            const pm::any_tensor y = double_work(*home);
            CHECK(pm::explain(y).find("host/normalize") != std::string::npos);
            CHECK(test::differences({y}, {expected}) == 0);
        }
        CHECK(home->stats().host_kernels > 0);
        std::size_t about = 0;
        for (const std::string& text : heard)
            about += text.find("normalize is computed by the host") == 0;
        CHECK(about == (warns ? 1 : 0));
        const auto f = pm::compile([](const pm::any_tensor& x) {
            return pm::astype(pm::softmax(pm::astype(x, pm::dtype::f64), 1), pm::dtype::f32) * 2.0;
        });
        CHECK(test::differences({f(ramp(*home, {4, 4}))}, {f(ramp(host, {4, 4}))}) == 0);
    }
    const auto strict = on_device_without_f64(pm::cpu_fallback::forbid{});
    const pm::error refused = test::thrown_by([&] {
        const pm::any_tensor y = double_work(*strict);
        pm::eval(std::span(&y, 1));
    });
    CHECK(refused.code() == pm::errc::unsupported);
    CHECK(std::string(refused.what()).find("policy cpu_fallback::warn") != std::string::npos);
}
