// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Several devices in one context: a Vulkan device, lanes of a backend of one's own and the host run
// parts of one plan, evaluated and recorded.
#include <pumice.hpp>
#include <pumice/devices.hpp>
#include <pumice/exec/control.hpp>
#include <pumice/exec/plan/verify.hpp>
#include <pumice/exec/varying.hpp>
#include <pumice/tensor/control.hpp>

#include <tests/exec/random_programs.hpp>
#include <tests/extend/add_backend.hpp>
#include <tests/support/idle_engine.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <set>
#include <thread>

namespace pm = pumice;

namespace {

bool has_vulkan() { return pm::context().device().type != pm::device_type::host; }

/// Sends each step to any place, as a hash of its number and of what `now` counts says; what is
/// sent to place `i` runs at `to[i]`.
struct anywhere {
    std::shared_ptr<std::atomic<unsigned>> now = std::make_shared<std::atomic<unsigned>>(0u);
    std::vector<int> to = {};
    void apply(pm::policy_set& set) const {
        set.place = [now = now, to = to](pm::placement& p) {
            std::mt19937 random(*now);
            for (int& place : p.at) {
                place = int(random() % p.places.size());
                if (!to.empty()) place = to[std::size_t(place)];
            }
        };
    }
};

constexpr std::int64_t room = 1 << 26;

/// A Vulkan device, where there is one, and the lanes of a backend.
pm::context open(const anywhere& policy) {
    return has_vulkan() ? pm::context(pm::devices(pm::vulkan_only{}, mine::on_mine{room}), policy)
                        : pm::context(pm::devices(mine::on_mine{room}), policy);
}

pm::any_tensor ramp(const pm::context& home, pm::shape extent, float scale = 0.125f) {
    std::vector<float> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i % 37) * scale - 1;
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)), home);
}
std::vector<float> floats(const pm::any_tensor& t) { return pm::to_vector<float>(t); }

/// What a recording brings from one engine to another: in its first run, and in each.
struct expected_transfers {
    std::set<std::pair<int, int>> first, each;
    explicit expected_transfers(const pm::plan& p) {
        const int host = 2 + int(has_vulkan());
        const auto engine_at = [&](int place) {  // the lanes are one engine's
            return place == host ? host : place - int(place == host - 1);
        };
        for (const pm::plan_step& s : p.steps) {
            if (p.is_transfer(s)) {
                const int from = engine_at(p.at(s.buffers[0]).place),
                          to = engine_at(p.at(s.outputs[0]).place);
                if (from != to) each.insert({s.buffers[0], to});
                continue;
            }
            for (const int v : s.buffers)
                if (p.at(v).role == pm::value_role::input && engine_at(s.place) != host)
                    first.insert({v, engine_at(s.place)});
        }
    }
};

/// Statements over matrices of i32, without rounding: every place has the same bits.
pm::any_tensor whole_numbers(const pm::context& home, unsigned seed) {
    std::mt19937 random(seed);
    const std::int64_t n = 2 + std::int64_t(random() % 9), both[] = {1, 0}, last[] = {1};
    std::vector<pm::any_tensor> held;
    for (int v = 0; v < 3; ++v) {
        std::vector<std::int32_t> start(static_cast<std::size_t>(n * n));
        for (std::int32_t& x : start) x = std::int32_t(random() % 2001) - 1000;
        held.push_back(pm::from_bytes(pm::dtype::i32, {n, n}, std::as_bytes(std::span(start)),
                                      home));
    }
    for (int s = 3 + int(random() % 10); s > 0; --s) {
        const pm::any_tensor a = held[random() % 3], b = held[random() % 3];
        pm::any_tensor& y = held[random() % 3];
        switch (random() % 12) {
            case 0: y = pm::apply<pm::op::add>(a, b); break;
            case 1: y = pm::apply<pm::op::multiply>(a, pm::apply<pm::op::subtract>(b, a)); break;
            case 2: y = pm::apply<pm::op::where>(pm::apply<pm::op::less>(a, b), a, 7); break;
            case 3: y = pm::apply<pm::op::floor_divide>(a, pm::apply<pm::op::abs>(b) + 1); break;
            case 4: y = pm::permute_dims(a, both); break;
            case 5: y = pm::sort(a, 1); break;
            case 6: y = a + pm::reduce(pm::reduction::sum, b, last, true); break;
            case 7: y = a - pm::reduce(pm::reduction::max, b, last, true); break;
            case 8: y = pm::cumulative_sum(a, 0); break;
            case 9: y = pm::roll(a, 1, 1); break;
            case 10: y = pm::apply<pm::op::maximum>(pm::flip(a, last), b); break;
            default: {
                const pm::slice low[] = {{0, n / 2, 1}, {}}, high[] = {{n / 2, n, 1}, {}};
                const pm::any_tensor halves[] = {pm::slice_view(b, high),
                                                 pm::sort(pm::slice_view(a, low), 1)};
                y = pm::concat(halves, 0);
            }
        }
        y = pm::astype(y, pm::dtype::i32);  // sums are wider
    }
    return pm::concat(held, 0);
}

}  // namespace

