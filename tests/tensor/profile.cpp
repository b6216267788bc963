// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A profile as text; and a profiler's scope.
#include <pumice/tensor/profile.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace pm = pumice;

namespace {

pm::profile sample() {
    pm::profile p;
    p.tracks = {"host", "a \"device\"\\\n\xff"};
    p.events = {{"planning", 0, 10.25, 0, 0},
                {"matmul", 20, 300, 3'000'000, 1},
                {"sum: multiply | add", 320, 50, 100'000, 1},
                {"matmul", 400, 150, 1'500'000, 1},
                {"waiting", 15.5, 540, 0, 0}};
    return p;
}

}  // namespace

TEST_CASE("a profile as a table: the longest first, with rates, shares and the host's work") {
    CHECK(sample().table() ==
          "  count           µs      GB/s   share  kernel\n"
          "      2        450.0      10.0   90.0 %  matmul\n"
          "      1         50.0       2.0   10.0 %  sum: multiply | add\n"
          "      3        500.0       9.2  100.0 %  all\n"
          "from the first to the last 530.0 µs; the host: waiting 540.0 µs, planning 10.3 µs\n");
    pm::profile cut = sample();
    cut.dropped = 7;
    CHECK(cut.table().ends_with("7 events more were left out: a profile holds 5\n"));
    CHECK(pm::profile{}.table() ==
          "  count           µs      GB/s   share  kernel\n"
          "      0          0.0         -      - %  all\n"
          "no kernel ran\n");
}

TEST_CASE("a profile as a trace is JSON with a name for each track, whatever names hold") {
    pm::profile p = sample();
    p.events.push_back({"\"quoted\"\t\x01\xc3 \\", -1.5, 0.0004, 0, 1});
    p.dropped = 3;
    const nlohmann::json trace = nlohmann::json::parse(p.chrome_trace());
    const nlohmann::json& list = trace["traceEvents"];
    REQUIRE(list.size() == p.tracks.size() + p.events.size());
    CHECK(list[0]["ph"] == "M");
    CHECK(list[0]["args"]["name"] == "host");
    CHECK(list[1]["args"]["name"] == "a \"device\"\\\n\xef\xbf\xbd");
    for (std::size_t i = 0; i < p.events.size(); ++i) {
        const nlohmann::json& e = list[i + p.tracks.size()];
        CHECK(e["ph"] == "X");
        CHECK(e["tid"] == p.events[i].track);
        CHECK(e["ts"].get<double>() == doctest::Approx(p.events[i].begin_us).epsilon(1e-6));
        CHECK(std::abs(e["dur"].get<double>() - p.events[i].duration_us) <= 0.0005);
    }
    CHECK(list[3]["args"]["bytes"] == 3'000'000);
    CHECK(list.back()["name"] == "\"quoted\"\t\x01\xef\xbf\xbd \\");
    CHECK(trace["otherData"]["dropped"] == "3");
    CHECK(nlohmann::json::parse(pm::profile{}.chrome_trace())["traceEvents"].empty());
}

TEST_CASE("a profiler runs from where it is made to its finish, or to the end of its scope") {
    const auto home = std::make_shared<pumice_test::fake_engine>();
    const pm::context c(home);
    {
        pm::profiler p(c);
        CHECK(home->profiles == 1);
        p.finish();
        CHECK(home->profiles == 0);
        CHECK_THROWS_WITH_AS(p.finish(), "[profiler] this profile is finished already", pm::error);
    }
    CHECK(home->profiles == 0);
    {
        const pm::profiler p(c);
        CHECK(home->profiles == 1);
    }
    CHECK(home->profiles == 0);
}
