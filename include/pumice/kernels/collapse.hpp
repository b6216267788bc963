// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Fewer axes for the same accesses: ones dropped, neighbours merged where every operand allows it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/problem.hpp>

#include <algorithm>

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

/// How a program can be read or written in runs of so many elements along the last axis of
/// `domain`: bit k says that leaf k is contiguous there and aligned. Empty where it cannot.
inline std::optional<std::uint32_t> vector_mask(const fused& f, const shape& domain, int run = 4) {
    const int inner = domain.rank() - 1;
    if (inner < 0) return std::nullopt;
    const auto aligned = [&](const operand& o) {
        if (o.offset % run != 0) return false;
        for (int i = 0; i < inner; ++i)
            if (domain[i] != 1 && o.steps[i] % run != 0) return false;
        return true;
    };
    std::uint32_t mask = 0;
    for (std::size_t k = 0; k < f.leaves.size(); ++k) {
        const operand& o = f.leaves[k];
        if (o.steps[inner] == 1 && (!o.in_memory() || !o.map.empty() || aligned(o)))
            mask |= 1u << k;
        else if (o.steps[inner] != 0) return std::nullopt;
    }
    for (const operand& o : f.outputs)
        if (o.steps[inner] != 1 || !aligned(o)) return std::nullopt;
    return mask;
}

/// Runs in which programs can be read and written along the last axis of `domain`: how many
/// elements, and the masks of two programs. `elements` is 1 where they cannot.
struct vector_runs {
    int elements = 1;
    std::uint32_t masks[2] = {};
    explicit operator bool() const noexcept { return elements > 1; }
};

/// The best runs: as many elements as 16 bytes hold of the narrowest operand, but at most 32 bytes
/// of the widest, and 4 at least; fewer where operands are not aligned to so many. `whole`: the
/// axis has to be a multiple of them. Of outputs that share bytes they are whole words, 8 at least,
/// so that single elements behind the last run share none with it.
inline vector_runs runs_of(std::initializer_list<const fused*> programs, const shape& domain,
                           bool whole, int most = 16) {
    vector_runs r;
    const int inner = domain.rank() - 1;
    if (inner < 0 || most < 4) return r;
    int narrowest = 128, widest = 8, least = 4;  // bits; elements
    for (const fused* f : programs)
        for (const auto* list : {&f->leaves, &f->outputs})
            for (const operand& o : *list)
                if (o.in_memory() && o.steps[inner] != 0) {
                    narrowest = std::min(narrowest, info(o.type).bits);
                    widest = std::max(widest, info(o.type).bits);
                }
    for (const fused* f : programs)
        for (const operand& o : f->outputs)
            if (is_packed(o.type)) least = 8;
    if (most < least) return r;
    most = std::clamp(std::min(128 / narrowest, 256 / widest), least, most);
    for (int run = most; run >= least; run /= 2) {
        if (whole && domain.back() % run != 0) continue;
        bool fit = true;
        int k = 0;
        for (const fused* f : programs) {
            const std::optional<std::uint32_t> mask = vector_mask(*f, domain, run);
            fit = fit && mask;
            r.masks[k++] = mask.value_or(0);
        }
        if (!fit) continue;
        r.elements = run;
        break;
    }
    return r;
}

}}  // namespace pumice::PUMICE_ABI
