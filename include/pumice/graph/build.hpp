// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Graph builders: shape and type inference, then one node. The typed front and the model loader
// both end here; every user fault is thrown here, before anything runs.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/number.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/any_tensor.hpp>
#include <pumice/graph/forms.hpp>
#include <pumice/graph/view.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// An operand of a run-time elementwise op: a tensor, or a number that takes the tensors' type.
struct any_operand {
    any_tensor array;
    scalar number;
    bool is_number = false;
    any_operand(any_tensor t) : array(std::move(t)) {}
    any_operand(scalar v) : number(v), is_number(true) {}
    any_operand(double v) : any_operand(scalar(v)) {}
    template <std::integral I>
    any_operand(I v) : any_operand(scalar(std::signed_integral<I> ? dtype::i64 : dtype::u64, v)) {}
};

/// op(operands...), broadcast, tensors promoted as the array API says, numbers weakly typed.
/// At least one operand is a tensor. Throws shape_mismatch, and dtype_mismatch also where a number
/// is none of an integer type's values.
PUMICE_FUNCTION any_tensor apply(const op_info& op, span<const any_operand> operands);

template <class Op, class... Operands>
any_tensor apply(const Operands&... operands) {
    const any_operand list[] = {any_operand(operands)...};
    return apply(op_info_of<Op>, list);
}

/// x converted to another element type; x itself if it has it. A number with a fraction becomes the
/// whole number towards zero, or the nearest that the type has, and NaN becomes 0; whole numbers
/// wrap; bool is "not zero" (NaN is true); to fewer bits of floating point: the nearest, ties to
/// even.
PUMICE_FUNCTION any_tensor astype(const any_tensor& x, dtype type);

/// Reduces over `axes` (all where empty). sum and prod keep the element type (pm::sum and pm::prod
/// widen integers first), mean, var (of the population) and logsumexp take floats, any and all give
/// bool, argmax and argmin give i64 and take one axis or, where empty, the flattened array. max,
/// min, argmax, argmin of nothing throw.
PUMICE_FUNCTION any_tensor reduce(reduction what, const any_tensor& x,
                                  span<const std::int64_t> axes = {}, bool keepdims = false);

/// Joins the elements by an op of two values, as NumPy's ufunc.reduce does. The op has to be
/// associative and commutative, for order and brackets are left open. Throws errc::dtype_mismatch
/// unless it gives the type that it takes, errc::invalid_argument where there is nothing to join.
PUMICE_FUNCTION any_tensor reduce(const op_info& by, const any_tensor& x,
                                  span<const std::int64_t> axes = {}, bool keepdims = false);

namespace detail {
/// Either of the two; `by` is null unless the reduction is by an op.
PUMICE_FUNCTION any_tensor reduce_by(reduction what, const op_info* by, const any_tensor& x,
                                     span<const std::int64_t> axes, bool keepdims);
}  // namespace detail

/// What `reduce` makes of its arguments, and the shape that it gives.
PUMICE_FUNCTION reduce_op make_reduction(reduction what, int rank, span<const std::int64_t> axes,
                                         bool keepdims, const op_info* by = nullptr);
PUMICE_FUNCTION shape reduced_shape(const reduce_op& op, const shape& from);

/// Each element by what all along `axes` give together. Needs floating point and at least one axis.
PUMICE_FUNCTION any_tensor normalize(normalization what, const any_tensor& x,
                                     span<const std::int64_t> axes, double epsilon = 0);

/// exp(x) / sum(exp(x)) along `axis`, or its logarithm, without overflow. Needs floating point.
PUMICE_FUNCTION any_tensor softmax(const any_tensor& x, std::int64_t axis = -1,
                                   bool logarithm = false);

/// NumPy's matmul: last two axes multiply, the others broadcast; a 1-d operand gains and loses an
/// axis. Integers wrap; of bool it is any(a & b).
PUMICE_FUNCTION any_tensor matmul(any_tensor a, any_tensor b);

/// Joins along `axis`; all other extents and the element types agree.
PUMICE_FUNCTION any_tensor concat(span<const any_tensor> parts, std::int64_t axis = 0);

