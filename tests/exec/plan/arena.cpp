// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where what lies between dispatches is put: together where the moments are apart, apart where they
// are not, and in place only where nobody can see it.
#include "support.hpp"

#include <pumice/exec/plan/arena.hpp>

#include <algorithm>
#include <random>

namespace pm = pumice;
using namespace pumice_test;

namespace {

constexpr std::int64_t few = 64, many = 1 << 20;  // f32: 256 bytes, as memory is aligned, and 4 MiB

/// A plan's arena, and what it was made of.
struct planned {
    std::shared_ptr<const pm::plan> what;
    pm::dispatch_list list;
    pm::array_list<pm::placed_item> order;
    pm::arena made;

    explicit planned(std::shared_ptr<const pm::plan> p)
        : what(std::move(p)), list(*what, {}, described(), {}), order(list.order()),
          made(pm::plan_arena(list, order)) {}
    explicit planned(plan_maker&& m) : planned(m.take()) {}
    /// Of a function of tensors with these shapes.
    template <class F>
    planned(std::initializer_list<pm::shape> shapes, F&& f)
        : planned(whole(std::make_shared<planning_engine>()->trace(shapes, f))) {}

    const pm::planned_buffer& buffer(int named) const {
        return made.buffers.at(std::size_t(made.number.at(std::size_t(named))));
    }
    std::int64_t place(int value) const { return made.offset_of(std::size_t(value)); }
    std::int64_t place_of_temporary(std::size_t i) const { return place(what->temporaries[i]); }
    /// The name of a step's scratch memory.
    int scratch(int step) const { return int(what->values.size()) + step; }

    /// The dispatches that touch a memory, by the moments between barriers.
    std::vector<std::pair<int, std::size_t>> touches(std::size_t named) const {
        std::vector<std::pair<int, std::size_t>> found;
        int moment = 0;
        for (const pm::placed_item& i : order) {
            moment += i.barrier;
            for (const pm::access& a : list.launches()[i.index]->accesses)
                if (list.memory_of(i.index, a.buffer) == named) {
                    found.emplace_back(moment, i.index);
                    break;
                }
        }
        return found;
    }
    /// Whether the step is the only one to touch `from` at the moment when it writes `to` first.
    bool hands_over(const pm::giving& g) const {
        const auto from = touches(std::size_t(g.from)), to = touches(std::size_t(g.to));
        const int moment = to.front().first;
        if (from.back().first != moment || list.step_of(to.front().second) != std::size_t(g.step))
            return false;
        int readers = 0;
        for (const auto& [when, who] : from) readers += when == moment;
        return readers == 1 && list.step_of(from.back().second) == std::size_t(g.step);
    }
    /// The first fault, or nothing. Compares every two memories.
    std::string fault() const {
        for (std::size_t i = 0; i < made.number.size(); ++i) {
            const auto mine = touches(i);
            if (made.number[i] < 0 || mine.empty()) continue;
            const std::int64_t from = made.offset_of(i),
                               to = from + (list.is_scratch(i)
                                                ? list.scratch_bytes(i - what->values.size())
                                                : what->values[i].bytes());
            if (from < 0 || to > made.memory.size) return pm::cat({"memory ", i, " is outside"});
            for (std::size_t k = 0; k < i; ++k) {
                const auto other = touches(k);
                if (made.number[k] < 0 || other.empty()) continue;
                if (std::max(mine.front().first, other.front().first) >
                    std::min(mine.back().first, other.back().first))
                    continue;
                const std::int64_t begin = made.offset_of(k),
                                   end = begin + (list.is_scratch(k)
                                                      ? list.scratch_bytes(k - what->values.size())
                                                      : what->values[k].bytes());
                if (std::max(from, begin) >= std::min(to, end)) continue;
                const auto between = [&](const pm::giving& g) {
                    const auto a = std::size_t(g.from), b = std::size_t(g.to);
                    return ((a == i && b == k) || (a == k && b == i)) && hands_over(g);
                };
                if (std::none_of(what->givings.begin(), what->givings.end(), between))
                    return pm::cat({"memories ", k, " and ", i, " overlap"});
                if (from != begin)
                    return pm::cat({"memories ", k, " and ", i, " are not in place"});
            }
        }
        return "";
    }

private:
    static std::shared_ptr<const pm::plan> whole(const std::shared_ptr<pm::known_plan>& p) {
        return {p, &p->what};
    }
};
using tensors = std::vector<pm::any_tensor>;

/// The buffers that others are in place of.
std::vector<int> givers(const planned& p) {
    std::vector<int> list;
    for (const pm::planned_buffer& b : p.made.buffers)
        if (b.in_place_of >= 0) list.push_back(b.in_place_of);
    return list;
}

}  // namespace

