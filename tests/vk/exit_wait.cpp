// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Who is waited for when the first thread ends. tests/process has the case of a device.
#include <pumice/vk/exit_wait.hpp>

#include <tests/support/child.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <thread>

namespace {

struct counting final : pumice::vulkan::exit_wait {
    explicit counting(int& count) : waits(&count) { enter(); }
    ~counting() { leave(); }
    void wait_at_exit() noexcept override { ++*waits; }
    int* waits;
};

int kept = 0, gone = 0;

/// Whether, when handlers of exit run, each that is left was waited for once.
[[noreturn]] void end(bool right) {
    static counting stays(kept);
    {
        const counting before(gone);
        static counting later(kept);
        const counting last(gone);
    }
    if (!right) std::exit(1);
    std::atexit([] { std::_Exit(kept == 2 && gone == 0 ? 0 : 1); });
    pumice::vulkan::exit_wait::arm();
    std::exit(kept == 0 ? 0 : 1);
}

}  // namespace

TEST_CASE("exit_wait: who has not left is waited for before handlers of exit") {
    // From a thread that submitted nothing yet: it is the first of the child.
    bool right = false;
    std::thread([&] { right = test::right_in_child([] { return true; }, end); }).join();
    CHECK(right);
}
