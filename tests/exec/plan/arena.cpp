// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What lies between dispatches shares memory where it does not live together.
#include "support.hpp"

#include <pumice/exec/plan/arena.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

struct planned_arena {
    std::shared_ptr<pm::known_plan> planned;
    std::unique_ptr<pm::dispatch_list> list;
    pm::arena a;

    template <class F>
    planned_arena(std::initializer_list<pm::shape> shapes, F&& f) {
        const auto home = std::make_shared<pumice_test::planning_engine>();
        planned = home->trace(shapes, f);
        list = std::make_unique<pm::dispatch_list>(planned->what, pm::giving_mask(), home->device(),
                                                   home->policies());
        a = pm::plan_arena(*list, list->order());
    }
    const pm::plan& plan() const { return planned->what; }
    std::int64_t offset(std::size_t temporary) const {
        return a.offset_of(std::size_t(plan().temporaries[temporary]));
    }
};
using tensors = std::vector<pm::any_tensor>;

/// The buffers that others are in place of.
std::vector<int> givers(const planned_arena& p) {
    std::vector<int> list;
    for (const pm::planned_buffer& b : p.a.buffers)
        if (b.in_place_of >= 0) list.push_back(b.in_place_of);
    return list;
}

}  // namespace

TEST_CASE("arena: of a chain of products two are alive at a time") {
    const planned_arena p({{64, 64}}, [](const tensors& x) {
        pm::any_tensor y = x[0];
        for (int i = 0; i < 8; ++i) y = pm::matmul(y, x[0]);
        return tensors{y};
    });
    REQUIRE(p.plan().temporaries.size() == 7);
    CHECK(p.a.memory.sum == 7 * 64 * 64 * 4);
    CHECK(p.a.memory.size == 2 * 64 * 64 * 4);
    for (std::size_t i = 1; i < 7; ++i) CHECK(p.offset(i - 1) != p.offset(i));
}

TEST_CASE("arena: what is read later keeps its memory; inputs and outputs have none in it") {
    const planned_arena p({{64, 64}}, [](const tensors& x) {
        const pm::any_tensor first = pm::matmul(x[0], x[0]), second = pm::matmul(first, x[0]),
                             third = pm::matmul(second, x[0]);
        return tensors{pm::matmul(third, first)};
    });
    REQUIRE(p.plan().temporaries.size() == 3);
    CHECK(p.offset(0) != p.offset(1));
    CHECK(p.offset(0) != p.offset(2));
    for (const auto* list : {&p.plan().inputs, &p.plan().outputs})
        for (const int v : *list) CHECK(p.a.number[std::size_t(v)] == -1);
}

TEST_CASE("arena: scratch memory is of its step alone, and named after the kernel") {
    const planned_arena p({{4, 1 << 20}}, [](const tensors& x) {
        const std::int64_t along[] = {1};
        return tensors{pm::softmax(pm::reduce(pm::reduction::sum, x[0], along), 0)};
    });
    const std::size_t scratch = p.plan().values.size();
    REQUIRE(p.a.number[scratch] >= 0);
    const pm::planned_buffer& b = p.a.buffers[std::size_t(p.a.number[scratch])];
    CHECK(b.bytes == p.list->scratch_bytes(0));
    CHECK(b.name == "reduce/slices scratch");
    CHECK(b.first == 0);
    CHECK(b.last == 1);
    CHECK(p.a.number[scratch + 1] == -1);
}

TEST_CASE("arena: an elementwise step writes over what it alone reads at that moment") {
    // What is sorted is stored, and so is what is made of the sorted.
    const planned_arena p({{8, 64}, {64, 64}}, [](const tensors& x) {
        const pm::any_tensor first = pm::matmul(x[0], x[1]), sorted = pm::sort(first, 1),
                             sum = pm::apply<pm::op::add>(first, sorted);
        return tensors{pm::sort(sum, 1)};
    });
    const std::vector<int> in_place = givers(p);
    REQUIRE(in_place.size() == 1);  // either of its operands might give
    CHECK(p.a.buffers[std::size_t(in_place[0])].bytes == 8 * 64 * 4);
    // Another that reads an operand at the same moment keeps it where it is.
    const planned_arena beside({{8, 64}}, [](const tensors& x) {
        const pm::any_tensor sorted = pm::sort(x[0], 1);
        return tensors{pm::sort(sorted * 2.0, 1), pm::reduce(pm::reduction::min, sorted)};
    });
    CHECK(beside.plan().temporaries.size() >= 3);
    CHECK(givers(beside).empty());
}