TEST_CASE("arena: of a chain of products two are alive at a time") {
    const planned p({{64, 64}}, [](const tensors& x) {
        pm::any_tensor y = x[0];
        for (int i = 0; i < 8; ++i) y = pm::matmul(y, x[0]);
        return tensors{y};
    });
    REQUIRE(p.what->temporaries.size() == 7);
    CHECK(p.made.memory.sum == 7 * 64 * 64 * 4);
    CHECK(p.made.memory.size == 2 * 64 * 64 * 4);
    for (std::size_t i = 1; i < 7; ++i)
        CHECK(p.place_of_temporary(i - 1) != p.place_of_temporary(i));
    CHECK(p.fault() == "");
}

TEST_CASE("arena: what is read later keeps its memory; inputs and outputs have none in it") {
    const planned p({{64, 64}}, [](const tensors& x) {
        const pm::any_tensor first = pm::matmul(x[0], x[0]), second = pm::matmul(first, x[0]),
                             third = pm::matmul(second, x[0]);
        return tensors{pm::matmul(third, first)};
    });
    REQUIRE(p.what->temporaries.size() == 3);
    CHECK(p.place_of_temporary(0) != p.place_of_temporary(1));
    CHECK(p.place_of_temporary(0) != p.place_of_temporary(2));
    CHECK(p.fault() == "");
    for (const auto* list : {&p.what->inputs, &p.what->outputs})
        for (const int v : *list) CHECK(p.made.number[std::size_t(v)] == -1);
}

TEST_CASE("arena: scratch memory is of its step alone, and named after the kernel") {
    const planned p({{4, 1 << 20}}, [](const tensors& x) {
        const std::int64_t along[] = {1};
        return tensors{pm::softmax(pm::reduce(pm::reduction::sum, x[0], along), 0)};
    });
    const std::size_t scratch = p.what->values.size();
    REQUIRE(p.made.number[scratch] >= 0);
    const pm::planned_buffer& b = p.made.buffers[std::size_t(p.made.number[scratch])];
    CHECK(b.bytes == p.list.scratch_bytes(0));
    CHECK(b.name == "reduce/slices scratch");
    CHECK(b.first == 0);
    CHECK(b.last == 0);
    CHECK(p.made.number[scratch + 1] == -1);
    CHECK(p.fault() == "");
}

TEST_CASE("arena: an elementwise step writes over what it alone reads at that moment") {
    // What is sorted is stored, and so is what is made of the sorted.
    const planned p({{8, 64}, {64, 64}}, [](const tensors& x) {
        const pm::any_tensor first = pm::matmul(x[0], x[1]), sorted = pm::sort(first, 1),
                             sum = pm::apply<pm::op::add>(first, sorted);
        return tensors{pm::sort(sum, 1)};
    });
    const std::vector<int> in_place = givers(p);
    REQUIRE(in_place.size() == 1);  // either of its operands might give
    CHECK(p.made.buffers[std::size_t(in_place[0])].bytes == 8 * 64 * 4);
    CHECK(p.fault() == "");
    // Another that reads an operand at the same moment keeps it where it is.
    const planned beside({{8, 64}}, [](const tensors& x) {
        const pm::any_tensor sorted = pm::sort(x[0], 1);
        return tensors{pm::sort(sorted * 2.0, 1), pm::reduce(pm::reduction::min, sorted)};
    });
    CHECK(beside.what->temporaries.size() >= 3);
    CHECK(givers(beside).empty());
    CHECK(beside.fault() == "");
}

