// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/input_file.hpp>

#include <tests/model/support.hpp>

#include <sys/stat.h>

using namespace pumice_test;
using pumice::errc;
using pumice::input_file;

TEST_CASE("input_file: the bytes of a file, and of an empty one") {
    temporary_folder folder;
    const auto file = input_file::open(folder.write("a.bin", std::string_view("\0abc", 4)));
    REQUIRE(file->size() == 4);
    CHECK(file->read_all()[1] == std::byte('a'));
    CHECK(file->read(2, 2) == std::vector{std::byte('b'), std::byte('c')});
    CHECK(input_file::open(folder.write("empty", ""))->read_all().empty());
}

TEST_CASE("input_file: what is no regular file is refused with its name, and nothing waits") {
    temporary_folder folder;
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const auto& path :
         {folder.path() / "missing", folder.path(), pipe, std::filesystem::path("/dev/zero")}) {
        const auto [code, text] = thrown_by([&] { input_file::open(path); });
        CHECK(code == errc::io_failed);
        CHECK(contains(text, path.string()));
    }
}

TEST_CASE("input_file: a file that another file names stays beneath the folder") {
    temporary_folder outside, folder;
    outside.write("secret", "secret");
    folder.write("data.bin", "1234");
    folder.write("sub/more.bin", "56");
    CHECK(input_file::open_beneath(folder.path(), "data.bin")->size() == 4);
    CHECK(input_file::open_beneath(folder.path(), "sub/more.bin")->size() == 2);
    CHECK(input_file::open_beneath(folder.path(), "./sub//more.bin")->size() == 2);

    const std::string above = "../" + outside.path().filename().string() + "/secret";
    for (const std::string& name : {above, "sub/../data.bin" + std::string(),
                                    "sub/../../" + outside.path().filename().string() + "/secret",
                                    (outside.path() / "secret").string(), std::string(),
                                    std::string("."), std::string("sub/"), std::string("a\0b", 3)})
        CHECK_MESSAGE(thrown_by([&] { input_file::open_beneath(folder.path(), name); }).first ==
                          errc::bad_file,
                      name);
    for (const char* name : {"missing", "sub", "sub/missing"})
        CHECK(thrown_by([&] { input_file::open_beneath(folder.path(), name); }).first ==
              errc::io_failed);

    std::filesystem::create_symlink(outside.path() / "secret", folder.path() / "link");
    std::filesystem::create_directory_symlink(outside.path(), folder.path() / "dir");
    std::filesystem::create_hard_link(outside.path() / "secret", folder.path() / "hard");
    REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    for (const char* name : {"link", "dir/secret", "hard", "pipe"})
        CHECK_MESSAGE(thrown_by([&] { input_file::open_beneath(folder.path(), name); }).first ==
                          errc::io_failed,
                      name);
}

TEST_CASE("input_file: a file that was cut, replaced or closed") {
    temporary_folder folder;
    const auto path = folder.write("a.bin", "12345678");
    const auto file = input_file::open(path);
    std::filesystem::resize_file(path, 3);
    CHECK(file->read(0, 3).size() == 3);
    const auto [code, text] = thrown_by([&] { file->read_all(); });
    CHECK(code == errc::io_failed);
    CHECK(contains(text, "shorter"));
    folder.write("new.bin", "abcdefgh");
    std::filesystem::rename(folder.path() / "new.bin", path);
    CHECK(file->read(0, 1)[0] == std::byte('1'));
    file->close();
    CHECK(thrown_by([&] { file->read(0, 1); }).first == errc::io_failed);
}
