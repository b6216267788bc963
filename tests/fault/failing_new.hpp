// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Replaces every operator new of the program by one that fails when it is told to. Included by one
// file. Where the C++ library is linked statically, drivers and Slang keep the one of their own.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace test {

/// Fails the n-th operator new of all threads from `arm` on, or that and all later ones.
struct failing_new {
    static inline std::atomic<long> calls{0}, live{0};
    static inline std::atomic<long> at{0};
    static inline std::atomic<bool> forever{false}, fired{false};
    static inline thread_local int quiet = 0;  // over 0: this thread's calls do not count

    static void arm(long n, bool and_later = false) noexcept {
        calls = 0;
        fired = false;
        forever = and_later;
        at = n;
    }
    static void disarm() noexcept { at = 0; }

    static void* get(std::size_t size, std::size_t alignment = 0) noexcept {
        if (quiet == 0) {
            const long n = ++calls, wanted = at;
            if (wanted > 0 && (n == wanted || (forever && n > wanted))) {
                fired = true;
                return nullptr;
            }
        }
        if (size == 0) size = 1;
        void* const p =
            alignment
                ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                : std::malloc(size);
        if (p) ++live;
        return p;
    }
    static void give(void* p) noexcept {
        if (p) --live;
        std::free(p);
    }
};

/// What the test itself does in its scope is spared.
struct spared {
    spared() noexcept { ++failing_new::quiet; }
    spared(const spared&) = delete;
    ~spared() { --failing_new::quiet; }
};

}  // namespace test

void* operator new(std::size_t size) {
    if (void* const p = test::failing_new::get(size)) return p;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return ::operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return test::failing_new::get(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return test::failing_new::get(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    if (void* const p = test::failing_new::get(size, static_cast<std::size_t>(alignment))) return p;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return ::operator new(size, alignment);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return test::failing_new::get(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return test::failing_new::get(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { test::failing_new::give(p); }
void operator delete[](void* p) noexcept { test::failing_new::give(p); }
void operator delete(void* p, std::size_t) noexcept { test::failing_new::give(p); }
void operator delete[](void* p, std::size_t) noexcept { test::failing_new::give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { test::failing_new::give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { test::failing_new::give(p); }
void operator delete(void* p, std::align_val_t) noexcept { test::failing_new::give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { test::failing_new::give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
    test::failing_new::give(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
    test::failing_new::give(p);
}
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    test::failing_new::give(p);
}
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    test::failing_new::give(p);
}
