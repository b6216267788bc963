// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random programs give the same values fused, unfused and eager, whatever aliases what.
#include "random_programs.hpp"

#include <tests/support/samples.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdio>
#include <fstream>
#include <string>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

namespace pm = pumice;
using test::differences, test::run;

TEST_CASE("1000 random programs on the host: fused, unfused and eager agree") {
    const pm::context fused(pm::host_only{}), apart(pm::host_only{}, pm::fusion::none{}),
        eager(pm::host_only{}, pm::eager{});
    for (unsigned seed = 0; seed < unsigned(test::samples(1000)); ++seed) {
        const test::variables expected = run(eager, seed);
        CHECK_MESSAGE(differences(run(fused, seed), expected) == 0, "seed " << seed);
        CHECK_MESSAGE(differences(run(apart, seed), expected) == 0, "seed " << seed);
    }
}

TEST_CASE("1000 random programs on the host give the bits that they have always given") {
    // FNV-1a of what each leaves, by g++ and by clang++, which order sums otherwise. A change of an
    // op's rounding changes them, and is then the reason to write them again.
    std::ifstream file(pumice_test::tests_dir() + "/data/expected/random_programs.txt");
    std::string library, version;
    REQUIRE((file >> library >> version));
#ifdef __GLIBC__
    const bool same = library == "glibc" && version == gnu_get_libc_version();
#else
    const bool same = false;
#endif
    if (!same || test::address_sanitizer)
        PUMICE_SKIP("written-bits",
                    "they are those of " + library + " " + version + ", without sanitizers");
    const pm::context home{pm::host_only{}};
    int wrong = 0, read = 0;
    for (std::uint64_t gcc, clang; file >> std::hex >> gcc >> clang; ++read) {
#ifdef __clang__
        const std::uint64_t expected = clang;
#else
        const std::uint64_t expected = gcc;
#endif
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const float x : test::elements_of(run(home, unsigned(read))))
            for (int shift = 0; shift < 32; shift += 8)
                hash = (hash ^ (std::bit_cast<std::uint32_t>(x) >> shift & 255)) * 0x100000001b3u;
        wrong += hash != expected;
    }
    CHECK(read == 1000);
    CHECK(wrong == 0);
}

TEST_CASE("1000 random programs on the device, fused and unfused, agree with the host") {
    const pm::context fused, apart(pm::fusion::none{}), host(pm::host_only{}, pm::eager{});
    if (fused.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the case is of a device");
    const unsigned programs = unsigned(test::samples(1000));
    for (unsigned seed = 0; seed < programs; ++seed) {
        test::program_kind kind;
        if (seed >= programs / 4)
            kind.most = 6;  // short ones share kernels, whose compilation is what takes time
        const test::variables expected = run(host, seed, kind);
        CHECK_MESSAGE(differences(run(fused, seed, kind), expected) == 0, "seed " << seed);
        CHECK_MESSAGE(differences(run(apart, seed, kind), expected) == 0, "seed " << seed);
    }
    const pm::statistics s = fused.stats(), t = apart.stats();
    std::printf("measured %u programs on the device: %d kernels, %d of them compiled\n", programs,
                int(s.pipelines + t.pipelines), int(s.slang_compiles + t.slang_compiles));
}

TEST_CASE("a value that is overwritten stays what it was for whoever reads it") {
    const pm::context home;
    pm::matrix<float> y = pm::from_span<float>({2, 2}, std::vector<float>{1, 2, 3, 4}, home);
    const auto old = pm::transpose(y);
    auto pending = y * 10.0f;
    y = y + y;
    y += pm::transpose(y);
    CHECK(y.to_vector() == std::vector<float>{4, 10, 10, 16});
    CHECK(old.to_vector() == std::vector<float>{1, 3, 2, 4});
    CHECK(pm::matrix<float>(pending).to_vector() == std::vector<float>{10, 20, 30, 40});
    const pm::matrix<float> twice = pm::concat(pm::axis<0>, y, y);
    CHECK(twice.to_vector().size() == 8);
    CHECK(twice.to_vector()[6] == 10);
}
