// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops and programs over strides, broadcasts and cuts between threads, against the reference.
#include <pumice/expr/host_loop.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/host/elementwise.hpp>

#include <doctest/doctest.h>

#include <random>
#include <utility>

using namespace pumice;

namespace {

using f32_leaf = leaf_tree<dtype::f32>;
using tree =
    apply_tree<op::relu,
               apply_tree<op::add, apply_tree<op::multiply, f32_leaf, f32_leaf>, f32_leaf>>;

std::vector<float> numbers(std::int64_t n) {
    static std::mt19937 random(5);
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = float(std::int32_t(random())) * 0x1p-31f;
    return v;
}
host_array view(std::vector<float>& v, std::int64_t offset, strides steps) {
    return {reinterpret_cast<std::byte*>(v.data()), dtype::f32, offset, steps};
}

/// Runs the tree by its loop and by its program, in one thread and in three; the reference decides.
void check(const shape& domain, const array_list<host_array>& leaves, const strides& out_steps,
           std::int64_t room) {
    std::vector<float> want(static_cast<std::size_t>(room), -1);
    const program_view body = program_of<tree>.view();
    run_on_host(body, domain, leaves, {}, std::vector{view(want, 0, out_steps)});
    for (native_loop* native : {loop_of<tree>, static_cast<native_loop*>(nullptr)})
        for (const unsigned count : {1u, 3u}) {
            thread_pool threads(count);
            std::vector<float> got(static_cast<std::size_t>(room), -1);
            host_elementwise{body, native, domain, leaves, {}, {view(got, 0, out_steps)}}
                .run(threads);
            CHECK_MESSAGE(got == want, to_string(domain) << ", " << count << " threads");
        }
}

}  // namespace

TEST_CASE("dense, broadcast, turned round and transposed operands, and none at all") {
    const std::int64_t n = 5 * 700;
    std::vector<float> a = numbers(n), b = numbers(n), c = numbers(700);
    const strides dense{700, 1};
    check({5, 700}, {view(a, 0, dense), view(b, 0, dense), view(a, 0, dense)}, dense, n);
    check({5, 700}, {view(a, 0, dense), view(b, n - 1, {-700, -1}), view(c, 0, {0, 1})}, dense, n);
    check({5, 700}, {view(a, 0, {1, 5}), view(b, 0, {1, 0}), view(c, 7, {0, 0})}, dense, n);
    check({5, 700}, {view(a, 0, dense), view(b, 0, dense), view(c, 0, {0, 1})}, {1, 5}, n);
    check({700, 5}, {view(a, 0, {1, 700}), view(b, 0, {1, 700}), view(c, 0, {1, 0})}, {5, 1}, n);
    check({7, 100, 5}, {view(a, 0, {500, 1, 100}), view(b, 0, {500, 5, 1}), view(c, 0, {0, 0, 1})},
          {500, 5, 1}, n);
    check({}, {view(a, 1, {}), view(b, 2, {}), view(c, 3, {})}, {}, 1);
    check({3, 0}, {view(a, 0, {0, 1}), view(b, 0, {0, 1}), view(c, 0, {0, 1})}, {0, 1}, 1);
    for (const shape& none : {shape{4, 0}, shape{0, 3}, shape{3, 0, 2}, shape{3, 2, 0}}) {
        const strides turned = none.rank() == 2 ? strides{1, 5} : strides{1, 5, 7};
        check(none, {view(a, 0, turned), view(b, 0, turned), view(c, 0, turned)},
              row_major_strides(none), 1);
    }
    check({4, 0}, {view(a, 0, {1, 5}), view(b, 0, {1, 5}), view(c, 0, {0, 1})}, {0, 1}, 1);
    check({1, 1, 2}, {view(a, 0, {9, 9, 1}), view(b, 0, {1, 1, 1}), view(c, 0, {0, 0, 0})},
          {2, 2, 1}, 2);
}

TEST_CASE("work that is cut between threads, in the middle of a row and between rows") {
    for (const shape& domain : {shape{17 * least_part + 77}, shape{23, 100003}}) {
        const std::int64_t n = element_count(domain);
        std::vector<float> a = numbers(n), b = numbers(n), c = numbers(domain.back());
        const strides dense = row_major_strides(domain);
        strides row = strides::filled(domain.rank(), 0);
        row[domain.rank() - 1] = 1;
        check(domain, {view(a, 0, dense), view(b, 0, dense), view(c, 0, row)}, dense, n);
    }
    // Rows that are short, so that blocks go down columns.
    const std::int64_t rows = 100003, columns = 7, n = rows * columns;
    std::vector<float> a = numbers(n), b = numbers(n), c = numbers(columns);
    check({rows, columns}, {view(a, 0, {1, rows}), view(b, 0, {columns, 1}), view(c, 0, {0, 1})},
          {columns, 1}, n);
}

