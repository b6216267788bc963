// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Names of a file on their way to the graph: what a step makes is called after it.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/base/span.hpp>
#include <pumice/graph/any_tensor.hpp>

#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx { namespace detail {

/// Labels the nodes that a step made, and no others: tensors of the user's stay as they are, and so
/// does what other threads may know.
class label_nodes {
public:
    /// Called before the step is built, with what it reads.
    void was_there(const any_tensor& t) {
        if (!t.has_value()) return;
        for (node_ptr n = t.get(); n; n = is_view(*n) && !n->realised() ? n->viewed() : nullptr)
            if (n->owner && n->label.empty()) before_.insert(n.get());
    }
    /// Called afterwards: result k gets names[k], what it is computed of `inner`.
    void operator()(span<const any_tensor> results, const std::vector<node_label>& names,
                    const node_label& inner) const {
        std::vector<const node*> open;
        for (std::size_t k = 0; k < results.size() && k < names.size(); ++k)
            if (results[k].has_value()) take(*results[k].get(), names[k], open);
        while (!open.empty()) {
            const node* const n = open.back();
            open.pop_back();
            for (const node_ptr& input : n->inputs)
                if (!input->realised()) take(*input, inner, open);
        }
    }

private:
    void take(node& n, const node_label& label, std::vector<const node*>& open) const {
        if (!n.owner || !n.label.empty() || before_.contains(&n) || !n.label.set(label)) return;
        if (!n.realised()) open.push_back(&n);
    }

    key_set<const node*> before_;
};

}}}}  // namespace pumice::PUMICE_ABI::onnx::detail
