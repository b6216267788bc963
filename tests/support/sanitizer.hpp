// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which sanitizer watches this program, or the engine in it.
#pragma once

// Of the sanitizer's library, where it is linked.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
}

namespace test {

inline const bool address_sanitizer = __asan_init != nullptr;
inline const bool thread_sanitizer = __tsan_init != nullptr;

}  // namespace test
