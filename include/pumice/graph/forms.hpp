// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What calls of elementwise ops and reductions are but for their operands: nodes of one form share
// their operation.
#pragma once

#include <pumice/graph/operation.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// An op over tensors and numbers that are brought to one type.
struct call_form {
    /// An operand: the type that a tensor has, and the one that it or a number is brought to.
    struct operand {
        dtype has = dtype::boolean, wanted = dtype::boolean;
        bool is_number = false;
    };
    const op_info* op;
    dtype gives;
    operand operands[3] = {};

    /// Inputs and scalars are numbered as they come among the operands.
    program make() const {
        program body;
        std::uint16_t inputs = 0, scalars = 0;
        instruction call{instruction::code::apply, gives, 0, {}, op};
        for (int i = 0; i < op->arity; ++i) {
            const operand& o = operands[i];
            std::uint16_t& arg = call.args[i];
            if (o.is_number) {
                arg = body.push({instruction::code::scalar, o.wanted, scalars++, {}, nullptr});
                continue;
            }
            arg = body.push({instruction::code::leaf, o.has, inputs++, {}, nullptr});
            if (o.has != o.wanted)
                arg = body.push({instruction::code::cast, o.wanted, 0, {arg}, nullptr});
        }
        body.outputs.push_back(body.push(call));
        return body;
    }
    /// All but the op.
    std::uint64_t word() const noexcept {
        std::uint64_t word = static_cast<std::uint64_t>(gives);
        for (const operand& o : operands)
            word = word << 16 | static_cast<std::uint64_t>(o.has) << 8 |
                   static_cast<std::uint64_t>(o.wanted) << 1 | (o.is_number ? 1 : 0);
        return word;
    }
};

/// The axes whose bits are set, ascending.
inline array_list<int> axes_of_mask(std::uint32_t mask) {
    array_list<int> axes;
    for (int i = 0; i < max_rank; ++i)
        if (mask >> i & 1) axes.push_back(i);
    return axes;
}

/// A reduction along some axes.
struct reduction_form {
    const op_info* op;  // that joins, or null
    reduction what;
    bool keepdims;
    std::uint32_t axes;  // bit i: along axis i

    reduce_op make() const { return {what, axes_of_mask(axes), keepdims, op}; }
    /// All but the op; no call has the same.
    std::uint64_t word() const noexcept {
        return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(what) << 16 |
               std::uint64_t{keepdims} << 15 | axes;
    }
};

/// The operation of a form, which `make` makes when it comes first: it is there until the process
/// ends. Null where more forms came than there is room for, or memory failed.
PUMICE_FUNCTION const operation* known_operation(const op_info* op, std::uint64_t word,
                                                 operation (*make)(const void* form),
                                                 const void* form) noexcept;

/// Of calls, without the numbers.
PUMICE_FUNCTION const operation* known_call(const call_form& form) noexcept;
PUMICE_FUNCTION const operation* known_reduction(const reduction_form& form) noexcept;

#ifndef PUMICE_COMPILED

PUMICE_BODY const operation* known_operation(const op_info* op, std::uint64_t word,
                                             operation (*make)(const void* form),
                                             const void* form) noexcept {
    struct entry {
        const op_info* op;
        std::uint64_t word;
        operation what;
    };
    constexpr std::size_t room = 2048, most_probes = 16;  // a power of two
    static constinit std::atomic<const entry*> known[room] = {};
    std::size_t at =
        (reinterpret_cast<std::uintptr_t>(op) / alignof(op_info) ^ word) * 0x9e3779b97f4a7c15u >>
        32;
    for (std::size_t probe = 0; probe < most_probes; ++probe, ++at) {
        std::atomic<const entry*>& slot = known[at % room];
        const entry* found = slot.load(std::memory_order_acquire);
        if (!found) try {
                const entry* const made = new entry{op, word, make(form)};
                if (slot.compare_exchange_strong(found, made, std::memory_order_acq_rel))
                    found = made;
                else delete made;
            } catch (const std::bad_alloc&) {
                return nullptr;
            }
        if (found->op == op && found->word == word) return &found->what;
    }
    return nullptr;
}

PUMICE_BODY const operation* known_call(const call_form& form) noexcept {
    const auto make = [](const void* of) -> operation {
        return elementwise_op{
            std::make_shared<const program>(static_cast<const call_form*>(of)->make()), {}, {}};
    };
    return known_operation(form.op, form.word(), make, &form);
}
PUMICE_BODY const operation* known_reduction(const reduction_form& form) noexcept {
    const auto make = [](const void* of) -> operation {
        return static_cast<const reduction_form*>(of)->make();
    };
    return known_operation(form.op, form.word(), make, &form);
}

#endif

}}}  // namespace pumice::PUMICE_ABI::detail
