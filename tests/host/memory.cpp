// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host's memory: aligned, zeroed when asked, large blocks kept within a bound.
#include <pumice/host/memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using namespace pumice;

TEST_CASE(
    "a large block is used again by the next tensor of about its size, a small one is not kept") {
    const auto pool = std::make_shared<host_pool>();
    const std::int64_t large = 1 << 20;
    std::byte* first = nullptr;
    {
        const host_memory m(large, pool);
        first = m.data();
        CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
        const host_memory other(large, pool);
        CHECK(other.data() != first);
    }
    const host_memory again(large - large / 8, pool), more(large, pool);
    CHECK((again.data() == first || more.data() == first));
    CHECK(again.size() == large - large / 8);
    const host_memory far_smaller(large / 2, pool);
    CHECK(far_smaller.data() != first);
}

TEST_CASE("memory that is used again is filled as it is asked for") {
    const auto pool = std::make_shared<host_pool>();
    const std::int64_t n = host_pool::least;
    for (int i = 0; i < 3; ++i) {
        host_memory m(n, pool);
        m.fill(nullptr);
        CHECK((m.data()[0] == std::byte(0) && m.data()[n - 1] == std::byte(0)));
        const std::vector<std::byte> ones(std::size_t(n), std::byte(1));
        m.fill(ones.data());
        CHECK((m.data()[0] == std::byte(1) && m.data()[n - 1] == std::byte(1)));
    }
}

TEST_CASE("no more is kept than the bound, and a block too large for it is let go") {
    host_pool pool;
    const host_pool::block a = pool.take(host_pool::most_kept + 64);
    REQUIRE(a.data);
    pool.give(a);
    std::vector<host_pool::block> many;
    for (int i = 0; i < 40; ++i) many.push_back(pool.take(host_pool::least + i * (64 << 10)));
    for (const host_pool::block& b : many) pool.give(b);
    int kept = 0;
    for (int i = 0; i < 40; ++i) {
        const host_pool::block b = pool.take(many[std::size_t(i)].size);
        for (const host_pool::block& m : many) kept += m.data == b.data;
        ::operator delete(b.data);
    }
    CHECK(kept > 0);
}

TEST_CASE("what was kept longest makes room for what is let go, so that sizes may change") {
    host_pool pool;
    const std::int64_t large = host_pool::most_kept / 4;
    std::vector<host_pool::block> old;
    for (int i = 0; i < 4; ++i) old.push_back(pool.take(large));
    for (const host_pool::block& b : old) pool.give(b);
    const host_pool::block fresh = pool.take(2 * large);
    pool.give(fresh);
    CHECK(pool.held().pooled == static_cast<std::uint64_t>(host_pool::most_kept));
    const host_pool::block same = pool.take(2 * large), a = pool.take(large), b = pool.take(large);
    CHECK(same.data == fresh.data);
    CHECK(((a.data == old[2].data && b.data == old[3].data) ||
           (a.data == old[3].data && b.data == old[2].data)));
    CHECK(pool.held().pooled == 0);
    for (const host_pool::block& x : {same, a, b}) pool.give(x);
    CHECK(pool.trim() == static_cast<std::uint64_t>(host_pool::most_kept));
    for (int i = 0; i < 40; ++i) old.push_back(pool.take(host_pool::least));
    for (std::size_t i = 4; i < old.size(); ++i) pool.give(old[i]);
    CHECK(pool.held().pooled == std::uint64_t{16} * host_pool::least);  // so many at most
}

TEST_CASE("threads may share a pool") {
    const auto pool = std::make_shared<host_pool>();
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                const host_memory m(host_pool::least * (1 + (i + t) % 5), pool);
                m.data()[0] = m.data()[m.size() - 1] = std::byte(t);
                std::this_thread::yield();
                wrong += m.data()[0] != std::byte(t) || m.data()[m.size() - 1] != std::byte(t);
            }
        });
    threads.clear();
    CHECK(wrong == 0);
}

TEST_CASE("a small storage is one block with its memory, a large one uses the pool") {
    const auto pool = std::make_shared<host_pool>();
    for (const std::int64_t bytes : {std::int64_t(0), std::int64_t(1), std::int64_t(63),
                                     std::int64_t(4096), host_pool::least, 3 * host_pool::least}) {
        std::shared_ptr<storage> kept;
        {
            const std::shared_ptr<host_storage> s = host_storage::make(bytes, pool, {});
            CHECK(reinterpret_cast<std::uintptr_t>(s->memory.data()) % 64 == 0);
            CHECK(s->memory.size() == bytes);
            const std::vector<std::byte> ones(std::size_t(bytes), std::byte(1));
            s->memory.fill(ones.data());
            kept = s;
        }
        const host_memory& m = static_cast<const host_storage&>(*kept).memory;
        CHECK(std::count(m.data(), m.data() + bytes, std::byte(1)) == bytes);
    }
}

TEST_CASE("the pool knows who holds its blocks, gives back what it keeps, and tells who has most") {
    const auto pool = std::make_shared<host_pool>();
    const std::int64_t room = 3 << 20;
    auto weights =
        std::make_unique<host_memory>(room, pool, memory_label{memory_role::weights, "embedding"});
    {
        const host_memory result(room / 2, pool, {memory_role::outputs, {}});
        CHECK(pool->held()[memory_role::outputs] >= std::uint64_t(room / 2));
        CHECK(pool->held()[memory_role::weights] >= std::uint64_t(room));
        const host_memory small(100, pool, {memory_role::inputs, {}});
        CHECK(pool->held()[memory_role::inputs] == 0);  // which is the C++ library's
    }
    CHECK(pool->held()[memory_role::outputs] == 0);
    CHECK(pool->held().pooled >= std::uint64_t(room / 2));
    try {
        const host_memory endless(std::int64_t{1} << 60, pool, {memory_role::outputs, "matmul"});
        FAIL("there was so much");
    } catch (const error& e) {
        CHECK(e.code() == errc::out_of_memory);
        const std::string text = e.what();
        CHECK(text.find("for outputs \"matmul\"") != std::string::npos);
        CHECK(text.find("held by weights \"embedding\"") != std::string::npos);
    }
    const std::uint64_t kept = pool->held().pooled;
    CHECK(pool->trim() == kept);
    CHECK(pool->trim() == 0);
    weights.reset();
    CHECK(pool->held()[memory_role::weights] == 0);
    CHECK(pool->trim() >= std::uint64_t(room));
    // A number of a holder that has gone is the next one's.
    for (int i = 0; i < 5; ++i) {
        const host_memory m(room, pool, {memory_role(i % 2), "again"});
        CHECK(pool->held()[memory_role(i % 2)] >= std::uint64_t(room));
        CHECK(pool->held()[memory_role(1 - i % 2)] == 0);
    }
}
