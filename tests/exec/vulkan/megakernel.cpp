// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Recordings whose kernels of one workgroup share a dispatch give what those do whose kernels do
// not.
#include <pumice/control.hpp>
#include <pumice/front.hpp>
#include <pumice/tensor/profile.hpp>
#include <pumice/varying.hpp>

#include "../random_programs.hpp"
#include "../support.hpp"

#include <tests/graph/support.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>

namespace pm = pumice;
using any = pm::any_tensor;

namespace {

/// Two contexts of one device: kernels joined, and apart.
struct pair_of_contexts {
    std::optional<pm::context> joined, apart;
    explicit pair_of_contexts(bool fusion = false) {
        test::wishes w;
        w.policies.fusion = fusion;
        apart = test::open_context(w);
        pm::megakernels{}.apply(w.policies);
        joined = test::open_context(w);
    }
    bool there() const { return joined && apart; }
};

std::vector<std::byte> bytes(const any& t) {
    std::vector<std::byte>
        all(static_cast<std::size_t>(pm::byte_count(t.dtype(), pm::element_count(t.shape()))));
    pm::read(t, std::span(all));
    return all;
}

/// The dispatches of one run.
std::uint64_t dispatches(const pm::context& home, const pm::executable& e,
                         const std::vector<any>& inputs) {
    pm::eval(e.run(inputs));
    const std::uint64_t before = home.stats().dispatches;
    pm::eval(e.run(inputs));
    return home.stats().dispatches - before;
}

}  // namespace

