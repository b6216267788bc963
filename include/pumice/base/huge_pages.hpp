// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Memory of the process, on huge pages where it is large: the first touch of 2 MiB costs one fault
// instead of 512, and random reads miss the TLB less (Linux asks programs to say so by madvise).
#pragma once

#include <pumice/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

inline constexpr std::size_t huge_page = 2 << 20;
inline constexpr std::size_t least_on_huge_pages = 2 * huge_page;

/// Bytes for ::operator delete, or null where there are none. Only whole pages within a block
/// become huge, so none takes more memory than was asked for.
inline void* new_block(std::size_t size) noexcept {
    void* const block = ::operator new(size, std::nothrow);
#if defined(MADV_HUGEPAGE)
    if (block && size >= least_on_huge_pages) {
        const auto begin = reinterpret_cast<std::uintptr_t>(block);
        const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
        const std::uintptr_t end = (begin + size) / huge_page * huge_page;
        static_cast<void>(::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
    }
#endif
    return block;
}

}}}  // namespace pumice::PUMICE_ABI::detail