TEST_CASE("arena: temporaries that do not live together share memory, others do not") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), c = m.temporary(few),
              y = m.output(few);
    m.step(turned_sum_of(1, few), {x, a});
    m.step(turned_sum_of(1, few), {a, b});
    m.step(turned_sum_of(1, few), {b, c});
    m.step(turned_sum_of(1, few), {c, y});
    const planned p(std::move(m));
    CHECK(p.what->givings.empty());
    CHECK(p.place(a) == p.place(c));
    CHECK(p.place(a) != p.place(b));
    CHECK(p.made.memory.size == 2 * 256);
    CHECK(p.made.memory.sum == 3 * 256);
    CHECK(p.fault() == "");
    // What each run brings or keeps has memory of its own.
    CHECK(p.made.number[std::size_t(x)] == -1);
    CHECK(p.made.number[std::size_t(y)] == -1);
    CHECK(p.made.number.size() == p.what->values.size() + p.what->steps.size());
    CHECK(p.buffer(a).first == 0);
    CHECK(p.buffer(a).last == 1);
    CHECK(p.buffer(c).first == 2);
    CHECK(p.buffer(b).name == "elementwise/strided");
}

TEST_CASE("arena: what no barrier separates lives at one moment") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), y = m.output(few),
              z = m.output(few);
    m.step(turned_sum_of(1, few), {x, a});
    m.step(turned_sum_of(1, few), {a, y});
    m.step(turned_sum_of(1, few), {x, b});  // pulled in front of the barrier
    m.step(turned_sum_of(1, few), {b, z});
    const planned p(std::move(m));
    CHECK(p.buffer(a).first == 0);
    CHECK(p.buffer(b).first == 0);
    CHECK(p.place(a) != p.place(b));
    CHECK(p.fault() == "");
}

TEST_CASE("arena: scratch memory is as long as its launches, and disjoint from what they touch") {
    plan_maker m;
    const int x = m.input(many), a = m.temporary(many), b = m.temporary(many), s = m.temporary(1),
              t = m.temporary(1), y = m.output(1);
    m.step(turned_sum_of(1, many), {x, a});
    m.step(total_of(many), {a, s});
    m.step(turned_sum_of(2, many), {a, x, b});
    m.step(total_of(many), {b, t});
    m.step(turned_sum_of(2, 1), {s, t, y});
    const planned p(std::move(m));
    REQUIRE(p.list.scratch_bytes(1) > 0);
    CHECK(p.made.number[std::size_t(p.scratch(0))] == -1);
    CHECK(p.buffer(p.scratch(1)).bytes == p.list.scratch_bytes(1));
    CHECK(p.buffer(p.scratch(1)).name == "reduce/slices scratch");
    CHECK(p.buffer(p.scratch(1)).first == 1);
    CHECK(p.buffer(p.scratch(1)).last == 1);
    CHECK(p.place(p.scratch(1)) >= 4 * many);  // beside both large ones
    CHECK(p.buffer(s).name == "reduce/slices");
    CHECK(p.fault() == "");
    CHECK(p.made.memory.size < p.made.memory.sum);
}

TEST_CASE("arena: a chain of elementwise steps works in place") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), c = m.temporary(few),
              y = m.output(few);
    m.step(sum_of(1, few), {x, a});
    m.step(sum_of(1, few), {a, b});
    m.step(sum_of(1, few), {b, c});
    m.step(sum_of(1, few), {c, y});
    const planned p(std::move(m));
    CHECK(p.buffer(a).in_place_of == -1);
    CHECK(p.buffer(b).in_place_of == p.made.number[std::size_t(a)]);
    CHECK(p.buffer(c).in_place_of == p.made.number[std::size_t(b)]);
    CHECK(p.made.memory.size == 256);
    CHECK(p.fault() == "");
}

TEST_CASE("arena: not in place where another dispatch reads the giver at that moment") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), c = m.temporary(few),
              y = m.output(few);
    m.step(sum_of(1, few), {x, a});
    m.step(turned_sum_of(1, few), {a, b});
    m.step(sum_of(1, few), {a, c});
    m.step(turned_sum_of(2, few), {b, c, y});
    const planned p(std::move(m));
    REQUIRE(p.what->givings.size() == 1);
    CHECK(p.buffer(a).last == p.buffer(c).first);
    CHECK(p.buffer(c).in_place_of == -1);
    CHECK(p.place(c) != p.place(a));
    CHECK(p.fault() == "");
}

TEST_CASE("arena: in place where a barrier stands between the giver's other reader and the step") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), c = m.temporary(few),
              y = m.output(few);
    m.step(sum_of(1, few), {x, a});
    m.step(turned_sum_of(1, few), {a, b});
    m.step(turned_sum_of(2, few), {b, a, c});  // reads b from its end, so only a can give
    m.step(turned_sum_of(1, few), {c, y});
    const planned p(std::move(m));
    REQUIRE(p.what->givings.size() == 1);
    CHECK(p.what->givings[0].from == a);
    CHECK(p.buffer(c).in_place_of == p.made.number[std::size_t(a)]);
    CHECK(p.place(c) == p.place(a));
    CHECK(p.made.memory.size == 2 * 256);
    CHECK(p.fault() == "");
}

