// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host device: its memory, and values that lie strided read in row-major order.
#include <pumice/exec/host_engine.hpp>
#include <pumice/front.hpp>

#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

#include <random>

namespace pm = pumice;

TEST_CASE(
    "host: memory is aligned to a cache line, and what is not there is an error with its size") {
    for (const std::int64_t bytes : {0, 1, 63, 4096}) {
        const pm::host_memory m(bytes);
        CHECK(reinterpret_cast<std::uintptr_t>(m.data()) % 64 == 0);
        CHECK(m.size() == bytes);
    }
    if (test::address_sanitizer) return;  // it ends a program that asks for so much
    try {
        const pm::host_memory m(std::int64_t(1) << 60);
        FAIL("there is no such memory");
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::out_of_memory);
        CHECK(std::string(e.what()).find("1152921504606846976") != std::string::npos);
    }
}

TEST_CASE("host: gather gives any strides in row-major order, for each size of element") {
    std::mt19937 random(9);
    for (const pm::dtype type : {pm::dtype::i8, pm::dtype::f16, pm::dtype::f32, pm::dtype::i64}) {
        const std::size_t size = std::size_t(pm::info(type).bits / 8);
        std::vector<std::byte> from(1000 * size);
        for (std::byte& b : from) b = std::byte(random());
        for (int round = 0; round < 300; ++round) {
            pm::shape extent;
            pm::strides steps;
            for (auto r = random() % 5; r > 0; --r) {
                extent.push_back(std::int64_t(1 + random() % 4));
                steps.push_back(std::int64_t(random() % 41) - 20);
            }
            if (round % 3 == 0) steps = pm::row_major_strides(extent);
            const std::int64_t n = pm::element_count(extent), offset = 400;
            std::vector<std::byte> out(std::size_t(n) * size), wanted;
            pm::gather(type, extent, from.data(), offset, steps, out.data());
            for (std::int64_t i = 0; i < n; ++i) {
                std::int64_t at = offset, rest = i;
                for (int d = extent.rank() - 1; d >= 0; --d) {
                    at += rest % extent[d] * steps[d];
                    rest /= extent[d];
                }
                const auto* element = from.data() + std::size_t(at) * size;
                wanted.insert(wanted.end(), element, element + size);
            }
            CHECK(out == wanted);
        }
    }
}

TEST_CASE("host: data is copied when a tensor is made, and zeros need none") {
    const auto engine = std::make_shared<pm::host_engine>(pm::policy_set{}, "the report");
    const pm::context home(engine);
    float v[] = {1, 2, 3};
    const pm::any_tensor t(engine->create(pm::dtype::f32, {3}, v));
    v[0] = 9;
    CHECK(pm::to_vector<float>(t) == std::vector<float>{1, 2, 3});
    const pm::any_tensor z(engine->create(pm::dtype::i32, {2, 2}, nullptr));
    CHECK(pm::to_vector<std::int32_t>(z) == std::vector<std::int32_t>(4, 0));
    CHECK(home.device().type == pm::device_type::host);
    CHECK(home.device_report() == "the report");
}

TEST_CASE("bytes of bools are true where they are not 0, whoever brings them") {
    const pm::context home;
    const std::uint8_t some[] = {0, 1, 2, 255}, others[] = {4, 0};
    pm::any_tensor t =
        pm::from_bytes(pm::dtype::boolean, {4}, std::as_bytes(std::span(some)), home);
    const auto counts = [&] { return pm::to_vector<int>(pm::astype(t, pm::dtype::i32)); };
    CHECK(counts() == std::vector<int>{0, 1, 1, 1});
    const pm::any_tensor both =
        pm::apply<pm::op::logical_and>(t, pm::apply<pm::op::logical_not>(t));
    CHECK(pm::to_vector<int>(pm::astype(both, pm::dtype::i32)) == std::vector<int>(4, 0));
    pm::write(t, std::as_bytes(std::span(others)), 1);
    CHECK(counts() == std::vector<int>{0, 1, 0, 1});
    const pm::any_tensor seen = t;  // so that writing makes another tensor
    pm::write(t, std::as_bytes(std::span(others)), 2);
    CHECK(counts() == std::vector<int>{0, 1, 1, 0});
}

TEST_CASE("host: each kernel of an evaluation is counted once") {
    const pm::context home(pm::host_only{}, pm::fusion::none{});
    const pm::matrix<float> a = pm::from_span<float>({3, 3}, std::vector<float>(9, 1), home);
    pm::matrix<float> y = pm::relu(pm::matmul(a, a) - 2.0f);
    CHECK(y.to_vector() == std::vector<float>(9, 1.0f));
    CHECK(home.stats().dispatches == 3);
    CHECK(home.stats().evals == 1);
    CHECK(home.stats().uploads == 0);
    y.to_vector();
    CHECK(home.stats().evals == 1);
    CHECK(pm::to_vector<float>(pm::transpose(pm::matrix<float>{{1, 2}, {3, 4}})) ==
          std::vector<float>{1, 3, 2, 4});
}

TEST_CASE("host: what a function throws that follows a submission does not reach its caller") {
    const pm::context home{pm::host_only{}};
    const pm::any_tensor x = pm::full(pm::dtype::f32, {2}, 3, home);
    const auto twice = pm::compile([](const pm::any_tensor& v) { return v + v; });
    std::vector<pm::any_tensor> out(1);
    const pm::submission s = twice.get(x).run_into(out, std::span(&x, 1));
    static int called = 0;
    called = 0;
    const pm::log_sink before =
        pm::set_log_sink([](pm::severity, std::string_view) { called += 10; });
    CHECK_NOTHROW(s.then([] {
        ++called;
        throw std::runtime_error("no");
    }));
    pm::set_log_sink(before);
    CHECK(called == 11);
}
