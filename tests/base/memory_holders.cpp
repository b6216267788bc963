// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/memory_holders.hpp>

#include <doctest/doctest.h>

using namespace pumice;

TEST_CASE("memory holders: the largest first, pieces of one name together, the rest in a line") {
    memory_holders list;
    list.add({memory_role::weights, "small"}, 1);
    for (int i = 0; i < 3; ++i) list.add({memory_role::outputs, "matmul"}, 100);
    list.add({memory_role::weights, "large"}, 1000);
    list.add({memory_role::temporaries, "matmul"}, 50);  // another role is another holder
    list.add({memory_role::staging, {}}, 7);
    std::vector<std::string> lines{"before"};
    list.describe(lines);
    const std::vector<std::string> wanted{"before",
                                          "held by weights \"large\": 1000 bytes",
                                          "held by outputs \"matmul\": 300 bytes in 3 pieces",
                                          "held by temporaries \"matmul\": 50 bytes",
                                          "held by staging: 7 bytes",
                                          "held by weights \"small\": 1 bytes"};
    CHECK(lines == wanted);
}

TEST_CASE("memory holders: ten are named") {
    memory_holders list;
    std::vector<std::string> names, lines;
    for (int i = 0; i < 25; ++i) names.push_back("w" + std::to_string(i));
    for (std::size_t i = 0; i < names.size(); ++i)
        list.add({memory_role::weights, names[i]}, 10 + i);
    list.describe(lines);
    REQUIRE(lines.size() == 11);
    CHECK(lines[0] == "held by weights \"w24\": 34 bytes");
    CHECK(lines[9] == "held by weights \"w15\": 25 bytes");
    CHECK(lines[10] == "held by 15 others: 255 bytes together");
    lines.clear();
    memory_holders().describe(lines);
    CHECK(lines.empty());
}
