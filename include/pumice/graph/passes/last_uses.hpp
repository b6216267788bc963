// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which tensors nobody will hold any more once a graph is evaluated: their memory may be given
// away.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/walk.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Keeps its memory from one graph to the next.
class last_uses {
public:
    /// Finds the realised inputs that nobody refers to once the nodes that `done(n)` says have let
    /// go of theirs. Pre: each input of each node is held once beside that node.
    template <class Done>
    void find(const graph_walk& walk, Done&& done) {
        found_.clear();
        found_.resize(walk.nodes().size());
        for (auto n = walk.order().rbegin(); n != walk.order().rend(); ++n) {
            const bool ends = done(*n) || found_[walk.number_of(*n)].only_here();
            for (const node_ptr& input : (*n)->inputs) {
                uses& u = found_[walk.number_of(input.get())];
                ++u.all;
                u.ending += ends;
                u.handle = &input;
            }
        }
    }
    /// Of a realised node, by its number in the walk.
    bool contains(std::uint32_t number) const noexcept {
        const uses& u = found_[number];
        return u.only_here() && (*u.handle)->realised() && (*u.handle)->data;
    }

private:
    struct uses {
        long all = 0, ending = 0;
        const node_ptr* handle = nullptr;
        bool only_here() const noexcept {
            return handle && ending == all && handle->use_count() == 2 * all;
        }
    };
    array_list<uses> found_;
};

}}  // namespace pumice::PUMICE_ABI