TEST_CASE("megakernels: a chain of small kernels is a dispatch for sixteen, time after time") {
    const pair_of_contexts homes;
    if (!homes.there()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto chain = pm::compile([](any x, const any& y) {
        for (int i = 0; i < 40; ++i) x = pm::apply<pm::op::add>(pm::apply<pm::op::abs>(x), y);
        return x;
    });
    for (const auto& [home, count] : {std::pair(*homes.apart, 80u), std::pair(*homes.joined, 5u)}) {
        const any x = test::numbers(home, 5, -3), y = test::numbers(home, 5, 0.5f);
        const pm::executable e = chain.get(x, y);
        CHECK(dispatches(home, e, {x, y}) == count);
        std::vector<float> expected = pm::to_vector<float>(x);
        for (int i = 0; i < 40; ++i)
            for (std::size_t k = 0; k < 5; ++k)
                expected[k] = std::fabs(expected[k]) + 0.5f + float(k);
        for (int run = 0; run < 20; ++run)
            CHECK(pm::to_vector<float>(e.run({x, y})[0]) == expected);
    }
    const any x = test::numbers(*homes.joined, 5, -3);
    const std::string plan = chain.get(x, x).explain();
    CHECK_MESSAGE(plan.find("one dispatch of 16 kernels: abs; add; abs") != plan.npos, plan);
    pm::profiler watching(*homes.joined);
    pm::eval(chain(x, x));
    const std::string table = watching.finish().table();
    CHECK_MESSAGE(table.find("megakernel") != table.npos, table);
}

TEST_CASE("megakernels: every kind of kernel, in every type") {
    const pair_of_contexts homes;
    if (!homes.there()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto side = [](const any& x) { return x.shape()[0]; };
    const auto program = pm::compile([&](const any& x, const any& places) {
        const std::int64_t columns[] = {1}, rows[] = {0}, turned[] = {1, 0};
        any y = pm::permute_dims(x, turned) + x;
        y = pm::reduce(pm::reduction::max, y, rows, true) - y;
        y = pm::take(y, places, 0) * 2;
        y = pm::reduce(pm::reduction::sum, y, columns, true) + x;
        pm::pool_op halves;
        for (const int axis : {0, 1}) halves.window[axis] = 3, halves.stride[axis] = 2;
        any z = pm::pool(pm::reshape(y, {1, 1, side(x), side(x)}), halves);
        z = pm::cumulative(pm::reduction::sum, pm::reshape(z, {side(x) / 2 - 1, side(x) / 2 - 1}),
                           1);
        return std::vector<any>{y, pm::sort(z, 1), pm::reduce(pm::reduction::min, z, rows)};
    });
    const auto products = pm::compile([](const any& x) {
        const std::int64_t columns[] = {1};
        any y = pm::matmul(x, pm::slice_view(x, {{}, {0, 3, 1}}));
        y = pm::softmax(pm::matmul(x, y) * 0.01, 1);
        return pm::layer_norm(pm::matmul(y, pm::slice_view(x, {{0, 3, 1}, {}})), columns);
    });
    const std::int64_t all[] = {0};
    // Of the larger, few kernels have one workgroup.
    for (const std::int64_t n : {10, 100})
        for (const pm::dtype t : {pm::dtype::f32, pm::dtype::f16, pm::dtype::f64, pm::dtype::i32,
                                  pm::dtype::u8, pm::dtype::i64}) {
            CAPTURE(n);
            CAPTURE(t);
            if (!homes.apart->device().supports(t)) continue;
            if (n > 10 && t != pm::dtype::f32) continue;
            std::vector<std::vector<std::byte>> found[2];
            std::uint64_t count[2] = {};
            int k = 0;
            for (const pm::context& home : {*homes.apart, *homes.joined}) {
                const any x = pm::astype(pm::random::uniform(pm::dtype::f32, {n, n},
                                                             pm::random::key(7), 0, 50, home),
                                         t);
                const any places = pm::flip(pm::arange(pm::dtype::i32, 0, double(n), 1, home), all);
                pm::eval(std::vector{x, places});
                const pm::executable e = program.get(x, places);
                count[k] = dispatches(home, e, {x, places});
                for (const any& y : e.run({x, places})) found[k].push_back(bytes(y));
                if (pm::info(t).kind == pm::kind::floating) found[k].push_back(bytes(products(x)));
                ++k;
            }
            CHECK(found[0] == found[1]);
            CHECK((n > 10 || count[1] < count[0]));
        }
}

TEST_CASE("megakernels: random programs, recorded") {
    for (const bool fusion : {false, true}) {
        const pair_of_contexts homes(fusion);
        if (!homes.there()) PUMICE_SKIP("vulkan-device", "the case is of a device");
        std::uint64_t count[2] = {};
        for (unsigned seed = 0; seed < unsigned(test::samples(20)); ++seed) {
            CAPTURE(seed);
            std::vector<std::byte> found[2];
            int k = 0;
            for (const pm::context& home : {*homes.apart, *homes.joined}) {
                std::mt19937 random(seed);
                test::program_kind kind;
                kind.evaluate = false;
                const test::variables start = test::beginning(random, home, kind);
                const auto f = pm::compile([&](const any& a, const any& b, const any& c) {
                    test::variables held{a, b, c};
                    test::assign(random, held, kind);
                    return held[0] + held[1] + held[2];
                });
                const std::uint64_t before = home.stats().dispatches;
                for (int run = 0; run < 2; ++run) found[k] = bytes(f(start[0], start[1], start[2]));
                count[k] += home.stats().dispatches - before;
                ++k;
            }
            CHECK(found[0] == found[1]);
        }
        CHECK(count[1] < count[0]);
    }
}

TEST_CASE("megakernels: loops, lengths that vary and many runs in flight") {
    const pair_of_contexts homes;
    if (!homes.there()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const std::int64_t all[] = {0};
    std::vector<std::vector<std::byte>> found[2];
    std::uint64_t of_loop[2] = {};
    int k = 0;
    for (const pm::context& home : {*homes.apart, *homes.joined}) {
        const auto body = [&](const any&, const any& x) {
            return pm::flip(pm::apply<pm::op::abs>(x - 1.5), all) * 0.5 + x;
        };
        const any start = test::numbers(home, 200, 1);
        const std::uint64_t before = home.stats().dispatches;
        found[k].push_back(bytes(pm::fori_loop(0, 100, body, start)));
        of_loop[k] = home.stats().dispatches - before;
        const auto lengths = pm::compile(
            [&](const any& x) {
                return x * 2 - pm::reduce(pm::reduction::max, pm::apply<pm::op::abs>(x), all, true);
            },
            pm::varying{.at_most = 300});
        for (const std::int64_t n : {1, 70, 300, 25})
            found[k].push_back(bytes(lengths(test::numbers(home, n, -9))));
        const auto f = pm::compile([](const any& x) { return (x - 4) * 0.5 + x; });
        std::vector<any> results;
        for (int i = 0; i < 30; ++i) results.push_back(f(test::numbers(home, 200, float(i))));
        for (const any& r : results) found[k].push_back(bytes(r));
        ++k;
    }
    CHECK(found[0] == found[1]);
    CHECK(3 * of_loop[1] < 2 * of_loop[0]);
}

TEST_CASE("megakernels: where a workgroup has no shared memory for many kernels, fewer share one") {
    test::wishes w;
    w.policies.fusion = false;
    w.shared_memory = 6000;
    const std::optional<pm::context> apart = test::open_context(w);
    pm::megakernels{}.apply(w.policies);
    const std::optional<pm::context> joined = test::open_context(w);
    if (!apart || !joined) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto f = pm::compile([](any x) {
        const std::int64_t rows[] = {0};
        using enum pm::reduction;
        for (const auto what : {sum, max, min, mean, sum, max})
            x = x - pm::reduce(what, x, rows, true);
        return x;
    });
    std::vector<std::byte> found[2];
    std::uint64_t count[2] = {};
    const test::captured_log log;
    int k = 0;
    for (const pm::context& home : {*apart, *joined}) {
        const any x = pm::random::uniform(pm::dtype::f32, {60, 3}, pm::random::key(1), 0, 1, home);
        pm::eval(x);
        found[k] = bytes(f(x));
        count[k] = dispatches(home, f.get(x), {x});
        ++k;
    }
    CHECK(found[0] == found[1]);
    CHECK(count[1] < count[0]);
    CHECK(count[1] > 2);
    REQUIRE(log.with("of megakernels of up to 16 kernels one is refused").size() == 1);
    CHECK(log.with("shared memory").size() >= 1);
}

TEST_CASE("megakernels: what is independent, longer than a submit may be or wrong by itself") {
    const pair_of_contexts homes;
    if (!homes.there()) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const any x = test::numbers(*homes.joined, 200, 1);
    // Four chains side by side: each step of theirs is four kernels that may run at once.
    const auto wide = pm::compile([](const any& y) {
        std::vector<any> all(4, y);
        for (int i = 0; i < 3; ++i)
            for (any& each : all)
                each = pm::apply<pm::op::abs>(each - 1.5 * double(&each - &all[0]));
        return all;
    });
    const pm::executable e = wide.get(x);
    CHECK_MESSAGE(e.explain().find("one dispatch") == std::string::npos, e.explain());

    const auto chain = pm::compile([](any y) {
        for (int i = 0; i < 6; ++i) y = pm::apply<pm::op::abs>(y - 1.5);
        return y;
    });
    CHECK(chain.get(x).explain().find("in all 1 dispatch,") != std::string::npos);
    test::wishes w;
    w.policies.fusion = false;
    w.policies.submit_budget = 1e-9;
    pm::megakernels{}.apply(w.policies);
    const std::optional<pm::context> short_submits = test::open_context(w);
    const any y = test::numbers(*short_submits, 200, 1);
    CHECK(bytes(chain(y)) == bytes(chain(x)));
    CHECK(dispatches(*short_submits, chain.get(y), {y}) == 12);

    const pm::kernel broken("broken",
                            "void broken(uint3 t, Input<F32> x, Output<F32> y) { y[t.x] = no; }",
                            {.inputs = {{}}});
    const test::captured_log log;
    const auto wrong =
        pm::compile([&](const any& z) { return broken(pm::apply<pm::op::abs>(z - 1.5)) * 2 - 1; });
    CHECK(pumice_test::text_of_error([&] { wrong(x); }).find("broken") != std::string::npos);
    CHECK(log.with("").empty());
}
