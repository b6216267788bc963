// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which prologues are stored first: those of large products on a device where that takes less, and
// what such a plan computes.
#include <pumice/exec/plan/store_prologues.hpp>
#include <pumice/front.hpp>
#include <pumice/graph/decode.hpp>
#include <pumice/policy/passes.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/walked_graph.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();

any_tensor given(const shape& extent) { return pumice_test::data(home, extent, dtype::f16); }

/// A device whose launches take so long.
device_info device_with(double launch) {
    device_info d;
    d.type = device_type::discrete_gpu;
    d.storage16 = true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_size = {1024, 1024, 64};
    d.max_workgroup_count = {65535, 65535, 65535};
    d.shared_memory = 49152;
    d.measured = {3e12, 40e12, 300e12, launch, 0.6e-6, 132, 50e6};
    return d;
}

struct groups {
    pumice_test::walked_graph g;
    array_list<kernel_group> list;
    groups(const any_tensor& root, double launch)
        : g(root), list(store_prologues(g.groups(), device_with(launch))) {}
};

}  // namespace

TEST_CASE("store prologues: of a large product, not of a small one, nor where launches are dear") {
    const auto product = [](std::int64_t n) {
        return matmul(apply<op::multiply>(apply<op::relu>(given({n, n})), given({n, n})),
                      given({n, n}));
    };
    const any_tensor large = product(4096), small = product(64);
    CHECK(groups(small, 3e-6).list.size() == 1);
    CHECK(groups(large, 1).list.size() == 1);
    const groups two(large, 3e-6);
    REQUIRE(two.list.size() == 2);
    CHECK(two.list[0].anchor == nullptr);
    CHECK(two.list[0].outputs.size() == 1);
    CHECK(two.list[0].inlined.size() == 1);  // relu
    CHECK(two.list[1].anchor == two.g.at(large));
    CHECK(two.list[1].inlined.empty());
}

TEST_CASE("store prologues: a coded weight is read as it lies where few rows are multiplied") {
    constexpr std::int64_t n = 4096;
    for (const dtype type : {dtype::i4, dtype::u8, dtype::f8_e4m3})
        for (const dtype real : {dtype::f32, dtype::f16})
            for (const std::int64_t rows : {1, 4}) {
                const any_tensor w =
                    dequantize_linear(pumice_test::data(home, {n, n}, type),
                                      pumice_test::data(home, {n / 32, n}, real), {}, 0, 32);
                const any_tensor root = matmul(pumice_test::data(home, {rows, n}, real), w);
                CAPTURE(to_string(type));
                CAPTURE(to_string(real));
                CAPTURE(rows);
                CHECK(groups(root, 3e-6).list.size() == 1);
            }
}

TEST_CASE("store prologues: through views, of either factor, and what the epilogue shares stays") {
    const any_tensor a = given({4096, 4096}), b = given({4096, 4096});
    const any_tensor left = apply<op::exp>(a), right = apply<op::exp>(b);
    const any_tensor turned = permute_dims(right, std::vector<std::int64_t>{1, 0});
    const any_tensor root = apply<op::add>(matmul(left, turned), apply<op::exp>(given({4096})));
    const groups three(root, 3e-6);
    REQUIRE(three.list.size() == 3);
    CHECK(three.list[0].outputs[0] == three.g.at(left));
    CHECK(three.list[1].outputs[0] == three.g.at(right));
    CHECK(three.list[2].inlined.size() == 1);  // the exponential behind the product
    CHECK(three.list[2].outputs[0] == three.g.at(root));
}

TEST_CASE("store prologues: a kernel that reads each element once keeps its prologue") {
    const any_tensor root = softmax(apply<op::exp>(given({4096, 4096})), 1);
    CHECK(groups(root, 1e-9).list.size() == 1);
}

TEST_CASE("store prologues: split or whole, a product is the same, and a policy leaves it whole") {
    // As if sums cost nothing, and computing as they are read much.
    const device_rates rates{1e12, 1e6, 1e15, 1e-9, 1e-9, 1, 1e6};
    const context split(measured_rates{rates}),
        whole(measured_rates{rates}, without_pass{"store_prologues"});
    if (split.device().type == device_type::host)
        PUMICE_SKIP("vulkan-device", "the host has one kernel for a product");
    std::vector<std::vector<float>> got;
    std::vector<std::uint64_t> dispatches;
    for (const context& at : {split, whole}) {
        const any_tensor a = astype(arange(dtype::f32, 0, 70 * 33, 1, at), dtype::f32);
        const any_tensor x = reshape(apply<op::multiply>(a, 1e-3), {70, 33}),
                         y = reshape(apply<op::multiply>(a, -2e-3), {33, 70});
        eval(std::array{x, y});
        const std::uint64_t before = at.stats().dispatches;
        const any_tensor root = matmul(apply<op::sin>(x), apply<op::cos>(y));
        got.push_back(to_vector<float>(root));
        dispatches.push_back(at.stats().dispatches - before);
    }
    CHECK(dispatches == std::vector<std::uint64_t>{3, 1});
    for (std::size_t i = 0; i < got[0].size(); ++i)
        CHECK(got[0][i] == doctest::Approx(got[1][i]).epsilon(1e-5));
}
