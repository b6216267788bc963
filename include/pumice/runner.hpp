// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The runner, for files that include <pumice.hpp> or, with the target pumice::compiled, the front
// alone. <pumice/runner/load.hpp> makes one of a model's file.
#pragma once

#include <pumice/runner/runner.hpp>

#ifdef PUMICE_ENGINE
#include <pumice/exec/placed_memory.hpp>
#else
#define PUMICE_RUNNER  // <pumice.hpp>, where it comes later, includes it
#endif
