// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the steps of a plan run: what a policy says, or the device as far as it can. What crosses
// from one place to another is copied by a step of its own, once for each place.
#pragma once

#include <pumice/base/log.hpp>
#include <pumice/exec/plan/plan_builder.hpp>
#include <pumice/exec/select.hpp>
#include <pumice/host/device.hpp>
#include <pumice/policy/placement.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Where the steps of an engine's plans can run.
struct plan_places {
    struct holding {
        std::uint32_t places = 0;  // that have the values of a tensor, by bit
        std::int64_t bytes = 0;    // of its memory
    };
    array_list<const device_info*> list = {};  // the first is the engine's device
    callback<holding(const node&)> holders = {};
};

namespace detail {

/// Multiplications and additions of a product or a convolution.
inline double operations_of(const problem& p) {
    if (const auto* m = p.get_if<matmul_problem>())
        return 2.0 * static_cast<double>(element_count(m->batch) * m->m * m->n) *
               static_cast<double>(m->k);
    if (const auto* c = p.get_if<conv_problem>())
        return 2.0 *
               static_cast<double>(c->batch * c->out_channels * c->out_size[0] * c->out_size[1]) *
               static_cast<double>(c->in_channels / c->shape_of.group * c->window[0] *
                                   c->window[1]);
    return 0;
}

/// Expected seconds of a problem whose operands have so many bytes; negative where it cannot run.
inline double seconds_at(const problem& p, const device_info& at, std::int64_t bytes) {
    if (!can_run(p, at)) return -1;
    if (at.type == device_type::host) {
        const device_rates rates = at.rates();
        return rates.launch + static_cast<double>(bytes) / rates.bandwidth +
               operations_of(p) / rates.arithmetic;
    }
    double least = -1;
    for (const kernel_entry& k : p.kind().kernels)
        if (const support s = k.supports(p.get(), at); s.yes)
            least = least < 0 ? s.best().seconds : std::min(least, s.best().seconds);
    return least;
}

/// Asks the policy for the places of all steps.
class placing {
public:
    placing(const plan& p, const plan_places& places, const array_list<const node*>& given)
        : plan_(p), places_(places.list) {
        array_list<int> made_by(p.values.size(), -1);
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            const plan_step& s = p.steps[i];
            array_list<operand_view>& list = operands_.emplace_back();
            std::int64_t bytes = 0;
            for (const int v : s.buffers) {
                const auto number = static_cast<std::size_t>(v);
                operand_view o{made_by[number], p.at(v).bytes(), 0};
                if (const node* const n = given[number]; n && n->data) {
                    const plan_places::holding held = places.holders(*n);
                    o.bytes = held.bytes;
                    o.holders = held.places;
                }
                bytes += o.bytes;
                if (o.made_by >= 0 || p.at(v).is_given()) list.push_back(o);
            }
            for (const device_info* at : places_)
                seconds_.push_back(seconds_at(s.what, *at, bytes));
            for (const int v : s.outputs)
                made_by[static_cast<std::size_t>(v)] = static_cast<int>(i);
        }
    }
    void ask(const policy_set& policies, bool recorded, std::span<int> at) const {
        array_list<step_view> views;
        for (std::size_t i = 0; i < plan_.steps.size(); ++i)
            views.push_back({family_of(plan_.steps[i].what), operands_[i],
                             written_bytes(plan_.steps[i].what),
                             std::span(seconds_).subspan(i * places_.size(), places_.size())});
        placement asked{places_, views, at, recorded};
        policies.placement(asked);
        for (std::size_t i = 0; i < at.size(); ++i) {
            if (at[i] < 0 || static_cast<std::size_t>(at[i]) >= places_.size())
                fail(errc::invalid_argument, "placement policy",
                     {"sent step ", i, " (", views[i].family, ") to place ", at[i], " of ",
                      places_.size()});
        }
    }

private:
    const plan& plan_;
    const array_list<const device_info*>& places_;
    array_list<array_list<operand_view>> operands_;  // of each step
    array_list<double> seconds_;                     // of each step at each place
};

