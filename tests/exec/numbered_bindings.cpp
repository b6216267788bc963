// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The bindings of a shader in several sets, made those of one.
#include <pumice/exec/vulkan/numbered_bindings.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace pm = pumice;

TEST_CASE("numbered_bindings: inputs then outputs in set 0, others are refused") {
    constexpr std::uint32_t decorate = 71 | 4 << 16;
    const pm::array_list<std::uint32_t> words{0x07230203, 0x10600, 0,        9, 0,  decorate, 5,
                                              34,         1,       decorate, 5, 33, 7,  // set 1, 7
                                              decorate,   6,       33,       2};        // binding 2
    pm::own_shader s;
    s.name = "mine";
    s.inputs = {{0, 2}};
    s.outputs = {{0, 4}, {1, 7}};
    const pm::array_list<std::uint32_t> made =
        pm::with_numbered_bindings({words.data(), words.size()}, s);
    REQUIRE(made.size() == words.size());
    CHECK(made[8] == 0);   // set
    CHECK(made[12] == 2);  // the second output
    CHECK(made[16] == 0);  // the input
    s.outputs = {{0, 7}};
    const pm::error e =
        test::thrown_by([&] { pm::with_numbered_bindings({words.data(), words.size()}, s); });
    CHECK(e.code() == pm::errc::invalid_argument);
    CHECK(std::string_view(e.what()).find("in set 1 at binding 7") != std::string_view::npos);
    const pm::array_list<std::uint32_t> cut{0x07230203, 0x10600, 0, 9, 0, decorate, 5};
    CHECK(pm::with_numbered_bindings({cut.data(), cut.size()}, s).size() == cut.size());
}
