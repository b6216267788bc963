// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What an elementwise op is: one line that gives the C++ function, the Slang text and the host
// code.
#pragma once

#include <pumice/core/dtype.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// Which element types an op takes (a set of kinds) and what it gives.
struct type_rule {
    enum class result : std::uint8_t { same, boolean };
    std::uint8_t kinds;  // bits of `kind`
    result gives = result::same;
    bool selects = false;  // the first operand is a bool that does not take part in promotion

    constexpr bool takes(dtype t) const noexcept {
        return (kinds & static_cast<std::uint8_t>(info(t).kind)) != 0;
    }
};

namespace rules {
inline constexpr std::uint8_t b = 1, i = 2, u = 4, f = 8;
inline constexpr type_rule any{b | i | u | f};
inline constexpr type_rule numeric{i | u | f};
inline constexpr type_rule signed_numeric{i | f};
inline constexpr type_rule floating{f};
inline constexpr type_rule logical{b};
inline constexpr type_rule bits{b | i | u};
inline constexpr type_rule integral{i | u};
inline constexpr type_rule compare{b | i | u | f, type_rule::result::boolean};
inline constexpr type_rule order{i | u | f, type_rule::result::boolean};
inline constexpr type_rule classify{f, type_rule::result::boolean};
inline constexpr type_rule choose{b | i | u | f, type_rule::result::same, true};
}  // namespace rules

/// How an ONNX operator reaches an op: its name, then attributes that become trailing scalar
/// operands, each with ONNX's default: "LeakyRelu alpha=0.01". Empty: no ONNX operator.
using onnx_spelling = std::string_view;

/// The run-time form of an op; one constant per op, compared by address.
struct op_info {
    std::string_view name;
    std::string_view
        body;  // an expression over x, y, z and T, in the words that C++ and Slang share
    onnx_spelling onnx;
    int arity;
    type_rule rule;
    /// Evaluates n elements held in the arithmetic type: out[i] = body(in[0][i], ...).
    void (*host)(arithmetic type, const void* const* in, void* out, std::size_t n);
};

template <class... Ops>
struct op_list {};

namespace detail {
template <class Op>
void host_block(arithmetic type, const void* const* in, void* out, std::size_t n);
}  // namespace detail

/// The constant that stands for `Op` in programs.
template <class Op>
inline constexpr op_info op_info_of{Op::name,  Op::body, Op::onnx,
                                    Op::arity, Op::rule, &detail::host_block<Op>};

/// The constants of a list of ops.
template <class... Ops>
constexpr std::array<const op_info*, sizeof...(Ops)> infos_of(op_list<Ops...>) {
    return {&op_info_of<Ops>...};
}

namespace detail {
/// How many operands a body names: 3 where it has z, 2 where it has y, else 1.
constexpr int operands_named(std::string_view body) {
    const auto of_name = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
               (c >= 'a' && c <= 'z');
    };
    int most = 1;
    bool before = false;  // whether a name goes on
    for (std::size_t i = 0; i < body.size(); ++i) {
        const char c = body[i];
        const bool names = of_name(c);
        if ((c == 'y' || c == 'z') && !before && (i + 1 == body.size() || !of_name(body[i + 1])))
            most = c == 'z' || most == 3 ? 3 : 2;
        before = names;
    }
    return most;
}
}  // namespace detail

/// The callable that users write; `operator()` lives with the expression (tensor/expression.hpp),
/// `reduce` with the reductions (tensor/axes.hpp).
template <class Op>
struct op_function {
    template <class... A>
    constexpr auto operator()(A&&... operands) const;
    /// Elements joined by the op, along axes that the other arguments name as those of pm::sum:
    /// pm::bitwise_xor.reduce(x, pm::axis<0>). The op has to be associative and commutative, and to
    /// give the type that it takes; order and brackets are left open (NumPy's ufunc.reduce).
    template <class X, class... A>
    auto reduce(X&& x, A&&... axes) const;
};

}}  // namespace pumice::PUMICE_ABI

// Where an op's loop over values of the host is compiled: in each file that uses it.
#define PUMICE_OP_LOOP(NAME)

/// Defines an elementwise op in any namespace:
///     PUMICE_OP(swish2, 1, pumice::rules::floating, "", x / (T(1) + pm_exp(-T(2) * x)))
/// gives the type `op::swish2`, the function `swish2(a)`, its Slang and its host code. Operands are
/// x, y, z (as many as the arity), T is the arithmetic type, pm_* the functions of
/// expr/host_math.hpp.
#define PUMICE_OP(NAME, ARITY, RULE, ONNX, ...)                                           \
    namespace op {                                                                        \
    struct NAME {                                                                         \
        static constexpr std::string_view name = #NAME, body = #__VA_ARGS__, onnx = ONNX; \
        static constexpr int arity = ARITY;                                               \
        static_assert(arity >= 1 && arity <= 3, "an op has 1 to 3 operands");             \
        static_assert(::pumice::detail::operands_named(body) <= arity,                    \
                      "the body names more of x, y, z than the op has operands");         \
        static constexpr ::pumice::type_rule rule = RULE;                                 \
        template <class T, class B>                                                       \
        static constexpr auto host([[maybe_unused]] B x, [[maybe_unused]] T y,            \
                                   [[maybe_unused]] T z) {                                \
            using namespace ::pumice::host_math;                                          \
            return (__VA_ARGS__);                                                         \
        }                                                                                 \
    };                                                                                    \
    }                                                                                     \
    PUMICE_OP_LOOP(NAME)                                                                  \
    inline constexpr ::pumice::op_function<op::NAME> NAME {}
