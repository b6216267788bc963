// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The cases that all rivals run on the host, by name and size, and how each is timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace bench {

/// Keeps the compiler from leaving the work out.
inline void use(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

/// The nanoseconds of a call in the quickest of 15 of some milliseconds: noise only adds.
template <class F>
double nanoseconds(F&& call) {
    using clock = std::chrono::steady_clock;
    const auto spent = [&](std::int64_t calls) {
        const auto start = clock::now();
        for (std::int64_t i = 0; i < calls; ++i) call();
        return std::chrono::duration<double, std::nano>(clock::now() - start).count();
    };
    std::int64_t calls = 1;
    while (calls < 100000 && spent(calls) < 2e6) calls *= 2;
    std::vector<double> rounds;
    for (int i = 0; i < 15; ++i) rounds.push_back(spent(calls) / static_cast<double>(calls));
    std::sort(rounds.begin(), rounds.end());
    return rounds[0];
}

/// A case in the element type T. `only`: part of its name and type.
template <class T, class F>
void report(const char* rival, const char* name, std::int64_t size, const char* only, F&& call) {
    char whole[64];
    std::snprintf(whole, sizeof whole, "%s %s", name, sizeof(T) == 4 ? "f32" : "f64");
    if (!std::strstr(whole, only)) return;
    std::printf("%-8s %-16s %9lld %14.0f ns\n", rival, whole, static_cast<long long>(size),
                nanoseconds(call));
    std::fflush(stdout);
}

inline constexpr std::int64_t sizes[] = {10, 100, 1000, 10000, 100000, 1000000, 10000000};

/// Rows of a matrix of so many elements: up to 1000 columns.
inline std::int64_t rows_of(std::int64_t size) { return std::max<std::int64_t>(1, size / 1000); }

/// Numbers in [-1, 1), the same for every rival.
template <class T = float>
std::vector<T> numbers(std::int64_t n, std::uint32_t seed) {
    std::vector<T> v(static_cast<std::size_t>(n));
    for (T& x : v) {
        seed = seed * 1664525u + 1013904223u;
        x = static_cast<T>(static_cast<std::int32_t>(seed)) * T(0x1p-31);
    }
    return v;
}

}  // namespace bench
