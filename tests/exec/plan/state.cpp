// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// State in place: a cache of 262 144 rows of 64 floats into which each step writes one. What a step
// writes is counted, a second handle makes it a copy, and a run that fails or is stopped before its
// point of no return leaves everything as it was; behind it the cache says that it is lost.
#include <pumice/exec/host_engine.hpp>

#include "../vulkan/gate.hpp"
#include "support.hpp"

#include <pumice/front.hpp>

#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <cstring>
#include <functional>

namespace pm = pumice;
using pm::any_tensor, pm::slice;
using pumice::errc;
using test::code_of, test::gate;

namespace {

constexpr std::int64_t rows = 262'144, width = 64;
constexpr std::uint64_t row_bytes = 4 * width, cache_bytes = 4 * rows * width;

/// A cache of zeros on the device.
any_tensor empty_cache(const pm::context& home) {
    const any_tensor cache = pm::zeros(pm::dtype::f32, {rows, width}, home);
    pm::upload(std::span(&cache, 1));
    return cache;
}
any_tensor row_of(double value, const pm::context& home) {
    const any_tensor row = pm::full(pm::dtype::f32, {1, width}, value, home);
    pm::eval(std::span(&row, 1));
    return row;
}
any_tensor place_of(std::int64_t row, const pm::context& home) {
    const std::int64_t list[] = {row};
    return pm::from_bytes(pm::dtype::i64, {1, 1}, std::as_bytes(std::span(list)), home);
}
/// The number that a row holds in each of its elements; -1 where they differ.
float in_row(const any_tensor& cache, std::int64_t row) {
    const auto v =
        pm::to_vector<float>(pm::slice_view(cache, std::vector<slice>{{row, row + 1, 1}}));
    for (const float x : v)
        if (x != v[0]) return -1;
    return v.size() == width ? v[0] : -1;
}
void run(const any_tensor& t) { pm::eval(std::span(&t, 1)); }

/// Bytes that kernels write while f runs.
template <class F>
std::uint64_t written(const pm::context& home, F&& f) {
    const std::uint64_t before = home.stats().written_bytes;
    f();
    return home.stats().written_bytes - before;
}

/// The host, and the Vulkan device where there is one.
std::vector<pm::context> places(const pm::policy_set& policies = {}) {
    test::wishes w;
    w.edit = gate::edit();
    w.policies = policies;
    std::vector<pm::context> list;
    if (const auto device = test::open_context(w)) list.push_back(*device);
    const auto host = std::make_shared<pm::host_engine>(pm::policy_set(policies), "of a test");
    list.emplace_back(host);
    return list;
}

/// The cache with the row at a place of each run's replaced.
auto append() {
    return pm::compile([](const any_tensor& cache, const any_tensor& place, const any_tensor& row) {
        return pm::scatter_nd(cache, place, row, pm::scattering::replace);
    });
}

std::string text_of(const any_tensor& t) {
    const pm::error e = test::thrown_by([&] { pm::to_vector<float>(t); });
    CHECK(e.code() == errc::values_lost);
    return e.what();
}
/// Whatever uses it says what became of it, and a whole write makes it anew.
void check_lost(any_tensor& t, const pm::context& home) {
    const std::string text = text_of(t);
    for (const char* part : {"lost", "stopped", "make the tensor anew"})
        CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    CHECK(code_of([&] { run(t + 1.0); }) == errc::values_lost);
    CHECK(code_of([&] { run(pm::reduce(pm::reduction::sum, t)); }) == errc::values_lost);
    CHECK(code_of([&] {
              pm::to_vector<float>(pm::slice_view(t, std::vector<slice>{{0, 1, 1}}));
          }) == errc::values_lost);
    CHECK(code_of([&] {
              any_tensor changed = t;
              pm::at(changed, slice{0, 1}) = 1;
              run(changed);
          }) == errc::values_lost);
    const float one = 1;
    CHECK(code_of([&] { pm::write(t, std::as_bytes(std::span(&one, 1)), 0); }) ==
          errc::values_lost);
    const std::vector<float> all(static_cast<std::size_t>(t.size()), 3.0f);
    pm::write(t, std::as_bytes(std::span(all)), 0);
    CHECK(pm::to_vector<float>(t) == all);
    CHECK(pm::to_vector<float>(t + 1.0)[0] == 4);
    static_cast<void>(home);
}

}  // namespace

