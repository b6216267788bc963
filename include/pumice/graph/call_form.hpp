// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a call of an elementwise op is but for its operands' values: its program. Nodes of the same
// form share one.
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
    std::uint64_t types() const noexcept {
        std::uint64_t word = static_cast<std::uint64_t>(gives);
        for (const operand& o : operands)
            word = word << 16 | static_cast<std::uint64_t>(o.has) << 8 |
                   static_cast<std::uint64_t>(o.wanted) << 1 | (o.is_number ? 1 : 0);
        return word;
    }
};

/// The operation of calls of this form, without the numbers: it is there until the process ends.
/// Null where more forms came than it has room for, or memory failed.
PUMICE_FUNCTION const operation* known_call(const call_form& form) noexcept;

#ifndef PUMICE_COMPILED

PUMICE_BODY const operation* known_call(const call_form& form) noexcept {
    struct call {
        const op_info* op;
        std::uint64_t types;
        operation what;
    };
    constexpr std::size_t room = 2048, most_probes = 16;  // a power of two
    static constinit std::atomic<const call*> known[room] = {};
    const std::uint64_t types = form.types();
    std::size_t at = (reinterpret_cast<std::uintptr_t>(form.op) / alignof(op_info) ^ types) *
                         0x9e3779b97f4a7c15u >>
                     32;
    for (std::size_t probe = 0; probe < most_probes; ++probe, ++at) {
        std::atomic<const call*>& slot = known[at % room];
        const call* found = slot.load(std::memory_order_acquire);
        if (!found) try {
                const call* const made =
                    new call{form.op, types,
                             elementwise_op{std::make_shared<const program>(form.make()), {}, {}}};
                if (slot.compare_exchange_strong(found, made, std::memory_order_acq_rel))
                    found = made;
                else delete made;
            } catch (const std::bad_alloc&) {
                return nullptr;
            }
        if (found->op == form.op && found->types == types) return &found->what;
    }
    return nullptr;
}

#endif

}}}  // namespace pumice::PUMICE_ABI::detail
