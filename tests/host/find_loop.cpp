// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Small reductions, softmax and elementwise nodes without a plan.
#include <pumice/exec/problem_kind.hpp>
#include <pumice/host/find_loop.hpp>

#include "support.hpp"

#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

using namespace host_test;

TEST_CASE("find loop: one answer, bound to what lies in memory, or none") {
    const pm::context home = host();
    const pm::matrix<float> x = ramp(4, 50, home);
    const pm::node_ptr in = x.get();
    const auto loop_of = [&](const pm::operation& op, const pm::shape& extent) {
        const pm::host_operands given{
            {&in, 1}, {}, pm::dtype::f32, extent, pm::element_count(extent)};
        pm::host_loop loop;
        find_loop(op, given, loop);
        return loop.loop ? loop.dense ? "dense" : "in parts" : "none";
    };
    const auto reduced = [&](pm::reduction what, const pm::array_list<int>& axes) {
        return std::string(loop_of(pm::reduce_op{what, axes, false}, {axes[0] == 0 ? 50 : 4}));
    };
    CHECK(reduced(pm::reduction::sum, {1}) == "dense");
    CHECK(reduced(pm::reduction::max, {0}) == "dense");
    CHECK(reduced(pm::reduction::prod, {1}) == "dense");
    CHECK(reduced(pm::reduction::var, {1}) == "none");
    CHECK(loop_of(pm::sort_op{}, {4, 50}) == std::string("none"));
    CHECK(loop_of(pm::operation(), {4, 50}) == std::string("none"));
    pm::host_loop loop;
    const pm::sort_problem sorts;
    pm::kind_of<pm::sort_problem>().find_loop(&sorts, {}, loop);
    CHECK(!loop);
    const pm::elementwise_problem computes;
    pm::kind_of<pm::elementwise_problem>().find_loop(&computes, {}, loop);
    CHECK((loop && !loop.dense));
}

TEST_CASE(
    "host alone: a reduction or softmax of a realised tensor takes no plan, and says what it was") {
    const pm::context home = host();
    const pm::matrix<float> x = ramp(4, 50, home);
    const pm::vector<float> s = pm::sum(x, pm::axis<1>);
    const pm::matrix<float> soft = pm::softmax(x, pm::axis<1>), y = x * 2.0f + x;
    pm::eval(s);
    pm::eval(soft);
    pm::eval(y);
    CHECK(home.stats().dispatches == 3);
    CHECK(home.stats().evals == 3);
    CHECK(pm::explain(s) == "host/reduce (4,): sum\n");
    CHECK(pm::explain(soft) == "host/normalize (4, 50): softmax\n");
    CHECK(pm::explain(y) == "host/elementwise (4, 50): multiply, add\n");
    CHECK(pm::explain(x) == "data from the host\n");
    CHECK(near(pm::vector<float>(pm::sum(soft, pm::axis<1>)).to_vector(),
               std::vector<double>(4, 1.0), 1e-6));
    // Reduced in the middle, of no elements, of a strided view: not alone, but right.
    const pm::tensor<float, pm::dims<3>> cube =
        pm::reshape(x, pm::shape{2, 20, 5}).as<pm::tensor<float, pm::dims<3>>>();
    CHECK(pm::sum(cube, pm::axis<1>).shape() == pm::shape{2, 5});
    const pm::matrix<float> none = ramp(0, 5, home);
    CHECK(pm::vector<float>(pm::sum(none, pm::axis<0>)).to_vector() == std::vector<float>(5, 0.0f));
    CHECK(pm::vector<float>(pm::sum(none, pm::axis<1>)).to_vector().empty());
    CHECK(near(pm::vector<float>(pm::sum(pm::transpose(x), pm::axis<0>)).to_vector(),
               by_rows(x, total_of), 1e-4));
}

TEST_CASE("host alone: memory that is not there leaves a node lazy, and it can be tried again") {
    const pm::context home = host();
    const pm::matrix<float> one =
        pm::matrix<float>(pm::from_span<float>({1, 1}, std::vector<float>{2}, home));
    CHECK(pm::matrix<float>(one + one).item() == 4.0f);
    if (test::address_sanitizer) return;  // it ends a program that asks for so much
    const pm::any_tensor huge(pm::broadcast_to(one, pm::shape{std::int64_t(1) << 30, std::int64_t(1)
                                                                                         << 25}));
    const pm::any_tensor twice = huge + huge;
    for (int i = 0; i < 2; ++i) {
        try {
            pm::eval(twice);
            FAIL("there is no such memory");
        } catch (const pm::error& e) {
            CHECK(e.code() == pm::errc::out_of_memory);
        }
        CHECK(!twice.get()->realised());
    }
    CHECK(pm::matrix<float>(one * one).item() == 4.0f);
}

