// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A file's bytes where the system maps them: pages come as they are read, and go when the system
// wants them.
#pragma once

#include <pumice/model/input_file.hpp>

#ifndef _WIN32
#include <sys/mman.h>
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// What is written to the bytes stays in this process. Whoever cuts the file meanwhile ends the
/// process that reads behind the end (SIGBUS), so a file that others may change is read instead.
/// Where the system maps no files, they are read.
class mapped_file {
public:
    /// Throws errc::io_failed.
    explicit mapped_file(const input_file& file) : size_(static_cast<std::size_t>(file.size())) {
        if (size_ == 0) return;
#ifdef _WIN32
        read_ = std::make_unique<std::byte[]>(size_ + alignment);
        data_ =
            read_.get() + (alignment - reinterpret_cast<std::uintptr_t>(read_.get()) % alignment);
        file.read(0, {data_, size_});
#else
        void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                                file.descriptor(), 0);
        if (at == MAP_FAILED) detail::throw_io(file.path(), detail::last_io_error());
        data_ = static_cast<std::byte*>(at);
#endif
    }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;
    ~mapped_file() {
#ifndef _WIN32
        if (data_) ::munmap(data_, size_);
#endif
    }

    /// Aligned to 64 bytes at least.
    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::size_t size_;
    std::byte* data_ = nullptr;
#ifdef _WIN32
    static constexpr std::size_t alignment = 64;
    std::unique_ptr<std::byte[]> read_;
#endif
};

}}  // namespace pumice::PUMICE_ABI
