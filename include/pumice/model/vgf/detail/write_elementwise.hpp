// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elementwise ops as operations of TOSA.
#pragma once

#include <pumice/core/scalar.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/model/vgf/detail/mlir_text.hpp>

#include <algorithm>
#include <limits>
#include <numbers>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

/// The operations that ops are written with. Integers below 32 bits are computed in 32.
class tosa_writer : public mlir_text {
public:
    using value = mlir_value;

    [[noreturn, gnu::cold]] static void lacks(std::initializer_list<piece> what) {
        throw error(errc::unsupported_op, "vgf", cat({"TOSA has no ", cat(what)}));
    }

    value number(const value& like, double v) { return number(like.type, like.shape.rank(), v); }
    value number(dtype type, int rank, double v) {
        std::byte bytes[8];
        std::size_t size = 0;
        visit(type, [&](auto t) {
            using T = decltype(t);
            if constexpr (packed_element<T>) lacks({"numbers of ", to_string(dtype_of<T>)});
            else {
                const T made = convert<T>(v);
                size = sizeof made;
                std::memcpy(bytes, &made, size);
            }
        });
        shape one;
        for (int i = 0; i < rank; ++i) one.push_back(1);
        return constant(type, one, span(bytes, size));
    }
    value cast(const value& x, dtype to) { return x.type == to ? x : op("cast", {x}, to, x.shape); }
    value reshaped(const value& x, const shape& s) {
        return x.shape == s ? x : op("reshape", {x, sizes(s)}, x.type, s);
    }
    value transposed(const value& x, span<const std::int64_t> order) {
        std::string list;
        shape s;
        bool same = true;
        for (std::size_t i = 0; i < order.size(); ++i) {
            append_text(list, {i == 0 ? "" : ", ", order[i]});
            s.push_back(x.shape[static_cast<int>(order[i])]);
            same = same && order[i] == static_cast<std::int64_t>(i);
        }
        return same ? x : op("transpose", {x}, x.type, s, cat({"perms = array<i32: ", list, ">"}));
    }
    value transposed(const value& x, std::initializer_list<std::int64_t> order) {
        return transposed(x, span(order.begin(), order.size()));
    }
    value tiled(const value& x, const shape& to) {
        shape times;
        bool same = true;
        for (int i = 0; i < to.rank(); ++i) {
            times.push_back(to[i] / x.shape[i]);
            same = same && times[i] == 1;
        }
        return same ? x : op("tile", {x, sizes(times)}, x.type, to);
    }
    value sliced(const value& x, const shape& start, const shape& size) {
        return size == x.shape ? x : op("slice", {x, sizes(start), sizes(size)}, x.type, size);
    }
    value reduced(std::string_view name, const value& x, int axis) {
        shape s = x.shape;
        s[axis] = 1;
        const bool extremum = name == "reduce_max" || name == "reduce_min";
        return op(name, {x}, x.type, s,
                  cat({"axis = ", axis, " : i32", extremum ? propagate : ""}));
    }

