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
    template <class X> void operator+=(X&& x) && { assign(read() + std::forward<X>(x)); }
    template <class X> void operator-=(X&& x) && { assign(read() - std::forward<X>(x)); }
    template <class X> void operator*=(X&& x) && { assign(read() * std::forward<X>(x)); }
    template <class X> void operator/=(X&& x) && { assign(read() / std::forward<X>(x)); }

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
            if constexpr (array_argument<X> && !any_array<Tensor>) {
                using from = detail::element_of_argument<X>;
                using to = typename Tensor::element_type;
                if constexpr (!std::same_as<from, to>)
                    static_cast<void>(cannot_convert_elements_use_astype<from, to>{});
            }
            put(any_tensor(x.get()));
        }
    }
    void put(const any_operand& values) {
        whole_ = Tensor(detail::noted(slice_update(whole_, values, part_)));
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
