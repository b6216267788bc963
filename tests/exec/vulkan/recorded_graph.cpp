// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compiled functions on devices: the same numbers as the function itself, whatever runs before,
// beside or after them, and nothing built, recorded or allocated once they are recorded.
#include "../random_programs.hpp"
#include "../support.hpp"

#include <pumice/front.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/skip.hpp>

#include <functional>

namespace pm = pumice;
using pumice_test::text_of_error;
using test::adversary, test::code_of, test::elements_of, test::same_bits, test::variables;

namespace {

pm::any_tensor numbers(const pm::context& home, const pm::shape& extent, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> v(static_cast<std::size_t>(pm::element_count(extent)));
    for (float& x : v) x = float(int(random() % 2001) - 1000) / 512;
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)), home);
}
pm::any_tensor cut(const pm::any_tensor& x, std::initializer_list<pm::slice> slices) {
    return pm::slice_view(x, std::span(slices.begin(), slices.size()));
}
std::vector<float> floats(const pm::any_tensor& t) { return pm::to_vector<float>(t); }

/// A random program as one function of its beginning.
std::vector<pm::any_tensor> program(std::span<const pm::any_tensor> start, unsigned seed,
                                    const test::program_kind& kind) {
    std::mt19937 random(seed);
    test::beginning(random, pm::context(start[0].get()->owner), kind);
    variables held(start.begin(), start.end());
    test::assign(random, held, kind);
    return held;
}

}  // namespace

TEST_CASE("compiled: the same as the function, traced once for each type and shape") {
    const pm::context home;
    int traced = 0;
    const auto f = [&traced](const pm::any_tensor& x, const pm::any_tensor& y) {
        ++traced;
        return pm::softmax(pm::matmul(x, y) + x, -1);
    };
    const auto g = pm::compile(f, 2);
    const auto same = [&](std::int64_t n, unsigned seed) {
        const auto x = numbers(home, {n, n}, seed), y = numbers(home, {n, n}, seed + 1);
        CHECK(same_bits(floats(g(x, y)), floats(f(x, y))));
        --traced;  // of f itself
    };
    same(7, 1), same(7, 2), same(8, 3), same(7, 4);
    CHECK(traced == 2);
    CHECK(g.recorded() == 2);
    same(9, 5);  // forgets 8, the one used before the last
    CHECK(g.recorded() == 2);
    same(7, 6);
    CHECK(traced == 3);
    same(8, 7);
    CHECK(traced == 4);
}

TEST_CASE("compiled: one that keeps no recording is traced for each call") {
    const pm::context home;
    int traced = 0;
    const auto g = pm::compile(
        [&traced](const pm::any_tensor& x) {
            ++traced;
            return x * 2.0;
        },
        0);
    const pm::any_tensor x = numbers(home, {5}, 1);
    CHECK(same_bits(floats(g(x)), floats(x * 2.0)));
    CHECK(same_bits(floats(g(x)), floats(x * 2.0)));
    CHECK(traced == 2);
    CHECK(g.recorded() == 0);
}

TEST_CASE("compiled: typed arguments, several results, captured tensors, expressions") {
    const pm::context home;
    pm::set_default_context(home);
    const pm::vector<float> shift = {1, 2, 3};
    const auto g = pm::compile([shift](const pm::matrix<float>& x) {
        const auto y = pm::relu(x * 2.0f + shift);
        return std::tuple(pm::matrix<float>(y), pm::sum(y, pm::axis<1>));
    });
    const pm::matrix<float> x = {{1, -2, 3}, {-4, 5, -6}};
    const auto [y, sums] = g(x);
    CHECK(y.to_vector() == std::vector<float>{3, 0, 9, 0, 12, 0});
    CHECK(pm::to_vector<float>(sums) == std::vector<float>{12, 12});
    // An expression is an argument like the tensor that it is.
    const auto [z, more] = g(x + 1.0f);
    CHECK(z.to_vector() == std::vector<float>{5, 0, 11, 0, 14, 0});
    CHECK(g.recorded() == 1);
    static_assert(std::same_as<std::remove_cvref_t<decltype(z)>, pm::matrix<float>>);
}

