// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Creation: host data, constants, ranges. All but host data are lazy expressions, so they cost no
// memory until something needs them stored.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/tensor/tensor.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
/// Every element is `value`.
PUMICE_FUNCTION any_tensor filled(scalar value, const shape& extent, const context& home);
/// first, first + step, ... in their type.
PUMICE_FUNCTION any_tensor counted(scalar first, scalar step, std::uint64_t count,
                                   const context& home);
}  // namespace detail

/// Every element is this number. Throws errc::dtype_mismatch where an integer type lacks it.
template <class N>
    requires(std::is_arithmetic_v<N> || element<N>)
any_tensor full(dtype type, const shape& extent, N value, const context& home = default_context()) {
    const scalar given(detail::plain_number(value));
    return detail::filled(type == dtype::boolean ? scalar(type, given.as<double>())
                                                 : detail::number_in(type, given, "full"),
                          extent, home);
}

/// start, start + step, ... below stop (NumPy arange). Throws errc::invalid_argument for a step of
/// 0, errc::dtype_mismatch where an integer type does not hold the numbers.
PUMICE_FUNCTION any_tensor arange(dtype type, double start, double stop, double step = 1,
                                  const context& home = default_context());

/// `count` numbers from start to stop, both included (NumPy linspace). Needs floating point.
PUMICE_FUNCTION any_tensor linspace(dtype type, double start, double stop, std::int64_t count,
                                    const context& home = default_context());

/// Ones where column - row == k, zeros elsewhere (NumPy eye); square where `columns` is negative.
PUMICE_FUNCTION any_tensor eye(dtype type, std::int64_t rows, std::int64_t columns = -1,
                               std::int64_t k = 0, const context& home = default_context());

// The same, and more, with an element type that the compiler knows: float where none is named.

/// A tensor of a known element type whose rank is known at run time: what creation from a shape
/// gives, and what ops of it give. The typed tensor of its rank is made of it unasked.
template <element T>
class created : public any_tensor {
public:
    explicit created(any_tensor t) : any_tensor(std::move(t)) {}
    using any_tensor::rank;
    template <int Rank>
    tensor<T, dims<Rank>> rank() const {
        return *this;
    }
    // clang-format off
    template <class X> created& operator+=(X&& x) { return *this = created(*this + std::forward<X>(x)); }
    template <class X> created& operator-=(X&& x) { return *this = created(*this - std::forward<X>(x)); }
    template <class X> created& operator*=(X&& x) { return *this = created(*this * std::forward<X>(x)); }
    template <class X> created& operator/=(X&& x) { return *this = created(*this / std::forward<X>(x)); }
    // clang-format on
    T item() const { return tensor<T, dims<1>>(reshape(*this, {-1})).item(); }
    std::vector<T> to_vector() const { return pumice::to_vector<T>(*this); }
};

namespace detail {
/// The tensor that a list of `Rank` extents says.
template <class T, std::size_t Rank>
using made_of = tensor<T, dims<static_cast<int>(Rank)>>;
template <std::size_t Rank>
using extent_list = const std::int64_t (&)[Rank];
/// T, or where none is named the type of a number.
template <class T, class N>
using named_or = std::conditional_t<std::is_void_v<T>, decltype(plain_number(N{})), T>;
}  // namespace detail

/// Every element is `value`. Of a shape, `full<float>(x.shape(), 1)`, the rank is known at run
/// time; of a list, `full<float>({4, 6}, 1)`, to the compiler. Throws errc::dtype_mismatch where an
/// integer type lacks the number.
template <class T = void, class N>
    requires(std::is_arithmetic_v<N> || element<N>)
auto full(const std::type_identity_t<shape>& extent, N value,
          const context& home = default_context()) {
    using e = detail::named_or<T, N>;
    if constexpr (std::same_as<e, N>)
        return created<e>(detail::filled(scalar(value), extent, home));
    else return created<e>(full(dtype_of<e>, extent, value, home));
}
template <class T = void, std::size_t Rank, class N>
    requires(std::is_arithmetic_v<N> || element<N>)
