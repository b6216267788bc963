// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program run on the host: the same instructions as the generated kernel, in blocks that the C++
// compiler vectorises. It is the host device's elementwise kernel and the device kernels' reference.
#pragma once

#include <pumice/core/scalar.hpp>
#include <pumice/core/shape.hpp>
#include <pumice/expr/host_block.hpp>
#include <pumice/expr/program.hpp>

#include <memory>
#include <vector>

namespace pumice::inline PUMICE_ABI {

/// A strided array in host memory; strides and offset count elements. Without data it is an iota.
struct host_array {
    std::byte* data = nullptr;
    dtype type = dtype::f32;
    std::int64_t offset = 0;
    strides steps;
};

namespace detail {

/// Between storage type S and its host arithmetic type.
template <element S>
auto to_arithmetic(S v) {
    using A = host_arithmetic<info(dtype_of<S>).arithmetic>;
    if constexpr (std::is_same_v<A, wrapping<std::int32_t>>) return A(static_cast<std::int32_t>(v));
    else return static_cast<A>(v);
}
template <class A> constexpr auto plain(A v) { return v; }
template <class I> constexpr I plain(wrapping<I> v) { return v.value; }

template <element S>
void load_block(const host_array& a, std::int64_t at, std::int64_t step, void* out,
                std::int64_t n) {
    using A = decltype(to_arithmetic(S{}));
    auto* r = static_cast<A*>(out);
    const auto* p = reinterpret_cast<const S*>(a.data);
    if (!a.data)
        for (std::int64_t i = 0; i < n; ++i) r[i] = to_arithmetic(convert<S>(at + i * step));
    else if (step == 1)
        for (std::int64_t i = 0; i < n; ++i) r[i] = to_arithmetic(p[at + i]);
    else
        for (std::int64_t i = 0; i < n; ++i) r[i] = to_arithmetic(p[at + i * step]);
}

template <element S>
void store_block(const host_array& a, std::int64_t at, std::int64_t step, const void* in,
                 std::int64_t n) {
    using A = decltype(to_arithmetic(S{}));
    const auto* v = static_cast<const A*>(in);
    auto* p = reinterpret_cast<S*>(a.data);
    for (std::int64_t i = 0; i < n; ++i) p[at + i * step] = convert<S>(plain(v[i]));
}

/// Rounds or wraps each arithmetic value to what storage type S can hold.
template <element S>
void settle_block(void* values, std::int64_t n) {
    using A = decltype(to_arithmetic(S{}));
    auto* v = static_cast<A*>(values);
    for (std::int64_t i = 0; i < n; ++i) v[i] = to_arithmetic(convert<S>(plain(v[i])));
}

template <element From, element To>
void cast_block(const void* in, void* out, std::int64_t n) {
    const auto* v = static_cast<const decltype(to_arithmetic(From{}))*>(in);
    auto* r = static_cast<decltype(to_arithmetic(To{}))*>(out);
    for (std::int64_t i = 0; i < n; ++i) r[i] = to_arithmetic(convert<To>(plain(v[i])));
}

/// The element type that stands for an arithmetic type in casts.
constexpr dtype storage_of(arithmetic a) noexcept {
    constexpr dtype types[] = {dtype::f32, dtype::f64, dtype::i32,    dtype::i64,
                               dtype::u32, dtype::u64, dtype::boolean};
    return types[static_cast<int>(a)];
}

}  // namespace detail

/// Runs a program block by block along the innermost axis of `domain`.
class host_program {
public:
    static constexpr std::int64_t block = 256;

    explicit host_program(program_view p)
        : p_(p), values_(std::make_unique<std::uint64_t[]>(p.code.size() * block)) {}

    void* value(std::size_t n) { return values_.get() + n * static_cast<std::size_t>(block); }

