// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/log.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace pumice;

namespace {
struct line {
    severity level;
    std::string text;
};
std::vector<line> lines;
void keep(severity level, std::string_view text) { lines.push_back({level, std::string(text)}); }
}  // namespace

TEST_CASE("the log is silent until a sink is set, and again when it is taken away") {
    const log_sink before = set_log_sink(nullptr);
    write_log(severity::error, "to nobody");
    CHECK(lines.empty());

    CHECK((set_log_sink(&keep) == nullptr));
    write_log(severity::info, "device llvmpipe");
    write_log(severity::warning, "the host device computes");
    CHECK((set_log_sink(before) == &keep));
    write_log(severity::info, "to nobody again");

    REQUIRE(lines.size() == 2);
    CHECK(lines[0].level == severity::info);
    CHECK(lines[0].text == "device llvmpipe");
    CHECK(lines[1].level == severity::warning);
    lines.clear();
}
