// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Every row of the op table: its form, and its host code against a formula written down apart, in
// long double, with the special values that NumPy and ONNX define.
#include <pumice/expr/host.hpp>
#include <pumice/expr/ops.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

using namespace pumice;

namespace {

using real = long double;
using formula = real (*)(real, real, real);

constexpr real nan = std::numeric_limits<real>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

real sigmoid_of(real x) { return 1 / (1 + std::exp(-x)); }
real softplus_of(real x) { return x > 50 ? x : std::log1p(std::exp(x)); }
real clip01(real x) { return std::isnan(x) ? x : std::clamp<real>(x, 0, 1); }

// clang-format off
const std::map<std::string_view, formula> formulas{
    {"add", [](real x, real y, real) { return x + y; }},
    {"subtract", [](real x, real y, real) { return x - y; }},
    {"multiply", [](real x, real y, real) { return x * y; }},
    {"divide", [](real x, real y, real) { return x / y; }},
    {"floor_divide", [](real x, real y, real) { return y == 0 ? x / y : std::isinf(y) && std::isfinite(x) ? (x == 0 ? x / y : (x < 0) == (y < 0) ? real(0) : real(-1)) : std::isinf(x) ? nan : std::floor(x / y); }},
    {"remainder", [](real x, real y, real) { real m = std::fmod(x, y); return m != 0 && (m < 0) != (y < 0) ? m + y : m; }},
    {"fmod", [](real x, real y, real) { return std::fmod(x, y); }},
    {"pow", [](real x, real y, real) { return std::pow(x, y); }},
    {"maximum", [](real x, real y, real) { return std::isnan(x) || std::isnan(y) ? nan : std::max(x, y); }},
    {"minimum", [](real x, real y, real) { return std::isnan(x) || std::isnan(y) ? nan : std::min(x, y); }},
    {"fmax", [](real x, real y, real) { return std::fmax(x, y); }},
    {"fmin", [](real x, real y, real) { return std::fmin(x, y); }},
    {"fma", [](real x, real y, real z) { return x * y + z; }},
    {"lerp", [](real x, real y, real z) { return x + z * (y - x); }},
    {"squared_difference", [](real x, real y, real) { return (x - y) * (x - y); }},
    {"negative", [](real x, real, real) { return -x; }},
    {"positive", [](real x, real, real) { return x; }},
    {"abs", [](real x, real, real) { return std::fabs(x); }},
    {"sign", [](real x, real, real) { return std::isnan(x) ? x : real((x > 0) - (x < 0)); }},
    {"square", [](real x, real, real) { return x * x; }},
    {"reciprocal", [](real x, real, real) { return 1 / x; }},
    {"copysign", [](real x, real y, real) { return std::copysign(x, y); }},
    {"clip", [](real x, real y, real z) { return x < y ? y : x > z ? z : x; }},
    {"equal", [](real x, real y, real) { return real(x == y); }},
    {"not_equal", [](real x, real y, real) { return real(x != y); }},
    {"less", [](real x, real y, real) { return real(x < y); }},
    {"less_equal", [](real x, real y, real) { return real(x <= y); }},
    {"greater", [](real x, real y, real) { return real(x > y); }},
    {"greater_equal", [](real x, real y, real) { return real(x >= y); }},
    {"isnan", [](real x, real, real) { return real(std::isnan(x)); }},
    {"isinf", [](real x, real, real) { return real(std::isinf(x)); }},
    {"isfinite", [](real x, real, real) { return real(std::isfinite(x)); }},
    {"signbit", [](real x, real, real) { return real(std::signbit(x)); }},
    {"sqrt", [](real x, real, real) { return std::sqrt(x); }},
    {"rsqrt", [](real x, real, real) { return 1 / std::sqrt(x); }},
    {"cbrt", [](real x, real, real) { return std::cbrt(x); }},
    {"hypot", [](real x, real y, real) { return std::hypot(x, y); }},
    {"exp", [](real x, real, real) { return std::exp(x); }},
    {"exp2", [](real x, real, real) { return std::exp2(x); }},
    {"expm1", [](real x, real, real) { return std::expm1(x); }},
    {"log", [](real x, real, real) { return std::log(x); }},
    {"log2", [](real x, real, real) { return std::log2(x); }},
    {"log10", [](real x, real, real) { return std::log10(x); }},
    {"log1p", [](real x, real, real) { return std::log1p(x); }},
    {"logaddexp", [](real x, real y, real) { return x == y ? x + std::log(real(2)) : std::max(x, y) + std::log1p(std::exp(-std::fabs(x - y))); }},
    {"sin", [](real x, real, real) { return std::sin(x); }},
    {"cos", [](real x, real, real) { return std::cos(x); }},
    {"tan", [](real x, real, real) { return std::tan(x); }},
    {"asin", [](real x, real, real) { return std::asin(x); }},
    {"acos", [](real x, real, real) { return std::acos(x); }},
    {"atan", [](real x, real, real) { return std::atan(x); }},
    {"atan2", [](real x, real y, real) { return std::atan2(x, y); }},
    {"sinh", [](real x, real, real) { return std::sinh(x); }},
    {"cosh", [](real x, real, real) { return std::cosh(x); }},
    {"tanh", [](real x, real, real) { return std::tanh(x); }},
    {"asinh", [](real x, real, real) { return std::asinh(x); }},
    {"acosh", [](real x, real, real) { return std::acosh(x); }},
    {"atanh", [](real x, real, real) { return std::atanh(x); }},
    {"degrees", [](real x, real, real) { return x * 180 / 3.14159265358979323846264338327950288L; }},
    {"radians", [](real x, real, real) { return x * 3.14159265358979323846264338327950288L / 180; }},
    {"floor", [](real x, real, real) { return std::floor(x); }},
    {"ceil", [](real x, real, real) { return std::ceil(x); }},
    {"trunc", [](real x, real, real) { return std::trunc(x); }},
    {"round", [](real x, real, real) { return std::nearbyint(x); }},
    {"erf", [](real x, real, real) { return std::erf(x); }},
    {"sigmoid", [](real x, real, real) { return sigmoid_of(x); }},
    {"relu", [](real x, real, real) { return x < 0 ? 0 : x; }},
    {"relu6", [](real x, real, real) { return x < 0 ? 0 : x > 6 ? 6 : x; }},
    {"leaky_relu", [](real x, real y, real) { return x < 0 ? x * y : x; }},
    {"prelu", [](real x, real y, real) { return x < 0 ? x * y : x; }},
    {"elu", [](real x, real y, real) { return x < 0 ? y * std::expm1(x) : x; }},
    {"celu", [](real x, real y, real) { return x < 0 ? y * std::expm1(x / y) : x; }},
    {"selu", [](real x, real y, real z) { return x > 0 ? z * x : z * y * std::expm1(x); }},
    {"thresholded_relu", [](real x, real y, real) { return x > y ? x : 0; }},
    {"hard_sigmoid", [](real x, real y, real z) { return clip01(x * y + z); }},
    {"hard_swish", [](real x, real, real) { return x * clip01(x / 6 + 0.5L); }},
    {"hard_tanh", [](real x, real, real) { return x < -1 ? -1 : x > 1 ? 1 : x; }},
    {"softplus", [](real x, real, real) { return softplus_of(x); }},
    {"softsign", [](real x, real, real) { return x / (1 + std::fabs(x)); }},
    {"silu", [](real x, real, real) { return x * sigmoid_of(x); }},
    {"mish", [](real x, real, real) { return x * std::tanh(softplus_of(x)); }},
    {"gelu", [](real x, real, real) { return std::isinf(x) && x < 0 ? -0.0L : 0.5L * x * (1 + std::erf(x / std::sqrt(real(2)))); }},
    {"gelu_tanh", [](real x, real, real) { return 0.5L * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846264338327950288L) * (x + 0.044715L * x * x * x))); }},
    {"shrink", [](real x, real y, real z) { return x < -y ? x + z : x > y ? x - z : 0; }},
    {"heaviside", [](real x, real y, real) { return std::isnan(x) ? x : x < 0 ? 0 : x > 0 ? 1 : y; }},
};
// clang-format on

