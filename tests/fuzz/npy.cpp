// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// libFuzzer's target for .npy files: any bytes are an array of as many bytes as its shape takes, or
// are refused by a pumice::error.
#include <pumice/model/npy.hpp>

#include <cstdlib>

namespace pm = pumice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const pm::npy_array a = pm::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
        const std::int64_t taken = pm::byte_count(a.dtype, pm::element_count(a.shape));
        if (std::cmp_not_equal(a.bytes.size(), taken)) std::abort();
    } catch (const pm::error&) {
    }
    return 0;
}
