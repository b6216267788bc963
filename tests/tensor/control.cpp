// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What branches and loops make of the functions that they are given, and what they refuse.
#include <pumice/front.hpp>
#include <pumice/tensor/control.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using pumice_test::code_of;
using pumice_test::fake_engine;
using pumice_test::text_of_error;
using vec = pm::vector<float>;
using flag = pm::tensor<bool, pm::dims<0>>;

namespace {

struct fixture {
    std::shared_ptr<fake_engine> engine = std::make_shared<fake_engine>();
    vec x{pumice_test::data(engine, {3})}, y{pumice_test::data(engine, {4})};
    flag yes{pumice_test::data(engine, {}, pm::dtype::boolean)};
};
const pm::control_call& call_of(const pm::any_tensor& t) {
    const auto* op = t.get()->op.get_if<pm::control_op>();
    REQUIRE(op != nullptr);
    return *op->call;
}
const auto small = [](const vec& v) { return pm::max(v) < 9.0f; };

}  // namespace

TEST_CASE("control: functions are called once, and nothing runs meanwhile") {
    fixture f;
    int tests = 0, bodies = 0;
    const vec r = pm::while_loop(
        [&](const vec& v) {
            ++tests;
            return pm::max(v) < 9.0f;
        },
        [&](const vec& v) {
            ++bodies;
            CHECK_FALSE(v.get()->data);
            return v + 1.0f;
        },
        f.x);
    CHECK(bodies == 1);
    CHECK(tests == 2);  // of the values at first, and of those that a step makes
    CHECK(f.engine->evaluated == 0);
    const pm::control_call& c = call_of(r);
    CHECK(c.name == "while_loop");
    CHECK(c.tested);
    CHECK(c.count == -1);
    CHECK(c.carried == 1);
    CHECK(r.get()->inputs.size() == 2);
    CHECK(pm::detail::current_trace == nullptr);
    CHECK(pm::detail::current_scope == 0);
}

TEST_CASE("control: counted loops and branches say what they need") {
    fixture f;
    const auto grown = [](const pm::any_tensor&, const vec& v) { return v + 1.0f; };
    const vec r = pm::fori_loop(2, 12, grown, f.x);
    CHECK(call_of(r).count == 10);
    CHECK_FALSE(call_of(r).tested);
    const auto [a, b] = pm::cond(
        f.yes, [&](const vec& v) { return std::tuple(v + f.x, v); },
        [](const vec& v) { return std::tuple(v, v); }, vec(f.x * 2.0f));
    CHECK(&call_of(a) == &call_of(b));
    CHECK(call_of(a).parts.size() == 2);
    CHECK(a.get()->inputs.size() == 3);  // what decides, the operand, what is captured
    const auto listed =
        pm::while_loop([](const std::vector<pm::any_tensor>& l) { return pm::max(l[0]) < 3.0; },
                       [](const std::vector<pm::any_tensor>& l) {
                           return std::vector<pm::any_tensor>{l[0] + 1.0, l[1]};
                       },
                       std::vector<pm::any_tensor>{f.x, f.y});
    CHECK(listed.size() == 2);
    CHECK(listed[1].shape() == pm::shape{4});
}

TEST_CASE("control: what decides is a bool of one element") {
    fixture f;
    const auto same = [](const vec& v) { return v; };
    CHECK(code_of([&] { pm::cond(f.x, same, same, f.x); }) == pm::errc::dtype_mismatch);
    CHECK(code_of([&] { pm::cond(f.x > 1.0f, same, same, f.x); }) == pm::errc::shape_mismatch);
    CHECK(code_of([&] { pm::while_loop([](const vec& v) { return pm::sum(v); }, same, f.x); }) ==
          pm::errc::dtype_mismatch);
    CHECK(code_of([&] { pm::while_loop([](const vec& v) { return v < 1.0f; }, same, f.x); }) ==
          pm::errc::shape_mismatch);
    CHECK(text_of_error([&] { pm::cond(f.x, same, same, f.x); }).find("[cond]") == 0);
}