TEST_CASE("compiled: results that are inputs, constants, views, each other, or empty") {
    const pm::context home;
    const auto constant = numbers(home, {5}, 3);
    const auto g = pm::compile([&](const pm::any_tensor& x) {
        const auto y = pm::apply<pm::op::tanh>(x);
        const std::int64_t flipped[] = {1, 0};
        return std::vector<pm::any_tensor>{
            x, constant, y, y, pm::permute_dims(y, flipped), cut(y, {pm::slice{0, 0, 1}})};
    });
    const auto x = numbers(home, {3, 4}, 1);
    for (int round = 0; round < 3; ++round) {
        const auto r = g(x);
        REQUIRE(r.size() == 6);
        CHECK(floats(r[0]) == floats(x));
        CHECK(floats(r[1]) == floats(constant));
        const auto y = floats(pm::apply<pm::op::tanh>(x));
        CHECK(floats(r[2]) == y);
        CHECK(floats(r[3]) == y);
        const auto across = floats(r[4]);
        for (std::size_t i = 0; i < 12; ++i) CHECK(across[i] == y[i % 3 * 4 + i / 3]);
        CHECK(r[5].shape() == pm::shape{0, 4});
        CHECK(floats(r[5]).empty());
    }
    const auto nothing = pm::compile([](const pm::any_tensor& e) { return e + e; });
    CHECK(floats(nothing(pm::zeros(pm::dtype::f32, {0, 3}, home))).empty());
}

TEST_CASE("compiled: one within another, or within itself, becomes part of it") {
    const pm::context home;
    const auto x = numbers(home, {4, 4}, 1);
    const auto half = pm::compile([](const pm::any_tensor& t) { return pm::tanh(t) * 0.5; });
    const auto outer = pm::compile([&](const pm::any_tensor& t) { return half(half(t) + 1.0); });
    CHECK(same_bits(floats(outer(x)), floats(half(half(x) + 1.0))));
    CHECK(half.recorded() == 1);  // by its own call alone
    const pm::compiled<std::function<pm::any_tensor(const pm::any_tensor&)>>* again = nullptr;
    int depth = 0;
    const auto recursive = pm::compile(std::function<pm::any_tensor(const pm::any_tensor&)>(
        [&](const pm::any_tensor& t) { return ++depth < 4 ? (*again)(t + 1.0) : t; }));
    again = &recursive;
    CHECK(same_bits(floats(recursive(x)), floats(x + 3.0)));
}

TEST_CASE("compiled: inputs of any layout and offset") {
    const pm::context home;
    const auto g = pm::compile([](const pm::any_tensor& x) { return x * 2.0 + 1.0; });
    const auto whole = numbers(home, {9, 8}, 1);
    const auto check = [&](const pm::any_tensor& x) {
        CHECK(same_bits(floats(g(x)), floats(x * 2.0 + 1.0)));
    };
    for (std::int64_t first : {0, 1, 2, 3})
        check(cut(whole, {pm::slice{first, first + 6, 1}}));  // parts of a batch
    check(cut(whole, {pm::slice{}, pm::slice{1, 8, 2}}));
    const std::int64_t flipped[] = {1, 0}, rows[] = {0};
    check(pm::permute_dims(whole, flipped));
    check(pm::flip(whole, rows));
    check(whole + whole);  // lazy
}

