// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a file may ask of who loads it.
#pragma once

#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

/// What a file may ask of the loader. A file that passes a limit is refused before memory or time
/// is spent. Messages are walked to a fixed depth, and functions are refused.
struct model_limits {
    std::int64_t file_bytes = std::int64_t(1) << 31;       // of an ONNX file: what protobuf allows
    std::int64_t structure_bytes = std::int64_t(1) << 28;  // of it without long tensors
    // Of a graph, and steps of graphs within it while it is built.
    std::int64_t nodes = 1 << 19;
    std::int64_t depth = 16;  // of graphs (of If, Loop, Scan) within one another
    // Newer ones are refused; 0: than those that are known (detail/schemas.hpp).
    std::int64_t opset = 0, ir_version = 0;
    std::int64_t items = std::int64_t(1) << 21;  // nodes, names, attributes, tensors, dimensions
    std::int64_t typed_bytes = std::int64_t(1)
                               << 31;        // of tensors that have to be decoded, all together
    std::int64_t folded_elements = 1 << 16;  // of a constant that is computed while loading
    std::int64_t folded_work = 1 << 26;      // elements of all of them together
    // With the sizes that the file gives, open axes as 1; a run may ask for more.
    std::int64_t elements = std::int64_t(1) << 32;     // of a value that is computed, views too
    std::int64_t kernel_work = std::int64_t(1) << 40;  // products or sums of one operator
};

}}  // namespace pumice::PUMICE_ABI
