// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/memory_role.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace pumice;

TEST_CASE("memory roles: each has a name and bytes of its own") {
    std::set<std::string_view> names;
    memory_bytes bytes;
    for (int i = 0; i < memory_roles; ++i) {
        names.insert(to_string(memory_role(i)));
        bytes[memory_role(i)] = static_cast<std::uint64_t>(i) + 1;
    }
    CHECK(names.size() == memory_roles);
    CHECK(to_string(memory_role::weights) == "weights");
    CHECK(to_string(memory_role::parameters) == "parameters");
    for (int i = 0; i < memory_roles; ++i)
        CHECK(bytes.by_role[i] == static_cast<std::uint64_t>(i) + 1);
    CHECK(bytes.pooled == 0);
}
