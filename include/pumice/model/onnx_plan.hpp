// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From a file's nodes to an order of steps with every name resolved, every operator found and every
// constant folded. Making a plan needs no device; running it builds graph nodes on one.
#pragma once

#include <pumice/model/detail/onnx_planner.hpp>

namespace pumice::inline PUMICE_ABI {
namespace onnx {

/// Checks a model and plans it. Throws errc::bad_file, errc::unsupported_op, errc::unsupported.
inline plan make_plan(model m, const model_limits& limits = {}, const op_set& extra = {}) {
    return detail::planner(std::move(m), limits, extra).run();
}

/// Builds the graph over `inputs` and gives the value of every slot. With `where` null shapes and types
/// are worked out and nothing can be run. `dry`: the inputs have no values, nothing may run.
inline std::vector<any_tensor> build_graph(const plan& p, std::span<const any_tensor> inputs,
                                           weights* where, std::optional<dtype> compute = {},
                                           bool dry = false) {
    std::vector<any_tensor> slots = p.constants;
    const auto narrow = [&](const any_tensor& t) {
        return compute && t.dtype() == dtype::f32 ? astype(t, *compute) : t;
    };
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
        slots[static_cast<std::size_t>(p.inputs[i])] = narrow(inputs[i]);
    for (const step& s : p.steps) {
        const auto key = [&](std::size_t k) { return weights::of_slot(s.outputs[k]); };
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
            } else if (!s.constant && detail::all_known(s, slots)) {
                auto folded = detail::fold_outputs(s, slots, p);
                if (!folded.empty()) return folded;
            }
            auto made = node_builder(s, slots, p.permanent, where, compute, p.limits, dry).run();
            for (std::size_t k = 0; k < s.outputs.size(); ++k)
                if (s.constant && where && s.outputs[k] >= 0)
                    made[k] = where->get(key(k), [&] { return made[k]; });
            return made;
        });
        for (std::size_t k = 0; k < s.outputs.size(); ++k) {
            if (s.outputs[k] < 0) continue;
            any_tensor& r = slots[static_cast<std::size_t>(s.outputs[k])] = std::move(results[k]);
            if (const auto& owner = r.get()->owner; owner && !dry && owner->policies().eager)
                owner->note(r.get());
        }
    }
    return slots;
}

}  // namespace onnx
}  // namespace pumice::inline PUMICE_ABI