/// Ops of the table that take no floats: compared in other cases.
const std::set<std::string_view> not_of_floats{
    "logical_and",    "logical_or",         "logical_xor",        "logical_not",
    "where",          "bitwise_and",        "bitwise_or",         "bitwise_xor",
    "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift"};

template <class F, class... Ops>
void for_each_op(op_list<Ops...>, F&& f) {
    (f(op_info_of<Ops>), ...);
}

/// The op over single values of the host's type T.
template <class R, class T>
R call(const op_info& op, arithmetic type, T x, T y = {}, T z = {}) {
    const void* in[] = {&x, &y, &z};
    R r{};
    op.host(type, in, &r, 1);
    return r;
}

/// Distance in units of the double's last place; both NaN or both the same infinity is 0.
double ulps(double got, real wanted) {
    const auto rounded = static_cast<double>(wanted);
    if (std::isnan(got) || std::isnan(rounded))
        return std::isnan(got) == std::isnan(rounded) ? 0 : inf;
    if (got == rounded) return 0;
    if (std::isinf(got) || std::isinf(rounded)) return inf;
    const double unit =
        std::max(std::nextafter(std::fabs(rounded), inf) - std::fabs(rounded), 0x1p-1074);
    return static_cast<double>(std::fabs(static_cast<real>(got) - wanted)) / unit;
}

}  // namespace

