// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The program of a fused kernel: instructions in single-assignment form, made by the compiler from
// a type or at run time from a graph; `canonical` gives both the same form, hence the same text.
#pragma once

#include <pumice/base/fixed_string.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/storage_format.hpp>
#include <pumice/expr/op.hpp>

#include <cstdint>

namespace pumice { inline namespace PUMICE_ABI {

/// The longest program; longer ones are split by the fuser.
inline constexpr int max_program = 256;
/// Memory operands that one kernel reads, and outputs that it writes.
inline constexpr int max_leaves = 16, max_outputs = 4;

struct instruction {
    enum class code : std::uint8_t {
        leaf,    // an element read from memory operand number `index`
        iota,    // an index value: the offset of operand `index`, which has strides but no memory
        scalar,  // argument number `index`, a value that is never text
        given,   // value number `index` that the kernel hands in (an accumulator)
        apply,   // *op over `args`
        cast,    // args[0] converted to `type`, rounded or wrapped to its storage form
        coded,   // a leaf that lies in blocks of `format`; its strides count decoded elements
        mapped,  // a leaf read by an index map of the form `map` (core/index_map.hpp)
        inside   // whether mapped leaf `index` has an element at hand
    };
    code what = code::leaf;
    dtype type = dtype::f32;  // of the value
    std::uint16_t index = 0;
    std::uint16_t args[3] = {};  // earlier instructions
    const op_info* op = nullptr;
    const storage_format* format = nullptr;
    std::uint32_t map = 0;

    /// Whether it reads a memory operand.
    constexpr bool is_leaf() const noexcept {
        return what == code::leaf || what == code::coded || what == code::mapped;
    }
    constexpr int arity() const noexcept {
        return what == code::apply ? op->arity : what == code::cast ? 1 : 0;
    }
    friend constexpr bool operator==(const instruction& a, const instruction& b) noexcept {
        if (a.what != b.what || a.type != b.type || a.index != b.index || a.map != b.map)
            return false;
        // Not by address: under -fsanitize=undefined that is no constant to g++.
        if (a.what == code::apply && (a.op->name != b.op->name || a.op->body != b.op->body))
            return false;
        if (a.what == code::coded && a.format->name != b.format->name) return false;
        for (int i = 0; i < a.arity(); ++i)
            if (a.args[i] != b.args[i]) return false;
        return true;
    }
};

/// A program as algorithms read it. `outputs` are instruction numbers.
struct program_view {
    span<const instruction> code;
    span<const std::uint16_t> outputs;

    constexpr int count(instruction::code what) const noexcept {
        int n = 0;
        for (const instruction& i : code)
            if (i.what == what && i.index >= n) n = i.index + 1;
        return n;
    }
    /// Operands with strides: leaves and iotas share one numbering.
    constexpr int leaves() const noexcept {
        int n = 0;
        for (const auto what : {instruction::code::leaf, instruction::code::iota,
                                instruction::code::coded, instruction::code::mapped})
            if (const int k = count(what); k > n) n = k;
        return n;
    }
    constexpr int scalars() const noexcept { return count(instruction::code::scalar); }
    constexpr int givens() const noexcept { return count(instruction::code::given); }
    constexpr dtype output_type(int i = 0) const noexcept {
        return code[outputs[static_cast<std::size_t>(i)]].type;
    }
};

/// What a program is handed: an address that it reads or writes, or a number.
struct program_argument {
    enum : std::uint8_t { read, written, number, map } what;
    int index;  // of the leaf, which the map is of too, the output or the scalar
    dtype type;
};
/// f(argument) in the order of the struct Args, which the emitter writes and blocks hold.
template <class F>
constexpr void each_argument(program_view p, F&& f) {
    for (const instruction& i : p.code) {
        if (i.is_leaf())
            f(program_argument{program_argument::read, i.index,
                               i.format ? i.format->memory : i.type});
        if (i.what == instruction::code::mapped)
            f(program_argument{program_argument::map, i.index, i.type});
    }
    for (std::size_t k = 0; k < p.outputs.size(); ++k) {
        const int number = static_cast<int>(k);
        f(program_argument{program_argument::written, number, p.output_type(number)});
    }
    for (const instruction& i : p.code)
        if (i.what == instruction::code::scalar)
            f(program_argument{program_argument::number, i.index, i.type});
}

struct scalar;

/// A program that the C++ compiler made a loop of: n elements of dense operands to a dense result.
using native_loop = void(const void* const* leaves, const scalar* scalars, void* out,
                         std::int64_t n);

/// A program in constant storage: of a type, or a single op's.
template <std::size_t Capacity>
struct basic_program {
    fixed_vector<instruction, Capacity> code;
    fixed_vector<std::uint16_t, max_outputs> outputs;