namespace {

/// Elements [from, from + n) of buffer 0, and as many of buffer 1, to those of buffer 2 behind
/// `to`.
pm::elementwise_problem part_of(std::int64_t n, std::int64_t from, std::int64_t to) {
    pm::elementwise_problem p = pumice_test::sum_of(2, n);
    p.body.leaves[0].offset = from;
    p.body.outputs[0].offset = to;
    return p;
}

}  // namespace

TEST_CASE(
    "state: a part that is added to is a giving where it reads what it writes, and then no "
    "more") {
    using pumice_test::plan_maker, pumice_test::copy_of, pumice_test::total_of;
    const auto givings = [](std::int64_t from, std::int64_t to, auto&& more) {
        plan_maker m;
        const int state = m.input(8), x = m.input(2), out = m.output(8);
        m.step(copy_of(8), {state, out});
        m.step(part_of(2, from, to), {state, x, out});
        more(m, state, out);
        const auto p = m.take();
        if (!p->givings.empty()) CHECK(p->steps[0].unless_given == 0);
        return p->givings.size();
    };
    const auto nothing = [](plan_maker&, int, int) {};
    CHECK(givings(4, 4, nothing) == 1);
    CHECK(givings(4, 3, nothing) == 0);
    CHECK(givings(4, 4, [](plan_maker& m, int state, int) {
              m.step(total_of(8), {state, m.output(1)});
          }) == 0);
    CHECK(givings(4, 4, [](plan_maker& m, int, int out) {
              m.step(total_of(8), {out, m.output(1)});
          }) == 1);

    // Another view of the memory, 16 bytes in, is read before the state is written, or as it is.
    plan_maker m;
    const int state = m.input(8), seen = m.input(2), x = m.input(2), out = m.output(8);
    m.step(copy_of(8), {state, out});
    m.step(part_of(2, 0, 4), {seen, x, out});
    const auto p = m.take();
    CHECK(pm::reads_before(*p, seen, out, 16));
    CHECK(!pm::reads_before(*p, seen, out, 12));
    CHECK(!pm::reads_before(*p, seen, out, 14));
    CHECK(pm::reads_before(*p, state, out, 0));
}

