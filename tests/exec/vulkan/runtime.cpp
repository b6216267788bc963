// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A device at work: each kernel becomes one pipeline, whoever asks and however often.
#include "../launches.hpp"
#include "gate.hpp"

#include <pumice/front.hpp>

#include <thread>

namespace pm = pumice;
using test::launches_of;

TEST_CASE("runtime: eight threads that want one kernel get one pipeline, and the right values") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 5; ++i) {
                    const std::vector<float> v(40, float(t));
                    const pm::matrix<float> a = pm::from_span<float>({5, 8}, v, *home);
                    pm::matrix<float> y = pm::abs(a * 3.0f) + a;
                    for (const float x : y.to_vector()) wrong += x != float(4 * t);
                }
            });
    }
    CHECK(wrong == 0);
    CHECK(home->stats().dispatches == 40);
    CHECK(home->stats().pipelines == 1);
    CHECK(home->stats().slang_compiles + home->stats().cache_hits == 1);
}

TEST_CASE(
    "runtime: equal launches share a pipeline, others have their own, and each place gets its") {
    const auto runtime = test::open_runtime();
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::context host(pm::host_only{});
    const pm::matrix<float> a = pm::zeros<float>({4, 4}, host);
    const pm::device_info& device = runtime->device().info();
    const auto sum = launches_of(pm::matrix<float>(a + a), device),
               other = launches_of(pm::matrix<float>(pm::abs(a)), device),
               scaled = launches_of(pm::matrix<float>(a * 2.0f), device),
               scaled_more = launches_of(pm::matrix<float>(a * 3.0f), device);
    const auto made =
        runtime->pipelines({&sum[0], &other[0], &sum[0], &scaled[0], &scaled_more[0]});
    REQUIRE(made.size() == 5);
    CHECK(made[0] == made[2]);
    CHECK(made[0] != made[1]);
    CHECK(made[3] == made[4]);  // a number is an argument, never text
    CHECK(runtime->device().stats().pipelines == 3);
    CHECK(runtime->pipelines({&other[0]}).at(0) == made[1]);
    CHECK(runtime->device().stats().pipelines == 3);
}

TEST_CASE(
    "runtime: a kernel that does not compile is an error, and the others are made at the next "
    "try") {
    const auto runtime = test::open_runtime();
    if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const pm::context host(pm::host_only{});
    const pm::matrix<float> a = pm::zeros<float>({4, 4}, host);
    const auto good = launches_of(pm::matrix<float>(a + a), runtime->device().info());
    pm::launch broken = good[0];
    broken.arguments[0] = "NoSuchProgram";
    CHECK_THROWS_AS(runtime->pipelines({&broken, &good[0]}), pm::error);
    CHECK(runtime->pipelines({&good[0]}).at(0) != nullptr);
}

TEST_CASE("runtime: a wait asks for as long as the policy says, and then sleeps") {
    for (const int microseconds : {0, 20'000'000}) {
        CAPTURE(microseconds);
        test::wishes w;
        w.edit = test::gate::edit();
        pm::poll_for{microseconds}.apply(w.policies);
        const std::optional<pm::context> home = test::open_context(w);
        if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::any_tensor x = test::numbers(*home, 4096, 1), y = pm::apply<pm::op::add>(x, 2.0);
        test::eval(pm::apply<pm::op::add>(x, 1.0));
        test::gate::closed = true;
        test::gate::waiting = 0;
        test::eval(y);
        const std::jthread opens([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            test::gate::closed = false;
        });
        CHECK(pm::to_vector<float>(y)[0] == 3);
        CHECK((test::gate::waiting > 0) == (microseconds == 0));
    }
}
