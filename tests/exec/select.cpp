// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel is chosen, what is said of the others, and what a user's policy may do.
#include <tests/expr/support.hpp>
#include <tests/kernels/products.hpp>

#include <pumice/exec/select.hpp>

#include <doctest/doctest.h>

#include <functional>

using namespace pumice;

namespace {

device_info device() {
    device_info d;
    d.name = "a device";
    d.type = device_type::discrete_gpu;
    d.max_workgroup_count = {65535, 65535, 65535};
    d.max_workgroup_invocations = 1024;
    d.shared_memory = 32 << 10;
    return d;
}

/// y = x + x over n elements, read with this step.
elementwise_problem doubled(dtype type, std::int64_t n, std::int64_t step) {
    pumice_test::builder b;
    const auto x = b.leaf(0, type);
    b.out({b.apply<op::add>(x, x)});
    program p;
    p.code.append(b.view().code.begin(), b.view().code.end());
    p.outputs.append(b.view().outputs.begin(), b.view().outputs.end());
    elementwise_problem e{{n}, {}};
    e.body.body = std::make_shared<const program>(std::move(p));
    e.body.leaves = {{0, type, 0, {step}}};
    e.body.outputs = {{1, type, 0, {1}}};
    return e;
}

errc code_of(const std::function<void()>& f, std::vector<std::string>* reasons = nullptr) {
    try {
        f();
    } catch (const error& e) {
        if (reasons) *reasons = e.reasons();
        return e.code();
    }
    return errc{};
}

}  // namespace

TEST_CASE("select: the cheapest kernel that takes the problem, and why the other was not taken") {
    const choice wide = choose(doubled(dtype::f32, 64, 1), device(), {});
    CHECK(wide.record->kernel == "elementwise/vectors");
    REQUIRE(wide.launches.size() == 1);
    CHECK(wide.launches[0].entry == "vectors");
    REQUIRE(wide.record->rejected.size() == 2);
    CHECK(wide.record->rejected[0].starts_with("elementwise/tiled: no operand is contiguous"));
    CHECK(wide.record->rejected[1].starts_with("elementwise/strided: "));
    CHECK(wide.record->rejected[1].ends_with(" us expected"));
    const choice apart = choose(doubled(dtype::f32, 64, 2), device(), {});
    CHECK(apart.record->kernel == "elementwise/strided");
    REQUIRE(apart.record->rejected.size() == 2);
    CHECK(apart.record->rejected[0].starts_with("elementwise/vectors: an operand is neither"));
    CHECK(apart.record->rejected[1].starts_with("elementwise/tiled: no operand is contiguous"));
}

TEST_CASE("select: a transposed operand is read in tiles") {
    elementwise_problem p = doubled(dtype::f32, 64, 1);
    p.domain = {64, 64};
    p.body.leaves[0].steps = {1, 64};
    p.body.outputs[0].steps = {64, 1};
    const choice c = choose(p, device(), {});
    CHECK(c.record->kernel == "elementwise/tiled");
    REQUIRE(c.launches.size() == 1);
    CHECK(c.launches[0].grid == std::array<std::uint32_t, 3>{1, 1, 1});
    p.domain = {100000, 8};  // a tile would be mostly edge
    p.body.leaves[0].steps = {1, 100000};
    p.body.outputs[0].steps = {8, 1};
    CHECK(choose(p, device(), {}).record->kernel == "elementwise/strided");
}

TEST_CASE("select: a problem that no kernel takes is refused with the reason of each") {
    std::vector<std::string> reasons;
    CHECK(code_of([] { choose(doubled(dtype::f64, 64, 1), device(), {}); }, &reasons) ==
          errc::unsupported);
    REQUIRE(reasons.size() == 3);
    CHECK(reasons[0] == "elementwise/vectors: the device has no f64");
    CHECK(reasons[1] == "elementwise/tiled: the device has no f64");
    CHECK(reasons[2] == "elementwise/strided: the device has no f64");
    device_info able = device();
    able.float64_arithmetic = true;
    CHECK(choose(doubled(dtype::f64, 64, 1), able, {}).record->kernel == "elementwise/vectors");
}

