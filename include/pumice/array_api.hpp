// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The front with all of the Python array API 2024.12 that Pumice has (docs/60_array_api.md).
#pragma once

#include <pumice/front.hpp>
#include <pumice/tensor/array_api.hpp>
#include <pumice/tensor/array_types.hpp>