TEST_CASE("control: branches agree, and carried values keep type and shape") {
    fixture f;
    const auto any = [&](const pm::any_tensor& t) { return [t] { return t; }; };
    CHECK(code_of([&] { pm::cond(f.yes, any(f.x), any(f.y)); }) == pm::errc::shape_mismatch);
    CHECK(code_of([&] { pm::cond(f.yes, any(f.x), any(pm::astype(f.x, pm::dtype::i32))); }) ==
          pm::errc::dtype_mismatch);
    const auto list = [&](std::size_t n) {
        return [&f, n] { return std::vector<pm::any_tensor>(n, f.x); };
    };
    CHECK(code_of([&] { pm::cond(f.yes, list(1), list(2)); }) == pm::errc::invalid_argument);

    using any_list = std::vector<pm::any_tensor>;
    const auto loop = [&](auto&& body, any_list init) {
        return [&f, body, init] {
            pm::while_loop([&](const any_list&) { return f.yes; }, body, init);
        };
    };
    CHECK(code_of(loop([&](const any_list&) { return any_list{f.y}; }, {f.x})) ==
          pm::errc::shape_mismatch);
    CHECK(code_of(loop([&](const any_list&
                               l) { return any_list{pm::astype(l[0], pm::dtype::f16)}; },
                       {f.x})) == pm::errc::dtype_mismatch);
    CHECK(code_of(loop([&](const any_list& l) { return any_list{l[0]}; }, {f.x, f.y})) ==
          pm::errc::invalid_argument);
    CHECK(code_of(loop([&](const any_list& l) { return any_list{l[0], l[0]}; }, {f.x})) ==
          pm::errc::invalid_argument);
    CHECK(code_of(loop([&](const any_list& l) { return l; }, {})) == pm::errc::invalid_argument);
    const std::string text =
        text_of_error(loop([&](const any_list&) { return any_list{f.y}; }, {f.x}));
    CHECK(text.find("carried value 0") != std::string::npos);
    CHECK(pm::detail::current_trace == nullptr);
}

TEST_CASE("control: bounds, foreign contexts and foreign arguments are refused") {
    fixture f, other;
    const auto grown = [](const pm::any_tensor&, const vec& v) { return v + 1.0f; };
    CHECK(code_of([&] { pm::fori_loop(0, std::int64_t{1} << 31, grown, f.x); }) ==
          pm::errc::invalid_argument);
    CHECK(code_of([&] { pm::while_loop(small, [&](const vec&) { return other.x; }, f.x); }) ==
          pm::errc::context_mismatch);
    vec kept;
    pm::while_loop(
        small,
        [&](const vec& v) {
            kept = v;
            return v + 1.0f;
        },
        f.x);
    // Captured like any other; its value is asked for when it runs.
    CHECK(!code_of([&] { pm::while_loop(small, [&](const vec& v) { return v + kept; }, f.x); }));
    CHECK(code_of([&] {
              pm::fori_loop(
                  0, 2,
                  [&](const pm::any_tensor&, const vec& v) {
                      pm::while_loop(
                          small,
                          [&](const vec& w) {
                              kept = w;
                              return w + v;
                          },
                          v);
                      return v + kept;
                  },
                  f.x);
          }) == pm::errc::invalid_argument);
}

TEST_CASE("control: eager contexts run it at its line") {
    pm::policy_set set;
    set.eager = true;
    const auto engine = std::make_shared<fake_engine>(set);
    const vec x(pumice_test::data(engine, {3}));
    const auto grown = [](const pm::any_tensor&, const vec& v) { return v + 1.0f; };
    pm::fori_loop(0, 3, grown, x);
    CHECK(engine->evaluated == 2);  // the number of the first step, and the loop
}
