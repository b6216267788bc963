// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one source of pumice::compiled.
#define PUMICE_COMPILING 1
#include <pumice/engine.hpp>
#include <pumice/front.hpp>
