// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors that are filled from sources hold what these gave, by way of staging or in place, and
// nothing when a source fails.
#include "fake_transfer_queues.hpp"

#include <pumice/exec/vulkan/device_filling.hpp>

namespace pm = pumice;

namespace {

struct pattern final : pm::byte_source {
    std::int64_t shift = 0, fails_from = -1;
    explicit pattern(std::int64_t s) : shift(s) {}
    static std::uint8_t at(std::int64_t i, std::int64_t shift) {
        return static_cast<std::uint8_t>((i + (i >> 9) + shift) % 253);
    }
    void read(std::int64_t begin, pm::span<std::byte> into) const override {
        if (fails_from >= 0 && begin + std::ssize(into) > fails_from)
            throw pm::error(pm::errc::io_failed, "test", "cut");
        for (std::byte& b : into) b = std::byte(at(begin++, shift));
    }
};

bool holds(const pm::any_tensor& t, std::int64_t shift) {
    const auto values = pm::to_vector<std::uint8_t>(t);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] != pattern::at(static_cast<std::int64_t>(i), shift)) return false;
    return true;
}

constexpr std::int64_t sizes[] = {1,  63, 64, 65, 0, 8 << 20, (8 << 20) + 1, 1000, (40 << 20) + 77,
                                  333};

}  // namespace

TEST_CASE("device filling: every byte is where it belongs, with four pieces of staging at most") {
    for (const bool staged : {false, true}) {
        test::wishes w;
        w.staged = staged;
        const auto home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        std::vector<pattern> sources;
        std::vector<pm::any_tensor> tensors;
        pm::array_list<pm::filling> list;
        for (const std::int64_t size : sizes) sources.emplace_back(size % 7);
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            bytes += sizes[i];
            tensors.emplace_back(home->get()->reserve(pm::dtype::u8, {sizes[i]}, "w"));
            list.push_back({tensors.back().get(), &sources[i]});
        }
        CHECK(test::code_of([&] { pm::to_vector<std::uint8_t>(tensors[0]); }) ==
              pm::errc::values_lost);
        const pm::statistics before = home->stats();
        home->get()->fill(list);
        const pm::statistics after = home->stats();
        CHECK(after.uploaded_bytes - before.uploaded_bytes == static_cast<std::uint64_t>(bytes));
        CHECK(after.uploads - before.uploads == std::size(sizes) - 1);  // one has no bytes
        CHECK(after.memory[pm::memory_role::weights] >= static_cast<std::uint64_t>(bytes));
        CHECK(after.device_bytes_peak <= after.memory[pm::memory_role::weights] + (33 << 20));
        CHECK((after.submits - before.submits > 5) == staged);
        for (std::size_t i = 0; i < tensors.size(); ++i) CHECK(holds(tensors[i], sources[i].shift));
        const pm::any_tensor next(pm::tensor<std::uint8_t, pm::dims<1>>(tensors[3]) +
                                  std::uint8_t(1));
        CHECK(pm::to_vector<std::uint8_t>(next)[2] == pattern::at(2, sources[3].shift) + 1);
        tensors.clear();
        CHECK(home->stats().memory[pm::memory_role::staging] == 0);
    }
}

TEST_CASE("device filling: a source that fails leaves tensors without values and all else alone") {
    for (const bool staged : {false, true}) {
        test::wishes w;
        w.staged = staged;
        const auto home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::any_tensor other = test::numbers(*home, 1000, 3);
        test::eval(other);
        {
            const pattern fine(1);
            pattern cut(2);
            cut.fails_from = 20 << 20;
            pm::any_tensor a(home->get()->reserve(pm::dtype::u8, {5 << 20}, "a")),
                b(home->get()->reserve(pm::dtype::u8, {50 << 20}, "b"));
            CHECK(test::code_of([&] { home->get()->fill({{a.get(), &fine}, {b.get(), &cut}}); }) ==
                  pm::errc::io_failed);
            CHECK(test::code_of([&] { pm::to_vector<std::uint8_t>(a); }) == pm::errc::values_lost);
            CHECK(test::code_of([&] { pm::to_vector<std::uint8_t>(b); }) == pm::errc::values_lost);
        }
        CHECK(pm::to_vector<float>(other)[20] == 6);
        CHECK(home->stats().memory[pm::memory_role::weights] == 0);
        const pattern again(3);
        const pm::any_tensor c(home->get()->reserve(pm::dtype::u8, {9 << 20}, "c"));
        home->get()->fill({{c.get(), &again}});
        CHECK(holds(c, 3));
    }
}

TEST_CASE("device filling: queues that only copy do, several copies in flight, and kernels wait") {
    test::fake_transfer_queues fake;
    auto runtime = fake.open();
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    REQUIRE(runtime->transfers().size() == 2);
    const pm::context home(std::make_shared<pm::vulkan_engine>(std::shared_ptr(runtime),
                                                               pm::policy_set(), "of a test"));
    std::vector<pattern> sources;
    std::vector<pm::any_tensor> tensors;
    pm::array_list<pm::filling> list;
    for (const std::int64_t size : sizes) sources.emplace_back(size % 7);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        tensors.emplace_back(home.get()->reserve(pm::dtype::u8, {sizes[i]}, "w"));
        list.push_back({tensors.back().get(), &sources[i]});
    }
    const pm::any_tensor other = test::numbers(home, 1000, 3);
    pm::any_tensor next;
    pm::profiler profiler(home);
    home.get()->fill(list);
    // Nobody waits for anything between the copies and this kernel.
    next = pm::any_tensor(pm::tensor<std::uint8_t, pm::dims<1>>(tensors[8]) + std::uint8_t(1));
    test::eval(next);
    const pm::profile seen = profiler.finish();
    const auto uploads = std::ranges::count(seen.events, "upload", &pm::profile_event::name);
    CHECK(uploads == (runtime->device().timestamp_bits() > 0 ? 8 : 0));
    for (const auto& t : runtime->transfers()) CHECK(t->queue->submitted() >= 2);
    CHECK(fake.most_held >= 2);
    CHECK(fake.shared_buffers > 0);
    CHECK(fake.refused == 0);
    CHECK(pm::to_vector<std::uint8_t>(next).back() ==
          static_cast<std::uint8_t>(pattern::at(sizes[8] - 1, sources[8].shift) + 1));
    for (std::size_t i = 0; i < tensors.size(); ++i) CHECK(holds(tensors[i], sources[i].shift));

    // One that fails half way leaves all else alone.
    sources[8].fails_from = 20 << 20;
    pm::any_tensor half(home.get()->reserve(pm::dtype::u8, {sizes[8]}, "w"));
    pm::array_list<pm::filling> bad;
    bad.push_back({half.get(), &sources[8]});
    CHECK(test::code_of([&] { home.get()->fill(bad); }) == pm::errc::io_failed);
    CHECK(test::code_of([&] { pm::to_vector<std::uint8_t>(half); }) == pm::errc::values_lost);
    half = {};
    CHECK(pm::to_vector<float>(other)[1] == 4);
}
