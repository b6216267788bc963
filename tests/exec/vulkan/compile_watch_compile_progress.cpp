// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// First runs: who wants to is told of each kernel that becomes ready, and the compiler is given
// back by trim().
#include <pumice.hpp>
#include <pumice/policy/compile_progress.hpp>

#include <tests/slang/support.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <mutex>
#include <thread>

namespace pm = pumice;

namespace {

struct told {
    std::string kernel;
    int done, total;
    double seconds;
};

/// Three kernels, of which no two are equal: each sum reads what the one before it stored.
std::vector<float> three_kernels(const pm::context& home, float scale) {
    const pm::any_tensor x = pm::arange(pm::dtype::f32, 0, 600, 1, home);
    const pm::any_tensor rows = pm::sum(pm::reshape(x, {20, 30}) * scale, 1);
    const pm::any_tensor sorted = pm::sort(rows);
    return pm::to_vector<float>(pm::cumulative_sum(sorted, 0));
}

}  // namespace

TEST_CASE("a policy is told of each kernel that an evaluation waits for, once") {
    const test::folder cache;
    std::vector<told> all;
    const auto note = [&all](const pm::compile_progress& p) {
        all.push_back({std::string(p.kernel), p.done, p.total, p.seconds});
    };
    const pm::context home(pm::cache_folder{cache.path.string()}, pm::watch_compiling{note});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host compiles no kernels");
    const auto expected = three_kernels(home, 2.0f);
    CHECK(expected.back() == 2.0f * 599 * 600 / 2);
    REQUIRE(!all.empty());
    const std::uint64_t pipelines = home.stats().pipelines;
    CHECK(all.size() == pipelines);
    int done = 0;
    double seconds = 0;
    for (const told& t : all) {
        CHECK(!t.kernel.empty());
        CHECK(t.done == ++done);
        CHECK(t.done <= t.total);
        CHECK(t.seconds >= seconds);
        seconds = t.seconds;
        if (done == t.total) done = 0, seconds = 0;
    }
    CHECK(done == 0);

    CHECK(three_kernels(home, 2.0f) == expected);
    CHECK(all.size() == pipelines);  // nothing was left to compile
}

TEST_CASE("what the policy throws ends the evaluation, and the next one finds what was ready") {
    const test::folder cache;
    bool refuses = true;
    const auto note = [&refuses](const pm::compile_progress&) {
        if (refuses) throw std::runtime_error("enough");
    };
    const pm::context home(pm::cache_folder{cache.path.string()}, pm::watch_compiling{note});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host compiles no kernels");
    CHECK_THROWS_WITH_AS(three_kernels(home, 3.0f), "enough", std::runtime_error);
    refuses = false;
    CHECK(three_kernels(home, 3.0f).back() == 3.0f * 599 * 600 / 2);
}

TEST_CASE("trim gives Slang back, but what another context's session was made from") {
    const test::folder cache;
    const pm::context home(pm::cache_folder{cache.path.string()}),
        other(pm::cache_folder{cache.path.string() + "/other"});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host compiles no kernels");
    three_kernels(home, 2.0f);
    three_kernels(other, 2.0f);
    const std::uint64_t made = pm::slang_sessions_made();
    home.trim();
    three_kernels(home, 2.0f);  // its kernels are ready
    CHECK(pm::slang_sessions_made() == made);
    const pm::any_tensor x = pm::arange(pm::dtype::f32, 0, 600, 1, home);
    CHECK(pm::to_vector<float>(pm::max(x * 3.0f - x, {0}))[0] == 2.0f * 599);
    CHECK(pm::slang_sessions_made() == made);
    const pm::any_tensor y = pm::arange(pm::dtype::f32, 0, 600, 1, other);  // has its old session
    CHECK(pm::to_vector<float>(pm::max(y * 3.0f - y, {0}))[0] == 2.0f * 599);
    other.trim();
    home.trim();
    CHECK(pm::to_vector<float>(pm::min(y - y * 3.0f, {0}))[0] == -2.0f * 599);
}

TEST_CASE("trim while others compile: every kernel comes out right") {
    const test::folder cache;
    const pm::context home(pm::cache_folder{cache.path.string()});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host compiles no kernels");
    std::atomic<bool> over = false;
    std::thread trims([&] {
        while (!over) {
            home.trim();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    });
    for (int n = 0; n < 4; ++n) {
        pm::any_tensor x = pm::full(pm::dtype::f32, {300}, 1.0, home);
        for (int i = 0; i <= n; ++i) x = x * x + x;  // 2, 6, 42, 1806
        const float expected[] = {2, 6, 42, 1806};
        CHECK(pm::to_vector<float>(x) == std::vector<float>(300, expected[n]));
    }
    over = true;
    trims.join();
}
