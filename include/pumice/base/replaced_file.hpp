// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Files that take the place of others when they are whole.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/file_name.hpp>

#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A stream to a file beside `path`, which takes its name when it is whole: until then, and where
/// that fails, what was there is there. A pipe or a device is written to itself.
class replaced_file {
public:
    explicit replaced_file(std::filesystem::path path)
        : path_(std::move(path)), to_(behind_links(path_)) {
        std::error_code ignored;
        const std::filesystem::file_status there = std::filesystem::status(to_, ignored);
        const bool old = std::filesystem::is_regular_file(there);
        if (old || !std::filesystem::exists(there)) {
            beside_ = to_;
            beside_ += "." + unique_name();
        }
        errno = 0;
        stream.open(beside_.empty() ? to_ : beside_, std::ios::binary);
        if (old) std::filesystem::permissions(beside_, there.permissions(), ignored);
    }
    replaced_file(const replaced_file&) = delete;
    replaced_file& operator=(const replaced_file&) = delete;
    ~replaced_file() {
        stream.close();
        std::error_code ignored;
        if (!beside_.empty()) std::filesystem::remove(beside_, ignored);
    }

    /// Throws errc::io_failed, also for what failed before.
    void finish(std::string_view place) {
        stream.close();
        std::error_code failed;
        if (!stream) failed = {errno ? errno : EIO, std::generic_category()};
        else if (!beside_.empty()) std::filesystem::rename(beside_, to_, failed);
        if (failed)
            fail(errc::io_failed, place, {"cannot write ", path_.string(), ": ", failed.message()});
        beside_.clear();
    }

    std::ofstream stream;

private:
    std::filesystem::path path_, to_, beside_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
