// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory plans: nothing live overlaps, and little is wasted.
#include <pumice/exec/memory_plan.hpp>

#include <tests/support/samples.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <random>

namespace pm = pumice;

namespace {

using buffers = pm::array_list<pm::planned_buffer>;

std::int64_t up(std::int64_t bytes, std::int64_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// Whether `heir` took over, of one buffer after another, what was `elder`'s; then they may share
/// memory.
bool heir_of(const buffers& list, std::size_t heir, std::size_t elder) {
    for (std::size_t steps = 0; steps < list.size(); ++steps) {
        const pm::planned_buffer& b = list[heir];
        if (b.in_place_of < 0) return false;
        const auto from = std::size_t(b.in_place_of);
        if (list[from].last != b.first || b.bytes > list[from].bytes) return false;
        if (from == elder) return true;
        heir = from;
    }
    return false;
}

/// The first fault of a plan, or nothing. Compares every pair of buffers.
std::string fault(const pm::memory_plan& p, const buffers& list, std::int64_t alignment) {
    if (p.offsets.size() != list.size()) return "a buffer has no offset";
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::int64_t from = p.offsets[i], to = from + list[i].bytes;
        sum += up(list[i].bytes, alignment);
        if (from < 0 || to > p.size) return pm::cat({"buffer ", i, " is outside"});
        if (from % alignment != 0) return pm::cat({"buffer ", i, " is not aligned"});
        for (std::size_t k = 0; k < i; ++k) {
            const pm::planned_buffer &a = list[i], &b = list[k];
            if (std::max(a.first, b.first) > std::min(a.last, b.last)) continue;
            if (std::max(from, p.offsets[k]) >= std::min(to, p.offsets[k] + b.bytes)) continue;
            if (!heir_of(list, i, k) && !heir_of(list, k, i))
                return pm::cat({"buffers ", k, " and ", i, " overlap"});
            if (p.offsets[k] != from)
                return pm::cat({"buffers ", k, " and ", i, " are not in place"});
        }
    }
    if (sum != p.sum) return "the sum is wrong";
    if (p.size < p.bound || p.size > p.sum) return "the size is beyond its limits";
    return "";
}

double waste(const pm::memory_plan& p) { return double(p.size) / double(p.bound); }

/// Convolutions of a residual net with bottlenecks; the addition works in place.
buffers residual_net() {
    buffers v{{112 * 112 * 64 * 4, 0, 1, -1, "stem"}};
    const std::int64_t bytes[] = {56 * 56 * 256 * 4, 28 * 28 * 512 * 4, 14 * 14 * 1024 * 4,
                                  7 * 7 * 2048 * 4};
    const int blocks[] = {3, 4, 6, 3};
    int t = 1, input = 0;
    for (int stage = 0; stage < 4; ++stage)
        for (int block = 0; block < blocks[stage]; ++block, t += 4) {
            const std::int64_t b = bytes[stage];
            const int last = int(v.size()) + 2;
            v.push_back({b / 4, t, t + 1, -1, "reduce"});
            v.push_back({b / 4, t + 1, t + 2, -1, "conv"});
            v.push_back({b, t + 2, t + 3, -1, "expand"});
            if (block == 0) v.push_back({b, t, t + 3, -1, "shortcut"});
            v[std::size_t(input)].last = block == 0 ? t : t + 3;
            v.push_back({b, t + 3, t + 4, last, "add"});
            input = int(v.size()) - 1;
        }
    return v;
}

buffers u_net() {
    buffers v;
    std::vector<std::size_t> skips;
    const std::int64_t b = std::int64_t{512} * 512 * 64 * 4;
    int t = 0;
    for (int depth = 0; depth < 5; ++depth) {
        for (int i = 0; i < 3; ++i, ++t) v.push_back({b >> depth, t, t + 1, -1, "down"});
        skips.push_back(v.size() - 1);
        v.push_back({b >> (depth + 2), t, t + 1, -1, "pool"});
        ++t;
    }
    for (int depth = 4; depth >= 0; --depth) {
        v.push_back({b >> depth, t, t + 1, -1, "up"});
        v[skips[std::size_t(depth)]].last = ++t;
        v.push_back({2 * (b >> depth), t, t + 1, -1, "concat"});
        ++t;
        for (int i = 0; i < 2; ++i, ++t) v.push_back({b >> depth, t, t + 1, -1, "conv"});
    }
    return v;
}

buffers transformer() {
    const std::int64_t hidden = 1024 * 768 * 4, scores = std::int64_t{12} * 1024 * 1024 * 4;
    buffers v{{hidden, 0, 1, -1, "x"}};
    int t = 1, x = 0;
    for (int layer = 0; layer < 24; ++layer, t += 13) {
        const int n = int(v.size());
        v[std::size_t(x)].last = t + 8;
        v.push_back({hidden, t, t + 3, -1, "norm"});
        v.push_back({hidden, t + 1, t + 4, -1, "q"});
        v.push_back({hidden, t + 2, t + 4, -1, "k"});
        v.push_back({hidden, t + 3, t + 6, -1, "v"});
        v.push_back({scores, t + 4, t + 5, -1, "scores"});
        v.push_back({scores, t + 5, t + 6, n + 4, "softmax"});
        v.push_back({hidden, t + 6, t + 7, -1, "mixed"});
        v.push_back({hidden, t + 7, t + 8, -1, "projected"});
        v.push_back({hidden, t + 8, t + 12, n + 7, "add"});
        v.push_back({hidden, t + 9, t + 10, -1, "norm"});
        v.push_back({4 * hidden, t + 10, t + 11, -1, "wide"});
        v.push_back({hidden, t + 11, t + 12, -1, "narrow"});
        v.push_back({hidden, t + 12, t + 13, n + 8, "add"});
        x = int(v.size()) - 1;
    }
    return v;
}

/// Any lifetimes and sizes, with offers to work in place, right and wrong.
buffers random_buffers(std::mt19937& random, int n) {
    buffers v;
    const unsigned span = 1 + unsigned(random() % 40), kind = unsigned(random() % 3);
    for (int i = 0; i < n; ++i) {
        pm::planned_buffer b;
        b.first = kind == 0 ? int(random() % span) : i / 2;
        b.in_place_of = i > 0 && random() % 3 == 0 ? int(random() % unsigned(i)) : -1;
        if (b.in_place_of >= 0 && random() % 2) b.first = v[std::size_t(b.in_place_of)].last;
        b.last = b.first + int(random() % span);
        b.bytes = kind == 1 ? std::int64_t{1} << (random() % 20) : int(random() % 100'000);
        if (random() % 8 == 0) b.bytes = 0;
        if (b.in_place_of >= 0 && random() % 2)
            b.bytes = v[std::size_t(b.in_place_of)].bytes / (1 + int(random() % 2));
        v.push_back(b);
    }
    return v;
}

}  // namespace

TEST_CASE("no two live buffers overlap, on random plans of any alignment" *
          doctest::test_suite("host alone")) {
    std::mt19937 random(1);
    for (int round = 0; round < 600; ++round) {
        const buffers list = random_buffers(random, int(random() % 80));
        constexpr std::int64_t alignments[] = {1, 4, 48, 256, 65536};
        const std::int64_t alignment = alignments[random() % 5];
        const pm::memory_plan p = pm::plan_memory(list, alignment);
        INFO("round ", round, ", alignment ", alignment);
        REQUIRE(fault(p, list, alignment) == "");
    }
}

TEST_CASE("the check of plans sees an overlap, a wrong alignment and a buffer outside" *
          doctest::test_suite("host alone")) {
    const buffers list{{100, 0, 1}, {100, 1, 2}};
    pm::memory_plan p = pm::plan_memory(list);
    CHECK(fault(p, list, 256) == "");
    p.offsets[1] = p.offsets[0];
    CHECK(fault(p, list, 256) == "buffers 0 and 1 overlap");
    p.offsets = {0, 128};
    CHECK(fault(p, list, 256) == "buffer 1 is not aligned");
    p.offsets = {0, 512};
    CHECK(fault(p, list, 256) == "buffer 1 is outside");
}

TEST_CASE("buffers of disjoint times share a place, and those of one moment never" *
          doctest::test_suite("host alone")) {
    const pm::memory_plan apart = pm::plan_memory(buffers{{256, 0, 1}, {256, 2, 3}, {256, 4, 4}});
    CHECK(apart.offsets == pm::array_list<std::int64_t>{0, 0, 0});
    CHECK(apart.size == 256);
    CHECK(apart.sum == 768);
    // `last` is included: a kernel reads one while it writes the other.
    const pm::memory_plan touching = pm::plan_memory(buffers{{256, 0, 1}, {256, 1, 2}});
    CHECK(touching.size == 512);
    CHECK(touching.bound == 512);
}

TEST_CASE("in place: an equal or smaller buffer takes over, a chain is one place, one taker only" *
          doctest::test_suite("host alone")) {
    const pm::memory_plan chain =
        pm::plan_memory(buffers{{1000, 0, 1}, {1000, 1, 2, 0}, {500, 2, 3, 1}, {500, 3, 9, 2}});
    CHECK(chain.size == 1024);
    CHECK(chain.bound == 1024);
    const pm::memory_plan larger = pm::plan_memory(buffers{{256, 0, 1}, {257, 1, 2, 0}});
    CHECK(larger.size == 256 + 512);
    const pm::memory_plan later = pm::plan_memory(buffers{{256, 0, 2}, {256, 1, 3, 0}});
    CHECK(later.size == 512);
    const pm::memory_plan two =
        pm::plan_memory(buffers{{256, 0, 1}, {256, 1, 2, 0}, {256, 1, 2, 0}});
    CHECK(two.size == 512);
    CHECK(two.offsets[1] == two.offsets[0]);
    CHECK(two.offsets[2] != two.offsets[0]);
    // A small heir does not keep the rest of a large estate.
    const pm::memory_plan heir =
        pm::plan_memory(buffers{{1 << 20, 0, 1}, {256, 1, 9, 0}, {(1 << 20) - 256, 2, 9}});
    CHECK(heir.size == 1 << 20);
    // Two of one moment cannot take over each other.
    const pm::memory_plan circle = pm::plan_memory(buffers{{256, 3, 3, 1}, {256, 3, 3, 0}});
    CHECK(circle.size == 256);
}

TEST_CASE("typical nets stay within 10 % of what is needed at one moment" *
          doctest::test_suite("host alone")) {
    for (const buffers& net : {residual_net(), u_net(), transformer()}) {
        const pm::memory_plan p = pm::plan_memory(net);
        CHECK(fault(p, net, 256) == "");
        CHECK(waste(p) <= 1.10);
        CHECK(p.sum >= 3 * p.size);
    }
}

TEST_CASE("plans of 1000 random buffers do so on average, and the worst within 20 %" *
          doctest::test_suite("host alone")) {
    double sum = 0;
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        buffers list;
        const unsigned longest = 1 + unsigned(random() % 100);
        for (int i = 0; i < 1000; ++i)
            list.push_back({int(random() % 1'000'000), i, i + 1 + int(random() % longest), -1, ""});
        const pm::memory_plan p = pm::plan_memory(list);
        INFO("round ", round, ", lifetimes up to ", longest);
        CHECK(fault(p, list, 256) == "");
        CHECK(waste(p) <= 1.20);
        sum += waste(p);
    }
    CHECK(sum / 20 <= 1.10);
}

