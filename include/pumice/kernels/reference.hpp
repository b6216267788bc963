// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What every kernel struct has, and the host buffers on which `reference()` runs.
#pragma once

#include <pumice/expr/emit.hpp>
#include <pumice/expr/host.hpp>
#include <pumice/kernels/launch.hpp>

#include <concepts>

namespace pumice::inline PUMICE_ABI {

/// Host memory of a problem's buffers, by number.
struct host_buffers {
    std::vector<std::byte*> memory;

    host_array array(const operand& o) const {
        return {o.buffer < 0 ? nullptr : memory[static_cast<std::size_t>(o.buffer)], o.type,
                o.offset, o.steps};
    }
    std::vector<host_array> arrays(const std::vector<operand>& list) const {
        std::vector<host_array> r;
        for (const operand& o : list) r.push_back(array(o));
        return r;
    }
};

/// A kernel is data: what it takes, how it is launched, and the same computation in plain C++.
/// Promise: `make` is called only where `supports` said yes; it and `reference` write exactly the
/// outputs of the problem, over every coordinate of its domain.
/// Optional, for kernels of several launches: `make_all(p, d)` gives them in order, each to see what
/// the ones before it wrote, and `scratch(p, d)` the bytes of a buffer that they share; relocations
/// and accesses call it number -2, its contents are arbitrary at first and nobody's afterwards.
template <class K>
concept kernel =
    requires(const typename K::problem_type& p, const device_info& d, const host_buffers& b) {
        { K::name } -> std::convertible_to<std::string_view>;
        { K::portable } -> std::convertible_to<bool>;
        { K::supports(p, d) } -> std::same_as<support>;
        { K::make(p, d) } -> std::same_as<launch>;
        K::reference(p, b);
    };

/// No, naming the first element or arithmetic type of the program that the device lacks.
inline support supports_types(const fused& f, const device_info& device) {
    for (const instruction& i : f.body->code) {
        const bool memory = i.what == instruction::code::leaf;
        const arithmetic a = info(i.type).arithmetic;
        if ((memory && !device.supports(i.type)) ||
            (a == arithmetic::f64 && !device.float64_arithmetic) ||
            ((a == arithmetic::i64 || a == arithmetic::u64) && !device.int64_arithmetic))
            return support::no("the device has no " + std::string(to_string(i.type)));
    }
    for (const operand& o : f.outputs)
        if (!device.supports(o.type))
            return support::no("the device cannot store " + std::string(to_string(o.type)));
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
        throw error(errc::size_overflow, "kernels",
                    "the problem needs " + std::to_string(groups) +
                        " workgroups, more than the device can number");
    l.grid = {static_cast<std::uint32_t>(std::max<std::int64_t>(width, 1)),
              static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 1)), 1};
    return l.grid[0];
}

/// Runs an epilogue (or a body) on the host for one row of given values: n coordinates along the
/// last axis of the domain, starting at `at`. `given` holds n values in the program's given type.
class host_epilogue {
public:
    host_epilogue(const fused& f, const host_buffers& buffers)
        : f_(f), leaves_(buffers.arrays(f.leaves)), outputs_(buffers.arrays(f.outputs)),
          machine_(f.body->view()) {}

    /// `at` are the coordinates of the first element; the elements differ in the last coordinate.
    template <class T>
    void run(const index_list& at, const T* given, std::int64_t count) {
        const program_view p = f_.body->view();
        const int inner = at.rank() - 1;
        for (std::int64_t begin = 0; begin < count; begin += host_program::block) {
            const std::int64_t n = std::min(host_program::block, count - begin);
            const auto step = [&](const host_array& a) { return inner < 0 ? 0 : a.steps[inner]; };
            machine_.run(
                n, f_.scalars,
                [&](const instruction& i, void* out) {
                    const host_array& a = leaves_[i.index];
                    visit(i.type, [&](auto s) {
                        detail::load_block<decltype(s)>(a, offset_of(a, at) + begin * step(a),
                                                        step(a), out, n);
                    });
                },
                [&](void* out) {
                    std::memcpy(out, given + begin, static_cast<std::size_t>(n) * sizeof(T));
                });
            for (std::size_t k = 0; k < outputs_.size(); ++k) {
                const host_array& a = outputs_[k];
                visit(a.type, [&](auto s) {
                    detail::store_block<decltype(s)>(a, offset_of(a, at) + begin * step(a), step(a),
                                                     machine_.value(p.outputs[k]), n);
                });
            }
        }
    }

private:
    const fused& f_;
    std::vector<host_array> leaves_, outputs_;
    host_program machine_;
};

/// Evaluates a prologue on the host over a dense block: the program's first output at the
/// coordinates `at`, count elements along the last axis, converted to T.
template <class T>
class host_prologue {
public:
    host_prologue(const fused& f, const host_buffers& buffers)
        : f_(f), leaves_(buffers.arrays(f.leaves)), machine_(f.body->view()) {}

    void run(const index_list& at, T* out, std::int64_t count) {
        const program_view p = f_.body->view();
        const int inner = at.rank() - 1;
        for (std::int64_t begin = 0; begin < count; begin += host_program::block) {
            const std::int64_t n = std::min(host_program::block, count - begin);
            machine_.run(
                n, f_.scalars,
                [&](const instruction& i, void* values) {
                    const host_array& a = leaves_[i.index];
                    const std::int64_t step = inner < 0 ? 0 : a.steps[inner];
                    visit(i.type, [&](auto s) {
                        detail::load_block<decltype(s)>(a, offset_of(a, at) + begin * step, step,
                                                        values, n);
                    });
                },
                [](void*) {});
            detail::with_host_arithmetic(info(p.output_type()).arithmetic, [&]<class A>(A) {
                const auto* v = static_cast<const A*>(machine_.value(p.outputs[0]));
                for (std::int64_t i = 0; i < n; ++i)
                    out[begin + i] = static_cast<T>(detail::plain(v[i]));
            });
        }
    }

private:
    const fused& f_;
    std::vector<host_array> leaves_;
    host_program machine_;
};

}  // namespace pumice::inline PUMICE_ABI
