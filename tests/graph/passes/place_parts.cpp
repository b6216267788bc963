// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which parts of a concatenation are written in place, and which values that are written to in
// part.
#include <pumice/graph/index.hpp>
#include <pumice/graph/passes/place_parts.hpp>

#include "../../support/walked_graph.hpp"
#include "../support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = std::make_shared<fake_engine>();

any_tensor product(std::int64_t rows = 2) {
    return matmul(data(home, {rows, 3}), data(home, {3, 4}));
}
any_tensor joined(const any_tensor& a, const any_tensor& b, int axis = 0) {
    return concat(std::vector<any_tensor>{a, b}, axis);
}
/// Where in the concatenation the part lies; -1: it is copied there.
std::int64_t place_of(const any_tensor& part, const std::vector<any_tensor>& roots) {
    walked_graph g(roots);
    const part_map parts = find_parts(g.groups(), g.graph);
    const placed_part* const p = parts.find(g.at(part));
    return p ? p->offset : -1;
}

}  // namespace

TEST_CASE("place_parts: what a kernel with an epilogue computes for the concatenation alone") {
    const any_tensor a = product(), b = product(5), c = joined(a, b);
    CHECK(place_of(a, {c}) == 0);
    CHECK(place_of(b, {c}) == 8);
}

TEST_CASE("place_parts: not what others want, what lies in pieces, or what is there") {
    const any_tensor a = product(), b = product(), c = joined(a, b);
    CHECK(place_of(a, {c, a}) == -1);
    const any_tensor twice = apply<op::exp>(a);
    CHECK(place_of(a, {c, twice}) == -1);
    CHECK(place_of(b, {c, twice}) == 8);
    const any_tensor d = product(), e = product(), columns = joined(d, e, 1);
    CHECK(place_of(d, {columns}) == -1);
    const any_tensor there = data(home, {2, 4});
    CHECK(place_of(there, {joined(there, product())}) == -1);
}

TEST_CASE("place_parts: what assignments write to, through all of them and reshapes, unless held") {
    const auto over = [](const any_tensor& x, float value) {
        const index_place first[] = {slice{0, 1}};
        return index_update(x, value, index_places{first, 1});
    };
    const any_tensor a = product(), b = over(a, 1), c = reshape(b, {4, 2}), d = over(c, 2);
    walked_graph g(std::vector<any_tensor>{d});
    const part_map parts = find_parts(g.groups(), g.graph);
    for (const any_tensor& t : {a, b}) {
        const placed_part* const p = parts.find(g.at(t));
        REQUIRE(p);
        CHECK(p->whole == g.at(d));
        CHECK(p->written_over);
        CHECK(p->offset == 0);
    }
    CHECK(place_of(a, {d, a}) == -1);
    CHECK(place_of(b, {d, b}) == -1);
    CHECK(place_of(b, {d, apply<op::exp>(c)}) == -1);
    const any_tensor there = data(home, {2, 4});
    CHECK(place_of(there, {over(there, 1)}) == -1);
}