    constexpr std::uint16_t push(const instruction& i) {
        code.push_back(i);
        return static_cast<std::uint16_t>(code.size() - 1);
    }
    constexpr program_view view() const noexcept {
        return {{code.data(), code.size()}, {outputs.data(), outputs.size()}};
    }
};

/// Where the operands of a canonical program came from: old number of each new one.
struct operand_order {
    fixed_vector<std::uint16_t, max_program> leaves, scalars, givens;

    constexpr std::uint16_t place(instruction::code what, std::uint16_t old) {
        auto& list = what == instruction::code::scalar  ? scalars
                     : what == instruction::code::given ? givens
                                                        : leaves;
        for (std::size_t i = 0; i < list.size(); ++i)
            if (list[i] == old) return static_cast<std::uint16_t>(i);
        list.push_back(old);
        return static_cast<std::uint16_t>(list.size() - 1);
    }
};

namespace detail {

template <class Out>
class canonicaliser {
public:
    constexpr canonicaliser(program_view in, Out& out, operand_order& order)
        : in_(in), out_(out), order_(order) {}

    constexpr std::uint16_t visit(std::uint16_t at) {
        if (done_[at] != 0) return static_cast<std::uint16_t>(done_[at] - 1);
        instruction i = in_.code[at];
        for (int k = 0; k < i.arity(); ++k) i.args[k] = visit(i.args[k]);
        if (i.arity() == 0) i.index = order_.place(i.what, i.index);
        const std::uint16_t number = place(i);
        done_[at] = static_cast<std::uint16_t>(number + 1);
        return number;
    }

private:
    /// Equal instructions become one: common subexpressions are merged here.
    constexpr std::uint16_t place(const instruction& i) {
        for (std::size_t k = 0; k < out_.code.size(); ++k)
            if (out_.code[k] == i) return static_cast<std::uint16_t>(k);
        return out_.push(i);
    }

    program_view in_;
    Out& out_;
    operand_order& order_;
    std::uint16_t done_[max_program] = {};
};

}  // namespace detail

/// Post-order from the outputs, operands numbered by first use, equal instructions merged.
/// Post: two programs that compute the same tree are equal, however they were built.
template <class Out>
constexpr Out canonical(program_view in, operand_order& order) {
    Out out;
    detail::canonicaliser<Out> walk(in, out, order);
    for (std::uint16_t root : in.outputs) out.outputs.push_back(walk.visit(root));
    return out;
}

/// The key of a canonical program: equal programs, and only they (but for a 2^-64 chance), agree.
constexpr std::uint64_t key_of(program_view p) noexcept {
    hasher h;
    for (const instruction& i : p.code) {
        h.add((static_cast<std::uint64_t>(i.what) << 40) |
              (static_cast<std::uint64_t>(i.type) << 32) | i.index);
        if (i.what == instruction::code::apply) h.add(i.op->name).add(i.op->body);
        if (i.what == instruction::code::coded)
            h.add(i.format->name).add(i.format->slang).add(i.format->text);
        if (i.what == instruction::code::mapped) h.add(i.map);
        for (int k = 0; k < i.arity(); ++k) h.add(i.args[k]);
    }
    for (std::uint16_t o : p.outputs) h.add(o);
    return h.value();
}

/// Type of `op` over operands of these types; empty when the op does not take them.
constexpr std::optional<dtype> result_type(const op_info& op, span<const dtype> operands) noexcept {
    dtype common = operands.back();
    for (std::size_t i = op.rule.selects ? 1 : 0; i < operands.size(); ++i)
        if (operands[i] != common) return std::nullopt;
    if (op.rule.selects && operands[0] != dtype::boolean) return std::nullopt;
    if (!op.rule.takes(common)) return std::nullopt;
    return op.rule.gives == type_rule::result::boolean ? dtype::boolean : common;
}

/// Whether `op` joins two values of `type` to one of it, so that an array can be reduced by it.
constexpr bool reduces(const op_info& op, dtype type) noexcept {
    const dtype operands[] = {type, type};
    return op.arity == 2 && result_type(op, operands) == type;
}

}}  // namespace pumice::PUMICE_ABI