TEST_CASE("devices: 300 random programs at random places of a device, two lanes and the host") {
    const anywhere placed;
    const pm::context home = open(placed), host(pm::host_only{}, pm::eager{}),
                      recorded_on_host(pm::host_only{});
    const unsigned programs = unsigned(test::samples(300));
    std::uint64_t crossed = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        *placed.now = seed;
        CHECK_MESSAGE(test::differences(test::run(home, seed), test::run(host, seed)) == 0,
                      "seed " << seed);
        test::traced_program here(seed, home), there(seed, recorded_on_host);
        CHECK(pm::find_faults(here.recording.planned()).empty());
        const expected_transfers expected(here.recording.planned());
        for (int i = 0; i < 2; ++i) {
            const std::uint64_t before = home.stats().transfers;
            const test::variables got = here.recording.run(here.start);
            CHECK_MESSAGE(home.stats().transfers - before ==
                              expected.each.size() + (i == 0 ? expected.first.size() : 0),
                          "seed " << seed << " run " << i);
            crossed += expected.each.size();
            CHECK_MESSAGE(test::differences(got, there.recording.run(there.start)) == 0,
                          "seed " << seed << " run " << i);
        }
    }
    CHECK(crossed > programs);
    CHECK(home.stats().host_kernels > programs);
    CHECK(home.stats().dispatches > 2 * programs);
}

TEST_CASE(
    "devices: whole numbers have the same bits at any place, floats at lanes that are equal") {
    const bool vulkan = has_vulkan();
    const anywhere placed{.to = {}},
        swapped{placed.now, vulkan ? std::vector<int>{0, 2, 1, 3} : std::vector<int>{1, 0, 2}};
    const pm::context home = open(placed), other = open(swapped), host(pm::host_only{});
    for (unsigned seed = 0; seed < unsigned(test::samples(60)); ++seed) {
        *placed.now = seed;
        const auto want = pm::to_vector<std::int32_t>(whole_numbers(host, seed));
        CHECK_MESSAGE(pm::to_vector<std::int32_t>(whole_numbers(home, seed)) == want,
                      "seed " << seed);
        CHECK(test::same_bits(test::elements_of(test::run(home, seed)),
                              test::elements_of(test::run(other, seed))));
    }
}