/// Puts the steps where they run: those of one place together as far as their order allows, with
/// transfers between them.
class step_mover {
public:
    step_mover(plan_builder& to, std::size_t places, int host)
        : builder_(to), places_(places), host_(host) {}

    void run(std::span<const int> at) && {
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
        array_list<array_list<std::size_t>> stages(last_stage_ + 1);
        for (std::size_t i = 0; i < steps_.size(); ++i) stages[stage_of_[i]].push_back(i);
        for (const array_list<std::size_t>& stage : stages)
            for (const std::size_t i : stage) p.steps.push_back(std::move(steps_[i]));
    }

private:
    static std::size_t& in(array_list<std::size_t>& list, std::size_t at) {
        if (list.size() <= at) list.resize(at + 1, 0);
        return list[at];
    }
    /// What a step of a stage reads is written in that one or before; a stage has one place.
    void add(plan_step&& s) {
        std::size_t stage = 0;
        for (const int v : s.buffers)
            stage = std::max(stage, in(written_, static_cast<std::size_t>(v)));
        for (const int v : s.outputs)
            stage = std::max(stage, in(touched_, static_cast<std::size_t>(v)));
        while (stage % places_ != static_cast<std::size_t>(s.place)) ++stage;
        for (const int v : s.buffers) {
            std::size_t& touched = in(touched_, static_cast<std::size_t>(v));
            touched = std::max(touched, stage);
        }
        for (const int v : s.outputs) in(written_, static_cast<std::size_t>(v)) = stage;
        last_stage_ = std::max(last_stage_, stage);
        stage_of_.push_back(stage);
        steps_.push_back(std::move(s));
    }
    /// A transfer is work of a device: of the target, or where that is the host of the source.
    int copy_of(int value, int place) {
        std::size_t& known = in(copies_, static_cast<std::size_t>(value) * places_ +
                                             static_cast<std::size_t>(place));
        if (known != 0) return static_cast<int>(known);
        const plan_value from = builder_.made.at(value);
        const int copy = builder_.add_temporary(from, place);
        known = static_cast<std::size_t>(copy);
        elementwise_problem p;
        p.domain = from.extent;
        const auto body = std::make_shared<program>();
        body->outputs.push_back(body->push({instruction::code::leaf, from.type, 0, {}, nullptr}));
        p.body.body = body;
        p.body.leaves.push_back({0, from.type, 0, from.layout});
        p.body.outputs.push_back({1, from.type, 0, from.layout});
        plan_step s{std::make_shared<elementwise_problem>(std::move(p)), {value, copy}, {copy}};
        s.place = place == host_ ? from.place : place;
        add(std::move(s));
        return copy;
    }

    plan_builder& builder_;
    std::size_t places_;
    int host_;
    array_list<plan_step> steps_;
    array_list<std::size_t> stage_of_, written_, touched_;  // of each step; of each value its stage
    array_list<std::size_t>
        copies_;  // of each value at each place, 0: none (a copy is never first)
    std::size_t last_stage_ = 0;
};

}  // namespace detail

/// Writes the places of the steps of a plan whose values have their roles.
inline void place_steps_of(plan_builder& b, const policy_set& policies, const plan_places& places,
                           const array_list<const node*>& given, bool recorded,
                           array_list<std::string>& told) {
    const plan& p = b.made;
    int host = -1;
    for (std::size_t k = 1; k < places.list.size(); ++k)
        if (places.list[k]->type == device_type::host) host = static_cast<int>(k);
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
    if (policies.placement) {
        detail::placing(p, places, given).ask(policies, recorded, at);
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
            policies.placement && !can_run(p.steps[i].what, to))
            fail(errc::unsupported, "placement policy",
                 {"sent step ", i, " (", family_of(p.steps[i].what), ") to ", to.name,
                  ", which cannot run it"});
    detail::step_mover(b, places.list.size(), host).run(at);
}

}}  // namespace pumice::PUMICE_ABI
