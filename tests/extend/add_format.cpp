// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A storage format of the user's own: 8 integers of 8 bits behind a power of 2 that they share.
#include <pumice/front.hpp>
#include <pumice/tensor/coded.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;

namespace {

void decode(const pm::storage_format&, const std::byte* memory, std::int64_t at, std::int64_t step,
            void* out, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k, at += step) {
        const std::byte* const block = memory + at / 8 * 9;
        const auto code = static_cast<std::int8_t>(block[1 + at % 8]);
        static_cast<float*>(out)[k] =
            std::ldexp(static_cast<float>(code), static_cast<std::int8_t>(block[0]));
    }
}

constexpr pm::storage_format shared_power{.name = "shared_power",
                                          .elements = 8,
                                          .bytes = 9,
                                          .slang = "SharedPower",
                                          .text = R"(
struct SharedPower
{
    static float load<I : IIndex>(uint8_t* p, I i)
    {
        uint8_t* block = (uint8_t*)(uint64_t(p) + uint64_t(i.toInt64() >> 3) * 9ULL);
        return float(int8_t(block[1 + (i.toInt() & 7)])) * exp2(float(int8_t(block[0])));
    }
    static void loadRun<I : IIndex, let W : int>(uint8_t* p, I i, out float v[W])
    {
        for (int k = 0; k < W; ++k) v[k] = load<I>(p, i + I(k));
    }
}
)",
                                          .decode = decode};

}  // namespace

TEST_CASE("extend: a storage format, read by a product and elementwise as it lies") {
    std::vector<std::byte> bytes;
    std::vector<float> values;
    for (int block = 0; block < 7 * 4; ++block) {
        bytes.push_back(std::byte(block % 5 - 6));
        for (int k = 0; k < 8; ++k) {
            bytes.push_back(std::byte(block * 8 + k));
            values.push_back(std::ldexp(static_cast<float>(static_cast<std::int8_t>(block * 8 + k)),
                                        block % 5 - 6));
        }
    }
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        const auto w = pm::coded_tensor::from_bytes(shared_power, {7, 32}, bytes, home);
        CHECK(pm::to_vector<float>(w.decoded()) == values);
        CHECK(pm::to_vector<float>(w.decoded() + w.decoded())[9] == 2 * values[9]);
        const pm::any_tensor ones = pm::full(pm::dtype::f32, {1, 32}, 1, home);
        const std::vector<float> sums =
            pm::to_vector<float>(pm::matmul(ones,
                                            pm::permute_dims(w.decoded(),
                                                             std::vector<std::int64_t>{1, 0})));
        for (std::size_t r = 0; r < 7; ++r) {
            float sum = 0;
            for (std::size_t k = 0; k < 32; ++k) sum += values[32 * r + k];
            CHECK(sums[r] == doctest::Approx(sum));
        }
    }
}