TEST_CASE("the table is well formed") {
    std::set<std::string_view> names, onnx;
    int count = 0;
    for_each_op(all_ops{}, [&](const op_info& op) {
        ++count;
        INFO(std::string(op.name));
        CHECK(names.insert(op.name).second);
        CHECK(op.arity >= 1);
        CHECK(op.arity <= 3);
        CHECK(op.rule.kinds != 0);
        CHECK(!op.body.empty());
        CHECK(std::count(op.body.begin(), op.body.end(), '(') ==
              std::count(op.body.begin(), op.body.end(), ')'));
        if (const auto word = op.onnx.substr(0, op.onnx.find(' ')); !word.empty()) {
            const bool shared = op.name == "prelu" || op.name == "leaky_relu";
            CHECK((onnx.insert(word).second || shared));
            // Each attribute is a trailing operand.
            CHECK(std::count(op.onnx.begin(), op.onnx.end(), '=') < op.arity);
        }
        // The body names its operands, and none beyond the arity.
        const auto names_operand = [&](char c) {
            for (std::size_t i = 0; i < op.body.size(); ++i) {
                const auto word = [&](std::size_t k) {
                    return k < op.body.size() &&
                           (std::isalnum(static_cast<unsigned char>(op.body[k])) ||
                            op.body[k] == '_');
                };
                if (op.body[i] == c && !word(i + 1) && (i == 0 || !word(i - 1))) return true;
            }
            return false;
        };
        for (int k = 0; k < 3; ++k) CHECK(names_operand("xyz"[k]) == (k < op.arity));
    });
    CHECK(count >= 90);
}

TEST_CASE("host code of every op on floats, special values included") {
    const double values[] = {0.0,   -0.0,  1.0,  -1.0, 0.5,   -0.5, 2.5,   -2.5,
                             3.0,   -3.0,  0.1,  -7.3, 1e-3,  20.0, -20.0, 88.0,
                             -88.0, 700.0, -700, 1e10, -1e10, inf,  -inf,  std::nan("")};
    std::set<std::string_view> left;
    for (const auto& [name, unused] : formulas) left.insert(name);
    for_each_op(all_ops{}, [&](const op_info& op) {
        if (not_of_floats.contains(op.name)) return;
        const auto f = formulas.find(op.name);
        REQUIRE_MESSAGE(f != formulas.end(), std::string(op.name) << " has no formula here");
        left.erase(op.name);
        const bool boolean = op.rule.gives == type_rule::result::boolean;
        int wrong = 0;
        std::string found_at;
        const auto check = [&](double x, double y, double z) {
            // log1p and expm1 make the chain of roundings of a composite op a few units long.
            const double got = boolean ? call<bool>(op, arithmetic::f64, x, y, z)
                                       : call<double>(op, arithmetic::f64, x, y, z);
            const real wanted = f->second(x, y, z);
            // Sums may cancel: what counts then is the size of what was added.
            const real scale = std::fabs(static_cast<real>(x)) + std::fabs(static_cast<real>(y)) +
                               std::fabs(static_cast<real>(z)) + 1;
            const bool cancelled = std::isfinite(got) && std::isfinite(wanted) &&
                                   std::fabs(static_cast<real>(got) - wanted) <= scale * 0x1p-50L;
            const bool overflows = std::isinf(got) && std::fabs(wanted) > 1.7e308L;
            const double allowed =
                op.name == "celu" ? 512 : 16;  // the quotient's rounding grows in the exponential
            if (ulps(got, wanted) > allowed && !cancelled && !overflows && wrong++ == 0)
                found_at = "(" + std::to_string(x) + ", " + std::to_string(y) + ", " +
                           std::to_string(z) + ") gives " + std::to_string(got) + ", not " +
                           std::to_string(wanted);
        };
        for (double x : values)
            for (double y : values) {
                if (op.arity < 3) check(x, y, 0);
                else
                    for (double z : values) {
                        if (std::isinf(x) || std::isinf(y) || std::isinf(z))
                            continue;  // inf - inf inside a body depends on its form
                        if (op.name == "clip" && !(y <= z)) continue;
                        check(x, y, z);
                    }
                if (op.arity == 1) break;
            }
        CHECK_MESSAGE(wrong == 0, std::string(op.name), found_at);
    });
    for (std::string_view name : left) FAIL_CHECK("no op is called ", std::string(name));
}