TEST_CASE("devices: two Vulkan devices, two instances of a backend and the host") {
    if (!has_vulkan()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const anywhere placed;
    const pm::context home(pm::devices(pm::vulkan_only{}, mine::on_mine{room}, pm::vulkan_only{},
                                       mine::on_mine{room}),
                           placed),
        host(pm::host_only{});
    CHECK(pm::context(pm::devices(), placed).device().type != pm::device_type::host);
    for (unsigned seed = 0; seed < unsigned(test::samples(40)); ++seed) {
        *placed.now = seed;
        CHECK(test::differences(test::run(home, seed), test::run(host, seed)) == 0);
        test::traced_program here(seed, home), there(seed, host);
        CHECK(test::differences(here.recording.run(here.start), there.recording.run(there.start)) ==
              0);
    }
}

TEST_CASE("devices: without a policy the first computes; explain and a profile name each") {
    const pm::context first(pm::devices(mine::on_mine{room}, pm::host_only{}));
    const pm::any_tensor y = pm::softmax(ramp(first, {6, 5}), 1);
    CHECK(test::differences({y}, {pm::softmax(ramp(pm::context(pm::host_only{}), {6, 5}), 1)}) ==
          0);
    CHECK(first.stats().dispatches == 1);
    CHECK(first.stats().host_kernels == 0);
    CHECK(first.stats().transfers == 1);

    const pm::context home(pm::devices(mine::on_mine{room}, pm::host_only{}),
                           pm::place_steps{[](pm::placement& p) {
                               REQUIRE(p.places.size() == 3);
                               for (std::size_t i = 0; i < p.at.size(); ++i)
                                   p.at[i] = p.steps[i].family == "matmul" ? 1 : p.host();
                           }});
    const pm::any_tensor x = ramp(home, {5, 5});
    pm::profiler profile(home);
    const pm::any_tensor z = pm::matmul(pm::softmax(x, 1), x);
    pm::eval(std::span(&z, 1));
    const pm::profile took = profile.finish();
    CHECK(took.tracks.size() == 4);  // of the context, of each engine
    CHECK(pm::explain(z).find("  on mine (place 1)\n") != std::string::npos);  // of two lanes
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {5, 5}}},
                  [](std::span<const pm::any_tensor> given) {
                      return std::vector{pm::matmul(pm::softmax(given[0], 1), given[0])};
                  });
    CHECK(e.explain().starts_with("on host:\nhost/normalize"));
    CHECK(e.explain().find("on mine:\nmine/matmul") != std::string::npos);
    CHECK(floats(e.run({x})[0]) == floats(z));
}

TEST_CASE("devices: what is written is what every device reads next") {
    const anywhere placed;
    const pm::context home = open(placed);
    pm::any_tensor x = ramp(home, {8, 8});
    std::vector<float> v = floats(x);
    for (unsigned i = 0; i < 24; ++i) {
        *placed.now = i;
        const pm::any_tensor row = pm::reduce(pm::reduction::sum, x * 2.0, std::vector{INT64_C(1)}),
                             y = pm::sort(x, 0) + pm::expand_dims(row, 0);
        pm::eval(std::span(&y, 1));
        std::vector<float> want(8, 0.0f);
        for (std::size_t k = 0; k < 64; ++k) want[k / 8] += 2 * v[k];
        CHECK(floats(row) == want);
        const float fresh[] = {float(i), float(i + 1)};
        if (i % 3 == 0) {
            for (float& each : v) each += 1;
            pm::write(x, std::as_bytes(std::span(v)), 0);
        } else if (i % 3 == 1) {
            pm::write(x, std::as_bytes(std::span(fresh)), 40);
            v[10] = fresh[0];
            v[11] = fresh[1];
        } else {
            x = x + 0.5;
            for (float& each : v) each += 0.5f;
        }
        CHECK(floats(x) == v);
    }
    pm::matrix<float> shown = pm::zeros<float>({2, 2}, home);
    shown.host_mut()[3] = 5;
    CHECK(pm::matrix<float>(shown + 1.0f).to_vector() == std::vector<float>{1, 1, 1, 6});
}

