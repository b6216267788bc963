// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The format of packs: the same bytes each time, and a clear refusal of everything else.
#include <pumice/slang/pack.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace pumice;

namespace {

constexpr digest library{1, 2}, other{1, 3};

kernel_pack sample() {
    kernel_pack p(library);
    p.add({7, 1}, {{0x07230203u, 5, 6}});
    p.add({3, 9}, {{1}});
    p.add({3, 8}, {{}});
    return p;
}
std::string refusal(std::string bytes, digest of = library) {
    try {
        kernel_pack(std::as_bytes(std::span(bytes)), of, "my.pack");
    } catch (const error& e) {
        CHECK(e.code() == errc::bad_file);
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("pack: what was written is read, the same bytes in whatever order it came") {
    const std::string bytes = sample().bytes();
    const kernel_pack read(std::as_bytes(std::span(bytes)), library, "my.pack");
    CHECK(read.size() == 3);
    CHECK(read.find({7, 1})->words == array_list<std::uint32_t>{0x07230203u, 5, 6});
    CHECK(read.find({3, 8})->words.empty());
    CHECK_FALSE(read.find({3, 7}));
    CHECK(read.bytes() == bytes);
    kernel_pack reversed(library);
    reversed.add({3, 8}, {{}});
    reversed.add({7, 1}, {{0x07230203u, 5, 6}});
    reversed.add({3, 9}, {{1}});
    CHECK(reversed.bytes() == bytes);
    const std::string none = kernel_pack(library).bytes();
    CHECK(kernel_pack(std::as_bytes(std::span(none)), library, "").size() == 0);
}

TEST_CASE("pack: another version, other shaders, no pack: refused with what to do") {
    std::string newer = sample().bytes();
    newer[24] = 2;
    CHECK(refusal(newer).find("version 2; this program reads 1") != std::string::npos);
    CHECK(refusal(sample().bytes(), other).find("other kernels") != std::string::npos);
    CHECK(refusal("a text that is no pack at all, long enough to hold a header of one")
              .find("no pack") != std::string::npos);
    CHECK(refusal("").find("my.pack") != std::string::npos);
    CHECK(refusal(newer).find("PUMICE_RECORD_PACK") != std::string::npos);
}

TEST_CASE("pack: every flipped byte and every shorter file is refused") {
    const std::string whole = sample().bytes();
    int taken = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string flipped = whole;
        flipped[i] = static_cast<char>(flipped[i] ^ 0x41);
        taken += refusal(flipped).empty();
        taken += refusal(whole.substr(0, i)).empty();
    }
    CHECK(taken == 0);
    CHECK_FALSE(refusal(whole + std::string(4, '\0')).empty());
}

TEST_CASE("pack: counts and places that point outside are refused, whatever the checksum says") {
    std::mt19937 random(5);
    int read = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string bytes = sample().bytes();
        const std::size_t word = 7 + random() % (bytes.size() / 4 - 7);
        const std::uint32_t value = random() % 3 ? random() % 64 : 0xffffffffu - random() % 8;
        for (std::size_t k = 0; k < 4; ++k)
            bytes[4 * word + k] = static_cast<char>((value >> (8 * k)) & 255u);
        const digest sum = digest_of(std::string_view(bytes).substr(24));
        for (std::size_t k = 0; k < 8; ++k) {
            bytes[8 + k] = static_cast<char>((sum.low >> (8 * k)) & 255u);
            bytes[16 + k] = static_cast<char>((sum.high >> (8 * k)) & 255u);
        }
        read += refusal(bytes).empty();
    }
    CHECK(read > 0);  // some changes are harmless; asan watches the others
}
