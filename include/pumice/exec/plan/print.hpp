// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan as text, a line a step: what runs, under which names, on what. No other header includes
// this one.
#pragma once

#include <pumice/exec/plan/plan.hpp>
#include <pumice/exec/select.hpp>

#include <algorithm>
#include <string>

namespace pumice { inline namespace PUMICE_ABI {

/// Step, op, then each result with its name, type, shape, bytes, place and how many steps read it;
/// behind the arrow what is read, with its bytes and the place where it lies (of what a run brings,
/// its role); in brackets the nodes that the step is made of, where they have names:
///   3 conv | add, relu: y f32 (1, 8, 28, 28) 25088 B at 0, use 1 <- x 3136 B input [Conv "c"]
/// A value without a name is called after what makes it, or by its number: %7.
inline std::string to_text(const plan& p) {
    array_list<int> uses(p.values.size(), 0);
    const auto reads = [](const plan_step& s, int v) {
        return std::find(s.outputs.begin(), s.outputs.end(), v) == s.outputs.end();
    };
    for (const plan_step& s : p.steps)
        for (const int v : s.buffers) uses[static_cast<std::size_t>(v)] += reads(s, v);
    const auto name = [&](int v) {
        const node_label& own = p.at(v).label;
        return own ? std::string(own.name().empty() ? own.origin() : own.name()) : cat({"%", v});
    };
    std::string text = cat({p.steps.size(), p.steps.size() == 1 ? " step" : " steps", ", ",
                            p.values.size(), p.values.size() == 1 ? " value\n" : " values\n"});
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
        const plan_step& s = p.steps[i];
        const std::string ops = fused_name(s.what);
        append_text(text, {i, " ", family_of(s.what), ops.empty() ? "" : " ", ops});
        const char* before = ": ";
        for (const int v : s.outputs) {
            const plan_value& made = p.at(v);
            append_text(text, {before, name(v), " ", to_string(made.type), " ",
                               to_string(made.extent), " ", made.bytes(), " B at ", made.place,
                               ", use ", uses[static_cast<std::size_t>(v)]});
            before = "; ";
        }
        before = " <- ";
        for (const int v : s.buffers) {
            if (!reads(s, v)) continue;
            const plan_value& from = p.at(v);
            append_text(text, {before, name(v), " ", from.bytes(), " B "});
            if (from.is_given()) text += to_string(from.role);
            else append_text(text, {"at ", from.place});
            before = ", ";
        }
        const std::string origin = origin_of(s, s.origin.size());
        append_text(text, {origin.empty() ? "" : " [", origin, origin.empty() ? "\n" : "]\n"});
    }
    return text;
}

}}  // namespace pumice::PUMICE_ABI