TEST_CASE("devices: parts of one value that are written before and behind another device's work") {
    const pm::context host(pm::host_only{});
    for (const bool lanes : {true, false}) {
        if (!lanes && !has_vulkan()) continue;
        const auto to = [lanes](pm::placement& p) {
            for (std::size_t i = 0; i < p.at.size(); ++i)
                p.at[i] = p.steps[i].family == "normalize" ? p.host() : lanes ? p.host() - 1 : 0;
        };
        const pm::context home =
            lanes ? pm::context(pm::devices(mine::on_mine{room}), pm::place_steps{to})
                  : pm::context(pm::devices(pm::vulkan_only{}, mine::on_mine{room}),
                                pm::place_steps{to});
        const auto f = [](const pm::any_tensor& x) {
            const pm::any_tensor sum = pm::cumulative_sum(x, 0);
            const pm::any_tensor parts[] = {sum, pm::cumulative_sum(pm::softmax(sum, 1), 1),
                                            x * 2.0};
            return pm::concat(parts, 0);
        };
        CHECK(test::differences({f(ramp(home, {6, 5}))}, {f(ramp(host, {6, 5}))}) == 0);
        const auto g = pm::compile(f);
        for (int i = 0; i < 2; ++i)
            CHECK(test::differences({g(ramp(home, {6, 5}))}, {f(ramp(host, {6, 5}))}) == 0);
    }
}

TEST_CASE("devices: branches, loops and varying extents") {
    const anywhere placed;
    const pm::context home = open(placed), host(pm::host_only{});
    using matrix = pm::matrix<float>;
    const auto f = [](const matrix& x) {
        return matrix(std::get<1>(pm::while_loop([](const matrix& a,
                                                    const matrix&) { return pm::max(a) < 6.0f; },
                                                 [&](const matrix& a, const matrix& b) {
                                                     return std::tuple{
                                                         matrix(a + 1.0f),
                                                         matrix(pm::softmax(b + x, pm::axis<1>))};
                                                 },
                                                 x, x)));
    };
    const auto g = pm::compile(f);
    const auto any = pm::compile([](const pm::any_tensor&
                                        x) { return pm::softmax(x, 1) + pm::cumulative_sum(x, 0); },
                                 pm::varying{.at_most = 12});
    for (unsigned i = 0; i < 12; ++i) {
        *placed.now = i;
        const matrix here(ramp(home, {6, 5})), there(ramp(host, {6, 5}));
        CHECK(test::differences({f(here)}, {f(there)}) == 0);
        CHECK(test::differences({g(here)}, {f(there)}) == 0);
        CHECK(test::differences({any(ramp(home, {i, 5}))}, {any(ramp(host, {i, 5}))}) == 0);
    }
}

TEST_CASE("devices: what fails or is stopped leaves everything as it was") {
    std::shared_ptr<mine::backend> told;
    struct with {
        std::shared_ptr<mine::backend>* to;
        void apply(pm::policy_set& set) const {
            set.backend = [to = to](const pm::policy_set& p) -> std::shared_ptr<pm::engine> {
                return *to = std::make_shared<mine::backend>(room, p);
            };
        }
    };
    const pm::context home(pm::devices(with{&told}), pm::place_steps{[](pm::placement& p) {
                               for (std::size_t i = 0; i < p.at.size(); ++i)
                                   p.at[i] = p.steps[i].family == "normalize" ? p.host() : 1;
                           }});
    const pm::any_tensor x = ramp(home, {4, 4});
    const auto f = [](const pm::any_tensor& v) {
        return pm::cumulative_sum(pm::softmax(pm::cumulative_sum(v, 0), 1), 1);
    };
    const pm::any_tensor y = f(x);
    told->fail_in = 1;
    CHECK(test::thrown_by([&] { pm::eval(std::span(&y, 1)); }).code() == pm::errc::device_lost);
    CHECK_FALSE(y.get()->realised());
    const std::vector<float> want = floats(f(ramp(pm::context(pm::host_only{}), {4, 4})));
    CHECK(floats(y) == want);
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {4, 4}}},
                  [&](std::span<const pm::any_tensor> given) { return std::vector{f(given[0])}; });
    std::stop_source stop;
    stop.request_stop();
    CHECK(test::thrown_by([&] { e.run({x}, stop.get_token()); }).code() == pm::errc::cancelled);
    told->fail_in = 1;
    CHECK(test::thrown_by([&] { e.run({x}); }).code() == pm::errc::device_lost);
    std::vector<pm::any_tensor> out(1);
    const pm::submission run = e.run_into(out, {&x, 1});
    std::atomic<bool> called{false};
    run.then([&] { called = true; });
    run.wait();
    CHECK(run.done());
    while (!called) std::this_thread::yield();
    CHECK(floats(out[0]) == want);
}

