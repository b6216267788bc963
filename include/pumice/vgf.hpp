// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models in Arm's VGF, read and written. Needs the CMake target pumice::vgf beside pumice::compiled
// or pumice::pumice; to write them, Arm's model converter (docs/46_vgf.md).
#pragma once

#include <pumice/model.hpp>
#include <pumice/model/vgf/writer.hpp>
