// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan that is bound runs like the function that it comes from. (tests/process/plans.cpp has two
// processes.)
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <tests/exec/random_programs.hpp>
#include <tests/support/samples.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using test::elements_of, test::same_bits;

TEST_CASE("bind: random programs give the bits of the recording that they come from") {
    const pm::context host(pm::host_only{}), device;
    const pm::plan_names names{{}, {test::mixed().get(), test::crossed().get()}};
    for (unsigned seed = 0; seed < unsigned(test::samples(40)); ++seed)
        for (const pm::context* home : {&host, &device}) {
            const test::traced_program one(seed, *home);
            const pm::plan p = pm::plan_from_json(pm::to_json(one.recording.planned()), names);
            CHECK_MESSAGE(same_bits(elements_of(pm::bind(*home, p).run(one.start)),
                                    elements_of(one.recording.run(one.start))),
                          "seed " << seed);
        }
}

TEST_CASE("bind: constants come in any layout, and numbers with the plan") {
    for (const pm::context& home : {pm::context(pm::host_only{}), pm::context()}) {
        std::vector<float> v(40);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i * i % 23);
        const pm::any_tensor all =
            pm::from_bytes(pm::dtype::f32, {40}, std::as_bytes(std::span(v)), home);
        const std::int64_t turned[] = {1, 0};
        const pm::slice part[] = {{3, 39, 1}}, back[] = {{}, {std::nullopt, std::nullopt, -1}};
        const pm::any_tensor odd =
            pm::slice_view(pm::permute_dims(pm::reshape(pm::slice_view(all, part), {4, 9}), turned),
                           back);
        pm::eval(std::span(&odd, 1));
        const pm::executable e =
            pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {9, 4}}},
                      [&](std::span<const pm::any_tensor> t) {
                          return std::vector{pm::any_tensor(t[0] * 2.5 + odd)};
                      });
        const pm::any_tensor x = pm::full(pm::dtype::f32, {9, 4}, 3, home);
        const std::vector<float> expected = elements_of(e.run({x}));
        // The values of the constant, dense.
        const pm::any_tensor dense[] = {pm::copy(odd)};
        const pm::plan p = pm::plan_from_json(pm::to_json(e.planned()));
        CHECK(same_bits(elements_of(pm::bind(home, p, dense).run({x})), expected));
        const pm::any_tensor as_it_is[] = {odd};
        CHECK(same_bits(elements_of(pm::bind(home, p, as_it_is).run({x})), expected));
    }
}

TEST_CASE("bind: random keys are new in each run") {
    const pm::context home(pm::host_only{});
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {64}}},
                  [&](std::span<const pm::any_tensor> t) {
                      return std::vector{
                          pm::any_tensor(t[0] + pm::random::uniform(pm::dtype::f32, {64},
                                                                    pm::random::detail::fresh(), 0,
                                                                    1, home))};
                  });
    const pm::executable bound = pm::bind(home, pm::plan_from_json(pm::to_json(e.planned())));
    const pm::any_tensor x = pm::zeros(pm::dtype::f32, {64}, home);
    CHECK(elements_of(bound.run({x})) != elements_of(bound.run({x})));
}

TEST_CASE("bind: what does not fit is refused with the reason") {
    const pm::context home(pm::host_only{}), other(pm::host_only{});
    const pm::any_tensor w = pm::full(pm::dtype::f32, {3}, 2, home);
    pm::eval(std::span(&w, 1));
    const pm::executable e =
        pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {3}}},
                  [&](std::span<const pm::any_tensor> t) {
                      return std::vector{pm::any_tensor(t[0] * w)};
                  });
    const auto refused = [&](const pm::plan& p, std::span<const pm::any_tensor> constants,
                             std::string_view words) {
        try {
            pm::bind(home, p, constants);
        } catch (const pm::error& error) {
            if (std::string_view(error.what()).find(words) != std::string_view::npos) return true;
            MESSAGE(std::string(error.what()));
        }
        return false;
    };
    const pm::any_tensor right[] = {w}, many[] = {w, w},
                         long_one[] = {pm::zeros(pm::dtype::f32, {4}, home)},
                         halves[] = {pm::zeros(pm::dtype::f16, {3}, home)},
                         foreign[] = {pm::zeros(pm::dtype::f32, {3}, other)}, none[1];
    pm::plan p = e.planned();
    CHECK(pm::bind(home, p, right).inputs().size() == 1);
    CHECK(refused(p, {}, "1 constants, 0 are given"));
    CHECK(refused(p, many, "1 constants, 2 are given"));
    CHECK(refused(p, long_one, "constant 0 is f32 (4,), the plan has f32 (3,)"));
    CHECK(refused(p, halves, "constant 0 is f16"));
    CHECK(refused(p, foreign, "another context"));
    CHECK(refused(p, none, "constant 0 is empty"));
    p.steps[0].buffers[0] = 9;
    CHECK(refused(p, right, "value 9, which does not exist"));
    p = e.planned();
    p.at(p.inputs[0]).layout = {-1};
    CHECK(refused(p, right, "value"));
}
