// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compiled functions for any extent up to a bound (pm::varying), for files that include
// <pumice.hpp> or, with the target pumice::compiled, the front alone.
#pragma once

#include <pumice/tensor/varying.hpp>

#ifdef PUMICE_ENGINE
#include <pumice/exec/varying.hpp>
#else
#define PUMICE_VARYING  // <pumice.hpp>, where it comes later, includes it
#endif
