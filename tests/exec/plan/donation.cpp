// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that changes hands: in place where nobody else can see it, and nowhere else.
// tests/exec/aliasing.cpp holds it to values in a thousand random cases.
#include <pumice/exec/adopt.hpp>

#include "../support.hpp"

#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

namespace pm = pumice;

namespace {

std::uint64_t place(pm::any_tensor& t) {
    const pm::vulkan_buffer b = pm::buffer_of(t);
    return reinterpret_cast<std::uint64_t>(b.buffer) + b.offset;
}
pm::any_tensor ramp(const pm::context& home) {
    const pm::any_tensor x = pm::arange(pm::dtype::f32, 0, 4096, 1, home);
    pm::eval(std::span(&x, 1));
    return x;
}
void run(const pm::any_tensor& t) { pm::eval(std::span(&t, 1)); }

}  // namespace

TEST_CASE("in place: an op on a tensor that nobody else holds takes its memory") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    pm::any_tensor x = ramp(*home);
    const std::uint64_t there = place(x);
    const std::uint64_t bytes = home->stats().device_bytes;
    for (int i = 0; i < 5; ++i) {
        x = x * 2.0 - 1.0;
        run(x);
        CHECK(place(x) == there);
    }
    CHECK(home->stats().device_bytes == bytes);
    pm::at(x, pm::slice{10, 20}) = 3;
    const auto before = home->stats().dispatches;
    run(x);
    CHECK(place(x) == there);
    CHECK(home->stats().dispatches - before == 1);  // the ten elements alone
    const auto v = pm::to_vector<float>(x);
    CHECK(v[9] == 9 * 32 - 31);
    CHECK(v[10] == 3);
    CHECK(v[20] == 20 * 32 - 31);
}

TEST_CASE(
    "not in place: another handle, a view, a lazy reader, another use in the same evaluation") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto expect = [&](auto&& hold, bool moves) {
        pm::any_tensor x = ramp(*home);
        const std::uint64_t there = place(x);
        const auto other = hold(x);
        x = x + 1.0;
        run(x);
        CHECK((place(x) != there) == moves);
        const auto v = pm::to_vector<float>(x);
        CHECK(v[0] == 1);
        CHECK(v[4095] == 4096);
        return other;
    };
    const auto held = expect([](const pm::any_tensor& x) { return x; }, true);
    CHECK(pm::to_vector<float>(held)[4095] == 4095);
    const auto seen = expect(
        [](const pm::any_tensor& x) {
            pm::any_tensor v = pm::slice_view(x, std::vector<pm::slice>{{1, 3, 1}});
            run(v);
            return v;
        },
        true);
    CHECK(pm::to_vector<float>(seen) == std::vector<float>{1, 2});
    const auto lazy = expect([](const pm::any_tensor& x) { return x * 2.0; }, true);
    CHECK(pm::to_vector<float>(lazy)[2] == 4);
    expect([](const pm::any_tensor&) { return 0; }, false);
    // A lazy node that nobody can reach keeps nothing.
    expect([](const pm::any_tensor& x) { return (x * 2.0).shape(); }, false);

    pm::any_tensor x = ramp(*home);
    const std::int64_t axes[] = {0};
    pm::any_tensor y = pm::flip(x) + x, z = pm::reduce(pm::reduction::sum, x, axes);
    x = x + 1.0;
    const pm::any_tensor roots[] = {x, y, z};
    pm::eval(roots);
    CHECK(pm::to_vector<float>(y)[7] == 4095);
    CHECK(pm::to_vector<float>(z)[0] == 4095.0f * 2048);
    CHECK(pm::to_vector<float>(x)[7] == 8);
    // It reads elsewhere than it writes.
    pm::any_tensor turned = ramp(*home);
    turned = pm::flip(turned) - turned;
    CHECK(pm::to_vector<float>(turned)[1] == 4093);
    // Rows of a part: the memory is larger than the result.
    pm::any_tensor part = pm::slice_view(ramp(*home), std::vector<pm::slice>{{0, 100, 1}});
    run(part);
    part = part + 1.0;
    CHECK(pm::to_vector<float>(part)[99] == 100);
    CHECK(part.size() == 100);
}

TEST_CASE(
    "in place: an evaluation that fails before it writes loses nothing, also where it is submitted "
    "in pieces (state.cpp has what fails later)") {
    test::wishes w;
    w.policies.submit_budget = 1e-9;
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    pm::any_tensor x = ramp(*home);
    const std::uint64_t there = place(x);
    x = x + 1.0;
    run(x);
    CHECK(place(x) == there);
    CHECK(pm::to_vector<float>(x)[5] == 6);

    test::wishes small;
    small.policies.memory_limit = 192 << 20;
    const std::optional<pm::context> tight = test::open_context(small);
    pm::any_tensor y = ramp(*tight);
    y = y + 1.0;
    const pm::any_tensor large = pm::full(pm::dtype::f32, {1 << 26}, 1, *tight);
    const pm::any_tensor both[] = {y, large};
    CHECK_THROWS_AS(pm::eval(both), pm::error);
    CHECK(pm::to_vector<float>(y)[5] == 6);
}

