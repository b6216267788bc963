// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the graph of a model asks for, held against its limits before anything runs.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/graph/any_tensor.hpp>
#include <pumice/model/detail/model_limits.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Products, sums or copies that one element of a node's kernel takes.
inline std::int64_t work_of_element(const node& n) {
    return n.op.visit([&]<class Op>(const Op& op) -> std::int64_t {
        if constexpr (std::is_same_v<Op, matmul_op>) return n.inputs[0]->extent.back();
        else if constexpr (std::is_same_v<Op, conv_op>) {
            const shape& w = n.inputs[1]->extent;
            return element_count(w) / std::max<std::int64_t>(w[0], 1);
        } else if constexpr (std::is_same_v<Op, reduce_op>)
            return n.inputs[0]->count() / std::max<std::int64_t>(n.count(), 1);
        else if constexpr (std::is_same_v<Op, view_op> || std::is_same_v<Op, reshape_op>) return 0;
        else if constexpr (std::is_same_v<Op, pool_op>)
            return std::int64_t(op.window[0]) * op.window[1];
        else return 1;
    });
}

/// What asks for more than the limits in all that `made` is made of, in words; empty where nothing
/// does. What is in `seen`, and alive, was looked at.
inline std::string beyond_limits(const model_limits& limits, span<const any_tensor> made,
                                 std::set<const node*>& seen) {
    std::vector<const node*> unvisited;
    for (const any_tensor& t : made)
        if (t.has_value()) unvisited.push_back(t.get().get());
    while (!unvisited.empty()) {
        const node* n = unvisited.back();
        unvisited.pop_back();
        if (!seen.insert(n).second || n->data) continue;
        if (n->count() > limits.elements)
            return cat({"a value of the shape ", to_string(n->extent), ", more than the ",
                        limits.elements, " of model_limits::elements"});
        const std::int64_t work = work_of_element(*n);
        if (work > limits.kernel_work / std::max<std::int64_t>(n->count(), 1))
            return cat({"a kernel of ", n->count(), " times ", work,
                        " products or sums, more than the ", limits.kernel_work,
                        " of model_limits::kernel_work"});
        for (const node_ptr& i : n->inputs) unvisited.push_back(i.get());
    }
    return {};
}

}}}  // namespace pumice::PUMICE_ABI::detail
