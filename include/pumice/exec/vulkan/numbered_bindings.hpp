// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The resources of a shader, in whichever sets it has them, as bindings 0, 1 .. of set 0:
// inputs, then outputs. One set is what can be pushed.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/span.hpp>
#include <pumice/graph/own_shader.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The module with its decorations written anew. Throws errc::invalid_argument for a resource of
/// the shader's that is no input or output. Words that are no SPIR-V come back unchanged.
inline array_list<std::uint32_t> with_numbered_bindings(span<const std::uint32_t> words,
                                                        const own_shader& s) {
    constexpr std::uint32_t op_decorate = 71, decoration_binding = 33, decoration_set = 34;
    array_list<std::uint32_t> out(words.begin(), words.end());
    struct resource {
        std::uint32_t id;
        shader_binding at;
        std::size_t binding_word = 0, set_word = 0;  // where they stand
    };
    array_list<resource> found;
    for (std::size_t at = 5; at < words.size();) {
        const std::size_t length = words[at] >> 16;
        if (length == 0 || length > words.size() - at) return out;
        if ((words[at] & 0xffff) == op_decorate && length == 4 &&
            (words[at + 2] == decoration_binding || words[at + 2] == decoration_set)) {
            resource* of = nullptr;
            for (resource& r : found)
                if (r.id == words[at + 1]) of = &r;
            if (!of) of = &found.emplace_back(resource{words[at + 1], {}});
            const bool is_set = words[at + 2] == decoration_set;
            (is_set ? of->at.set : of->at.binding) = words[at + 3];
            (is_set ? of->set_word : of->binding_word) = at + 3;
        }
        at += length;
    }
    for (const resource& r : found) {
        std::uint32_t number = 0;
        bool known = false;
        for (const auto* list : {&s.inputs, &s.outputs})
            for (const shader_binding& b : *list) {
                if (known) break;
                known = b.same_place(r.at);
                number += !known;
            }
        if (!known)
            fail(errc::invalid_argument, cat({"shader operator ", s.name}),
                 {"the shader has a resource in set ", r.at.set, " at binding ", r.at.binding,
                  ", which is neither an input nor an output"});
        if (r.set_word != 0) out[r.set_word] = 0;
        if (r.binding_word != 0) out[r.binding_word] = number;
    }
    return out;
}

}}  // namespace pumice::PUMICE_ABI
