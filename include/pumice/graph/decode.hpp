// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors that are coded in blocks: the formats of the library, and the node that kernels read
// blocks through. It computes nothing: what reads it decodes as it loads.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/core/storage_format.hpp>
#include <pumice/expr/host.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/graph/view.hpp>

#include <charconv>

namespace pumice { inline namespace PUMICE_ABI {

namespace formats {

/// GGUF's Q4_0: 32 integers of 4 bits less 8, times a scale in f16; 18 bytes. The first 16 lie in
/// the low bits (ggml's block_q4_0).
inline const storage_format& q4_0();

/// Each element of a tensor of `type` (f16, f32 or an integer of 8 or 4 bits) stands for `run`
/// consecutive elements along an axis behind which there are `inner` elements: scales and zero
/// points of quantised blocks.
inline const storage_format& repeated(dtype type, std::int64_t run, std::int64_t inner = 1);

/// The format of the library that is called so; null: none is.
inline const storage_format* named(std::string_view name);

}  // namespace formats

/// The tensor of shape `extent` that is coded in `blocks`, a tensor of the format's memory type
/// with as many elements as the blocks take, cast to `type`. Throws errc::dtype_mismatch,
/// errc::shape_mismatch: the innermost axis holds whole blocks.
inline any_tensor decode(const storage_format& format, const any_tensor& blocks,
                         const shape& extent, dtype type = dtype::f32);

/// Blocks of float values in row-major order, as bytes. Throws errc::unsupported for a format that
/// floats are not brought to.
inline array_list<std::byte> encode(const storage_format& format, span<const float> values);

/// ONNX DequantizeLinear: (x - zero) * scale, where a scale and a zero point stand for the whole
/// tensor (both have one element), for an index of `axis` (rank 1), or for `block` consecutive
/// elements along it (rank of x), fewer at its end. `zero` may be empty. Throws
/// errc::shape_mismatch.
inline any_tensor dequantize_linear(const any_tensor& x, const any_tensor& scale,
                                    const any_tensor& zero = {}, std::int64_t axis = 1,
                                    std::int64_t block = 0);

/// ONNX QuantizeLinear: x / scale, rounded to even, plus zero, within the range of `type`, an
/// integer or a float of 8 bits, which without `saturate` turns what is beyond to infinity or NaN.
/// The quotient is computed in f32 and rounded to `precision`.
inline any_tensor quantize_linear(const any_tensor& x, const any_tensor& scale,
                                  const any_tensor& zero, dtype type, std::int64_t axis = 1,
                                  std::int64_t block = 0, bool saturate = true,
                                  dtype precision = dtype::f32);

namespace detail {

inline void decode_q4_0(const storage_format&, const std::byte* memory, std::int64_t at,
                        std::int64_t step, void* out, std::int64_t n) {
    auto* const r = static_cast<float*>(out);
    for (std::int64_t k = 0; k < n; ++k, at += step) {
        const std::byte* const block = memory + at / 32 * 18;
        const auto place = static_cast<int>(at % 32);
        std::uint16_t scale = 0;
        std::memcpy(&scale, block, 2);
        const int code = (std::to_integer<int>(block[2 + place % 16]) >> (place / 16 * 4)) & 15;
        r[k] = half_to_float(scale) * static_cast<float>(code - 8);
    }
}
/// As ggml does it: the value of the greatest magnitude becomes -8.
inline void encode_q4_0(const float* values, std::byte* block) {
    float most = 0;
    for (int i = 0; i < 32; ++i)
        if ((values[i] < 0 ? -values[i] : values[i]) > (most < 0 ? -most : most)) most = values[i];
    const f16 scale = most / -8;
    const float held = scale, times = held == 0 ? 0 : 1 / held;
    std::memcpy(block, &scale.bits, 2);
    const auto code = [&](int i) {
        const float v = values[i] * times + 8.5f;
        return v <= 0 ? 0u : v >= 15 ? 15u : static_cast<unsigned>(v);
    };
    for (int i = 0; i < 16; ++i) block[2 + i] = std::byte(code(i) | code(i + 16) << 4);
}

inline void decode_repeated(const storage_format& f, const std::byte* memory, std::int64_t at,
                            std::int64_t step, void* out, std::int64_t n) {
    auto* r = static_cast<std::byte*>(out);
    const int size = size_of(info(f.memory).arithmetic);
    for (std::int64_t k = 0; k < n; ++k, at += step, r += size)
        exchange(f.memory, true, const_cast<std::byte*>(memory),
                 at / f.unit() * f.inner + at % f.inner, 1, r, 1);
}

/// A format that is made at run time stays: programs refer to it.
struct made_format {
    std::string name;
    storage_format format;
    unique_ptr<made_format> next;
};

}  // namespace detail

inline const storage_format& formats::q4_0() {
    static constexpr storage_format format{.name = "q4_0",
                                           .elements = 32,
                                           .bytes = 18,
                                           .slang = "Q4_0",
                                           .decode = detail::decode_q4_0,
                                           .encode = detail::encode_q4_0};
    return format;
}

inline const storage_format& formats::repeated(dtype type, std::int64_t run, std::int64_t inner) {
    static small_mutex mutex;
    static unique_ptr<detail::made_format> made;
    if (run < 1 || inner < 1)
        fail(errc::invalid_argument, "repeated",
             {"an element cannot stand for ", run, " elements over ", inner});
    const std::int64_t blocks = info(type).bits * inner % 8 == 0 ? 1 : 2;  // in whole bytes
    const std::string name = cat({"Repeated<", info(type).slang, ",", run, ",", inner, ">"});
    const small_lock lock(mutex);
    for (const detail::made_format* f = made.get(); f; f = f->next.get())
        if (f->name == name) return f->format;
    unique_ptr<detail::made_format> f(new detail::made_format);
    f->name = name;
    f->format = {.name = f->name,
                 .elements = checked_multiply(run, blocks * inner, "repeated"),
                 .bytes = info(type).bits * blocks * inner / 8,
                 .memory = type,
                 .value = type,
                 .slang = f->name,
                 .decode = detail::decode_repeated,
                 .run = run,
                 .inner = inner};
    f->next = std::move(made);
    made = std::move(f);
    return made->format;
}

inline const storage_format* formats::named(std::string_view name) {
    if (name == q4_0().name) return &q4_0();
    constexpr std::string_view head = "Repeated<";
    if (!name.starts_with(head) || !name.ends_with('>')) return nullptr;
    name = name.substr(head.size(), name.size() - head.size() - 1);
    const std::size_t first = name.find(','), second = name.find(',', first + 1);
    if (second == name.npos) return nullptr;
    std::int64_t run = 0, inner = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + first + 1, name.data() + second, run).ptr !=
            name.data() + second ||
        std::from_chars(name.data() + second + 1, end, inner).ptr != end || run < 1 || inner < 1)
        return nullptr;
    for (const dtype_info& row : dtype_table)
        if (row.slang == name.substr(0, first))
            return &repeated(static_cast<dtype>(&row - dtype_table.data()), run, inner);
    return nullptr;
}