/// values[..., indices, ...]: the array API's take with indices of any rank, ONNX Gather. Negative
/// indices count from the end; an index outside is clamped to the axis (kernels cannot throw), and
/// an axis without elements throws errc::index_out_of_range.
PUMICE_FUNCTION any_tensor take(const any_tensor& values, const any_tensor& indices,
                                std::int64_t axis = 0);

/// The same values, dense, with the strides `wanted` or a layout's (x itself if they lie so
/// already).
PUMICE_FUNCTION any_tensor copy(const any_tensor& x, const strides& wanted);
template <layout Layout = row_major>
any_tensor copy(const any_tensor& x) {
    return copy(x, Layout::strides_of(x.shape()));
}

#ifndef PUMICE_COMPILED

namespace detail {

[[noreturn]] inline void throw_types(std::string_view op, span<const dtype> types,
                                     std::string why) {
    std::string list;
    for (dtype t : types) append_text(list, {(list.empty() ? "" : ", "), to_string(t)});
    fail(errc::dtype_mismatch, op, {"operands of type ", list, ": ", std::move(why)});
}

/// The number as a tensor of no axes, of the type and context of `like`.
inline any_tensor constant_like(const any_tensor& like, const scalar& number, const char* place) {
    const dtype type = like.dtype();
    elementwise_op op;
    auto body = std::make_shared<program>();
    body->outputs.push_back(body->push({instruction::code::scalar, type, 0, {}, nullptr}));
    op.body = std::move(body);
    op.scalars.push_back(number_in(type, number, place));
    node_ptr n = make_node(type, {}, std::move(op), {});
    n->owner = like.get()->owner;
    return any_tensor(std::move(n));
}

}  // namespace detail

PUMICE_BODY any_tensor apply(const op_info& op, span<const any_operand> operands) {
    if (static_cast<int>(operands.size()) != op.arity)
        fail(errc::invalid_argument, op.name,
             {"takes ", op.arity, " operands, got ", operands.size()});
    fixed_vector<dtype, 3> types;
    std::optional<dtype> common;
    bool clash = false;
    shape domain;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].is_number) continue;
        const any_tensor& t = operands[i].array;
        domain = broadcast(domain, t.shape(), op.name);
        types.push_back(t.dtype());
        if (op.rule.selects && i == 0) continue;
        const auto joined = common ? promote(*common, t.dtype()) : t.dtype();
        clash |= !joined;
        common = joined ? joined : common;
    }
    if (clash)
        detail::throw_types(op.name, types,
                            "the array API does not mix these kinds; convert one with astype");
    if (!common && op.rule.selects && !types.empty()) common = dtype::f32;
    if (!common) fail(errc::invalid_argument, op.name, {"needs at least one tensor operand"});
    if (op.rule.selects && !operands[0].is_number && operands[0].array.dtype() != dtype::boolean)
        detail::throw_types(op.name, types, "the condition must be bool");
    if (!op.rule.takes(*common))
        detail::throw_types(op.name, types, "the op is not defined for this kind");

    detail::call_form form{&op,
                           op.rule.gives == type_rule::result::boolean ? dtype::boolean : *common};
    array_list<node_ptr> inputs;
    array_list<scalar> numbers;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const any_operand& from = operands[i];
        const dtype wanted = op.rule.selects && i == 0 ? dtype::boolean : *common;
        form.operands[i] = {wanted, wanted, from.is_number};
        if (from.is_number) {
            numbers.push_back(detail::number_in(wanted, from.number, op.name));
        } else {
            form.operands[i].has = from.array.dtype();
            inputs.push_back(from.array.get());
        }
    }
    const operation* const known = detail::known_call(form);
    operation what;
    if (known && numbers.empty()) what = operation::borrowed(*known);
    else
        what = elementwise_op{known ? known->get_if<elementwise_op>()->body
                                    : std::make_shared<const program>(form.make()),
                              std::move(numbers),
                              {}};
    return any_tensor(make_node(form.gives, domain, std::move(what), std::move(inputs)));
}

