// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Names of files: new ones, and what stands behind those that are links.
#pragma once

#include <pumice/base/text.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

inline int process_id() {
#if defined(_WIN32)
    return ::_getpid();
#else
    return static_cast<int>(::getpid());
#endif
}

/// A file name that no other process or thread uses.
inline std::string unique_name() {
    static std::atomic<unsigned> count{0};
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    return cat({process_id(), ".", now, ".", count.fetch_add(1)});
}

/// What a path names behind its symbolic links, whether it is there or not.
inline std::filesystem::path behind_links(std::filesystem::path path) {
    std::error_code failed;
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path, failed); ++links)
        path = path.parent_path() / std::filesystem::read_symlink(path, failed);
    return path;
}

}}}  // namespace pumice::PUMICE_ABI::detail
