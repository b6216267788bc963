// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/core/device_info.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("the host is one line, a device says what it can do") {
    device_info d;
    d.name = "host";
    d.type = device_type::host;
    d.driver = "native C++";
    CHECK(to_string(d) == "host (host, native C++)");

    d.name = "llvmpipe";
    d.type = device_type::cpu;
    d.driver = "Mesa 26";
    d.subgroup_size = 8;
    d.shared_memory = 32768;
    d.memory = std::int64_t{4} << 30;
    d.storage8 = true;
    CHECK(to_string(d) ==
          "llvmpipe (CPU driver, Mesa 26): subgroup 8, shared memory 32 KiB, memory 4096 MiB, "
          "8-bit, no cooperative matrix");
    d.matrix_shapes = {{dtype::f16, dtype::f16, dtype::f32, dtype::f32, 8, 8, 16}};
    CHECK(to_string(d).ends_with(", cooperative matrix f16->f32:8x8x16"));
}

TEST_CASE("supports asks for storage, and for arithmetic where the type is 64 bits wide") {
    device_info d;
    for (dtype t : {dtype::f32, dtype::i32, dtype::u32}) CHECK(d.supports(t));
    for (dtype t : {dtype::f64, dtype::f16, dtype::bf16, dtype::i8, dtype::u16, dtype::i64,
                    dtype::u64, dtype::boolean})
        CHECK(!d.supports(t));
    d.storage8 = true;
    CHECK(d.supports(dtype::u8));
    CHECK(d.supports(dtype::boolean));
    CHECK(!d.supports(dtype::f16));
    d.storage16 = true;
    CHECK(d.supports(dtype::bf16));
    d.float64_arithmetic = true;
    CHECK(d.supports(dtype::f64));
    CHECK(!d.supports(dtype::i64));
    d.int64_arithmetic = true;
    CHECK(d.supports(dtype::u64));
}

TEST_CASE("every kind of device has a name") {
    CHECK(to_string(device_type::discrete_gpu) == "discrete GPU");
    CHECK(to_string(device_type::host) == "host");
}
