// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From a TensorProto to a constant: raw data stays where the file is mapped, typed fields are decoded,
// external data is mapped from beneath the model's folder. Every size is checked before it is used.
#pragma once

#include <pumice/model/detail/constant.hpp>
#include <pumice/model/onnx_reader.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace pumice::inline PUMICE_ABI {
namespace onnx {

/// Decodes the tensors of one model; files of external data are mapped once.
class tensor_decoder {
public:
    tensor_decoder(const source& from, const model_limits& limits) : from_(from), limits_(limits) {}

    /// Throws errc::bad_file, errc::io_failed, and errc::unsupported for types that Pumice lacks.
    any_tensor operator()(const tensor& t) {
        const auto type = to_dtype(t.data_type);
        if (!type) {
            if (t.data_type <= 0 || t.data_type > 30) refuse(t, "has no valid element type");
            throw error(errc::unsupported, "onnx",
                        text(t) + " holds " + std::string(name_of_type(t.data_type)) +
                            ", which Pumice has no element type for");
        }
        if (t.has_segment) refuse(t, "is stored in segments, which ONNX never defined");
        if (t.dims.size() > max_rank)
            refuse(t, "has " + std::to_string(t.dims.size()) + " axes, at most 8 are supported");
        shape extent;
        for (std::int64_t d : t.dims) {
            if (d < 0) refuse(t, "has the negative dimension " + std::to_string(d));
            extent.push_back(d);
        }
        std::int64_t count = 0, bytes = 0;
        try {
            row_major_strides(extent);  // its products may pass 63 bits where a dimension is 0
            count = element_count(extent);
            bytes = byte_count(*type, count);
        } catch (const error& e) {
            refuse(t, e.message());
        }
        if (t.is_external) return make_constant(*type, extent, tidy(*type, mapped(t, bytes)));
        if (t.has_raw) {
            if (std::cmp_not_equal(t.raw.size(), bytes))
                refuse(t, "holds " + std::to_string(t.raw.size()) + " bytes where its shape " +
                              to_string(extent) + " of " + std::string(to_string(*type)) +
                              " takes " + std::to_string(bytes));
            return make_constant(*type, extent,
                                 tidy(*type, std::make_shared<host_constant>(t.raw, from_.keep)));
        }
        return make_constant(*type, extent, typed(t, *type, count, bytes));
    }

private:
    std::string text(const tensor& t) const {
        return from_.name + ": the tensor \"" + std::string(t.name) + "\"";
    }
    [[noreturn]] void refuse(const tensor& t, const std::string& why) const {
        throw error(errc::bad_file, "onnx", text(t) + " " + why);
    }

