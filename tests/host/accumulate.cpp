// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reductions of every type and layout against the problem's reference.
#include <pumice/host/accumulate.hpp>

#include <pumice/exec/select.hpp>

#include <tests/support/samples.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {

struct layout {
    pm::shape outer, inner;
    pm::strides steps;  // of the operand, over outer ++ inner
};

const layout layouts[] = {
    {{7}, {1000}, {1000, 1}},  // rows
    {{1}, {40001}, {0, 1}},    // one, in pieces
    {{1000}, {7}, {1, 1000}},  // columns
    {{33}, {900}, {1, 33}},    // columns, in pieces
    {{901}, {3}, {3, 1}},      // short
    {{4, 200}, {3}, {700, 3, 1}},
    {{3}, {20011}, {1, 3}},  // few columns, long
    {{2000}, {33}, {33, 1}},
    {{5, 41}, {6, 9}, {3000, 1, 450, 45}},  // axes with gaps, reduced ones between kept ones
    {{2, 3}, {11, 70}, {0, -1, 80, 1}},     // repeated, and backwards
    {{}, {300}, {1}},
    {{}, {5, 31}, {40, 1}},
    {{300}, {1}, {2, 0}},
    {{700, 3}, {2}, {6, 1, 3}},  // both short, and a long kept axis further out
    {{601, 5}, {8}, {40, 1, 5}},
    {{20, 61, 3}, {2, 2}, {732, 6, 1, 366, 3}},
    {{2, 90, 3, 4}, {3}, {20000, 36, 3, 9, 1}},
    {{600, 8}, {3}, {3, 0, 1}},          // repeated
    {{2, 3}, {901, 5}, {5, 10, 31, 1}},  // a long reduced one further out
    {{2}, {1000, 3}, {3, 6, 1}},
};

const pm::reduction ways[] = {
    pm::reduction::sum,    pm::reduction::prod,      pm::reduction::max, pm::reduction::min,
    pm::reduction::mean,   pm::reduction::any,       pm::reduction::all, pm::reduction::argmax,
    pm::reduction::argmin, pm::reduction::logsumexp, pm::reduction::var};

/// What is fused before the reduction.
enum class prologue { leaf, square, product };

std::shared_ptr<const pm::program> body_of(pm::dtype type, prologue what) {
    auto p = std::make_shared<pm::program>();
    const auto x = p->push({pm::instruction::code::leaf, type, 0, {}, nullptr});
    const auto y = what == prologue::product
                       ? p->push({pm::instruction::code::leaf, type, 1, {}, nullptr})
                       : x;
    p->outputs = {what == prologue::leaf ? x
                                         : p->push({pm::instruction::code::apply,
                                                    type,
                                                    0,
                                                    {x, y},
                                                    &pm::op_info_of<pm::op::multiply>})};
    return p;
}

template <class T>
std::unique_ptr<T[]> elements(std::size_t n, bool with_nan) {
    auto v = std::make_unique<T[]>(n);
    std::uint32_t seed = 5;
    for (std::size_t k = 0; k < n; ++k) {
        T& x = v[k];
        seed = seed * 1664525u + 1013904223u;
        const int i = static_cast<int>(seed >> 24);
        if constexpr (std::is_same_v<T, bool>) x = i > 250;
        else if constexpr (pm::is_floating(pm::dtype_of<T>))
            x = static_cast<T>(0.95f + static_cast<float>(i) / 2560.0f);
        else x = static_cast<T>(i);
    }
    if constexpr (pm::is_floating(pm::dtype_of<T>))
        if (with_nan) v[n / 2] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    return v;
}

template <class T>
void compare(const layout& l, pm::reduction what, prologue before, bool with_nan) {
    const std::unique_ptr<T[]> made = elements<T>(70000, with_nan && l.inner.rank() == 1);
    pm::reduce_problem p;
    p.what = what;
    p.outer = l.outer;
    p.inner = l.inner;
    const pm::dtype type = pm::dtype_of<T>;
    const bool place = what == pm::reduction::argmax || what == pm::reduction::argmin,
               logical = what == pm::reduction::any || what == pm::reduction::all;
    p.result = place ? pm::dtype::i64 : logical ? pm::dtype::boolean : type;
    p.prologue = {body_of(type, before), {{0, type, 100, l.steps}}, {}, {}};
    if (before == prologue::product) p.prologue.leaves.push_back({0, type, 211, l.steps});
    auto end = std::make_shared<pm::program>();
    end->outputs = {end->push({pm::instruction::code::given, p.result, 0, {}, nullptr})};
    const pm::strides dense = pm::row_major_strides(l.outer);
    p.epilogue = {end, {}, {}, {{1, p.result, 0, dense}}};
    const auto count = static_cast<std::size_t>(pm::element_count(l.outer));
    std::vector<std::byte> got(8 * count), want(8 * count);
    auto* const from = reinterpret_cast<std::byte*>(made.get());
    const pm::host_buffers ours{{from, got.data()}, {}}, theirs{{from, want.data()}, {}};
    pm::host_loop loop;
    find_loop(p, ours, loop);
    REQUIRE(bool(loop));
    const pm::thread_pool threads(3);
    pm::detail::accumulate(p, ours, threads);  // also where another loop is chosen
    reference(p, theirs);
    CAPTURE(pm::to_string(type));
    CAPTURE(pm::to_string(what));
    CAPTURE(pm::to_string(l.inner));
    CAPTURE(static_cast<int>(before));
    if (!pm::is_floating(p.result)) {
        CHECK(got == want);
        return;
    }
    if constexpr (pm::is_floating(pm::dtype_of<T>)) {
        const double eps = type == pm::dtype::f64 ? 1e-13 : type == pm::dtype::f32 ? 1e-6 : 1e-2;
        bool near = true;
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const auto a = pm::convert<double>(pm::detail::load_element<T>(got.data(), at)),
                       b = pm::convert<double>(pm::detail::load_element<T>(want.data(), at));
            near = near && (a == b || (a != a && b != b) ||
                            std::fabs(a - b) <= eps * std::max(1.0, std::fabs(b)));
        }
        CHECK(near);
    }
}

