// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan in the making: which value each node of a graph is.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/exec/plan/plan.hpp>
#include <pumice/graph/passes/flatten.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class planner;

/// A plan in the making, and the nodes behind its values.
class plan_builder {
public:
    const planner* maker = nullptr;
    plan made;
    array_list<graph_node*> nodes;  // of each value
    scalar_numbers scalars;         // that each run brings
    /// Of each node of the graph its place in the order, where nodes have names; else empty.
    array_list<std::uint32_t> order = {};

    /// The node's value; a new one, without a role, when it is asked for first.
    int value_of(graph_node* n) {
        const std::size_t number = numbers_.insert(detail::bits_of_key(n));
        if (number == nodes.size()) {
            nodes.push_back(n);
            made.values.push_back({value_role::temporary, n->type(), n->extent(), n->layout(), -1,
                                   n->is_given() ? offset_from_base(*n->what) : 0});
            if (!order.empty()) made.values.back().label = n->label();
        }
        return static_cast<int>(number);
    }
    /// The node's value, or -1.
    int find(const graph_node* n) const {
        const std::size_t number = numbers_.find(detail::bits_of_key(n));
        return number == key_index::none ? -1 : static_cast<int>(number);
    }
    void set_role(int value, value_role role, array_list<int>& list) {
        plan_value& v = made.at(value);
        v.role = role;
        v.index = list.size();
        list.push_back(value);
    }
    /// A value like another, at a place, that no node stands for.
    int add_temporary(const plan_value& like, int place) {
        const auto value = static_cast<int>(nodes.size());
        numbers_.insert(unnamed_++);
        nodes.push_back(nullptr);
        made.values.push_back({value_role::temporary, like.type, like.extent, like.layout});
        made.values.back().place = place;
        set_role(value, value_role::temporary, made.temporaries);
        return value;
    }
    /// It lies in the memory of another.
    void set_alias(int value, int of, std::int64_t offset, const strides& layout) {
        plan_value& v = made.at(value);
        v.alias = of;
        v.offset = offset;
        v.layout = layout;
    }

private:
    key_index numbers_;
    std::uint64_t unnamed_ = 1;  // keys of values without a node, which no address is
};

}}  // namespace pumice::PUMICE_ABI
