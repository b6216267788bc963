// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan over the places of several engines, as plans of each: every stretch of steps of one engine
// is a plan of its own, in the places of that engine.
#pragma once

#include <pumice/exec/plan/part.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A place of a plan: an engine by number, and the place's number in that.
struct member_place {
    std::size_t member;
    int place;
};

struct member_parts {
    struct part : plan_part {
        std::size_t member;
        /// Of each value of `steps`: it is an input that nobody looks at afterwards.
        array_list<char> dies;
    };
    array_list<part> list;
    /// Of each value the one that it copies from another engine, or itself: one tensor.
    array_list<int> same;
    array_list<std::size_t> last_use;  // of each value: the last part that has it
    array_list<char> lasts;            // of each value: a run has it, or a copy of it, at its end

    /// Transfers between engines are no steps of any: who reads a copy has it brought.
    member_parts(const plan& p, span<const member_place> places)
        : last_use(p.values.size(), 0), lasts(p.values.size(), 0) {
        const auto member_of = [&](int place) {
            return places[static_cast<std::size_t>(place)].member;
        };
        plan bare = p;
        bare.steps.clear();
        array_list<std::size_t> step_of;
        for (std::size_t v = 0; v < p.values.size(); ++v) same.push_back(static_cast<int>(v));
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            plan_step s = p.steps[i];
            if (p.is_transfer(s) && is_between(p, s, member_of)) {
                same[at(s.outputs[0])] = same[at(s.buffers[0])];
                continue;
            }
            for (int& v : s.buffers) v = same[at(v)];
            bare.steps.push_back(std::move(s));
            step_of.push_back(i);
        }
        for (const int v : p.outputs) {
            lasts[at(same[at(v)])] = 1;
            bare.at(same[at(v)]).role = value_role::output;
        }
        for (std::size_t begin = 0, end = 0; begin < bare.steps.size(); begin = end) {
            const std::size_t member = member_of(bare.steps[begin].place);
            end = begin + 1;
            while (end < bare.steps.size() && member_of(bare.steps[end].place) == member) ++end;
            list.push_back({part_of(bare, begin, end), member, {}});
            for (std::size_t& i : list.back().step_of) i = step_of[i];
            plan& own = list.back().steps->what;
            const auto move = [&](int& place) {
                place = member_of(place) == member ? places[at(place)].place : 0;
            };
            for (plan_step& s : own.steps) move(s.place);
            for (plan_value& v : own.values) move(v.place);
        }
        for (std::size_t k = 0; k < list.size(); ++k)
            for (const int v : list[k].whole) last_use[at(v)] = k;
        for (std::size_t k = 0; k < list.size(); ++k) find_dying(p, k);
    }

    /// Whether nobody looks at a value after a part. Pre: steps make it.
    bool ends(int value, std::size_t number) const {
        return last_use[at(value)] == number && !lasts[at(value)];
    }

private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    template <class Member>
    static bool is_between(const plan& p, const plan_step& s, Member&& member_of) {
        return member_of(p.at(s.buffers[0]).place) != member_of(p.at(s.outputs[0]).place);
    }
    void find_dying(const plan& p, std::size_t k) {
        part& each = list[k];
        const plan& own = each.steps->what;
        for (std::size_t v = 0; v < own.values.size(); ++v) {
            const plan_value& whole = p.at(each.whole[v]);
            bool dies = own.values[v].role == value_role::input && !whole.is_given();
            if (dies && !ends(each.whole[v], k)) dies = has_twin(each, v);
            each.dies.push_back(dies);
        }
    }
    /// Whether an input is what the part goes on to write: then another takes its place.
    static bool has_twin(const part& each, std::size_t value) {
        for (std::size_t v = 0; v < each.whole.size(); ++v)
            if (v != value && each.whole[v] == each.whole[value]) return true;
        return false;
    }
};

}}  // namespace pumice::PUMICE_ABI
