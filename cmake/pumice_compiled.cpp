// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one source of pumice::compiled.
#include <pumice/engine.hpp>
