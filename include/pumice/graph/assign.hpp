// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A tensor with some of its elements replaced.
#pragma once

#include <pumice/graph/build.hpp>
#include <pumice/graph/view.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// x with `values`, broadcast to its shape, in place of x[start:stop:step, ...] (NumPy's x[...] =
/// values). A number takes the type of x. Throws errc::dtype_mismatch, errc::shape_mismatch,
/// errc::rank_mismatch.
PUMICE_FUNCTION any_tensor slice_update(const any_tensor& x, const any_operand& values,
                                        span<const slice> slices);

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor slice_update(const any_tensor& x, const any_operand& given,
                                    span<const slice> slices) {
    const any_tensor values =
        given.is_number ? detail::constant_like(x, given.number, "slice_update") : given.array;
    if (x.dtype() != values.dtype())
        fail(errc::dtype_mismatch, "slice_update",
             {"the tensor is ", to_string(x.dtype()), ", the values are ",
              to_string(values.dtype()), "; use astype"});
    shape part = x.shape();
    view_op shown = detail::view_of(part, slices);
    if (values.rank() > part.rank() || broadcast(values.shape(), part, "slice_update") != part)
        fail(errc::shape_mismatch, "slice_update",
             {"values of shape ", to_string(values.shape()), " do not broadcast to the slice's ",
              to_string(part)});
    if (element_count(part) == 0) return x;
    return any_tensor(make_node(x.dtype(), x.shape(), assign_op{std::move(shown), part},
                                {x.get(), values.get()}));
}

#endif

}}  // namespace pumice::PUMICE_ABI
