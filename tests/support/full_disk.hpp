// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Files that cannot grow, as on a full disk.
#pragma once

#include <doctest/doctest.h>

#include <csignal>

#include <sys/resource.h>

namespace test {

/// In its lifetime no file of the process gets more bytes than that.
class full_disk {
public:
    explicit full_disk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
        rlimit low = before_;
        low.rlim_cur = bytes;
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
    }
    full_disk(const full_disk&) = delete;
    full_disk& operator=(const full_disk&) = delete;
    ~full_disk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    void (*handler_)(int);
    rlimit before_{};
};

}  // namespace test