TEST_CASE("ten thousand buffers take no more than quadratic time" *
          doctest::test_suite("host alone")) {
    std::mt19937 random(1);
    buffers spread, together;
    for (int i = 0; i < test::samples(10'000); ++i) {
        const int first = int(random() % 10'000);
        spread.push_back({int(random() % 1'000'000), first, first + int(random() % 100), -1, ""});
        together.push_back({256, 0, 1, -1, ""});
    }
    for (const buffers& list : {spread, together}) {
        const auto begin = std::chrono::steady_clock::now();
        const pm::memory_plan p = pm::plan_memory(list);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        MESSAGE(list.size(), " buffers in ", took.count(), " s, ", waste(p), " of the bound");
        CHECK(took.count() < 20);  // of a sanitized build on a busy machine
        CHECK(waste(p) <= 1.10);
    }
}

TEST_CASE("many thousands are placed once, in the order of time: right, and in the time of a sort" *
          doctest::test_suite("host alone")) {
    std::mt19937 random(1);
    buffers list;
    for (int i = 0; i < test::samples(20'000); ++i) {
        const int first = int(random() % 10'000), from = int(list.size()) - 1;
        const bool heir = i % 3 == 1;
        list.push_back({heir ? list.back().bytes / 2 : int(random() % 1'000'000),
                        heir ? list.back().last : first,
                        heir ? list.back().last + 5 : first + int(random() % 100), heir ? from : -1,
                        ""});
    }
    const pm::memory_plan p = pm::plan_memory(list);
    CHECK(fault(p, list, 256) == "");
    MESSAGE(list.size(), " buffers: ", waste(p), " of the bound");
    CHECK(waste(p) <= 1.5);

    buffers more;
    for (int i = 0; i < test::samples(1'000'000); ++i)
        more.push_back({int(random() % 1000), i, i + 3, -1, ""});
    for (int i = 0; i < test::samples(100'000); ++i) more.push_back({256, 0, 2'000'000, -1, ""});
    const auto begin = std::chrono::steady_clock::now();
    const pm::memory_plan large = pm::plan_memory(more);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    MESSAGE(more.size(), " buffers in ", took.count(), " s, ", waste(large), " of the bound");
    CHECK(took.count() < 60);  // of a sanitized build on a busy machine
    CHECK(waste(large) <= 1.1);
}

TEST_CASE("nothing, buffers of no bytes, and sizes that do not fit" *
          doctest::test_suite("host alone")) {
    const pm::memory_plan none = pm::plan_memory(buffers{});
    CHECK(none.size == 0);
    CHECK(none.bound == 0);
    const buffers empty{{0, 0, 5}, {10, 0, 5}, {0, 2, 2, 1}};
    const pm::memory_plan p = pm::plan_memory(empty, 16);
    CHECK(p.size == 16);
    CHECK(fault(p, empty, 16) == "");
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr int latest = std::numeric_limits<int>::max();
    CHECK(pm::plan_memory(buffers{{256, latest, latest}, {256, 0, latest}}).size == 512);
    const auto code = [](const buffers& list, std::int64_t alignment = 256) {
        try {
            pm::plan_memory(list, alignment);
        } catch (const pm::error& e) {
            return e.code();
        }
        return pm::errc::cancelled;
    };
    CHECK(code({{most, 0, 0}}) == pm::errc::size_overflow);
    CHECK(code({{most / 2, 0, 0}, {most / 2, 1, 1}, {1024, 2, 2}}) == pm::errc::size_overflow);
    CHECK(code({{-1, 0, 0}}) == pm::errc::invalid_argument);
    CHECK(code({{1, 1, 0}}) == pm::errc::invalid_argument);
    CHECK(code({{1, 0, 0, 1}}) == pm::errc::invalid_argument);
    CHECK(code({{1, 0, 0}}, 0) == pm::errc::invalid_argument);
}
