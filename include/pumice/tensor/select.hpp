// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elements picked by a mask, whose number depends on values: these wait for the count, and a
// function that is compiled cannot have them.
#pragma once

#include <pumice/graph/gather.hpp>
#include <pumice/graph/scan.hpp>
#include <pumice/tensor/creation.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// The places of what is not 0 in the flattened tensor, in order: i64, as long as they are many.
/// Throws errc::unsupported within a function that is compiled; `place` is the op that asks.
PUMICE_FUNCTION any_tensor flat_nonzero(const any_tensor& x, const char* place = "flat_nonzero");

/// x[mask]: the elements (or, of a mask of fewer axes, the rows) where a bool mask holds, in order.
/// The mask has the extents of x's leading axes.
PUMICE_FUNCTION any_tensor masked_select(const any_tensor& x, const any_tensor& mask);

/// x[i, j, ...]: an element for each tuple of as many indices (integers, or numbers) as x has axes,
/// which broadcast. Indices as for `take`.
PUMICE_FUNCTION any_tensor select(const any_tensor& x, span<const any_operand> indices);

/// x with `values` where the mask holds, or at rows x[indices]; a number takes x's type. Values
/// broadcast to x where a mask chooses (`where`), to x[indices] where indices do; of equal indices
/// the last counts.
PUMICE_FUNCTION any_tensor select_update(const any_tensor& x, const any_tensor& chosen,
                                         const any_operand& values);

#ifndef PUMICE_COMPILED

namespace detail {

inline void need_known_count(const char* place) {
    if (current_trace)
        fail(errc::unsupported, place,
             {"how many elements it gives depends on values, which a compiled function does not "
              "have; keep the shape with `where`, or call it outside"});
}

/// 0, 1, ... as i64.
PUMICE_FUNCTION any_tensor counting(std::int64_t n, const context& home) {
    return arange(dtype::i64, 0, static_cast<double>(n), 1, home);
}

/// A mask of the leading axes of x, with an axis of length 1 for each of the others.
PUMICE_FUNCTION any_tensor mask_over(const any_tensor& x, const any_tensor& mask,
                                     const char* place) {
    const shape& s = mask.shape();
    bool fits = s.rank() <= x.rank();
    for (int i = 0; fits && i < s.rank(); ++i) fits = s[i] == x.shape()[i];
    if (!fits)
        fail(errc::shape_mismatch, place,
             {"a mask of shape ", to_string(s), " for ", to_string(x.shape())});
    shape to = s;
    while (to.rank() < x.rank()) to.push_back(1);
    return reshape(mask, to);
}

}  // namespace detail

PUMICE_BODY any_tensor flat_nonzero(const any_tensor& x, const char* place) {
    detail::need_known_count(place);
    const context home(x.get()->owner);
    const std::int64_t n = x.size();
    if (n == 0) return from_bytes(dtype::i64, {0}, {}, home);
    // Since the count is waited for in any case, few elements are looked at where they arrive.
    const bool on_host = home.get()->device().type == device_type::host;
    if (n <= 65536 || on_host) {
        any_tensor holds = astype(x, dtype::boolean);
        const std::byte* const each = host(holds).data();  // no range: its iterators cost more
        constexpr std::int64_t block = 64;  // a length that is known is what -O2 vectorises
        std::int64_t count = 0, i = 0;
        for (; i + block <= n; i += block) {
            int some = 0;
            for (std::int64_t k = i; k < i + block; ++k) some += each[k] != std::byte{0};
            count += some;
        }
        for (; i < n; ++i) count += each[i] != std::byte{0};
        array_list<std::int64_t> room(static_cast<std::size_t>(on_host ? 0 : count));
        node_ptr places = on_host ? home.get()->create(dtype::i64, {count}, nullptr) : nullptr;
        auto* to = on_host ? reinterpret_cast<std::int64_t*>(home.get()->host(places, true))
                           : room.begin();
        for (i = 0; i < n; i += block) {  // without branches that are hard to predict
            std::int64_t some[block], found = 0;
            for (std::int64_t k = i; k < std::min(n, i + block); ++k) {
                some[found] = k;
                found += each[k] != std::byte{0};
            }
            std::memcpy(to, some, static_cast<std::size_t>(found) * sizeof(*to));
            to += found;
        }
        if (!on_host) places = home.get()->create(dtype::i64, {count}, room.begin());
        return any_tensor(std::move(places));
    }
    const dtype type = n < 0x7fffffff ? dtype::i32 : dtype::i64;
    const any_tensor holds = astype(astype(reshape(x, {n}), dtype::boolean), type),
                     before = cumulative(reduction::sum, holds, 0, {.exclusive = true});
    any_tensor count = astype(reduce(reduction::sum, holds), dtype::i64);
    const any_tensor both[] = {before, count};
    eval(span<const any_tensor>(both));
    std::int64_t found = 0;
    home.get()->read(count.get(), &found);
    if (found == 0) return from_bytes(dtype::i64, {0}, {}, home);
    // Of the elements with k others before them the last is the one that is not 0, and the last
    // update of a row is the one that stays: the keys are sorted as they are.
    const any_tensor places = detail::counting(n, home),
                     rows = full(dtype::i64, {found, 1}, 0, home);
    return reshape(any_tensor(make_node(dtype::i64, {found, 1}, scatter_op{scattering::replace},
                                        {rows.get(), before.get(), places.get(),
                                         reshape(places, {n, 1}).get()})),
                   {found});
}

