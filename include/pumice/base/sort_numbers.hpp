// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Numbers sorted by an order of one's own, quick to compile.
#pragma once

#include <pumice/base/array_list.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// An order of any class.
struct number_order {
    const void* order;
    bool (*call)(const void* order, std::size_t a, std::size_t b);

    bool operator()(std::size_t a, std::size_t b) const { return call(order, a, b); }
};
inline void sort_numbers(array_list<std::size_t>& list, number_order before) {
    std::sort(list.begin(), list.end(), before);
}

}  // namespace detail

/// std::sort of a list of numbers, of indices mostly, by `before(a, b)`. There is one whatever the
/// order, of which each would take g++ 55 ms.
template <class Before>
void sort_numbers(array_list<std::size_t>& list, const Before& before) {
    detail::sort_numbers(list, {&before, [](const void* order, std::size_t a, std::size_t b) {
                                    return (*static_cast<const Before*>(order))(a, b);
                                }});
}

}}  // namespace pumice::PUMICE_ABI
