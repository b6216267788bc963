// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From a TensorProto to a constant: long raw data and external data, from beneath the model's
// folder, stay in their files until they are uploaded, the rest is read and decoded. Every size is
// checked before it is used.
#pragma once

#include <pumice/model/detail/constant.hpp>
#include <pumice/model/onnx/reader.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

/// Decodes the tensors of one model; files of external data are opened once.
class tensor_decoder {
public:
    tensor_decoder(const source& from, const model_limits& limits) : from_(from), limits_(limits) {}

    /// Throws errc::bad_file, errc::io_failed, and errc::unsupported for types that Pumice lacks.
    any_tensor operator()(const tensor_proto& t) {
        const auto type = to_dtype(t.data_type);
        if (!type) {
            if (!is_type(t.data_type)) refuse(t, "holds " + name_of_type(t.data_type));
            throw error(errc::unsupported, "onnx",
                        text(t) + " holds " + name_of_type(t.data_type) +
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
        check_fields(t, *type);
        if (t.is_external)
            return make_constant(*type, extent, tidy(t, *type, count, external(t, *type, bytes)));
        if (t.has_raw) {
            if (std::cmp_not_equal(t.raw.size(), bytes))
                refuse(t, "holds " + std::to_string(t.raw.size()) + " bytes where its shape " +
                              to_string(extent) + " of " + std::string(to_string(*type)) +
                              " takes " + std::to_string(bytes));
            return make_constant(*type, extent, tidy(t, *type, count, raw(t, *type)));
        }
        auto decoded =
            std::make_shared<const std::vector<std::byte>>(typed(t, *type, count, bytes));
        return make_constant(*type, extent,
                             tidy(t, *type, count,
                                  std::make_shared<host_constant>(std::move(decoded))));
    }

    /// The files of external data that were opened, and forgets them.
    std::vector<std::shared_ptr<input_file>> take_files() {
        std::vector<std::shared_ptr<input_file>> list;
        for (auto& [name, file] : files_)
            if (file) list.push_back(std::move(file));
        files_.clear();
        return list;
    }

private:
    std::string text(const tensor_proto& t) const {
        return from_.name + ": the tensor \"" + std::string(t.name) + "\"";
    }
    [[noreturn]] void refuse(const tensor_proto& t, const std::string& why) const {
        throw error(errc::bad_file, "onnx", text(t) + " " + why);
    }

    /// The field of TensorProto that a type's numbers are in where they are not raw.
    static std::uint32_t field_of(dtype type) noexcept {
        return type == dtype::f32                         ? 4
               : type == dtype::f64                       ? 10
               : type == dtype::i64                       ? 7
               : type == dtype::u32 || type == dtype::u64 ? 11
                                                          : 5;
    }

    /// A tensor has its data in one place.
    void check_fields(const tensor_proto& t, dtype type) const {
        static constexpr std::pair<int, const char*> names[] = {
            {4, "float_data"}, {5, "int32_data"},   {6, "string_data"}, {7, "int64_data"},
            {9, "raw_data"},   {10, "double_data"}, {11, "uint64_data"}};
        const char* found = t.is_external ? "another file" : nullptr;
        for (const auto& [tag, name] : names) {
            if (!(t.fields >> tag & 1)) continue;
            if (found)
                refuse(t, std::string("has its data twice, in ") + found + " and in " + name);
            found = name;
            if (tag != 9 && std::cmp_not_equal(tag, field_of(type)))
                refuse(t, std::string("has data in ") + name + ", where " +
                              std::string(to_string(type)) + " is never kept");
        }
    }

    /// What is read now: what the host may need after loading, and a bool, which is 0 or 1 in
    /// memory where a file may hold anything.
    std::shared_ptr<host_constant> tidy(const tensor_proto& t, dtype type, std::int64_t count,
                                        std::shared_ptr<host_constant> c) const {
        if (c->in_file() ? count <= limits_.folded_elements : type == dtype::boolean) {
            auto owned = std::make_shared<std::vector<std::byte>>(
                static_cast<std::size_t>(byte_count(type, count)));
            c->read(0, *owned);
            if (type == dtype::boolean)
                for (std::byte& b : *owned) b = std::byte(b != std::byte(0));
            c = std::make_shared<host_constant>(std::move(owned));
        }
        c->name = t.name;
        return c;
    }

    /// Where bytes of the structure lie in the file.
    std::uint64_t offset_of(span<const std::byte> part) const {
        return static_cast<std::uint64_t>(part.data() - from_.bytes.data());
    }
    bool left_in_file(std::uint32_t tag, std::size_t length) const {
        return from_.file && detail::is_left_in_file(tag << 3 | 2, length);
    }
    std::shared_ptr<host_constant> raw(const tensor_proto& t, dtype type) const {
        if (left_in_file(9, t.raw.size()))
            return std::make_shared<host_constant>(from_.file, offset_of(t.raw), t.raw.size(),
                                                   type == dtype::boolean);
        return std::make_shared<host_constant>(t.raw, from_.keep);
    }

    std::int64_t number(const tensor_proto& t, std::string_view digits, const char* what) const {
        std::int64_t value = -1;
        const auto [end, fault] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (fault != std::errc{} || end != digits.data() + digits.size() || value < 0)
            refuse(t, std::string("has an external ") + what + " that is no size: \"" +
                          std::string(digits.substr(0, 32)) + "\"");
        return value;
    }

    std::shared_ptr<host_constant> external(const tensor_proto& t, dtype type, std::int64_t bytes) {
        if (!from_.has_folder)
            refuse(t, "lies in another file, but the model was read from memory");
        std::shared_ptr<input_file>& file = files_[t.external.location];
        try {
            if (!file) file = input_file::open_beneath(from_.folder, t.external.location);
        } catch (const error& e) {
            throw error(e.code(), "onnx", text(t) + " lies in another file: " + e.message());
        }
        const std::int64_t offset =
            t.external.offset.empty() ? 0 : number(t, t.external.offset, "offset");
        const std::int64_t length =
            t.external.length.empty() ? bytes : number(t, t.external.length, "length");
        const auto size = static_cast<std::int64_t>(file->size());
        if (length != bytes)
            refuse(t, "has an external length of " + std::to_string(length) +
                          " where its shape takes " + std::to_string(bytes));
        if (offset > size || length > size - offset)
            refuse(t, "ends past its file: offset " + std::to_string(offset) + ", length " +
                          std::to_string(length) + ", file of " + std::to_string(size) + " bytes");
        return std::make_shared<host_constant>(file, static_cast<std::uint64_t>(offset),
                                               static_cast<std::size_t>(length),
                                               type == dtype::boolean);
    }

    /// The fields float_data, int32_data, int64_data, double_data and uint64_data, packed or not.
    /// The field that a type uses is onnx.proto's; others must be empty.
    std::vector<std::byte> typed(const tensor_proto& t, dtype type, std::int64_t count,
                                 std::int64_t bytes) {
        // A number takes a byte of the file at least, so a lie about the shape is found before
        // memory is taken.
        if (std::cmp_greater(std::min(count, bytes), t.message.size()))
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
                case dtype::i4:  // two to a number
                case dtype::u4:
                case dtype::f8_e4m3:
                case dtype::f8_e5m2:
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
        const std::uint32_t field = field_of(type);
        // A packed list is here, or is read from the file.
        const auto packed = [&](protozero::pbf_reader& m, auto&& take) {
            const auto list = detail::to_bytes(m.get_view());
            if (!left_in_file(field, list.size())) return take(list);
            const auto read = from_.file->read(offset_of(list), list.size());
            take(span<const std::byte>(read));
        };
        const auto fixed = [&]<class Stored>(Stored) {
            return [&](span<const std::byte> list) {
                if (list.size() % sizeof(Stored) != 0) refuse(t, "has a list of half numbers");
                for (; !list.empty(); list = list.subspan(sizeof(Stored))) {
                    Stored v;
                    std::memcpy(&v, list.data(), sizeof v);
                    put(v);
                }
            };
        };
        const auto varints = [&]<class Stored>(Stored) {
            return [&](span<const std::byte> list) {
                const char *at = detail::to_view(list).data(), *end = at + list.size();
                while (at != end)
                    put_integer(static_cast<Stored>(protozero::decode_varint(&at, end)));
            };
        };
        protozero::pbf_reader m(detail::to_view(t.message));
        try {
            while (m.next()) {
                if (m.tag() != field) {
                    m.skip();
                    continue;
                }
                switch (m.tag_and_type()) {
                    case detail::fixed32(4): put(m.get_float()); break;
                    case detail::bytes(4): packed(m, fixed(float{})); break;
                    case detail::fixed64(10): put(m.get_double()); break;
                    case detail::bytes(10): packed(m, fixed(double{})); break;
                    case detail::varint(5): put_integer(m.get_int32()); break;
                    case detail::bytes(5): packed(m, varints(std::int32_t{})); break;
                    case detail::varint(7): put_integer(m.get_int64()); break;
                    case detail::bytes(7): packed(m, varints(std::int64_t{})); break;
                    case detail::varint(11): put_integer(m.get_uint64()); break;
                    case detail::bytes(11): packed(m, varints(std::uint64_t{})); break;
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

    static shape extent_of(const tensor_proto& t) {
        return shape(span<const std::int64_t>(t.dims));
    }

    const source& from_;
    model_limits limits_;
    std::map<std::string_view, std::shared_ptr<input_file>> files_;
    std::int64_t typed_bytes_ = 0;
};

}}}  // namespace pumice::PUMICE_ABI::onnx
