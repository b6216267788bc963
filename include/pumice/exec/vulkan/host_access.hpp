// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How the host reads and writes a tensor whose memory a lane has: in place where it can, else by a
// copy that the device makes.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/vulkan/lane.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The node's memory, whether it holds values or has lost them.
inline vulkan_storage& memory_of(const node& n) noexcept {
    return *static_cast<vulkan_storage*>(n.data.get());
}
/// The same. Throws errc::values_lost where it holds none.
inline vulkan_storage& storage_of(const node& n) {
    must_hold_values(n);
    return memory_of(n);
}

/// Accesses of the host's, under the lane's lock, but for while they wait for the device.
class host_access {
public:
    host_access(vulkan_lane& lane, vulkan_lane::lock_type& held)
        : lane_(lane), runtime_(*lane.runtime()), lock_(held) {}

    /// Copies a realised tensor's elements to `out` in row-major order.
    void read(const node& n, void* out) {
        if (n.count() == 0) return;
        vulkan_storage& s = storage_of(n);
        const std::int64_t begin = byte_offset(n.type, n.offset),
                           size = byte_count(n.type, n.count());
        if (!s.host && n.row_major() && starts_byte(n.type, n.offset) &&
            (size < s.bytes / 2 || reads_in_place(s, size))) {
            // What lies at hand, or a small part of a large array: only that part.
            fetch(s, begin, size, static_cast<std::byte*>(out));
            return;
        }
        unique_ptr<host_memory> copy = std::move(s.host);
        if (!copy) copy = fetched(s);
        gather(n.type, n.extent, copy->data(), n.offset, n.layout(), out);
        // The user may write his memory again, and another thread may look at what it fetched
        // meanwhile.
        if (!s.borrowed() && !s.host) s.host = std::move(copy);
    }

    /// Replaces bytes of a realised, row-major tensor's memory, whose handle is the only one. Of
    /// one whose values are lost it replaces all.
    void write(const node& n, std::int64_t begin, span<const std::byte> bytes) {
        const auto size = static_cast<std::int64_t>(bytes.size());
        if (!n.data || size != memory_of(n).bytes) must_hold_values(n);
        vulkan_storage& s = memory_of(n);
        begin += byte_offset(n.type, n.offset);
        if (s.host && !s.on_device) {
            std::memcpy(s.host->data() + begin, bytes.data(), bytes.size());
            return;
        }
        const bool whole = size == s.bytes;
        if (s.piece.mapped && whole && !runtime_.queue().reached(s.last_use)) {
            // Work in flight keeps the old memory.
            const vulkan::allocation fresh =
                runtime_.memory().allocate(static_cast<std::uint64_t>(s.bytes),
                                           vulkan::memory_usage::device, s.label);
            runtime_.memory().free(s.piece, s.last_use);
            s.piece = fresh;
            s.written = s.last_use = 0;
        }
        if (s.piece.mapped) {
            lane_.wait(s.last_use, lock_);
            s.host.reset();
            std::memcpy(static_cast<std::byte*>(s.piece.mapped) + begin, bytes.data(),
                        bytes.size());
            runtime_.memory().flush(s.piece, static_cast<std::uint64_t>(begin),
                                    static_cast<std::uint64_t>(size));
            return;
        }
        if (!s.host) {
            auto copy = make_owned<host_memory>(s.bytes);
            if (!whole) fetch(s, 0, s.bytes, copy->data());
            s.host = std::move(copy);
        }
        std::memcpy(s.host->data() + begin, bytes.data(), bytes.size());
        s.on_device = false;
    }

    /// Where the host sees the values; null where that memory may not be shown.
    std::byte* show(const node& n, bool writable) {
        vulkan_storage& s = storage_of(n);
        if (s.borrowed()) return nullptr;  // the user may write it at any time
        bring(s);
        if (writable) is_written(s);
        return s.host->data() + byte_offset(n.type, n.offset);
    }

    /// A copy on the host of all that a storage holds on the device.
    unique_ptr<host_memory> fetched(vulkan_storage& s) {
        auto copy = make_owned<host_memory>(s.bytes);
        fetch(s, 0, s.bytes, copy->data());
        return copy;
    }
    /// Gives the storage a copy on the host if it has none.
    void bring(vulkan_storage& s) {
        if (s.host) return;
        unique_ptr<host_memory> copy = fetched(s);
        if (!s.host) s.host = std::move(copy);  // else another thread looks at what it fetched
    }
    /// The copy on the host is written: the next use on the device uploads it, into memory that
    /// nothing in flight reads, or into the user's, behind what is in flight.
    void is_written(vulkan_storage& s) {
        if (!s.on_device) return;
        if (!s.borrowed() && !runtime_.queue().reached(s.last_use)) {
            runtime_.memory().free(s.piece, s.last_use);
            s.piece = {};
        }
        s.on_device = false;
    }

private:
    /// Whether the host reads the bytes where the device wrote them.
    bool reads_in_place(const vulkan_storage& s, std::int64_t bytes) const {
        return s.piece.mapped &&
               (lane_.device().unified_memory || (s.host_sees && bytes <= most_read_in_place));
    }

    /// Copies bytes of a tensor's device memory to the host, once they are written.
    void fetch(vulkan_storage& s, std::int64_t begin, std::int64_t size, std::byte* out) {
        if (s.borrowed() && !s.piece.buffer)
            fail(errc::unsupported, "from_dlpack",
                 {"only kernels of the device read by its addresses, and a policy of the context "
                  "or a missing kernel leaves the copy to the host; take another context"});
        vulkan::memory& memory = runtime_.memory();
        if (!s.was_read) {
            ++lane_.counted.downloads;
            lane_.counted.downloaded_bytes += static_cast<std::uint64_t>(size);
        }
        if (reads_in_place(s, size)) {
            s.was_read = true;  // what is read again where it lies is no second download
            lane_.wait(s.written, lock_);
            memory.invalidate(s.piece, static_cast<std::uint64_t>(begin),
                              static_cast<std::uint64_t>(size));
            std::memcpy(out, static_cast<const std::byte*>(s.piece.mapped) + begin,
                        static_cast<std::size_t>(size));
            return;
        }
        temporary_memory temp{memory, {}, 0};
        const vulkan::allocation staging =
            temp.get(static_cast<std::uint64_t>(size), vulkan::memory_usage::download);
        vulkan::commands buffer = runtime_.commands().take();
        buffer.begin();
        buffer.barrier(any_access, any_access);
        record_copy(buffer, s.piece, staging,
                    {static_cast<std::uint64_t>(begin), 0, static_cast<std::uint64_t>(size)},
                    lane_.times(1, [&](auto) { return vulkan_profiler::timed{"download", size}; }));
        buffer.barrier(vulkan::scope::transfer, vulkan::scope::host);
        buffer.end();
        temp.value = s.last_use = lane_.submit_once(std::move(buffer));
        lane_.all_is_seen();
        lane_.wait(temp.value, lock_);
        memory.invalidate(staging, 0, static_cast<std::uint64_t>(size));
        std::memcpy(out, staging.mapped, static_cast<std::size_t>(size));
    }

    vulkan_lane& lane_;
    vulkan_runtime& runtime_;
    vulkan_lane::lock_type& lock_;
};

}}  // namespace pumice::PUMICE_ABI