TEST_CASE("state: eager, a row of a cache is written in place, and added to") {
    pm::policy_set eager;
    eager.eager = true;
    for (const pm::policy_set& policies : {pm::policy_set(), eager})
        for (const pm::context& home : places(policies)) {
            INFO(home.device().name, (policies.eager ? ", eager" : ""));
            any_tensor cache = empty_cache(home);
            const any_tensor row = row_of(2, home);
            const auto held = home.stats().device_bytes;
            for (int i = 0; i < 4; ++i) {
                const std::int64_t at = 1000 * i + 1;
                CHECK(written(home, [&] {
                          pm::at(cache, slice{at, at + 1}) = row;
                          run(cache);
                      }) == row_bytes);
                CHECK(written(home, [&] {
                          pm::at(cache, slice{at, at + 1}) += row;
                          run(cache);
                      }) <= 2 * row_bytes);
                CHECK(written(home, [&] {
                          pm::at(cache, slice{at + 1, at + 2}) = 7;
                          run(cache);
                      }) == row_bytes);
            }
            CHECK(home.stats().device_bytes <= held + (1 << 20));
            for (int i = 0; i < 4; ++i) {
                CHECK(in_row(cache, 1000 * i) == 0);
                CHECK(in_row(cache, 1000 * i + 1) == 4);
                CHECK(in_row(cache, 1000 * i + 2) == 7);
            }
            // The typed handle too.
            pm::matrix<float> typed(cache);
            cache = {};
            CHECK(written(home, [&] {
                      pm::at(typed, slice{5, 6}) += 1.5f;
                      pm::eval(typed);
                  }) <= 2 * row_bytes);
            CHECK(in_row(typed, 5) == 1.5f);
            CHECK(in_row(typed, 1) == 4);
            // A number instead of a slice, whose values have an axis less.
            CHECK(written(home, [&] {
                      pm::at(typed, 8) += 2.5f;
                      pm::eval(typed);
                  }) <= 2 * row_bytes);
            CHECK(in_row(typed, 8) == 2.5f);
            const pm::vector<float> by = pm::arange<float>(2, 10, 2, home);
            pm::eval(by);
            CHECK(written(home, [&] {
                      pm::at(typed, 8, slice{0, 4}) *= by;
                      pm::eval(typed);
                  }) <= 2 * 16);
            CHECK(pm::to_vector<float>(typed(8, slice{2, 6})) ==
                  std::vector<float>{15, 20, 2.5f, 2.5f});
            // What is read elsewhere than it is written must be read before.
            pm::at(typed, slice{5, 7}) = pm::at(typed, slice{1, 3});
            CHECK(in_row(typed, 5) == 4);
            CHECK(in_row(typed, 6) == 7);
            pm::at(typed, slice{6, 8}) += pm::view(typed, slice{5, 7});
            CHECK(in_row(typed, 6) == 11);
            CHECK(in_row(typed, 7) == 7);
        }
}