namespace detail {
inline void check_format(const storage_format& format) {
    if (format.name.empty() || format.slang.empty() || !format.decode || format.elements < 1 ||
        format.bytes < 1 || format.run < 0 || (format.run > 0 && format.inner < 1))
        fail(
            errc::invalid_argument, "format",
            {"the storage format ", format.name,
             " needs a name, a Slang type, a way to decode, and blocks of one element and one byte "
             "at least"});
}
}  // namespace detail

inline any_tensor decode(const storage_format& format, const any_tensor& given, const shape& extent,
                         dtype type) {
    detail::check_format(format);
    any_tensor blocks = given;
    const std::int64_t count = element_count(extent);
    if (blocks.dtype() != format.memory)
        fail(errc::dtype_mismatch, "decode",
             {format.name, " lies in ", to_string(format.memory), ", not ",
              to_string(blocks.dtype())});
    const std::int64_t row = format.run > 0 ? count : extent.empty() ? 1 : extent.back();
    if (row % format.unit() != 0)
        fail(errc::shape_mismatch, "decode",
             {"the shape ", to_string(extent), " has no whole number of blocks of ", format.unit(),
              " elements"});
    if (blocks.size() != format.held(count))
        fail(errc::shape_mismatch, "decode",
             {"the shape ", to_string(extent), " takes ", format.held(count), " elements of ",
              to_string(format.memory), " in ", format.name, ", the tensor has ", blocks.size()});
    // Blocks begin where their memory does.
    if (is_view(*blocks.get()) || !blocks.get()->row_major() ||
        (blocks.get()->realised() && offset_from_base(*blocks.get()) != 0))
        blocks = any_tensor(make_node(blocks.dtype(), blocks.shape(),
                                      copy_op{row_major_strides(blocks.shape())}, {blocks.get()}));
    auto body = std::make_shared<program>();
    std::uint16_t value =
        body->push({instruction::code::coded, format.value, 0, {}, nullptr, &format});
    if (type != format.value)
        value = body->push({instruction::code::cast, type, 0, {value}, nullptr});
    body->outputs.push_back(value);
    return any_tensor(make_node(type, extent, elementwise_op{std::move(body), {}, {}},
                                {blocks.get()}));
}

