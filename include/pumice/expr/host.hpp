// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program run on the host: the same instructions as the generated kernel, in blocks that the C++
// compiler vectorises. It is the host device's elementwise kernel and the device kernels'
// reference.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_cache.hpp>
#include <pumice/core/copy_elements.hpp>
#include <pumice/core/index_map.hpp>
#include <pumice/core/scalar.hpp>
#include <pumice/core/shape.hpp>
#include <pumice/expr/host_block.hpp>
#include <pumice/expr/program.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A strided array in host memory; strides and offset count elements. Without data it is an iota.
struct host_array {
    std::byte* data = nullptr;
    dtype type = dtype::f32;
    std::int64_t offset = 0;
    strides steps;
    const storage_format* format = nullptr;  // of blocks: strides count decoded elements
    index_map map = {};                      // strides count its indices
};

namespace detail {

/// Elements that are worked on at a time.
inline constexpr std::int64_t host_block_size = 512;

/// The element type that stands for an arithmetic type.
constexpr dtype storage_of(arithmetic a) noexcept {
    constexpr dtype types[] = {dtype::f32, dtype::f64, dtype::i32,    dtype::i64,
                               dtype::u32, dtype::u64, dtype::boolean};
    return types[static_cast<int>(a)];
}
constexpr dtype computed_as(dtype t) noexcept { return storage_of(info(t).arithmetic); }

// A loop each for what no other loop does, chosen by dtype: one for every pair of element types
// would take the compiler a second.

/// convert_each between a type in memory, from element `at` on, and a dense block of the one that
/// it is computed in.
template <class Storage, class Arithmetic>
void exchange_each(bool load, std::byte* memory, std::int64_t at, std::int64_t step, void* dense,
                   std::int64_t n) {
    if constexpr (packed_element<Storage>) {
        auto* v = static_cast<Arithmetic*>(dense);
        for (std::int64_t i = 0; i < n; ++i, at += step) {
            if (load) {
                v[i] = static_cast<Arithmetic>(load_element<Storage>(memory, at));
            } else if (step == 1 && (at & 1) == 0 && i + 1 < n) {  // a byte that nobody shares
                memory[at >> 1] = std::byte((v[i] & 15) | (v[i + 1] & 15) << 4);
                ++i, ++at;
            } else {
                store_element(memory, at, Storage(v[i]));
            }
        }
    } else {
        std::byte* const place = memory + at * std::int64_t{sizeof(Storage)};
        if (load) convert_each<Storage, Arithmetic>(place, step, dense, 1, n);
        else convert_each<Arithmetic, Storage>(dense, 1, place, step, n);
    }
}
/// Between elements of `type` in memory, from element `at` on, and a dense block of the type that
/// they are computed in.
inline void exchange(dtype type, bool load, std::byte* memory, std::int64_t at, std::int64_t step,
                     void* dense, std::int64_t n) {
    decltype(&exchange_each<f16, float>) each = nullptr;
    visit(type, [&]<class T>(T) {
        if constexpr (converts_by_float<T>) each = exchange_each<T, float>;
        else if constexpr (sizeof(T) < 4 && info(dtype_of<T>).kind == kind::signed_integer)
            each = exchange_each<T, std::int32_t>;
        else if constexpr (sizeof(T) < 4 && !std::is_same_v<T, bool>)
            each = exchange_each<T, std::uint32_t>;
    });
    if (each) return each(load, memory, at, step, dense, n);
    std::byte* const place = memory + byte_offset(type, at);
    if (load) copy_elements(info(type).bits, place, step, dense, 1, n);
    else copy_elements(info(type).bits, dense, 1, place, step, n);
}

/// Rounds or wraps each value to what `type` can hold; n <= host_block_size.
inline void settle_block(dtype type, void* values, std::int64_t n) {
    const int bits = info(type).bits;
    if (bits >= 32 || type == dtype::boolean) return;
    if (info(type).kind == kind::signed_integer) return wrap_each<std::int32_t>(values, bits, n);
    if (info(type).kind == kind::unsigned_integer) return wrap_each<std::uint32_t>(values, bits, n);
    alignas(8) std::byte stored[2 * host_block_size];
    exchange(type, false, stored, 0, 1, values, n);
    exchange(type, true, stored, 0, 1, values, n);
}

/// f64, i64 or u64: the type in which every value of `type` is exact.
constexpr dtype widest(dtype type) noexcept {
    switch (info(type).kind) {
        case kind::floating: return dtype::f64;
        case kind::signed_integer: return dtype::i64;
        default: return dtype::u64;
    }
}

/// n <= host_block_size values of type `from`, each held as it is computed in, to values of `to`;
/// unless they are to settle, rounded and wrapped by whoever stores them.
inline void cast_block(dtype from, dtype to, const void* in, void* out, std::int64_t n,
                       bool settles = true) {
    const auto settle = [&] {
        if (settles) settle_block(to, out, n);
    };
    const dtype source = computed_as(from), target = computed_as(to), wide = widest(from);
    if (source == target) {
        std::memcpy(out, in, static_cast<std::size_t>(byte_offset(target, n)));
        return settle();
    }
    if (source == dtype::i32 || (source == dtype::u32 && info(from).bits < 32)) {  // one rounding
        if (target == dtype::f32) convert_each<std::int32_t, float>(in, 1, out, 1, n);
        if (target == dtype::f64) convert_each<std::int32_t, double>(in, 1, out, 1, n);
        if (is_floating(target)) return settle();
    }
    if (source == dtype::boolean) {
        if (target == dtype::f32)
            return convert_each<std::uint8_t, float>(in, 1, out, 1, n), settle();
        if (info(target).bits == 32)
            return convert_each<std::uint8_t, std::uint32_t>(in, 1, out, 1, n);
    }
    const bool has_sign = info(to).kind == kind::signed_integer;
    const std::uint64_t ones = ~std::uint64_t{0} >> (64 - info(to).bits);
    const auto narrow = [&]<class T>(T, const void* from_reals) {
        const auto high = static_cast<std::int32_t>(has_sign ? ones >> 1 : ones);
        saturate_narrow<T>(from_reals, out, has_sign ? -high - 1 : 0, high, n);
    };
    const bool integer = !is_floating(target) && target != dtype::boolean;
    if (integer && source == dtype::f32 && info(to).bits <= 16) return narrow(float{}, in);
    alignas(64) std::byte room[8 * host_block_size], whole[8 * host_block_size];
    const bool straight = integer && info(target).bits == 64 && !is_floating(source);
    void* const values = straight ? out : room;
    const void* v = values;  // in f64, i64 or u64
    switch (source) {
        case dtype::f32: convert_each<float, double>(in, 1, values, 1, n); break;
        case dtype::i32: convert_each<std::int32_t, std::int64_t>(in, 1, values, 1, n); break;
        case dtype::u32: convert_each<std::uint32_t, std::uint64_t>(in, 1, values, 1, n); break;
        case dtype::boolean: convert_each<std::uint8_t, std::uint64_t>(in, 1, values, 1, n); break;
        default: v = in;
    }
    const bool real = wide == dtype::f64, negative = wide == dtype::i64;
    if (target == dtype::f64) {
        if (real) std::memcpy(out, v, static_cast<std::size_t>(8 * n));
        else if (negative) convert_each<std::int64_t, double>(v, 1, out, 1, n);
        else convert_each<std::uint64_t, double>(v, 1, out, 1, n);
    } else if (target == dtype::f32) {
        if (real) convert_each<double, float>(v, 1, out, 1, n);
        else if (negative) convert_each<std::int64_t, float>(v, 1, out, 1, n);
        else convert_each<std::uint64_t, float>(v, 1, out, 1, n);
    } else if (target == dtype::boolean) {
        if (real) convert_each<double, bool>(v, 1, out, 1, n);
        else convert_each<std::uint64_t, bool>(v, 1, out, 1, n);
    } else {
        if (real) {
            if (info(to).bits < 32 || (info(to).bits == 32 && has_sign)) return narrow(double{}, v);
            if (!has_sign) saturate_each<std::uint64_t>(v, whole, 0, ones, n);
            else
                saturate_each<std::int64_t>(v, whole, -static_cast<std::int64_t>(ones >> 1) - 1,
                                            static_cast<std::int64_t>(ones >> 1), n);
            v = whole;
        }
        if (v == out) return;
        if (info(target).bits == 64) std::memcpy(out, v, static_cast<std::size_t>(8 * n));
        else convert_each<std::uint64_t, std::uint32_t>(v, 1, out, 1, n);
    }
    settle();
}

}  // namespace detail

