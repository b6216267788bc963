// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that changes hands: what nobody reads after an elementwise kernel, the kernel writes over.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/exec/lower.hpp>

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
inline bool is_plain_copy(const step& s) {
    const auto* p = s.what.get_if<elementwise_problem>();
    return p && p->body.body->code.size() == 1 && p->body.leaves.size() == 1 &&
           p->body.leaves[0].type == p->body.outputs[0].type &&
           may_write_over(*p, p->body.outputs[0], p->body.leaves[0]);
}

/// The realised inputs of `order` that nobody refers to once the nodes that `done` says have let go
/// of theirs. Pre: each input of each node is held once beside that node; inputs stand before
/// users.
template <class Done>
key_set<const node*> last_uses(const array_list<node*>& order, Done&& done) {
    struct uses {
        long all = 0, ending = 0;
    };
    key_map<const node*, uses> found;
    const auto only_here = [&](const node_ptr& n) {
        const uses& u = found[n.get()];
        return u.ending == u.all && n.use_count() == 2 * u.all;
    };
    key_map<const node*, const node_ptr*> handle;
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
        const node_ptr* const* const h = handle.find(*n);
        const bool ends = done(*n) || (h && only_here(**h));
        for (const node_ptr& input : (*n)->inputs) {
            uses& u = found[input.get()];
            ++u.all;
            u.ending += ends;
            handle[input.get()] = &input;
        }
    }
    key_set<const node*> list;
    for (const auto& [n, h] : handle)
        if (n->realised() && n->data && only_here(*h)) list.insert(n);
    return list;
}

/// For each node that takes over the memory of an input, that input, out of `dying`: the step that
/// first writes the node writes all of it, no later step reads the input, and `may(to, from)`
/// holds.
template <class May>
key_map<const node*, const node*> donations(const array_list<step>& steps,
                                            const key_set<const node*>& dying, May&& may) {
    key_map<const node*, const node*> giver;
    if (dying.empty()) return giver;
    key_map<const node*, std::size_t> last_read;
    for (std::size_t i = 0; i < steps.size(); ++i)
        for (const node* n : steps[i].buffers)
            if (dying.contains(n)) last_read[n] = i;
    key_set<const node*> written, given;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto* p = steps[i].what.get_if<elementwise_problem>();
        if (p)
            for (const operand& out : p->body.outputs) {
                const node* to = steps[i].buffers[static_cast<std::size_t>(out.buffer)];
                if (written.contains(to) || element_count(p->domain) != to->count()) continue;
                for (const operand& leaf : p->body.leaves) {
                    if (!may_write_over(*p, out, leaf)) continue;
                    const node* from = steps[i].buffers[static_cast<std::size_t>(leaf.buffer)];
                    if (!dying.contains(from) || last_read[from] != i || from->offset != 0 ||
                        from->count() != to->count() || !may(to, from) || !given.insert(from))
                        continue;
                    giver[to] = from;
                    break;
                }
            }
        for (const node* n : steps[i].outputs) written.insert(n);
    }
    return giver;
}

}}  // namespace pumice::PUMICE_ABI