PUMICE_BODY any_tensor astype(const any_tensor& x, dtype type) {
    if (x.dtype() == type) return x;
    auto body = std::make_shared<program>();
    const auto leaf = body->push({instruction::code::leaf, x.dtype(), 0, {}, nullptr});
    body->outputs.push_back(body->push({instruction::code::cast, type, 0, {leaf}, nullptr}));
    return any_tensor(make_node(type, x.shape(), elementwise_op{std::move(body), {}, {}},
                                {x.get()}));
}

namespace detail {
/// Bit i: axis i is among them.
inline std::uint32_t mask_of_axes(span<const std::int64_t> axes, int rank, const char* place) {
    std::uint32_t mask = 0;
    for (const std::int64_t a : axes) {
        const std::uint32_t bit = 1u << normalize_axis(a, rank, place);
        if (mask & bit) fail(errc::invalid_argument, place, {"axis ", a, " is named twice"});
        mask |= bit;
    }
    return mask;
}
inline array_list<int> normalize_axes(span<const std::int64_t> axes, int rank, const char* place) {
    return axes_of_mask(mask_of_axes(axes, rank, place));
}
/// What a reduction is called in errors.
inline std::string place_of(reduction what, const op_info* by) {
    return by ? cat({"reduce by ", by->name}) : std::string(to_string(what));
}
/// Of a tensor of so many axes, along all where none is named.
inline reduction_form form_of_reduction(reduction what, int rank, span<const std::int64_t> axes,
                                        bool keepdims, const op_info* by) {
    const std::uint32_t mask = mask_of_axes(axes, rank, place_of(what, by).c_str());
    return {by, what, keepdims, mask != 0 ? mask : (1u << rank) - 1};
}
}  // namespace detail

PUMICE_BODY reduce_op make_reduction(reduction what, int rank, span<const std::int64_t> axes,
                                     bool keepdims, const op_info* by) {
    return detail::form_of_reduction(what, rank, axes, keepdims, by).make();
}

PUMICE_BODY shape reduced_shape(const reduce_op& op, const shape& from) {
    shape out;
    auto gone = op.axes.begin();
    for (int i = 0; i < from.rank(); ++i) {
        if (gone == op.axes.end() || *gone != i) out.push_back(from[i]);
        else {
            ++gone;
            if (op.keepdims) out.push_back(1);
        }
    }
    return out;
}

PUMICE_BODY any_tensor reduce(reduction what, const any_tensor& x, span<const std::int64_t> axes,
                              bool keepdims) {
    return detail::reduce_by(what, nullptr, x, axes, keepdims);
}
PUMICE_BODY any_tensor reduce(const op_info& by, const any_tensor& x, span<const std::int64_t> axes,
                              bool keepdims) {
    return detail::reduce_by(reduction::by_op, &by, x, axes, keepdims);
}

PUMICE_BODY any_tensor detail::reduce_by(reduction what, const op_info* by, const any_tensor& x,
                                         span<const std::int64_t> axes, bool keepdims) {
    const std::string place = place_of(what, by);
    const bool arg = what == reduction::argmax || what == reduction::argmin;
    const bool logical = what == reduction::any || what == reduction::all;
    const bool real =
        what == reduction::mean || what == reduction::logsumexp || what == reduction::var;
    const dtype type = x.dtype();
    if (real && !is_floating(type))
        detail::throw_types(place, span(&type, 1), "needs floating point; use astype");
    if (logical && type != dtype::boolean) detail::throw_types(place, span(&type, 1), "needs bool");
    if (by && !reduces(*by, type))
        detail::throw_types(place, span(&type, 1),
                            "needs an op of two values that takes this type and gives it");
    if (!logical && !by && type == dtype::boolean)
        detail::throw_types(place, span(&type, 1),
                            what == reduction::sum ? "needs numbers; use count_nonzero or astype"
                                                   : "needs numbers; use astype");
    const reduction_form form = form_of_reduction(what, x.rank(), axes, keepdims, by);
    const operation* const known = known_reduction(form);
    operation made = known ? operation::borrowed(*known) : operation(form.make());
    const reduce_op& op = *made.get_if<reduce_op>();
    if (arg && !axes.empty() && axes.size() != 1)
        fail(errc::invalid_argument, place, {"takes one axis or none"});
    const shape out = reduced_shape(op, x.shape());
    bool nothing = false;
    for (const int axis : op.axes) nothing |= x.shape()[axis] == 0;
    const bool has_identity = !arg && !by && what != reduction::max && what != reduction::min;
    if (nothing && !has_identity && element_count(out) != 0)
        fail(errc::invalid_argument, place,
             {"a reduction of no elements has no value (shape ", to_string(x.shape()), ")"});
    return any_tensor(make_node(arg ? dtype::i64 : type, out, std::move(made), {x.get()}));
}