/// Coordinates of a row's first element, and how far along the row; of how many rows, which are
/// whole then, along the axis before.
struct host_place {
    const index_list& at;
    std::int64_t begin, count;  // count * rows <= host_program::block
    std::int64_t rows = 1;

    std::int64_t offset(const host_array& a) const noexcept {
        std::int64_t o = a.offset + begin * step(a);
        for (int i = 0; i < at.rank(); ++i) o += at[i] * a.steps[i];
        return o;
    }
    std::int64_t step(const host_array& a) const noexcept {
        return at.empty() ? 0 : a.steps[at.rank() - 1];
    }
};

/// Runs a program block by block along the innermost axis of its domain. Dense operands whose type
/// is the one that they are computed in are read, and written, where they lie.
class host_program {
public:
    static constexpr std::int64_t block = detail::host_block_size;

    /// Pre: outputs overlap no leaf, but for those whose every element lies where the leaf's does;
    /// the program and the arrays outlive the object.
    /// `wraps_later`: whoever reads the values wants the low bits of integers alone.
    /// `row`: blocks may be of several rows, of so many elements each; no leaf is mapped then.
    host_program(program_view p, span<const host_array> leaves, span<const scalar> scalars,
                 span<const host_array> outputs = {}, bool wraps_later = false,
                 std::int64_t row = 0)
        : p_(p), leaves_(leaves), outputs_(outputs), wraps_later_(wraps_later), row_(row),
          values_(p.code.size()), room_(find_places() * 8 * block) {
        auto* room = static_cast<std::byte*>(room_.data());
        for (std::size_t k = 0; k < values_.size(); ++k) {
            values_[k].same = operand_alike(k, scalars);
            if (values_[k].in) continue;
            values_[k].at = values_[k].own = room;
            room += 8 * block;
            if (p.code[k].what != instruction::code::scalar) continue;
            const scalar& s = scalars[p.code[k].index];
            detail::copy_elements(info(detail::computed_as(s.type)).bits, &s.bits, 0,
                                  values_[k].own, 1, block);
        }
    }