TEST_CASE("select: a user's policy sees every kernel that takes the problem, and decides") {
    policy_set p;
    std::vector<std::string> seen;
    std::size_t answer = 1;
    p.kernel = [&](std::span<const kernel_candidate> list) {
        seen.clear();
        for (const kernel_candidate& c : list) {
            seen.emplace_back(c.name);
        }
        return answer;
    };
    const choice c = choose(doubled(dtype::f32, 64, 1), device(), p);
    CHECK(seen == std::vector<std::string>{"elementwise/vectors", "elementwise/strided"});
    CHECK(c.record->kernel == "elementwise/strided");
    CHECK(c.launches[0].entry == "strided");
    answer = 0;
    choose(doubled(dtype::f32, 64, 2), device(), p);  // only one is able here
    CHECK(seen == std::vector<std::string>{"elementwise/strided"});
    answer = 1;
    CHECK(code_of([&] { choose(doubled(dtype::f32, 64, 2), device(), p); }) ==
          errc::invalid_argument);
    portable{}.apply(p);
    CHECK(choose(doubled(dtype::f32, 64, 1), device(), p).record->kernel == "elementwise/strided");
    fastest{}.apply(p);
    CHECK(choose(doubled(dtype::f32, 64, 1), device(), p).record->kernel == "elementwise/vectors");
}

TEST_CASE("select: a kernel of several launches comes with the scratch that they share") {
    reduce_problem p;
    p.outer = {64};
    p.inner = {1 << 16};
    p.prologue = doubled(dtype::f32, 4, 1).body;
    p.prologue.outputs.clear();
    p.prologue.leaves[0].steps = {1, 64};
    pumice_test::builder b;
    b.out({b.given()});
    program body;
    body.code.append(b.view().code.begin(), b.view().code.end());
    body.outputs.append(b.view().outputs.begin(), b.view().outputs.end());
    p.epilogue.body = std::make_shared<const program>(std::move(body));
    p.epilogue.outputs = {{1, dtype::f32, 0, {1}}};
    const choice c = choose(p, device(), {});
    CHECK(c.record->kernel == "reduce/slices");
    REQUIRE(c.launches.size() == 2);
    CHECK(c.scratch > 0);
    // What the first writes into it, the second reads, or else no hazard would be seen.
    const auto touches = [&](const launch& l, bool write) {
        for (const pumice::access& a : l.accesses)
            if (a.buffer == -2 && a.write == write && a.begin == 0 && a.end == c.scratch)
                return true;
        return false;
    };
    CHECK(touches(c.launches[0], true));
    CHECK(touches(c.launches[1], false));
    // Few states are joined by the last workgroup.
    p.outer = {1};
    p.prologue.leaves[0].steps = {0, 1};
    const choice few = choose(p, device(), {});
    CHECK(few.record->kernel == "reduce/slices");
    REQUIRE(few.launches.size() == 1);
    CHECK(few.scratch > 0);
    CHECK(few.launches[0].accesses.back().buffer == -2);
    CHECK(few.launches[0].accesses.back().end == few.scratch);
    p.inner = {64};
    CHECK(choose(p, device(), {}).launches.size() == 1);
}

TEST_CASE("select: the host solves a problem by the kernels' reference") {
    float x[] = {1, 2, 3, 4, 5, 6}, y[3] = {};
    solve_on_host(doubled(dtype::f32, 3, 2),
                  {{reinterpret_cast<std::byte*>(x), reinterpret_cast<std::byte*>(y)}});
    CHECK(y[0] == 2);
    CHECK(y[1] == 6);
    CHECK(y[2] == 10);
}

TEST_CASE("select: a kernel that is less exact is taken where a policy allows it") {
    const device_info d = pumice_test::gpu();
    const auto kernel = [&](dtype t, const auto&... policies) {
        policy_set set;
        (policies.apply(set), ...);
        return choose(pumice_test::product(t, 4096, 4096, 4096), d, set).record;
    };
    const auto says = [](const kernel_record& r, std::string_view what) {
        return std::find(r.rejected.begin(), r.rejected.end(), what) != r.rejected.end();
    };
    const auto strict = kernel(dtype::f32);
    CHECK(strict->kernel == "matmul/tiled");
    CHECK(says(*strict, "matmul/bf16_3x: the policy precision::bf16_3x would allow it"));
    CHECK(kernel(dtype::f32, precision::bf16_3x{})->kernel == "matmul/bf16_3x");
    CHECK(kernel(dtype::f32, precision::f16_accumulation{})->kernel == "matmul/tiled");
    CHECK(kernel(dtype::f32, precision::bf16_3x{}, precision::strict{})->kernel == "matmul/tiled");
    const auto halves = kernel(dtype::f16, precision::bf16_3x{});
    CHECK(halves->kernel == "matmul/cooperative");
    CHECK(says(*halves,
               "matmul/f16_accumulation: the policy precision::f16_accumulation would "
               "allow it"));
    CHECK(kernel(dtype::f16, precision::f16_accumulation{}, precision::bf16_3x{})->kernel ==
          "matmul/f16_accumulation");
}
