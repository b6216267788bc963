// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The typed tensor: an any_tensor with facts that the compiler knows.
#pragma once

#include <pumice/tensor/expression.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Named in compile errors; never defined.
template <class... Lengths> struct length_makes_no_tensor_use_zeros_or_empty;
template <class Range> struct range_makes_no_tensor_use_from_span_or_adapt;
template <class From, class To> struct cannot_convert_elements_use_astype;
template <class From, class To> struct extents_do_not_match;
template <class Tensor> struct assign_to_a_part_by_at;
template <class Element> struct a_const_tensor_is_read_by_to_vector;
template <class Element> struct indices_must_be_i32_or_i64;
template <class From, class To> struct number_of_elements_differs;

namespace detail {
/// Two extents that may describe one shape.
template <class A, class B>
constexpr bool compatible_extents() {
    if constexpr (A::rank != B::rank) {
        return false;
    } else {
        for (std::size_t i = 0; i < A::values.size(); ++i)
            if (A::values[i] != B::values[i] && A::values[i] != dynamic_extent &&
                B::values[i] != dynamic_extent)
                return false;
        return true;
    }
}
template <class X, class Element, class Extents>
constexpr bool explain_conversion() {
    if constexpr (!std::same_as<element_of_argument<X>, Element>)
        static_cast<void>(cannot_convert_elements_use_astype<element_of_argument<X>, Element>{});
    else if constexpr (!compatible_extents<typename argument_of<X>::extents, Extents>())
        static_cast<void>(extents_do_not_match<typename argument_of<X>::extents, Extents>{});
    return true;
}

/// True where X's type says all that Tensor's asks: an expression makes row-major elements.
template <class X, class Tensor>
inline constexpr bool makes_exactly =
    fuses<std::remove_cvref_t<X>> &&
    (std::same_as<typename Tensor::layout_type, row_major> ||
     std::same_as<typename Tensor::layout_type, strided>) &&
    std::same_as<typename argument_of<X>::extents, typename Tensor::extents_type>;
struct to_be_checked {};  // otherwise the run-time facts decide

/// A list of lists of ... of elements.
template <class Element, int Rank>
struct nested_list {
    using type = std::initializer_list<typename nested_list<Element, Rank - 1>::type>;
};
template <class Element>
struct nested_list<Element, 0> {
    using type = Element;
};
}  // namespace detail

/// A value: a handle to a graph node of known element type, rank and layout. Copies share the node.
template <element Element, extents_type Extents, layout Layout>
class tensor : public any_tensor {
    static_assert(Extents::rank <= max_rank);

public:
    using element_type = Element;
    using extents_type = Extents;
    using layout_type = Layout;

    tensor() = default;
    tensor(const tensor&) = default;
    tensor(tensor&&) = default;
    tensor& operator=(const tensor&) & = default;
    tensor& operator=(tensor&&) & = default;
    /// Not to a temporary: `view(x, ...) = y` would be lost; `at(x, ...) = y` is what was meant.
    template <class X>
    void operator=(const X&) && {
        static_cast<void>(assign_to_a_part_by_at<X>{});
    }

    /// Throws errc::dtype_mismatch or errc::shape_mismatch unless the run-time facts agree.
    explicit tensor(any_tensor x) : any_tensor(std::move(x)) {
        settle();
        if (any_tensor::dtype() != dtype_of<Element>)
            fail(errc::dtype_mismatch, "tensor",
                 {"the tensor holds ", to_string(any_tensor::dtype()), ", not ",
                  to_string(dtype_of<Element>)});
        if (!Extents::matches(this->shape()))
            fail(errc::shape_mismatch, "tensor",
                 {"the shape ", to_string(this->shape()), " is not one of rank ", Extents::rank,
                  " with ", to_string(Extents::to_shape()), " (-1: any)"});
    }
    tensor(const created<Element>& x) : tensor(static_cast<const any_tensor&>(x)) {}
    /// For ops that know that `make` gives what this type says.
    template <class Make>
    tensor(detail::in_place, const Make& make) : any_tensor(detail::in_place{}, make) {}