    program_view program() const noexcept { return p_; }
    /// An output's values, in the type that it is computed in.
    const void* output(std::size_t k) const { return values_[p_.outputs[k]].at; }

    /// Evaluates the elements at `to` and writes them to the outputs, if there are any; `given`
    /// holds the given values, each as a `given_type`.
    void run(const host_place& to, dtype given_type = dtype::f64, const void* given = nullptr) {
        const std::int64_t count = to.count * to.rows;
        for (std::size_t k = 0; k < p_.code.size(); ++k) {
            const instruction& i = p_.code[k];
            value& v = values_[k];
            if (v.in) v.at = element(*v.in, to);
            switch (i.what) {
                case instruction::code::leaf:
                case instruction::code::coded:
                case instruction::code::iota:
                    if (!v.in) load(i, v.own, to);
                    break;
                case instruction::code::mapped:
                    v.at = load_mapped(leaves_[i.index], v.own, to);
                    break;
                case instruction::code::inside: ask_mapped(leaves_[i.index], v.own, to); break;
                case instruction::code::given:
                    if (const dtype held = detail::computed_as(i.type); !v.in && given_type == held)
                        v.at = const_cast<void*>(given);  // is read alone
                    else detail::cast_block(given_type, held, given, v.in ? v.at : v.own, count);
                    break;
                case instruction::code::scalar: break;
                case instruction::code::cast:
                    detail::cast_block(p_.code[i.args[0]].type, i.type, values_[i.args[0]].at, v.at,
                                       count, v.settles);
                    break;
                case instruction::code::apply: {
                    if (v.same) {
                        v.at = v.same->at;
                        break;
                    }
                    const void* in[3] = {};
                    for (int a = 0; a < i.op->arity; ++a) in[a] = values_[i.args[a]].at;
                    i.op->host(info(p_.code[i.args[i.op->arity - 1]].type).arithmetic, in, v.at,
                               static_cast<std::size_t>(count));
                    if (v.settles && !is_floating(i.type))
                        detail::settle_block(i.type, v.at, count);
                }
            }
        }
        for (std::size_t k = 0; k < outputs_.size(); ++k)
            if (const host_array& a = outputs_[k]; values_[p_.outputs[k]].in != &a)
                detail::exchange(a.type, false, a.data, to.offset(a), to.step(a),
                                 values_[p_.outputs[k]].at, to.count);
    }

private:
    /// Where an instruction has its values.
    struct value {
        void* at;
        std::byte* own;        // a block, unless they are
        const host_array* in;  // the leaf or the output that holds them as they are computed
        bool settles;          // whether they are rounded or wrapped to what their type holds
        const value* same;     // the operand that has the same values, if one has
    };

