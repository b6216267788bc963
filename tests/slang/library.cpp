// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <tests/support/scope.hpp>

#include <fstream>

using namespace pumice;

namespace {

void touch(const test::fs::path& file) { std::ofstream(file) << "not a library"; }

}  // namespace

TEST_CASE("a named library is found as a file and in a folder, and nowhere else") {
    const test::folder here;
    CHECK_FALSE(find_slang(here.path.string()).found());
    touch(here.path / "libslang-compiler.so.0.2026.9");
    touch(here.path / "libslang-compiler.so.0.2026.12");
    const slang_location versioned = find_slang(here.path.string());
    CHECK(versioned.found());
    touch(here.path / "libslang-compiler.so");
    const slang_location plain = find_slang(here.path.string());
    CHECK(plain.file.filename() == "libslang-compiler.so");
    CHECK(plain.identity != versioned.identity);
    CHECK(find_slang((here.path / "libslang-compiler.so").string()).identity == plain.identity);

    const test::variable set("PUMICE_SLANG_LIBRARY", here.path.string());
    CHECK(find_slang().identity == plain.identity);
    const test::variable gone("PUMICE_SLANG_LIBRARY", (here.path / "gone").string());
    const slang_location none = find_slang();
    CHECK_FALSE(none.found());
    CHECK(none.named);
    REQUIRE(none.tried.size() == 1);
    CHECK(none.tried[0].find("PUMICE_SLANG_LIBRARY") != std::string::npos);
}

TEST_CASE("the highest version wins by number, not by letter") {
    const test::folder here;
    for (const char* v : {"0.2026.9", "0.2026.12", "0.2026.2"})
        touch(here.path / (std::string("libslang-compiler.so.") + v));
    CHECK(find_slang(here.path.string()).file.filename() == "libslang-compiler.so.0.2026.12");
}

TEST_CASE("the identity follows the file") {
    const test::folder here;
    const auto file = here.path / "libslang-compiler.so";
    touch(file);
    const std::string before = find_slang(file.string()).identity;
    std::ofstream(file) << "another, longer build";
    CHECK(find_slang(file.string()).identity != before);
}

TEST_CASE("no library is an error that says where it looked and what to do") {
    const test::folder here;
    const slang_location nowhere = find_slang((here.path / "gone.so").string());
    touch(here.path / "text.so");
    for (const slang_location& place : {nowhere, find_slang((here.path / "text.so").string())}) {
        const std::uint64_t before = slang_library_opens();
        try {
            slang_library::open(place);
            FAIL("opened");
        } catch (const error& e) {
            CHECK(e.code() == errc::no_slang);
            const std::string text = e.what();
            CHECK(text.find(".so") != std::string::npos);
            CHECK(text.find("PUMICE_SLANG_LIBRARY") != std::string::npos);
            CHECK(text.find("pack") != std::string::npos);
        }
        CHECK(slang_library_opens() == before);
    }
}

TEST_CASE("a library is opened once per process") {
    bool first = false, second = false;
    slang_library& a = slang_library::open(find_slang(), &first);
    const std::uint64_t opens = slang_library_opens();
    slang_library& b = slang_library::open(find_slang(), &second);
    CHECK(&a == &b);
    CHECK_FALSE(second);
    CHECK(slang_library_opens() == opens);
    const std::lock_guard lock(a.mutex);
    CHECK_FALSE(a.build_tag().empty());
}
