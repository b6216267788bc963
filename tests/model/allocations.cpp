// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t count = 0;

void* take(std::size_t size, std::size_t alignment) {
    ++count;
    const std::size_t bytes = (size + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, bytes ? bytes : alignment);
}
void* must(void* p) {
    if (!p) throw std::bad_alloc();
    return p;
}
constexpr std::size_t usual = alignof(std::max_align_t);
}  // namespace

std::uint64_t test::allocations() noexcept { return count; }

void* operator new(std::size_t n) { return must(take(n, usual)); }
void* operator new[](std::size_t n) { return must(take(n, usual)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, usual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, usual); }
void* operator new(std::size_t n, std::align_val_t a) { return must(take(n, std::size_t(a))); }
void* operator new[](std::size_t n, std::align_val_t a) { return must(take(n, std::size_t(a))); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return take(n, std::size_t(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return take(n, std::size_t(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