    /// From an expression or a tensor of other extents or layout: one lazy node, nothing runs.
    template <array_argument X>
        requires(!std::same_as<std::remove_cvref_t<X>, tensor>)
    tensor(X&& x)
        : tensor(std::conditional_t<detail::makes_exactly<X, tensor>, detail::in_place,
                                    detail::to_be_checked>(),
                 [&]() -> node_ptr {
                     static_cast<void>(detail::explain_conversion<X, Element, Extents>());
                     return std::forward<X>(x).get();
                 }) {}

    /// From nested lists or a flat list of elements in row-major order.
    tensor(typename detail::nested_list<Element, Extents::rank>::type list)
        requires(Extents::rank > 0)
        : tensor(from_lists(list)) {}
    /// No tensor is made of its lengths alone.
    template <std::integral... N>
        requires(Extents::rank > 0 && sizeof...(N) == Extents::rank)
    explicit tensor(N...) {
        static_cast<void>(length_makes_no_tensor_use_zeros_or_empty<N...>{});
    }
    /// Nor, in silence, a copy of a range.
    template <class Range>
        requires requires(const Range& r) { r.data(), r.size(); }
    tensor(const Range&) {
        static_cast<void>(range_makes_no_tensor_use_from_span_or_adapt<Range>{});
    }
    /// A number as a tensor of no axes.
    explicit tensor(Element value)
        requires(Extents::rank == 0)
        : tensor(detail::from_elements({}, span<const Element>(&value, 1), default_context())) {}

    static constexpr pumice::dtype dtype() noexcept { return dtype_of<Element>; }
    static constexpr int rank() noexcept { return Extents::rank; }
    /// The same tensor, its rank said again.
    template <int Rank>
    tensor<Element, dims<Rank>> rank() const {
        return *this;
    }

    /// x(1, -1), x(pm::slice{0, 2}, pm::newaxis), x(rows, columns), and x[1], x[mask], x[indices].
    template <class... I>
    auto operator()(const I&... index) const {
        return detail::indexed(*this, index...);
    }
    template <class I>
    auto operator[](const I& index) const {
        return detail::indexed(*this, index);
    }

    /// The value of a tensor of one element; evaluates.
    Element item() const {
        if (this->size() != 1)
            fail(errc::shape_mismatch, "item",
                 {"the tensor has shape ", to_string(this->shape()), ", not one element"});
        std::byte value[sizeof(Element)];
        read(*this, value);
        return detail::load_element<Element>(value, 0);
    }
    /// No tensor is a number or a truth value: `item()` reads one, `all` and `any` join many.
    operator Element() const { return detail::not_a_number<Element, tensor>(); }
    /// The elements in row-major order; evaluates.
    std::vector<Element> to_vector() const { return pumice::to_vector<Element>(*this); }

    /// The elements where they lie on the host, to be read or written; of a tensor with a name, for
    /// they go with it (see host and host_mut for any_tensor, which show the bytes of elements that
    /// share them too).
    span<const Element> host() & {
        static_assert(std::same_as<Layout, row_major> && !packed_element<Element>,
                      "elements lie one behind another in row-major order alone");
        const span<const std::byte> bytes = pumice::host(*this);
        return {reinterpret_cast<const Element*>(bytes.data()), bytes.size() / sizeof(Element)};
    }
    span<Element> host_mut() & {
        static_assert(std::same_as<Layout, row_major> && !packed_element<Element>,
                      "elements lie one behind another in row-major order alone");
        const span<std::byte> bytes = pumice::host_mut(*this);
        return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
    }
    auto host() const& { return a_const_tensor_is_read_by_to_vector<Element>{}; }
    // Of a temporary they would be gone before they are read.
    void host() && = delete;
    void host_mut() && = delete;

