// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What every kernel struct has, and the host buffers on which the problems' `reference()` runs.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/expr/emit.hpp>
#include <pumice/expr/host.hpp>
#include <pumice/kernels/launch.hpp>

#include <array>
#include <concepts>

namespace pumice { inline namespace PUMICE_ABI {

/// Host memory of a problem's buffers, and the numbers of a run, by number.
struct host_buffers {
    array_list<std::byte*> memory;
    span<const scalar> numbers = {};

    array_list<scalar> scalars(const fused& f) const {
        array_list<scalar> r;
        for (const scalar_operand& s : f.scalars)
            r.push_back(s.number < 0 ? s.value : numbers[static_cast<std::size_t>(s.number)]);
        return r;
    }

    host_array array(const operand& o) const {
        return {o.buffer < 0 ? nullptr : memory[static_cast<std::size_t>(o.buffer)],
                o.type,
                o.offset,
                o.steps,
                o.format,
                {span(o.map.data(), o.map.size()), o.origin}};
    }
    array_list<host_array> arrays(const array_list<operand>& list) const {
        array_list<host_array> r;
        r.reserve(list.size());
        for (const operand& o : list) r.push_back(array(o));
        return r;
    }
};

/// A kernel is data: what it takes and how it is launched. What it computes is its problem's to
/// say: reference(const problem_type&, const host_buffers&), plain C++ beside the kernels.
/// `supports` says in which ways the kernel can solve a problem on a device, and how long each is
/// expected to take; what its rivals would take is not its business. `make` launches exactly the
/// way that it is given; a kernel that has one way leaves the argument out.
/// Promise: `make` is called only with a way of `supports`; what it launches writes exactly the
/// outputs of the problem, over every coordinate of its domain, as `reference` does.
/// Optional: `make_all` of the same arguments gives several launches in order, each to see what the
/// ones before it wrote, and `scratch` the bytes of a buffer for what workgroups or launches leave
/// each other; relocations and accesses call it number -2, its contents are arbitrary at first and
/// nobody's afterwards.
template <class K>
concept kernel_type =
    requires(const typename K::problem_type& p, const device_info& d, const host_buffers& b) {
        { K::name } -> std::convertible_to<std::string_view>;
        { K::portable } -> std::convertible_to<bool>;
        { K::supports(p, d) } -> std::same_as<support>;
        reference(p, b);
    } && (requires(const typename K::problem_type& p, const device_info& d) {
        { K::make(p, d) } -> std::same_as<launch>;
    } || requires(const typename K::problem_type& p, const device_info& d, configuration way) {
        { K::make(p, d, way) } -> std::same_as<launch>;
    });

/// No, naming the first element or arithmetic type of the program that the device lacks.
inline support supports_types(const fused& f, const device_info& device) {
    for (const instruction& i : f.body->code) {
        const arithmetic a = info(i.type).arithmetic;
        if ((i.is_leaf() && !device.supports(i.format ? i.format->memory : i.type)) ||
            (a == arithmetic::f64 && !device.float64_arithmetic) ||
            ((a == arithmetic::i64 || a == arithmetic::u64) && !device.int64_arithmetic))
            return support::no({"the device has no ", to_string(i.type)});
    }
    for (const operand& o : f.outputs)
        if (!device.supports(o.type))
            return support::no({"the device cannot store ", to_string(o.type)});
    return {};
}

/// The Slang type of a kernel's indices.
inline std::string index_type(bool wide) { return wide ? "int64_t" : "int"; }

/// Spreads `groups` workgroups over x and y within the device's limits; returns the width in x.
/// Some groups of the last row may be idle: kernels compare with their count.
inline std::uint32_t spread(launch& l, std::int64_t groups, const device_info& device) {
    const std::int64_t limit =
        std::max<std::int64_t>(1, std::min<std::int64_t>(device.max_workgroup_count[0], 1 << 30));
    const std::int64_t rows = (groups + limit - 1) / limit,
                       width = rows <= 1 ? groups : (groups + rows - 1) / rows;
    if (rows > std::max<std::int64_t>(1, device.max_workgroup_count[1]))
        fail(errc::size_overflow, "kernels",
             {"the problem needs ", groups, " workgroups, more than the device can number"});
    l.grid = {static_cast<std::uint32_t>(std::max<std::int64_t>(width, 1)),
              static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 1)), 1};
    return l.grid[0];
}

/// Whether the device dispatches so many workgroups along each axis, and in all: drivers count
/// them in 32 bits, whatever the limits of the axes.
template <class Number>
support supports_grid(std::string_view name, const std::array<Number, 3>& groups,
                      const device_info& device) {
    double total = 1;
    for (std::size_t i = 0; i < 3; ++i) {
        if (groups[i] > device.max_workgroup_count[i])
            return support::no({name, " has a grid of ", groups[i], " workgroups along axis ", i,
                                ", the device takes ", device.max_workgroup_count[i]});
        total *= static_cast<double>(groups[i]);
    }
    if (total >= 0x1p32)
        return support::no({name, " has a grid of ", groups[0], " x ", groups[1], " x ", groups[2],
                            " workgroups, and drivers count fewer than 2^32"});
    return {};
}

/// A program on the host over rows of its domain: n coordinates along the last axis, starting at
/// `at`.
class host_rows {
public:
    /// Pre: the program outlives the object.
    host_rows(const fused& f, const host_buffers& buffers, bool wraps_later = false)
        : leaves_(buffers.arrays(f.leaves)), outputs_(buffers.arrays(f.outputs)),
          machine_(f.body->view(), leaves_, buffers.scalars(f), outputs_, wraps_later) {}

