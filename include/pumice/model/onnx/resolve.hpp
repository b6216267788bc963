// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From a file's nodes to an order of steps with every name resolved, every operator found and every
// constant folded, which needs no device; and from there to graph nodes on one.
#pragma once

#include <pumice/model/detail/graph_limits.hpp>
#include <pumice/model/onnx/detail/resolver.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

namespace detail {

/// Refuses what asks for more than the limits, in all that `made` is made of. What is in `seen`,
/// and alive, was looked at.
inline void check_limits(const resolved_model& p, const resolved_node& s,
                         span<const any_tensor> made, std::set<const pumice::node*>& seen) {
    const std::string excess = pumice::detail::beyond_limits(p.limits, made, seen);
    if (!excess.empty())
        throw error(errc::bad_file, "onnx", describe(*s.from, s.number) + " asks for " + excess);
}

}  // namespace detail

inline std::vector<any_tensor> build_graph(const resolved_model& p, span<const any_tensor> inputs,
                                           weights* where, std::optional<dtype> compute = {},
                                           bool dry = false, span<const any_tensor> around = {},
                                           std::int64_t* left = nullptr) {
    std::int64_t most = p.limits.nodes;
    if (left && (*left -= std::ssize(p.steps) + 1) < 0)
        throw error(errc::unsupported, "onnx",
                    "graphs within graphs take more than " + std::to_string(most) +
                        " steps (model_limits::nodes) while the model is built");
    if (!left) left = &most;
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
    // What a graph within another is given was looked at there: a loop's steps are built on one
    // another.
    if (dry && !around.empty()) {
        for (const any_tensor& t : inputs) seen.insert(t.get().get());
        for (const auto& [own, theirs] : p.captured)
            if (const any_tensor& t = around[static_cast<std::size_t>(theirs)]; t.has_value())
                seen.insert(t.get().get());
    }
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
            auto made = node_builder(s, slots, p, where, compute, dry, left).run();
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
                            [](const resolved_model& p, span<const any_tensor> in, weights* where,
                               std::optional<dtype> compute, bool dry,
                               span<const any_tensor> around, std::int64_t* left) {
                                return build_graph(p, in, where, compute, dry, around, left);
                            })
        .run();
}

}}}  // namespace pumice::PUMICE_ABI::onnx