TEST_CASE("float gives what double gives, rounded") {
    const float values[] = {0.25f, 1.0f, -1.0f, 0.7f, -3.3f, 5.0f, -11.0f, 0.01f};
    for_each_op(all_ops{}, [&](const op_info& op) {
        if (not_of_floats.contains(op.name) || op.rule.gives == type_rule::result::boolean) return;
        int wrong = 0;
        for (float x : values)
            for (float y : values)
                for (float z : values) {
                    const auto narrow =
                        static_cast<double>(call<float>(op, arithmetic::f32, x, y, z));
                    const double wide =
                        call<double>(op, arithmetic::f64, static_cast<double>(x),
                                     static_cast<double>(y), static_cast<double>(z));
                    const double scale =
                        std::max({std::fabs(wide), std::fabs(static_cast<double>(x)),
                                  std::fabs(static_cast<double>(y)), 1.0});
                    wrong += !(std::isnan(narrow) && std::isnan(wide)) &&
                             !(std::fabs(narrow - wide) <= scale * 0x1p-20) &&
                             !(std::isinf(narrow) && std::fabs(wide) > 1e30);
                    if (op.name == "floor_divide" || op.name == "remainder" || op.name == "fmod")
                        wrong = 0;  // jump at multiples
                }
        CHECK_MESSAGE(wrong == 0, std::string(op.name));
    });
}

