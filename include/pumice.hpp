// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Pumice. The engine comes along unless it is compiled apart (target pumice::compiled).
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/front.hpp>

#ifndef PUMICE_COMPILED
#include <pumice/exec/adopt.hpp>
#define PUMICE_ENGINE
#ifdef PUMICE_CONTROL
#include <pumice/exec/control.hpp>
#endif
#ifdef PUMICE_DEVICES
#include <pumice/exec/make_devices.hpp>
#endif
#ifdef PUMICE_PACKAGE
#include <pumice/package/make_package.hpp>
#endif
#ifdef PUMICE_RUNNER
#include <pumice/exec/placed_memory.hpp>
#endif
#ifdef PUMICE_VARYING
#include <pumice/exec/varying.hpp>
#endif
#endif
