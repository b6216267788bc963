// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops (cond, while_loop, fori_loop, scan), for files that include <pumice.hpp> or,
// with the target pumice::compiled, the front alone.
#pragma once

#include <pumice/tensor/scan_loop.hpp>

#ifdef PUMICE_ENGINE
#include <pumice/exec/control.hpp>
#else
#define PUMICE_CONTROL  // <pumice.hpp>, where it comes later, includes it
#endif
