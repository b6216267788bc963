// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which tensors nobody will hold any more once a graph is evaluated: their memory may be given
// away.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/node.hpp>

namespace pumice { inline namespace PUMICE_ABI {

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

}}  // namespace pumice::PUMICE_ABI
