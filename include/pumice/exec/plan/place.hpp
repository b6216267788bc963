// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the steps of a plan run: what a policy says, or the device as far as it can. What crosses
// from one place to another is copied by a step of its own, once for each place.
#pragma once

#include <pumice/base/log.hpp>
#include <pumice/exec/plan/ask_for_places.hpp>
#include <pumice/exec/plan/partition.hpp>
#include <pumice/exec/plan/plan_builder.hpp>
#include <pumice/exec/select.hpp>
#include <pumice/host/device.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// A step that copies the memory of a value whole to that of another, which lies as it does.
inline plan_step copy_step(const plan_value& like, int from, int to) {
    elementwise_problem p;
    p.domain = like.extent;
    const auto body = std::make_shared<program>();
    body->outputs.push_back(body->push({instruction::code::leaf, like.type, 0, {}, nullptr}));
    p.body.body = body;
    p.body.leaves.push_back({0, like.type, 0, like.layout});
    p.body.outputs.push_back({1, like.type, 0, like.layout});
    return {std::make_shared<elementwise_problem>(std::move(p)), {from, to}, {to}};
}

namespace detail {

/// Puts the steps where they run: those of one place together as far as their order allows, with
/// transfers between them.
class step_mover {
public:
    step_mover(plan_builder& to, std::size_t places, int host)
        : builder_(to), places_(places), host_(host), stages_(places) {}

    void run(span<const int> at) && {
        plan& p = builder_.made;
        array_list<plan_step> steps = std::exchange(p.steps, {});
        for (std::size_t i = 0; i < steps.size(); ++i)
            for (const int v : steps[i].outputs) p.at(v).place = at[i];
        for (plan_value& v : p.values)
            if (v.alias >= 0) v.place = p.at(p.root(v.alias)).place;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            plan_step& s = steps[i];
            s.place = at[i];
            for (int& v : s.buffers)
                if (!p.at(v).is_given() && p.at(v).place != s.place) v = copy_of(v, s.place);
            add(std::move(s));
        }
        for (const std::size_t i : stages_.order()) p.steps.push_back(std::move(steps_[i]));
    }

private:
    void add(plan_step&& s) {
        stages_.add(s, static_cast<std::size_t>(s.place));
        steps_.push_back(std::move(s));
    }
    /// A transfer is work of a device: of the target, or where that is the host of the source.
    int copy_of(int value, int place) {
        const std::size_t at =
            static_cast<std::size_t>(value) * places_ + static_cast<std::size_t>(place);
        if (copies_.size() <= at) copies_.resize(at + 1, 0);
        int& known = copies_[at];
        if (known != 0) return known;
        const plan_value from = builder_.made.at(value);
        const int copy = builder_.add_temporary(from, place);
        known = copy;
        plan_step s = copy_step(from, value, copy);
        s.place = place == host_ ? from.place : place;
        if (from.label) {
            s.origin.push_back(node_label(cat({from.label.name(), " (copy)"})));
            builder_.made.at(copy).label = s.origin[0];
        }
        add(std::move(s));
        return copy;
    }

    plan_builder& builder_;
    std::size_t places_;
    int host_;
    stage_finder stages_;  // whose kinds are places
    array_list<plan_step> steps_;
    array_list<int> copies_;  // of each value at each place, 0: none (a copy is never first)
};

}  // namespace detail

/// Writes the places of the steps of a plan whose values have their roles.
inline void place_steps_of(plan_builder& b, const policy_set& policies, const plan_places& places,
                           const array_list<const node*>& given, bool recorded,
                           array_list<std::string>& told) {
    const plan& p = b.made;
    const int host = places.host();
    array_list<int> at(p.steps.size(), 0);
    bool moves = false;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const problem& what = p.steps[i].what;
        if (policies.fallback == cpu_fallback::mode::forbid || host < 0 ||
            can_run(what, *places.list[0]) ||
            !can_run(what, *places.list[static_cast<std::size_t>(host)]))
            continue;
        at[i] = host;
        moves = true;
        if (policies.fallback != cpu_fallback::mode::warn) continue;
        const std::string name(family_of(what));
        if (std::find(told.begin(), told.end(), name) != told.end()) continue;
        told.push_back(name);
        std::string text = cat({name, " is computed by the host: no kernel takes it on ",
                                places.list[0]->name, " (policy cpu_fallback)"});
        for (const std::string& why : refusals(what, *places.list[0]))
            append_text(text, {"\n  - ", why});
        write_log(severity::warning, text);
    }
    if (policies.place) {
        ask_for_places({p, places, given, recorded, at}, policies);
        moves = true;
    }
    if (!moves) return;
    array_list<int> place_of(p.values.size(), 0);
    for (bool settled = false; !settled;) {
        settled = true;
        for (std::size_t i = 0; i < at.size(); ++i)
            for (const int v : p.steps[i].outputs) {
                int& place = place_of[static_cast<std::size_t>(v)];
                settled = settled && place >= at[i];
                place = at[i] = std::max(place, at[i]);
            }
    }
    for (std::size_t i = 0; i < at.size(); ++i)
        if (const device_info& to = *places.list[static_cast<std::size_t>(at[i])];
            policies.place && !can_run(p.steps[i].what, to))
            fail(errc::unsupported, "placement policy",
                 {"sent step ", i, " (", family_of(p.steps[i].what), ") to ", to.name,
                  ", which cannot run it"});
    detail::step_mover(b, places.list.size(), host).run(at);
}

}}  // namespace pumice::PUMICE_ABI
