// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors on the host as maps of Eigen 3's, and Eigen's expressions as tensors. The only header
// that needs Eigen; its headers have to be on the include path.
#pragma once

#include <pumice/tensor/creation.hpp>

#include <concepts>
#include <type_traits>

#include <Eigen/Core>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

constexpr int eigen_extent(std::int64_t n) {
    return n == dynamic_extent ? Eigen::Dynamic : static_cast<int>(n);
}
/// A vector is a column; Eigen has no row-major matrix of one column, whose order is the same.
template <class T, class Extents>
constexpr auto eigen_matrix() {
    constexpr int rows = eigen_extent(Extents::values[0]);
    constexpr int columns = Extents::rank == 1 ? 1 : eigen_extent(Extents::values.back());
    return std::type_identity<
        Eigen::Matrix<T, rows, columns, columns == 1 ? Eigen::ColMajor : Eigen::RowMajor>>();
}
template <class T, class Extents>
using eigen_matrix_of = typename decltype(eigen_matrix<T, Extents>())::type;

}  // namespace detail

/// A tensor of one or two axes where it lies on the host, evaluated and fetched where it is not
/// there yet: a row-major matrix, or a column, of Eigen's to be read. It is valid as long as what
/// `host` gives.
template <element T, extents_type Extents>
    requires(std::is_arithmetic_v<T> && (Extents::rank == 1 || Extents::rank == 2))
auto as_eigen(tensor<T, Extents, row_major>& x) {
    const T* const data = x.host().data();
    return Eigen::Map<const detail::eigen_matrix_of<T, Extents>>(
        data, static_cast<Eigen::Index>(x.shape()[0]),
        static_cast<Eigen::Index>(Extents::rank == 1 ? 1 : x.shape()[Extents::rank - 1]));
}
/// The same to be written; it is valid as long as what `host_mut` gives.
template <element T, extents_type Extents>
    requires(std::is_arithmetic_v<T> && (Extents::rank == 1 || Extents::rank == 2))
auto as_eigen_mut(tensor<T, Extents, row_major>& x) {
    T* const data = x.host_mut().data();
    return Eigen::Map<detail::eigen_matrix_of<T, Extents>>(
        data, static_cast<Eigen::Index>(x.shape()[0]),
        static_cast<Eigen::Index>(Extents::rank == 1 ? 1 : x.shape()[Extents::rank - 1]));
}

/// The values of an expression, matrix or array of Eigen's: a pm::vector of what Eigen knows to be
/// a row or a column, else a pm::matrix.
template <class Derived>
    requires element<typename Derived::Scalar>
auto from_eigen(const Eigen::DenseBase<Derived>& x, const context& home = default_context()) {
    using T = typename Derived::Scalar;
    using rows = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const rows values = x.derived().array();
    const span<const T> span(values.data(), static_cast<std::size_t>(values.size()));
    if constexpr (Derived::IsVectorAtCompileTime)
        return vector<T>(from_span<T>(shape{values.size()}, span, home));
    else return matrix<T>(from_span<T>(shape{values.rows(), values.cols()}, span, home));
}

}}  // namespace pumice::PUMICE_ABI