PUMICE_BODY any_tensor masked_select(const any_tensor& x, const any_tensor& mask) {
    const dtype type = mask.dtype();
    if (type != dtype::boolean)
        detail::throw_types("masked_select", span(&type, 1), "the mask must be bool");
    detail::mask_over(x, mask, "masked_select");
    shape to{mask.size()};
    for (int i = mask.rank(); i < x.rank(); ++i) to.push_back(x.shape()[i]);
    const any_tensor places = flat_nonzero(mask, "masked_select");
    if (places.size() == 0) {
        to[0] = 0;
        return from_bytes(x.dtype(), to, {}, context(x.get()->owner));
    }
    return take(reshape(x, to), places, 0);
}

PUMICE_BODY any_tensor select(const any_tensor& x, span<const any_operand> indices) {
    if (static_cast<int>(indices.size()) != x.rank())
        fail(errc::rank_mismatch, "index",
             {indices.size(), " indices for the ", x.rank(), " axes of ", to_string(x.shape())});
    // One program over the indices gives the places in the flattened tensor.
    any_tensor place;
    std::int64_t fixed = 0;
    const bool any_elements = x.size() != 0;
    for (std::size_t k = 0; k < indices.size(); ++k) {
        const any_operand& i = indices[k];
        const std::int64_t n = x.shape()[static_cast<int>(k)];
        fixed *= n;
        if (place.has_value()) place = apply<op::multiply>(place, n);
        if (i.is_number) {
            const auto at = i.number.as<std::int64_t>();
            if (at < -n || at >= n)
                fail(errc::index_out_of_range, "index",
                     {"index ", at, " of axis ", k, " of ", to_string(x.shape())});
            fixed += at < 0 ? at + n : at;
            continue;
        }
        detail::need_indices(i.array, "index");
        any_tensor at = astype(i.array, dtype::i64);
        at = apply<op::where>(apply<op::less>(at, std::int64_t{0}), apply<op::add>(at, n), at);
        at = apply<op::clip>(at, std::int64_t{0}, n > 0 ? n - 1 : 0);
        place = place.has_value() ? apply<op::add>(place, at) : at;
    }
    if (!place.has_value()) {
        if (!any_elements) return x;
        place = full(dtype::i64, {}, 0, context(x.get()->owner));
    }
    if (!any_elements && place.size() != 0)
        fail(errc::index_out_of_range, "index", {to_string(x.shape()), " has no elements to take"});
    return take(reshape(x, {x.size()}), apply<op::add>(place, fixed), 0);
}

PUMICE_BODY any_tensor select_update(const any_tensor& x, const any_tensor& chosen,
                                     const any_operand& values) {
    if (!values.is_number && values.array.dtype() != x.dtype()) {
        const dtype types[] = {x.dtype(), values.array.dtype()};
        detail::throw_types("at", types, "the values need the tensor's type; use astype");
    }
    if (chosen.dtype() == dtype::boolean) {
        if (!values.is_number && broadcast(values.array.shape(), x.shape(), "at") != x.shape())
            fail(errc::shape_mismatch, "at",
                 {"values of shape ", to_string(values.array.shape()), " do not broadcast to ",
                  to_string(x.shape())});
        return apply<op::where>(detail::mask_over(x, chosen, "at"), values, x);
    }
    detail::need_indices(chosen, "at");
    if (x.rank() == 0) fail(errc::rank_mismatch, "at", {"a tensor of no axes has no rows"});
    shape rows = chosen.shape(), tuples = rows;
    for (int i = 1; i < x.rank(); ++i) rows.push_back(x.shape()[i]);
    tuples.push_back(1);
    const any_tensor given =
        values.is_number ? detail::constant_like(x, values.number, "at") : values.array;
    return scatter_nd(x, reshape(chosen, tuples), broadcast_to(given, rows));
}

#endif

}}  // namespace pumice::PUMICE_ABI
