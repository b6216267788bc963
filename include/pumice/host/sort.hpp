// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sorting on the host: by digits of keys whose order as unsigned numbers is that of the values;
// rows are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/sort.hpp>

#include <bit>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// A number in the order of values: NaN last, -0 as 0.
template <element T>
auto sort_key(const T& v) {
    if constexpr (is_floating(dtype_of<T>)) {
        using real = std::conditional_t<std::is_same_v<T, double>, double, float>;
        using bits = std::conditional_t<std::is_same_v<T, double>, std::uint64_t, std::uint32_t>;
        const auto x = convert<real>(v);
        if (x != x) return ~bits{0};
        constexpr bits sign = ~(~bits{0} >> 1);
        const auto b = std::bit_cast<bits>(x == 0 ? real(0) : x);
        return static_cast<bits>(b & sign ? ~b : b | sign);
    } else {
        using wide = widest_of<T>;
        using bits = std::conditional_t<info(dtype_of<T>).bits == 64, std::uint64_t, std::uint32_t>;
        constexpr auto lowest =
            std::is_signed_v<wide> ? std::uint64_t{1} << (8 * sizeof(bits) - 1) : 0;
        return static_cast<bits>(static_cast<std::uint64_t>(convert<wide>(v)) ^ lowest);
    }
}

template <class Key>
struct keyed_place {
    Key key;
    std::uint32_t place;
};

/// Sorts a list that is all but sorted; equal keys keep their order. Gives up, the list still
/// holding the same, after eight moves an item.
template <class Key>
bool sort_nearly_sorted(keyed_place<Key>* list, std::size_t n) {
    std::size_t moves = 8 * n;
    for (std::size_t i = 1; i < n; ++i) {
        if (!(list[i].key < list[i - 1].key)) continue;
        const keyed_place<Key> item = list[i];
        std::size_t k = i;
        for (; k > 0 && item.key < list[k - 1].key && moves > 0; --k, --moves)
            list[k] = list[k - 1];
        list[k] = item;
        if (moves == 0) return false;
    }
    return true;
}
/// Sorts by keys; equal ones keep their order. `room` is as long as `list`; gives which of the two
/// holds the result. Few keys are equal in the four highest digits of those in which keys differ,
/// so they are taken first, and all only where that leaves much to be moved.
template <class Key>
keyed_place<Key>* sort_by_digits(keyed_place<Key>* list, keyed_place<Key>* room, std::size_t n,
                                 std::size_t most = 4) {
    constexpr std::size_t digits = sizeof(Key);
    std::uint32_t counts[digits][256] = {};
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t d = 0; d < digits; ++d) ++counts[d][list[i].key >> (8 * d) & 255];
    const auto differ = [&](std::size_t d) { return counts[d][list[0].key >> (8 * d) & 255] != n; };
    std::size_t first = digits, differing = 0;
    for (std::size_t d = digits; d-- > 0;)
        if (differ(d) && ++differing <= most) first = d;
    for (std::size_t d = first; d < digits; ++d) {
        if (!differ(d)) continue;
        std::uint32_t begin = 0;
        for (std::uint32_t& c : counts[d]) {
            const std::uint32_t size = c;
            c = begin;
            begin += size;
        }
        for (std::size_t i = 0; i < n; ++i) {
            std::uint32_t& to = counts[d][list[i].key >> (8 * d) & 255];
            room[to++] = list[i];
        }
        std::swap(list, room);
    }
    if (differing <= most || sort_nearly_sorted(list, n)) return list;
    return sort_by_digits(list, room, n, digits);
}

template <element T>
void sort_rows_of(const sort_problem& p, const host_buffers& buffers, const thread_pool& threads) {
    using key = decltype(sort_key(T{}));
    using item = keyed_place<key>;
    const host_array values = buffers.array(p.values), output = buffers.array(p.output);
    const std::int64_t read = values.steps.back(), write = output.steps.back(),
                       rows = element_count(p.outer);
    const auto n = static_cast<std::size_t>(p.length);
    shape domain = p.outer;
    domain.push_back(1);
    threads.run(rows, parts_for_a_thread(8 * p.length), [&](std::int64_t row) {
        const index_list at = row_at(domain, row);
        const std::int64_t from = offset_of(values, at);
        std::byte* to = output.data + byte_offset(dtype::i64, offset_of(output, at));
        array_list<item> list(n), room(n);
        for (std::size_t i = 0; i < n; ++i) {
            const auto place = static_cast<std::int64_t>(i);
            const key k = sort_key(load_element<T>(values.data, from + place * read));
            list[i] = {p.descending ? static_cast<key>(~k) : k, static_cast<std::uint32_t>(i)};
        }
        const item* sorted = list.data();
        if (n < 128)
            std::sort(list.begin(), list.end(), [](const item& a, const item& b) {
                return a.key < b.key || (a.key == b.key && a.place < b.place);
            });
        else sorted = sort_by_digits(list.data(), room.data(), n);
        for (std::size_t i = 0; i < n; ++i, to += write * 8) {
            const std::int64_t place = sorted[i].place;
            std::memcpy(to, &place, 8);
        }
    });
}

template <std::same_as<sort_problem> P>
void sort_all(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    visit(p.values.type, [&]<class T>(T) { sort_rows_of<T>(p, buffers, threads); });
}

}  // namespace detail

template <std::same_as<sort_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (p.length > 0 && p.length <= 0xffffffffLL && p.outer.rank() < max_rank)
        out.solve<detail::sort_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