    template <class X> tensor& operator+=(X&& x) & { return *this = *this + std::forward<X>(x); }
    template <class X> tensor& operator-=(X&& x) & { return *this = *this - std::forward<X>(x); }
    template <class X> tensor& operator*=(X&& x) & { return *this = *this * std::forward<X>(x); }
    template <class X> tensor& operator/=(X&& x) & { return *this = *this / std::forward<X>(x); }
    // Of a temporary they would be lost, as `=` would.
    template <class X> void operator+=(const X& x) && { std::move(*this) = x; }
    template <class X> void operator-=(const X& x) && { std::move(*this) = x; }
    template <class X> void operator*=(const X& x) && { std::move(*this) = x; }
    template <class X> void operator/=(const X& x) && { std::move(*this) = x; }

private:
    template <class Make>
    tensor(detail::to_be_checked, const Make& make) : tensor(any_tensor(make())) {}

    /// Brings what the handle refers to into the type's layout.
    void settle() {
        if constexpr (std::same_as<Layout, row_major>) {
            if (detail::will_show_row_major(*get())) return;
        }
        if constexpr (!std::same_as<Layout, strided>)
            static_cast<any_tensor&>(*this) = copy<Layout>(*this);
    }
    /// The lengths of the first lists at each depth are the extent; the others have to agree.
    template <class List>
    static any_tensor from_lists(const List& list) {
        pumice::shape extent;
        measure(list, extent);
        const auto count = static_cast<std::size_t>(element_count(extent));
        const auto all = std::make_unique<Element[]>(count > 0 ? count : 1);
        Element* next = all.get();
        put(list, extent, 0, next);
        return detail::from_elements(extent, span<const Element>(all.get(), count),
                                     default_context());
    }
    template <class List>
    static void measure(const List& list, pumice::shape& extent) {
        extent.push_back(static_cast<std::int64_t>(list.size()));
        if constexpr (!std::same_as<typename List::value_type, Element>) {
            if (list.size() > 0) measure(*list.begin(), extent);
            else
                while (extent.rank() < Extents::rank) extent.push_back(0);
        }
    }
    template <class List>
    static void put(const List& list, const pumice::shape& extent, int depth, Element*& next) {
        if (static_cast<std::int64_t>(list.size()) != extent[depth])
            fail(errc::shape_mismatch, "tensor",
                 {depth == 1 ? "a row" : "a list", " has ", list.size(),
                  " elements, the first has ", extent[depth]});
        for (const auto& each : list) {
            if constexpr (std::same_as<typename List::value_type, Element>) *next++ = each;
            else put(each, extent, depth + 1, next);
        }
    }
};

/// Tensors of 0, 1 and 2 axes, whose lengths are known at run time; `dims<N>` names more axes.
template <element T> using scalar_tensor = tensor<T, dims<0>>;
template <element T> using vector = tensor<T, dims<1>>;
template <element T> using matrix = tensor<T, dims<2>>;

template <class Tree, class E>
tensor(expression<Tree, E>) -> tensor<typename detail::element_for<Tree::type>::type, E>;

namespace detail {
template <class X> using extents_of = typename argument_of<X>::extents;
template <class A, class B>
concept operands = (array_argument<A> || any_array<A> || number_argument<A>) &&
                   (array_argument<B> || any_array<B> || number_argument<B>) &&
                   (array_argument<A> || any_array<A> || array_argument<B> || any_array<B>);
template <class A>
concept operand_alone = array_argument<A> || any_array<A>;
template <class A> constexpr bool is_bool() {
    if constexpr (array_argument<A>) return argument_of<A>::tree::type == dtype::boolean;
    else return std::same_as<std::remove_cvref_t<A>, bool>;
}

template <class First, class Other>
constexpr bool check_elements() {
    using a = element_of_argument<First>;
    using b = element_of_argument<Other>;
    if constexpr (!std::same_as<a, b>)
        static_cast<void>(element_types_do_not_mix_use_astype<a, b>{});
    return true;
}
template <class First, class Other>
constexpr bool check_joined() {
    if constexpr (check_elements<First, Other>() &&
                  extents_of<First>::rank != extents_of<Other>::rank)
        static_cast<void>(extents_do_not_match<extents_of<First>, extents_of<Other>>{});
    return true;
}
template <class Indices>
constexpr bool check_indices() {
    using e = element_of_argument<Indices>;
    if constexpr (!std::same_as<e, std::int32_t> && !std::same_as<e, std::int64_t>)
        static_cast<void>(indices_must_be_i32_or_i64<e>{});
    return true;
}
template <class From, class To>
constexpr bool check_reshaped() {
    constexpr auto count = [](const auto& values) {
        std::int64_t n = 1;
        for (const std::int64_t each : values) n = n < 0 || each < 0 ? -1 : n * each;
        return n;
    };
    constexpr std::int64_t from = count(From::values), to = count(To::values);
    if constexpr (from >= 0 && to >= 0 && from != to)
        static_cast<void>(number_of_elements_differs<From, To>{});
    return true;
}
/// Tells the engine of a new lazy node.
inline any_tensor noted(any_tensor t) {
    if (!t.get()->realised()) t.get()->owner->note(t.get());
    return t;
}
/// The node of what is not computed at once, in a function of its own: the frame that it needs
/// would cost a small call that is.
template <class F>
[[gnu::noinline]] node_ptr later(F&& make) {
    return noted(make()).get();
}
}  // namespace detail

