// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory that a program places by itself (tensor/memory.hpp), by the library's engines.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/make_engine.hpp>
#include <pumice/exec/null_engine.hpp>
#include <pumice/tensor/memory.hpp>
#include <pumice/vk/external_memory.hpp>

#include <atomic>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline constexpr std::int64_t placed_alignment = 16;  // of what kernels read from
[[noreturn]] inline void refuse_begin(std::int64_t begin) {
    fail(errc::invalid_argument, "memory",
         {"a tensor that begins ", begin, " bytes into memory: kernels read from multiples of ",
          placed_alignment, " bytes of addresses; move the data, or pad what lies before"});
}
[[noreturn]] inline void refuse_memory(const placed_request& wanted, const device_info& device,
                                       std::string_view why) {
    fail(errc::unsupported, "memory",
         {"no memory of kind ", to_string(wanted.kind), " on ", device.name, ": ", why});
}

class vulkan_placed final : public placed_memory {
public:
    vulkan_placed(std::shared_ptr<vulkan_engine> home, const placed_request& wanted)
        : home_(std::move(home)) {
        const device_info& info = home_->device();
        vulkan::external_request r;
        r.size = static_cast<std::uint64_t>(std::max<std::int64_t>(wanted.bytes, 1));
        r.heap = wanted.heap;
        r.pages = wanted.pages;
        switch (wanted.kind) {
            case memory_kind::host_import: r.kind = vulkan::external_kind::host_pages; break;
            case memory_kind::fd:
                r.kind = wanted.dma_buf ? vulkan::external_kind::dma_buf
                                        : vulkan::external_kind::opaque_fd;
                break;
            default: r.kind = vulkan::external_kind::own;
        }
        if (wanted.kind == memory_kind::fd && wanted.fd >= 0) {
            if (!vulkan::may_be_memory(wanted.fd))
                refuse_memory(wanted, info, "the descriptor is not open, or none of memory");
            r.fd = vulkan::copy_of_descriptor(wanted.fd);
            if (r.fd < 0) refuse_memory(wanted, info, "the descriptor cannot be copied");
        }
        std::string why;
        memory_ = vulkan::external_memory::open(device(), r, why);
        if (memory_) return;
        refuse_memory(wanted, info, why);
    }
    ~vulkan_placed() override {
        if (home_->runtime().device().left_behind()) {
            static_cast<void>(memory_.release());  // with all that is the driver's
            return;
        }
        try {
            if (last_ > 0) home_->wait_for(last_);
        } catch (...) {  // a lost device has finished with it
        }
    }

    any_tensor tensor(dtype type, const shape& extent, std::int64_t begin) override {
        vulkan::allocation piece = memory_->piece();
        piece.offset += static_cast<std::uint64_t>(begin);
        piece.device_address += static_cast<std::uint64_t>(begin);
        piece.size = static_cast<std::uint64_t>(byte_count(type, element_count(extent)));
        if (piece.mapped) piece.mapped = static_cast<std::byte*>(piece.mapped) + begin;
        // Host and device see each other by `sync`; the pool's way of it asks for its own blocks.
        piece.coherent = true;
        if (piece.device_address % placed_alignment != 0) refuse_begin(begin);
        return any_tensor(home_->borrow(type, extent, piece));
    }
    void used(const any_tensor& t) noexcept override {
        const std::uint64_t value =
            static_cast<const vulkan_storage*>(t.get()->data.get())->last_use;
        std::uint64_t last = last_.load(std::memory_order_relaxed);
        while (last < value && !last_.compare_exchange_weak(last, value)) {
        }
    }
    bool shown(const any_tensor& t) const noexcept override {
        return static_cast<const vulkan_storage*>(t.get()->data.get())->host_sees;
    }
    std::byte* mapped() const noexcept override {
        return static_cast<std::byte*>(memory_->piece().mapped);
    }
    int export_fd() const override {
        std::string why;
        const int fd = memory_->export_fd(why);
        if (fd < 0) fail(errc::unsupported, "memory", {"it cannot be exported: ", why});
        return fd;
    }
    std::int64_t allocated() const noexcept override {
        return static_cast<std::int64_t>(memory_->allocated());
    }
    void sync(sync_direction to, std::int64_t begin, std::int64_t bytes, bool shown) override {
        if (!mapped()) return;
        const auto from = memory_->piece().offset + static_cast<std::uint64_t>(begin);
        const auto size = static_cast<std::uint64_t>(bytes);
        if (to == sync_direction::to_device) return memory_->flush(from, size);
        if (!shown && !home_->device().unified_memory) {  // where every submit shows its writes
            vulkan_runtime& runtime = home_->runtime();
            vulkan::commands buffer = runtime.commands().take();
            buffer.begin();
            buffer.barrier(any_access, vulkan::scope::host);
            buffer.end();
            const std::uint64_t value = runtime.submitter().submit(buffer.handle(), {});
            runtime.commands().give(std::move(buffer), value);
            runtime.queue().wait(value);
        }
        memory_->invalidate(from, size);
    }
    bool coherent() const noexcept override {
        return !mapped() || (memory_->piece().coherent && home_->device().unified_memory);
    }

private:
    std::shared_ptr<const vulkan::device> device() const {
        return home_->runtime().queue().device();
    }

    std::shared_ptr<vulkan_engine> home_;
    unique_ptr<vulkan::external_memory> memory_;
    std::atomic<std::uint64_t> last_{0};
};

