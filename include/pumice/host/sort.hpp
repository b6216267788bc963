// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sorting on the host: by digits of keys whose order as unsigned numbers is that of the values;
// rows are shared among threads.
#pragma once

#include <pumice/base/thread_pool.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/top_k.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/sort.hpp>

#include <bit>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// A number in the order of values: NaN last, -0 as 0. Without comparing reals, so that compilers
/// make vectors of it.
template <element T>
auto sort_key(const T& v) {
    if constexpr (is_floating(dtype_of<T>)) {
        using real = std::conditional_t<std::is_same_v<T, double>, double, float>;
        using bits = std::conditional_t<std::is_same_v<T, double>, std::uint64_t, std::uint32_t>;
        constexpr bits sign = ~(~bits{0} >> 1);
        constexpr auto infinity = std::bit_cast<bits>(std::numeric_limits<real>::infinity());
        const auto b = std::bit_cast<bits>(convert<real>(v));
        const bits size = b & ~sign, key = b & sign ? sign - size : sign + size;
        return size > infinity ? ~bits{0} : key;
    } else {
        using wide = widest_of<T>;
        using bits = std::conditional_t<info(dtype_of<T>).bits == 64, std::uint64_t, std::uint32_t>;
        constexpr auto lowest =
            std::is_signed_v<wide> ? std::uint64_t{1} << (8 * sizeof(bits) - 1) : 0;
        return static_cast<bits>(static_cast<std::uint64_t>(convert<wide>(v)) ^ lowest);
    }
}

/// Puts the keys of n neighbours: by vectors where they lie side by side, and their count is known.
template <element T>
struct read_sort_keys {
    using key = decltype(sort_key(T{}));

    [[gnu::always_inline]] void operator()(const keys_of_row<key>* row, std::size_t begin,
                                           std::size_t n, key* to) const {
        constexpr std::int64_t block = 64;
        const key turned = row->turned;
        std::int64_t from = row->from + static_cast<std::int64_t>(begin) * row->step,
                     left = static_cast<std::int64_t>(n);
        if (!packed_element<T> && row->step == 1)
            for (; left >= block; left -= block, from += block, to += block) {
                const std::byte* const values = row->values + byte_offset(dtype_of<T>, from);
                key keys[block];
                for (std::int64_t i = 0; i < block; ++i)
                    keys[i] = sort_key(load_element<T>(values, i)) ^ turned;
                std::copy_n(keys, block, to);
            }
        for (; left > 0; --left, from += row->step)
            *to++ = sort_key(load_element<T>(row->values, from)) ^ turned;
    }
    static void call(const keys_of_row<key>& row, std::size_t begin, std::size_t n, key* to) {
        run_wide(read_sort_keys{}, &row, begin, n, to);
    }
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

/// Puts the places of the first `wanted` of a list in the order of its keys, each `step` numbers
/// behind the one before. The list lies in the order of places; `room` is as long.
template <class Key>
void put_sorted(keyed_place<Key>* list, keyed_place<Key>* room, std::size_t n, std::size_t wanted,
                std::byte* to, std::int64_t step) {
    using item = keyed_place<Key>;
    if (n < 128)
        std::sort(list, list + n, [](const item& a, const item& b) {
            return a.key < b.key || (a.key == b.key && a.place < b.place);
        });
    else list = sort_by_digits(list, room, n);
    for (std::size_t i = 0; i < wanted; ++i, to += step * 8) {
        const std::int64_t place = list[i].place;
        std::memcpy(to, &place, 8);
    }
}
/// Whether the first few are looked for; of more, it takes less to sort all.
constexpr bool looks_for_first(std::int64_t wanted, std::int64_t n) noexcept {
    return wanted <= n / 3;
}
template <class Key>
void sort_row(const keys_of_row<Key>& row, std::size_t n, std::size_t wanted, std::byte* to,
              std::int64_t step) {
    if (looks_for_first(static_cast<std::int64_t>(wanted), static_cast<std::int64_t>(n))) {
        first_keys<Key> first(wanted, row, n);
        array_list<keyed_place<Key>> room(wanted);
        return put_sorted(first.list(), room.data(), wanted, wanted, to, step);
    }
    array_list<keyed_place<Key>> list(n), room(n);
    Key keys[512];
    for (std::size_t i = 0; i < n; i += std::size(keys)) {
        const std::size_t count = std::min(n - i, std::size(keys));
        row.read(i, count, keys);
        for (std::size_t k = 0; k < count; ++k)
            list[i + k] = {keys[k], static_cast<std::uint32_t>(i + k)};
    }
    put_sorted(list.data(), room.data(), n, wanted, to, step);
}

/// Rows of so few elements are sorted by how many come before each: without branches.
inline constexpr std::int64_t most_counted = 16;

template <class Key>
void put_by_counts(const Key* keys, std::int64_t n, std::int64_t wanted, std::byte* to,
                   std::int64_t step) {
    std::int64_t before[most_counted] = {};
    for (std::int64_t i = 1; i < n; ++i)
        for (std::int64_t k = 0; k < i; ++k) {
            const bool later = keys[k] <= keys[i];
            before[i] += later;
            before[k] += !later;
        }
    for (std::int64_t i = 0; i < n; ++i)
        if (before[i] < wanted) std::memcpy(to + before[i] * step * 8, &i, 8);
}

template <element T>
void sort_rows_of(const sort_problem& p, const host_buffers& buffers, const thread_pool& threads) {
    using key = typename read_sort_keys<T>::key;
    if (p.first == 0) return;
    const host_array values = buffers.array(p.values), output = buffers.array(p.output);
    constexpr std::int64_t block = 512;
    const bool few = p.length <= most_counted;
    const std::int64_t rows = element_count(p.outer), n = p.length,
                       work = looks_for_first(p.first, n) ? 1 : 8, share = few ? block / n : 1;
    shape domain = p.outer;
    domain.push_back(n);
    const bool dense = few && is_row_major(domain, values.steps);
    threads.run((rows + share - 1) / share, parts_for_a_thread(work * n * share),
                [&](std::int64_t part) {
                    key list[block];
                    const std::int64_t begin = part * share, end = std::min(rows, begin + share);
                    index_list at = row_at(domain, begin);
                    for (std::int64_t row = begin; row < end; ++row, next_row(domain, at)) {
                        const keys_of_row<key> keys{
                            values.data, offset_of(values, at),
                            dense ? 1 : values.steps.back(),  // that of one element says nothing
                            static_cast<key>(p.descending ? ~key{0} : key{0}),
                            &read_sort_keys<T>::call};
                        std::byte* const to =
                            output.data + byte_offset(dtype::i64, offset_of(output, at));
                        const std::int64_t step = output.steps.back(),
                                           place = dense ? (row - begin) * n : 0;
                        if (!few) {
                            sort_row(keys, static_cast<std::size_t>(n),
                                     static_cast<std::size_t>(p.first), to, step);
                            continue;
                        }
                        if (!dense || row == begin)
                            keys.read(0, static_cast<std::size_t>(dense ? (end - begin) * n : n),
                                      list);
                        put_by_counts(list + place, n, p.first, to, step);
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
