// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program with its strided operands: what fusion makes of many nodes.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/operation.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A strided operand of a kernel over its coordinates. Strides and offset count elements.
struct operand {
    /// Number in the problem's list of buffers; -1: an iota; -2: the scratch of a kernel's
    /// launches.
    int buffer = -1;
    dtype type = dtype::f32;
    std::int64_t offset = 0;
    strides steps;  // one per coordinate of the domain it is read over
    /// Of an operand that lies in blocks: strides and offset count decoded elements.
    const storage_format* format = nullptr;
    /// Of an operand that is read by an index map: strides and offset count the map's indices in
    /// row-major order; its elements lie from `origin` on.
    array_list<mapped_axis> map = {};
    std::int64_t origin = 0;

    constexpr bool in_memory() const noexcept { return buffer != -1; }
};

/// A number that a program takes: fixed, or one of those that each run of a plan brings.
struct scalar_operand {
    scalar value;
    int number = -1;  // among the run's (plan::numbers); -1: it is `value`

    scalar_operand(const scalar& fixed) : value(fixed) {}
    /// Of that type, brought by each run.
    scalar_operand(dtype type, int of_run) : number(of_run) { value.type = type; }
};

/// A program with its operands: the value (or the outputs) at each coordinate of a domain.
struct fused {
    std::shared_ptr<const program> body;
    array_list<operand> leaves;
    array_list<scalar_operand> scalars;
    array_list<operand> outputs;  // empty for a prologue

    dtype type(int output = 0) const { return body->view().output_type(output); }
};

}}  // namespace pumice::PUMICE_ABI
