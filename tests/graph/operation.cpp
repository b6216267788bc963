// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/operation.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace pumice;

TEST_CASE("an operation is one of its kinds") {
    const operation none, source{source_op{}}, view{view_op{{1}, {0}, {2}}},
        sum{reduce_op{reduction::sum, {1}, true}};
    CHECK(none.is<source_op>());
    CHECK(source.is<source_op>());
    CHECK(none.get_if<source_op>() != nullptr);
    CHECK(view.is<view_op>());
    CHECK(!view.is<reduce_op>());
    CHECK(view.get_if<reduce_op>() == nullptr);
    REQUIRE(view.get_if<view_op>() != nullptr);
    CHECK(view.get_if<view_op>()->step == index_list{2});
    CHECK(sum.get_if<reduce_op>()->keepdims);
    static_assert(!std::is_constructible_v<operation, int> &&
                  !std::is_copy_constructible_v<operation>);
}

TEST_CASE("visit reaches each kind") {
    std::vector<operation> every;
    every.emplace_back();
    every.emplace_back(elementwise_op{});
    every.emplace_back(view_op{});
    every.emplace_back(reshape_op{});
    every.emplace_back(copy_op{});
    every.emplace_back(reduce_op{});
    every.emplace_back(normalize_op{});
    every.emplace_back(matmul_op{});
    every.emplace_back(conv_op{});
    every.emplace_back(pool_op{});
    every.emplace_back(concat_op{});
    every.emplace_back(take_op{});
    every.emplace_back(scan_op{});
    every.emplace_back(sort_op{});
    every.emplace_back(scatter_op{});
    for (const operation& each : every)
        each.visit([&]<class Op>(const Op&) {
            if constexpr (op_family<Op>) CHECK(each.is<Op>());
            else FAIL("an op of the list is shown as another");
        });
}

TEST_CASE("moving takes the payload along") {
    operation a = reduce_op{reduction::max, {0, 2}, false};
    operation b = std::move(a);
    CHECK(b.get_if<reduce_op>()->axes == array_list<int>{0, 2});
    a = normalize_op{normalization::rms_norm, {1}, 0.5};
    b = std::move(a);
    CHECK(b.get_if<normalize_op>()->epsilon == 0.5);
}

TEST_CASE("every reduction has a name") {
    CHECK(to_string(reduction::sum) == "sum");
    CHECK(to_string(reduction::logsumexp) == "logsumexp");
    CHECK(to_string(reduction::var) == "var");
    CHECK(to_string(reduction::by_op) == "by_op");
    CHECK(to_string(normalization::rms_norm) == "rms_norm");
}

TEST_CASE("a borrowed operation is its lender's, which it does not let go") {
    const operation lender{reduce_op{reduction::max, {0, 1}, false}};
    const reduce_op* const held = lender.get_if<reduce_op>();
    {
        operation first = operation::borrowed(lender), second = std::move(first);
        CHECK(second.get_if<reduce_op>() == held);
        CHECK(first.is<source_op>());
        second = operation{reshape_op{}};
        CHECK(second.is<reshape_op>());
    }
    CHECK(lender.get_if<reduce_op>() == held);
    CHECK(held->axes == array_list<int>{0, 1});
}
