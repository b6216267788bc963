// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Programs by hand, for tests.
#pragma once

#include <pumice/expr/ops.hpp>
#include <pumice/expr/program.hpp>

#include <initializer_list>
#include <string>
#include <vector>

namespace pumice_test {

/// A program that grows by one instruction a call; `out` names its outputs.
class builder {
public:
    std::uint16_t leaf(int index, pumice::dtype t = pumice::dtype::f32) {
        return operand(pumice::instruction::code::leaf, index, t);
    }
    std::uint16_t iota(int index, pumice::dtype t = pumice::dtype::i64) {
        return operand(pumice::instruction::code::iota, index, t);
    }
    std::uint16_t number(int index, pumice::dtype t = pumice::dtype::f32) {
        return operand(pumice::instruction::code::scalar, index, t);
    }
    std::uint16_t given(int index = 0, pumice::dtype t = pumice::dtype::f32) {
        return operand(pumice::instruction::code::given, index, t);
    }
    std::uint16_t cast(pumice::dtype t, std::uint16_t a) {
        return push({pumice::instruction::code::cast, t, 0, {a, 0, 0}, nullptr});
    }
    template <class Op, class... A>
    std::uint16_t apply(A... a) {
        const std::uint16_t args[] = {a...};
        const pumice::dtype last = code_[args[sizeof...(A) - 1]].type;
        const bool boolean = Op::rule.gives == pumice::type_rule::result::boolean;
        pumice::instruction i{pumice::instruction::code::apply,
                              boolean ? pumice::dtype::boolean : last,
                              0,
                              {},
                              &pumice::op_info_of<Op>};
        for (std::size_t k = 0; k < sizeof...(A); ++k) i.args[k] = args[k];
        return push(i);
    }
    builder& out(std::initializer_list<std::uint16_t> list) {
        outputs_.assign(list);
        return *this;
    }
    pumice::program_view view() const { return {code_, outputs_}; }

private:
    std::uint16_t operand(pumice::instruction::code what, int index, pumice::dtype t) {
        return push({what, t, static_cast<std::uint16_t>(index), {}, nullptr});
    }
    std::uint16_t push(const pumice::instruction& i) {
        code_.push_back(i);
        return static_cast<std::uint16_t>(code_.size() - 1);
    }
    std::vector<pumice::instruction> code_;
    std::vector<std::uint16_t> outputs_;
};

/// "v0 = leaf 0 f32; v1 = relu(v0)": for messages and comparisons.
inline std::string to_string(pumice::program_view p) {
    using code = pumice::instruction::code;
    std::string text;
    for (std::size_t n = 0; n < p.code.size(); ++n) {
        const pumice::instruction& i = p.code[n];
        text += "v" + std::to_string(n) + "=";
        const char* kinds[] = {"leaf", "iota", "scalar", "given"};
        if (i.arity() == 0) text += kinds[static_cast<int>(i.what)] + std::to_string(i.index);
        else text += i.what == code::cast ? "cast" : std::string(i.op->name);
        text += ":" + std::string(pumice::to_string(i.type));
        for (int k = 0; k < i.arity(); ++k)
            text += (k == 0 ? "(v" : ",v") + std::to_string(i.args[k]);
        text += i.arity() > 0 ? "); " : "; ";
    }
    for (std::uint16_t o : p.outputs) text += ">v" + std::to_string(o);
    return text;
}

}  // namespace pumice_test