TEST_CASE(
    "donated: an executable's state stays in one memory; what somebody else holds is not touched") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto step = pm::compile([](const pm::any_tensor& state, const pm::any_tensor& x) {
        const pm::any_tensor next = state * 0.5 + x;
        return std::vector<pm::any_tensor>{next, pm::reduce(pm::reduction::max, state)};
    });
    pm::any_tensor state = ramp(*home);
    const pm::any_tensor x = ramp(*home);
    const pm::executable e = step.get(state, x);
    // The maximum reads the state beside the step: no barrier orders them, so it keeps its memory.
    CHECK(pm::to_vector<float>(e.run_donating(std::move(state), x)[1])[0] == 4095);

    // The product reads rows and columns of what the other kernel might write over.
    const auto simple = pm::compile([](const pm::any_tensor& s, const pm::any_tensor& a) {
        return pm::tanh(s) + pm::matmul(a, s);
    });
    std::vector<float> plain(64 * 64);
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = float(i % 13) / 16;
    const auto matrix = [&] {
        const auto bytes = std::as_bytes(std::span(plain));
        pm::any_tensor m = pm::from_bytes(pm::dtype::f32, {64, 64}, bytes, *home) + 0.0;
        run(m);
        return m;
    };
    const pm::any_tensor a = matrix();
    pm::any_tensor s = matrix();
    const pm::executable recorded = simple.get(s, a);
    pm::any_tensor expected = s;
    for (int i = 0; i < 3; ++i) {
        expected = recorded.run({expected, a})[0];
        s = recorded.run_donating(std::move(s), a)[0];
        CHECK(pm::to_vector<float>(s) == pm::to_vector<float>(expected));
    }

    const auto halves = pm::compile([](const pm::any_tensor& u) { return u * 0.5; });
    pm::any_tensor u = ramp(*home);
    const pm::executable half = halves.get(u);
    const std::uint64_t where = place(u);
    for (int i = 0; i < 4; ++i) {
        u = half.run_donating(std::move(u))[0];
        CHECK(place(u) == where);
    }
    CHECK(pm::to_vector<float>(u)[16] == 1);
    pm::any_tensor held = u, result = half.run_donating(std::move(u))[0];
    CHECK(place(result) != where);
    CHECK(pm::to_vector<float>(held)[16] == 1);
    CHECK(pm::to_vector<float>(result)[16] == 0.5);
    CHECK(place(held) == where);
    // Turned, so that the run works with a copy, and the only one to hold its memory.
    const std::int64_t order[] = {1, 0};
    pm::any_tensor turned = pm::permute_dims(pm::reshape(ramp(*home), {64, 64}), order);
    run(turned);
    const auto turned_half = halves.get(turned).run_donating(pm::any_tensor(turned));
    CHECK(pm::to_vector<float>(turned_half[0])[1] == 32);
    CHECK(pm::to_vector<float>(turned + 0.0)[1] == 64);
}

TEST_CASE("donated: a recording writes a row of its state, and copies nothing") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto append = pm::compile([](const pm::any_tensor& state, const pm::any_tensor& row) {
        pm::any_tensor next = state;
        pm::at(next, pm::slice{3, 4}) = row;
        return next;
    });
    pm::any_tensor state = pm::reshape(ramp(*home), {64, 64}) + 0.0;
    const pm::any_tensor row = pm::zeros(pm::dtype::f32, {64}, *home);
    run(state);
    run(row);
    const pm::executable e = append.get(state, row);
    auto dispatches = home->stats().dispatches;
    const pm::any_tensor kept = e.run({state, row})[0];
    CHECK(home->stats().dispatches - dispatches == 2);
    CHECK(pm::to_vector<float>(state)[3 * 64] == 3 * 64);

    const std::uint64_t where = place(state);
    dispatches = home->stats().dispatches;
    for (int i = 0; i < 3; ++i) {
        state = e.run_donating(std::move(state), row)[0];
        CHECK(place(state) == where);
        CHECK(pm::to_vector<float>(state)[3 * 64] == 0);
    }
    CHECK(home->stats().dispatches - dispatches == 3);  // one in each run
    CHECK(pm::to_vector<float>(state) == pm::to_vector<float>(kept));
    CHECK(pm::to_vector<float>(state)[3 * 64 - 1] == 3 * 64 - 1);
    CHECK(pm::to_vector<float>(state)[3 * 64] == 0);
    // Held by another handle it is copied first.
    const pm::any_tensor held = state;
    const pm::any_tensor other = e.run_donating(std::move(state), row)[0];
    pm::any_tensor moved = other;
    CHECK(place(moved) != where);
}