    /// Sets where each instruction has its values; how many of them have a block of their own.
    std::size_t find_places() {
        std::size_t blocks = 0;
        for (std::size_t k = 0; k < values_.size(); ++k) {
            values_[k].in = place_of(k);
            blocks += values_[k].in == nullptr;
            // Outputs round and wrap what they store.
            values_[k].settles = false;
            const instruction& i = p_.code[k];
            for (int a = 0; a < i.arity(); ++a) values_[i.args[a]].settles |= !reads_low_bits(i);
        }
        if (outputs_.empty())
            for (const std::uint16_t k : p_.outputs)
                values_[k].settles |= !wraps_later_ || is_floating(p_.code[k].type);
        return blocks;
    }
    /// Whether the low bits of the value depend on no others of its operands: then integers
    /// need not be wrapped before.
    static bool reads_low_bits(const instruction& i) noexcept {
        if (i.what != instruction::code::apply || is_floating(i.type) || info(i.type).bits >= 32)
            return false;
        for (const std::string_view body : {"x + y", "x - y", "x * y"})
            if (i.op->body == body) return true;
        return false;
    }
    /// The operand of x + 0 and x * 1, of integers that never wrap; else null.
    const value* operand_alike(std::size_t k, span<const scalar> scalars) const noexcept {
        const instruction& i = p_.code[k];
        if (i.what != instruction::code::apply || values_[k].in || is_floating(i.type) ||
            info(i.type).bits < 32 || (i.op->body != "x + y" && i.op->body != "x * y"))
            return nullptr;
        const std::uint64_t nothing = i.op->body == "x * y";
        for (const int a : {0, 1})
            if (const instruction& number = p_.code[i.args[a]];
                number.what == instruction::code::scalar && scalars[number.index].bits == nothing)
                return &values_[i.args[1 - a]];
        return nullptr;
    }
    static std::byte* element(const host_array& a, const host_place& at) noexcept {
        return a.data + byte_offset(a.type, at.offset(a));
    }
    bool lies_ready(const host_array& a) const noexcept {
        return a.data && !a.format && !a.steps.empty() && a.steps.back() == 1 &&
               (row_ == 0 || a.steps[a.steps.rank() - 2] == row_) &&
               detail::computed_as(a.type) == a.type;
    }
    /// Whether what is written over lies there: then all is read before anything is written.
    static bool lies_on(const host_array& a, span<const host_array> others) noexcept {
        for (const host_array& o : others)
            if (o.data &&
                o.data + byte_offset(o.type, o.offset) == a.data + byte_offset(a.type, a.offset))
                return true;
        return false;
    }
    /// The array in which instruction k has its values; null: in a block of its own.
    const host_array* place_of(std::size_t k) const noexcept {
        const instruction& i = p_.code[k];
        const host_array* place = nullptr;
        switch (i.what) {
            case instruction::code::leaf:
                place = &leaves_[i.index];
                return lies_ready(*place) && !lies_on(*place, outputs_) ? place : nullptr;
            case instruction::code::given:
            case instruction::code::cast:
            case instruction::code::apply:
                for (std::size_t o = 0; o < outputs_.size(); ++o)
                    if (p_.outputs[o] == k && lies_ready(outputs_[o]) &&
                        !lies_on(outputs_[o], leaves_))
                        place = &outputs_[o];
                return place;
            default: return nullptr;
        }
    }

