// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What every header agrees on: the ABI namespace, where long functions are compiled, the assert
// macro.
#pragma once

#include <pumice/version.hpp>

#include <version>

#if !defined(__cpp_concepts) || !defined(__cpp_exceptions)
#error "Pumice needs C++20 (-std=c++20) with exceptions"
#endif

// The ABI namespace: the version, and the `expected` of the interface. It is the standard's where
// there is one; else it is tl::expected, as with pumice::compiled, which serves files of any
// standard.
#define PUMICE_JOIN_ABI(major, minor, expected) v##major##_##minor##_##expected
#define PUMICE_ABI_OF(major, minor, expected) PUMICE_JOIN_ABI(major, minor, expected)
#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L && !defined(PUMICE_COMPILED) && \
    !defined(PUMICE_COMPILING)
#define PUMICE_STD_EXPECTED 1
#define PUMICE_ABI PUMICE_ABI_OF(PUMICE_VERSION_MAJOR, PUMICE_VERSION_MINOR, std)
#else
#define PUMICE_ABI PUMICE_ABI_OF(PUMICE_VERSION_MAJOR, PUMICE_VERSION_MINOR, tl)
#endif

// The front's long functions that no type of the user's is part of: with the target
// pumice::compiled they are declared, and compiled once with the engine; else they are templates,
// which only a file that calls them compiles. Their bodies stand within `#ifndef PUMICE_COMPILED`,
// as do those of members and of what every file calls, which are inline.
#if defined(PUMICE_COMPILED) || defined(PUMICE_COMPILING)
#define PUMICE_FUNCTION
#define PUMICE_BODY
#define PUMICE_INLINE
#else
#define PUMICE_FUNCTION template <int = 0>
#define PUMICE_BODY template <int>
#define PUMICE_INLINE inline
#endif

/// Checks an invariant of the library itself. A user may define it before the first include.
#ifndef PUMICE_ASSERT
#include <cassert>
#define PUMICE_ASSERT(condition) assert(condition)
#endif
