// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Packages: compiled functions and models as one file, for files that include <pumice.hpp> or, with
// the target pumice::compiled, the front alone. Without that target they need the CMake target
// pumice::package.
#pragma once

#include <pumice/package/package.hpp>

#ifdef PUMICE_ENGINE
#include <pumice/package/make_package.hpp>
#else
#define PUMICE_PACKAGE  // <pumice.hpp>, where it comes later, includes it
#endif
