// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A walk's order and numbers, and the key: equal for graphs of one structure, and for no others.
#include <tests/graph/support.hpp>
#include <tests/support/walked_graph.hpp>

#include <pumice/graph/view.hpp>
#include <pumice/graph/walk.hpp>

#include <doctest/doctest.h>

using namespace pumice;

namespace {

const std::shared_ptr<engine> home = std::make_shared<pumice_test::fake_engine>();

any_tensor given(const shape& extent = {4, 4}) {
    return any_tensor(home->create(dtype::f32, extent, nullptr));
}

}  // namespace

TEST_CASE("walk: inputs come before users, and each node has one number") {
    const any_tensor x = given(), y = apply<op::add>(x, x), z = apply<op::multiply>(y, x),
                     root = apply<op::add>(z, y);
    graph_walk walk;
    for (int i = 0; i < 2; ++i) {
        walk.go(std::span(&root.get(), 1));
        REQUIRE(walk.order().size() == 3);
        CHECK(walk.order()[0] == y.get().get());
        CHECK(walk.order()[1] == z.get().get());
        CHECK(walk.order()[2] == root.get().get());
        REQUIRE(walk.nodes().size() == 4);
        for (std::uint32_t n = 0; n < 4; ++n) CHECK(walk.number_of(walk.nodes()[n]) == n);
    }
}

TEST_CASE("walk: a view of what is in memory is realised on the way, also of a view") {
    const any_tensor x = given({4, 6});
    const slice rows[] = {{1, 3, 1}};
    const std::int64_t order[] = {1, 0};
    const any_tensor part = slice_view(x, rows), turned = permute_dims(part, order),
                     flat = reshape(x, {24}), root = apply<op::add>(turned, 1.0);
    pumice_test::key_of(root);
    CHECK(turned.get()->realised());
    CHECK(turned.get()->data == x.get()->data);
    CHECK(turned.get()->offset == 6);
    CHECK(turned.get()->layout() == strides{1, 6});
    CHECK(turned.get()->inputs.empty());
    CHECK_FALSE(part.get()->realised());  // nobody asked for it
    pumice_test::key_of(flat);
    CHECK(flat.get()->realised());
    // A traced input is not memory yet.
    const any_tensor traced(make_data(dtype::f32, {4, 6}, nullptr, home));
    const any_tensor lazy = slice_view(traced, rows);
    pumice_test::key_of(apply<op::add>(lazy, 1.0));
    CHECK_FALSE(lazy.get()->realised());
}

TEST_CASE("walk: numbers and tensors may differ where the key does not") {
    const auto make = [](double number) {
        return apply<op::add>(apply<op::multiply>(given(), number), given());
    };
    CHECK(pumice_test::key_of(make(2)) == pumice_test::key_of(make(3)));
    const any_tensor whole = given({8, 4});
    const auto rows = [&](std::int64_t from) {
        const slice s[] = {{from, from + 2, 1}};
        return apply<op::multiply>(slice_view(whole, s), 2.0);
    };
    CHECK(pumice_test::key_of(rows(0)) == pumice_test::key_of(rows(5)));
    // Beside the whole a part of it is an operand of its own, wherever it begins.
    const auto beside = [&](std::int64_t row) {
        const slice s[] = {{row, row + 1, 1}};
        return apply<op::add>(whole, slice_view(whole, s));
    };
    CHECK(pumice_test::key_of(beside(0)) == pumice_test::key_of(beside(1)));
}

TEST_CASE("walk: what changes the work changes the key") {
    const any_tensor a = given(), b = given(),
                     half = any_tensor(home->create(dtype::f16, {4, 4}, nullptr));
    const std::int64_t order[] = {1, 0};
    const slice column[] = {{}, {1, 3, 1}}, next[] = {{}, {2, 4, 1}}, top[] = {{0, 1, 1}};
    array_list<array_list<std::uint64_t>> keys;
    const auto add_key = [&](const any_tensor& root) { keys.push_back(pumice_test::key_of(root)); };
    add_key(apply<op::add>(a, b));
    add_key(apply<op::subtract>(a, b));
    add_key(apply<op::add>(a, a));
    add_key(apply<op::add>(half, half));
    add_key(apply<op::add>(a, given({4})));
    add_key(apply<op::add>(permute_dims(a, order), b));
    add_key(apply<op::add>(a, permute_dims(b, order)));
    add_key(apply<op::add>(slice_view(a, column), 1.0));
    add_key(apply<op::add>(slice_view(a, next), 1.0));  // begins elsewhere in sixteen bytes
    add_key(apply<op::add>(a, slice_view(a, top)));
    const any_tensor sum = apply<op::add>(a, b), other = apply<op::negative>(sum);
    add_key(apply<op::exp>(sum));  // somebody else goes on reading the sum
    add_key(apply<op::exp>(apply<op::add>(a, b)));
    for (std::size_t i = 0; i < keys.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) {
            CAPTURE(i);
            CAPTURE(k);
            CHECK_FALSE(keys[i] == keys[k]);
        }
}