    // Of two values of as many axes, broadcast.
    value two(std::string_view name, const value& a, const value& b, dtype type,
              std::string_view attributes = "") {
        return op(name, {a, b}, type, broadcast(a.shape, b.shape, "vgf"), attributes);
    }
    value add(const value& a, const value& b) { return two("add", a, b, a.type); }
    value sub(const value& a, const value& b) { return two("sub", a, b, a.type); }
    value mul(const value& a, const value& b) {
        const std::byte none{};
        return op("mul", {a, b, constant(dtype::i8, {1}, span(&none, 1))}, a.type,
                  broadcast(a.shape, b.shape, "vgf"));
    }
    value one(std::string_view name, const value& x) { return op(name, {x}, x.type, x.shape); }
    value larger(const value& a, const value& b) {
        return two("maximum", a, b, a.type, propagate + 2);
    }
    value smaller(const value& a, const value& b) {
        return two("minimum", a, b, a.type, propagate + 2);
    }
    value greater(const value& a, const value& b) { return two("greater", a, b, dtype::boolean); }
    value invert(const value& x) { return one("logical_not", x); }
    value select(const value& c, const value& a, const value& b) {
        return op("select", {c, a, b}, a.type,
                  broadcast(c.shape, broadcast(a.shape, b.shape, "vgf"), "vgf"));
    }
    value negative(const value& x) { return sub(number(x, 0), x); }
    value divide(const value& a, const value& b) {
        return is_floating(a.type) ? mul(a, one("reciprocal", b)) : two("intdiv", a, b, a.type);
    }
    value clipped(const value& x, double low, double high) {
        return smaller(larger(x, number(x, low)), number(x, high));
    }
    value times(const value& x, double v) { return mul(x, number(x, v)); }
    value plus(const value& x, double v) { return add(x, number(x, v)); }
    /// exp(x) - 1.
    value grown(const value& x) { return plus(one("exp", x), -1); }
    value softplus(const value& x) {
        const value least = negative(one("abs", x));
        return add(one("log", plus(one("exp", least), 1)), larger(x, number(x, 0)));
    }
    value truncated(const value& x) {
        return select(greater(number(x, 0), x), one("ceil", x), one("floor", x));
    }

    /// An op of the table over operands of one type. Throws errc::unsupported_op for what TOSA has
    /// nothing for.
    value apply(const op_info& info_of_op, span<const value> in, dtype type) {
        const dtype from = in.back().type;
        const bool narrow = !is_floating(from) && from != dtype::boolean && info(from).bits < 32;
        if (!narrow) return written(info_of_op.name, in, type);
        std::vector<value> wide;
        for (const value& v : in) wide.push_back(v.type == from ? cast(v, dtype::i32) : v);
        const dtype to = type == from ? dtype::i32 : type;
        return cast(written(info_of_op.name, wide, to), type);
    }

private:
    static constexpr const char* propagate = ", nan_mode = #tosa.nan_mode<PROPAGATE>";
    static constexpr const char* ignore = "nan_mode = #tosa.nan_mode<IGNORE>";

