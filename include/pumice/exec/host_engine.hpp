// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host device: the same graphs, fused the same way, by native loops. No Vulkan.
#pragma once

#include <pumice/exec/graph_engine.hpp>

#include <mutex>
#include <new>

namespace pumice::inline PUMICE_ABI {

/// Memory aligned to 64 bytes. Throws errc::out_of_memory.
class host_memory {
public:
    explicit host_memory(std::int64_t bytes)
        : size_(bytes), data_(static_cast<std::byte*>(::operator new(
                            static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)),
                            std::align_val_t(64), std::nothrow))) {
        if (!data_) fail(errc::out_of_memory, "host", {"the host has no ", bytes, " bytes"});
    }
    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;
    ~host_memory() { ::operator delete(data_, std::align_val_t(64)); }
    std::byte* data() const noexcept { return data_; }
    /// Copies as many bytes from `from`, or takes zeros where it is null.
    void fill(const void* from) noexcept {
        const auto n = static_cast<std::size_t>(size_);
        from ? std::memcpy(data_, from, n) : std::memset(data_, 0, n);
    }
    std::int64_t size() const noexcept { return size_; }

private:
    std::int64_t size_;
    std::byte* data_;
};

class host_storage final : public storage {
public:
    explicit host_storage(std::int64_t bytes) : memory(bytes) {}
    host_memory memory;
};

/// Copies strided elements to row-major order.
inline void gather(dtype type, const shape& extent, const std::byte* from, std::int64_t offset,
                   const strides& steps, void* to) {
    if (is_row_major(extent, steps)) {
        std::memcpy(to, from + byte_count(type, offset),
                    static_cast<std::size_t>(byte_count(type, element_count(extent))));
        return;
    }
    const int bits = info(type).bits;
    auto* out = static_cast<std::byte*>(to);
    const int inner = extent.rank() - 1;
    for_each_row(extent, [&](const index_list& row) {
        std::int64_t at = offset;
        for (int i = 0; i < row.rank(); ++i) at += row[i] * steps[i];
        detail::copy_elements(bits, from + at * (bits / 8), steps[inner], out, 1, extent[inner]);
        out += extent[inner] * (bits / 8);
    });
}

class host_engine final : public graph_engine {
public:
    host_engine(policy_set&& policies, std::string&& report)
        : graph_engine(std::move(policies)), report_(std::move(report)) {
        info_.name = "host";
        info_.type = device_type::host;
        info_.driver = "native C++";
        info_.float64_arithmetic = info_.int64_arithmetic = info_.float16_arithmetic = true;
        info_.int8_arithmetic = info_.int16_arithmetic = info_.storage8 = info_.storage16 = true;
        info_.max_workgroup_count = {1 << 30, 1 << 16, 1 << 16};
        info_.shared_memory = 1 << 20;
    }

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        auto held = std::make_shared<host_storage>(byte_count(type, element_count(extent)));
        held->memory.fill(data);
        return make_data(type, extent, std::move(held), shared_from_this());
    }

    void read(const node_ptr& n, void* out) override {
        const std::lock_guard lock(mutex_);
        evaluate(std::span(&n, 1));
        if (n->count() > 0) gather(n->type, n->extent, bytes_of(*n), n->offset, n->layout, out);
    }

    void write(const node_ptr& n, std::int64_t begin, std::span<const std::byte> bytes) override {
        const std::lock_guard lock(mutex_);
        std::memcpy(bytes_of(*n) + byte_count(n->type, n->offset) + begin, bytes.data(),
                    bytes.size());
    }

    std::byte* host(const node_ptr& n, bool) override {
        return bytes_of(*n) + byte_count(n->type, n->offset);
    }

    statistics stats() const override {
        const std::lock_guard lock(mutex_);
        return stats_;
    }
    const device_info& device() const override { return info_; }
    std::string device_report() const override { return report_; }

private:
    static std::byte* bytes_of(const node& n) {
        must_hold_values(n);
        return static_cast<host_storage*>(n.data.get())->memory.data();
    }

    std::shared_ptr<kernel_record> record_of(const step& s) const override {
        auto record = std::make_shared<kernel_record>();
        record->kernel = cat({"host/", family_of(s.what)});
        record->fused = fused_name(s.what);
        return record;
    }

    void execute(evaluation& e, std::vector<std::shared_ptr<storage>>& made,
                 const std::stop_token& stop) override {
        std::unordered_map<const node*, std::byte*> fresh;
        for (std::size_t i = 0; i < e.stored.size(); ++i) {
            auto s =
                std::make_shared<host_storage>(byte_count(e.stored[i]->type, e.stored[i]->count()));
            fresh[e.stored[i]] = s->memory.data();
            made[i] = std::move(s);
        }
        for (step& s : e.steps) {
            host_buffers buffers;
            std::int64_t touched = 0;
            for (node* n : s.buffers) {
                const auto f = fresh.find(n);
                buffers.memory.push_back(f != fresh.end() ? f->second : bytes_of(*n));
                touched += byte_count(n->type, n->count());
            }
            s.record = record_of(s);
            const std::string name = profiling_ ? profile_name(*s.record) : "";
            const profile_scope running(profiling_.get(), name, profile_recorder::device, touched);
            if (stop.stop_requested()) throw_cancelled();
            solve_on_host(s.what, buffers);
            ++stats_.dispatches;
        }
        ++stats_.evals;
    }

    device_info info_;
    std::string report_;
    statistics stats_;
};

}  // namespace pumice::inline PUMICE_ABI