TEST_CASE("short rows whose results follow: blocks of several, other operands copied to them") {
    std::mt19937 random(7);
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
    for (int sample = 0; sample < 60; ++sample) {
        const std::int64_t length = 1 + below(70), lines = 1 + below(sample % 9 ? 300 : 4000),
                           heads = 1 + below(3);
        const shape domain{heads, lines, length};
        const std::int64_t n = element_count(domain);
        std::vector<float> a = numbers(2 * n), b = numbers(2 * n), c = numbers(2 * n);
        const strides dense = row_major_strides(domain);
        const strides any[] = {dense,
                               {lines * length, 1, lines},           // turned
                               {2 * lines * length, 2 * length, 1},  // of longer rows
                               {lines * length, length, -1},
                               {0, 1, 0},
                               {0, 0, 1},
                               {length, 0, 1}};
        const auto operand = [&](std::vector<float>& v) {
            const strides& steps = any[below(7)];
            return view(v, steps[2] < 0 ? length - 1 : 0, steps);
        };
        const host_array first = operand(a);
        check(domain, {first, below(2) ? first : operand(b), operand(c)}, dense, n);
    }
}

TEST_CASE("short rows of short rows: blocks along the axis before them") {
    for (const std::int64_t n : {1, 2, 9, 513, 20000})
        for (const auto& [lines, length] : {std::pair{2, 3}, std::pair{3, 3}, std::pair{8, 3},
                                            std::pair{5, 25}, std::pair{1, 7}}) {
            const std::int64_t cell = lines * length, count = n * cell;
            std::vector<float> a = numbers(count), b = numbers(n * length), c = numbers(count);
            const strides dense{cell, length, 1};
            check({n, lines, length},
                  {view(a, 0, dense), view(b, 0, {length, 0, 1}), view(c, 0, {0, length, 1})},
                  dense, count);
            // Turned, transposed, and with results whose cells do not follow each other.
            check({n, lines, length},
                  {view(a, count - 1, {-cell, -length, -1}), view(c, 0, {1, n, n * lines}),
                   view(b, 0, {1, 0, 0})},
                  dense, count);
            check({n, lines, length},
                  {view(a, 0, dense), view(b, 0, {length, 0, 1}), view(c, 0, dense)},
                  {cell + 1, length, 1}, n * (cell + 1));
            if (n > 600) continue;
            std::vector<float> d = numbers(4 * count);
            const strides whole{n * cell, cell, length, 1};
            check({4, n, lines, length},
                  {view(d, 0, whole), view(c, 0, {0, cell, length, 1}),
                   view(b, 0, {0, length, 0, 1})},
                  whole, 4 * count);
        }
}

TEST_CASE("short rows of indices: what they count is made as it is read") {
    for (const dtype type : {dtype::i64, dtype::i32, dtype::f32, dtype::u8, dtype::f16})
        for (const shape& domain : {shape{700, 7}, {40, 9, 3}, {3, 1000, 2}, {5, 63}, {9, 1}})
            for (const int axis : {-1, 0, 1}) {
                const int last = domain.rank() - 1;
                const std::int64_t n = element_count(domain);
                const strides dense = row_major_strides(domain);
                strides along = strides::filled(domain.rank(), 0);
                along[axis < 0 ? last : axis] = axis < 0 ? -2 : 3;
                const instruction code[] = {
                    {instruction::code::iota, type, 0, {}, nullptr},
                    {instruction::code::iota, type, 1, {}, nullptr},
                    {instruction::code::cast, dtype::f32, 0, {0}, nullptr},
                    {instruction::code::cast, dtype::f32, 0, {1}, nullptr},
                    {instruction::code::apply, dtype::f32, 0, {2, 3}, &op_info_of<op::subtract>}};
                const std::uint16_t outputs[] = {4};
                const program_view body{code, outputs};
                const array_list<host_array> leaves{{nullptr, type, 5, along},
                                                    {nullptr, type, 1, dense}};
                std::vector<float> got(static_cast<std::size_t>(n)), want = got;
                run_on_host(body, domain, leaves, {}, std::vector{view(want, 0, dense)});
                thread_pool threads(3);
                host_elementwise{body, nullptr, domain, leaves, {}, {view(got, 0, dense)}}
                    .run(threads);
                CHECK_MESSAGE(got == want, to_string(domain) << ' ' << to_string(type));
            }
}
