// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A device that runs launches on plain bytes: what tests of kernels need of vk/ and slang/.
#pragma once

#include <pumice/kernels/launch.hpp>

#include <memory>
#include <span>

namespace test {

using namespace pumice;
using bytes = std::vector<std::byte>;

/// A device. `run` executes the launches in order and writes the buffers back; it fails the running
/// test when a byte beside a buffer was written or the validation layer spoke.
class machine {
public:
    virtual ~machine() = default;
    virtual const device_info& info() const = 0;
    virtual void run(std::span<const launch> launches, std::vector<bytes>& buffers,
                     std::span<const std::int64_t> origins, std::int64_t scratch = 0) = 0;
};

/// Every usable device of this machine; none: each test says so and is skipped.
const std::vector<std::unique_ptr<machine>>& machines();

}  // namespace test
