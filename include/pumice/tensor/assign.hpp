// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Assignment to a part of a tensor: at(x, slice{0, 2}) = y, at(x, slice{}, slice{1}) += 1.
#pragma once

#include <pumice/graph/assign.hpp>
#include <pumice/tensor/axes.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A part of a tensor that can be assigned to; lives no longer than the statement. The tensor's
/// handle becomes one of a new value: other handles, views and what was computed from the old one
/// keep theirs. The memory is written in place where nobody else refers to it.
template <class Tensor, std::size_t Rank>
class assignable {
public:
    assignable(Tensor& whole, const std::array<slice, Rank>& part) : whole_(whole), part_(part) {}
    assignable(const assignable&) = delete;

    template <class X> void operator=(X&& x) && { assign(std::forward<X>(x)); }
    void operator=(assignable&& x) && { assign(x.read()); }
    // The view that is read goes first: it would keep the memory from being written in place.
    template <class X> void operator+=(X&& x) && {
        const any_tensor v = checked(read() + std::forward<X>(x));
        put(v);
    }
    template <class X> void operator-=(X&& x) && {
        const any_tensor v = checked(read() - std::forward<X>(x));
        put(v);
    }
    template <class X> void operator*=(X&& x) && {
        const any_tensor v = checked(read() * std::forward<X>(x));
        put(v);
    }
    template <class X> void operator/=(X&& x) && {
        const any_tensor v = checked(read() / std::forward<X>(x));
        put(v);
    }

    /// The part as a view of what the tensor is now.
    auto read() const {
        const any_tensor v = slice_view(whole_, part_);
        if constexpr (any_array<Tensor>) return v;
        else return tensor<typename Tensor::element_type, dims<Tensor::rank()>, strided>(v);
    }

private:
    template <class X>
    void assign(X&& x) {
        if constexpr (any_array<Tensor> && number_argument<X>) {
            put(any_operand(x));
        } else if constexpr (number_argument<X>) {
            using e = typename Tensor::element_type;
            static_cast<void>(detail::tree_for<X, e>());
            put(scalar(static_cast<e>(x)));
        } else {
            put(checked(x));
        }
    }
    template <class X>
    static any_tensor checked(const X& x) {
        if constexpr (array_argument<X> && !any_array<Tensor>) {
            using from = detail::element_of_argument<X>;
            using to = typename Tensor::element_type;
            if constexpr (!std::same_as<from, to>)
                static_cast<void>(cannot_convert_elements_use_astype<from, to>{});
        }
        return any_tensor(x.get());
    }
    /// The handle lets go of the old value before the new one may be computed, at this line where
    /// the context is eager: so the memory is written in place.
    void put(const any_operand& values) {
        Tensor next(slice_update(whole_, values, part_));
        if (next.get() == whole_.get()) return;  // of no elements
        whole_ = std::move(next);
        const node_ptr& made = whole_.get();
        try {
            detail::noted(whole_);
        } catch (...) {
            if (!made->realised()) whole_ = Tensor(any_tensor(made->inputs[0]));
            throw;
        }
    }

    Tensor& whole_;
    std::array<slice, Rank> part_;
};

/// x[start:stop:step, ...] as what can be assigned to; the axes beyond the slices are whole, bounds
/// are NumPy's. Throws as slice_update does.
template <class Tensor, std::same_as<slice>... Slices>
    requires std::derived_from<Tensor, any_tensor>
assignable<Tensor, sizeof...(Slices)> at(Tensor& x, Slices... slices) {
    return {x, {slices...}};
}

}}  // namespace pumice::PUMICE_ABI
