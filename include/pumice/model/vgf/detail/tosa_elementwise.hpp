// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of TOSA's elementwise operators (TOSA 1.0, chapter 2). Integers have no sign of their
// own there: operators say how they read them.
#pragma once

#include <pumice/graph/gather.hpp>
#include <pumice/model/vgf/detail/tosa_node.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf::build {

template <class Op>
any_tensor unary(const tosa_node& n) {
    return apply<Op>(n.tensor(0));
}
template <class Op>
any_tensor binary(const tosa_node& n) {
    return apply<Op>(n.tensor(0), n.tensor(1));
}
template <class Op>
any_tensor ternary(const tosa_node& n) {
    return apply<Op>(n.tensor(0), n.tensor(1), n.tensor(2));
}

inline dtype unsigned_of(dtype type) {
    switch (type) {
        case dtype::i4: return dtype::u4;
        case dtype::i8: return dtype::u8;
        case dtype::i16: return dtype::u16;
        case dtype::i32: return dtype::u32;
        case dtype::i64: return dtype::u64;
        default: return type;
    }
}
/// The numbers that an integer type holds, as far as i64 has them.
inline std::pair<std::int64_t, std::int64_t> range_of(dtype type, bool is_unsigned = false) {
    const bool wide = info(type).bits >= 64;
    const integer_limits held = limits_of(wide          ? dtype::i64
                                          : is_unsigned ? unsigned_of(type)
                                                        : type);
    return {held.min, static_cast<std::int64_t>(held.max)};
}
/// An operand of one element without axes, so that it stands beside any tensor.
inline any_tensor scalar_of(const any_tensor& t) { return t.size() == 1 ? reshape(t, {}) : t; }

inline any_tensor clamp(const tosa_node& n) {
    const any_tensor x = n.tensor(3);
    const any_operand low = n.number(0), high = n.number(1);
    if (n.ignores_nan(2) && is_floating(x.dtype()))
        return apply<op::minimum>(apply<op::fmax>(x, low), high);
    return apply<op::clip>(x, low, high);
}
template <class Op, class Ignoring>
any_tensor extremum(const tosa_node& n) {
    const any_tensor x = n.tensor(1), y = n.tensor(2);
    return n.ignores_nan(0) && is_floating(x.dtype()) ? apply<Ignoring>(x, y) : apply<Op>(x, y);
}

inline any_tensor arithmetic_right_shift(const tosa_node& n) {
    const any_tensor x = n.tensor(1), by = n.tensor(2);
    const any_tensor moved = apply<op::bitwise_right_shift>(x, by);
    if (!n.flag(0)) return moved;
    const any_tensor less = apply<op::maximum>(apply<op::subtract>(by, 1), 0);
    const any_tensor last = apply<op::bitwise_and>(apply<op::bitwise_right_shift>(x, less), 1);
    return apply<op::add>(moved, apply<op::where>(apply<op::greater>(by, 0), last,
                                                  apply<op::subtract>(last, last)));
}
inline any_tensor logical_right_shift(const tosa_node& n) {
    const any_tensor x = n.tensor(0);
    const dtype bits = unsigned_of(x.dtype());
    return astype(apply<op::bitwise_right_shift>(astype(x, bits), astype(n.tensor(1), bits)),
                  x.dtype());
}

/// (value * multiplier + round) >> shift in 64 bits (TOSA's apply_scale_32). `twice`: rounded as
/// DOUBLE_ROUND does.
inline any_tensor apply_scale(const any_tensor& value, const any_tensor& multiplier,
                              const any_tensor& shift, bool twice) {
    const any_tensor v = astype(value, dtype::i64), m = astype(multiplier, dtype::i64),
                     s = astype(shift, dtype::i64);
    const any_tensor one = apply<op::add>(apply<op::multiply>(s, 0), 1);
    any_tensor round =
        apply<op::bitwise_left_shift>(one, apply<op::maximum>(apply<op::subtract>(s, 1), 0));
    if (twice) {
        const any_tensor more = apply<op::where>(apply<op::greater>(s, 31), std::int64_t(1) << 30,
                                                 apply<op::multiply>(s, 0));
        round = apply<op::add>(round, apply<op::where>(apply<op::less>(v, 0),
                                                       apply<op::negative>(more), more));
    }
    return apply<op::bitwise_right_shift>(apply<op::add>(apply<op::multiply>(v, m), round), s);
}