    /// A bool is 0 or 1 in memory; a file may hold anything.
    static std::shared_ptr<host_constant> tidy(dtype type, std::shared_ptr<host_constant> c) {
        const auto bytes = c->bytes();
        if (type != dtype::boolean || std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
                return std::to_integer<int>(b) <= 1;
            }))
            return c;
        auto owned = std::make_shared<std::vector<std::byte>>();
        for (std::byte b : bytes) owned->push_back(std::byte(b != std::byte(0)));
        return std::make_shared<host_constant>(std::move(owned));
    }

    std::int64_t number(const tensor& t, std::string_view digits, const char* what) const {
        std::int64_t value = -1;
        const auto [end, fault] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (fault != std::errc{} || end != digits.data() + digits.size() || value < 0)
            refuse(t, std::string("has an external ") + what + " that is no size: \"" +
                          std::string(digits.substr(0, 32)) + "\"");
        return value;
    }

    std::shared_ptr<host_constant> mapped(const tensor& t, std::int64_t bytes) {
        if (!from_.has_folder)
            refuse(t, "lies in another file, but the model was read from memory");
        if (t.has_raw) refuse(t, "has its data both here and in another file");
        std::shared_ptr<const mapped_file>& file = files_[t.external.location];
        try {
            if (!file) file = mapped_file::open_beneath(from_.folder, t.external.location);
        } catch (const error& e) {
            throw error(e.code(), "onnx", text(t) + " lies in another file: " + e.message());
        }
        const std::int64_t offset =
            t.external.offset.empty() ? 0 : number(t, t.external.offset, "offset");
        const std::int64_t length =
            t.external.length.empty() ? bytes : number(t, t.external.length, "length");
        const auto size = static_cast<std::int64_t>(file->bytes().size());
        if (length != bytes)
            refuse(t, "has an external length of " + std::to_string(length) +
                          " where its shape takes " + std::to_string(bytes));
        if (offset > size || length > size - offset)
            refuse(t, "ends past its file: offset " + std::to_string(offset) + ", length " +
                          std::to_string(length) + ", file of " + std::to_string(size) + " bytes");
        return std::make_shared<host_constant>(file->bytes()
                                                   .subspan(static_cast<std::size_t>(offset),
                                                            static_cast<std::size_t>(length)),
                                               file);
    }

    /// The fields float_data, int32_data, int64_data, double_data and uint64_data, packed or not. The
    /// field that a type uses is onnx.proto's; others must be empty.
    std::vector<std::byte> typed(const tensor& t, dtype type, std::int64_t count,
                                 std::int64_t bytes) {
        // A number takes a byte of the file at least, so a lie about the shape is found before memory is taken.
        if (std::cmp_greater(count, t.message.size()))
            refuse(t, "has fewer numbers than its shape takes (" + std::to_string(count) + ")");
        typed_bytes_ = checked_add(typed_bytes_, bytes, "onnx");
        if (typed_bytes_ > limits_.typed_bytes)
            refuse(t,
                   "passes the limit on data that has to be decoded (model_limits::typed_bytes)");
        std::vector<std::byte> out;
        out.reserve(static_cast<std::size_t>(bytes));
        const auto put = [&]<class Stored>(Stored value) {
            if (std::cmp_equal(out.size(), bytes))
                refuse(t, "has more numbers than its shape takes");
            const auto* p = reinterpret_cast<const std::byte*>(&value);
            out.insert(out.end(), p, p + sizeof value);
        };
        const auto put_integer = [&](auto value) {
            switch (type) {
                case dtype::boolean: return put(static_cast<std::uint8_t>(value != 0));
                case dtype::i8:
                case dtype::u8: return put(static_cast<std::uint8_t>(value));
                case dtype::i16:
                case dtype::u16:
                case dtype::f16:
                case dtype::bf16: return put(static_cast<std::uint16_t>(value));
                case dtype::i32:
                case dtype::u32: return put(static_cast<std::uint32_t>(value));
                default: return put(static_cast<std::uint64_t>(value));
            }
        };
        const std::uint32_t field = type == dtype::f32                         ? 4
                                    : type == dtype::f64                       ? 10
                                    : type == dtype::i64                       ? 7
                                    : type == dtype::u32 || type == dtype::u64 ? 11
                                                                               : 5;
        protozero::pbf_reader m(detail::to_view(t.message));
        try {
            while (m.next()) {
                if (m.tag() != field) {
                    m.skip();
                    continue;
                }
                switch (m.tag_and_type()) {
                    case detail::fixed32(4): put(m.get_float()); break;
                    case detail::bytes(4):
                        for (auto v : m.get_packed_float()) put(v);
                        break;
                    case detail::fixed64(10): put(m.get_double()); break;
                    case detail::bytes(10):
                        for (auto v : m.get_packed_double()) put(v);
                        break;
                    case detail::varint(5): put_integer(m.get_int32()); break;
                    case detail::bytes(5):
                        for (auto v : m.get_packed_int32()) put_integer(v);
                        break;
                    case detail::varint(7): put_integer(m.get_int64()); break;
                    case detail::bytes(7):
                        for (auto v : m.get_packed_int64()) put_integer(v);
                        break;
                    case detail::varint(11): put_integer(m.get_uint64()); break;
                    case detail::bytes(11):
                        for (auto v : m.get_packed_uint64()) put_integer(v);
                        break;
                    default: m.skip();
                }
            }
        } catch (const protozero::exception& e) {
            refuse(t, std::string("is cut off: ") + e.what());
        }
        if (std::cmp_not_equal(out.size(), bytes))
            refuse(t,
                   "has " +
                       std::to_string(out.size() /
                                      static_cast<std::size_t>(std::max(info(type).bits / 8, 1))) +
                       " numbers where its shape " + to_string(extent_of(t)) + " takes " +
                       std::to_string(count));
        return out;
    }

    static shape extent_of(const tensor& t) { return shape(std::span<const std::int64_t>(t.dims)); }

    const source& from_;
    model_limits limits_;
    std::map<std::string_view, std::shared_ptr<const mapped_file>> files_;
    std::int64_t typed_bytes_ = 0;
};

}  // namespace onnx
}  // namespace pumice::inline PUMICE_ABI
