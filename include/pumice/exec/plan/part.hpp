// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A stretch of a plan's steps as a plan of its own: what lies between two decisions, or what one of
// several devices runs before the next.
#pragma once

#include <pumice/exec/plan/planner.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Steps of a plan as a plan of its own; or one step that decides.
struct plan_part {
    std::size_t begin, end;             // steps of the whole
    std::shared_ptr<known_plan> steps;  // null for a decision
    array_list<int> whole;              // of each value of `steps` its number in the whole
    array_list<std::size_t> step_of;    // of each step of `steps` its number in the whole
};

/// Steps [begin, end): what they read and others write is an input, what others read an output. A
/// value of which steps before wrote a part is both: it begins as a copy, which is needless where
/// the memory is given.
inline plan_part part_of(const plan& p, std::size_t begin, std::size_t end) {
    plan_part part{begin, end, std::shared_ptr<known_plan>(new known_plan), {}, {}};
    plan& made = part.steps->what;
    made.numbers = p.numbers;
    const auto mark = [&](std::size_t from, std::size_t to, auto member) {
        array_list<char> of(p.values.size(), 0);
        for (std::size_t i = from; i < to; ++i)
            for (const int v : p.steps[i].*member) of[static_cast<std::size_t>(v)] = 1;
        return of;
    };
    const array_list<char> written = mark(begin, end, &plan_step::outputs);
    array_list<char> begun = mark(0, begin, &plan_step::outputs),
                     wanted = mark(end, p.steps.size(), &plan_step::buffers);
    for (const plan_value& v : p.values)  // others go on looking at its memory
        if (v.alias >= 0) wanted[static_cast<std::size_t>(p.root(v.alias))] = 1;
    array_list<int> number(p.values.size(), -1);
    const auto put = [&](int v, plan_value value) {
        value.index = made.of_role(value.role).size();
        const auto added = static_cast<int>(made.values.size());
        made.of_role(value.role).push_back(added);
        made.values.push_back(std::move(value));
        part.whole.push_back(v);
        return added;
    };
    const auto as_input = [&](int v, bool lies_dense) {
        plan_value value = p.at(v);
        value.role = value_role::input;
        value.made_by = -1;
        if (!lies_dense || !is_row_major(value.extent, value.layout)) {  // its elements as they lie
            value.extent = {value.count()};
            value.layout = row_major_strides(value.extent);
        }
        return value;
    };
    const auto number_of = [&](int v) {
        const auto at = static_cast<std::size_t>(v);
        if (number[at] >= 0) return number[at];
        plan_value value = p.at(v);
        if (!value.is_given() && !written[at]) value = as_input(v, true);
        else if (!value.is_given() && value.role != value_role::output)
            value.role = wanted[at] ? value_role::output : value_role::temporary;
        return number[at] = put(v, std::move(value));
    };
    for (std::size_t i = begin; i < end; ++i) {
        plan_step s = p.steps[i];
        for (const int v : s.outputs) {
            if (!std::exchange(begun[static_cast<std::size_t>(v)], 0)) continue;
            const plan_value before = as_input(v, false);
            const int to = number_of(v);
            made.steps.push_back(copy_step(before, put(v, before), to));
            made.steps.back().place = s.place;
            part.step_of.push_back(i);
        }
        for (array_list<int>* const list : {&s.buffers, &s.outputs})
            for (int& v : *list) v = number_of(v);
        if (p.is_transfer(p.steps[i]) && !made.is_transfer(s))  // what is given is brought there
            s.place = made.at(s.outputs[0]).place;
        s.unless_given = -1;
        for (const int v : s.outputs) made.at(v).made_by = static_cast<int>(made.steps.size());
        made.steps.push_back(std::move(s));
        part.step_of.push_back(i);
    }
    find_givings(made);
    return part;
}

}}  // namespace pumice::PUMICE_ABI
