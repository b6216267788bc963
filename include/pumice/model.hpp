// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models from files. Needs the CMake target pumice::onnx beside pumice::pumice.
#pragma once

#include <pumice/control.hpp>
#include <pumice/model/input_file.hpp>
#include <pumice/model/model.hpp>
#include <pumice/model/npy.hpp>
