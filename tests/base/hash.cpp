// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/hash.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace pumice;

// Pinned: names of generated modules and entries of caches on disk hold these.
static_assert(hasher{}.value() == hasher{}.value());
static_assert(hash_of("") != hash_of(std::string_view("\0", 1)));

TEST_CASE("the value is that of FNV-1a with MurmurHash3's finaliser") {
    const auto reference = [](std::string_view text) {
        std::uint64_t h = 14695981039346656037ULL;
        const auto eat = [&](unsigned char c) { h = (h ^ c) * 1099511628211ULL; };
        for (char c : text) eat(static_cast<unsigned char>(c));
        for (std::size_t n = text.size(), i = 0; i < 8; ++i, n >>= 8)
            eat(static_cast<unsigned char>(n & 255));
        h ^= h >> 33;
        h *= 18397679294719823053ULL;
        h ^= h >> 33;
        h *= 14181476777654086739ULL;
        return h ^ (h >> 33);
    };
    for (const char* text : {"", "a", "relu", "x < T(0) ? T(0) : x", "\xff\x80"})
        CHECK(hash_of(text) == reference(text));
}

TEST_CASE("pieces do not run into each other") {
    CHECK(hasher{}.add("ab").add("c").value() != hasher{}.add("a").add("bc").value());
    CHECK(hasher{}.add("a").add("").value() != hasher{}.add("a").value());
    CHECK(hasher{}.add(std::uint64_t{1}).add(std::uint64_t{2}).value() !=
          hasher{}.add(std::uint64_t{2}).add(std::uint64_t{1}).value());
}

TEST_CASE("ten thousand neighbours do not collide, nor do their upper and lower halves often") {
    std::set<std::uint64_t> all;
    std::set<std::uint32_t> low, high;
    for (std::uint64_t i = 0; i < 10000; ++i) {
        const std::uint64_t h = hasher{}.add(i).value();
        all.insert(h);
        low.insert(static_cast<std::uint32_t>(h));
        high.insert(static_cast<std::uint32_t>(h >> 32));
    }
    CHECK(all.size() == 10000);
    CHECK(low.size() > 9990);
    CHECK(high.size() > 9990);
}
