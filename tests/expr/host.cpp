// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Programs on the host against loops written by hand: strides, offsets, iotas, several outputs,
// blocks.
#include <pumice/expr/host.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace pumice;
using pumice_test::builder;

namespace {

template <class T>
host_array view_of(std::vector<T>& v, strides steps, std::int64_t offset = 0) {
    return {reinterpret_cast<std::byte*>(v.data()), dtype_of<T>, offset, steps};
}
std::vector<float> counting(std::size_t n, float first = 0) {
    std::vector<float> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
}
void run(const builder& b, const shape& domain, std::vector<host_array> leaves,
         std::vector<scalar> scalars, std::vector<host_array> outputs) {
    run_on_host(b.view(), domain, leaves, scalars, outputs);
}

}  // namespace

TEST_CASE("a strided, broadcast, reversed program of two outputs, longer than a block") {
    builder b;
    const auto x = b.leaf(0), y = b.leaf(1), p = b.apply<op::multiply>(x, y);
    b.out({b.apply<op::add>(p, b.number(0)), b.apply<op::less>(x, y)});
    constexpr std::int64_t rows = 3, columns = 700;
    std::vector<float> a = counting(rows * columns), c = counting(columns, 100),
                       sums(rows * columns, -1);
    std::unique_ptr<bool[]> below(new bool[rows * columns]);
    const host_array out_below{
        reinterpret_cast<std::byte*>(below.get()), dtype::boolean, 0, {columns, 1}};
    // a is read from its end, c is repeated over the rows, the sums are stored transposed.
    run(b, {rows, columns}, {view_of(a, {-columns, -1}, rows * columns - 1), view_of(c, {0, 1})},
        {scalar(0.5f)}, {view_of(sums, {1, rows}), out_below});
    int wrong = 0;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            const float u = a[static_cast<std::size_t>(rows * columns - 1 - i * columns - j)],
                        v = c[static_cast<std::size_t>(j)];
            wrong += sums[static_cast<std::size_t>(j * rows + i)] != u * v + 0.5f;
            wrong += below[static_cast<std::size_t>(i * columns + j)] != (u < v);
        }
    CHECK(wrong == 0);
}

TEST_CASE("outputs that lie where leaves do: all is read before anything is written") {
    constexpr std::size_t n = 700;
    const strides steps = {1};
    {
        builder b;
        const auto x = b.leaf(0), y = b.leaf(1);
        b.out({y, x});  // swapped
        std::vector<float> first = counting(n), second = counting(n, 1000);
        run(b, {n}, {view_of(first, steps), view_of(second, steps)}, {},
            {view_of(first, steps), view_of(second, steps)});
        CHECK(first == counting(n, 1000));
        CHECK(second == counting(n));
    }
    {
        builder b;
        const auto x = b.leaf(0), more = b.apply<op::add>(x, b.number(0));
        b.out({more, b.apply<op::add>(more, x)});
        std::vector<float> values = counting(n), sums(n);
        run(b, {n}, {view_of(values, steps)}, {scalar(1.0f)},
            {view_of(values, steps), view_of(sums, steps)});
        CHECK(values == counting(n, 1));
        int wrong = 0;
        for (std::size_t i = 0; i < n; ++i) wrong += sums[i] != 2 * static_cast<float>(i) + 1;
        CHECK(wrong == 0);
    }
}

TEST_CASE("rank 0 and empty domains") {
    builder b;
    b.out({b.apply<op::negative>(b.leaf(0))});
    std::vector<float> x{3}, y{0};
    run(b, {}, {view_of(x, {})}, {}, {view_of(y, {})});
    CHECK(y[0] == -3);
    y[0] = 7;
    run(b, {2, 0}, {view_of(x, {0, 0})}, {}, {view_of(y, {0, 0})});
    run(b, {0, 3}, {view_of(x, {0, 0})}, {}, {view_of(y, {0, 0})});
    CHECK(y[0] == 7);
}

TEST_CASE("an iota is its offset") {
    builder b;
    b.out({b.iota(0, dtype::i32)});
    std::vector<std::int32_t> y(6);
    run(b, {2, 3}, {{nullptr, dtype::i32, 10, {100, 2}}}, {}, {view_of(y, {3, 1})});
    CHECK(y == std::vector<std::int32_t>{10, 12, 14, 110, 112, 114});
}

TEST_CASE("small integers wrap after every op, as on the device") {
    builder b;
    const auto x = b.leaf(0, dtype::u8), s = b.apply<op::add>(x, b.leaf(1, dtype::u8));
    b.out({b.apply<op::divide>(s, b.number(0, dtype::u8))});
    std::vector<std::uint8_t> x8{200, 255, 1}, y8{100, 1, 1}, r(3);
    run(b, {3}, {view_of(x8, {1}), view_of(y8, {1})}, {scalar(dtype::u8, 2)}, {view_of(r, {1})});
    CHECK(r == std::vector<std::uint8_t>{22, 0, 1});
}

TEST_CASE("casts go through the storage form of their type") {
    builder b;
    const auto x = b.leaf(0), h = b.cast(dtype::f16, x);
    b.out({b.cast(dtype::f32, h), b.cast(dtype::i8, x), b.cast(dtype::boolean, x)});
    std::vector<float> in{2049.0f, 300.0f, -0.0f, 0.5f}, back(4);
    std::vector<std::int8_t> small(4);
    bool truth[4] = {};
    run(b, {4}, {view_of(in, {1})}, {},
        {view_of(back, {1}),
         view_of(small, {1}),
         {reinterpret_cast<std::byte*>(truth), dtype::boolean, 0, {1}}});
    CHECK(back == std::vector<float>{2048.0f, 300.0f, 0.0f, 0.5f});
    CHECK(small == std::vector<std::int8_t>{127, 127, 0, 0});
    CHECK((truth[0] && truth[1] && !truth[2] && truth[3]));
}

TEST_CASE("halves compute in float and round when they are stored") {
    builder b;
    const auto x = b.leaf(0, dtype::f16), s = b.apply<op::add>(x, b.number(0, dtype::f16));
    b.out({b.apply<op::subtract>(s, b.number(0, dtype::f16))});
    std::vector<f16> in{f16(1.0f)}, r(1);
    run(b, {1}, {view_of(in, {1})}, {scalar(dtype::f16, 4096.5)}, {view_of(r, {1})});
    CHECK(static_cast<float>(r[0]) == 1.0f);
}

TEST_CASE("rows come in order") {
    std::vector<std::string> seen;
    for_each_row({2, 2, 9}, [&](const index_list& at) { seen.push_back(to_string(at)); });
    CHECK(seen == std::vector<std::string>{"(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"});
    int rows = 0;
    for_each_row({}, [&](const index_list& at) { rows += at.rank() == 0; });
    for_each_row({5}, [&](const index_list& at) { rows += at.rank() == 0; });
    for_each_row({2, 0}, [&](const index_list&) { rows += 100; });
    CHECK(rows == 2);
    CHECK(offset_of({nullptr, dtype::f32, 7, {10, 1}}, {2}) == 27);
}
