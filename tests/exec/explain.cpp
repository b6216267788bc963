// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is told of an evaluation by explain and report, and names of nodes on their way through the
// house: explain, profiles, plans in JSON, and errors in the middle of a run.
#include <pumice/exec/plan/json.hpp>
#include <pumice/front.hpp>
#include <pumice/report.hpp>

#include <tests/extend/add_backend.hpp>
#include <tests/support/files.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

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

namespace {

/// Three steps: a copy, a product, a softmax.
pm::any_tensor attention(const pm::any_tensor& x) {
    const std::int64_t swap[] = {1, 0}, last[] = {1};
    const pm::any_tensor t =
        pm::named(pm::copy<pm::row_major>(pm::permute_dims(x, swap)), "t<&\">");
    return pm::softmax(pm::matmul(x, pm::matmul(t, t)), last[0]);
}
pm::any_tensor square(const pm::context& home, std::int64_t n = 96) {
    const pm::any_tensor x = pm::full(pm::dtype::f32, {n, n}, 0.01, home) + 0.25;
    pm::eval(std::span(&x, 1));
    return x;
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
    return n;
}

/// The number that a page's first table has for a name; -1 where it has none.
double figure(const std::string& page, const std::string& name) {
    const std::string before = "<th>" + name + "</th><td class=\"n\">";
    const std::size_t at = page.find(before);
    return at == page.npos ? -1 : std::stod(page.substr(at + before.size(), 32));
}

/// Whether each tag of a page is closed where it was opened.
bool well_formed(const std::string& page) {
    std::vector<std::string> open;
    for (std::size_t at = 0; (at = page.find('<', at)) != page.npos; ++at) {
        const std::size_t end = page.find('>', at);
        if (end == page.npos) return false;
        const std::string tag = page.substr(at + 1, end - at - 1);
        const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
        if (tag[0] == '!' || name == "meta" || tag.ends_with('/')) continue;
        if (tag[0] != '/') {
            open.push_back(name);
        } else {
            if (open.empty() || "/" + open.back() != tag) return false;
            open.pop_back();
        }
    }
    return open.empty();
}

}  // namespace

TEST_CASE("explain: what ran is told for the whole evaluation") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const pm::any_tensor y = attention(square(home));
        const bool device = home.device().type != pm::device_type::host;
        const std::string planned = pm::explain(y);
        CHECK(planned.starts_with("not evaluated yet; the plan:\n"));
        CHECK(contains(planned, ": copy\n"));
        if (device) CHECK(contains(planned, "in all 4 dispatches, 1 submit, "));
        const pm::statistics before = home.stats();
        pm::eval(std::span(&y, 1));
        const pm::statistics after = home.stats();
        if (device) CHECK(after.dispatches - before.dispatches == 4);
        if (device) CHECK(after.submits - before.submits == 1);
        const std::string told = pm::explain(y);
        CHECK(told.starts_with(device ? "normalize/" : "host/normalize"));
        CHECK(contains(told, "  one of the 4 steps of an evaluation:\n"));
        // Its lines are those of the plan, further in.
        for (std::size_t at = planned.find('\n') + 1; at < planned.size();) {
            const std::size_t end = planned.find('\n', at);
            CHECK(contains(told, "    " + planned.substr(at, end - at) + "\n"));
            at = end + 1;
        }
    }
}

TEST_CASE("report: a page of a function has its plan, memory and times, and what a run counts") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const pm::any_tensor x = square(home);
        const pm::executable::value in[] = {{x.dtype(), x.shape()}};
        const pm::executable e = pm::trace(home, in, [](std::span<const pm::any_tensor> l) {
            return std::vector<pm::any_tensor>{attention(l[0])};
        });
        const pm::measured_run run = pm::measure_run(e, std::span(&x, 1));
        const std::string page = pm::report_page(e, &run);
        CHECK(well_formed(page));
        CHECK(contains(page, "t&lt;&amp;&quot;&gt;"));
        CHECK(!contains(page, "t<&"));
        CHECK(count(page, "<script") + count(page, "src=") + count(page, "href=") == 0);
        CHECK(count(page, "://") == count(page, "xmlns=\"http://www.w3.org/2000/svg\""));

        const pm::statistics before = home.stats();
        const std::vector<pm::any_tensor> y = e.run({x});
        const pm::statistics after = home.stats();
        CHECK(figure(page, "steps") == double(e.planned().steps.size()));
        CHECK(figure(page, "dispatches") == double(after.dispatches - before.dispatches));
        CHECK(figure(page, "submits") == double(after.submits - before.submits));
        CHECK(figure(page, "bytes written") == double(after.written_bytes - before.written_bytes));
        std::int64_t bytes = 0;
        for (const pm::plan_step& s : e.planned().steps)
            for (const int v : s.buffers) bytes += e.planned().at(v).bytes();
        CHECK(figure(page, "bytes of operands") == double(bytes));
        double us = 0;
        for (const pm::profile_event& event : run.times.events)
            if (event.track != 0) us += event.duration_us;
        CHECK(us > 0);
        CHECK(figure(page, "µs measured") == doctest::Approx(us).epsilon(0.01).scale(10));
        CHECK(count(page, "<tr><td class=\"n\">") == e.planned().steps.size());
        CHECK(count(page, "<svg ") == 4);

        // Without a run it has no times, and says nothing of them.
        const std::string plain = pm::report_page(e);
        CHECK(well_formed(plain));
        CHECK(count(plain, "<svg ") == 2);
        CHECK(figure(plain, "dispatches") == -1);
    }
}

TEST_CASE("report: of a lazy tensor, which stays lazy; of one with values, and to nowhere") {
    const pm::context home(pm::host_only{});
    const pm::any_tensor y = attention(square(home));
    const pumice_test::temporary_folder folder;
    const std::filesystem::path file = folder.path() / "page.html";
    pm::report(y, file);
    CHECK(!y.get()->realised());
    std::ifstream in(file);
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    CHECK(well_formed(page));
    CHECK(figure(page, "steps") == 4);
    CHECK(contains(page, "host/matmul"));
    std::filesystem::remove(file);
    CHECK(contains(test::text_of_error([&] { pm::report(y, file / "a" / "b"); }), "cannot write"));
    pm::eval(std::span(&y, 1));
    CHECK(contains(test::text_of_error([&] { pm::report(y, file); }), "has its values already"));
    CHECK(!std::filesystem::exists(file));
}