TEST_CASE("compiled: inputs and outputs that come and go between runs in flight") {
    const pm::context home;
    const pm::any_tensor whole = numbers(home, {4, 64}, 1), other = numbers(home, {64}, 2);
    const auto f = [](const pm::any_tensor& x, const pm::any_tensor& y) { return (x + y) * x; };
    const pm::executable e = pm::compile(f).get(other, other);
    std::mt19937 random(3);
    std::vector<pm::any_tensor> kept;
    std::vector<std::vector<float>> expected;
    std::vector<pm::any_tensor> out(1);
    for (int run = 0; run < 60; ++run) {
        const auto any = [&] {
            const auto row = static_cast<std::int64_t>(random() % 5);
            return row == 4 ? other : pm::reshape(cut(whole, {{row, row + 1, 1}, {}}), {64});
        };
        const pm::any_tensor x = any(), y = random() % 3 == 0 ? x : any();
        if (random() % 2 == 0) {
            e.run_into(out, std::array{x, y});  // where the run before wrote, if nobody has it
            if (random() % 2 == 0) kept.push_back(out[0]);
            else kept.push_back(out[0] + 0), pm::eval(kept);
        } else {
            kept.push_back(e.run(std::array{x, y})[0]);
        }
        expected.push_back(floats(f(x, y)));
    }
    for (std::size_t run = 0; run < kept.size(); ++run) {
        CAPTURE(run);
        CHECK(same_bits(floats(kept[run]), expected[run]));
    }
}

TEST_CASE("compiled: random numbers are new in each run, and those of the function itself") {
    const pm::context home;
    const auto f = [&](const pm::any_tensor& x) {
        const auto noise =
            pm::random::normal(pm::dtype::f32, {33}, pm::random::detail::fresh(), 0, 1, home);
        return x + noise * pm::random::uniform(pm::dtype::f32, {33}, pm::random::detail::fresh(), 0,
                                               1, home);
    };
    const auto g = pm::compile(f);
    const auto x = numbers(home, {33}, 1);
    pm::random::seed(9);
    const auto first = floats(g(x)), second = floats(g(x));
    CHECK(first != second);
    pm::random::seed(9);
    const auto own = floats(f(x));
    CHECK(same_bits(own, first));
    CHECK(same_bits(floats(f(x)), second));
    CHECK(g.recorded() == 1);
}

TEST_CASE("compiled: tensors are values, also where a run writes into memory that is there") {
    const pm::context home;
    const auto g = pm::compile([](const pm::any_tensor& x) { return x + 1.0; });
    const auto e = g.get(numbers(home, {100}, 1));
    const auto x = numbers(home, {100}, 2), y = numbers(home, {100}, 3);
    std::vector<pm::any_tensor> out(1);
    e.run_into(out, std::span(&x, 1));
    const pm::any_tensor kept = out[0];
    const auto pending = kept * 2.0;
    const auto expected = floats(x + 1.0);
    e.run_into(out, std::span(&y, 1));  // `kept` holds the memory, so the result gets other
    CHECK(same_bits(floats(kept), expected));
    CHECK(same_bits(floats(pending), floats((x + 1.0) * 2.0)));
    CHECK(same_bits(floats(out[0]), floats(y + 1.0)));
    // Its own input: each run adds one.
    std::vector<pm::any_tensor> self{numbers(home, {100}, 4)};
    const auto start = floats(self[0]);
    for (int i = 0; i < 10; ++i) {
        const pm::any_tensor in = self[0];
        e.run_into(self, std::span(&in, 1));
    }
    const auto end = floats(self[0]);
    for (std::size_t i = 0; i < 100; ++i) CHECK(end[i] == start[i] + 10);
    // A wrong tensor to write into is replaced, and not written.
    std::vector<pm::any_tensor> other{numbers(home, {7}, 5)};
    e.run_into(other, std::span(&x, 1));
    CHECK(same_bits(floats(other[0]), expected));
}

