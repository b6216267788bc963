// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Work in a child of fork(), which has to end by itself.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

namespace test {

/// Ends a process without its exit handlers.
struct leave_at_once {
    void operator()(bool right) const { ::_exit(right ? 0 : 1); }
};

/// True where a child whose `work` gives true ends within 20 s, by `leave`.
template <class Work, class Leave = leave_at_once>
bool right_in_child(Work&& work, Leave&& leave = {}) {
    const pid_t child = ::fork();
    if (child == 0) {
        bool right = false;
        try {
            right = work();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "child: %s\n", e.what());
        }
        leave(right);
    }
    int status = 0;
    for (int tick = 0; tick < 4000; ++tick) {
        if (::waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::fprintf(stderr, "the child has not ended after 20 s\n");
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return false;
}

}  // namespace test
