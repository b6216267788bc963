// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small trees: which there are, and that what a plan has computed once gives the same bits, figures
// and explanation again.
#include <pumice/host/small_tree.hpp>

#include <pumice/graph/op_functions.hpp>
#include <pumice/tensor/gather.hpp>
#include <pumice/tensor/norms.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace host_test;

namespace {

pm::any_tensor numbers(pm::dtype type, const pm::shape& extent, std::mt19937& random,
                       const pm::context& home) {
    std::vector<std::byte>
        bytes(static_cast<std::size_t>(pm::byte_count(type, pm::element_count(extent))));
    pm::visit(type, [&]<class T>(T) {
        for (std::int64_t i = 0; i < pm::element_count(extent); ++i)
            pm::detail::store_element(bytes.data(), i,
                                      pm::convert<T>(double(random() % 2001) / 250 - 4 + 1.0 / 3));
    });
    return pm::from_bytes(type, extent, std::span<const std::byte>(bytes), home);
}

/// The same of the same seed.
struct tree_maker {
    const std::vector<pm::any_tensor>& leaves;
    std::mt19937 random;

    pm::any_tensor node(int depth) {
        if (depth == 0) return leaves[random() % leaves.size()];
        const pm::any_tensor a = node(depth - 1);
        switch (random() % 6) {
            case 0: return pm::add(a, node(depth - 1));
            case 1: return pm::subtract(node(0), a);
            case 2: return pm::multiply(a, 3);
            case 3: return pm::maximum(a, node(depth - 1));
            case 4: return pm::where(pm::less(a, node(0)), a, 2);
            default: return pm::multiply(a, node(0));
        }
    }
};

pm::any_tensor finish(const pm::any_tensor& x, int how) {
    const std::int64_t last[] = {-1}, first[] = {0};
    constexpr pm::reduction ways[] = {
        pm::reduction::sum,  pm::reduction::max,       pm::reduction::prod, pm::reduction::argmin,
        pm::reduction::mean, pm::reduction::logsumexp, pm::reduction::var};
    constexpr int exact = 4, count = 7;
    if (how == 0) return x;
    if (--how < 3 * count) {
        const bool real = how / 3 >= exact;
        if (real && !pm::is_floating(x.dtype())) return x;
        const pm::span<const std::int64_t> axes = how % 3 == 0 ? pm::span<const std::int64_t>(last)
                                                  : how % 3 == 1
                                                      ? pm::span<const std::int64_t>(first)
                                                      : pm::span<const std::int64_t>();
        return pm::reduce(ways[how / 3], x, axes);
    }
    return pm::is_floating(x.dtype()) ? pm::softmax(x, how % 2 - 1) : x;
}

}  // namespace

TEST_CASE("host small tree: as a plan computed it") {
    std::mt19937 random(7);
    for (const pm::dtype type :
         {pm::dtype::f32, pm::dtype::f64, pm::dtype::f16, pm::dtype::bf16, pm::dtype::i8,
          pm::dtype::u8, pm::dtype::i16, pm::dtype::i32, pm::dtype::u32, pm::dtype::i64})
        for (const pm::shape& extent : {pm::shape{1000},
                                        {333, 3},
                                        {7, 5},
                                        {3, 700},
                                        {40, 33},
                                        {125, 32},
                                        {32},
                                        {100, 16},
                                        {90, 31},
                                        {200, 15},
                                        {1, 1},
                                        {2, 3, 4}}) {
            const pm::context home = host();  // in which the bound of pending nodes is not met
            std::vector<pm::any_tensor> leaves = {numbers(type, extent, random, home),
                                                  numbers(type, extent, random, home)};
            pm::shape row = extent, column = extent;
            row[0] = 1, column[column.rank() - 1] = 1;
            leaves.push_back(numbers(type, row, random, home));
            leaves.push_back(numbers(type, column, random, home));
            for (int how = 0; how < 24; ++how) {
                const auto seed = static_cast<std::uint32_t>(random());
                std::vector<std::byte> bytes[3];
                std::string told[3];
                pm::statistics before[3], after[3];
                for (int k = 0; k < 3; ++k) {
                    tree_maker maker{leaves, std::mt19937(seed)};
                    const pm::any_tensor x = finish(maker.node(1 + how % 3), how);
                    before[k] = home.stats();
                    pm::eval(x);
                    after[k] = home.stats();
                    bytes[k] = bytes_of(x);
                    told[k] = pm::explain(x);
                }
                INFO(to_string(type) << " " << to_string(extent) << " " << how << " " << seed);
                for (int k = 1; k < 3; ++k) {
                    CHECK(bytes[k] == bytes[0]);
                    CHECK(told[k] == told[0]);
                    CHECK(after[k].plans == before[k].plans);
                    CHECK(after[k].evals - before[k].evals == after[0].evals - before[0].evals);
                    CHECK(after[k].dispatches - before[k].dispatches ==
                          after[0].dispatches - before[0].dispatches);
                    CHECK(after[k].written_bytes - before[k].written_bytes ==
                          after[0].written_bytes - before[0].written_bytes);
                }
            }
        }
}

