// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Contexts: made through the hook, the process-wide one, and the calls that move bytes.
#include <pumice/tensor/context.hpp>

#include <pumice/base/expected.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

pm::policy_set asked;
std::shared_ptr<pm::engine> remember(pm::policy_set set) {
    asked = set;
    if (set.device_named) throw pm::error(pm::errc::no_device, "context", "none here");
    return std::make_shared<pumice_test::fake_engine>(std::move(set));
}

/// Puts a factory into the hook and empties the process-wide slot, before and after.
struct hooked {
    pm::engine_factory* before;
    explicit hooked(pm::engine_factory* make) : before(pm::engine_hook.exchange(make)) {
        pm::detail::release_default();
    }
    hooked(const hooked&) = delete;
    hooked& operator=(const hooked&) = delete;
    ~hooked() {
        pm::detail::release_default();
        pm::engine_hook.store(before);
    }
};

}  // namespace

TEST_CASE("context: without an engine the error says how to get one") {
    const hooked none(nullptr);
    try {
        pm::context home;
        FAIL("made");
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::no_engine);
        CHECK(std::string(e.what()).find("pumice::compiled") != std::string::npos);
    }
    CHECK_THROWS_AS(pm::zeros(pm::dtype::f32, {1}), pm::error);
}

TEST_CASE("context: policies reach the engine in any order, the later of two wins") {
    const hooked fake(&remember);
    const pm::context home(pm::cache_folder{"first"}, pm::fusion::none{}, pm::memory_limit{1000},
                           pm::cache_folder{"second"});
    CHECK(asked.cache_folder == "second");
    CHECK_FALSE(asked.fusion);
    CHECK(asked.memory_limit == 1000);
    CHECK(home.get()->policies().cache_folder == "second");
    CHECK(home.device_report() == "fake");
}

TEST_CASE("context: try_make gives the error") {
    const hooked fake(&remember);
    const auto refused = pm::context::try_make(pm::vulkan_only{});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == pm::errc::no_device);
    CHECK(pm::context::try_make(pm::eager{}).has_value());
    CHECK(asked.eager);
}

TEST_CASE("context: the process-wide one is made once, at first use, and can be replaced") {
    const hooked fake(&remember);
    const pm::context first = pm::default_context();
    CHECK(pm::default_context().get() == first.get());
    const pm::any_tensor x = pm::zeros(pm::dtype::f32, {2});
    CHECK(x.get()->owner == first.get());
    const pm::context other;
    pm::set_default_context(other);
    CHECK(pm::zeros(pm::dtype::f32, {2}).get()->owner == other.get());
    CHECK(x.get()->owner == first.get());
    CHECK(pm::stats().evals == 0);
}

TEST_CASE("context: bytes go in and come out in row-major order") {
    const pm::context home(pumice_test::host());
    const std::vector<std::int16_t> values{1, -2, 3, -4};
    const pm::any_tensor x =
        pm::from_bytes(pm::dtype::i16, {2, 2}, std::as_bytes(std::span(values)), home);
    CHECK(x.dtype() == pm::dtype::i16);
    CHECK(pm::to_vector<std::int16_t>(x) == values);
    const std::int64_t order[] = {1, 0};
    CHECK(pm::to_vector<std::int16_t>(pm::permute_dims(x, order)) ==
          std::vector<std::int16_t>{1, 3, -2, -4});
    const std::uint8_t flags[] = {1, 0, 1};
    const pm::any_tensor b =
        pm::from_bytes(pm::dtype::boolean, {3}, std::as_bytes(std::span(flags)), home);
    CHECK(pm::to_vector<bool>(b) == std::vector<bool>{true, false, true});
    CHECK(pm::to_vector<float>(pm::zeros(pm::dtype::f32, {2, 0}, home)).empty());
}

TEST_CASE("context: eval runs several roots, and explain tells before and after") {
    const pm::context home(pumice_test::host());
    const pm::any_tensor x = pm::zeros(pm::dtype::f32, {4}, home);
    const std::vector<pm::any_tensor> roots{pm::apply<pm::op::exp>(x), pm::apply<pm::op::cos>(x)};
    CHECK(pm::explain(roots[0]).find("exp") != std::string::npos);
    CHECK(pm::explain(roots[0]).find("not evaluated yet") != std::string::npos);
    pm::eval(std::span<const pm::any_tensor>(roots));
    CHECK(roots[0].get()->realised());
    CHECK(roots[1].get()->realised());
    CHECK(home.stats().evals == 1);
    CHECK(pm::explain(roots[0]).find("not evaluated yet") == std::string::npos);
    CHECK(pm::explain(x).find("data from the host") != std::string::npos);
    pm::eval(std::span<const pm::any_tensor>{});
    CHECK(home.stats().evals == 1);
}
