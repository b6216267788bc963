// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From launches to a command buffer: parameter blocks, byte ranges, barriers. Evaluations that run
// once and executables that run often are recorded here.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/exec/plan/dispatch_list.hpp>
#include <pumice/exec/vulkan/storage.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// A dispatch, or a copy that brings a tensor to the device.
struct command {
    const launch* what = nullptr;
    const vulkan::pipeline* pipeline = nullptr;  // of a dispatch; it lives as long as the runtime
    std::uint64_t parameters = 0;                // address of its block
    vulkan_storage* upload_to = nullptr;
    vulkan::allocation upload_from;
    const kernel_record* record = nullptr;                      // of a dispatch
    std::shared_ptr<const vulkan::pushed_buffers> pushed = {};  // likewise, of a shader operator
};

/// That of a dispatch whose parameter block lies at `parameters`. Pre: the list outlives it.
inline command command_of(const dispatch_list& list, std::size_t dispatch,
                          const array_list<std::shared_ptr<const vulkan::pipeline>>& pipelines,
                          std::uint64_t parameters) {
    return {list.launches()[dispatch],
            pipelines[dispatch].get(),
            parameters,
            nullptr,
            {},
            list.record(list.step_of(dispatch)).get(),
            nullptr};
}

/// Memory that a shader operator is given: a piece of the device's, and the first byte in it.
struct given_memory {
    vulkan::allocation piece;
    std::int64_t begin = 0;
};

/// Two for each of the first `count` commands of a recording, which resets them.
struct timestamps {
    const vulkan::timestamp_pool* pool = nullptr;
    std::uint32_t first = 0, count = 0;
};

inline byte_range range_in(const vulkan::allocation& piece, std::int64_t begin, std::int64_t end,
                           bool write) {
    const auto base = static_cast<std::int64_t>(piece.offset);
    return {reinterpret_cast<std::uint64_t>(piece.buffer), base + begin, base + end, write};
}

/// Where each launch's parameter block lies in one allocation for all of them.
struct block_offsets {
    array_list<std::uint64_t> at;
    std::uint64_t size = 64;

    explicit block_offsets(const array_list<const launch*>& launches) {
        std::uint64_t end = 0;
        for (const launch* l : launches) {
            at.push_back(end);
            end += (l->parameters.size() + 63) / 64 * 64;
        }
        size = std::max(size, end);
    }
};

/// Writes the numbers of the run into a launch's parameter block.
inline void write_numbers(const launch& l, span<const scalar> numbers, std::byte* to) {
    for (const number_place& n : l.numbers) {
        const std::uint64_t bits = numbers[static_cast<std::size_t>(n.number)].bits;
        std::memcpy(to + n.at, &bits, sizeof bits);
    }
}

/// Writes a launch's parameter block with the address of each buffer that it names, and each number
/// of the run.
template <class AddressOf>
void write_block(const launch& l, AddressOf&& address_of, span<const scalar> numbers,
                 std::byte* to) {
    std::copy(l.parameters.begin(), l.parameters.end(), to);
    for (const relocation& r : l.relocations) {
        const std::uint64_t address =
            address_of(r.buffer) + static_cast<std::uint64_t>(r.byte_offset);
        std::memcpy(to + r.at, &address, sizeof address);
    }
    write_numbers(l, numbers, to);
}

/// What a command comes to once its place in the order is known.
inline held_command to_hold(const command& c, bool barrier) noexcept {
    held_command held;
    held.barrier = barrier;
    if (c.upload_to) {
        held.from = c.upload_from;
        held.to = c.upload_to->piece;
        held.bytes = static_cast<std::uint64_t>(c.upload_to->bytes);
    } else {
        held.pipeline = c.pipeline;
        held.parameters = c.parameters;
        held.pushed = c.pushed;
        held.grid = {c.what->grid[0], c.what->grid[1], c.what->grid[2]};
    }
    return held;
}

/// Records commands in the order that `arrange` gave them, and the times before and after each.
/// `touch`: all that they and what they depend on are.
inline void record_commands(vulkan::commands& buffer, const array_list<command>& list,
                            span<const placed_item> order, const timestamps& times = {},
                            vulkan::scope touch = any_access) {
    if (times.count > 0) buffer.reset(*times.pool, times.first, 2 * times.count);
    std::uint32_t next = 0;  // timestamp
    const auto time = [&] {
        if (next < 2 * times.count) buffer.timestamp(*times.pool, times.first + next++);
    };
    for (const placed_item& place : order) {
        if (place.barrier) buffer.barrier(touch, touch);
        time();
        to_hold(list[place.index], false).record(buffer);
        time();
    }
}

/// Records a copy with its times.
inline void record_copy(vulkan::commands& buffer, const vulkan::allocation& from,
                        const vulkan::allocation& to, const vulkan::copy_region& region,
                        const timestamps& times) {
    if (times.count > 0) {
        buffer.reset(*times.pool, times.first, 2);
        buffer.timestamp(*times.pool, times.first);
    }
    buffer.copy(from, to, region);
    if (times.count > 0) buffer.timestamp(*times.pool, times.first + 1);
}

}}  // namespace pumice::PUMICE_ABI
