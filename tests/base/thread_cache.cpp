// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/thread_cache.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace pumice;
using detail::thread_cache;

TEST_CASE("what lives at one time never shares memory, in whatever order it goes") {
    struct held {
        unsigned char* data;
        std::size_t size;
        unsigned char sign;
    };
    std::vector<held> all;
    unsigned seed = 1;
    const auto random = [&] { return seed = seed * 1664525u + 1013904223u, seed >> 8; };
    for (int i = 0; i < 20000; ++i) {
        if (all.size() < 4 || (all.size() < 40 && random() % 2)) {
            const std::size_t sizes[] = {
                1, 64, 320, 4096, thread_cache::largest, thread_cache::largest + 1};
            const std::size_t size = sizes[random() % 6];
            auto* p = static_cast<unsigned char*>(thread_cache::take(size));
            REQUIRE(p != nullptr);
            const auto sign = static_cast<unsigned char>(i);
            std::memset(p, sign, size);
            all.push_back({p, size, sign});
        } else {
            const std::size_t which = random() % all.size();
            const held h = all[which];
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
            REQUIRE(h.data[0] == h.sign);
            REQUIRE(h.data[h.size - 1] == h.sign);
            thread_cache::give(h.data, h.size);
        }
    }
    for (const held& h : all) thread_cache::give(h.data, h.size);
}

TEST_CASE("a block may end on another thread, and a thread with blocks of its own may end") {
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(thread_cache::take(200));
    int got = 0;
    const auto come_and_go = [&] {
        for (int i = 0; i < 100; ++i) {
            void* const p = thread_cache::take(200);
            got += p != nullptr;
            thread_cache::give(p, 200);
        }
    };
    std::thread other([&] {
        for (void* p : blocks) thread_cache::give(p, 200);
        come_and_go();
    });
    other.join();
    come_and_go();
    CHECK(got == 200);
}

TEST_CASE("the allocator makes and ends objects") {
    const auto p = std::allocate_shared<long>(detail::thread_cache_allocator<long>(), 7);
    CHECK(*p == 7);
}

TEST_CASE("a room is its holder's until it goes, also a large one") {
    for (const std::size_t size : {std::size_t{0}, std::size_t{2048}, 2 * thread_cache::largest}) {
        const detail::thread_room first(size), second(size);
        std::memset(first.data(), 1, size);
        std::memset(second.data(), 2, size);
        CHECK(first.data() != second.data());
        if (size > 0) CHECK(static_cast<const char*>(first.data())[size - 1] == 1);
    }
}

namespace {
/// Goes after the main thread's blocks were given back.
struct late {
    void* data = nullptr;
    ~late() { thread_cache::give(data, 100); }
} at_the_end;
}  // namespace

TEST_CASE("a block may end after its thread's other blocks") {
    at_the_end.data = thread_cache::take(100);
    CHECK(at_the_end.data != nullptr);
}

TEST_CASE("a thread gives back what it keeps") {
    std::thread([] {
        CHECK(thread_cache::trim() == 0);
        void* const a = thread_cache::take(64);
        void* const b = thread_cache::take(320);
        thread_cache::give(a, 64);
        thread_cache::give(b, 320);
        const std::size_t kept = thread_cache::trim();
        CHECK((kept == 384 || kept == 0));  // address sanitizer keeps nothing
        CHECK(thread_cache::trim() == 0);
    }).join();
}