TEST_CASE("devices: threads share a context and a recording") {
    const anywhere placed;
    const pm::context home = open(placed), host(pm::host_only{});
    const auto f = [](const pm::any_tensor& x) {
        pm::any_tensor y = x;
        for (int i = 0; i < 3; ++i) y = pm::matmul(pm::softmax(y, 1), x);
        return y;
    };
    const auto g = pm::compile(f);
    std::array<std::vector<float>, 3> want;
    for (std::size_t t = 0; t < want.size(); ++t)
        want[t] = floats(f(ramp(host, {12, 12}, float(t) / 8)));
    g(ramp(home, {12, 12}));
    std::array<int, 3> wrong{};
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                const pm::any_tensor x = ramp(home, {12, 12}, float(t) / 8);
                for (int i = 0; i < 10; ++i) {
                    const std::vector<float> y = floats(i % 2 ? g(x) : f(x));
                    for (std::size_t k = 0; k < y.size(); ++k)
                        wrong[t] += std::fabs(y[k] - want[t][k]) > 1e-4f;
                }
            });
    }
    CHECK(wrong == std::array<int, 3>{});
}

TEST_CASE("make_devices: what is not there is named") {
    const auto open_with = [](const auto&... each) { pm::context c{pm::devices(each...)}; };
    const pm::error none =
        test::thrown_by([&] { open_with(pm::host_only{}, pm::device_named{"no such device"}); });
    CHECK((none.code() == pm::errc::no_device || none.code() == pm::errc::no_vulkan_loader));
    struct odd {
        void apply(pm::policy_set& set) const {
            set.backend = [](const pm::policy_set&) -> std::shared_ptr<pm::engine> {
                return std::make_shared<pumice_test::idle_engine>();
            };
        }
    };
    CHECK(test::thrown_by([&] { open_with(odd{}); }).code() == pm::errc::unsupported);
    const pm::context home{pm::devices(pm::host_only{}, mine::on_mine{room})};
    CHECK(home.device().type == pm::device_type::host);
    CHECK(home.device_report().find("mine") != std::string::npos);
    CHECK(floats(ramp(home, {3}) * 2.0)[0] == -2);
    CHECK(home.trim() < std::uint64_t(room));
}

TEST_CASE("places of one name are told apart by their numbers") {
    struct alternating {
        void apply(pm::policy_set& set) const {
            set.place = [](pm::placement& p) {
                for (std::size_t i = 0; i < p.at.size(); ++i) p.at[i] = int(i % 2);
            };
        }
    };
    const pm::context home{pm::devices{pm::host_only{}, pm::host_only{}}, alternating{}};
    const pm::any_tensor x = ramp(home, {5, 5});
    const auto two = [](const pm::any_tensor& of) { return pm::matmul(pm::softmax(of, 1), of); };
    const std::string text = pm::explain(two(x));
    CHECK(text.find("softmax\n  on host (place 0)\n") != text.npos);
    CHECK(text.find("transfer to host (place 1)") != text.npos);
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {5, 5}}},
                  [&](std::span<const pm::any_tensor> given) {
                      return std::vector{two(given[0])};
                  });
    CHECK(e.explain().starts_with("on host (place 0):\nhost/normalize"));
    CHECK(e.explain().find("on host (place 1):\nhost/matmul") != std::string::npos);
}

TEST_CASE("devices: more places than an operand's holders have bits are refused") {
    pm::device_list many;
    for (int i = 0; i < pm::max_places; ++i)
        many.push_back([](pm::policy_set& set) { pm::host_only{}.apply(set); });
    CHECK(pm::make_devices_engine<0>(many, {}) != nullptr);
    many.push_back(many.front());
    CHECK(test::code_of([&] { pm::make_devices_engine<0>(many, {}); }) == pm::errc::unsupported);
}
