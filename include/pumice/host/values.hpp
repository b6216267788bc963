// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the host's loops read and write: rows of a program's value as floats, in place where they
// lie so; strided elements in row-major order.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/reference.hpp>

#include <algorithm>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

/// Elements that the host reduces in one piece, and at most so many of a loop that it takes alone.
inline constexpr std::int64_t least_part = 1 << 17;
/// Elements that a thread takes at a time, and how many are worth waking one for
/// (bench/results/2026-11-23-host-threads.md).
inline constexpr std::int64_t thread_part = 1 << 14, worth_a_thread = 1 << 16;
/// Of lines of fewer elements the next axis is walked instead, where it is longer.
inline constexpr std::int64_t short_line = 64;
/// Parts of so many elements each that are worth a thread.
inline std::int64_t parts_for_a_thread(std::int64_t elements) {
    return std::max<std::int64_t>(1, worth_a_thread / elements);
}

/// True where the program's value is computed in float.
inline bool computes_in_float(const fused& f) {
    return info(f.type()).arithmetic == arithmetic::f32;
}

/// Whether a T is what an element of the type is in memory; integers count modulo 2^bits.
template <class T>
constexpr bool holds_as(dtype type) noexcept {
    if constexpr (std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>)
        if (type == dtype_of<std::make_signed_t<T>>) return true;
    return type == dtype_of<T>;
}
/// What a program reads, where it is one operand of such elements as they are; else null.
template <class T>
const operand* leaf_alone(const fused& f) {
    const program_view p = f.body->view();
    const bool alone = p.code.size() == 1 && p.code[0].what == instruction::code::leaf &&
                       holds_as<T>(p.code[0].type);
    return alone ? &f.leaves[0] : nullptr;
}
/// What an epilogue writes, where it is what it is given, once and in such elements; else null.
template <class T>
const operand* result_alone(const fused& f) {
    const program_view p = f.body->view();
    const bool alone = p.code.size() == 1 && p.code[0].what == instruction::code::given &&
                       f.outputs.size() == 1 && holds_as<T>(f.outputs[0].type);
    return alone ? &f.outputs[0] : nullptr;
}

/// Rows of a program's value that is computed in T.
template <class T>
class number_rows {
public:
    /// Pre: the program outlives the object. `domain`, if it is named, is asked for row by row in
    /// row-major order.
    number_rows(const fused& f, const host_buffers& buffers, const shape& domain = {}) {
        const operand* const leaf = leaf_alone<T>(f);
        if (!leaf || leaf->steps.empty() || leaf->steps.back() != 1)
            machine_.emplace(f, buffers, false, domain);
        else leaf_ = buffers.array(*leaf);
    }
    /// n values from the coordinates `at` on, along the last axis; valid until the next call.
    const T* read(const index_list& at, std::int64_t n) {
        if (!machine_) return reinterpret_cast<const T*>(leaf_.data) + offset_of(leaf_, at);
        if (n <= host_program::block) return static_cast<const T*>(machine_->values(at, 0, n));
        room_.resize(static_cast<std::size_t>(n));
        read(at, n, room_.data());
        return room_.data();
    }
    void read(const index_list& at, std::int64_t n, T* out) {
        if (!machine_) std::copy_n(read(at, n), n, out);
        else machine_->read(at, dtype_of<T>, reinterpret_cast<std::byte*>(out), n);
    }
    bool in_place() const noexcept { return !machine_; }

private:
    host_array leaf_;
    std::optional<host_rows> machine_;  // where values are computed
    array_list<T> room_;
};

/// Where rows of such results go through an epilogue.
template <class T>
class number_results {
public:
    number_results(const fused& f, const host_buffers& buffers) {
        const operand* const out = result_alone<T>(f);
        if (!out || out->steps.empty() || out->steps.back() != 1) machine_.emplace(f, buffers);
        else out_ = buffers.array(*out);
    }
    /// Where n values for the coordinates `at` are to be put; then write() them.
    T* place(const index_list& at, std::int64_t n) {
        if (!machine_) return reinterpret_cast<T*>(out_.data) + offset_of(out_, at);
        room_.resize(static_cast<std::size_t>(n));
        return room_.data();
    }
    void write(const index_list& at, std::int64_t n, const T* values) {
        if (machine_)
            machine_->write(at, dtype_of<T>, reinterpret_cast<const std::byte*>(values), n);
    }
    bool in_place() const noexcept { return !machine_; }

private:
    host_array out_;
    std::optional<host_rows> machine_;  // where the epilogue computes
    array_list<T> room_;
};

using float_rows = number_rows<float>;
using float_results = number_results<float>;

/// Copies strided elements to row-major order.
inline void gather(dtype type, const shape& extent, const std::byte* from, std::int64_t offset,
                   const strides& steps, void* to) {
    if (is_row_major(extent, steps) && starts_byte(type, offset)) {
        std::memcpy(to, from + byte_offset(type, offset),
                    static_cast<std::size_t>(byte_count(type, element_count(extent))));
        return;
    }
    auto* const out = static_cast<std::byte*>(to);
    if (is_packed(type))
        std::memset(out, 0, static_cast<std::size_t>(byte_end(type, element_count(extent))));
    const int inner = extent.rank() - 1;
    const std::int64_t length = inner < 0 ? 1 : extent[inner], step = inner < 0 ? 1 : steps[inner];
    std::int64_t done = 0;
    for_each_row(extent, [&](const index_list& row) {
        std::int64_t at = offset;
        for (int i = 0; i < row.rank(); ++i) at += row[i] * steps[i];
        if (is_packed(type)) detail::copy_nibbles(from, at, step, out, done, length);
        else
            detail::copy_elements(info(type).bits, from + byte_offset(type, at), step,
                                  out + byte_offset(type, done), 1, length);
        done += length;
    });
}

/// The coordinates of row number `i` of a domain, counted in row-major order; 0 along the last
/// axis.
inline index_list row_at(const shape& domain, std::int64_t i) {
    index_list at = domain;
    at[at.rank() - 1] = 0;
    for (int d = at.rank() - 2; d >= 0; i /= domain[d], --d) at[d] = i % domain[d];
    return at;
}

/// On to the next row of the domain.
inline void next_row(const shape& domain, index_list& at) noexcept {
    for (int d = at.rank() - 2; d >= 0 && ++at[d] == domain[d]; --d) at[d] = 0;
}

/// Makes the longest of some axes, which operands have from axis `first` on, the innermost of them.
/// Gives how many rows along it lie beside each other then, to be walked block by block.
inline std::int64_t put_longest_last(shape& axes, int first, const array_list<operand*>& operands) {
    const int last = axes.rank() - 1;
    int axis = last;
    for (int i = last - 1; i >= 0; --i)
        if (axes[i] > 2 * axes[axis]) axis = i;
    const auto turn = [&](index_list& list, int from) {
        std::int64_t* const begin = list.begin() + from;
        std::rotate(begin + axis, begin + axis + 1, begin + last + 1);
    };
    turn(axes, 0);
    for (operand* o : operands) turn(o->steps, first);
    std::int64_t beside = 1;
    for (int i = axis; i < last; ++i) beside *= axes[i];
    return beside;
}

/// How many numbers of a line are taken at a time, where each has `beside` more lines of its own
/// and `elements` in each: those beside each other are to stay in the first cache.
inline std::int64_t width_of_lines(std::int64_t beside, std::int64_t elements) {
    constexpr std::int64_t most = host_program::block;
    return beside == 1 ? most : std::clamp<std::int64_t>(8192 / (beside * elements), 64, most);
}

}}  // namespace pumice::PUMICE_ABI
