// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans as pieces of one kind each: what is together, what waits for what, and that pieces run one
// after the other give what the plan gives.
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/partition.hpp>

#include <tests/exec/plan/support.hpp>
#include <tests/exec/random_programs.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string_view>

namespace pm = pumice;
using pumice_test::plan_maker, pumice_test::sum_of, pumice_test::copy_of;

namespace {

/// a: ordinary, s: a shader operator, h: the host's.
std::vector<pm::step_label> labels(std::string_view letters) {
    std::vector<pm::step_label> list;
    for (const char c : letters) {
        const auto kind = c == 'a'   ? pm::piece_kind::ordinary
                          : c == 's' ? pm::piece_kind::shader
                                     : pm::piece_kind::host;
        list.push_back({static_cast<std::uint8_t>(kind), c == 's'});
    }
    return list;
}
std::vector<std::vector<std::size_t>> steps_of(const pm::plan_partition& p) {
    std::vector<std::vector<std::size_t>> list;
    for (const auto& piece : p.pieces)
        list.emplace_back(p.step_of.begin() + piece.begin, p.step_of.begin() + piece.end);
    return list;
}
std::vector<std::vector<std::size_t>> waits_of(const pm::plan_partition& p) {
    std::vector<std::vector<std::size_t>> list;
    for (const auto& piece : p.pieces) list.emplace_back(piece.after.begin(), piece.after.end());
    return list;
}
using lists = std::vector<std::vector<std::size_t>>;

/// A graph whose step i reads what the steps `reads[i]` make, or the input; all are outputs.
pm::plan graph(const std::vector<std::vector<int>>& reads) {
    plan_maker m;
    const int input = m.input(4);
    std::vector<int> made;
    for (const std::vector<int>& from : reads) {
        const int y = m.output(4), first = from.empty() ? input : made[std::size_t(from[0])];
        if (from.size() < 2) m.step(sum_of(1, 4), {first, y});
        else m.step(sum_of(2, 4), {first, made[std::size_t(from[1])], y});
        made.push_back(y);
    }
    return *m.take();
}

/// What every partition is: steps of one label, each once; who waits comes later.
void check_rules(const pm::plan& p, std::span<const pm::step_label> of,
                 const pm::plan_partition& cut) {
    std::vector<std::size_t> piece_of(p.steps.size(), ~std::size_t{0}), place(p.steps.size());
    std::size_t end = 0;
    for (std::size_t k = 0; k < cut.pieces.size(); ++k) {
        const auto& piece = cut.pieces[k];
        REQUIRE(piece.begin == end);
        REQUIRE(piece.end > piece.begin);
        end = piece.end;
        CHECK((!piece.label.alone || piece.end == piece.begin + 1));
        for (std::size_t i = piece.begin; i < piece.end; ++i) {
            const std::size_t step = cut.step_of[i];
            CHECK(of[step] == piece.label);
            CHECK(piece_of[step] == ~std::size_t{0});
            piece_of[step] = k;
            place[step] = i;
        }
        for (const std::size_t other : piece.after) CHECK(other < k);
    }
    REQUIRE(end == p.steps.size());
    REQUIRE(cut.whole.steps.size() == end);
    for (const std::string& fault : pm::find_faults(cut.whole)) FAIL_CHECK(fault);
    // Of two steps that may not change places, the later one is later, or its piece waits, perhaps
    // for one that waits.
    std::vector<std::vector<char>> behind(cut.pieces.size());
    for (std::size_t k = 0; k < behind.size(); ++k) {
        behind[k].resize(k + 1);
        for (const std::size_t other : cut.pieces[k].after)
            for (std::size_t o = 0; o <= other; ++o)
                behind[k][o] = char(behind[k][o] || o == other || behind[other][o]);
    }
    const auto has = [](const pm::array_list<int>& list, int v) {
        return std::find(list.begin(), list.end(), v) != list.end();
    };
    for (std::size_t j = 0; j < end; ++j)
        for (std::size_t i = 0; i < j; ++i) {
            bool ordered = false;
            for (const int v : p.steps[i].outputs) ordered |= has(p.steps[j].buffers, v);
            for (const int v : p.steps[j].outputs) ordered |= has(p.steps[i].buffers, v);
            if (!ordered) continue;
            CHECK(place[i] < place[j]);
            CHECK((piece_of[i] == piece_of[j] || behind[piece_of[j]][piece_of[i]]));
        }
}

}  // namespace