    /// A prologue over `domain`: its rows, where they are short, are computed several at a time.
    host_rows(const fused& f, const host_buffers& buffers, bool wraps_later, const shape& domain)
        : together_(rows_together(f, domain)), extent_(domain), leaves_(buffers.arrays(f.leaves)),
          machine_(f.body->view(), leaves_, buffers.scalars(f), {}, wraps_later,
                   together_ > 1 ? domain.back() : 0) {}

    /// An epilogue: given values of `type`, through the program, to the outputs.
    void write(const index_list& at, dtype type, const std::byte* given, std::int64_t count) {
        for (std::int64_t begin = 0; begin < count; begin += host_program::block)
            machine_.run({at, begin, std::min(host_program::block, count - begin)}, type,
                         given + byte_offset(type, begin));
    }
    /// A prologue: the first output's values, converted to `type`.
    void read(const index_list& at, dtype type, std::byte* out, std::int64_t count) {
        const dtype from = machine_.program().output_type();
        for (std::int64_t begin = 0; begin < count; begin += host_program::block) {
            const host_place to{at, begin, std::min(host_program::block, count - begin)};
            machine_.run(to);
            detail::cast_block(from, type, machine_.output(0), out + byte_offset(type, begin),
                               to.count);
        }
    }

    /// The first output's values as they are computed, until the next call; count <= block.
    const void* values(const index_list& at, std::int64_t begin, std::int64_t count) {
        if (together_ > 1 && count == extent_.back()) return whole_row(at);
        machine_.run({at, begin, count});
        held_ = 0;
        return machine_.output(0);
    }
    /// How many rows' values lie behind those, of the next ones along the axis before.
    std::int64_t rows_behind() const noexcept { return held_ > 0 ? first_ + held_ - 1 - now_ : 0; }

private:
    /// How many rows fit into a block; 1 where nothing is computed, or by a map of indices.
    static std::int64_t rows_together(const fused& f, const shape& domain) {
        const span<const instruction> code = f.body->view().code;
        if (domain.rank() < 2 || code.size() == 1) return 1;
        for (const instruction& i : code)
            if (i.what == instruction::code::mapped || i.what == instruction::code::inside)
                return 1;
        const std::int64_t row = std::max<std::int64_t>(domain.back(), 1);
        return std::min(host_program::block / row, domain[domain.rank() - 2]);
    }
    const void* whole_row(const index_list& at) {
        const int axis = at.rank() - 2;
        now_ = at[axis];
        if (held_ > 0) at_[axis] = now_;
        if (held_ == 0 || now_ < first_ || now_ >= first_ + held_ || at_ != at) {
            at_ = at;
            first_ = now_;
            held_ = std::min(together_, extent_[axis] - first_);
            machine_.run({at, 0, extent_.back(), held_});
        }
        return static_cast<const std::byte*>(machine_.output(0)) +
               byte_offset(detail::computed_as(machine_.program().output_type()),
                           (now_ - first_) * extent_.back());
    }

    std::int64_t together_ = 1;  // rows that fit into a block
    // Rows whose values are there: so many, the first and the last that was asked for by their
    // places along the axis before, and that one's coordinates.
    std::int64_t held_ = 0, first_ = 0, now_ = 0;
    index_list at_;
    shape extent_;
    array_list<host_array> leaves_, outputs_;
    host_program machine_;
};

namespace detail {

/// Values of the type that references compute in: f64, i64 or u64, in which all values of an
/// element type are exact. So each loop is made for these three, and all around the loops is made
/// once.
class wide_values {
public:
    static constexpr std::int64_t size = 8;

    explicit wide_values(std::int64_t count = 0) { grow(count); }
    /// Room for more; gives where it begins.
    std::byte* grow(std::int64_t count) {
        bytes_.resize(bytes_.size() + static_cast<std::size_t>(count * size));
        return at(static_cast<std::int64_t>(bytes_.size()) / size - count);
    }
    void clear() noexcept { bytes_.clear(); }
    std::byte* at(std::int64_t i) noexcept { return bytes_.data() + i * size; }
    template <class T>
    span<T> as() noexcept {
        static_assert(sizeof(T) == size);
        return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }

private:
    array_list<std::byte> bytes_;
};

/// The widest type of an element type's kind.
template <element T>
using widest_of =
    std::conditional_t<is_floating(dtype_of<T>), double,
                       std::conditional_t<info(dtype_of<T>).kind == kind::signed_integer,
                                          std::int64_t, std::uint64_t>>;

/// Calls `f` with a value of the widest type of `type`'s kind.
template <class F>
void visit_widest(dtype type, F&& f) {
    switch (widest(type)) {
        case dtype::f64: return f(double{});
        case dtype::i64: return f(std::int64_t{});
        default: return f(std::uint64_t{});
    }
}
/// The same for sums of products, where the sign of an integer does not matter: they wrap.
constexpr dtype widest_sum(dtype type) noexcept {
    return is_floating(type) ? dtype::f64 : dtype::u64;
}
template <class F>
void visit_sum(dtype type, F&& f) {
    if (is_floating(type)) f(double{});
    else f(std::uint64_t{});
}

/// The lowest or the highest value of element type `t`, held as T.
template <class T>
T extreme_of(dtype t, bool lowest) {
    if constexpr (std::is_floating_point_v<T>) {
        return lowest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    } else {
        const int unused = 64 - (t == dtype::boolean ? 1 : info(t).bits);
        using limits = std::numeric_limits<T>;
        return static_cast<T>((lowest ? limits::min() : limits::max()) >> unused);
    }
}

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
