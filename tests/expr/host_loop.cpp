// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The loop of a tree against its program on the host: the same bits, for every element type and
// length.
#include <pumice/expr/host.hpp>
#include <pumice/expr/host_loop.hpp>
#include <pumice/expr/ops.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>

using namespace pumice;

namespace {

/// Bits of any kind, so that there are NaN, infinities and subnormal numbers; a bool is 0 or 1.
std::vector<std::byte> anything(dtype type, std::int64_t n) {
    static std::mt19937 random(7);
    std::vector<std::byte> v(static_cast<std::size_t>(byte_count(type, n)));
    for (std::byte& b : v) b = std::byte(type == dtype::boolean ? random() % 2 : random());
    return v;
}

dtype type_of_leaf(program_view p, std::size_t k) {
    for (const instruction& i : p.code)
        if (i.what == instruction::code::leaf && i.index == k) return i.type;
    return dtype::f32;
}

/// Equal bits; a NaN may be another NaN.
template <class T>
bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T> || converts_by_float<T>)
        if (static_cast<double>(a) != static_cast<double>(a)) return b != b;
    return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class Tree>
void check_loop(std::string_view name) {
    const program_view p = program_of<Tree>.view();
    native_loop* const loop = loop_of<Tree>;
    REQUIRE(bool(loop));
    std::vector<scalar> scalars;
    for (const instruction& i : p.code)
        if (i.what == instruction::code::scalar) scalars.emplace_back(i.type, 3);
    for (const std::int64_t n : {0, 1, 31, 32, 33, 100, 1000}) {
        std::vector<std::vector<std::byte>> data;
        std::vector<host_array> arrays;
        const void* leaves[max_leaves] = {};
        for (std::size_t k = 0; k < std::size_t(Tree::leaves); ++k) {
            data.push_back(anything(type_of_leaf(p, k), n));
            leaves[k] = data[k].data();
            arrays.push_back({data[k].data(), type_of_leaf(p, k), 0, {1}});
        }
        constexpr std::size_t guard = 64;
        std::vector<std::byte> got(static_cast<std::size_t>(byte_count(Tree::type, n)) + guard,
                                   std::byte(0x5a)),
            want = got;
        loop(leaves, scalars.data(), got.data(), n);
        run_on_host(p, {n}, arrays, scalars,
                    std::vector{host_array{want.data(), Tree::type, 0, {1}}});
        int wrong = 0;
        visit(Tree::type, [&]<class T>(T) {
            for (std::size_t i = 0; i < std::size_t(n); ++i) {
                T a, b;
                std::memcpy(&a, got.data() + i * sizeof(T), sizeof(T));
                std::memcpy(&b, want.data() + i * sizeof(T), sizeof(T));
                wrong += !same(a, b);
            }
        });
        CHECK_MESSAGE(wrong == 0, name << " of " << to_string(Tree::type) << ", length " << n);
        CHECK(std::memcmp(got.data() + got.size() - guard, want.data() + want.size() - guard,
                          guard) == 0);
    }
}

template <dtype T> using leaf = leaf_tree<T>;
template <dtype T> using number = scalar_tree<T>;

template <dtype T>
void check_numbers() {
    using L = leaf<T>;
    using product = apply_tree<op::multiply, L, L>;
    check_loop<apply_tree<op::relu, apply_tree<op::add, product, L>>>("relu(a * b + c)");
    check_loop<apply_tree<op::subtract, product, apply_tree<op::divide, L, number<T>>>>(
        "a * b - c / 3");
    check_loop<apply_tree<op::clip, L, number<T>, apply_tree<op::abs, L>>>("clip");
    check_loop<apply_tree<op::where, apply_tree<op::less, L, L>, apply_tree<op::negative, L>, L>>(
        "where");
    check_loop<apply_tree<op::maximum, apply_tree<op::remainder, L, number<T>>, L>>("remainder");
}

template <dtype From, dtype... To>
void check_casts() {
    (check_loop<apply_tree<op::equal, cast_tree<To, leaf<From>>, leaf<To>>>("cast, compared"), ...);
    (check_loop<cast_tree<To, leaf<From>>>("cast"), ...);
}
template <dtype... Types>
void check_all() {
    (check_numbers<Types>(), ...);
    (check_casts<Types, dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::i8, dtype::i32,
                 dtype::i64, dtype::u8, dtype::u16, dtype::u64, dtype::boolean>(),
     ...);
}

template <int N> struct grown {
    using type = apply_tree<op::add, typename grown<N - 1>::type, leaf<dtype::f32>>;
};
template <> struct grown<0> {
    using type = leaf<dtype::f32>;
};

}  // namespace

TEST_CASE("a tree's loop computes what its program does, for every type of numbers") {
    check_all<dtype::f64, dtype::f32, dtype::f16, dtype::bf16>();
    check_all<dtype::i8, dtype::i16, dtype::i32, dtype::i64>();
    check_all<dtype::u8, dtype::u16, dtype::u32, dtype::u64>();
}

TEST_CASE("loops of bool, of functions and of a leaf that is read twice") {
    using B = leaf<dtype::boolean>;
    using F = leaf<dtype::f32>;
    check_loop<apply_tree<op::logical_or, apply_tree<op::logical_not, B>, B>>("or");
    check_loop<apply_tree<op::where, B, B, B>>("where of bool");
    check_casts<dtype::boolean, dtype::f32, dtype::i8, dtype::u64>();
    check_loop<apply_tree<op::sigmoid, apply_tree<op::exp, F>>>("sigmoid");
    check_loop<apply_tree<op::bitwise_left_shift, leaf<dtype::i8>, leaf<dtype::i8>>>("shift");

    using square = apply_tree<op::multiply, F, F>;
    float v[40], r[40];
    for (int i = 0; i < 40; ++i) v[i] = float(i);
    const void* both[] = {v, v};
    loop_of<square>(both, nullptr, r, 40);
    CHECK(r[39] == 1521.0f);
}

TEST_CASE("trees beyond the bound have no loop") {
    native_loop* const largest = loop_of<apply_tree<op::negative, grown<max_loop_nodes - 1>::type>>;
    native_loop* const beyond = loop_of<
        apply_tree<op::negative, apply_tree<op::negative, grown<max_loop_nodes - 1>::type>>>;
    CHECK(bool(largest));
    CHECK(!bool(beyond));
}
