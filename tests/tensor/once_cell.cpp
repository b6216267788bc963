// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/tensor/once_cell.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

using pumice::node_ptr;
using pumice::once_cell;

// A copy may need memory for what the two share, also where it is a member.
struct holder {
    once_cell cell;
};
static_assert(std::is_nothrow_move_assignable_v<holder> &&
              !std::is_nothrow_copy_assignable_v<holder>);

namespace {

node_ptr fresh() { return pumice::make_node(pumice::dtype::f32, {}, pumice::source_op{}, {}); }
node_ptr never() { throw std::logic_error("asked again"); }

}  // namespace

TEST_CASE("once_cell: the first question makes the value, every copy has it") {
    once_cell a;
    once_cell before = a;
    const node_ptr n = a.get(fresh);
    const once_cell after = before;
    CHECK(before.get(never) == n);
    CHECK(after.get(never) == n);
    CHECK(a.get(never) == n);
    CHECK(once_cell().get(fresh) != n);
}

TEST_CASE("once_cell: what throws is tried again") {
    const once_cell a;
    CHECK_THROWS_AS(a.get(never), std::logic_error);
    const node_ptr n = a.get(fresh);
    CHECK(a.get(never) == n);
}

TEST_CASE("once_cell: moved, assigned, assigned to itself") {
    once_cell a;
    const node_ptr n = a.get(fresh);
    once_cell b = std::move(a);
    CHECK(b.get(never) == n);
    CHECK(a.get(fresh) != n);  // an empty cell again
    a = b;
    CHECK(a.get(never) == n);
    auto& same = a;
    a = same;
    CHECK(a.get(never) == n);
    a = once_cell();
    CHECK(a.get(fresh) != n);
}

TEST_CASE("once_cell: the value lives as long as the last copy") {
    std::weak_ptr<pumice::node> n;
    {
        once_cell a;
        {
            const once_cell b = a;
            n = b.get(fresh);
        }
        CHECK_FALSE(n.expired());
    }
    CHECK(n.expired());
}

TEST_CASE("once_cell: many threads that ask at once get one value") {
    for (int round = 0; round < 50; ++round) {
        const once_cell cell;
        std::atomic<int> made{0};
        std::vector<node_ptr> got(8);
        {
            std::vector<std::jthread> threads;
            for (node_ptr& g : got)
                threads.emplace_back([&] {
                    const once_cell mine = cell;
                    g = mine.get([&] { return ++made, fresh(); });
                });
        }
        CHECK(made == 1);
        for (const node_ptr& g : got) CHECK(g == got[0]);
    }
}

TEST_CASE("once_cell: assignment shares, moves and may be to itself") {
    once_cell a, b, c;
    const node_ptr n = a.get(fresh), other = b.get(fresh);
    b = a;
    CHECK(b.get(never) == n);
    CHECK(n.use_count() == 2);  // of the cells together one
    c = std::move(b);
    CHECK(c.get(never) == n);
    CHECK(b.get(fresh) != n);
    once_cell& same = a;
    a = same;
    CHECK(a.get(never) == n);
    a = std::move(same);
    CHECK(a.get(never) == n);
    CHECK(other.use_count() == 1);
}
