// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What kernels that walk along axes share (shaders/rows.slang): coordinates in two groups, the
// outer ones and the walked ones, for a prologue and an epilogue.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/parameter_block.hpp>
#include <pumice/kernels/reference.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The axes [first, first + count) of a list.
inline index_list part_of(const index_list& list, int first, int count) {
    index_list r;
    for (int i = first; i < first + count; ++i) r.push_back(list[i]);
    return r;
}

/// The operands of a program: what it reads, then what it writes.
inline array_list<operand> all_operands(const fused& f) {
    array_list<operand> list = f.leaves;
    list.append(f.outputs.begin(), f.outputs.end());
    return list;
}
inline array_list<operand*> operands_of(fused& a, fused& b) {
    array_list<operand*> list = operands_of(a);
    const array_list<operand*> more = operands_of(b);
    list.append(more.begin(), more.end());
    return list;
}

/// How far apart neighbours along an axis lie, summed over the operands in memory: of two axes the
/// one with less is the one along which neighbouring invocations should go.
inline std::int64_t spacing_along(const fused& f, int axis) {
    std::int64_t total = 0;
    for (const operand& o : f.leaves)
        if (o.in_memory()) total += std::min<std::int64_t>(std::abs(o.steps[axis]), 32);
    return total;
}

/// True where neighbours along the outer axes of the domain lie closer together than those along
/// the others.
inline bool prefers_columns(const fused& prologue, const fused& epilogue, const shape& domain,
                            int outer_rank) {
    const auto spacing = [&](int axis) {
        return spacing_along(prologue, axis) + spacing_along(epilogue, axis);
    };
    return domain[outer_rank - 1] > 1 && spacing(outer_rank - 1) < spacing(domain.rank() - 1);
}

/// The prologue's value brought to `type` by one more instruction, unless it has that type.
inline fused cast_value(fused f, dtype type) {
    if (f.type() == type) return f;
    program p = *f.body;
    p.outputs[0] = p.push({instruction::code::cast, type, 0, {p.outputs[0]}});
    f.body = std::make_shared<program>(std::move(p));
    return f;
}

/// The size of the subgroups whose lanes read each other's values, where `lanes` neighbouring
/// invocations fold what they have: in two rounds at most. 1: they go through shared memory.
inline int subgroup_for(int lanes, const device_info& device) {
    const int size = device.subgroup_size;
    return device.subgroup_shuffle && device.subgroup_size_control && lanes > 1 &&
                   lanes <= size * size
               ? size
               : 1;
}

/// No where a problem needs 64-bit indices that the device lacks.
inline support supports_index(bool wide, const device_info& device) {
    return wide && !device.int64_arithmetic
               ? support::no("the device has no i64, which so large an operand needs")
               : support{};
}

}}  // namespace pumice::PUMICE_ABI
