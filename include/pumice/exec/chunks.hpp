// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a recording is run in: pieces for the device, each a command buffer's worth of kernels, and
// between them what the host runs.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/base/text.hpp>

#include <cstdint>
#include <string>

namespace pumice { inline namespace PUMICE_ABI {

/// Kernels [begin, end) of an order, recorded in one command buffer, and the chunks around it.
struct chunk {
    std::size_t begin = 0, end = 0;
    std::size_t host_begin = 0,
                host_end = 0;              // steps that the host runs, where there are no kernels
    double seconds = 0;                    // expected of it; 0 where nobody has measured
    std::uint32_t predecessors = 0;        // that have to be done before it starts
    array_list<std::uint32_t> dependents;  // by number
    bool is_output = false;                // nothing comes after it

    bool is_host() const noexcept { return host_begin < host_end; }
};

/// One chunk of everything.
inline array_list<chunk> one_chunk(std::size_t kernels) {
    array_list<chunk> list(1);
    list[0].end = kernels;
    list[0].is_output = true;
    return list;
}

/// Steps that run at one place: kernels of the device's [first, last) of an order, or, where there
/// are none, the host's steps [begin, end).
struct stage {
    std::size_t begin, end, first, last;
    bool host;
};

/// A line of chunks for stages whose kernels take `seconds` each: no chunk above `budget`, but for
/// one kernel that is.
inline array_list<chunk> cut(const array_list<stage>& stages, span<const double> seconds,
                             double budget) {
    array_list<chunk> list;
    const auto next = [&]() -> chunk& {
        if (!list.empty())
            list.back().dependents.push_back(static_cast<std::uint32_t>(list.size()));
        list.emplace_back();
        list.back().predecessors = list.size() > 1;
        return list.back();
    };
    for (const stage& s : stages) {
        if (s.host) {
            chunk& c = next();
            c.begin = c.end = s.first;
            c.host_begin = s.begin;
            c.host_end = s.end;
        }
        for (std::size_t i = s.first; i < s.last; ++i) {
            if (i == s.first || list.back().seconds + seconds[i] > budget) next().begin = i;
            list.back().end = i + 1;
            list.back().seconds += seconds[i];
        }
    }
    if (list.empty()) return one_chunk(0);
    list.back().is_output = true;
    return list;
}
inline array_list<chunk> cut(span<const double> seconds, double budget) {
    return cut({stage{0, 0, 0, seconds.size(), false}}, seconds, budget);
}

/// A line a chunk; empty where there is only one.
inline std::string to_string(span<const chunk> list) {
    std::string text;
    if (list.size() < 2) return text;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const chunk& c = list[i];
        if (c.is_host())
            append_text(text, {"chunk ", i, ": steps ", c.host_begin, " to ", c.host_end - 1,
                               " by the host"});
        else append_text(text, {"chunk ", i, ": kernels ", c.begin, " to ", c.end - 1});
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
