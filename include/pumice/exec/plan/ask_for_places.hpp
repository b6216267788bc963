// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan as its placement policy sees it.
#pragma once

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

    int host() const { return host_among(list); }
};

/// A plan whose steps a policy sends to places.
struct plan_to_place {
    const plan& what;
    const plan_places& places;
    const array_list<const node*>& given;  // behind each value, where there is one
    bool recorded;                         // a compiled function's
    span<int> at;                          // of each step
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
    if (p.kind().decisions) return 0;
    if (at.type == device_type::host) {
        const device_rates rates = at.rates();
        return rates.launch + static_cast<double>(bytes) / rates.bandwidth +
               operations_of(p) / rates.arithmetic;
    }
    double least = -1;
    for (const kernel_entry& k : p.kind().kernels)
        if (const support s = k.supports(p.get(), at); s.yes && k.needs == reduced_precision::none)
            least = least < 0 ? s.best().seconds : std::min(least, s.best().seconds);
    return least;
}

/// What a policy sees of a plan.
class views_of_steps {
public:
    explicit views_of_steps(const plan_to_place& asked)
        : plan_(asked.what), places_(asked.places.list) {
        const plan& p = plan_;
        array_list<int> made_by(p.values.size(), -1);
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            const plan_step& s = p.steps[i];
            array_list<operand_view>& list = operands_.emplace_back();
            std::int64_t bytes = 0;
            for (const int v : s.buffers) {
                const auto number = static_cast<std::size_t>(v);
                operand_view o{made_by[number], p.at(v).bytes(), 0};
                if (const node* const n = asked.given[number]; n && n->data) {
                    const plan_places::holding held = asked.places.holders(*n);
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
    array_list<step_view> list() const {
        array_list<step_view> views;
        for (std::size_t i = 0; i < plan_.steps.size(); ++i)
            views.push_back({family_of(plan_.steps[i].what), operands_[i],
                             written_bytes(plan_.steps[i].what),
                             span(seconds_).subspan(i * places_.size(), places_.size())});
        return views;
    }

private:
    const plan& plan_;
    const array_list<const device_info*>& places_;
    array_list<array_list<operand_view>> operands_;  // of each step
    array_list<double> seconds_;                     // of each step at each place
};

}  // namespace detail

inline void ask_for_places(const plan_to_place& p, const policy_set& policies) {
    const detail::views_of_steps held(p);
    const array_list<step_view> views = held.list();
    placement asked{p.places.list, views, p.at, p.recorded};
    policies.place(asked);
    for (std::size_t i = 0; i < views.size(); ++i)
        if (p.at[i] < 0 || p.at[i] >= std::ssize(p.places.list))
            fail(errc::invalid_argument, "placement policy",
                 {"sent step ", i, " (", views[i].family, ") to place ", p.at[i], " of ",
                  p.places.list.size()});
}

template <int>
void place_below(std::int64_t bytes, placement& p) {
    const int host = p.host();
    if (host < 0 || p.recorded) return;
    for (const step_view& s : p.steps) {
        if (!s.can_run_at(host)) return;
        bytes -= s.written;
        for (const operand_view& o : s.operands) {
            bytes -= o.bytes;
            if (o.made_by < 0 && !(o.holders >> host & 1)) return;
        }
        if (bytes < 0) return;
    }
    for (int& place : p.at) place = host;
}

}}  // namespace pumice::PUMICE_ABI
