// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that changes hands: what nobody reads after an elementwise step, the step may write over.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/plan/plan.hpp>
#include <pumice/kernels/launch.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Whether two operands are the same elements in the same order: along an axis of one element no
/// step counts.
inline bool same_places(const operand& a, const operand& b, const shape& domain) {
    if (a.offset != b.offset) return false;
    for (int d = 0; d < domain.rank(); ++d)
        if (domain[d] != 1 && a.steps[d] != b.steps[d]) return false;
    return true;
}

/// Whether the kernel may write `out` to the memory of `leaf`: it reads nothing there but, before
/// it writes an element, that element.
inline bool may_write_over(const elementwise_problem& p, const operand& out, const operand& leaf) {
    if (leaf.buffer < 0 || leaf.format || info(leaf.type).bits != info(out.type).bits) return false;
    for (const operand& each : p.body.leaves)
        if (each.buffer == leaf.buffer && (!each.map.empty() || !same_places(each, out, p.domain)))
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

/// Whether a step that writes parts of `to` may read `from` where that lies `apart` bytes behind
/// the memory of `to`: it reads each element there before it writes it, and no other.
inline bool reads_where_it_writes(const plan_step& s, int from, int to, std::int64_t apart = 0) {
    const auto* e = s.what.get_if<elementwise_problem>();
    if (!e || e->body.outputs.size() != 1) return false;
    operand out = e->body.outputs[0];
    if (s.buffers[static_cast<std::size_t>(out.buffer)] != to) return false;
    const int bits = info(out.type).bits;
    out.offset -= apart * 8 / bits;
    for (const operand& leaf : e->body.leaves)
        if (leaf.buffer >= 0 && s.buffers[static_cast<std::size_t>(leaf.buffer)] == from &&
            (apart * 8 % bits != 0 || !may_write_over(*e, out, leaf)))
            return false;
    return true;
}

/// f(bytes) of each operand by which a step reads a value, or writes it; all bytes where it is no
/// elementwise step.
template <class F>
void each_access(const plan_step& s, int value, bool write, F&& f) {
    const array_list<int>& list = write ? s.outputs : s.buffers;
    if (std::find(list.begin(), list.end(), value) == list.end()) return;
    const auto* e = s.what.get_if<elementwise_problem>();
    constexpr std::int64_t everywhere = std::int64_t{1} << 60;
    if (!e) return f(access{value, -everywhere, everywhere, write});
    for (const operand& o : write ? e->body.outputs : e->body.leaves)
        if (o.buffer >= 0 && s.buffers[static_cast<std::size_t>(o.buffer)] == value)
            f(range_of(o, e->domain, write));
}

/// Whether step `reader` finds in `from`, which lies `apart` bytes behind the memory of `to`, what
/// was there before step `first`: nothing that those steps have written, nor the reader itself but
/// where it reads each element before it writes it. Copies that are needless do not count.
inline bool reads_unwritten(const plan& p, std::size_t first, std::size_t reader, int from, int to,
                            std::int64_t apart) {
    const plan_step& s = p.steps[reader];
    bool meets = false;
    const auto compare = [&](const plan_step& writer) {
        each_access(s, from, false, [&](const access& read) {
            each_access(writer, to, true, [&](const access& written) {
                meets |= read.begin + apart < written.end && written.begin < read.end + apart;
            });
        });
    };
    for (std::size_t i = first; i < reader; ++i)
        if (p.steps[i].unless_given < 0) compare(p.steps[i]);
    if (!meets && !reads_where_it_writes(s, from, to, apart)) compare(s);
    return !meets;
}

/// Whether steps read a value that lies `apart` bytes behind the memory of `to` only before `to` is
/// written there. A copy to `to` is taken as needless.
inline bool reads_before(const plan& p, int value, int to, std::int64_t apart) {
    for (std::size_t i = 0; i < p.steps.size(); ++i)
        if (!reads_unwritten(p, 0, i, value, to, apart)) return false;
    return true;
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
                   : from.role == value_role::temporary && to.role == value_role::temporary &&
                         from.place == to.place;
    };
    // Of a copy that is needless then, steps behind it may read what was not written over by then:
    // x[part] += y.
    const auto is_through = [&](std::size_t i, int from, int to) {
        const std::size_t last = last_use[static_cast<std::size_t>(from)];
        if (last == i) return true;
        if (last == never || p.at(from).role != value_role::input || !is_plain_copy(p.steps[i]))
            return false;
        for (std::size_t k = i + 1; k <= last; ++k) {
            // What is given is not brought to another place any more.
            const array_list<int>& read = p.steps[k].buffers;
            if (p.steps[k].place != p.steps[i].place &&
                std::find(read.begin(), read.end(), from) != read.end())
                return false;
            if (!reads_unwritten(p, i + 1, k, from, to, 0)) return false;
        }
        return true;
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
                if (from != to && is_through(i, from, to) &&
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