TEST_CASE("state: eager, rows by an index that is a tensor") {
    for (const pm::context& home : places()) {
        INFO(home.device().name);
        any_tensor cache = empty_cache(home);
        for (int i = 0; i < 4; ++i) {
            const any_tensor row = row_of(i + 1, home), place = place_of(70'000 * i % rows, home);
            run(place);
            CHECK(written(home, [&] {
                      cache = pm::scatter_nd(cache, place, row, pm::scattering::sum);
                      run(cache);
                  }) <= 2 * row_bytes);
        }
        CHECK(in_row(cache, 70'000 * 3 % rows) == 4);
        CHECK(in_row(cache, 0) == 1);
        CHECK(in_row(cache, 1) == 0);
    }
}

TEST_CASE("state: another handle, a view and a lazy reader make it a copy, never a wrong value") {
    for (const pm::context& home : places()) {
        INFO(home.device().name);
        any_tensor cache = empty_cache(home);
        const any_tensor row = row_of(2, home);
        pm::at(cache, slice{3, 4}) = row;
        run(cache);
        const auto step = [&](const char* what) {
            INFO(what);
            CHECK(written(home, [&] {
                      pm::at(cache, slice{3, 4}) += row;
                      run(cache);
                  }) >= cache_bytes);
        };
        {
            const any_tensor other = cache;
            step("a handle");
            CHECK(in_row(other, 3) == 2);
        }
        CHECK(in_row(cache, 3) == 4);
        {
            const any_tensor seen = pm::slice_view(cache, std::vector<slice>{{2, 5, 1}});
            run(seen);
            step("a view");
            CHECK(pm::to_vector<float>(seen)[width] == 4);
        }
        CHECK(in_row(cache, 3) == 6);
        {
            const any_tensor lazy = pm::reduce(pm::reduction::max, cache);
            step("a lazy reader");
            CHECK(pm::to_vector<float>(lazy)[0] == 6);
        }
        CHECK(in_row(cache, 3) == 8);
        const any_tensor place = place_of(3, home);
        const pm::executable e = append().get(cache, place, row);
        {
            const any_tensor other = cache;
            CHECK(written(home, [&] { cache = e.run_donating(std::move(cache), place, row)[0]; }) >=
                  cache_bytes);
            CHECK(in_row(other, 3) == 8);
        }
        CHECK(in_row(cache, 3) == 2);
        CHECK(in_row(cache, 4) == 0);
    }
}

TEST_CASE("state: recorded, a cache that is given, or that is input and result of a run") {
    for (const pm::context& home : places()) {
        INFO(home.device().name);
        any_tensor cache = empty_cache(home);
        const any_tensor row = row_of(2, home);
        const pm::executable e = append().get(cache, place_of(0, home), row);
        cache = e.run_donating(std::move(cache), place_of(0, home), row)[0];
        const auto held = home.stats().device_bytes;
        for (int i = 1; i < 5; ++i) {
            const any_tensor place = place_of(60'000 * i % rows, home);
            run(place);
            const std::uint64_t bytes =
                written(home, [&] { cache = e.run_donating(std::move(cache), place, row)[0]; });
            CHECK(bytes >= row_bytes);
            CHECK(bytes <= 2 * row_bytes);
        }
        // One handle in both lists.
        any_tensor list[] = {cache, place_of(9, home), row_of(5, home)};
        cache = {};
        for (int i = 0; i < 4; ++i)
            CHECK(written(home, [&] { e.run_into(std::span(list, 1), list); }) <= 2 * row_bytes);
        CHECK(home.stats().device_bytes <= held + (1 << 20));
        CHECK(in_row(list[0], 0) == 2);
        CHECK(in_row(list[0], 60'000) == 2);
        CHECK(in_row(list[0], 60'000 * 4) == 2);
        CHECK(in_row(list[0], 60'001) == 0);
        CHECK(in_row(list[0], 9) == 5);
        // Who else holds it keeps what he had.
        const any_tensor other = list[0];
        list[2] = row_of(6, home);
        e.run_into(std::span(list, 1), list);
        CHECK(in_row(list[0], 9) == 6);
        CHECK(in_row(other, 9) == 5);
        // A row at a place of the recording's own, and one that is added to.
        const auto fixed = pm::compile([](any_tensor c, const any_tensor& r) {
            pm::at(c, slice{100, 101}) += r;
            return c;
        });
        cache = empty_cache(home);
        const pm::executable adds = fixed.get(cache, row);
        for (int i = 1; i < 4; ++i) {
            CHECK(written(home, [&] { cache = adds.run_donating(std::move(cache), row)[0]; }) <=
                  2 * row_bytes);
            CHECK(in_row(cache, 100) == 2 * i);
        }
        CHECK(in_row(cache, 101) == 0);
    }
}

namespace {

/// A run with three kernels in a line, each a piece: a product, the state that is written over, and
/// a product behind it.
std::vector<any_tensor> three(std::span<const any_tensor> in) {
    const any_tensor before = pm::matmul(in[1], in[1]);
    any_tensor state = in[0];
    pm::at(state, slice{0, 4}) = before;
    return {state, pm::matmul(before, pm::slice_view(state, std::vector<slice>{{0, 4, 1}}))};
}
std::vector<float> floats(const any_tensor& t) { return pm::to_vector<float>(t); }

struct broken {
    any_tensor state, x;
    pm::executable e;
    std::vector<float> was, expected;

    explicit broken(const pm::context& home) {
        x = pm::full(pm::dtype::f32, {4, 4}, 2, home);
        state = fresh(home);
        const pm::executable::value in[] = {{pm::dtype::f32, {8, 4}}, {pm::dtype::f32, {4, 4}}};
        e = pm::trace(home, in, three);
        was = floats(state);
        expected = floats(e.run({state, x})[0]);
    }
    static any_tensor fresh(const pm::context& home) {
        const any_tensor s = pm::reshape(pm::arange(pm::dtype::f32, 0, 32, 1, home), {8, 4}) + 0.0;
        run(s);
        return s;
    }
};

}  // namespace

TEST_CASE(
    "state: a run that is stopped before its point of no return loses nothing, behind it the "
    "state is lost") {
    pm::policy_set pieces;
    pieces.submit_budget = 1e-9;
    {
        test::wishes w;
        w.edit = gate::edit();
        w.policies = pieces;
        const auto device = test::open_context(w);
        if (!device) PUMICE_SKIP("vulkan-device", "of the host there is a case below");
        const pm::context& home = *device;
        broken b(home);
        b.state = broken::fresh(home);
        std::vector<any_tensor> all = b.e.run_donating(std::move(b.state), b.x);  // timed
        CHECK(floats(all[0]) == b.expected);
        b.state = broken::fresh(home);
        gate::submits = 0;
        all = b.e.run_donating(std::move(b.state), b.x);
        const int submits = gate::submits;
        REQUIRE(submits >= 3);
        int kept = 0, lost = 0;
        for (int at = 0; at < submits; ++at) {  // 0: before the run
            INFO("stopped at submit ", at);
            b.state = broken::fresh(home);
            std::stop_source stop;
            gate::submits = 0;
            gate::stop_at = &stop;
            gate::stop_number = at;
            if (at == 0) stop.request_stop();
            CHECK(code_of([&] { b.e.run_donating(stop.get_token(), std::move(b.state), b.x); }) ==
                  errc::cancelled);
            gate::stop_at = nullptr;
            REQUIRE(b.state.has_value());
            CHECK(floats(b.x)[0] == 2);
            if (code_of([&] { floats(b.state); }) == errc::values_lost) {
                ++lost;
                check_lost(b.state, home);
            } else {
                CHECK(lost == 0);
                ++kept;
                CHECK(floats(b.state) == b.was);
                CHECK(floats(b.e.run_donating(std::move(b.state), b.x)[0]) == b.expected);
            }
        }
        CHECK(kept >= 2);
        CHECK(lost >= 1);
        // Results that were to be overwritten: lost until the next run, which needs nothing else.
        b.state = broken::fresh(home);
        std::vector<any_tensor> out = b.e.run({b.state, b.x});
        std::stop_source stop;
        gate::submits = 0;
        gate::stop_at = &stop;
        gate::stop_number = submits - 1;
        const any_tensor in[] = {b.state, b.x};
        CHECK(code_of([&] { b.e.run_into(out, in, stop.get_token()); }) == errc::cancelled);
        gate::stop_at = nullptr;
        CHECK(code_of([&] { floats(out[0]); }) == errc::values_lost);
        CHECK(floats(b.state) == b.was);
        b.e.run_into(out, in);
        CHECK(floats(out[0]) == b.expected);
    }
}

TEST_CASE(
    "state: a submit that fails before the point of no return loses nothing, behind it the "
    "state is lost") {
    for (const bool recorded : {true, false}) {
        test::wishes w;
        w.edit = [](test::vulkan::dispatcher& t) {
            test::intercept<&test::vulkan::dispatcher::vkQueueSubmit2>(t);
        };
        w.policies.submit_budget = 1e-9;
        const auto home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        broken b(*home);
        b.state = broken::fresh(*home);
        run(b.x);
        floats(b.e.run_donating(std::move(b.state), b.x)[0]);
        int kept = 0, lost = 0;
        for (int at = 0;; ++at) {
            INFO("failed at submit ", at, (recorded ? ", recorded" : ", once"));
            b.state = broken::fresh(*home);
            any_tensor results[2];
            const auto go = [&] {
                if (recorded) {
                    b.e.run_donating(std::move(b.state), b.x);
                } else if (!results[0].has_value()) {
                    const any_tensor in[] = {std::move(b.state), b.x};
                    b.state = {};
                    std::vector<any_tensor> list = three(in);
                    results[0] = std::move(list[0]), results[1] = std::move(list[1]);
                }
                if (!recorded) pm::eval(results);
            };
            test::faults::arm(at, VK_ERROR_OUT_OF_HOST_MEMORY);
            const auto code = code_of(go);
            test::faults::disarm();
            if (!code) break;
            if (recorded) {
                REQUIRE(b.state.has_value());
                if (code_of([&] { floats(b.state); }) == errc::values_lost) {
                    ++lost;
                    check_lost(b.state, *home);
                } else {
                    CHECK(lost == 0);
                    ++kept;
                    CHECK(floats(b.state) == b.was);
                }
            } else {
                // The lazy nodes try again, but for what reads the state that is gone.
                const auto again = code_of(go);
                if (again) {
                    ++lost;
                    CHECK(again == errc::values_lost);
                    CHECK(code_of([&] { floats(results[0]); }) == errc::values_lost);
                } else {
                    CHECK(lost == 0);
                    ++kept;
                    CHECK(floats(results[0]) == b.expected);
                }
            }
            CHECK(floats(b.x)[0] == 2);
        }
        CHECK(kept >= 2);
        CHECK(lost >= 1);
    }
}

TEST_CASE("state: on the host, steps that stop or fail on both sides of the point of no return") {
    const pm::context home(std::make_shared<pm::host_engine>(pm::policy_set(), "of a test"));
    std::function<void(int)> at_kernel;
    const auto step = [&](int number) {
        return pm::kernel("step", "void step(uint3 thread, Input<F32> x, Output<F32> y) {}",
                          {.inputs = {{.type = pm::dtype::f32}},
                           .host = [&at_kernel, number](const pm::kernel_arguments& a) {
                               at_kernel(number);
                               const auto x = a.inputs[0].as<float>(), y = a.outputs[0].as<float>();
                               for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
                           }});
    };
    const pm::kernel first = step(1), second = step(2);
    const auto steps = [&](const any_tensor& state_in, const any_tensor& x) {
        any_tensor state = state_in;
        pm::at(state, slice{0, 1}) = first(x);
        return std::vector<any_tensor>{
            state, second(pm::slice_view(state, std::vector<slice>{{0, 1, 1}}) * 2.0)};
    };
    const auto compiled = pm::compile(steps);
    const any_tensor x = row_of(2, home);
    const auto make = [&] {
        const any_tensor s = pm::full(pm::dtype::f32, {3, width}, 1, home) + 0.0;
        run(s);
        return s;
    };
    any_tensor state = make();
    const pm::executable e = compiled.get(state, x);
    at_kernel = [](int) {};
    state = e.run_donating(std::move(state), x)[0];
    CHECK(in_row(state, 0) == 3);
    for (const bool stops : {true, false})
        for (const int at : {1, 2}) {
            INFO((stops ? "stopped" : "failed"), " at kernel ", at);
            std::stop_source stop;
            at_kernel = [&](int number) {
                if (number != at) return;
                if (!stops) throw pm::error(errc::unsupported, "step", "it fails");
                stop.request_stop();
            };
            state = make();
            const auto code =
                code_of([&] { e.run_donating(stop.get_token(), std::move(state), x); });
            at_kernel = [](int) {};
            if (stops && at == 2) {
                CHECK(!code);  // too late: it was the last
                continue;
            }
            CHECK(code == (stops ? errc::cancelled : errc::unsupported));
            REQUIRE(state.has_value());
            if (at == 1) CHECK(in_row(state, 0) == 1);
            else check_lost(state, home);
            CHECK(in_row(x, 0) == 2);
            CHECK(in_row(e.run_donating(make(), x)[0], 0) == 3);
        }
    // Without a recording: the lazy nodes stay, and try again where the state is still there.
    for (const int at : {1, 2}) {
        at_kernel = [at](int number) {
            if (number == at) throw pm::error(errc::unsupported, "step", "it fails");
        };
        any_tensor s = make();
        std::vector<any_tensor> results = [&] {
            const any_tensor given = std::move(s);
            return steps(given, x);
        }();
        CHECK(code_of([&] { pm::eval(results); }) == errc::unsupported);
        at_kernel = [](int) {};
        const auto again = code_of([&] { pm::eval(results); });
        if (at == 1) {
            CHECK(!again);
            CHECK(in_row(results[0], 0) == 3);
            CHECK(in_row(results[1], 0) == 7);
        } else {
            CHECK(again == errc::values_lost);
        }
    }
}
