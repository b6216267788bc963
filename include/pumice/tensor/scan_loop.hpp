// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A loop over the rows of tensors that carries values and stacks others, with the semantics of
// JAX's lax.scan.
#pragma once

#include <pumice/tensor/control.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Named in compile errors; never defined.
template <class Result> struct function_of_scan_gives_carry_and_y;

namespace detail {

/// A row of a typed tensor, and a tensor of such rows; of a tuple, the tuple of those of each.
template <class X>
struct rows_of {
    using row = any_tensor;
    using stack = any_tensor;
};
template <element T, extents_type E, layout L>
struct rows_of<tensor<T, E, L>> {
    static_assert(E::rank > 0, "scan runs along axis 0 of xs; a scalar has none");
    using row = tensor<T, dims<E::rank - 1>>;
};
template <class... X>
struct rows_of<std::tuple<X...>> {
    using row = std::tuple<typename rows_of<X>::row...>;
};
template <class Y>
struct stack_of {
    using type = any_tensor;
};
template <element T, extents_type E, layout L>
struct stack_of<tensor<T, E, L>> {
    using type = tensor<T, dims<E::rank + 1>>;
};
template <class... Y>
struct stack_of<std::tuple<Y...>> {
    using type = std::tuple<typename stack_of<Y>::type...>;
};
template <class R>
concept two_results = requires { requires std::tuple_size<R>::value == 2; };

/// How many rows tensors have along axis 0, all as many.
PUMICE_FUNCTION std::int64_t common_rows(span<const any_tensor> xs);

}  // namespace detail

/// carry = init; for each row x of xs along axis 0 (from the last on, in `reverse`):
/// (carry, y) = f(carry, x). Gives (carry, ys), where row k of ys is what row k of xs gave. Each of
/// carry, x and y is a tensor or a std::tuple of tensors. Nothing is read back. Throws what
/// while_loop throws, and errc::shape_mismatch for xs of unlike numbers of rows.
template <class F, class Init, class Xs>
auto scan(const F& f, const Init& init, const Xs& xs, bool reverse = false) {
    using carry = typename detail::traced_result<Init>::type;
    using row = typename detail::rows_of<typename detail::traced_result<Xs>::type>::row;
    using pair =
        std::remove_cvref_t<decltype(f(std::declval<const carry&>(), std::declval<const row&>()))>;
    if constexpr (!detail::two_results<pair>)
        static_cast<void>(function_of_scan_gives_carry_and_y<pair>{});
    using y = typename detail::traced_result<std::tuple_element_t<1, pair>>::type;
    using ys = typename detail::stack_of<y>::type;
    const std::vector<any_tensor> rows = detail::results_as_list(xs),
                                  first = detail::results_as_list(init);
    std::vector<any_tensor> made = detail::noted(detail::run_scan(
        {"scan", detail::common_rows(rows)},
        [&](span<const any_tensor> l) {
            std::vector<any_tensor> each;
            for (const any_tensor& x : rows) each.push_back(detail::row_at(x, l[0]));
            const auto [next, out] = f(detail::traced_result<carry>::make({l.begin() + 1, l.end()}),
                                       detail::traced_result<row>::make(each));
            std::vector<any_tensor> results = detail::results_as_list(next);
            if (results.size() != first.size())
                fail(errc::invalid_argument, "scan",
                     {"the body gives ", results.size(), " values to carry, it is given ",
                      first.size()});
            for (any_tensor& t : detail::results_as_list(out)) results.push_back(std::move(t));
            return results;
        },
        first, reverse));
    const auto stacks = made.begin() + std::ssize(first);
    return std::tuple<carry, ys>(detail::traced_result<carry>::make({made.begin(), stacks}),
                                 detail::traced_result<ys>::make({stacks, made.end()}));
}

#ifndef PUMICE_COMPILED

PUMICE_BODY std::int64_t detail::common_rows(span<const any_tensor> xs) {
    std::int64_t rows = -1;
    for (const any_tensor& x : xs) {
        if (x.rank() == 0)
            fail(errc::rank_mismatch, "scan", {"runs along axis 0 of xs; a scalar has none"});
        if (rows >= 0 && x.shape()[0] != rows)
            fail(errc::shape_mismatch, "scan",
                 {"xs of ", rows, " and of ", x.shape()[0], " rows along axis 0"});
        rows = x.shape()[0];
    }
    return rows;
}

#endif

}}  // namespace pumice::PUMICE_ABI