TEST_CASE("write: bytes of a tensor, seen by nobody who has it already") {
    const pm::context home;
    pm::any_tensor x = numbers(home, {64}, 1);
    const auto old = floats(x);
    const pm::any_tensor same = x;
    const auto pending = x + 0.0;
    const float changed[] = {7, 8};
    const auto bytes = std::as_bytes(std::span(changed));
    pm::write(x, bytes, 4);  // shared: x becomes another tensor
    CHECK(floats(same) == old);
    CHECK(floats(pending) == old);
    auto wanted = old;
    wanted[1] = 7, wanted[2] = 8;
    CHECK(floats(x) == wanted);
    // Alone: in place, beside work that still reads the old values.
    for (int i = 0; i < 20; ++i) {
        const auto before = floats(x);
        pm::any_tensor twice = x * 2.0;
        pm::eval(std::span<const pm::any_tensor>(&twice, 1));
        std::vector<float> fresh(64, float(i));
        pm::write(x, std::as_bytes(std::span(fresh)));
        pm::write(x, bytes, 8);
        fresh[2] = 7, fresh[3] = 8;
        CHECK(floats(x) == fresh);
        const auto was = floats(twice);
        for (std::size_t k = 0; k < 64; ++k) CHECK(was[k] == 2 * before[k]);
        CHECK(floats(x + 1.0)[2] == 8);
    }
    CHECK(code_of([&] { pm::write(x, bytes, 252); }) == pm::errc::invalid_argument);
    CHECK(code_of([&] { pm::write(x, bytes, -1); }) == pm::errc::invalid_argument);
    pm::any_tensor part = cut(same, {pm::slice{0, 64, 2}});
    pm::write(part, bytes);
    CHECK(floats(part)[1] == 8);
    CHECK(floats(part)[2] == old[4]);
    CHECK(floats(same) == old);
}

TEST_CASE("compiled: faults name what is wrong and the way out, and lose nothing") {
    const pm::context home;
    const auto x = numbers(home, {4}, 1);
    const auto looks =
        pm::compile([](const pm::any_tensor& t) { return floats(t)[0] > 0 ? t : t * 2.0; });
    CHECK(code_of([&] { looks(x); }) == pm::errc::invalid_argument);
    CHECK(text_of_error([&] { looks(x); }).find("must not depend on values") != std::string::npos);
    const auto computes =
        pm::compile([](const pm::any_tensor& t) { return floats(t + 1.0)[0] > 0 ? t : t * 2.0; });
    CHECK(code_of([&] { computes(x); }) == pm::errc::invalid_argument);
    const auto g = pm::compile([](const pm::any_tensor& t) { return t + 1.0; });
    const auto records = pm::compile([&](const pm::any_tensor& t) { return g.get(t).run({t})[0]; });
    CHECK(code_of([&] { records(x); }) == pm::errc::invalid_argument);
    CHECK(text_of_error([&] { records(x); }).find("call it, so that it becomes part") !=
          std::string::npos);
    const auto e = g.get(x);
    CHECK(code_of([&] { e.run({numbers(home, {5}, 1)}); }) == pm::errc::shape_mismatch);
    CHECK(text_of_error([&] { e.run({numbers(home, {5}, 1)}); }).find("(5,)") != std::string::npos);
    CHECK(code_of([&] { e.run({pm::zeros(pm::dtype::f16, {4}, home)}); }) ==
          pm::errc::dtype_mismatch);
    CHECK(code_of([&] { e.run({x, x}); }) == pm::errc::invalid_argument);
    CHECK(code_of([&] { e.run({pm::any_tensor()}); }) == pm::errc::invalid_argument);
    CHECK(code_of([&] { pm::executable().run({x}); }) == pm::errc::invalid_argument);
    const pm::context elsewhere;
    CHECK(code_of([&] { e.run({numbers(elsewhere, {4}, 1)}); }) == pm::errc::context_mismatch);
    const auto far = numbers(elsewhere, {4}, 1);
    const auto foreign = pm::compile([&](const pm::any_tensor&) { return far; });
    CHECK(code_of([&] { foreign(x); }) == pm::errc::context_mismatch);
    const auto throws = pm::compile([](const pm::any_tensor& t) -> pm::any_tensor {
        if (t.rank() == 1) throw pm::error(pm::errc::unsupported, "mine", "no");
        return t;
    });
    CHECK(code_of([&] { throws(x); }) == pm::errc::unsupported);
    CHECK(floats(g(x)) == floats(x + 1.0));  // tracing is over
}