auto full(detail::extent_list<Rank> extent, N value, const context& home = default_context()) {
    using e = detail::named_or<T, N>;
    return detail::made_of<e, Rank>(full<e>(shape(span<const std::int64_t>(extent)), value, home));
}
/// Every element is 0, in the same two ways.
template <element T = float>
created<T> zeros(const shape& extent, const context& home = default_context()) {
    return full<T>(extent, T(0), home);
}
template <element T = float, std::size_t Rank>
detail::made_of<T, Rank> zeros(detail::extent_list<Rank> extent,
                               const context& home = default_context()) {
    return full<T>(shape(span<const std::int64_t>(extent)), T(0), home);
}
/// Every element is 1, in the same two ways.
template <element T = float>
created<T> ones(const shape& extent, const context& home = default_context()) {
    return full<T>(extent, T(1), home);
}
template <element T = float, std::size_t Rank>
detail::made_of<T, Rank> ones(detail::extent_list<Rank> extent,
                              const context& home = default_context()) {
    return full<T>(shape(span<const std::int64_t>(extent)), T(1), home);
}

/// Named in compile errors; never defined.
template <class... Number> struct extents_are_a_list_in_braces;

template <element T = float, std::integral... N>
auto zeros(N...) {
    return extents_are_a_list_in_braces<N...>{};
}
template <element T = float, std::integral... N>
auto ones(N...) {
    return extents_are_a_list_in_braces<N...>{};
}

template <element T>
vector<T> arange(double start, double stop, double step = 1,
                 const context& home = default_context()) {
    return vector<T>(arange(dtype_of<T>, start, stop, step, home));
}
template <element T>
vector<T> arange(double stop, const context& home = default_context()) {
    return vector<T>(arange(dtype_of<T>, 0, stop, 1, home));
}

namespace detail {

/// Whether double holds it and all integers that are nearer to 0.
template <std::integral N>
constexpr bool is_exact_real(N n) {
    if constexpr (sizeof(N) < 8) return true;
    else if constexpr (std::is_signed_v<N>) return n >= -(N{1} << 53) && n <= N{1} << 53;
    else return n <= N{1} << 53;
}
/// arange in the integers of T alone, for numbers that double does not hold.
template <element T>
any_tensor arange_of_integers(T start, T stop, T step) {
    if (step == 0) fail(errc::invalid_argument, "arange", {"the step is 0"});
    const auto bits = [](T n) { return static_cast<std::uint64_t>(n); };
    const bool up = step > 0, none = up ? start >= stop : start <= stop;
    const std::uint64_t reach = up ? bits(stop) - bits(start) : bits(start) - bits(stop),
                        by = up ? bits(step) : 0 - bits(step);
    return counted(scalar(start), scalar(step), none ? 0 : (reach - 1) / by + 1, default_context());
}
template <element T>
any_tensor arange_of_integers(T stop) {
    return arange_of_integers<T>(0, stop, 1);
}
template <element T>
any_tensor arange_of_integers(T start, T stop) {
    return arange_of_integers<T>(start, stop, 1);
}

}  // namespace detail

template <element T, std::integral... N>
    requires(sizeof...(N) > 0 && sizeof...(N) <= 3 && (!std::same_as<N, bool> && ...))
vector<T> arange(N... numbers) {
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
        if (!(detail::is_exact_real(numbers) && ...))
            return vector<T>(detail::arange_of_integers<T>(detail::typed_number<T>(numbers)
                                                               .template as<T>()...));
    return arange<T>(static_cast<double>(numbers)...);
}
/// Of the numbers' common type where all are integers, else of float: `arange(10)`,
/// `arange(0, 1, 0.1)`.
template <int = 0, class... N>
    requires(sizeof...(N) > 0 && sizeof...(N) <= 3 &&
             ((std::is_arithmetic_v<N> && !std::same_as<N, bool>) && ...))
auto arange(N... numbers) {
    using whole = decltype(detail::plain_number(std::common_type_t<N...>{}));
    if constexpr (std::integral<whole>) return arange<whole>(numbers...);
    else return arange<float>(static_cast<double>(numbers)...);
}
template <element T = float>
    requires(is_floating(dtype_of<T>))
vector<T> linspace(double start, double stop, std::int64_t count,
                   const context& home = default_context()) {
    return vector<T>(linspace(dtype_of<T>, start, stop, count, home));
}
template <element T = float>
matrix<T> eye(std::int64_t rows, std::int64_t columns = -1, std::int64_t k = 0,
              const context& home = default_context()) {
    return matrix<T>(eye(dtype_of<T>, rows, columns, k, home));
}

