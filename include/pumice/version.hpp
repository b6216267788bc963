// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The library's version: the single place that CMake and the ABI namespace read.
#pragma once

#define PUMICE_VERSION_MAJOR 0
#define PUMICE_VERSION_MINOR 1
#define PUMICE_VERSION_PATCH 0