TEST_CASE("compiled: the second run records, compiles and uploads nothing") {
    const pm::context home;
    const bool on_host = home.device().type == pm::device_type::host;
    const auto g = pm::compile([](const pm::any_tensor& x) {
        return pm::softmax(pm::matmul(x, x) + 1.0, 1) * 2.0;
    });
    pm::any_tensor x = numbers(home, {33, 33}, 1);
    const auto e = g.get(x);
    std::vector<pm::any_tensor> out(1);
    std::vector<float> values(33 * 33);
    const auto once = [&] {
        e.run_into(out, std::span(&x, 1));
        pm::read(out[0], std::as_writable_bytes(std::span(values)));
    };
    once();
    const pm::statistics before = home.stats();
    for (int i = 0; i < 100; ++i) once();
    const pm::statistics after = home.stats();
    // Reading a result of this size across a bus is a copy, which is recorded.
    const bool copied = !on_host && !home.device().unified_memory;
    CHECK(after.recordings - before.recordings == (copied ? 100 : 0));
    CHECK(after.slang_compiles == before.slang_compiles);
    CHECK(after.pipelines == before.pipelines);
    CHECK(after.uploads == before.uploads);
    CHECK(after.allocations == before.allocations);
    CHECK(after.device_bytes == before.device_bytes);
    CHECK(after.evals - before.evals == 100);
    if (on_host) return;
    CHECK(after.submits - before.submits == (copied ? 200 : 100));
    CHECK(after.host_waits - before.host_waits <= 100);
}

TEST_CASE("compiled: memory between kernels is shared, within a tenth of the least") {
    test::wishes w;
    w.policies.fusion = false;
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const std::int64_t n = 64;
    const auto chain = pm::compile([](pm::any_tensor x) {
        for (int i = 0; i < 50; ++i) x = pm::apply<pm::op::tanh>(x);
        return x;
    });
    const auto x = numbers(*home, {n, n}, 1);
    const std::string plan = chain.get(x).explain();
    // Every op writes over its operand, so one buffer does for fifty.
    CHECK_MESSAGE(plan.find("16384 bytes for 49 buffers") != std::string::npos, plan);
    CHECK(chain.get(x).memory_svg().find("<svg") != std::string::npos);
    pm::any_tensor y = x;
    for (int i = 0; i < 50; ++i) y = pm::apply<pm::op::tanh>(y);
    CHECK(same_bits(floats(chain(x)), floats(y)));
}

TEST_CASE("compiled: a net of fifty layers takes little more than it needs at one moment") {
    for (const bool fusion : {true, false}) {
        test::wishes w;
        w.policies.fusion = fusion;
        const std::optional<pm::context> home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        std::vector<pm::any_tensor> weights;
        for (unsigned i = 0; i < 50; ++i) {
            const std::int64_t from = 24 + i % 7 * 16, to = 24 + (i + 1) % 7 * 16;
            weights.push_back(numbers(*home, {from, to}, i) * 0.01);
        }
        pm::eval(weights);
        // Each layer adds what came five layers before it where the shapes agree.
        const auto net = pm::compile([&](const pm::any_tensor& x) {
            std::vector<pm::any_tensor> all{x};
            for (std::size_t i = 0; i < weights.size(); ++i) {
                pm::any_tensor y = pm::matmul(all.back(), weights[i]);
                if (i % 3 == 0) y = pm::softmax(y, 1);
                if (i >= 7 && all[i - 6].shape() == y.shape()) y = y + all[i - 6];
                all.push_back(pm::relu(y));
            }
            return all.back();
        });
        const auto x = numbers(*home, {40, 24}, 99);
        const pm::memory_use use = net.get(x).memory();
        std::printf("measured 50 layers, fusion %s: %lld bytes, unshared %lld, least %lld\n",
                    fusion ? "on" : "off", static_cast<long long>(use.bytes),
                    static_cast<long long>(use.unshared), static_cast<long long>(use.least));
        CHECK(use.bytes >= use.least);
        CHECK(10 * use.bytes <= 11 * use.least);
        CHECK(4 * use.bytes <= use.unshared);
    }
}

