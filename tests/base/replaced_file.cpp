// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/replaced_file.hpp>

#include <tests/support/files.hpp>
#include <tests/support/full_disk.hpp>
#include <tests/support/thrown.hpp>

#include <thread>

#include <sys/stat.h>

namespace fs = std::filesystem;
using pumice::errc;
using pumice::detail::replaced_file;

namespace {

struct files : pumice_test::temporary_folder {
    std::string text(const fs::path& name) const {
        std::ifstream in(path() / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::ptrdiff_t count() const {
        return std::distance(fs::directory_iterator(path()), fs::directory_iterator());
    }
};

void write(const fs::path& to, const std::string& text) {
    replaced_file file(to);
    file.stream << text;
    file.finish("here");
}

}  // namespace

TEST_CASE("replaced file: the old one is there until the new one is whole") {
    const files here;
    const fs::path to = here.path() / "a";
    write(to, "old");
    CHECK(here.text("a") == "old");
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
    {
        replaced_file file(to);
        file.stream << "half of" << std::flush;
        CHECK(here.text("a") == "old");
    }
    CHECK(here.text("a") == "old");
    CHECK(here.count() == 1);
    write(to, "new");
    CHECK(here.text("a") == "new");
    CHECK(fs::status(to).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    {
        const test::full_disk full(4096);
        const pumice::error e = test::thrown_by([&] { write(to, std::string(20000, 'x')); });
        CHECK(e.code() == errc::io_failed);
        CHECK(e.message().find("cannot write " + to.string() + ": ") == 0);
    }
    CHECK(test::code_of([&] { write(here.path() / "none" / "a", "x"); }) == errc::io_failed);
    CHECK(test::code_of([&] { write(here.path(), "x"); }) == errc::io_failed);
    CHECK(here.text("a") == "new");
    CHECK(here.count() == 1);
}

TEST_CASE("replaced file: a link stays one, and a pipe is written to") {
    const files here;
    here.write("a", "old");
    fs::create_symlink("a", here.path() / "link");
    write(here.path() / "link", "new");
    CHECK(fs::is_symlink(here.path() / "link"));
    CHECK(here.text("a") == "new");

    const fs::path pipe = here.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::string got;
    std::thread reader([&] { got = here.text("pipe"); });
    write(pipe, "through");
    reader.join();
    CHECK(got == "through");
    CHECK(fs::is_fifo(pipe));
    CHECK(here.count() == 3);
}
