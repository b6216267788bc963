// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Programs on the host against loops written by hand: strides, offsets, iotas, several outputs,
// blocks.
#include <pumice/expr/host.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
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

TEST_CASE("what a number leaves as it is: x + 0 and x * 1 of integers, not of reals") {
    builder b;
    const auto x = b.leaf(0, dtype::i64), one = b.number(0, dtype::i64),
               none = b.number(1, dtype::i64),
               same = b.apply<op::add>(none, b.apply<op::multiply>(x, one)),
               real = b.leaf(1, dtype::f32);
    b.out({same, b.apply<op::multiply>(same, none), b.apply<op::add>(one, same),
           b.apply<op::add>(real, b.number(2))});
    std::vector<std::int64_t> v(1000), y[3];
    std::iota(v.begin(), v.end(), -500);
    for (auto& list : y) list.resize(v.size());
    std::vector<float> reals(v.size(), -0.0f), sums(v.size());
    for (const std::int64_t step : {1, -1}) {  // where results lie, and by way of a block
        const std::int64_t at = step < 0 ? 999 : 0;
        run(b, {1000}, {view_of(v, {1}), view_of(reals, {1})},
            {scalar(std::int64_t{1}), scalar(std::int64_t{0}), scalar(0.0f)},
            {view_of(y[0], {step}, at), view_of(y[1], {step}, at), view_of(y[2], {step}, at),
             view_of(sums, {step}, at)});
        int wrong = 0;
        for (std::size_t i = 0; i < v.size(); ++i) {
            const std::size_t k = step < 0 ? 999 - i : i;
            wrong += y[0][k] != v[i] || y[1][k] != 0 || y[2][k] != v[i] + 1;
            wrong += std::signbit(sums[k]);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("small integers wrap after every op, as on the device") {
    builder b;
    const auto x = b.leaf(0, dtype::u8), s = b.apply<op::add>(x, b.leaf(1, dtype::u8));
    b.out({b.apply<op::divide>(s, b.number(0, dtype::u8))});
    std::vector<std::uint8_t> x8{200, 255, 1}, y8{100, 1, 1}, r(3);
    run(b, {3}, {view_of(x8, {1}), view_of(y8, {1})}, {scalar(dtype::u8, 2)}, {view_of(r, {1})});
    CHECK(r == std::vector<std::uint8_t>{22, 0, 1});
}

namespace {

template <class T>
void wrap_sums(dtype type) {
    std::vector<std::byte> x(4 * 71), y(x.size()), got(x.size()), want(x.size());
    for (std::int64_t i = 0; i < 71; ++i) {
        detail::store_element(x.data(), i, convert<T>(i * 37 % 256 - 128));
        detail::store_element(y.data(), i, convert<T>(i * 91 % 200 - 100));
        using wide = std::conditional_t<info(dtype_of<T>).kind == kind::signed_integer,
                                        std::int64_t, std::uint64_t>;
        const auto p = static_cast<wide>(detail::load_element<T>(x.data(), i)),
                   q = static_cast<wide>(detail::load_element<T>(y.data(), i));
        const auto sum = static_cast<wide>(convert<T>(static_cast<wide>(p * q + q)));
        detail::store_element(want.data(), i, convert<T>(sum < p ? p : sum));
    }
    builder b;
    const auto u = b.leaf(0, type), v = b.leaf(1, type);
    b.out({b.apply<op::maximum>(b.apply<op::add>(b.apply<op::multiply>(u, v), v), u)});
    const auto view = [&](std::vector<std::byte>& bytes) {
        return host_array{bytes.data(), type, 0, {1}};
    };
    run(b, {71}, {view(x), view(y)}, {}, {view(got)});
    CHECK_MESSAGE(got == want, to_string(type));
}

template <class From, class To>
void cast_all() {
    const double edges[] = {0,     -0.0,   0.5,   -0.75,   1.5,      7,         -8,   15,
                            100.9, -128.9, 127.5, 255,     255.9,    256,       300,  -300,
                            32767, -32769, 65535, 65535.9, 70000,    1e6,       -1e6, 3e9,
                            -3e9,  1e18,   1e300, -1e300,  INFINITY, -INFINITY, NAN};
    constexpr std::int64_t n = 2 * std::ssize(edges) + 3;  // whole vectors, and some more
    std::vector<std::byte> in(8 * n), got(8 * n), want(8 * n);
    for (std::int64_t i = 0; i < n; ++i) {
        const From x = convert<From>(edges[i % std::ssize(edges)]);
        detail::store_element(in.data(), i, x);
        detail::store_element(want.data(), i,
                              convert<To>(detail::load_element<From>(in.data(), i)));
    }
    builder b;
    b.out({b.cast(dtype_of<To>, b.leaf(0, dtype_of<From>))});
    run(b, {n}, {{in.data(), dtype_of<From>, 0, {1}}}, {}, {{got.data(), dtype_of<To>, 0, {1}}});
    int wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const auto a = convert<double>(detail::load_element<To>(got.data(), i)),
                   c = convert<double>(detail::load_element<To>(want.data(), i));
        wrong += a != c && (a == a || c == c);
    }
    CHECK_MESSAGE(wrong == 0, to_string(dtype_of<From>) << " to " << to_string(dtype_of<To>));
}

}  // namespace

TEST_CASE("sums and products of small integers wrap between two ops, in blocks and their rest") {
    for (const dtype type : {dtype::u8, dtype::i8, dtype::u16, dtype::i16, dtype::u4, dtype::i4,
                             dtype::u32, dtype::i32})
        visit(type, [&]<class T>(T) {
            if constexpr (!is_floating(dtype_of<T>) && dtype_of<T> != dtype::boolean)
                wrap_sums<T>(type);
        });
}

TEST_CASE("casts give what convert gives, whatever the types") {
    const auto from = [](auto x) {
        using From = decltype(x);
        for (std::size_t t = 0; t < dtype_table.size(); ++t)
            visit(static_cast<dtype>(t), [&]<class To>(To) { cast_all<From, To>(); });
    };
    from(float{});
    from(double{});
    from(f16{});
    from(std::uint8_t{});
    from(std::int16_t{});
    from(std::uint32_t{});
    from(std::int64_t{});
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
