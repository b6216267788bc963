// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Names of nodes on their way through the house: explain, profiles, plans in JSON, and errors in
// the middle of a run.
#include <pumice/exec/plan/json.hpp>
#include <pumice/front.hpp>

#include <tests/extend/add_backend.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

pm::any_tensor layer(const pm::context& home, int number, std::int64_t size = 64) {
    const pm::any_tensor x = pm::full(pm::dtype::f32, {size, size}, 0.01, home);
    pm::eval(std::span(&x, 1));
    const pm::any_tensor h = pm::named(pm::matmul(x, x), "h", number);
    return pm::named(pm::relu(h + 1.0), "a", number);
}

}  // namespace

TEST_CASE("origin: explain and profiles show names, on the device and on the host") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const pm::any_tensor a = layer(home, 7);
        CHECK(contains(pm::explain(a), "  for h-7, a-7\n"));
        pm::profiler timing(home);
        pm::eval(std::span(&a, 1));
        const pm::profile p = timing.finish();
        CHECK(contains(pm::explain(a), "  for h-7, a-7\n"));
        int found = 0;
        for (const pm::profile_event& e : p.events) found += e.origin == "h-7, a-7";
        CHECK(found == 1);
        CHECK(contains(p.table(), "  for h-7, a-7\n"));
        CHECK(contains(p.chrome_trace(), "\"computes\":\"h-7, a-7\""));
        const pm::any_tensor plain = pm::full(pm::dtype::f32, {64}, 2, home) * 2.0;
        pm::eval(std::span(&plain, 1));
        CHECK(!contains(pm::explain(plain), "  for "));
    }
}

TEST_CASE("origin: graphs of the same names share a plan, others have their own") {
    const pm::context home(pm::host_only{});
    const auto plans = [&](int number) {
        const std::uint64_t before = home.stats().plans;
        const pm::any_tensor a = layer(home, number);
        pm::eval(std::span(&a, 1));
        CHECK(contains(pm::explain(a), pm::cat({"a-", number})));
        return home.stats().plans - before;
    };
    CHECK(plans(1) == 1);
    CHECK(plans(1) == 0);
    CHECK(plans(2) == 1);
    CHECK(plans(1) == 0);
}

TEST_CASE("origin: what fails in the middle of a run names its nodes") {
    const pm::context home(mine::on_mine{1 << 20});
    const pm::any_tensor a = layer(home, 3), p = pm::named(pm::softmax(a, 1), "p");
    for (const auto& [step, names] : {std::pair{0, "computes h-3"}, {1, "computes a-3, p"}}) {
        mine::engine_of(home).fail_in = step;
        const std::string said = test::text_of_error([&] { pm::eval(std::span(&p, 1)); });
        CHECK_MESSAGE(contains(said, names), said);
    }
    pm::eval(std::span(&p, 1));
    const pm::context small(mine::on_mine{2 * 64 * 64 * 4 - 1});
    const pm::any_tensor large = layer(small, 4);
    const std::string said = test::text_of_error([&] { pm::eval(std::span(&large, 1)); });
    CHECK_MESSAGE(contains(said, "computes h-4"), said);
}

TEST_CASE("origin: a device without memory for a result says for which") {
    const pm::context home(pm::memory_limit{96 << 20});
    if (home.device().type == pm::device_type::host) return;
    const pm::any_tensor x = pm::zeros(pm::dtype::f32, {1 << 22}, home);  // 16 MiB
    std::vector<pm::any_tensor> kept;
    std::string said = "nothing was thrown";
    for (int i = 0; i < 16 && said == "nothing was thrown"; ++i) {
        kept.push_back(pm::named(pm::cumulative(pm::reduction::sum, x, 0) + double(i), "sum", i));
        said = test::text_of_error([&] { pm::eval(std::span(&kept.back(), 1)); });
    }
    CHECK_MESSAGE(contains(said, pm::cat({" computes ", kept.back().name()})), said);
}

TEST_CASE("origin: a plan in JSON keeps names, whatever bytes they are of") {
    const pm::context home(pm::host_only{});
    const pm::executable::value in[] = {{pm::dtype::f32, {4}}};
    const pm::executable e = pm::trace(home, in, [](std::span<const pm::any_tensor> x) {
        const pm::any_tensor y = pm::named(pm::named(x[0], "x\xff\"\n") * 2.0, "y");
        const pm::any_tensor z = y + x[0];
        z.get()->label.set(pm::node_label("z", "Add \"\xe4\""));
        return std::vector<pm::any_tensor>{z};
    });
    const std::string text = pm::to_json(e.planned());
    CHECK(contains(text, "\"name\":\"x\xef\xbf\xbd\\\"?\""));
    const pm::plan again = pm::plan_from_json(text);
    CHECK(pm::to_json(again) == text);
    CHECK(again.steps[0].origin.size() == 2);
    CHECK(again.steps[0].origin[0].name() == "y");
    CHECK(again.steps[0].origin[1].maker() == "Add \"\xef\xbf\xbd\"");
    std::string broken = text;
    broken.replace(broken.find("\"y\""), 3, "[1,2]");
    CHECK(contains(test::text_of_error([&] { pm::plan_from_json(broken); }),
                   "wants a name, has number"));
}
