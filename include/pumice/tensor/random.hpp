// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random numbers by a counter: lazy expressions of a key, as all creation is.
#pragma once

#include <pumice/graph/gather.hpp>
#include <pumice/tensor/creation.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
/// 1, 2, 3", SC11). The same seed and stream give the same numbers on every device.
namespace random {

class key;
namespace detail {
/// The next key of the process-wide stream; while a function is traced, one that each run brings.
PUMICE_FUNCTION key fresh();
PUMICE_FUNCTION any_tensor permuted_range(std::int64_t n, const key& k, const context& home);
}  // namespace detail

/// A key for a stream of numbers. Copies repeat it; `next()` gives a fresh one.
class key {
public:
    explicit key(std::uint32_t seed = 0) : seed_(seed) {}
    /// The seed is the one element of a u32 tensor.
    explicit key(node_ptr seed) : seed_(0), traced_(std::move(seed)) {}
    key next() {
        if (traced_) return detail::fresh();
        const std::uint64_t h = hasher{}.add(seed_).add(++used_).value();
        return key(static_cast<std::uint32_t>(h ^ (h >> 32)));
    }
    std::uint32_t seed() const noexcept { return seed_; }
    /// What brings the seed where it is not known yet; null otherwise.
    const node_ptr& traced() const noexcept { return traced_; }

private:
    std::uint32_t seed_;
    std::uint64_t used_ = 0;
    node_ptr traced_;
};

/// The seed of the process-wide stream, which calls without a key take from, unless `seed` sets
/// another: the same in every process, so that programs repeat.
inline constexpr std::uint32_t default_seed = 0x9e3779b9u;
/// Makes the process-wide stream start anew.
PUMICE_FUNCTION void seed(std::uint32_t value);
/// What it was started with last.
PUMICE_FUNCTION std::uint32_t seed();

/// Uniform in [low, high), where rounding may give `high` unless the bounds are 0 and 1, as in
/// NumPy; of f64 in steps of 2^-53 of the range, of others of 2^-24 or what the type tells apart.
/// Needs floating point; at most 2^32 elements. Throws errc::invalid_argument for bounds so far
/// apart that the range overflows.
PUMICE_FUNCTION any_tensor uniform(dtype type, const shape& extent, key k = detail::fresh(),
                                   double low = 0, double high = 1,
                                   const context& home = default_context());
template <element T = float>
    requires(is_floating(dtype_of<T>))
created<T> uniform(const shape& extent, key k = detail::fresh(), double low = 0, double high = 1,
                   const context& home = default_context()) {
    return created<T>(uniform(dtype_of<T>, extent, k, low, high, home));
}
template <element T = float, std::size_t Rank>
    requires(is_floating(dtype_of<T>))
pumice::detail::made_of<T, Rank> uniform(pumice::detail::extent_list<Rank> extent,
                                         key k = detail::fresh(), double low = 0, double high = 1,
                                         const context& home = default_context()) {
    return uniform<T>(shape(span<const std::int64_t>(extent)), k, low, high, home);
}
/// With a key of the process-wide stream.
template <element T = float>
    requires(is_floating(dtype_of<T>))
created<T> uniform(const shape& extent, double low, double high,
                   const context& home = default_context()) {
    return uniform<T>(extent, detail::fresh(), low, high, home);
}
template <element T = float, std::size_t Rank>
    requires(is_floating(dtype_of<T>))
auto uniform(pumice::detail::extent_list<Rank> extent, double low, double high,
             const context& home = default_context()) {
    return uniform<T>(extent, detail::fresh(), low, high, home);
}

/// Normal, by Box and Muller's method. Needs floating point; at most 2^32 elements.
PUMICE_FUNCTION any_tensor normal(dtype type, const shape& extent, key k = detail::fresh(),
                                  double mean = 0, double deviation = 1,
                                  const context& home = default_context());
template <element T = float>
    requires(is_floating(dtype_of<T>))
created<T> normal(const shape& extent, key k = detail::fresh(), double mean = 0,
                  double deviation = 1, const context& home = default_context()) {
    return created<T>(normal(dtype_of<T>, extent, k, mean, deviation, home));
}
template <element T = float, std::size_t Rank>
    requires(is_floating(dtype_of<T>))
pumice::detail::made_of<T, Rank> normal(pumice::detail::extent_list<Rank> extent,
                                        key k = detail::fresh(), double mean = 0,
                                        double deviation = 1,
                                        const context& home = default_context()) {
    return normal<T>(shape(span<const std::int64_t>(extent)), k, mean, deviation, home);
}
/// With a key of the process-wide stream.
template <element T = float>
    requires(is_floating(dtype_of<T>))
created<T> normal(const shape& extent, double mean, double deviation,
                  const context& home = default_context()) {
    return normal<T>(extent, detail::fresh(), mean, deviation, home);
}
template <element T = float, std::size_t Rank>
    requires(is_floating(dtype_of<T>))
auto normal(pumice::detail::extent_list<Rank> extent, double mean, double deviation,
            const context& home = default_context()) {
    return normal<T>(extent, detail::fresh(), mean, deviation, home);
}

/// Integers in [low, high), each as likely but for 2^-64 of the range (NumPy's Generator.integers).
/// At most 2^32 elements. Throws errc::invalid_argument for an empty range, errc::dtype_mismatch
/// for bounds that the type does not hold.
PUMICE_FUNCTION any_tensor integers(dtype type, const shape& extent, std::int64_t low,
                                    std::int64_t high, key k = detail::fresh(),
                                    const context& home = default_context());
template <element T = std::int64_t>
    requires(!is_floating(dtype_of<T>))
created<T> integers(const shape& extent, std::int64_t low, std::int64_t high,
                    key k = detail::fresh(), const context& home = default_context()) {
    return created<T>(integers(dtype_of<T>, extent, low, high, k, home));
}
template <element T = std::int64_t, std::size_t Rank>
    requires(!is_floating(dtype_of<T>))
pumice::detail::made_of<T, Rank> integers(pumice::detail::extent_list<Rank> extent,
                                          std::int64_t low, std::int64_t high,
                                          key k = detail::fresh(),
                                          const context& home = default_context()) {
    return integers<T>(shape(span<const std::int64_t>(extent)), low, high, k, home);
}

/// The numbers 0 to n - 1 in random order, i64 (NumPy's Generator.permutation): `take(x,
/// permutation(n))` shuffles rows.
template <int = 0>
vector<std::int64_t> permutation(std::int64_t n, key k = detail::fresh(),
                                 const context& home = default_context()) {
    return vector<std::int64_t>(detail::permuted_range(n, k, home));
}

}  // namespace random