namespace {

pm::vector<float> numbers(std::int64_t n, const pm::context& home) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i % 101) - 50;
    return pm::from_span<float>({n}, v, home);
}
bool computed(const pm::any_tensor& t) { return t.get()->realised(); }

}  // namespace

TEST_CASE("at once: small work has its values when it is made, and they are those of a plan") {
    const pm::context home = host();
    const auto chain = [](const pm::vector<float>& x, const pm::vector<float>& y) {
        return pm::vector<float>(pm::relu(x * y - 7.0f) + x);
    };
    const auto planned = pm::compile(chain);
    for (const std::int64_t n : {0, 1, 7, 8, 9, 127, 128, 137, 1000, 4095, 4096, 4097, 9000}) {
        const pm::vector<float> x = numbers(n, home), y = numbers(n, home);
        const auto before = home.stats().dispatches;
        const pm::vector<float> z = chain(x, y);
        CHECK(computed(z) == (n > 0 && n <= 4096));
        CHECK(home.stats().dispatches == before + computed(z));
        pm::eval(z);
        CHECK(home.stats().dispatches == before + (n > 0));
        std::vector<float> want = x.to_vector();
        for (float& v : want) v = (v * v - 7 < 0 ? 0 : v * v - 7) + v;
        CHECK(z.to_vector() == want);
        CHECK(planned(x, y).to_vector() == want);
        if (n > 0) CHECK(pm::explain(z).starts_with("host/elementwise"));
    }
    const pm::scalar_tensor<float> two = pm::full<float>({}, 2.0f, home), four = two * two;
    CHECK(four.item() == 4.0f);
    const pm::matrix<float> none = ramp(3, 0, home), more = none + none;
    CHECK(more.shape() == pm::shape{3, 0});
    CHECK(more.to_vector().empty());
}

TEST_CASE("at once: reductions and softmax, along rows and down columns, by each width") {
    const pm::context home = host();
    const auto greatest = [](const std::vector<double>& v) {
        return *std::max_element(v.begin(), v.end());
    };
    const auto mean_of = [](const std::vector<double>& v) {
        return total_of(v) / double(v.size());
    };
    for (const auto& [rows, columns] : {std::pair{1, 1000},
                                        {3, 17},
                                        {16, 33},
                                        {17, 33},
                                        {2, 300},
                                        {300, 2},
                                        {1, 4096},
                                        {4, 1024},
                                        {1, 4097},
                                        {64, 65}}) {
        pm::matrix<float> x = ramp(rows, columns, home);
        const bool small = rows * columns <= 4096;
        const pm::vector<float> s = pm::sum(x, pm::axis<1>), m = pm::max(x, pm::axis<-1>);
        CHECK(computed(s) == small);
        CHECK(near(s.to_vector(), by_rows(x, total_of), 1e-3));
        CHECK(near(m.to_vector(), by_rows(x, greatest), 0));
        const pm::matrix<float> kept = pm::mean(x, pm::axis<1>, pm::keepdims);
        CHECK(kept.shape() == pm::shape{rows, 1});
        CHECK(near(kept.to_vector(), by_rows(x, mean_of), 1e-5));
        const pm::scalar_tensor<float> whole = pm::min(x);
        CHECK(whole.item() == *std::min_element(x.host().begin(), x.host().end()));
        const pm::matrix<float> turned = pm::transpose(x);
        CHECK(near(pm::vector<float>(pm::sum(turned, pm::axis<0>)).to_vector(),
                   by_rows(x, total_of), 1e-3));
        CHECK(near(pm::vector<float>(pm::max(turned, pm::axis<0>)).to_vector(),
                   by_rows(x, greatest), 0));
        CHECK(near(pm::vector<float>(pm::mean(turned, pm::axis<0>)).to_vector(),
                   by_rows(x, mean_of), 1e-5));
        const pm::matrix<float> soft = pm::softmax(x);
        CHECK(computed(soft) == small);
        CHECK(near(pm::vector<float>(pm::sum(soft, pm::axis<1>)).to_vector(),
                   std::vector<double>(static_cast<std::size_t>(rows), 1.0), 1e-5));
    }
    // The sum of negative zeros is a zero, and NaN stays, in the middle of a row and at its end.
    const pm::matrix<float> zeros = pm::full<float>({2, 18}, -0.0f, home);
    pm::eval(zeros);
    for (const float v : pm::vector<float>(pm::sum(zeros, pm::axis<0>)).to_vector())
        CHECK(!std::signbit(v));
    pm::matrix<float> holes = ramp(3, 18, home);
    holes.host_mut()[18 + 4] = holes.host_mut()[17] = NAN;
    const std::vector<float> top = pm::vector<float>(pm::max(holes, pm::axis<0>)).to_vector();
    for (std::size_t i = 0; i < 18; ++i) CHECK(std::isnan(top[i]) == (i == 4 || i == 17));
}

