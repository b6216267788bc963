// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is asked of a family of ops that the library does not know: names, keys and rules.
#include <pumice/graph/op_functions.hpp>
#include <pumice/graph/passes/verify_graph.hpp>

#include <tests/support/thrown.hpp>
#include <tests/support/walked_graph.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

namespace mine {

namespace pm = pumice;

/// Every `step`-th row.
struct thin_op {
    static constexpr std::string_view name = "mine/thin";
    static constexpr pm::fusion_traits fusion{.prologue = true};
    std::int64_t step = 1;
};
inline pm::kernel_value result_of(const thin_op& op, std::span<const pm::kernel_value> in) {
    if (op.step < 1 || in.size() != 1 || in[0].shape.rank() == 0)
        pm::fail(pm::errc::invalid_argument, "thin", {"wants rows and a step of 1 at least"});
    pm::shape out = in[0].shape;
    out[0] = (out[0] + op.step - 1) / op.step;
    return {in[0].dtype, out};
}
inline void add_words(const thin_op& op, pm::graph_key& key) { key.add_all(op.step); }
inline std::string describe(const thin_op& op) { return pm::cat({"every ", op.step}); }
inline bool lower(const thin_op&, const pm::lowering&, pm::plan_builder&) { return false; }

/// Has no data and says nothing of itself.
struct mirror_op {
    static constexpr std::string_view name = "mine/mirror";
    static constexpr pm::fusion_traits fusion{};
};
inline pm::kernel_value result_of(mirror_op, std::span<const pm::kernel_value> in) { return in[0]; }
inline bool lower(mirror_op, const pm::lowering&, pm::plan_builder&) { return false; }

}  // namespace mine

using namespace pumice;

namespace {

const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();

}  // namespace

TEST_CASE("op functions: an op of another family makes a node of the type and shape that it says") {
    const any_tensor x = pumice_test::data(home, {5, 3}, dtype::f16);
    const any_tensor y = apply(mine::thin_op{2}, {x});
    CHECK(y.shape() == shape{3, 3});
    CHECK(y.dtype() == dtype::f16);
    CHECK(y.get()->op.is<mine::thin_op>());
    CHECK(!y.get()->op.is<mine::mirror_op>());
    CHECK(y.get()->op.get_if<mine::thin_op>()->step == 2);
    CHECK(y.get()->op.get_if<matmul_op>() == nullptr);
    CHECK(y.get()->op.fusion().prologue);
    const error e = test::thrown_by([&] { apply(mine::thin_op{0}, {x}); });
    CHECK(e.code() == errc::invalid_argument);
}

TEST_CASE("op functions: an op's words, and its data's, are in the key") {
    const any_tensor x = pumice_test::data(home, {5, 3});
    const auto thin = [&](std::int64_t step) {
        return pumice_test::key_of(apply(mine::thin_op{step}, {x}));
    };
    CHECK(thin(2) == thin(2));
    CHECK(thin(5) != thin(6));  // of one shape
    CHECK(thin(1) != pumice_test::key_of(apply(mine::mirror_op(), {x})));
}

TEST_CASE("op functions: an op describes itself, or is called by its family's name") {
    const any_tensor x = pumice_test::data(home, {5, 3});
    CHECK(describe(*apply(mine::thin_op{4}, {x}).get()) == "every 4");
    CHECK(describe(*apply(mine::mirror_op(), {x}).get()) == "mine/mirror");
}

TEST_CASE("op functions: the rules of a graph ask what the op says of its result") {
    const any_tensor x = pumice_test::data(home, {5, 3}), other = pumice_test::data(home, {4, 3});
    const any_tensor y = apply(mine::thin_op{2}, {x});
    pumice_test::walked_graph g(y);
    CHECK(verify(g.graph).empty());
    g.graph.change(*g.at(y), mine::thin_op{5}, {g.at(x)});
    REQUIRE(verify(g.graph).size() == 1);
    CHECK(verify(g.graph)[0].find("every 5") != std::string::npos);
    g.graph.change(*g.at(y), mine::thin_op{0}, {g.at(x)});
    REQUIRE(verify(g.graph).size() == 1);
    CHECK(verify(g.graph)[0].find("wants rows") != std::string::npos);
}