PUMICE_BODY any_tensor softmax(const any_tensor& x, std::int64_t axis, bool logarithm) {
    return normalize(logarithm ? normalization::log_softmax : normalization::softmax, x,
                     span(&axis, 1));
}

PUMICE_BODY any_tensor normalize(normalization what, const any_tensor& x,
                                 span<const std::int64_t> axes, double epsilon) {
    const std::string place(to_string(what));
    const dtype type = x.dtype();
    if (!is_floating(type))
        detail::throw_types(place, span(&type, 1), "needs floating point; use astype");
    array_list<int> list = detail::normalize_axes(axes, x.rank(), place.c_str());
    if (list.empty()) fail(errc::invalid_argument, place, {"needs an axis"});
    if (!(epsilon >= 0))
        fail(errc::invalid_argument, place,
             {"the epsilon ", std::to_string(epsilon), " must not be negative"});
    return any_tensor(make_node(type, x.shape(), normalize_op{what, std::move(list), epsilon},
                                {x.get()}));
}

namespace detail {
/// The product of (..., m, k) and (..., k, n) of truth values: whether both are true anywhere along
/// k, in one kernel.
PUMICE_FUNCTION any_tensor product_of_booleans(any_tensor a, any_tensor b, const shape& out) {
    if (out.rank() == max_rank) {  // one axis for all that are multiplied apart
        shape wide_a = out, wide_b = out;
        wide_a[max_rank - 1] = a.shape().back();
        wide_b[max_rank - 2] = b.shape()[b.rank() - 2];
        a = broadcast_to(a, wide_a), b = broadcast_to(b, wide_b);
        const auto folded = [](const any_tensor& x) {
            const std::int64_t last = x.shape().back(), rows = x.shape()[max_rank - 2];
            std::int64_t batch = 1;
            for (int i = 0; i < max_rank - 2; ++i) batch *= x.shape()[i];
            return reshape(x, {batch, rows, last});
        };
        a = folded(a), b = folded(b);
        return reshape(product_of_booleans(a, b, {a.shape()[0], a.shape()[1], b.shape()[2]}), out);
    }
    array_list<std::int64_t> turned;
    for (int i = 0; i < b.rank(); ++i) turned.push_back(i);
    std::swap(turned.begin()[b.rank() - 1], turned.begin()[b.rank() - 2]);
    const any_tensor rows = expand_dims(a, -2),                        // (..., m, 1, k)
        columns = expand_dims(permute_dims(b, turned), b.rank() - 2);  // (..., 1, n, k)
    const std::int64_t last = out.rank();
    return reduce(reduction::any, apply<op::logical_and>(rows, columns), {&last, 1});
}
}  // namespace detail

