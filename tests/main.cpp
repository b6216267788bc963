// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The main function of every test program: doctest's, plus skips with a reason. The last line
// printed is "N passed, N failed, N skipped", in test cases.
#define DOCTEST_CONFIG_IMPLEMENT
#include <pumice/tensor/context.hpp>

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string>

/// Asked for too much, address sanitizer would end the process, where operator new promises an
/// answer.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace pumice_test {
namespace {

struct tally {
    int passed = 0, failed = 0, skipped = 0;
    bool skipping = false;  // the running case said so
};
tally count;

/// Which of the runs of tests/run.sh this is; empty if started by hand.
std::string run_name() {
    const char* name = std::getenv("PUMICE_TEST_RUN");
    return name != nullptr ? name : "";
}

/// What tests/skips.txt allows to be skipped in this run, and by hand what it allows in any.
const std::set<std::string, std::less<>>& skippable() {
    static const auto list = [] {
        std::set<std::string, std::less<>> names;
        std::ifstream file(tests_dir() + "/skips.txt");
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string name, runs;
            if (!(words >> name >> runs) || name.starts_with('#')) continue;
            const bool here = ("," + runs + ",").find("," + run_name() + ",") != std::string::npos;
            if (run_name().empty() || runs == "any" || here) names.insert(name);
        }
        return names;
    }();
    return list;
}

struct counter : doctest::IReporter {
    explicit counter(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData& test) override {
        running = &test;
        count.skipping = false;
    }
    void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
        bool passed = stats.testCaseSuccess;
        if (passed && !count.skipping && stats.numAssertsCurrentTest == 0) {
            // A test over every Vulkan device has nothing to do where there may be none. Anywhere
            // else one that asserts nothing is no test, since it cannot fail.
            count.skipping = skippable().contains("vulkan-device");
            passed = count.skipping;
            std::cout << (passed ? "skipped vulkan-device: " : "FAILED: ") << running->m_name
                      << " asserted nothing\n";
        }
        ++(!passed ? count.failed : count.skipping ? count.skipped : count.passed);
    }
    void test_case_skipped(const doctest::TestCaseData& test) override {
        if (!test.m_skip) return;  // left out by a filter
        std::cout << "FAILED: " << test.m_name
                  << " carries doctest::skip(); say PUMICE_SKIP instead\n";
        ++count.failed;
    }
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}

    const doctest::TestCaseData* running = nullptr;
};
REGISTER_LISTENER("counter", 1, counter);

}  // namespace

void skip(std::string_view what, std::string_view reason) {
    if (!skippable().contains(what)) {
        ADD_FAIL_CHECK_AT("tests/skips.txt", 1,
                          "does not list " << std::string(what) << " for the run " << run_name()
                                           << ": " << std::string(reason));
        return;
    }
    count.skipping = true;
    std::cout << "skipped " << what << ": " << reason << '\n';
}

std::string tests_dir() {
    const char* elsewhere = std::getenv("PUMICE_TESTS");
    return elsewhere != nullptr ? elsewhere : PUMICE_TESTS_DIR;
}

}  // namespace pumice_test

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    context.run();
    if (context.shouldExit()) return 0;  // it only listed something
    // At exit the validation layer, where several contexts were open, goes before the default one.
    pumice::detail::release_default();
    using pumice_test::count;
    std::cout << count.passed << " passed, " << count.failed << " failed, " << count.skipped
              << " skipped" << std::endl;
    return count.failed == 0 ? 0 : 1;
}