    value written(std::string_view name, span<const value> in, dtype type) {
        struct row {
            std::string_view name;
            value (*write)(tosa_writer& w, span<const value> v, dtype type);
        };
        using W = tosa_writer;
        using V = span<const value>;
        // clang-format off
        static constexpr row rows[] = {
            {"add",        [](W& w, V v, dtype) { return w.add(v[0], v[1]); }},
            {"subtract",   [](W& w, V v, dtype) { return w.sub(v[0], v[1]); }},
            {"multiply",   [](W& w, V v, dtype) { return w.mul(v[0], v[1]); }},
            {"divide",     [](W& w, V v, dtype) { return w.divide(v[0], v[1]); }},
            {"pow",        [](W& w, V v, dtype t) { return w.two("pow", v[0], v[1], t); }},
            {"maximum",    [](W& w, V v, dtype) { return w.larger(v[0], v[1]); }},
            {"minimum",    [](W& w, V v, dtype) { return w.smaller(v[0], v[1]); }},
            {"fmax",       [](W& w, V v, dtype t) { return w.two("maximum", v[0], v[1], t, ignore); }},
            {"fmin",       [](W& w, V v, dtype t) { return w.two("minimum", v[0], v[1], t, ignore); }},
            {"fma",        [](W& w, V v, dtype) { return w.add(w.mul(v[0], v[1]), v[2]); }},
            {"lerp",       [](W& w, V v, dtype) { return w.add(v[0], w.mul(v[2], w.sub(v[1], v[0]))); }},
            {"squared_difference", [](W& w, V v, dtype) { const value d = w.sub(v[0], v[1]); return w.mul(d, d); }},
            {"negative",   [](W& w, V v, dtype) { return w.negative(v[0]); }},
            {"positive",   [](W&, V v, dtype) { return v[0]; }},
            {"abs",        [](W& w, V v, dtype) { return w.one("abs", v[0]); }},
            {"sign",       [](W& w, V v, dtype) { const value z = w.number(v[0], 0); return w.select(w.greater(v[0], z), w.number(v[0], 1), w.select(w.greater(z, v[0]), w.number(v[0], -1), v[0])); }},
            {"square",     [](W& w, V v, dtype) { return w.mul(v[0], v[0]); }},
            {"reciprocal", [](W& w, V v, dtype) { return w.one("reciprocal", v[0]); }},
            {"clip",       [](W& w, V v, dtype) { return w.smaller(w.larger(v[0], v[1]), v[2]); }},
            {"equal",      [](W& w, V v, dtype t) { return v[0].type == dtype::boolean ? w.invert(w.two("logical_xor", v[0], v[1], t)) : w.two("equal", v[0], v[1], t); }},
            {"not_equal",  [](W& w, V v, dtype t) { return v[0].type == dtype::boolean ? w.two("logical_xor", v[0], v[1], t) : w.invert(w.two("equal", v[0], v[1], t)); }},
            {"less",       [](W& w, V v, dtype) { return w.greater(v[1], v[0]); }},
            {"less_equal", [](W& w, V v, dtype t) { return w.two("greater_equal", v[1], v[0], t); }},
            {"greater",    [](W& w, V v, dtype) { return w.greater(v[0], v[1]); }},
            {"greater_equal", [](W& w, V v, dtype t) { return w.two("greater_equal", v[0], v[1], t); }},
            {"logical_and", [](W& w, V v, dtype t) { return w.two("logical_and", v[0], v[1], t); }},
            {"logical_or", [](W& w, V v, dtype t) { return w.two("logical_or", v[0], v[1], t); }},
            {"logical_xor", [](W& w, V v, dtype t) { return w.two("logical_xor", v[0], v[1], t); }},
            {"logical_not", [](W& w, V v, dtype) { return w.invert(v[0]); }},
            {"where",      [](W& w, V v, dtype) { return w.select(v[0], v[1], v[2]); }},
            {"isnan",      [](W& w, V v, dtype t) { return w.invert(w.two("equal", v[0], v[0], t)); }},
            {"isinf",      [](W& w, V v, dtype t) { return w.two("equal", w.one("abs", v[0]), w.number(v[0], std::numeric_limits<double>::infinity()), t); }},
            {"isfinite",   [](W& w, V v, dtype) { return w.greater(w.number(v[0], std::numeric_limits<double>::infinity()), w.one("abs", v[0])); }},
            {"bitwise_and", [](W& w, V v, dtype t) { return w.two("bitwise_and", v[0], v[1], t); }},
            {"bitwise_or", [](W& w, V v, dtype t) { return w.two("bitwise_or", v[0], v[1], t); }},
            {"bitwise_xor", [](W& w, V v, dtype t) { return w.two("bitwise_xor", v[0], v[1], t); }},
            {"bitwise_invert", [](W& w, V v, dtype) { return w.one("bitwise_not", v[0]); }},
            {"sqrt",       [](W& w, V v, dtype) { return w.one("reciprocal", w.one("rsqrt", v[0])); }},
            {"rsqrt",      [](W& w, V v, dtype) { return w.one("rsqrt", v[0]); }},
            {"exp",        [](W& w, V v, dtype) { return w.one("exp", v[0]); }},
            {"exp2",       [](W& w, V v, dtype) { return w.one("exp", w.times(v[0], std::numbers::ln2)); }},
            {"log",        [](W& w, V v, dtype) { return w.one("log", v[0]); }},
            {"log2",       [](W& w, V v, dtype) { return w.times(w.one("log", v[0]), std::numbers::log2e); }},
            {"log10",      [](W& w, V v, dtype) { return w.times(w.one("log", v[0]), std::numbers::log10e); }},
            {"sin",        [](W& w, V v, dtype) { return w.one("sin", v[0]); }},
            {"cos",        [](W& w, V v, dtype) { return w.one("cos", v[0]); }},
            {"tan",        [](W& w, V v, dtype) { return w.divide(w.one("sin", v[0]), w.one("cos", v[0])); }},
            {"tanh",       [](W& w, V v, dtype) { return w.one("tanh", v[0]); }},
            {"degrees",    [](W& w, V v, dtype) { return w.times(v[0], 180 / std::numbers::pi); }},
            {"radians",    [](W& w, V v, dtype) { return w.times(v[0], std::numbers::pi / 180); }},
            {"floor",      [](W& w, V v, dtype) { return is_floating(v[0].type) ? w.one("floor", v[0]) : v[0]; }},
            {"ceil",       [](W& w, V v, dtype) { return is_floating(v[0].type) ? w.one("ceil", v[0]) : v[0]; }},
            {"trunc",      [](W& w, V v, dtype) { return is_floating(v[0].type) ? w.truncated(v[0]) : v[0]; }},
            {"erf",        [](W& w, V v, dtype) { return w.one("erf", v[0]); }},
            {"sigmoid",    [](W& w, V v, dtype) { return w.one("sigmoid", v[0]); }},
            {"relu",       [](W& w, V v, dtype) { return w.larger(v[0], w.number(v[0], 0)); }},
            {"relu6",      [](W& w, V v, dtype) { return w.clipped(v[0], 0, 6); }},
            {"leaky_relu", [](W& w, V v, dtype) { return w.select(w.greater(w.number(v[0], 0), v[0]), w.mul(v[0], v[1]), v[0]); }},
            {"prelu",      [](W& w, V v, dtype) { return w.select(w.greater(w.number(v[0], 0), v[0]), w.mul(v[0], v[1]), v[0]); }},
            {"elu",        [](W& w, V v, dtype) { return w.select(w.greater(w.number(v[0], 0), v[0]), w.mul(v[1], w.grown(v[0])), v[0]); }},
            {"celu",       [](W& w, V v, dtype) { return w.select(w.greater(w.number(v[0], 0), v[0]), w.mul(v[1], w.grown(w.divide(v[0], v[1]))), v[0]); }},
            {"selu",       [](W& w, V v, dtype) { return w.mul(v[2], w.select(w.greater(v[0], w.number(v[0], 0)), v[0], w.mul(v[1], w.grown(v[0])))); }},
            {"thresholded_relu", [](W& w, V v, dtype) { return w.select(w.greater(v[0], v[1]), v[0], w.number(v[0], 0)); }},
            {"hard_sigmoid", [](W& w, V v, dtype) { return w.clipped(w.add(w.mul(v[0], v[1]), v[2]), 0, 1); }},
            {"hard_swish", [](W& w, V v, dtype) { return w.mul(v[0], w.clipped(w.plus(w.times(v[0], 1.0 / 6), 0.5), 0, 1)); }},
            {"hard_tanh",  [](W& w, V v, dtype) { return w.clipped(v[0], -1, 1); }},
            {"softplus",   [](W& w, V v, dtype) { return w.softplus(v[0]); }},
            {"softsign",   [](W& w, V v, dtype) { return w.divide(v[0], w.plus(w.one("abs", v[0]), 1)); }},
            {"silu",       [](W& w, V v, dtype) { return w.mul(v[0], w.one("sigmoid", v[0])); }},
            {"mish",       [](W& w, V v, dtype) { return w.mul(v[0], w.one("tanh", w.softplus(v[0]))); }},
            {"gelu",       [](W& w, V v, dtype) { return w.mul(w.times(v[0], 0.5), w.plus(w.one("erf", w.times(v[0], std::numbers::sqrt2 / 2)), 1)); }},
            {"gelu_tanh",  [](W& w, V v, dtype) { const value cube = w.mul(w.mul(v[0], v[0]), w.times(v[0], 0.044715)); return w.mul(v[0], w.one("sigmoid", w.times(w.add(v[0], cube), 1.5957691216057308))); }}};
        // clang-format on
        for (const row& r : rows)
            if (r.name == name) return r.write(*this, in, type);
        lacks({"operations for the op ", name});
    }
};

}}}  // namespace pumice::PUMICE_ABI::vgf
