// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What PUMICE_LOG changes: tests/process/run.
#include <pumice/base/log.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

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

/// What `f` writes to stderr.
template <class F>
std::string on_stderr(F&& f) {
    std::FILE* const file = std::tmpfile();
    std::fflush(stderr);
    const int before = ::dup(2);
    ::dup2(::fileno(file), 2);
    f();
    std::fflush(stderr);
    ::dup2(before, 2);
    ::close(before);
    std::rewind(file);
    std::string text(4096, ' ');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
}
}  // namespace

TEST_CASE(
    "warnings and errors go to stderr until a sink takes them, and again when it is taken away") {
    const log_sink before = set_log_sink(nullptr);
    CHECK(on_stderr([] {
              write_log(severity::info, "device llvmpipe");
              write_log(severity::warning, "kernels are not kept");
              write_log(severity::error, "cannot write\n  - disk full");
          }) ==
          "pumice: warning: kernels are not kept\npumice: error: cannot write\n  - disk full\n");

    CHECK(on_stderr([] {
              CHECK((set_log_sink(&keep) == nullptr));
              write_log(severity::info, "device llvmpipe");
              write_log(severity::warning, "the host device computes");
              CHECK((set_log_sink(nullptr) == &keep));
          }) == "");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].level == severity::info);
    CHECK(lines[0].text == "device llvmpipe");
    CHECK(lines[1].level == severity::warning);
    lines.clear();

    CHECK(on_stderr([] { write_log(severity::warning, "the host device computes"); }) ==
          "pumice: warning: the host device computes\n");
    set_log_sink(before);
}

TEST_CASE("what stderr was told it is not told again; a sink is told each time") {
    const log_sink before = set_log_sink(nullptr);
    const auto thrice = [] {
        for (int i = 0; i < 3; ++i) write_log(severity::warning, "the same three times");
    };
    CHECK(on_stderr(thrice) == "pumice: warning: the same three times\n");
    set_log_sink(&keep);
    thrice();
    CHECK(lines.size() == 3);
    lines.clear();
    set_log_sink(before);
}