/// A dense copy of host elements of type T in row-major order.
template <element T, class Range>
created<T> from_span(const shape& extent, const Range& values,
                     const context& home = default_context()) {
    return created<T>(detail::from_range<T>(extent, values, home));
}
template <element T, std::size_t Rank, class Range>
detail::made_of<T, Rank> from_span(detail::extent_list<Rank> extent, const Range& values,
                                   const context& home = default_context()) {
    return from_span<T>(shape(span<const std::int64_t>(extent)), values, home);
}
/// A vector of the elements of any contiguous range (std::vector, std::array, std::span), or of a
/// std::vector<bool>.
template <class Range>
auto adapt(const Range& values, const context& home = default_context()) {
    using T = std::remove_cvref_t<decltype(*std::begin(values))>;
    return vector<T>(detail::from_range<T>({static_cast<std::int64_t>(std::size(values))}, values,
                                           home));
}
/// The same under a shape, in row-major order: `adapt(v, {2, 3})`.
template <class Range, std::size_t Rank>
auto adapt(const Range& values, detail::extent_list<Rank> extent,
           const context& home = default_context()) {
    return from_span<std::remove_cvref_t<decltype(*std::begin(values))>>(extent, values, home);
}

#ifndef PUMICE_COMPILED

namespace detail {

/// A node of a program that reads iotas, scalars and at most one tensor, which is named first.
template <int = 0>
class generator {
public:
    explicit generator(const context& where_, node_ptr input = nullptr) : owner_(where_.get()) {
        if (input) inputs_.push_back(std::move(input));
    }

    std::uint16_t input() {
        return body_->push({instruction::code::leaf, inputs_[0]->type, 0, {}, nullptr});
    }
    std::uint16_t iota(dtype type, int axis) {
        op_.iota_axes.push_back(axis);
        return body_->push({instruction::code::iota,
                            type,
                            static_cast<std::uint16_t>(inputs_.size() + op_.iota_axes.size() - 1),
                            {},
                            nullptr});
    }
    std::uint16_t number(scalar s) {
        op_.scalars.push_back(s);
        return body_->push({instruction::code::scalar,
                            s.type,
                            static_cast<std::uint16_t>(op_.scalars.size() - 1),
                            {},
                            nullptr});
    }
    template <class Op, std::same_as<std::uint16_t>... A>
    std::uint16_t call(A... arguments) {
        const std::uint16_t list[] = {arguments...};
        instruction i{instruction::code::apply, dtype::boolean, 0, {}, &op_info_of<Op>};
        std::copy(std::begin(list), std::end(list), i.args);
        if (Op::rule.gives != type_rule::result::boolean)
            i.type = body_->code[list[sizeof...(A) - 1]].type;
        return body_->push(i);
    }
    std::uint16_t cast(dtype type, std::uint16_t a) {
        return body_->code[a].type == type
                   ? a
                   : body_->push({instruction::code::cast, type, 0, {a, 0, 0}, nullptr});
    }
    any_tensor finish(std::uint16_t result, const shape& extent) {
        body_->outputs.push_back(result);
        op_.body = body_;
        node_ptr n =
            make_node(body_->code[result].type, extent, std::move(op_), std::move(inputs_));
        n->owner = owner_;
        owner_->note(n);
        return any_tensor(std::move(n));
    }

private:
    std::shared_ptr<engine> owner_;
    std::shared_ptr<program> body_ = std::make_shared<program>();
    elementwise_op op_;
    array_list<node_ptr> inputs_;
};

inline void need_floating(dtype type, const char* place) {
    if (!is_floating(type))
        fail(errc::dtype_mismatch, place, {"needs floating point, not ", to_string(type)});
}

/// What numbers of a floating type are made in: f32 for those of fewer bits.
constexpr dtype wide_real(dtype type) { return type == dtype::f64 ? dtype::f64 : dtype::f32; }

PUMICE_BODY any_tensor filled(scalar value, const shape& extent, const context& home) {
    generator<> g(home);
    return g.finish(g.number(value), extent);
}

PUMICE_BODY any_tensor counted(scalar first, scalar step, std::uint64_t count,
                               const context& home) {
    if (count >= std::uint64_t{1} << 62)
        fail(errc::size_overflow, "arange", {count, " are too many elements, more than 2^62"});
    generator<> g(home);
    const auto index = g.cast(first.type, g.iota(dtype::i64, -1));
    const auto scaled = g.call<op::multiply>(index, g.number(step));
    return g.finish(g.call<op::add>(scaled, g.number(first)),
                    shape{static_cast<std::int64_t>(count)});
}

}  // namespace detail

