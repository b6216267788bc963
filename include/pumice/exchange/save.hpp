// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors to NumPy's .npy files and back, in one call each. Archives of them: exchange/npz.hpp.
#pragma once

#include <pumice/model/npy.hpp>
#include <pumice/tensor/creation.hpp>

#include <filesystem>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
/// The elements in row-major order; evaluates.
inline std::vector<std::byte> bytes_of(const any_tensor& x) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(x.size_bytes()));
    read(x, bytes);
    return bytes;
}
}  // namespace detail

/// Writes a tensor or an expression, evaluated, as a .npy file (version 1, row-major): NumPy's
/// `np.load` reads it, and `load`. Throws errc::io_failed; errc::unsupported for a type that NumPy
/// lacks (the 8-bit floats, i4, u4): use `astype` before.
inline void save(const std::filesystem::path& path, const any_tensor& x) {
    if (path.extension() == ".npz")
        throw error(errc::invalid_argument, "save",
                    path.string() +
                        " names an archive of arrays, which pm::save_npz of "
                        "<pumice/exchange/npz.hpp> writes");
    detail::npy_header_of(x.dtype(), x.shape());  // refused before anything is computed
    write_npy(path, {x.dtype(), x.shape(), detail::bytes_of(x)});
}
template <array_argument X>
    requires(!std::derived_from<std::remove_cvref_t<X>, any_tensor>)
void save(const std::filesystem::path& path, X&& x) {
    save(path, any_tensor(std::forward<X>(x).get()));
}

/// The tensor of a .npy file of NumPy's, `save`'s or another tool's: of the type and shape that the
/// file says, in either order. `load<float>(path)` says the element type, `load<float, 2>(path)`
/// the rank too. Throws errc::io_failed, errc::bad_file that says what is wrong with the file, and
/// errc::dtype_mismatch or errc::shape_mismatch where it holds something else.
inline any_tensor load(const std::filesystem::path& path, const context& home = default_context()) {
    if (path.extension() == ".npz")
        throw error(errc::invalid_argument, "load",
                    path.string() +
                        " names an archive of arrays, which pm::load_npz of "
                        "<pumice/exchange/npz.hpp> reads");
    const npy_array file = read_npy(path);
    return from_bytes(file.dtype, file.shape, file.bytes, home);
}
template <element T>
created<T> load(const std::filesystem::path& path, const context& home = default_context()) {
    any_tensor x = load(path, home);
    if (x.dtype() != dtype_of<T>)
        throw error(errc::dtype_mismatch, "load",
                    path.string() + " holds " + std::string(to_string(x.dtype())) + ", not " +
                        std::string(to_string(dtype_of<T>)));
    return created<T>(std::move(x));
}
template <element T, int Rank>
tensor<T, dims<Rank>> load(const std::filesystem::path& path,
                           const context& home = default_context()) {
    created<T> x = load<T>(path, home);
    if (static_cast<any_tensor&>(x).rank() != Rank)
        throw error(errc::shape_mismatch, "load",
                    path.string() + " holds an array of shape " + to_string(x.shape()) +
                        ", not one of " + std::to_string(Rank) + " axes");
    return x;
}

}}  // namespace pumice::PUMICE_ABI
