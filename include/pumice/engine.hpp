// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The engine storey: Vulkan, Slang, kernels, execution. Including it registers the engine.
#pragma once

#include <pumice/exec/adopt.hpp>