TEST_CASE("host small tree: sums of products of three") {
    std::mt19937 random(11);
    const std::int64_t last[] = {1}, turned[] = {1, 0};
    for (const pm::dtype type : {pm::dtype::f32, pm::dtype::f64, pm::dtype::f16, pm::dtype::i32,
                                 pm::dtype::u32, pm::dtype::i64, pm::dtype::u64, pm::dtype::u8})
        for (const std::int64_t rows : {1, 4, 31, 333, 1365, 1366}) {
            const pm::context home = host();
            const auto tensor = [&](const pm::shape& extent) {
                return numbers(type, extent, random, home);
            };
            const pm::any_tensor a = tensor({rows, 3}), b = tensor({rows, 3}), row = tensor({3}),
                                 column = tensor({rows, 1}), longer = tensor({rows + 1, 3}),
                                 across = tensor({3, rows});
            const pm::slice behind_first[] = {{1, rows + 1}, {0, 3}};
            const pm::any_tensor part = pm::slice_view(longer, behind_first),
                                 flipped = pm::permute_dims(across, turned);
            for (const pm::any_tensor& second : {a, b, row, column, part, flipped})
                for (const bool keepdims : {false, true}) {
                    std::vector<std::byte> bytes[3];
                    pm::statistics before[3], after[3];
                    for (int k = 0; k < 3; ++k) {
                        const pm::any_tensor x =
                            pm::reduce(pm::reduction::sum, pm::multiply(a, second), last, keepdims);
                        CHECK(x.rank() == (keepdims ? 2 : 1));
                        before[k] = home.stats();
                        pm::eval(x);
                        after[k] = home.stats();
                        bytes[k] = bytes_of(x);
                    }
                    INFO(to_string(type) << " " << rows << " by " << to_string(second.shape()));
                    for (int k = 1; k < 3; ++k) {
                        CHECK(bytes[k] == bytes[0]);
                        CHECK(after[k].dispatches - before[k].dispatches ==
                              after[0].dispatches - before[0].dispatches);
                        CHECK(after[k].written_bytes - before[k].written_bytes ==
                              after[0].written_bytes - before[0].written_bytes);
                    }
                }
        }
}

TEST_CASE("host small tree: what is one") {
    const pm::context home = host();
    std::mt19937 random(3);
    const pm::any_tensor x = numbers(pm::dtype::f32, {40, 5}, random, home),
                         y = numbers(pm::dtype::f32, {5}, random, home),
                         large = numbers(pm::dtype::f32, {4097}, random, home);
    const std::int64_t order[] = {1, 0};
    pm::small_tree tree;
    const auto grows = [&](const pm::any_tensor& t) { return tree.grow(*t.get()); };
    CHECK(grows(pm::maximum(pm::add(pm::multiply(x, y), 1), x)));
    CHECK(grows(pm::astype(pm::multiply(x, x), pm::dtype::i32)));
    const pm::any_tensor twice = pm::multiply(x, x);
    CHECK(grows(pm::add(twice, 1)));
    const pm::any_tensor other = pm::subtract(twice, 1);
    CHECK_FALSE(grows(pm::add(twice, 1)));  // another node reads it
    CHECK_FALSE(grows(pm::add(large, large)));
    CHECK_FALSE(grows(pm::add(pm::multiply(y, y), x)));  // of another extent
    CHECK_FALSE(grows(pm::add(pm::permute_dims(x, order), 1)));
    CHECK_FALSE(grows(pm::reduce(pm::reduction::sum, pm::multiply(x, x))));
    CHECK_FALSE(grows(pm::named(pm::add(x, y), "sum")));
    CHECK_FALSE(grows(pm::add(pm::softmax(x), 1)));
    pm::any_tensor deep = x;
    for (int i = 0; i < 1000; ++i) deep = pm::add(std::move(deep), 1);
    CHECK_FALSE(grows(deep));
}

TEST_CASE("host small tree: a function that is traced has no values") {
    const pm::context home = host();
    std::mt19937 random(9);
    const pm::any_tensor x = numbers(pm::dtype::f32, {30}, random, home);
    for (int i = 0; i < 2; ++i) pm::eval(pm::add(pm::multiply(x, x), x));
    const auto f = [](const pm::any_tensor& t) {
        const pm::any_tensor r = pm::add(pm::multiply(t, t), t);
        pm::eval(r);
        return r;
    };
    CHECK_THROWS_AS(pm::compile(f)(x), pm::error);
}

TEST_CASE("host small tree: more kinds than are kept") {
    const pm::context home = host();
    for (int round = 0; round < 3; ++round)
        for (std::int64_t n = 1; n < 80; ++n) {
            const pm::any_tensor x = pm::full({n}, 3.0f, home);
            const pm::any_tensor r = pm::add(pm::multiply(x, x), x);
            std::vector<float> got(static_cast<std::size_t>(n));
            r.get()->owner->read(r.get(), got.data());
            CHECK(got == std::vector<float>(static_cast<std::size_t>(n), 12.0f));
        }
}
