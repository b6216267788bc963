// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Several devices in one context (pm::devices), with what a placement policy sees, for files that
// include <pumice.hpp> or, with the target pumice::compiled, the front alone.
#pragma once

#include <pumice/policy/devices.hpp>
#include <pumice/policy/placement.hpp>

#ifdef PUMICE_ENGINE
#include <pumice/exec/make_devices.hpp>
#else
#define PUMICE_DEVICES  // <pumice.hpp>, where it comes later, includes it
#endif
