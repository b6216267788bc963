// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How long kernels take that do little but move memory.
#pragma once

#include <pumice/kernels/reference.hpp>

#include <algorithm>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI {

/// Bytes of memory that an operand takes over `domain`: each element once, however often it is
/// used.
inline double bytes_of(const operand& o, const shape& domain) {
    if (!o.in_memory()) return 0;
    const double bytes =
        o.format ? static_cast<double>(o.format->bytes) / static_cast<double>(o.format->elements)
                 : info(o.type).bits / 8.0;
    double elements = 1, held = 1;
    for (int i = 0; i < domain.rank(); ++i)
        if (o.steps[i] != 0) elements *= static_cast<double>(domain[i]);
    for (const mapped_axis& a : o.map)
        if (a.step != 0) held *= static_cast<double>(a.length);
    return bytes * (o.map.empty() ? elements : std::min(elements, held));
}
inline double bytes_of(const fused& f, const shape& domain) {
    double bytes = 0;
    for (const auto* list : {&f.leaves, &f.outputs})
        for (const operand& o : *list) bytes += bytes_of(o, domain);
    return bytes;
}

/// What a kernel reads and writes.
struct memory_traffic {
    double useful = 0, moved = 0;  // bytes

    /// A program over `domain` whose neighbouring invocations run along an axis: of elements that
    /// lie apart there, whole lines are moved.
    void add(const fused& f, const shape& domain, int along, double times = 1) {
        constexpr int line = 32;  // bytes that memory moves at least: a sector of most GPUs' caches
        for (const auto* list : {&f.leaves, &f.outputs})
            for (const operand& o : *list) {
                const double bytes = times * bytes_of(o, domain);
                const std::int64_t apart =
                    std::min<std::int64_t>(std::abs(o.steps[along]), line * 8 / info(o.type).bits);
                useful += bytes;
                moved += bytes * static_cast<double>(std::max<std::int64_t>(apart, 1));
            }
    }
    void add(double bytes) { useful += bytes, moved += bytes; }
};

/// Expected of a kernel by so many invocations, each of which has `in_flight` bytes on their way at
/// a time, at a share of the rate of a copy.
inline double seconds_to_move(const device_info& device, const memory_traffic& t, double share,
                              double invocations, double in_flight) {
    const device_rates r = device.rates();
    const bool cached = t.useful <= r.cache;  // a line is still there when its rest is asked for
    const double by_rate =
                     (t.useful + (t.moved - t.useful) / (cached ? 2 : 1)) / (share * r.bandwidth),
                 by_latency = t.useful * r.latency / (std::max(invocations, 1.0) * in_flight);
    // Near the crossing each holds up the other.
    return r.launch + r.latency + std::hypot(by_rate, by_latency);
}

/// Of one that reads and writes neighbours by neighbours.
inline double seconds_to_move(const device_info& device, double bytes, double share,
                              double invocations, double in_flight = 64) {
    return seconds_to_move(device, memory_traffic{bytes, bytes}, share, invocations, in_flight);
}

}}  // namespace pumice::PUMICE_ABI
