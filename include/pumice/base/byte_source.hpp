// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a tensor come from that no memory holds: a file, most often.
#pragma once

#include <pumice/base/config.hpp>
#include <pumice/base/span.hpp>

#include <cstddef>
#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

class byte_source {
public:
    virtual ~byte_source() = default;
    /// Fills `into` with the bytes from `begin` on, or throws. Several threads ask at once.
    virtual void read(std::int64_t begin, span<std::byte> into) const = 0;
};

}}  // namespace pumice::PUMICE_ABI