namespace {

// What integers do, in 128 bits, where only a product could overflow: it wraps.
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;
wide product(wide x, wide y) {
    return static_cast<wide>(static_cast<unsigned_wide>(x) * static_cast<unsigned_wide>(y));
}
/// Floor division as Python has it, x / 0 as 0.
wide floor_div(wide x, wide y) { return y == 0 ? 0 : x / y - (x % y != 0 && (x < 0) != (y < 0)); }
wide shift_right(wide x, wide n, int bits) {
    return n < 0 || n >= bits ? (x < 0 ? -1 : 0) : x >> n;
}
template <class I>
wide power(wide x, wide y) {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
    wide r = 1;
    for (; y > 0; --y) r = static_cast<I>(product(r, x));
    return r;
}

template <class I, arithmetic A>
void check_integers() {
    using T = host_arithmetic<A>;
    constexpr int bits = sizeof(I) * 8;
    const I low = std::numeric_limits<I>::min(), high = std::numeric_limits<I>::max();
    const I values[] = {0,
                        1,
                        2,
                        3,
                        7,
                        31,
                        32,
                        33,
                        63,
                        64,
                        100,
                        static_cast<I>(-1),
                        static_cast<I>(-2),
                        static_cast<I>(-7),
                        low,
                        static_cast<I>(low + 1),
                        high,
                        static_cast<I>(high - 1)};
    using rule = wide (*)(wide, wide);
    // clang-format off
    const std::map<std::string_view, rule> wanted{
        {"add", [](wide x, wide y) { return x + y; }},
        {"subtract", [](wide x, wide y) { return x - y; }},
        {"multiply", [](wide x, wide y) { return product(x, y); }},
        {"divide", [](wide x, wide y) { return y == 0 ? wide(0) : x / y; }},
        {"floor_divide", [](wide x, wide y) { return floor_div(x, y); }},
        {"remainder", [](wide x, wide y) { return y == 0 ? wide(0) : x - floor_div(x, y) * y; }},
        {"fmod", [](wide x, wide y) { return y == 0 ? wide(0) : x % y; }},
        {"maximum", [](wide x, wide y) { return x > y ? x : y; }},
        {"minimum", [](wide x, wide y) { return x < y ? x : y; }},
        {"squared_difference", [](wide x, wide y) { const auto d = static_cast<I>(x - y); return product(d, d); }},
        {"negative", [](wide x, wide) { return -x; }},
        {"abs", [](wide x, wide) { return x < 0 ? -x : x; }},
        {"sign", [](wide x, wide) { return wide((x > 0) - (x < 0)); }},
        {"square", [](wide x, wide) { return product(x, x); }},
        {"relu", [](wide x, wide) { return x < 0 ? 0 : x; }},
        {"floor", [](wide x, wide) { return x; }},
        {"round", [](wide x, wide) { return x; }},
        {"bitwise_and", [](wide x, wide y) { return x & y; }},
        {"bitwise_or", [](wide x, wide y) { return x | y; }},
        {"bitwise_xor", [](wide x, wide y) { return x ^ y; }},
        {"bitwise_invert", [](wide x, wide) { return ~x; }},
        {"bitwise_left_shift", [](wide x, wide n) { return n < 0 || n >= bits ? wide(0) : static_cast<wide>(static_cast<std::make_unsigned_t<I>>(x)) << n; }},
        {"bitwise_right_shift", [](wide x, wide n) { return shift_right(x, n, bits); }},
        {"pow", [](wide x, wide y) { return y > 1000 ? power<I>(x, 0) : power<I>(x, y); }},
    };
    // clang-format on
    for_each_op(all_ops{}, [&](const op_info& op) {
        const auto w = wanted.find(op.name);
        if (w == wanted.end()) return;
        int wrong = 0;
        for (I x : values)
            for (I y : values) {
                if (op.name == "pow" && y > 1000) continue;
                const auto got = call<T>(op, A, T(x), T(y));
                const auto expected = static_cast<I>(w->second(x, y));
                I plain;
                std::memcpy(&plain, static_cast<const void*>(&got), sizeof plain);
                wrong += plain != expected;
            }
        CHECK_MESSAGE(wrong == 0, std::string(op.name), " of ", bits, " bits");
    });
    for (const char* name :
         {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
        for_each_op(all_ops{}, [&](const op_info& op) {
            if (op.name != name) return;
            for (I x : values)
                for (I y : values) {
                    const bool is[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
                    const std::string_view names[] = {"equal",      "not_equal", "less",
                                                      "less_equal", "greater",   "greater_equal"};
                    CHECK(call<bool>(op, A, T(x), T(y)) ==
                          is[std::find(names, names + 6, op.name) - names]);
                }
        });
}

}  // namespace

TEST_CASE("integers wrap, divide by zero to 0, and shift by any count") {
    check_integers<std::int32_t, arithmetic::i32>();
    check_integers<std::int64_t, arithmetic::i64>();
    check_integers<std::uint32_t, arithmetic::u32>();
    check_integers<std::uint64_t, arithmetic::u64>();
}

TEST_CASE("logic and choice") {
    for (bool x : {false, true}) {
        CHECK(call<bool>(op_info_of<op::logical_not>, arithmetic::boolean, x) == !x);
        for (bool y : {false, true}) {
            CHECK(call<bool>(op_info_of<op::logical_and>, arithmetic::boolean, x, y) == (x && y));
            CHECK(call<bool>(op_info_of<op::logical_or>, arithmetic::boolean, x, y) == (x || y));
            CHECK(call<bool>(op_info_of<op::logical_xor>, arithmetic::boolean, x, y) == (x != y));
            CHECK(call<bool>(op_info_of<op::equal>, arithmetic::boolean, x, y) == (x == y));
        }
    }
    const bool which[] = {true, false};
    const float a[] = {1, 2}, b[] = {3, std::numeric_limits<float>::quiet_NaN()};
    const void* in[] = {which, a, b};
    float out[2];
    op_info_of<op::where>.host(arithmetic::f32, in, out, 2);
    CHECK(out[0] == 1);
    CHECK(std::isnan(out[1]));
}

TEST_CASE("an op asked for a type that it does not take does nothing") {
    float untouched = 7;
    const float x = 1;
    const void* in[] = {&x, &x, &x};
    op_info_of<op::bitwise_and>.host(arithmetic::f32, in, &untouched, 1);
    CHECK(untouched == 7);
}