/// What the host device reads and writes is all the host's: its own memory, the caller's, or that
/// of a file in memory.
class host_placed final : public placed_memory {
public:
    host_placed(std::shared_ptr<engine> home, const placed_request& wanted)
        : home_(std::move(home)), size_(std::max<std::int64_t>(wanted.bytes, 1)) {
        switch (wanted.kind) {
            case memory_kind::host_import:
                if (!wanted.pages)
                    refuse_memory(wanted, home_->device(), "there is nothing to import");
                data_ = static_cast<std::byte*>(wanted.pages);
                break;
            case memory_kind::fd: map(wanted); break;
            default:
                own_ = make_owned<host_memory>(size_);
                own_->fill(nullptr);
                data_ = own_->data();
        }
    }
    ~host_placed() override {
#if defined(__linux__)
        if (fd_ >= 0) {
            ::munmap(data_, static_cast<std::size_t>(size_));
            ::close(fd_);
        }
#endif
    }

    any_tensor tensor(dtype type, const shape& extent, std::int64_t begin) override {
        std::byte* const first = data_ + begin;
        if (reinterpret_cast<std::uintptr_t>(first) % placed_alignment != 0) refuse_begin(begin);
        return any_tensor(
            make_data(type, extent,
                      std::make_shared<host_storage>(byte_count(type, element_count(extent)),
                                                     host_memory::as_they_lie{first}),
                      home_));
    }
    std::byte* mapped() const noexcept override { return data_; }
    int export_fd() const override {
        const int fd = fd_ < 0 ? -1 : vulkan::copy_of_descriptor(fd_);
        if (fd < 0)
            fail(errc::unsupported, "memory",
                 {"it cannot be exported: it was not made as memory of a file descriptor"});
        return fd;
    }
    std::int64_t allocated() const noexcept override { return size_; }
    void sync(sync_direction, std::int64_t, std::int64_t, bool) override {}

private:
    void map(const placed_request& wanted) {
#if defined(__linux__)
        const auto length = static_cast<std::size_t>(size_);
        fd_ = wanted.fd >= 0 ? vulkan::copy_of_descriptor(wanted.fd)
                             : ::memfd_create("pumice", MFD_CLOEXEC);
        struct closed {
            int& fd;
            bool keep = false;
            ~closed() {
                if (keep || fd < 0) return;
                ::close(fd);
                fd = -1;
            }
        } guard{fd_};
        if (wanted.dma_buf) refuse_memory(wanted, home_->device(), "it has no dma-buf");
        if (fd_ < 0)
            refuse_memory(wanted, home_->device(),
                          wanted.fd < 0 ? "the process may open no more descriptors"
                                        : "the descriptor is not open, or cannot be copied");
        struct stat file{};
        if (wanted.fd < 0 ? ::ftruncate(fd_, size_) != 0
                          : ::fstat(fd_, &file) != 0 || !S_ISREG(file.st_mode))
            refuse_memory(wanted, home_->device(), "the descriptor is none of a file in memory");
        if (wanted.fd >= 0 && file.st_size < size_)
            refuse_memory(wanted, home_->device(), "the file is too small");
        void* const at = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (at == MAP_FAILED) refuse_memory(wanted, home_->device(), "it cannot be mapped");
        data_ = static_cast<std::byte*>(at);
        guard.keep = true;
#else
        refuse_memory(wanted, home_->device(), "only Linux has memory of file descriptors");
#endif
    }

    std::shared_ptr<engine> home_;
    std::int64_t size_;
    unique_ptr<host_memory> own_;
    std::byte* data_ = nullptr;
    int fd_ = -1;
};

/// Of an engine that keeps no values.
class null_placed final : public placed_memory {
public:
    explicit null_placed(std::shared_ptr<engine> home) : home_(std::move(home)) {}
    any_tensor tensor(dtype type, const shape& extent, std::int64_t) override {
        return any_tensor(home_->create(type, extent, nullptr));
    }
    std::byte* mapped() const noexcept override { return nullptr; }
    int export_fd() const override {
        fail(errc::unsupported, "memory", {home_->device().name, " exports no memory"});
    }
    std::int64_t allocated() const noexcept override { return 0; }
    void sync(sync_direction, std::int64_t, std::int64_t, bool) override {}
    bool holds_values() const noexcept override { return false; }

private:
    std::shared_ptr<engine> home_;
};

}  // namespace detail

template <int>
std::shared_ptr<placed_memory> place_memory(const std::shared_ptr<engine>& home,
                                            const placed_request& wanted) {
    if (wanted.kind == memory_kind::host || wanted.bytes < 0)
        fail(errc::invalid_argument, "memory",
             {wanted.bytes, " bytes of kind ", to_string(wanted.kind), " are not placed"});
    if (auto device = std::dynamic_pointer_cast<vulkan_engine>(home))
        return std::make_shared<detail::vulkan_placed>(std::move(device), wanted);
    if (std::dynamic_pointer_cast<host_engine>(home))
        return std::make_shared<detail::host_placed>(home, wanted);
    if (wanted.kind == memory_kind::device && std::dynamic_pointer_cast<null_engine>(home))
        return std::make_shared<detail::null_placed>(home);
    detail::refuse_memory(wanted, home->device(),
                          "the context is neither of one Vulkan device nor of the host");
}

}}  // namespace pumice::PUMICE_ABI