PUMICE_BODY any_tensor matmul(any_tensor a, any_tensor b) {
    const shape sa = a.shape(), sb = b.shape();
    const dtype types[] = {a.dtype(), b.dtype()};
    if (sa.rank() == 0 || sb.rank() == 0)
        fail(errc::rank_mismatch, "matmul",
             {"shapes ", to_string(sa), " and ", to_string(sb),
              ": a scalar has no matrix product"});
    const auto common = promote(a.dtype(), b.dtype());
    if (!common)
        detail::throw_types("matmul", types,
                            "the array API does not mix these kinds; convert one with astype");
    // Sums of narrow integers are taken in 32 bits and wrap once, before anything reads them.
    const bool narrow =
        *common != dtype::boolean && !is_floating(*common) && info(*common).bits < 32;
    const dtype type = narrow ? dtype::i32 : *common;
    a = astype(a, type);
    b = astype(b, type);
    if (sa.rank() == 1) a = expand_dims(a, 0);
    if (sb.rank() == 1) b = expand_dims(b, 1);
    const shape &x = a.shape(), &y = b.shape();
    if (x.back() != y[y.rank() - 2])
        fail(errc::shape_mismatch, "matmul",
             {"shapes ", to_string(sa), " and ", to_string(sb), " do not match: ", x.back(),
              " columns against ", y[y.rank() - 2], " rows"});
    shape batch_a(span(x.begin(), x.size() - 2)), batch_b(span(y.begin(), y.size() - 2));
    shape out;
    try {
        out = broadcast(batch_a, batch_b, "matmul");
    } catch (const error& e) {
        throw error(e.code(), "matmul",
                    "shapes " + to_string(sa) + " and " + to_string(sb) +
                        " do not match before their last two axes",
                    {e.message()});
    }
    out.push_back(x[x.rank() - 2]);
    out.push_back(y.back());
    any_tensor r = type == dtype::boolean
                       ? detail::product_of_booleans(a, b, out)
                       : any_tensor(make_node(type, out, matmul_op{}, {a.get(), b.get()}));
    r = astype(r, *common);
    if (sb.rank() == 1) r = squeeze(r, r.rank() - 1);
    if (sa.rank() == 1) r = squeeze(r, r.rank() - (sb.rank() == 1 ? 1 : 2));
    return r;
}

namespace detail {
inline void require(bool good, const char* place, const std::string& message) {
    if (!good) fail(errc::invalid_argument, place, {message});
}
}  // namespace detail

PUMICE_BODY any_tensor concat(span<const any_tensor> parts, std::int64_t axis) {
    detail::require(!parts.empty(), "concat", "needs at least one tensor");
    const int at = normalize_axis(axis, parts[0].rank(), "concat");
    shape out = parts[0].shape();
    array_list<node_ptr> inputs;
    out[at] = 0;
    for (const any_tensor& p : parts) {
        const dtype types[] = {parts[0].dtype(), p.dtype()};
        if (types[0] != types[1])
            detail::throw_types("concat", types, "needs one type; use astype");
        shape s = p.shape();
        bool same = s.rank() == out.rank();
        for (int i = 0; same && i < s.rank(); ++i) same = i == at || s[i] == out[i];
        if (!same)
            fail(errc::shape_mismatch, "concat",
                 {"shapes ", to_string(parts[0].shape()), " and ", to_string(s),
                  " differ outside axis ", at});
        out[at] = checked_add(out[at], s[at], "concat");
        inputs.push_back(p.get());
    }
    return any_tensor(make_node(parts[0].dtype(), out, concat_op{at}, std::move(inputs)));
}

PUMICE_BODY any_tensor take(const any_tensor& values, const any_tensor& indices,
                            std::int64_t axis) {
    const int at = normalize_axis(axis, values.rank(), "take");
    const dtype type = indices.dtype();
    if (type != dtype::i32 && type != dtype::i64)
        detail::throw_types("take", span(&type, 1), "indices must be i32 or i64");
    shape out;
    for (int i = 0; i < values.rank(); ++i) {
        if (i != at) out.push_back(values.shape()[i]);
        else
            for (std::int64_t d : indices.shape()) out.push_back(d);
    }
    if (values.shape()[at] == 0 && element_count(out) != 0)
        fail(errc::index_out_of_range, "take",
             {"axis ", at, " of ", to_string(values.shape()), " has no elements to take"});
    return any_tensor(make_node(values.dtype(), out, take_op{at}, {values.get(), indices.get()}));
}

PUMICE_BODY any_tensor copy(const any_tensor& x, const strides& wanted) {
    if (!x.get()->op.is<view_op>() && x.get()->layout() == wanted) return x;
    node_ptr n = make_node(x.dtype(), x.shape(), copy_op{wanted}, {x.get()});
    n->lay_out(wanted);
    return any_tensor(std::move(n));
}

#endif

}}  // namespace pumice::PUMICE_ABI
