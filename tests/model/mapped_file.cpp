// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/mapped_file.hpp>

#include <tests/model/support.hpp>

#include <sys/stat.h>

using namespace pumice_test;
using pumice::errc;
using pumice::mapped_file;

TEST_CASE("mapped_file: the bytes of a file, and of an empty one") {
    temporary_folder folder;
    const auto file = mapped_file::open(folder.write("a.bin", std::string_view("\0abc", 4)));
    REQUIRE(file->bytes().size() == 4);
    CHECK(file->bytes()[1] == std::byte('a'));
    CHECK(mapped_file::open(folder.write("empty", ""))->bytes().empty());
}

TEST_CASE("mapped_file: what is no regular file is refused with its name, and nothing waits") {
    temporary_folder folder;
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const auto& path :
         {folder.path() / "missing", folder.path(), pipe, std::filesystem::path("/dev/zero")}) {
        const auto [code, text] = thrown_by([&] { mapped_file::open(path); });
        CHECK(code == errc::io_failed);
        CHECK(contains(text, path.string()));
    }
}

TEST_CASE("mapped_file: a file that another file names stays beneath the folder") {
    temporary_folder outside, folder;
    outside.write("secret", "secret");
    folder.write("data.bin", "1234");
    folder.write("sub/more.bin", "56");
    CHECK(mapped_file::open_beneath(folder.path(), "data.bin")->bytes().size() == 4);
    CHECK(mapped_file::open_beneath(folder.path(), "sub/more.bin")->bytes().size() == 2);
    CHECK(mapped_file::open_beneath(folder.path(), "./sub//more.bin")->bytes().size() == 2);

    const std::string above = "../" + outside.path().filename().string() + "/secret";
    for (const std::string& name : {above, "sub/../data.bin" + std::string(),
                                    "sub/../../" + outside.path().filename().string() + "/secret",
                                    (outside.path() / "secret").string(), std::string(),
                                    std::string("."), std::string("sub/"), std::string("a\0b", 3)})
        CHECK_MESSAGE(thrown_by([&] { mapped_file::open_beneath(folder.path(), name); }).first ==
                          errc::bad_file,
                      name);
    for (const char* name : {"missing", "sub", "sub/missing"})
        CHECK(thrown_by([&] { mapped_file::open_beneath(folder.path(), name); }).first ==
              errc::io_failed);

    std::filesystem::create_symlink(outside.path() / "secret", folder.path() / "link");
    std::filesystem::create_directory_symlink(outside.path(), folder.path() / "dir");
    std::filesystem::create_hard_link(outside.path() / "secret", folder.path() / "hard");
    REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    for (const char* name : {"link", "dir/secret", "hard", "pipe"})
        CHECK_MESSAGE(thrown_by([&] { mapped_file::open_beneath(folder.path(), name); }).first ==
                          errc::io_failed,
                      name);
}
