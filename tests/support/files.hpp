// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The data folder of the tests, whole files, and folders of a test's own.
#pragma once

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace pumice_test {

inline std::filesystem::path data(const std::string& name) {
    return std::filesystem::path(tests_dir()) / "data" / name;
}

inline std::vector<std::byte> slurp(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file, path.string());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// A folder of the test's own, removed at the end.
class temporary_folder {
public:
    temporary_folder() {
        for (int i = 0;; ++i) {
            path_ = std::filesystem::temp_directory_path() /
                    ("pumice_test_" + std::to_string(::getpid()) + "_" + std::to_string(i));
            if (std::filesystem::create_directory(path_)) break;
        }
    }
    ~temporary_folder() { std::filesystem::remove_all(path_); }
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

}  // namespace pumice_test