PUMICE_BODY any_tensor arange(dtype type, double start, double stop, double step,
                              const context& home) {
    if (step == 0) fail(errc::invalid_argument, "arange", {"the step is 0"});
    if (start != start || stop != stop || step != step)
        fail(errc::invalid_argument, "arange", {"a bound or the step is not a number (NaN)"});
    const double count = host_math::pm_ceil((stop - start) / step);
    if (!(count < 0x1p62))
        fail(errc::size_overflow, "arange",
             {"from ", detail::text_of(start), " to ", detail::text_of(stop), " by ",
              detail::text_of(step), " are too many elements, more than 2^62"});
    detail::generator<> g(home);
    // Half types do not tell all indices apart.
    const dtype in = is_floating(type) ? detail::wide_real(type) : type;
    const auto index = g.cast(in, g.iota(dtype::i64, -1));
    if (type == dtype::boolean)
        fail(errc::dtype_mismatch, "arange", {"bool has no range; make one of integers"});
    scalar first(in, start), by(in, step);
    if (count > 0 && !is_floating(type)) {
        const auto number = [](dtype t, double v) -> scalar {
            return detail::number_in(t, scalar(v), "arange");
        };
        if (step != host_math::pm_trunc(step))
            fail(errc::dtype_mismatch, "arange",
                 {"the step ", detail::text_of(step), " is not an integer; ", to_string(type),
                  " counts in whole numbers"});
        if (count > 1) {
            const scalar whole = number(step < 0 ? dtype::i64 : dtype::u64, step);
            by = step < 0 ? scalar(type, whole.as<std::int64_t>())  // unsigned types wrap downwards
                          : scalar(type, whole.as<std::uint64_t>());
        }
        first = number(type, start);
        const double last = start + (count - 1) * step;  // rounded, it may be `stop`
        const bool beyond = step < 0 ? last <= stop : last >= stop;
        number(type, beyond ? host_math::pm_nextafter(stop, start) : last);
    }
    const auto scaled = g.call<op::multiply>(index, g.number(by));
    return g.finish(g.cast(type, g.call<op::add>(scaled, g.number(first))),
                    shape{count > 0 ? static_cast<std::int64_t>(count) : 0});
}

PUMICE_BODY any_tensor linspace(dtype type, double start, double stop, std::int64_t count,
                                const context& home) {
    detail::need_floating(type, "linspace");
    detail::generator<> g(home);
    const dtype real = detail::wide_real(type);
    // Two numbers are the ends, between which there may be no number.
    double step = count > 2 ? (stop - start) / static_cast<double>(count - 1) : 0;
    if (step - step != 0)
        step = stop / static_cast<double>(count - 1) - start / static_cast<double>(count - 1);
    const auto index = g.iota(dtype::i64, -1);
    const auto scaled = g.call<op::multiply>(g.cast(real, index), g.number(scalar(real, step)));
    const auto value = g.call<op::add>(scaled, g.number(scalar(real, start)));
    // The last is `stop` itself, whatever the rounding of the others.
    const auto last =
        g.call<op::equal>(index, g.number(scalar(dtype::i64, count > 1 ? count - 1 : -1)));
    const auto exact = g.call<op::where>(last, g.number(scalar(real, stop)), value);
    return g.finish(g.cast(type, exact), shape{count});
}

PUMICE_BODY any_tensor eye(dtype type, std::int64_t rows, std::int64_t columns, std::int64_t k,
                           const context& home) {
    detail::generator<> g(home);
    const auto row = g.iota(dtype::i64, 0), column = g.iota(dtype::i64, 1);
    const auto same =
        g.call<op::equal>(column, g.call<op::add>(row, g.number(scalar(dtype::i64, k))));
    return g.finish(g.cast(type, same), shape{rows, columns < 0 ? rows : columns});
}

#endif

}}  // namespace pumice::PUMICE_ABI