template <class T>
void compare_as_taken(const layout& l, pm::reduction what) {
    const bool statistic = what == pm::reduction::logsumexp || what == pm::reduction::var,
               logical = pm::dtype_of<T> == pm::dtype::boolean,
               extreme = what == pm::reduction::any || what == pm::reduction::all ||
                         what == pm::reduction::max || what == pm::reduction::min;
    if ((statistic && !pm::is_floating(pm::dtype_of<T>)) || (logical && !extreme)) return;
    compare<T>(l, what, prologue::leaf, false);
    if (logical) return;
    compare<T>(l, what, prologue::square, true);
    compare<T>(l, what, prologue::product, false);
}

}  // namespace

TEST_CASE("host accumulate: every reduction, type and layout as the reference" *
          doctest::test_suite("host alone")) {
    using pm::dtype;
    int number = 0;
    for (const layout& l : layouts)
        for (const pm::reduction what : ways)
            for (const dtype type :
                 {dtype::boolean, dtype::u8, dtype::i8, dtype::u16, dtype::i32, dtype::u32,
                  dtype::i64, dtype::u64, dtype::f16, dtype::bf16, dtype::f32, dtype::f64})
                if (test::sampled(number++))
                    pm::visit(type, [&]<class T>(T) {
                        if constexpr (sizeof(T) * 8 == pm::info(pm::dtype_of<T>).bits)
                            compare_as_taken<T>(l, what);
                    });
}

TEST_CASE("host accumulate: sums of f64 lose nothing of note, also of a million terms" *
          doctest::test_suite("host alone")) {
    std::vector<double> v(1000003, 0.1);
    v[0] = 1e8;
    const pm::thread_pool threads(2);
    auto leaf = body_of(pm::dtype::f64, prologue::leaf);
    auto end = std::make_shared<pm::program>();
    end->outputs = {end->push({pm::instruction::code::given, pm::dtype::f64, 0, {}, nullptr})};
    double got = 0;
    pm::reduce_problem p;
    p.inner = {static_cast<std::int64_t>(v.size())};
    p.prologue = {leaf, {{0, pm::dtype::f64, 0, {1}}}, {}, {}};
    p.epilogue = {end, {}, {}, {{1, pm::dtype::f64, 0, {}}}};
    p.result = pm::dtype::f64;
    pm::detail::accumulate(p,
                           {{reinterpret_cast<std::byte*>(v.data()),
                             reinterpret_cast<std::byte*>(&got)},
                            {}},
                           threads);
    CHECK(std::fabs(got - (1e8 + 1000002 * 0.1)) < 1e-7);
    v[5] = std::numeric_limits<double>::infinity();
    pm::detail::accumulate(p,
                           {{reinterpret_cast<std::byte*>(v.data()),
                             reinterpret_cast<std::byte*>(&got)},
                            {}},
                           threads);
    CHECK(got == std::numeric_limits<double>::infinity());
}

TEST_CASE("host accumulate: sums of three f64 are those of their exact sum" *
          doctest::test_suite("host alone")) {
    std::vector<double> v;
    const double infinite = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 100; ++i)
        for (const double x : {1e16 + 2.0 * i, 1.0 + i, -1e16}) v.push_back(x);
    v[30 * 3] = infinite;
    v[40 * 3 + 1] = infinite, v[40 * 3 + 2] = -infinite;
    for (double* x = &v[50 * 3]; x < &v[51 * 3]; ++x) *x = -0.0;
    std::vector<double> got(100), want(100);
    for (std::size_t i = 0; i < 100; ++i) want[i] = 1.0 + 3.0 * static_cast<double>(i);
    want[30] = infinite;
    want[40] = std::numeric_limits<double>::quiet_NaN();
    want[50] = 0;
    pm::reduce_problem p;
    p.outer = {100};
    p.inner = {3};
    p.prologue = {
        body_of(pm::dtype::f64, prologue::leaf), {{0, pm::dtype::f64, 0, {3, 1}}}, {}, {}};
    auto end = std::make_shared<pm::program>();
    end->outputs = {end->push({pm::instruction::code::given, pm::dtype::f64, 0, {}, nullptr})};
    p.epilogue = {end, {}, {}, {{1, pm::dtype::f64, 0, {1}}}};
    p.result = pm::dtype::f64;
    pm::detail::accumulate(p,
                           {{reinterpret_cast<std::byte*>(v.data()),
                             reinterpret_cast<std::byte*>(got.data())},
                            {}},
                           pm::thread_pool(2));
    for (std::size_t i = 0; i < 100; ++i) {
        CAPTURE(i);
        CHECK((want[i] != want[i] ? got[i] != got[i] : got[i] == want[i]));
    }
    CHECK(!std::signbit(got[50]));
}
