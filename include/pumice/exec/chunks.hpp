// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is handed to a device in one piece: a command buffer's worth of kernels.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/text.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace pumice { inline namespace PUMICE_ABI {

/// Kernels [begin, end) of an order, recorded in one command buffer, and the chunks around it.
struct chunk {
    std::size_t begin = 0, end = 0;
    double seconds = 0;                    // expected of it; 0 where nobody has measured
    std::uint32_t predecessors = 0;        // that have to be done before it starts
    array_list<std::uint32_t> dependents;  // by number
    bool is_output = false;                // nothing comes after it
};

/// One chunk of everything.
inline array_list<chunk> one_chunk(std::size_t kernels) {
    array_list<chunk> list(1);
    list[0].end = kernels;
    list[0].is_output = true;
    return list;
}

/// A line of chunks for kernels that take `seconds` each: no chunk above `budget`, but for one
/// kernel that is.
inline array_list<chunk> cut(std::span<const double> seconds, double budget) {
    if (seconds.empty()) return one_chunk(0);
    array_list<chunk> list;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (list.empty() || list.back().seconds + seconds[i] > budget) {
            if (!list.empty())
                list.back().dependents.push_back(static_cast<std::uint32_t>(list.size()));
            list.push_back({i, i, 0, list.empty() ? 0u : 1u, {}, false});
        }
        list.back().end = i + 1;
        list.back().seconds += seconds[i];
    }
    list.back().is_output = true;
    return list;
}

/// A line a chunk; empty where there is only one.
inline std::string to_string(std::span<const chunk> list) {
    std::string text;
    if (list.size() < 2) return text;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const chunk& c = list[i];
        append_text(text, {"chunk ", i, ": kernels ", c.begin, " to ", c.end - 1});
        if (c.seconds > 0)
            append_text(text, {", ", static_cast<std::int64_t>(c.seconds * 1e6 + 0.5), " us"});
        append_text(text, {", after ", c.predecessors, ", before "});
        for (std::size_t k = 0; k < c.dependents.size(); ++k)
            append_text(text, {k ? " " : "", c.dependents[k]});
        append_text(text, {c.is_output ? "the end\n" : "\n"});
    }
    return text;
}

}}  // namespace pumice::PUMICE_ABI
