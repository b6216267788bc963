// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How many samples a test takes, and by which seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace test {

/// PUMICE_TEST_SEED, or a fixed one.
inline std::uint64_t seed() {
    static const std::uint64_t value = [] {
        const char* text = std::getenv("PUMICE_TEST_SEED");
        return text ? std::strtoull(text, nullptr, 10) : 20261121;
    }();
    return value;
}

/// PUMICE_TEST_SCALE, or 1.
inline double scale() {
    const char* text = std::getenv("PUMICE_TEST_SCALE");
    return text ? std::strtod(text, nullptr) : 1.0;
}

/// PUMICE_TEST_SCALE times `count`: how many samples a test takes.
inline int samples(int count) { return std::max(1, static_cast<int>(count * scale())); }

/// Whether the i-th of a list is among its samples: all are, or evenly spread ones of a scale
/// below 1. Of a list that is short, `weight` times as many.
inline bool sampled(int i, double weight = 1) {
    const double share = scale() * weight;
    return share >= 1 || static_cast<int>(i * share) != static_cast<int>((i + 1) * share);
}

}  // namespace test
