// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one source of pumice::compiled.
#define PUMICE_COMPILING 1
#include <pumice/array_api.hpp>
#include <pumice/engine.hpp>
