// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors on the host as std::mdspan (C++23) and back, or as a class like it: the reference
// implementation's, or one of the user's.
#pragma once

#include <pumice/core/strided.hpp>
#include <pumice/tensor/creation.hpp>

#include <array>
#include <concepts>
#include <type_traits>
#include <vector>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// A view of strided memory with std::mdspan's members, whose handle is a pointer.
template <class M>
concept mdspan_like = requires(const M& m) {
    typename M::element_type;
    { M::rank() } -> std::convertible_to<std::size_t>;
    { M::static_extent(0) } -> std::convertible_to<std::size_t>;
    { m.extent(0) } -> std::convertible_to<std::int64_t>;
    { m.stride(0) } -> std::convertible_to<std::int64_t>;
    { m.data_handle() } -> std::convertible_to<const typename M::element_type*>;
};

namespace detail {
#ifdef __cpp_lib_mdspan
template <class Element, class Extents, std::size_t... I>
std::mdspan<Element,
            std::extents<std::int64_t, (Extents::values[I] == dynamic_extent
                                            ? std::dynamic_extent
                                            : static_cast<std::size_t>(Extents::values[I]))...>>
    std_mdspan_of(std::index_sequence<I...>);
#endif
}  // namespace detail

/// The elements where they lie on the host, evaluated and fetched where they are not there yet; of
/// a `Mdspan` of non-const elements to be written. It is valid as long as what `host` and
/// `host_mut` give. Throws errc::shape_mismatch where Mdspan has other extents, and
/// errc::invalid_argument where it does not lay them out in row-major order (layout_right).
template <mdspan_like Mdspan, element T, extents_type Extents>
    requires(std::same_as<T, std::remove_const_t<typename Mdspan::element_type>> &&
             Mdspan::rank() == static_cast<std::size_t>(Extents::rank))
Mdspan as_mdspan(tensor<T, Extents, row_major>& x) {
    std::array<std::int64_t, static_cast<std::size_t>(Extents::rank)> extent{};
    for (std::size_t i = 0; i < extent.size(); ++i) {
        extent[i] = x.shape()[static_cast<int>(i)];
        const auto wanted = static_cast<std::int64_t>(Mdspan::static_extent(i));
        if (Mdspan::static_extent(i) != static_cast<std::size_t>(-1) && wanted != extent[i])
            fail(errc::shape_mismatch, "as_mdspan",
                 {"the tensor's shape is ", to_string(x.shape()), ", the mdspan has ", wanted,
                  " elements along axis ", i});
    }
    const auto view = [&] {
        if constexpr (std::is_const_v<typename Mdspan::element_type>)
            return Mdspan(x.host().data(), extent);
        else return Mdspan(x.host_mut().data(), extent);
    }();
    const strides rows = row_major_strides(x.shape());
    for (int i = 0; x.size() > 0 && i < Extents::rank; ++i)
        if (x.shape()[i] > 1 &&
            static_cast<std::int64_t>(view.stride(static_cast<std::size_t>(i))) != rows[i])
            fail(errc::invalid_argument, "as_mdspan",
                 {"the mdspan is not laid out in row-major order, as tensors on the host are; "
                  "use layout_right"});
    return view;
}

#ifdef __cpp_lib_mdspan
/// The same as a std::mdspan of const elements with the tensor's extents, where the standard
/// library has it.
template <element T, extents_type Extents>
auto as_mdspan(tensor<T, Extents, row_major>& x) {
    using view = decltype(detail::std_mdspan_of<const T, Extents>(
        std::make_index_sequence<static_cast<std::size_t>(Extents::rank)>()));
    return as_mdspan<view>(x);
}
#endif

/// A tensor that holds a copy of what an mdspan shows, however that is laid out.
template <mdspan_like Mdspan>
    requires(element<std::remove_cv_t<typename Mdspan::element_type>> &&
             !packed_element<std::remove_cv_t<typename Mdspan::element_type>>)
auto from_mdspan(const Mdspan& m, const context& home = default_context()) {
    using T = std::remove_cv_t<typename Mdspan::element_type>;
    shape extent;
    strides steps;
    for (std::size_t i = 0; i < Mdspan::rank(); ++i) {
        extent.push_back(static_cast<std::int64_t>(m.extent(i)));
        steps.push_back(static_cast<std::int64_t>(m.stride(i)));
    }
    const auto* const from = reinterpret_cast<const std::byte*>(m.data_handle());
    std::vector<std::byte> rows(static_cast<std::size_t>(byte_count(dtype_of<T>,
                                                                    element_count(extent))));
    copy_strided(from, steps, sizeof(T), extent, rows.data());
    return tensor<T, dims<static_cast<int>(Mdspan::rank())>>(from_bytes(dtype_of<T>, extent, rows,
                                                                        home));
}

}}  // namespace pumice::PUMICE_ABI