TEST_CASE("arena: a temporary gives its memory once, and takes that of one") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), c = m.temporary(few),
              y = m.output(few);
    m.step(sum_of(1, few), {x, a});
    m.step(sum_of(1, few, 2), {a, b, c}, 2);
    m.step(turned_sum_of(2, few), {b, c, y});
    const planned gives(std::move(m));
    REQUIRE(gives.what->givings.size() == 2);
    CHECK(gives.buffer(b).in_place_of == gives.made.number[std::size_t(a)]);
    CHECK(gives.buffer(c).in_place_of == -1);
    CHECK(gives.made.memory.size == 2 * 256);
    CHECK(gives.fault() == "");

    plan_maker n;
    const int z = n.input(few), d = n.temporary(few), e = n.temporary(few), f = n.temporary(few),
              w = n.output(few);
    n.step(sum_of(1, few), {z, d});
    n.step(turned_sum_of(1, few), {z, e});
    n.step(sum_of(2, few), {d, e, f});
    n.step(turned_sum_of(1, few), {f, w});
    const planned takes(std::move(n));
    REQUIRE(takes.what->givings.size() == 2);
    CHECK(takes.buffer(f).in_place_of == takes.made.number[std::size_t(d)]);
    CHECK(takes.made.memory.size == 2 * 256);
    CHECK(takes.fault() == "");
}

TEST_CASE("arena: a temporary that no dispatch touches takes nothing") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(many), y = m.output(few);
    m.step(turned_sum_of(1, few), {x, a});
    m.step(turned_sum_of(1, few), {a, y});
    const planned p(std::move(m));
    CHECK(p.buffer(b).bytes == 0);
    CHECK(p.made.memory.size == 256);
}

TEST_CASE("arena: nothing that lives at one moment overlaps, on random plans") {
    std::mt19937 random(1);
    int in_place = 0, shared = 0;
    for (int round = 0; round < 200; ++round) {
        plan_maker m;
        std::vector<int> large{m.input(many), m.input(many)};
        const auto any = [&] { return large[random() % large.size()]; };
        const int steps = 3 + int(random() % 12);
        for (int i = 0; i < steps; ++i) {
            const int a = any(), b = large.back();
            const unsigned kind = unsigned(random() % 8);
            if (kind == 0) {
                m.step(total_of(many), {b, m.temporary(1)});
            } else if (kind == 1) {
                const int c = m.temporary(many), d = m.temporary(many);
                m.step(sum_of(1, many, 2), {b, c, d}, 2);
                large.push_back(c);
                large.push_back(d);
            } else {
                const int c = m.temporary(many);
                if (kind == 2) m.step(sum_of(1, many), {a, c});
                else if (a == b) m.step(turned_sum_of(1, many), {a, c});
                else if (kind < 6) m.step(sum_of(2, many), {a, b, c});
                else m.step(turned_sum_of(2, many), {a, b, c});
                large.push_back(c);
            }
        }
        m.step(turned_sum_of(1, many), {large.back(), m.output(many)});
        const planned p(std::move(m));
        INFO("round ", round);
        REQUIRE(p.fault() == "");
        for (const pm::planned_buffer& b : p.made.buffers) in_place += b.in_place_of >= 0;
        shared += p.made.memory.size < p.made.memory.sum;
    }
    CHECK(in_place > 50);
    CHECK(shared > 50);
}

TEST_CASE("arena: the check of random plans sees what overlaps, and what lies outside") {
    plan_maker m;
    const int x = m.input(few), a = m.temporary(few), b = m.temporary(few), y = m.output(few);
    m.step(turned_sum_of(1, few), {x, a});
    m.step(turned_sum_of(1, few), {a, b});
    m.step(turned_sum_of(1, few), {b, y});
    planned p(std::move(m));
    CHECK(p.fault() == "");
    p.made.memory.offsets = {0, 128};
    CHECK(p.fault() == pm::cat({"memories ", a, " and ", b, " overlap"}));
    p.made.memory.offsets = {0, 512};
    CHECK(p.fault() == pm::cat({"memory ", b, " is outside"}));
}
