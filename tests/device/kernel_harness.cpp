// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <tests/support/spacing.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace test {

// Values ------------------------------------------------------------------------------------------

namespace {

double special_real(dice& d, bool finite) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr double list[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               1e-30,
                               -1e-30,
                               1e30,
                               -1e30,
                               1e-3,
                               65504,
                               -65504,
                               88.7,
                               -103.9,
                               inf,
                               -inf,
                               std::numeric_limits<double>::quiet_NaN()};
    return list[d.in(0, finite ? 13 : 16)];
}

template <class T>
T draw(dice& d, values how) {
    if constexpr (std::is_same_v<T, bool>) {
        return d.chance(0.5);
    } else if constexpr (packed_element<T>) {
        return T(how == values::tiny ? d.bits() % 5 : d.bits());
    } else if constexpr (std::is_integral_v<T>) {
        if (how == values::tiny) return static_cast<T>(d.in(std::is_signed_v<T> ? -4 : 0, 4));
        if (d.chance(how == values::plain ? 0.7 : 0.4))
            return static_cast<T>(d.in(std::is_signed_v<T> ? -10 : 0, 20));
        if (d.chance(0.3))
            return d.chance(0.5) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
        return static_cast<T>(d.bits());
    } else {
        if (how == values::tiny) return T(static_cast<float>(d.in(-4, 4)));
        if (how != values::plain && d.chance(0.2)) {
            const double s = special_real(d, how == values::finite);
            const double most = std::is_same_v<T, f16>       ? 65504.0
                                : std::is_same_v<T, f8_e4m3> ? 448
                                : std::is_same_v<T, f8_e5m2> ? 57344
                                                             : 1e30;
            if constexpr (std::is_same_v<T, double>) return s;
            else return T(static_cast<float>(std::isfinite(s) ? std::clamp(s, -most, most) : s));
        }
        const double v = (d.real() * 8 - 4) * (d.chance(0.2) ? 16 : 1);
        if constexpr (std::is_same_v<T, double>) return v;
        else return T(static_cast<float>(v));
    }
}

}  // namespace

void fill(dice& d, dtype type, values how, std::byte* data, std::int64_t count) {
    visit(type, [&]<class T>(T) {
        for (std::int64_t i = 0; i < count; ++i) detail::store_element(data, i, draw<T>(d, how));
    });
}

shape random_shape(dice& d, int rank, std::int64_t most) {
    shape s = shape::filled(rank, 1);
    std::int64_t room = most;
    for (int i = 0; i < rank; ++i) {
        const int axis = static_cast<int>(d.in(0, rank - 1));
        if (s[axis] != 1 || d.chance(0.1)) continue;
        s[axis] = d.in(1, std::min<std::int64_t>(room, d.chance(0.7) ? 9 : 257));
        room /= s[axis];
    }
    return s;
}

// Buffers -----------------------------------------------------------------------------------------

