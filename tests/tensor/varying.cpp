// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which axes vary, for which extents a function is traced, and what is refused before anything is
// planned.
#include <pumice/front.hpp>
#include <pumice/tensor/varying.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace pm = pumice;
using any = pm::any_tensor;
using pumice_test::code_of;
using pumice_test::fake_engine;
using pumice_test::text_of_error;

namespace {

struct fixture {
    std::shared_ptr<fake_engine> engine = std::make_shared<fake_engine>();
    pm::context home{engine};
    any x = pumice_test::data(engine, {5, 4}), y = pumice_test::data(engine, {4, 5});
};

pm::traced_range last;  // that was to be prepared
std::shared_ptr<pm::prepared_graph> keep(pm::engine&, const pm::traced_range& r) {
    last = r;
    struct nothing final : pm::prepared_graph {
        pm::submission run(pm::span<const any>, pm::span<const std::uint32_t>, pm::span<any>,
                           pm::stop_view, bool) override {
            return {};
        }
        std::string explain() const override { return {}; }
    };
    return std::make_shared<nothing>();
}
std::shared_ptr<pm::prepared_graph> refuse(pm::engine&, const pm::traced_range& r) {
    pm::fail(pm::errc::unsupported, "varying", {"not from ", r.first});
}

}  // namespace

TEST_CASE("varying: a function is traced for neighbouring extents and for small ones") {
    fixture f;
    const pm::executable::value in[] = {{pm::dtype::f32, {512, 4}}, {pm::dtype::f32, {4, 512}}};
    std::vector<std::int64_t> seen;
    const pm::executable e = pm::detail::trace_range(
        f.home, in, {{0}, {1}}, 512,
        [&](std::span<const any> t) {
            seen.push_back(t[0].shape()[0]);
            CHECK(t[1].shape() == pm::shape{4, seen.back()});
            std::vector<any> r;
            r.push_back(pm::matmul(t[0], t[1]));
            return r;
        },
        &keep);
    CHECK(last.first == 508);
    CHECK(last.graphs.size() == 5);
    CHECK(last.graphs[4].outputs[0]->extent == pm::shape{512, 512});
    CHECK(last.least == 0);
    CHECK(e.inputs()[1].shape == pm::shape{4, 512});
    CHECK(e.outputs()[0].shape == pm::shape{512, 512});
    for (const std::int64_t n : {0, 1, 2, 3, 508, 512}) {
        CAPTURE(n);
        CHECK(std::find(seen.begin(), seen.end(), n) != seen.end());
    }
    CHECK(seen.size() < 16);
    CHECK(f.engine->evaluated == 0);
    last = {};
}

TEST_CASE("varying: near to 0 the extents lie above the bound; the least one is found") {
    fixture f;
    const pm::executable::value in[] = {{pm::dtype::f32, {5, 4}}};
    const auto third_row = [](std::span<const any> t) {
        std::vector<any> r;
        if (t[0].shape()[0] < 3) pm::fail(pm::errc::index_out_of_range, "test", {"three rows"});
        r.push_back(pm::tanh(t[0]));
        return r;
    };
    pm::detail::trace_range(f.home, in, {{0}}, 5, third_row, &keep);
    CHECK(last.first == 6);
    CHECK(last.least == 3);
    CHECK(last.why_not_less == "[test] three rows");
    last = {};
    // What the function says to the bound itself is what the caller hears.
    CHECK(text_of_error([&] { pm::detail::trace_range(f.home, in, {{0}}, 2, third_row, &keep); }) ==
          "[test] three rows");
    // The first reason counts.
    CHECK(text_of_error([&] {
              pm::detail::trace_range(f.home, in, {{0}}, 100, third_row, &refuse);
          }) == "[varying] not from 96");
}

TEST_CASE("varying: axes of arguments") {
    fixture f;
    const any list[] = {f.x, f.y, f.x};
    const auto axes = [&](const pm::varying& v) { return pm::detail::varying_axes(v, list); };
    const auto same = [](const pm::array_list<pm::index_list>& a,
                         std::initializer_list<pm::index_list> b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    CHECK(same(axes({.at_most = 8}), {{0}, {0}, {0}}));
    CHECK(same(axes({.at_most = 8, .axes = {{0}, {-1}}}), {{0}, {1}, {1}}));
    CHECK(same(axes({.at_most = 8, .axes = {{}, {0, 1}, {}}}), {{}, {0, 1}, {}}));
    CHECK(code_of([&] { axes({}); }) == pm::errc::invalid_argument);
    CHECK(text_of_error([&] { axes({.at_most = 8, .axes = {{2}}}); }) ==
          "[varying] axis 2 of argument 0, which has 2 axes");
    CHECK(text_of_error([&] { axes({.at_most = 8, .axes = {{}}}); }) ==
          "[varying] no axis of any argument varies");
    CHECK(code_of([&] { axes({.at_most = 8, .axes = {{0}, {0}, {0}, {0}}}); }) ==
          pm::errc::invalid_argument);
}

TEST_CASE("varying: what is cut or decided by an extent is found where it is small") {
    fixture f;
    const pm::executable::value in[] = {{pm::dtype::f32, {100, 4}}};
    const auto refused = [&](auto&& function) {
        return text_of_error([&] {
            pm::detail::trace_range(
                f.home, in, {{0}}, 100,
                [&](std::span<const any> t) {
                    std::vector<any> r;
                    r.push_back(function(t[0]));
                    return r;
                },
                &keep);
        });
    };
    const std::string cut = refused([](const any& x) {
        const pm::slice rows[] = {{0, std::min<std::int64_t>(x.shape()[0], 10) - 1}};
        return pm::tanh(pm::slice_view(x, rows));
    });
    CHECK_MESSAGE(cut.find("cut, rounded or decided") != std::string::npos, cut);
    const std::string decided =
        refused([](const any& x) { return x.shape()[0] > 50 ? pm::sum(x) : pm::mean(x); });
    CHECK_MESSAGE(decided.find("cut, rounded or decided") != std::string::npos, decided);
    // Of the least extents eight may be other ops, or other numbers; not nine.
    const auto from_row = [&](std::int64_t row) {
        return refused([=](const any& x) {
            const pm::slice rows[] = {{row, {}}};
            return pm::tanh(pm::slice_view(x, rows));
        });
    };
    CHECK(from_row(1) == "nothing was thrown");
    CHECK(from_row(7) == "nothing was thrown");
    CHECK(from_row(9).find("for the extent 8 does not go on") != std::string::npos);
    // An extent may draw fewer random numbers than the others, but not more.
    const auto draws = [&](const any& x) {
        const auto drawn = pm::random::detail::fresh();
        return x + pm::random::uniform(pm::dtype::f32, x.shape(), drawn, 0, 1, f.home);
    };
    CHECK(refused([&](const any& x) { return x.shape()[0] > 1 ? draws(x) : pm::tanh(x); }) ==
          "nothing was thrown");
    const std::string more =
        refused([&](const any& x) { return x.shape()[0] > 1 ? pm::tanh(x) : draws(x); });
    CHECK_MESSAGE(more.find("draws more random numbers") != std::string::npos, more);
    last = {};
}