    void load(const instruction& i, std::byte* own, const host_place& at) const {
        const host_array& a = leaves_[i.index];
        const std::int64_t step = at.step(a), apart = at.rows > 1 ? a.steps[at.at.rank() - 2] : 0;
        std::int64_t offset = at.offset(a), left = at.count * at.rows;
        const std::int64_t n = apart == at.count * step && !a.format ? left : at.count;
        for (; left > 0; left -= n, offset += apart) {
            load(i.type, a, offset, step, own, n);
            own += byte_offset(detail::computed_as(i.type), n);
        }
    }
    static void load(dtype type, const host_array& a, std::int64_t offset, std::int64_t step,
                     void* own, std::int64_t n) {
        if (a.format) return a.format->decode(*a.format, a.data, offset, step, own, n);
        if (a.data) return detail::exchange(type, true, a.data, offset, step, own, n);
        alignas(64) std::int64_t room[block];
        std::int64_t* const places = type == dtype::i64 ? static_cast<std::int64_t*>(own) : room;
        detail::run_wide(detail::count_up{}, places, offset, step, n);
        if (places == room) detail::cast_block(dtype::i64, type, room, own, n);
    }

    /// f(stretch, elements before it) for each stretch of a mapped leaf.
    template <class F>
    static void each_stretch(const host_array& a, const host_place& at, F&& f) {
        const std::int64_t first = at.offset(a), step = at.step(a);
        for (std::int64_t done = 0; done < at.count;) {
            const map_stretch s = a.map.stretch(first + done * step, step, at.count - done);
            f(s, done);
            done += s.count;
        }
    }
    static void* load_mapped(const host_array& a, void* own, const host_place& at) {
        const dtype held = detail::computed_as(a.type);
        void* r = own;
        each_stretch(a, at, [&](const map_stretch& s, std::int64_t done) {
            if (s.count == at.count && s.step == 1 && s.within && held == a.type) {
                r = a.data + byte_offset(a.type, s.begin);
                return;
            }
            std::byte* const to = static_cast<std::byte*>(own) + byte_offset(held, done);
            if (s.within) detail::exchange(a.type, true, a.data, s.begin, s.step, to, s.count);
            else std::memset(to, 0, static_cast<std::size_t>(byte_offset(held, s.count)));
        });
        return r;
    }
    static void ask_mapped(const host_array& a, void* own, const host_place& at) {
        each_stretch(a, at, [&](const map_stretch& s, std::int64_t done) {
            std::memset(static_cast<bool*>(own) + done, s.within,
                        static_cast<std::size_t>(s.count));
        });
    }

    program_view p_;
    span<const host_array> leaves_, outputs_;
    bool wraps_later_;
    std::int64_t row_;  // 0: blocks are of one
    array_list<value> values_;
    detail::thread_room room_;
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
inline void run_on_host(program_view p, const shape& domain, span<const host_array> leaves,
                        span<const scalar> scalars, span<const host_array> outputs) {
    host_program machine(p, leaves, scalars, outputs);
    const std::int64_t length = domain.empty() ? 1 : domain.back();
    for_each_row(domain, [&](index_list row) {
        if (!domain.empty()) row.push_back(0);
        for (std::int64_t begin = 0; begin < length; begin += host_program::block)
            machine.run({row, begin, std::min(host_program::block, length - begin)});
    });
}

}}  // namespace pumice::PUMICE_ABI
