// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Assignment to a part of a tensor: at(x, slice{0, 2}, 3) = y, at(x, slice{}, slice{1}) += 1,
// at(x, mask) = 0, at(x, indices) = y.
#pragma once

#include <pumice/tensor/index.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Numbers, slices, new axes.
template <int Rank, std::size_t Places>
struct placed_part {
    static constexpr int rank = Rank;
    static constexpr bool alone = true;  // the update is one node over the old value
    index_place list[Places + 1];        // at least one: there may be no index

    index_places places() const { return {list, Places}; }
    any_tensor read(const any_tensor& x) const { return index_view(x, places()); }
    any_tensor update(const any_tensor& x, const any_operand& values) const {
        return index_update(x, values, places());
    }
};

/// What a mask or indices choose. Under a mask everything is read, and what it leaves out dropped.
template <int Rank>
struct chosen_part {
    static constexpr int rank = Rank;
    static constexpr bool alone = false;
    any_tensor by;

    any_tensor read(const any_tensor& x) const {
        return by.dtype() == dtype::boolean ? x : take(x, by, 0);
    }
    any_tensor update(const any_tensor& x, const any_operand& values) const {
        return select_update(x, by, values);
    }
};

}  // namespace detail

/// Named in compile errors; never defined.
template <class Tensor> struct cannot_assign_to_a_const;

/// A part of a tensor that can be assigned to; lives no longer than the statement. The tensor's
/// handle becomes one of a new value: other handles, views and what was computed from the old one
/// keep theirs. The memory is written in place where nobody else refers to it.
template <class Tensor, class Part>
class assignable {
public:
    assignable(Tensor& whole, Part part) : whole_(whole), part_(std::move(part)) {}
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
        const any_tensor v = part_.read(whole_);
        if constexpr (any_array<Tensor>) return v;
        else return tensor<typename Tensor::element_type, dims<Part::rank>, strided>(v);
    }

private:
    template <class X>
    void assign(X&& x) {
        if constexpr (any_array<Tensor> && number_argument<X>) {
            put(any_operand(x));
        } else if constexpr (number_argument<X>) {
            using e = typename Tensor::element_type;
            static_cast<void>(detail::tree_for<X, e>());
            put(detail::typed_number<e>(x));
        } else if constexpr (requires { x.read(); }) {  // another part
            put(checked(x.read()));
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
        if constexpr (std::is_const_v<Tensor>)
            static_cast<void>(cannot_assign_to_a_const<Tensor>{});
        Tensor next(part_.update(whole_, values));
        if (next.get() == whole_.get()) return;  // of no elements
        whole_ = std::move(next);
        const node_ptr& made = whole_.get();
        try {
            detail::noted(whole_);
        } catch (...) {
            if constexpr (Part::alone)
                if (!made->realised()) whole_ = Tensor(any_tensor(made->inputs[0]));
            throw;
        }
    }

    Tensor& whole_;
    Part part_;
};

namespace detail {
template <class Tensor, class... I>
constexpr int part_rank() {
    if constexpr (any_array<Tensor>) return 0;
    else return indexed_rank<Tensor::rank(), I...>();
}
template <class Tensor, class By>
constexpr int chosen_rank() {
    if constexpr (any_array<Tensor> || !array_argument<By>) return 0;
    else if constexpr (is_bool<By>()) return Tensor::rank();
    else return Tensor::rank() - 1 + extents_of<By>::rank;
}
}  // namespace detail

/// x[index, ...] as what can be assigned to; indices as of `view`. Throws as index_update does.
template <class Tensor, basic_index... I>
    requires std::derived_from<Tensor, any_tensor>
auto at(Tensor& x, const I&... index) {
    using part = detail::placed_part<detail::part_rank<Tensor, I...>(), sizeof...(I)>;
    return assignable<Tensor, part>(x, part{{detail::place_of(index)...}});
}
/// Where a bool mask holds (it is `where`), or the rows of x at a tensor of indices.
template <class Tensor, detail::tensor_index By>
    requires std::derived_from<Tensor, any_tensor>
auto at(Tensor& x, const By& chosen) {
    using part = detail::chosen_part<detail::chosen_rank<Tensor, By>()>;
    return assignable<Tensor, part>(x, part{any_tensor(chosen.get())});
}

}}  // namespace pumice::PUMICE_ABI