inline any_tensor mul(const tosa_node& n) {
    any_tensor x = n.tensor(0), y = n.tensor(1);
    if (is_floating(x.dtype())) return apply<op::multiply>(x, y);
    const std::int64_t shift = n.integer(2);
    n.require(shift >= 0 && shift < 63, {"it shifts by ", shift});
    if (shift == 0) return apply<op::multiply>(astype(x, n.type()), astype(y, n.type()));
    const any_tensor product = apply<op::multiply>(astype(x, dtype::i64), astype(y, dtype::i64));
    const any_tensor rounded = apply<op::add>(product, std::int64_t(1) << (shift - 1));
    return astype(apply<op::bitwise_right_shift>(rounded, shift), n.type());
}

inline any_tensor negate(const tosa_node& n) {
    const any_tensor x = n.tensor(0);
    if (is_floating(x.dtype())) return apply<op::negative>(x);
    const std::int64_t sum = n.integer(1) + n.integer(2);
    const auto [low, high] = range_of(x.dtype());
    if (sum == 0 && info(x.dtype()).bits >= 32) return apply<op::negative>(x);
    const any_tensor wide = apply<op::subtract>(sum, astype(x, dtype::i64));
    return astype(apply<op::clip>(wide, low, high), x.dtype());
}

/// i8 by a table of 256; i16 between entries of a table of 513, to i32.
inline any_tensor table(const tosa_node& n) {
    const any_tensor x = n.tensor(0), entries = n.tensor(1);
    if (x.dtype() == dtype::i8) {
        n.require(entries.shape() == shape{256},
                  {"its table has the shape ", to_string(entries.shape())});
        return take(entries, apply<op::add>(astype(x, dtype::i32), 128));
    }
    n.require(x.dtype() == dtype::i16 && entries.shape() == shape{513},
              {"a table of shape ", to_string(entries.shape()), " for ", to_string(x.dtype())});
    const any_tensor v = apply<op::add>(astype(x, dtype::i32), 32768),
                     at = apply<op::bitwise_right_shift>(v, 7),
                     part = apply<op::bitwise_and>(v, 127);
    const any_tensor base = astype(take(entries, at), dtype::i32),
                     next = astype(take(entries, apply<op::add>(at, 1)), dtype::i32);
    return apply<op::add>(apply<op::multiply>(base, 128),
                          apply<op::multiply>(apply<op::subtract>(next, base), part));
}

/// Zeros in front, found by halves.
inline any_tensor clz(const tosa_node& n) {
    any_tensor x = astype(n.tensor(0), dtype::u32);
    any_tensor zeros = apply<op::multiply>(x, 0);
    for (const int half : {16, 8, 4, 2, 1}) {
        const any_tensor less = apply<op::less>(x, std::int64_t(1) << (32 - half));
        zeros = apply<op::add>(zeros, apply<op::multiply>(astype(less, dtype::u32), half));
        x = apply<op::where>(less, apply<op::bitwise_left_shift>(x, half), x);
    }
    const any_tensor none = astype(apply<op::equal>(x, 0), dtype::u32);
    return astype(apply<op::add>(zeros, none), dtype::i32);
}

inline any_tensor cast(const tosa_node& n) {
    const any_tensor x = n.tensor(0);
    const dtype to = n.computed(n.type());
    if (to == dtype::boolean) return apply<op::not_equal>(x, 0);
    if (is_floating(x.dtype()) && !is_floating(to)) return astype(apply<op::round>(x), to);
    return astype(x, to);
}

inline any_tensor rescale(const tosa_node& n) {
    const bool scale32 = n.flag(0), per_channel = n.flag(2);
    const std::int64_t rounding = n.integer(1);
    if (rounding != 1 && rounding != 3)
        n.unsupported({"its rounding mode ", rounding,
                       "; SINGLE_ROUND (1) and DOUBLE_ROUND (3) are taken"});
    any_tensor x = n.tensor(5);
    if (n.flag(3)) x = astype(x, unsigned_of(x.dtype()));
    const auto point = [&](std::size_t i, dtype type, bool is_unsigned) {
        const std::int64_t zero = n.integer(i);
        return is_unsigned && zero < 0 ? zero + (std::int64_t(1) << info(type).bits) : zero;
    };
    const any_tensor v = apply<op::subtract>(astype(x, dtype::i64), point(8, x.dtype(), n.flag(3)));
    any_tensor multiplier = n.tensor(6), shift = n.tensor(7);
    if (!per_channel) multiplier = scalar_of(multiplier), shift = scalar_of(shift);
    if (!scale32 && rounding == 3) n.unsupported({"DOUBLE_ROUND of a scale of 16 bits"});
    const any_tensor scaled = apply<op::add>(apply_scale(v, multiplier, shift, rounding == 3),
                                             point(9, n.type(), n.flag(4)));
    const auto [low, high] = range_of(n.type(), n.flag(4));
    return astype(apply<op::clip>(scaled, low, high), n.type());
}

}}}  // namespace pumice::PUMICE_ABI::vgf::build
