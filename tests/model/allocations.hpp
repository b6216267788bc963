// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Counts what a thread asks of operator new, which allocations.cpp replaces for this test program.
#pragma once

#include <cstdint>

namespace test {

/// Calls of operator new by this thread since it began; driver code on the thread counts too.
std::uint64_t allocations() noexcept;

}  // namespace test