TEST_CASE("at once: what an operand becomes later is not seen") {
    const pm::context home = host();
    pm::vector<float> x = numbers(100, home);
    const std::vector<float> old = x.to_vector();
    const pm::vector<float>
        copy = x + 0.0f,
        total = pm::vector<float>(pm::sum(pm::matrix<float>(pm::reshape_to(x, std::int64_t(1),
                                                                           std::int64_t(100))),
                                          pm::axis<1>));
    x.host_mut()[3] = 1000;
    pm::at(x, pm::slice{5, 9}) = numbers(4, home);
    CHECK(copy.to_vector() == old);
    CHECK(double(total.to_vector()[0]) == total_of({old.begin(), old.end()}));
    CHECK(x.to_vector()[3] == 1000.0f);
    x = x + x;
    CHECK(x.to_vector()[3] == 2000.0f);
    for (int i = 0; i < 3; ++i) x += numbers(100, home);  // a temporary operand
    CHECK(x.to_vector()[3] == 2000.0f + 3 * old[3]);
    pm::vector<float> y = numbers(8, home), z = y * 2.0f;
    z.host_mut()[0] = 7;
    CHECK(y.to_vector()[0] == -50.0f);
    // A view looks at the memory of a result, which outlives its handle.
    pm::tensor<float, pm::dims<1>, pm::strided> tail;
    {
        const pm::vector<float> w = y + y;
        tail = pm::view(w, pm::slice{2, 4});
        pm::eval(tail);
    }
    CHECK(tail.to_vector() == std::vector<float>{-96, -94});
}

TEST_CASE(
    "at once: not while a function is traced, nor over lazy operands or those of two contexts") {
    const pm::context home = host(), other = host();
    const pm::vector<float> x = numbers(10, home);
    bool lazy = false;
    const auto f = pm::compile([&](const pm::vector<float>& v) {
        const pm::vector<float> y = v * 2.0f, constant = x + x;
        lazy = !computed(y) && !computed(constant);
        return pm::vector<float>(y + constant);
    });
    CHECK(f(x).to_vector() == pm::vector<float>(x * 4.0f).to_vector());
    CHECK(lazy);
    const pm::vector<float> large = numbers(5000, home), twice = large + large;
    const pm::vector<float> head = pm::view(twice, pm::slice{0, 10}), y = head + x;
    CHECK((!computed(twice) && !computed(head) && !computed(y)));
    CHECK(y.to_vector() == pm::vector<float>(x * 3.0f).to_vector());
    const pm::vector<float> far = numbers(10, other), shorter = numbers(9, home);
    const auto fault = [](auto&& call) {
        try {
            call();
        } catch (const pm::error& e) {
            return e.code();
        }
        return pm::errc::io_failed;
    };
    CHECK(fault([&] { pm::vector<float>(x + far); }) == pm::errc::context_mismatch);
    CHECK(fault([&] { pm::vector<float>(x + shorter); }) == pm::errc::shape_mismatch);
    CHECK(fault([&] { pm::max(ramp(2, 0, home), pm::axis<1>); }) == pm::errc::invalid_argument);
}

TEST_CASE("at once: fusion and eager policies mean what they mean, and a profile sees the work") {
    const pm::context apart{pm::host_only{}, pm::fusion::none{}};
    const pm::vector<float> x = numbers(10, apart), y = x * x + x;
    CHECK(!computed(y));
    pm::eval(y);
    CHECK(apart.stats().dispatches == 2);
    const pm::context home = host();
    const pm::vector<float> v = numbers(10, home);
    pm::profiler profile(home);
    const pm::vector<float> seen = v + v;
    CHECK(!computed(seen));
    pm::eval(seen);
    CHECK(!profile.finish().events.empty());
    CHECK(computed(pm::vector<float>(v + v)));
    CHECK(home.stats().dispatches == 2);
}

TEST_CASE("at once: threads share operands and an engine") {
    const pm::context home = host();
    const pm::vector<float> x = numbers(1000, home);
    const pm::matrix<float> m = ramp(4, 100, home);
    const std::vector<float> want = pm::vector<float>(x * 2.0f + x).to_vector(),
                             sums = pm::vector<float>(pm::sum(m, pm::axis<1>)).to_vector();
    const auto before = home.stats().dispatches;
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 100; ++i) {
                    const pm::vector<float> y = x * 2.0f + x, s = pm::sum(m, pm::axis<1>);
                    wrong += y.to_vector() != want || s.to_vector() != sums;
                }
            });
    }
    CHECK(wrong == 0);
    CHECK(home.stats().dispatches == before + 600);
}