operand workspace::place(dtype type, const shape& domain, placing where, values how,
                         bool read_only) {
    operand o{static_cast<int>(buffers.size()), type, 0, row_major_strides(domain)};
    if (where == placing::channels_last && domain.rank() > 2) {
        shape turned = domain;
        turned.erase(1);
        turned.push_back(domain[1]);
        o.steps = row_major_strides(turned);
        o.steps.insert(1, o.steps.back());
        o.steps.erase(domain.rank());
    }
    if (where == placing::any && !random.chance(0.25)) {
        int order[max_rank];
        for (int i = 0; i < domain.rank(); ++i) order[i] = i;
        if (random.chance(0.5))
            for (int i = domain.rank() - 1; i > 0; --i) std::swap(order[i], order[random.in(0, i)]);
        std::int64_t step = random.chance(0.3) ? random.in(1, 4) : 1;
        for (int i = domain.rank() - 1; i >= 0; --i) {
            const int axis = order[i];
            const bool repeats = read_only && random.chance(0.1);
            o.steps[axis] = repeats ? 0 : step * (random.chance(0.15) ? -1 : 1);
            if (repeats) continue;
            step *= std::max<std::int64_t>(domain[axis], 1);
            if (random.chance(0.3)) step += random.chance(0.5) ? random.in(1, 3) : -step & 3;
        }
        o.offset = random.chance(0.5) ? random.in(0, 7) : 0;
    }
    const auto elements = [&](std::int64_t n) { return n * 8 / info(type).bits; };  // in n bytes
    const pumice::access touched = range_of(o, domain, false);
    if (touched.begin < 0) {
        const std::int64_t least = elements(-touched.begin), whole = (least + 3) & ~std::int64_t{3};
        o.offset += random.chance(0.5) ? whole : least;
    }
    const pumice::access reached = range_of(o, domain, false);
    const std::int64_t count =
        elements(std::max<std::int64_t>(reached.end, reached.begin)) + random.in(0, 5);
    buffers.emplace_back(static_cast<std::size_t>(byte_end(type, count)));
    fill(random, type, how, buffers.back().data(), count);
    origins.push_back(0);
    if (high) {
        origins.back() = -byte_offset(type, std::int64_t{1} << 32);
        o.offset += std::int64_t{1} << 32;
    }
    return o;
}

host_buffers workspace::host(std::vector<bytes>& memory) const {
    host_buffers h;
    for (std::size_t i = 0; i < memory.size(); ++i) {
        // An origin before the buffer is not a pointer into it, so the sum is made of integers.
        const auto at = reinterpret_cast<std::uintptr_t>(memory[i].data()) +
                        static_cast<std::uintptr_t>(origins[i]);
        h.memory.push_back(reinterpret_cast<std::byte*>(at));
    }
    return h;
}

std::vector<bytes> workspace::magnitudes(dtype type) const {
    std::vector<bytes> all = buffers;
    visit(type, [&]<class T>(T) {
        if constexpr (is_floating(dtype_of<T>))
            for (bytes& b : all)
                for (std::int64_t i = 0; i < static_cast<std::int64_t>(b.size() / sizeof(T)); ++i)
                    detail::store_element(b.data(), i,
                                          convert<T>(std::fabs(convert<double>(
                                              detail::load_element<T>(b.data(), i)))));
    });
    return all;
}

// Programs ----------------------------------------------------------------------------------------

std::uint16_t maker::apply(const op_info& op, std::uint16_t x, std::uint16_t y, std::uint16_t z) {
    instruction i{instruction::code::apply, dtype::f32, 0, {x, y, z}, &op};
    dtype types[3];
    for (int k = 0; k < op.arity; ++k) types[k] = body.code[i.args[k]].type;
    for (int k = op.arity; k < 3; ++k) i.args[k] = 0;
    const auto type = result_type(op, std::span(types, static_cast<std::size_t>(op.arity)));
    REQUIRE_MESSAGE(type.has_value(), std::string(op.name));
    i.type = *type;
    return body.push(i);
}

fused maker::build(const std::vector<std::uint16_t>& values, array_list<operand> outputs) const {
    program raw = body;
    raw.outputs = {values.begin(), values.end()};
    operand_order order;
    fused out;
    out.body = std::make_shared<program>(canonical<program>(raw.view(), order));
    for (const std::uint16_t old : order.leaves) out.leaves.push_back(f.leaves[old]);
    for (const std::uint16_t old : order.scalars) out.scalars.push_back(f.scalars[old]);
    out.outputs = std::move(outputs);
    return out;
}

// Comparison --------------------------------------------------------------------------------------

namespace {

/// So many digits that no two numbers of the type look alike.
template <class T>
std::string digits(T v) {
    using wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", std::numeric_limits<wide>::max_digits10,
                  convert<double>(v));
    return text;
}