TEST_CASE("compiled: random programs with exchanged inputs, the same bits as evaluated afresh") {
    for (const bool fusion : {true, false}) {
        test::wishes w;
        w.policies.fusion = fusion;
        w.staged = fusion;  // each kind of memory once
        const std::optional<pm::context> device = test::open_context(w);
        const pm::context home = device ? *device : pm::context();
        test::program_kind kind, other;
        kind.evaluate = other.evaluate = false;
        kind.variables = other.variables = 4;
        kind.most = other.most = 24;
        other.start = 2;
        int different = 0, runs = 0;
        for (unsigned seed = 0; seed < 25; ++seed) {
            std::mt19937 random(seed), again(seed);
            const variables a = test::beginning(random, home, kind),
                            b = test::beginning(again, home, other);
            const pm::executable e =
                pm::trace(home,
                          std::vector<pm::executable::value>(4, {pm::dtype::f32, a[0].shape()}),
                          [&](std::span<const pm::any_tensor> t) {
                              return program(t, seed, kind);
                          });
            const auto expect_a = elements_of(program(a, seed, kind)),
                       expect_b = elements_of(program(b, seed, kind));
            std::vector<pm::any_tensor> out(4);
            for (int i = 0; i < 20; ++i) {
                e.run_into(out, i % 2 ? b : a);
                different += !same_bits(elements_of(out), i % 2 ? expect_b : expect_a);
                ++runs;
            }
        }
        CHECK(runs == 500);
        CHECK(different == 0);
    }
}

TEST_CASE("compiled: the same bits in every order that the barriers permit") {
    for (const bool fusion : {false, true}) {
        adversary device;
        test::wishes w;
        w.edit = device.edit();
        w.policies.fusion = fusion;
        const std::optional<pm::context> home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        test::program_kind kind;
        kind.evaluate = false;
        kind.variables = 6;
        kind.most = 24;
        int different = 0;
        for (unsigned seed = 100; seed < 150; ++seed) {
            device.how = adversary::order::recorded;
            std::mt19937 random(seed);
            const variables start = test::beginning(random, *home, kind);
            const auto expected = elements_of(program(start, seed, kind));
            const pm::executable e =
                pm::trace(*home,
                          std::vector<pm::executable::value>(6, {pm::dtype::f32, start[0].shape()}),
                          [&](std::span<const pm::any_tensor> t) {
                              return program(t, seed, kind);
                          });
            for (int i = 0; i < 3; ++i) {
                device.how = i == 0 ? adversary::order::reversed : adversary::order::random;
                device.random.seed(seed * 16 + unsigned(i));
                // Several runs in flight, on what other work has only just submitted.
                std::vector<pm::any_tensor> first(6), second(6);
                variables moved;
                for (const pm::any_tensor& t : start) moved.push_back(t + 0.0);
                e.run_into(first, moved);
                e.run_into(second, start);
                different += !same_bits(elements_of(second), expected);
                different += !same_bits(elements_of(first), expected);
            }
        }
        CHECK(different == 0);
        CHECK(device.moved > device.commands / 8);
    }
}

TEST_CASE("compiled: a run that fails leaves every tensor as it was, and the next works") {
    test::wishes w;
    w.edit = [](test::vulkan::dispatcher& t) {
        test::intercept<&test::vulkan::dispatcher::vkQueueSubmit2>(t);
    };
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto g = pm::compile([](const pm::any_tensor& x) { return pm::matmul(x, x) + 1.0; });
    const auto x = numbers(*home, {17, 17}, 1), y = numbers(*home, {17, 17}, 2);
    const auto e = g.get(x);
    std::vector<pm::any_tensor> out(1);
    e.run_into(out, std::span(&x, 1));
    const auto expected = floats(out[0]);
    floats(y + 0.0);
    test::faults::arm(0, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(code_of([&] { e.run_into(out, std::span(&y, 1)); }) == pm::errc::out_of_memory);
    test::faults::disarm();
    CHECK(same_bits(floats(out[0]), expected));
    e.run_into(out, std::span(&y, 1));
    CHECK(same_bits(floats(out[0]), floats(pm::matmul(y, y) + 1.0)));
}