    /// Evaluates `n` <= block elements. `leaf(i, out)` fills leaf i, `given(out)` the given value.
    template <class Leaf, class Given>
    void run(std::int64_t n, std::span<const scalar> scalars, Leaf&& leaf, Given&& given) {
        const auto count = static_cast<std::size_t>(n);
        for (std::size_t k = 0; k < p_.code.size(); ++k) {
            const instruction& i = p_.code[k];
            switch (i.what) {
                case instruction::code::leaf:
                case instruction::code::iota: leaf(i, value(k)); break;
                case instruction::code::given: given(value(k)); break;
                case instruction::code::scalar: fill(k, scalars[i.index], n); break;
                case instruction::code::cast: cast(i, k, n); break;
                case instruction::code::apply: {
                    const void* in[3] = {};
                    for (int a = 0; a < i.op->arity; ++a) in[a] = value(i.args[a]);
                    i.op->host(info(p_.code[i.args[i.op->arity - 1]].type).arithmetic, in, value(k),
                               count);
                    settle(i.type, value(k), n);
                }
            }
        }
    }

private:
    void fill(std::size_t k, const scalar& s, std::int64_t n) {
        detail::with_host_arithmetic(info(s.type).arithmetic, [&]<class A>(A) {
            A v{};
            std::memcpy(static_cast<void*>(&v), &s.bits, sizeof v);
            std::fill_n(static_cast<A*>(value(k)), n, v);
        });
    }
    void cast(const instruction& i, std::size_t k, std::int64_t n) {
        const dtype from = detail::storage_of(info(p_.code[i.args[0]].type).arithmetic);
        visit(from, [&](auto f) {
            visit(i.type, [&](auto t) {
                detail::cast_block<decltype(f), decltype(t)>(value(i.args[0]), value(k), n);
            });
        });
    }
    static void settle(dtype type, void* values, std::int64_t n) {
        if (info(type).bits >= 32 || is_floating(type) || type == dtype::boolean) return;
        visit(type, [&](auto s) { detail::settle_block<decltype(s)>(values, n); });
    }

    program_view p_;
    std::unique_ptr<std::uint64_t[]> values_;
};

/// Calls `f(coordinates)` for each row of `domain` (all axes but the last), in row-major order.
template <class F>
void for_each_row(const shape& domain, F&& f) {
    if (element_count(domain) == 0) return;
    index_list at = index_list::filled(std::max(domain.rank() - 1, 0), 0);
    while (true) {
        f(at);
        int axis = at.rank() - 1;
        for (; axis >= 0 && ++at[axis] == domain[axis]; --axis) at[axis] = 0;
        if (axis < 0) return;
    }
}

constexpr std::int64_t offset_of(const host_array& a, const index_list& at) noexcept {
    std::int64_t o = a.offset;
    for (int i = 0; i < at.rank(); ++i) o += at[i] * a.steps[i];
    return o;
}

/// The elementwise reference: outputs[k][c] = program(leaves[..][c]) for every c in `domain`.
inline void run_on_host(program_view p, const shape& domain, std::span<const host_array> leaves,
                        std::span<const scalar> scalars, std::span<const host_array> outputs) {
    host_program machine(p);
    const int inner = domain.rank() - 1;
    const std::int64_t length = inner < 0 ? 1 : domain[inner];
    const auto step = [&](const host_array& a) { return inner < 0 ? 0 : a.steps[inner]; };
    for_each_row(domain, [&](const index_list& row) {
        for (std::int64_t begin = 0; begin < length; begin += host_program::block) {
            const std::int64_t n = std::min(host_program::block, length - begin);
            machine.run(
                n, scalars,
                [&](const instruction& i, void* out) {
                    const host_array& a = leaves[i.index];
                    visit(i.type, [&](auto s) {
                        detail::load_block<decltype(s)>(a, offset_of(a, row) + begin * step(a),
                                                        step(a), out, n);
                    });
                },
                [](void*) {});
            for (std::size_t k = 0; k < outputs.size(); ++k) {
                const host_array& a = outputs[k];
                visit(a.type, [&](auto s) {
                    detail::store_block<decltype(s)>(a, offset_of(a, row) + begin * step(a),
                                                     step(a), machine.value(p.outputs[k]), n);
                });
            }
        }
    });
}

}  // namespace pumice::inline PUMICE_ABI
