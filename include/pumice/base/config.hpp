// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What every header agrees on: the ABI namespace, where bodies are compiled, the assert macro.
#pragma once

#include <pumice/version.hpp>

#include <version>

// The ABI namespace: the version, and the `expected` of the interface.
#define PUMICE_JOIN_ABI(major, minor, expected) v##major##_##minor##_##expected
#define PUMICE_ABI_OF(major, minor, expected) PUMICE_JOIN_ABI(major, minor, expected)
#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202202L
#define PUMICE_ABI PUMICE_ABI_OF(PUMICE_VERSION_MAJOR, PUMICE_VERSION_MINOR, std)
#else
#define PUMICE_ABI PUMICE_ABI_OF(PUMICE_VERSION_MAJOR, PUMICE_VERSION_MINOR, tl)
#endif

// The front's long functions that no type of the user's is part of: their bodies are left out with
// the target pumice::compiled, which has them compiled, once.
#ifdef PUMICE_COMPILING
#define PUMICE_INLINE
#else
#define PUMICE_INLINE inline
#endif

/// Checks an invariant of the library itself. A user may define it before the first include.
#ifndef PUMICE_ASSERT
#include <cassert>
#define PUMICE_ASSERT(condition) assert(condition)
#endif
