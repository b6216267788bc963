// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Fewer axes for the same accesses: ones dropped, neighbours merged where every operand allows it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/problem.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Rewrites the axes [first, last) of `domain` and of the operands' strides; axes outside stay.
/// Post: the same set of operand offsets is visited in the same order; the range keeps >= 1 axis.
/// Returns how many axes the range has now.
template <class Operand = operand>
int collapse(shape& domain, array_list<Operand*> operands, int first, int last) {
    const auto drop = [&](int axis) {
        domain.erase(axis);
        for (Operand* o : operands) o->steps.erase(axis);
        --last;
    };
    for (int i = last - 1; i >= first && last - first > 1; --i)
        if (domain[i] == 1) drop(i);
    for (int i = last - 2; i >= first; --i) {
        bool merges = true;
        for (const Operand* o : operands)
            merges = merges && o->steps[i] == o->steps[i + 1] * domain[i + 1];
        if (!merges) continue;
        domain[i] *= domain[i + 1];
        for (Operand* o : operands) o->steps[i] = o->steps[i + 1];
        drop(i + 1);
    }
    if (last == first) {
        domain.insert(first, 1);
        for (Operand* o : operands) o->steps.insert(first, 0);
        ++last;
    }
    return last - first;
}

/// Pointers to all operands of a fused program, for `collapse`.
inline array_list<operand*> operands_of(fused& f) {
    array_list<operand*> list;
    for (operand& o : f.leaves) list.push_back(&o);
    for (operand& o : f.outputs) list.push_back(&o);
    return list;
}

/// How a program can be read or written four elements at a time along the last axis of `domain`:
/// bit k says that leaf k is contiguous there and aligned. Empty where it cannot.
inline std::optional<std::uint32_t> vector_mask(const fused& f, const shape& domain) {
    const int inner = domain.rank() - 1;
    if (inner < 0) return std::nullopt;
    const auto aligned = [&](const operand& o) {
        if (o.offset % 4 != 0) return false;
        for (int i = 0; i < inner; ++i)
            if (domain[i] != 1 && o.steps[i] % 4 != 0) return false;
        return true;
    };
    std::uint32_t mask = 0;
    for (std::size_t k = 0; k < f.leaves.size(); ++k) {
        const operand& o = f.leaves[k];
        if (o.steps[inner] == 1 && (o.buffer < 0 || aligned(o))) mask |= 1u << k;
        else if (o.steps[inner] != 0) return std::nullopt;
    }
    for (const operand& o : f.outputs)
        if (o.steps[inner] != 1 || !aligned(o)) return std::nullopt;
    return mask;
}

}}  // namespace pumice::PUMICE_ABI