/// Elementwise, of tensors, expressions and numbers (NumPy's operators): operands broadcast, a
/// number takes the tensor's element type, other kinds need `astype`. `%` has the sign of the
/// divisor; comparisons give bool. Ill-typed operands do not compile; run-time shapes that do not
/// broadcast throw errc::shape_mismatch, run-time types that do not mix errc::dtype_mismatch.
// clang-format off
template <class A, class B> requires detail::operands<A, B> auto operator+(A&& a, B&& b) { return add(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator-(A&& a, B&& b) { return subtract(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator*(A&& a, B&& b) { return multiply(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator/(A&& a, B&& b) { return divide(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator%(A&& a, B&& b) { return remainder(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator==(A&& a, B&& b) { return equal(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator!=(A&& a, B&& b) { return not_equal(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator<(A&& a, B&& b) { return less(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator<=(A&& a, B&& b) { return less_equal(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator>(A&& a, B&& b) { return greater(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator>=(A&& a, B&& b) { return greater_equal(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator<<(A&& a, B&& b) { return bitwise_left_shift(std::forward<A>(a), std::forward<B>(b)); }
template <class A, class B> requires detail::operands<A, B> auto operator>>(A&& a, B&& b) { return bitwise_right_shift(std::forward<A>(a), std::forward<B>(b)); }
template <class A> requires detail::operand_alone<A> auto operator-(A&& a) { return negative(std::forward<A>(a)); }
template <class A> requires detail::operand_alone<A> auto operator+(A&& a) { return positive(std::forward<A>(a)); }
template <class A> requires detail::operand_alone<A> auto operator!(A&& a) { return logical_not(std::forward<A>(a)); }
// clang-format on

/// The handle becomes that of a new value, in the memory of the old one where no other handle
/// refers to it; a typed tensor has += -= *= /= as members.
// clang-format off
template <class T, class X> requires std::same_as<T, any_tensor> T& operator+=(T& a, X&& x) { return a = a + std::forward<X>(x); }
template <class T, class X> requires std::same_as<T, any_tensor> T& operator-=(T& a, X&& x) { return a = a - std::forward<X>(x); }
template <class T, class X> requires std::same_as<T, any_tensor> T& operator*=(T& a, X&& x) { return a = a * std::forward<X>(x); }
template <class T, class X> requires std::same_as<T, any_tensor> T& operator/=(T& a, X&& x) { return a = a / std::forward<X>(x); }
template <class T, class X> requires std::derived_from<T, any_tensor> T& operator%=(T& a, X&& x) { return a = a % std::forward<X>(x); }
template <class T, class X> requires std::derived_from<T, any_tensor> T& operator&=(T& a, X&& x) { return a = a & std::forward<X>(x); }
template <class T, class X> requires std::derived_from<T, any_tensor> T& operator|=(T& a, X&& x) { return a = a | std::forward<X>(x); }
template <class T, class X> requires std::derived_from<T, any_tensor> T& operator^=(T& a, X&& x) { return a = a ^ std::forward<X>(x); }
template <class T, class X> requires std::derived_from<T, any_tensor> T& operator<<=(T& a, X&& x) { return a = a << std::forward<X>(x); }
template <class T, class X> requires std::derived_from<T, any_tensor> T& operator>>=(T& a, X&& x) { return a = a >> std::forward<X>(x); }
// clang-format on

/// Refused: && and || are of one bool each, masks are joined by & and |.
template <class A, class B>
    requires detail::operands<A, B>
auto operator&&(A&&, B&&) {
    return join_masks_by_one_ampersand<std::remove_cvref_t<A>, std::remove_cvref_t<B>>{};
}
template <class A, class B>
    requires detail::operands<A, B>
auto operator||(A&&, B&&) {
    return join_masks_by_one_bar<std::remove_cvref_t<A>, std::remove_cvref_t<B>>{};
}

/// Bits of integers; on bool tensors & | ^ ~ are the logical ops, as in NumPy.
template <class A, class B>
    requires detail::operands<A, B>
auto operator&(A&& a, B&& b) {
    if constexpr (detail::is_bool<A>() && detail::is_bool<B>())
        return logical_and(std::forward<A>(a), std::forward<B>(b));
    else return bitwise_and(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
    requires detail::operands<A, B>
auto operator|(A&& a, B&& b) {
    if constexpr (detail::is_bool<A>() && detail::is_bool<B>())
        return logical_or(std::forward<A>(a), std::forward<B>(b));
    else return bitwise_or(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
    requires detail::operands<A, B>
auto operator^(A&& a, B&& b) {
    if constexpr (detail::is_bool<A>() && detail::is_bool<B>())
        return logical_xor(std::forward<A>(a), std::forward<B>(b));
    else return bitwise_xor(std::forward<A>(a), std::forward<B>(b));
}
template <class A>
    requires detail::operand_alone<A>
auto operator~(A&& a) {
    if constexpr (detail::is_bool<A>()) return logical_not(std::forward<A>(a));
    else return bitwise_invert(std::forward<A>(a));
}

/// Evaluates several roots in one go.
template <class... X>
    requires(sizeof...(X) > 0 && ((array_argument<X> || any_array<X>) && ...))
void eval(const X&... roots) {
    if constexpr (sizeof...(X) == 1 && (std::is_base_of_v<any_tensor, X> && ...)) {
        const any_tensor* const alone[] = {&roots...};
        eval(span(alone[0], 1));
    } else {
        const any_tensor list[] = {any_tensor(roots.get())...};
        eval(span<const any_tensor>(list));
    }
}

/// The tensor in another context (see to for any_tensor).
template <array_argument X>
auto to(const X& x, const context& place) {
    return tensor<typename detail::element_for<detail::argument_of<X>::tree::type>::type,
                  typename detail::argument_of<X>::extents>(to(any_tensor(x.get()), place));
}

/// A copy in another element type.
template <element To, array_argument X>
auto astype(X&& x) {
    using a = detail::argument_of<X>;
    if constexpr (a::tree::type == dtype_of<To>)
        return tensor<To, typename a::extents>(any_tensor(x.get()));
    else {
        using tree = cast_tree<dtype_of<To>, typename a::tree>;
        return expression<tree, typename a::extents>(x.shape(),
                                                     std::type_identity<detail::pack<To>>{},
                                                     std::forward<X>(x));
    }
}

/// The same of a tensor whose type is known at run time.
template <element To>
any_tensor astype(const any_tensor& x) {
    return astype(x, dtype_of<To>);
}

/// The Slang text of the kernel that X becomes over operands that are all distinct, as a constant.
template <class X>
    requires fuses<X>
inline constexpr auto kernel_text = emit<fixed_string<32768>>(program_of<typename X::tree>.view());

/// The Slang text of the kernel that `x` becomes; an operand that occurs twice is read once.
template <class Tree, class E>
std::string kernel_source(const expression<Tree, E>& x) {
    return emit(x.kernel().view());
}

}}  // namespace pumice::PUMICE_ABI
