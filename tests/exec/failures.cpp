// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An evaluation that fails leaves every tensor lazy; the next try succeeds.
#include <pumice/front.hpp>

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("out of device memory is an error that names the limit, and a retry works") {
    const pm::context home(pm::memory_limit{96 << 20});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the case is of a device");
    pm::matrix<float> a = pm::ones<float>({2048, 2048}, home);  // 16 MiB each
    pm::eval(a);
    std::vector<pm::matrix<float>> held;
    pm::errc code{};
    pm::matrix<float> victim;
    for (int i = 0; i < 16 && code == pm::errc{}; ++i) {
        victim = a * float(i + 2);
        try {
            pm::eval(victim);
            held.push_back(victim);
        } catch (const pm::error& e) {
            code = e.code();
            const std::string text = e.what();
            CHECK(text.find("the limit of this memory") != std::string::npos);
            CHECK(text.find("held by outputs \"elementwise\": ") != std::string::npos);
        }
    }
    CHECK(code == pm::errc::out_of_memory);
    CHECK_FALSE(victim.get()->realised());
    const float expected = float(held.size() + 2);
    held.clear();
    CHECK(victim.to_vector()[7] == expected);
}

TEST_CASE("an unsupported problem is refused with every kernel's reason, and nothing is lost") {
    const pm::context home;
    pm::matrix<float> a = pm::ones<float>({4, 4}, home);
    pm::matrix<float> fine = a + 1.0f;
    CHECK(fine.to_vector()[0] == 2);
    CHECK_THROWS_AS(pm::reduce(pm::reduction::any, a), pm::error);
    CHECK_THROWS_AS(pm::matmul(pm::any_tensor(a), pm::any_tensor(pm::ones<float>({5, 4}, home))),
                    pm::error);
    CHECK((a + fine).shape() == pm::shape{4, 4});
}

TEST_CASE("tensors of two contexts do not meet in one op") {
    const pm::context first(pm::host_only{}), second(pm::host_only{});
    const pm::vector<float> a = pm::ones<float>({3}, first), b = pm::ones<float>({3}, second);
    pm::errc code{};
    try {
        pm::vector<float> c = a + b;
    } catch (const pm::error& e) {
        code = e.code();
    }
    CHECK(code == pm::errc::context_mismatch);
}
