// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Which sanitizer this program is built with: g++ tells by macros, clang++ when asked.
#pragma once

#ifdef __has_feature
#define PUMICE_TEST_BUILT_WITH(sanitizer) __has_feature(sanitizer)
#else
#define PUMICE_TEST_BUILT_WITH(sanitizer) 0
#endif

namespace test {

#if defined(__SANITIZE_ADDRESS__) || PUMICE_TEST_BUILT_WITH(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || PUMICE_TEST_BUILT_WITH(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

}  // namespace test

#undef PUMICE_TEST_BUILT_WITH