inline array_list<std::byte> encode(const storage_format& format, span<const float> values) {
    if (!format.encode)
        fail(errc::unsupported, "encode", {"floats are not brought to ", format.name});
    const auto count = static_cast<std::int64_t>(values.size());
    if (count % format.elements != 0)
        fail(errc::shape_mismatch, "encode",
             {count, " values are no whole number of blocks of ", format.elements});
    array_list<std::byte> bytes(static_cast<std::size_t>(count / format.elements * format.bytes));
    for (std::int64_t b = 0; b < count / format.elements; ++b)
        format.encode(values.data() + b * format.elements, bytes.data() + b * format.bytes);
    return bytes;
}

namespace detail {

/// A scale or zero point seen over x.
inline any_tensor spread_over(const any_tensor& x, const any_tensor& t, std::int64_t axis,
                              std::int64_t block, const char* op) {
    if (t.size() == 1 && t.rank() <= 1) return reshape(t, {});
    const int a = normalize_axis(axis, x.rank(), op);
    if (block == 0) {
        if (t.rank() != 1 || t.size() != x.shape()[a])
            fail(errc::shape_mismatch, op,
                 {"scales of shape ", to_string(t.shape()), " for axis ", a, " of ",
                  to_string(x.shape())});
        shape wide = shape::filled(x.rank(), 1);
        wide[a] = t.size();
        return reshape(t, wide);
    }
    std::int64_t inner = 1;
    for (int i = a + 1; i < x.rank(); ++i) inner *= x.shape()[i];
    shape wanted = x.shape(), whole = wanted;
    if (block > 0) wanted[a] = wanted[a] / block + (wanted[a] % block != 0);
    if (block < 0 || t.shape() != wanted)
        fail(errc::shape_mismatch, op,
             {"scales of shape ", to_string(t.shape()), " for blocks of ", block, " of ",
              to_string(x.shape())});
    whole[a] = checked_multiply(wanted[a], block, op);
    const any_tensor all =
        decode(formats::repeated(t.dtype(), block, std::max<std::int64_t>(inner, 1)), t, whole,
               t.dtype());
    if (whole == x.shape()) return all;
    array_list<slice> part(static_cast<std::size_t>(x.rank()));
    part[static_cast<std::size_t>(a)] = {0, x.shape()[a], 1};
    return slice_view(all, span(part.data(), part.size()));
}
inline void must_scale(const any_tensor& scale, const any_tensor& zero, const char* op) {
    if (!is_floating(scale.dtype()))
        fail(errc::dtype_mismatch, op,
             {"the scale is ", to_string(scale.dtype()), ", not floating point"});
    if (zero.has_value() && zero.shape() != scale.shape())
        fail(errc::shape_mismatch, op,
             {"the zero point has shape ", to_string(zero.shape()), ", the scale ",
              to_string(scale.shape())});
}

}  // namespace detail

inline any_tensor dequantize_linear(const any_tensor& x, const any_tensor& scale,
                                    const any_tensor& zero, std::int64_t axis, std::int64_t block) {
    constexpr const char* name = "dequantize_linear";
    detail::must_scale(scale, zero, name);
    const auto spread = [&](const any_tensor& t) {
        return astype(detail::spread_over(x, t, axis, block, name), dtype::f32);
    };
    any_tensor r = astype(x, dtype::f32);
    if (zero.has_value()) r = apply<op::subtract>(r, spread(zero));
    return astype(apply<op::multiply>(r, spread(scale)), scale.dtype());
}

inline any_tensor quantize_linear(const any_tensor& x, const any_tensor& scale,
                                  const any_tensor& zero, dtype type, std::int64_t axis,
                                  std::int64_t block, bool saturate, dtype precision) {
    constexpr const char* name = "quantize_linear";
    detail::must_scale(scale, zero, name);
    const bool real = is_floating(type);
    if (type == dtype::boolean || info(type).bits > 16 || (real && info(type).bits != 8))
        fail(errc::dtype_mismatch, name,
             {"gives integers of at most 16 bits or floats of 8, not ", to_string(type)});
    const auto spread = [&](const any_tensor& t) {
        return astype(detail::spread_over(x, t, axis, block, name), dtype::f32);
    };
    any_tensor r = apply<op::divide>(astype(x, dtype::f32), spread(scale));
    if (info(precision).bits < 32) r = astype(astype(r, precision), dtype::f32);
    if (!real) r = apply<op::round>(r);
    if (zero.has_value()) r = apply<op::add>(r, spread(zero));
    if (real && saturate) {
        const double most = type == dtype::f8_e4m3 ? 448 : 57344;
        r = apply<op::maximum>(apply<op::minimum>(r, most), -most);
    }
    return astype(r, type);  // integers saturate
}

}}  // namespace pumice::PUMICE_ABI
