// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is read of a data graph: instructions of TOSA, constants, inputs and outputs.
#pragma once

#include <pumice/core/dtype.hpp>
#include <pumice/core/shape.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

/// A constant of the module: one number (no axes) or a tensor.
struct graph_constant {
    dtype type = dtype::f32;
    pumice::shape shape;
    std::vector<std::byte> bytes;  // of its elements, or of the one that all of them are
    bool splat = false;
    std::optional<std::uint32_t> external = {};  // the number by which the file brings it
};

struct tosa_instruction {
    std::uint32_t op = 0;  // of TOSAInstructions
    std::uint32_t result = 0;
    dtype type = dtype::f32;
    pumice::shape shape;
    std::vector<std::uint32_t> operands;  // ids
};

/// An input or output: an id, and where the module has its tensor.
struct graph_port {
    std::uint32_t id = 0, set = 0, binding = 0;
    dtype type = dtype::f32;
    pumice::shape shape;
};

struct tosa_graph {
    std::vector<graph_port> inputs, outputs;
    std::map<std::uint32_t, graph_constant> constants;  // by id
    std::vector<tosa_instruction> steps;                // each behind those that it reads
    /// Why a driver is not given the module, of which more was not read than names; else empty.
    std::string beyond;
};

}}}  // namespace pumice::PUMICE_ABI::vgf