/// How far a real may be from `want`.
template <class T>
double allowed_difference(T want, const tolerance& t, std::int64_t number) {
    const double absolute = t.absolute.empty() ? 0 : t.absolute[static_cast<std::size_t>(number)];
    return std::max(t.ulps * spacing(dtype_of<T>, convert<double>(want)), absolute);
}

template <class T>
bool near(T got, T want, const tolerance& t, std::int64_t number) {
    if constexpr (!is_floating(dtype_of<T>)) {
        static_cast<void>(t), static_cast<void>(number);
        return got == want;
    } else {
        const double a = convert<double>(got), b = convert<double>(want);
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
        if (a == b) return true;
        // Of what is subnormal in the arithmetic type hardware keeps nothing.
        const double flushed = std::is_same_v<T, double> ? 0x1p-1022
                               : std::is_same_v<T, f16>  ? 0
                                                         : 0x1p-126;
        if (std::isinf(b) || std::isinf(a)) {
            const double most = std::is_same_v<T, double>    ? 1.7976931348623157e308
                                : std::is_same_v<T, f16>     ? 65504.0
                                : std::is_same_v<T, f8_e5m2> ? 57344.0
                                                             : 3.3e38;
            return t.ulps > 0 && (a > 0) == (b > 0) &&
                   std::min(std::fabs(a), std::fabs(b)) > most * (1 - 0x1p-7);
        }
        return std::fabs(a - b) <=
               std::max(allowed_difference(want, t, number),
                        std::fabs(b) <= flushed && std::fabs(a) <= flushed ? flushed : 0);
    }
}

}  // namespace

bool agree(const std::vector<bytes>& got_buffers, const std::vector<bytes>& want_buffers,
           const workspace& w, const std::vector<result>& outputs,
           const std::vector<tolerance>& allowed, const std::string& about) {
    std::vector<bytes> got = got_buffers, want = want_buffers;
    int wrong = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        const result& r = outputs[k];
        const tolerance& t = allowed[std::min(k, allowed.size() - 1)];
        const host_buffers a = w.host(got), b = w.host(want);
        visit(r.where.type, [&]<class T>(T) {
            std::int64_t number = 0;
            for_each_row(r.domain, [&](const index_list& row) {
                const std::int64_t n = r.domain.empty() ? 1 : r.domain.back();
                for (std::int64_t i = 0; i < n; ++i, ++number) {
                    const std::int64_t at =
                        offset_of(a.array(r.where), row) +
                        (r.domain.empty() ? 0 : i * r.where.steps[r.domain.rank() - 1]);
                    const T x = detail::load_element<T>(a.array(r.where).data, at),
                            y = detail::load_element<T>(b.array(r.where).data, at);
                    detail::store_element(a.array(r.where).data, at, y);
                    if (near(x, y, t, number)) continue;
                    if (++wrong > 4) continue;
                    const std::string element = about + ": output " + std::to_string(k) + " " +
                                                to_string(r.domain) + " element " +
                                                std::to_string(number) + " is ";
                    if constexpr (is_floating(dtype_of<T>))
                        ADD_FAIL_CHECK_AT(__FILE__, __LINE__,
                                          element << digits(x) << ", not " << digits(y)
                                                  << ", and at most "
                                                  << allowed_difference(y, t, number)
                                                  << " of difference is allowed");
                    else ADD_FAIL_CHECK_AT(__FILE__, __LINE__, element << +x << ", not " << +y);
                }
            });
        });
    }
    bool clean = true;
    for (std::size_t i = 0; i < got.size(); ++i) clean = clean && got[i] == want[i];
    if (!clean)
        ADD_FAIL_CHECK_AT(__FILE__, __LINE__, about << ": a byte was written that is of no output");
    if (wrong > 4)
        ADD_FAIL_CHECK_AT(__FILE__, __LINE__, about << ": " << wrong << " elements are wrong");
    return clean && wrong == 0;
}

}  // namespace test
