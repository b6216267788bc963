// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Running sums and products of run-time type.
#pragma once

#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI {

struct cumulative_options {
    bool include_initial = false;  // a first result, of no elements: one more than there are
    bool exclusive = false;        // of the elements before, not of the element itself
    bool reverse = false;          // from the end
};

/// Running sums or products (`what`) along `axis`, of x's type: integers wrap, as a reduction's do.
PUMICE_FUNCTION any_tensor cumulative(reduction what, const any_tensor& x, std::int64_t axis,
                                      const cumulative_options& options = {});

#ifndef PUMICE_COMPILED

PUMICE_BODY any_tensor cumulative(reduction what, const any_tensor& x, std::int64_t axis,
                                  const cumulative_options& options) {
    if (what != reduction::sum && what != reduction::prod)
        fail(errc::invalid_argument, "cumulative", {"there is no running ", to_string(what)});
    const char* place = what == reduction::sum ? "cumulative_sum" : "cumulative_prod";
    const dtype type = x.dtype();
    if (type == dtype::boolean)
        detail::throw_types(place, span(&type, 1), "needs numbers; use astype");
    if (options.include_initial && options.exclusive)
        fail(errc::invalid_argument, place, {"an exclusive one begins with the initial value"});
    const int at = normalize_axis(axis, x.rank(), place);
    shape out = x.shape();
    if (options.include_initial) out[at] = checked_add(out[at], 1, place);
    const bool leads = options.include_initial || options.exclusive;
    return any_tensor(make_node(type, out, scan_op{what, at, leads, options.reverse}, {x.get()}));
}

#endif

}}  // namespace pumice::PUMICE_ABI
