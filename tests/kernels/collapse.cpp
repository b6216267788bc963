// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Merged axes visit the same offsets in the same order, and four at a time only where four lie
// together.
#include <pumice/core/layout.hpp>
#include <pumice/kernels/collapse.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace pumice;

namespace {

std::int64_t roll(std::mt19937& random, std::int64_t low, std::int64_t high) {
    return low + std::int64_t(random() % std::uint32_t(high - low + 1));
}

/// The offsets of an operand, one for each coordinate in row-major order.
std::vector<std::int64_t> visited(const shape& domain, const operand& o) {
    std::vector<std::int64_t> all;
    const std::int64_t n = element_count(domain);
    for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t rest = i, at = o.offset;
        for (int d = domain.rank() - 1; d >= 0; --d) {
            at += rest % domain[d] * o.steps[d];
            rest /= domain[d];
        }
        all.push_back(at);
    }
    return all;
}

/// Steps that merge often: row-major over an extent in which some axes are repeated, padded or
/// turned.
operand random_operand(std::mt19937& random, const shape& domain) {
    operand o{0, dtype::f32, roll(random, 0, 9), strides::filled(domain.rank(), 0)};
    std::int64_t step = 1;
    for (int d = domain.rank() - 1; d >= 0; --d) {
        const auto kind = random() % 8;
        o.steps[d] = kind == 0 ? 0 : kind == 1 ? -step : step;
        step *= domain[d] + (kind == 2 ? 3 : 0);
    }
    return o;
}

}  // namespace

TEST_CASE("collapsed axes visit the same offsets in the same order, for each operand") {
    std::mt19937 random(3);
    int fewer = 0;
    for (int round = 0; round < 4000; ++round) {
        shape domain;
        for (auto r = roll(random, 0, 6); r > 0; --r) domain.push_back(roll(random, 1, 4));
        operand a = random_operand(random, domain), b = random_operand(random, domain);
        int first = 0, last = domain.rank();
        if (random() % 2 == 0) {
            first = int(roll(random, 0, domain.rank()));
            last = int(roll(random, first, domain.rank()));
        }
        if (first == last && domain.rank() == max_rank) continue;
        const shape before = domain;
        const auto wanted_a = visited(domain, a), wanted_b = visited(domain, b);
        const int left = collapse(domain, {&a, &b}, first, last);
        CAPTURE(round);
        REQUIRE(left >= 1);
        REQUIRE(domain.rank() == before.rank() - (last - first) + left);
        REQUIRE(a.steps.rank() == domain.rank());
        REQUIRE(b.steps.rank() == domain.rank());
        CHECK(visited(domain, a) == wanted_a);
        CHECK(visited(domain, b) == wanted_b);
        for (int d = 0; d < first; ++d) CHECK(domain[d] == before[d]);
        for (int d = 0; d < before.rank() - last; ++d)
            CHECK(domain[domain.rank() - 1 - d] == before[before.rank() - 1 - d]);
        fewer += left < last - first;
        // Nothing is left to merge: neighbours in the range differ for one of the operands.
        for (int i = first; i + 1 < first + left; ++i)
            CHECK_FALSE((a.steps[i] == a.steps[i + 1] * domain[i + 1] &&
                         b.steps[i] == b.steps[i + 1] * domain[i + 1]));
    }
    CHECK(fewer > 1000);
}

TEST_CASE("a dense operand becomes one axis; a transposed one keeps two; no axes become one") {
    shape domain{2, 3, 1, 5};
    operand dense{0, dtype::f32, 0, row_major_strides(domain)};
    CHECK(collapse(domain, {&dense}, 0, 4) == 1);
    CHECK(domain == shape{30});
    CHECK(dense.steps == strides{1});
    domain = {4, 6};
    operand turned{0, dtype::f32, 0, {1, 4}};
    CHECK(collapse(domain, {&turned}, 0, 2) == 2);
    domain = {};
    operand one{0, dtype::f32, 7, {}};
    CHECK(collapse(domain, {&one}, 0, 0) == 1);
    CHECK(domain == shape{1});
    CHECK(visited(domain, one) == std::vector<std::int64_t>{7});
}

TEST_CASE("the mask of vectors: contiguous and aligned, or constant, along the last axis") {
    std::mt19937 random(4);
    int masks = 0;
    for (int round = 0; round < 4000; ++round) {
        const shape domain{roll(random, 1, 3), roll(random, 1, 9)};
        fused f;
        const auto any = [&] {
            const std::int64_t steps[] = {0, 1, 1, 2}, rows[] = {0, 4, 8, 6}, starts[] = {0, 4, 2};
            return operand{random() % 8 == 0 ? -1 : 0,
                           dtype::f32,
                           starts[random() % 3],
                           {rows[random() % 4], steps[random() % 4]}};
        };
        f.leaves = {any(), any()};
        operand out = any();
        out.buffer = 1;
        f.outputs = {out};
        const std::optional<std::uint32_t> mask = vector_mask(f, domain);
        const auto quad =
            [&](const operand& o) {  // each group of four starts at a multiple of four
                bool aligned = o.steps[1] == 1;
                for (std::int64_t y = 0; y < domain[0]; ++y)
                    aligned = aligned && (o.offset + y * o.steps[0]) % 4 == 0;
                return aligned;
            };
        CAPTURE(round);
        if (!mask) {
            const auto fine = [&](const operand& o) {
                return o.steps[1] == 0 || quad(o) || (o.buffer < 0 && o.steps[1] == 1);
            };
            CHECK_FALSE((fine(f.leaves[0]) && fine(f.leaves[1]) && quad(out)));
            continue;
        }
        ++masks;
        CHECK(quad(out));
        for (unsigned k = 0; k < 2; ++k) {
            const operand& o = f.leaves[k];
            if (*mask >> k & 1) CHECK((o.buffer < 0 || quad(o)));
            else CHECK(o.steps[1] == 0);
        }
    }
    CHECK(masks > 100);
}
