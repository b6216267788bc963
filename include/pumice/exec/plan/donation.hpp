// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that changes hands: what nobody reads after an elementwise step, the step may write over.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/plan/plan.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Whether the kernel may write `out` to the memory of `leaf`: it reads nothing there but, before
/// it writes an element, that element.
inline bool may_write_over(const elementwise_problem& p, const operand& out, const operand& leaf) {
    if (leaf.buffer < 0 || info(leaf.type).bits != info(out.type).bits) return false;
    for (const operand& each : p.body.leaves)
        if (each.buffer == leaf.buffer && (each.steps != out.steps || each.offset != out.offset))
            return false;
    return true;
}

/// Whether the step does nothing but copy a buffer to the same places of another.
inline bool is_plain_copy(const plan_step& s) {
    const auto* p = s.what.get_if<elementwise_problem>();
    return p && p->body.body->code.size() == 1 && p->body.leaves.size() == 1 &&
           p->body.leaves[0].type == p->body.outputs[0].type &&
           may_write_over(*p, p->body.outputs[0], p->body.leaves[0]);
}

/// Finds the plan's givings, and the steps that are needless where one is carried out.
inline void find_givings(plan& p) {
    constexpr std::size_t never = ~std::size_t{0};
    array_list<std::size_t> last_use(p.values.size(), never), first_write(p.values.size(), never);
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
        for (const int v : p.steps[i].buffers) last_use[static_cast<std::size_t>(v)] = i;
        for (const int v : p.steps[i].outputs) {
            std::size_t& first = first_write[static_cast<std::size_t>(v)];
            first = std::min(first, i);
        }
    }
    for (const plan_value& v : p.values)  // others go on looking at its memory
        if (v.alias >= 0) last_use[static_cast<std::size_t>(p.root(v.alias))] = never;
    const auto may_give = [&](const plan_value& from, const plan_value& to) {
        return from.role == value_role::input
                   ? to.role == value_role::output
                   : from.role == value_role::temporary && to.role == value_role::temporary;
    };
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
        const plan_step& s = p.steps[i];
        const auto* e = s.what.get_if<elementwise_problem>();
        if (!e) continue;
        for (const operand& out : e->body.outputs) {
            const int to = s.buffers[static_cast<std::size_t>(out.buffer)];
            if (first_write[static_cast<std::size_t>(to)] != i ||
                element_count(e->domain) != p.at(to).count())
                continue;
            for (const operand& leaf : e->body.leaves) {
                if (!may_write_over(*e, out, leaf)) continue;
                const int from = s.buffers[static_cast<std::size_t>(leaf.buffer)];
                if (last_use[static_cast<std::size_t>(from)] == i && from != to &&
                    p.at(from).count() == p.at(to).count() && may_give(p.at(from), p.at(to)))
                    p.givings.push_back({static_cast<int>(i), from, to});
            }
        }
    }
    for (std::size_t k = 0; k < p.givings.size() && k < giving_mask::most; ++k) {
        const auto i = static_cast<std::size_t>(p.givings[k].step);
        plan_step& s = p.steps[i];
        if (is_plain_copy(s) && i + 1 < p.steps.size() && p.steps[i + 1].outputs[0] == s.outputs[0])
            s.unless_given = static_cast<int>(k);
    }
}

}}  // namespace pumice::PUMICE_ABI