TEST_CASE("partition: shaders alone, what is ordinary together") {
    struct row {
        std::vector<std::vector<int>> reads;
        std::string_view kinds;
        lists steps, waits;
    };
    const row rows[] = {
        {{{}, {0}, {1}}, "sss", {{0}, {1}, {2}}, {{}, {0}, {1}}},
        {{{}, {0}, {1}, {2}, {3}}, "aasaa", {{0, 1}, {2}, {3, 4}}, {{}, {0}, {1}}},
        // A diamond with a shader in one arm.
        {{{}, {0}, {0}, {1, 2}}, "asaa", {{0, 2}, {1}, {3}}, {{}, {0}, {0, 1}}},
        // Two parents in pieces 0 and 2: it inherits the later.
        {{{}, {0}, {1}, {0, 2}}, "asaa", {{0}, {1}, {2, 3}}, {{}, {0}, {0, 1}}},
        // Breadth first: both shaders before what reads the first.
        {{{}, {0}, {}, {1, 2}, {2}}, "sasaa", {{0}, {2}, {1, 3, 4}}, {{}, {}, {0, 1}}},
        // No detour: 0 -> 1 -> 2 keeps 3, which reads 0 and 2, out of the piece of 0.
        {{{}, {0}, {1}, {2, 0}}, "ahaa", {{0}, {1}, {2, 3}}, {{}, {0}, {0, 1}}},
        {{{}, {}, {0, 1}}, "aha", {{0}, {1}, {2}}, {{}, {}, {0, 1}}},
        {{}, "", {}, {}}};
    for (const row& r : rows) {
        CAPTURE(r.kinds);
        const pm::plan p = graph(r.reads);
        const auto of = labels(r.kinds);
        const pm::plan_partition cut = pm::partition(p, of);
        check_rules(p, of, cut);
        CHECK(steps_of(cut) == r.steps);
        CHECK(waits_of(cut) == r.waits);
    }
    const pm::plan p = graph({{}, {0}});
    CHECK(test::thrown_by([&] { pm::partition(p, labels("a")); }).code() ==
          pm::errc::invalid_argument);
    CHECK(pm::labels_of(p).size() == 2);
    CHECK(pm::labels_of(p, 0)[0] == labels("h")[0]);
}

TEST_CASE("partition: what crosses is an input or an output, memory is written in its order") {
    // 1 = f(0); 2 = f(1), 2 is written over in the second half by a shader; 3 = f(1, 2).
    plan_maker m;
    const int x = m.input(8), a = m.temporary(8), y = m.output(8), z = m.output(8);
    m.step(sum_of(1, 8), {x, a});
    m.step(sum_of(1, 8), {a, y});
    m.step(copy_of(4, 4), {x, y});
    m.step(sum_of(2, 8), {a, y, z});
    const pm::plan p = *m.take();
    const auto of = labels("aasa");
    const pm::plan_partition cut = pm::partition(p, of);
    check_rules(p, of, cut);
    REQUIRE(cut.pieces.size() == 3);
    const auto whole = [&](std::size_t k, pm::value_role role) {
        const pm::plan_part part = pm::part_of(cut.whole, cut.pieces[k].begin, cut.pieces[k].end);
        std::vector<int> list;
        for (const int v : part.steps->what.of_role(role))
            list.push_back(part.whole[std::size_t(v)]);
        return list;
    };
    using pm::value_role;
    using values = std::vector<int>;
    CHECK(whole(0, value_role::input) == values{x});
    CHECK(whole(0, value_role::output) == values{a, y});
    CHECK(whole(1, value_role::input) == values{y, x});
    CHECK(whole(1, value_role::output) == values{y});
    CHECK(whole(2, value_role::input) == values{a, y});
    CHECK(whole(2, value_role::output) == values{z});
}

TEST_CASE("partition: 1 000 random programs, whole and in pieces, agree to the bit") {
    const pm::context host(pm::host_only{});
    std::mt19937 random(static_cast<unsigned>(test::seed()));
    std::size_t pieces = 0, crossing = 0;
    const unsigned programs = unsigned(test::samples(1000));
    for (unsigned seed = 0; seed < programs; ++seed) {
        const test::traced_program one(seed, host);
        const pm::plan& p = one.recording.planned();
        std::string kinds;
        for (const pm::plan_step& s : p.steps)
            kinds += s.what.is<pm::custom_kernel_problem>() ? 's' : "aaash"[random() % 5];
        CAPTURE(seed);
        CAPTURE(kinds);
        const auto of = labels(kinds);
        const pm::plan_partition cut = pm::partition(p, of);
        check_rules(p, of, cut);
        pieces += cut.pieces.size();

        const std::vector<pm::any_tensor> constants = one.recording.constants();
        std::map<int, pm::any_tensor> held;  // by value
        for (std::size_t i = 0; i < one.start.size(); ++i) held[p.inputs[i]] = one.start[i];
        for (const auto& piece : cut.pieces) {
            const pm::plan_part part = pm::part_of(cut.whole, piece.begin, piece.end);
            const pm::plan& own = part.steps->what;
            std::vector<pm::any_tensor> given, fixed;
            for (const int v : own.inputs) {
                const auto from = held.find(part.whole[std::size_t(v)]);
                REQUIRE(from != held.end());
                given.push_back(pm::reshape(from->second, own.at(v).extent));
            }
            for (const int v : own.constants)
                fixed.push_back(constants[p.at(part.whole[std::size_t(v)]).index]);
            const std::vector<pm::any_tensor> made = pm::bind(host, own, fixed).run(given);
            for (std::size_t i = 0; i < made.size(); ++i)
                held[part.whole[std::size_t(own.outputs[i])]] = made[i];
            crossing += given.size();
        }
        test::variables expected = one.recording.run(one.start), got;
        for (const int v : p.outputs) got.push_back(held.at(v));
        CHECK(test::same_bits(test::elements_of(got), test::elements_of(expected)));
    }
    CHECK(pieces > 2 * programs);
    CHECK(crossing > pieces);
}
