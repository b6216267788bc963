// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The front storey: everything that a user composes with; no Vulkan, no Slang.
#pragma once

#include <pumice/graph/naming.hpp>
#include <pumice/graph/window.hpp>
#include <pumice/tensor/assign.hpp>
#include <pumice/tensor/compile.hpp>
#include <pumice/tensor/gather.hpp>
#include <pumice/tensor/kernel.hpp>
#include <pumice/tensor/norms.hpp>
#include <pumice/tensor/print.hpp>
#include <pumice/tensor/profile.hpp>
#include <pumice/tensor/random.hpp>
#include <pumice/tensor/scan.hpp>
#include <pumice/tensor/view.hpp>