// The first word of the Philox block at counter x under key y.
PUMICE_OP(random_bits, 2, type_rule{rules::u}, "", pm_philox(x, y));

#ifndef PUMICE_COMPILED

namespace random {

namespace detail {

struct process_stream {
    small_mutex mutex;
    std::uint32_t started = default_seed;
    key keys{default_seed};
};
inline process_stream& the_stream() {
    static process_stream s;
    return s;
}
PUMICE_BODY key fresh() {
    if (pumice::detail::open_trace* t = pumice::detail::current_trace) {
        t->keys.push_back(make_data(dtype::u32, {}, nullptr, t->home));
        return key(t->keys.back());
    }
    const small_lock lock(the_stream().mutex);
    return the_stream().keys.next();
}

/// The first bits of each element's own 32, as a number of type `real`. `change` makes another
/// stream of the key.
template <int = 0>
std::uint16_t first_bits(pumice::detail::generator<>& g, const key& k, std::uint32_t change,
                         int digits, dtype real) {
    const auto index = g.iota(dtype::u32, -1);
    std::uint16_t seed = 0;
    if (!k.traced()) seed = g.number(scalar(dtype::u32, k.seed() ^ change));
    else if (change == 0) seed = g.input();
    else seed = g.call<op::bitwise_xor>(g.input(), g.number(scalar(dtype::u32, change)));
    auto bits = g.call<op::random_bits>(index, seed);
    if (digits < 32)
        bits = g.call<op::bitwise_right_shift>(bits, g.number(scalar(dtype::u32, 32 - digits)));
    return g.cast(real, bits);
}

inline void need_elements_of_a_key(const shape& extent) {
    if (element_count(extent) > std::int64_t{1} << 32)
        fail(errc::size_overflow, "random",
             {"the shape ", to_string(extent), " has more than the 2^32 elements of a key"});
}

/// The change that gives an element's second word.
inline constexpr std::uint32_t second_word = 0xc2b2ae35u;

/// 64 bits of each element's own. Throws errc::size_overflow.
template <int = 0>
std::uint16_t words(pumice::detail::generator<>& g, const key& k, const shape& extent) {
    need_elements_of_a_key(extent);
    const auto low = first_bits(g, k, 0, 32, dtype::u64),
               high = first_bits(g, k, second_word, 32, dtype::u64);
    return g.call<op::add>(g.call<op::multiply>(high, g.number(scalar(std::uint64_t{1} << 32))),
                           low);
}

/// Uniform in (0, 1], in steps of 2^-digits, or 2^-53 for f64: never 0, so that a logarithm is
/// finite. Throws errc::size_overflow.
template <int = 0>
std::uint16_t unit(pumice::detail::generator<>& g, const key& k, std::uint32_t change,
                   const shape& extent, int digits, dtype real) {
    need_elements_of_a_key(extent);
    const auto number = [&](double v) { return g.number(scalar(real, v)); };
    const auto rest = first_bits(g, k, change, real == dtype::f64 ? 32 : digits, real);
    if (real != dtype::f64)
        return g.call<op::multiply>(g.call<op::add>(rest, number(1)), number(1.0 / (1 << digits)));
    const auto high = first_bits(g, k, change ^ second_word, 21, real);
    const auto count = g.call<op::add>(g.call<op::multiply>(high, number(0x1p32)),
                                       g.call<op::add>(rest, number(1)));
    return g.call<op::multiply>(count, number(0x1p-53));
}

}  // namespace detail

PUMICE_BODY void seed(std::uint32_t value) {
    const small_lock lock(detail::the_stream().mutex);
    detail::the_stream().keys = key(value);
    detail::the_stream().started = value;
}
PUMICE_BODY std::uint32_t seed() {
    const small_lock lock(detail::the_stream().mutex);
    return detail::the_stream().started;
}

PUMICE_BODY any_tensor uniform(dtype type, const shape& extent, key k, double low, double high,
                               const context& home) {
    pumice::detail::need_floating(type, "uniform");
    const dtype real = pumice::detail::wide_real(type);
    const double most = real == dtype::f64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
    if (!(low - high >= -most && low - high <= most))
        fail(errc::invalid_argument, "uniform",
             {"from ", pumice::detail::text_of(low), " to ", pumice::detail::text_of(high),
              " is a range that ", to_string(real), " does not hold; use f64 or scale the result"});
    pumice::detail::generator<> g(home, k.traced());
    const auto number = [&](double v) { return g.number(scalar(real, v)); };
    const int digits = type == dtype::f16       ? 11
                       : type == dtype::bf16    ? 8
                       : type == dtype::f8_e4m3 ? 4
                       : type == dtype::f8_e5m2 ? 3
                                                : 24;
    const auto u = detail::unit(g, k, 0, extent, digits, real);
    auto moved = g.call<op::add>(g.call<op::multiply>(u, number(low - high)), number(high));
    if (low < high && low != 0) moved = g.call<op::maximum>(moved, number(low));  // it was rounded
    return g.finish(g.cast(type, moved), extent);
}

PUMICE_BODY any_tensor normal(dtype type, const shape& extent, key k, double mean, double deviation,
                              const context& home) {
    pumice::detail::need_floating(type, "normal");
    const dtype real = pumice::detail::wide_real(type);
    pumice::detail::generator<> g(home, k.traced());
    const auto number = [&](double v) { return g.number(scalar(real, v)); };
    const auto u = detail::unit(g, k, 0, extent, 24, real),
               v = detail::unit(g, k, 0x85ebca6bu, extent, 24, real);
    const auto radius = g.call<op::sqrt>(g.call<op::multiply>(g.call<op::log>(u), number(-2)));
    const auto turn = g.call<op::multiply>(v, number(6.2831853071795865));
    const auto z = g.call<op::multiply>(radius, g.call<op::cos>(turn));
    const auto shifted = g.call<op::add>(g.call<op::multiply>(z, number(deviation)), number(mean));
    return g.finish(g.cast(type, shifted), extent);
}

PUMICE_BODY any_tensor integers(dtype type, const shape& extent, std::int64_t low,
                                std::int64_t high, key k, const context& home) {
    if (is_floating(type) || type == dtype::boolean)
        fail(errc::dtype_mismatch, "integers", {to_string(type), " is no type of integers"});
    if (low >= high)
        fail(errc::invalid_argument, "integers",
             {"no integer is at least ", low, " and below ", high});
    pumice::detail::number_in(type, scalar(low), "integers");
    pumice::detail::number_in(type, scalar(high - 1), "integers");
    pumice::detail::generator<> g(home, k.traced());
    const std::uint64_t range = std::uint64_t(high) - std::uint64_t(low);
    const auto drawn = g.call<op::remainder>(detail::words(g, k, extent), g.number(scalar(range)));
    const auto moved = g.call<op::add>(g.cast(dtype::i64, drawn), g.number(scalar(low)));
    return g.finish(g.cast(type, moved), extent);
}

PUMICE_BODY any_tensor detail::permuted_range(std::int64_t n, const key& k, const context& home) {
    if (n < 0) fail(errc::invalid_argument, "permutation", {n, " numbers"});
    pumice::detail::generator<> g(home, k.traced());
    return argsort(g.finish(detail::words(g, k, shape{n}), shape{n}), 0);
}

}  // namespace random

#endif

}}  // namespace pumice::PUMICE_ABI
