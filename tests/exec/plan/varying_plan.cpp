// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The plan that is filled in for an extent is the one that the extent itself is planned to.
#include <pumice/exec/plan/json.hpp>
#include <pumice/exec/varying.hpp>
#include <pumice/front.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using any = pm::any_tensor;
using tensors = std::span<const any>;
using pumice_test::text_of_error;

namespace {

using function = std::vector<any> (*)(tensors);

std::vector<any> one(any t) {
    std::vector<any> list;
    list.push_back(std::move(t));
    return list;
}
std::vector<any> head(tensors x) {
    static constexpr std::int64_t order[] = {1, 0}, rows[] = {0};
    const any scores = pm::matmul(x[0], pm::permute_dims(x[0], order)) * 0.5;
    return one(pm::mean(pm::tanh(pm::matmul(pm::softmax(scores, 1), x[0])) + x[1], rows));
}
std::vector<any> joined(tensors x) {
    const any parts[] = {x[0] * 2.0, pm::exp(x[0])};
    return one(pm::concat(parts, 0));
}
std::vector<any> counted(tensors x) { return one(pm::sum(x[0]) / double(x[0].shape()[0])); }

/// Both inputs are (n, 6).
std::string text_of(const pm::plan& filled) {
    pm::plan p = filled;
    p.range = nullptr;
    return pm::to_json(p);
}

}  // namespace

TEST_CASE("varying plan: filled in for an extent, it is that extent's own") {
    const pm::context home{pm::host_only{}};
    for (const function f : {&head, &joined, &counted}) {
        const auto values = [](std::int64_t n) {
            return std::vector<pm::executable::value>(2, {pm::dtype::f32, {n, 6}});
        };
        const pm::executable e = pm::trace(home, values(200), {{0}, {0}}, 200, f);
        REQUIRE(e.planned().range != nullptr);
        for (const std::int64_t n : {200, 199, 120, 33, 7}) {
            CAPTURE(n);
            const pm::executable alone = pm::trace(home, values(n), f);
            CHECK(text_of(e.planned().range->at(n, true)) == text_of(alone.planned()));
        }
        CHECK(text_of(e.planned()) == text_of(e.planned().range->at(200, true)));
        // Without steps, the values are there.
        const pm::plan values_alone = e.planned().range->at(33, false);
        CHECK(values_alone.values.size() == e.planned().values.size());
        CHECK(values_alone.steps.empty());
    }
}

TEST_CASE("varying plan: JSON has no ranges, and says so") {
    const pm::context home{pm::host_only{}};
    const pm::executable::value in[] = {{pm::dtype::f32, {8, 6}}};
    const pm::executable e =
        pm::trace(home, in, {{0}}, 8, [](tensors x) { return one(pm::tanh(x[0])); });
    const std::string text = text_of_error([&] { pm::to_json(e.planned()); });
    CHECK_MESSAGE(text.find("varying extents") != std::string::npos, text);
}

TEST_CASE("varying plan: constants are the same tensors, loops are refused") {
    const pm::context home{pm::host_only{}};
    const pm::executable::value in[] = {{pm::dtype::f32, {40, 6}}};
    const any table = pm::random::normal(pm::dtype::f32, {60, 6}, pm::random::key(1), 0, 1, home);
    pm::eval(tensors(&table, 1));
    // The first rows of a table, as many as there are: a view of one constant.
    const auto positions = [&](tensors x) {
        const pm::slice rows[] = {{0, x[0].shape()[0]}};
        return one(x[0] + pm::slice_view(table, rows));
    };
    const pm::executable e = pm::trace(home, in, {{0}}, 40, positions);
    CHECK(e.constants().size() == 1);
    for (const std::int64_t n : {40, 3, 0}) {
        const any x = pm::full(pm::dtype::f32, {n, 6}, 2, home);
        const std::vector<float> is = pm::to_vector<float>(e.run({x})[0]),
                                 wanted = pm::to_vector<float>(positions(tensors(&x, 1))[0]);
        CHECK(is == wanted);
    }
    const std::string text = text_of_error([&] {
        pm::trace(home, in, {{0}}, 40, [&](tensors x) {
            const any rows = pm::full(pm::dtype::f32, {x[0].shape()[0], 6}, 1, home) * 2.0;
            std::vector<float> made(static_cast<std::size_t>(rows.get()->count()), 2);
            return one(x[0] + pm::from_bytes(pm::dtype::f32, rows.shape(),
                                             std::as_bytes(std::span(made)), home));
        });
    });
    CHECK_MESSAGE(text.find("constant") != std::string::npos, text);
}
