// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From a file's nodes to an order of steps with every name resolved, every operator found and every
// constant folded, which needs no device; and from there to graph nodes on one.
#pragma once

#include <pumice/model/onnx/detail/resolver.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

namespace detail {

/// Products, sums or copies that one element of a node's kernel takes.
inline std::int64_t work_of_element(const pumice::node& n) {
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

/// Refuses what asks for more than the limits, in all that `made` is made of. What is in `seen`,
/// and alive, was looked at.
inline void check_limits(const resolved_model& p, const resolved_node& s,
                         std::span<const any_tensor> made, std::set<const pumice::node*>& seen) {
    std::vector<const pumice::node*> unvisited;
    for (const any_tensor& t : made)
        if (t.has_value()) unvisited.push_back(t.get().get());
    const auto refuse = [&](const std::string& what, std::int64_t limit, const char* name) {
        throw error(errc::bad_file, "onnx",
                    describe(*s.from, s.number) + " asks for " + what + ", more than the " +
                        std::to_string(limit) + " of model_limits::" + name);
    };
    while (!unvisited.empty()) {
        const pumice::node* n = unvisited.back();
        unvisited.pop_back();
        if (!seen.insert(n).second || n->data) continue;
        if (n->count() > p.limits.elements)
            refuse("a value of the shape " + to_string(n->extent), p.limits.elements, "elements");
        const std::int64_t work = work_of_element(*n);
        if (work > p.limits.kernel_work / std::max<std::int64_t>(n->count(), 1))
            refuse("a kernel of " + std::to_string(n->count()) + " times " + std::to_string(work) +
                       " products or sums",
                   p.limits.kernel_work, "kernel_work");
        for (const node_ptr& i : n->inputs) unvisited.push_back(i.get());
    }
}

}  // namespace detail

inline std::vector<any_tensor> build_graph(const resolved_model& p,
                                           std::span<const any_tensor> inputs, weights* where,
                                           std::optional<dtype> compute = {}, bool dry = false,
                                           std::span<const any_tensor> around = {}) {
    std::vector<any_tensor> slots = p.constants;
    for (const auto& [own, theirs] : p.captured)
        if (any_tensor& to = slots[static_cast<std::size_t>(own)]; !to.has_value())
            to = around[static_cast<std::size_t>(theirs)];
    const auto narrow = [&](const any_tensor& t) {
        return compute && t.dtype() == dtype::f32 ? astype(t, *compute) : t;
    };
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
        slots[static_cast<std::size_t>(p.inputs[i])] = narrow(inputs[i]);
    std::set<const pumice::node*> seen;  // of all that was made, which `alive` holds
    std::vector<any_tensor> alive;
    for (const resolved_node& s : p.steps) {
        const auto key = [&](std::size_t k) {
            return weights::of_slot(p.keys[static_cast<std::size_t>(s.outputs[k])]);
        };
        std::vector<any_tensor> results = detail::with_place(p, s, [&] {
            if (where && s.constant) {  // computed once, at the first run
                std::vector<any_tensor> kept(s.outputs.size());
                bool all = true;
                for (std::size_t k = 0; k < kept.size(); ++k)
                    if (s.outputs[k] >= 0) {
                        const auto t = where->find(key(k));
                        all = all && t;
                        if (t) kept[k] = *t;
                    }
                if (all) return kept;
            } else if (!s.constant && !s.packed && !s.shader && detail::all_known(s, slots)) {
                auto folded = detail::fold_outputs(s, slots, p);
                if (!folded.empty()) return folded;
            }
            auto made = node_builder(s, slots, p, where, compute, dry).run();
            for (std::size_t k = 0; k < s.outputs.size(); ++k)
                if (s.constant && where && s.outputs[k] >= 0)
                    made[k] = where->get(key(k), [&] { return made[k]; });
            return made;
        });
        if (dry) {
            detail::with_place(p, s, [&] { detail::check_limits(p, s, results, seen); });
            alive.insert(alive.end(), results.begin(), results.end());
        }
        for (std::size_t k = 0; k < s.outputs.size(); ++k) {
            if (s.outputs[k] < 0) continue;
            any_tensor& r = slots[static_cast<std::size_t>(s.outputs[k])] = std::move(results[k]);
            if (const auto& owner = r.get()->owner; owner && !dry && owner->policies().eager)
                owner->note(r.get());
        }
    }
    return slots;
}

/// Checks a model and resolves it. Throws errc::bad_file, errc::unsupported_op, errc::unsupported.
inline resolved_model resolve(model_proto m, const model_limits& limits = {},
                              const op_set& extra = {}) {
    return detail::resolver(std::move(m), limits, extra,
                            [](const resolved_model& p, std::span<const any_tensor> in,
                               weights* where, std::optional<dtype> compute, bool dry,
                               std::span<const any_tensor> around) {
                                return build_graph(p, in, where, compute, dry, around);
                            })
        .run();
}

}}}  // namespace pumice::PUMICE_ABI::onnx
