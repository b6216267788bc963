// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/mapped_file.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

TEST_CASE("mapped_file: the bytes of a file, which keeps its own") {
    const pumice_test::temporary_folder folder;
    const std::string text(10'000, 'a');
    const auto path = folder.write("text", text);
    const auto file = pumice::input_file::open(path);
    {
        const pumice::mapped_file mapped(*file);
        file->close();
        REQUIRE(mapped.size() == text.size());
        CHECK(reinterpret_cast<std::uintptr_t>(mapped.data()) % 64 == 0);
        CHECK(mapped.data()[9'999] == std::byte{'a'});
        mapped.data()[9'999] = std::byte{'b'};
        CHECK(mapped.data()[9'999] == std::byte{'b'});
        std::filesystem::remove(path);
        CHECK(mapped.data()[0] == std::byte{'a'});
    }
    const auto again = pumice::input_file::open(folder.write("text", text));
    CHECK(pumice::mapped_file(*again).data()[9'999] == std::byte{'a'});
    const auto empty = pumice::input_file::open(folder.write("empty", ""));
    CHECK(pumice::mapped_file(*empty).size() == 0);
    again->close();
    CHECK(pumice_test::thrown_by([&] { pumice::mapped_file closed(*again); }).first ==
          pumice::errc::io_failed);
}
