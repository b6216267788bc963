// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An ONNX file as read: plain views into its bytes in memory, nothing checked against anything but
// the limits. reader.hpp fills these, resolve.hpp makes sense of them.
#pragma once

#include <pumice/core/dtype.hpp>
#include <pumice/model/detail/model_limits.hpp>
#include <pumice/model/input_file.hpp>

#include <cstdint>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

/// The bytes of a model and what keeps them alive.
struct source {
    std::string name;  // for messages
    span<const std::byte> bytes;
    std::shared_ptr<const void> keep;
    std::filesystem::path folder;  // where external data may lie
    bool has_folder = false;       // false: read from memory, external data is refused
    // Where data lies that `bytes` leaves out (detail/file_image.hpp); null: it leaves out nothing.
    std::shared_ptr<input_file> file = nullptr;
};

namespace detail {
/// Whether a field of a TensorProto, by its key on the wire, is data that is not read with the
/// structure.
constexpr bool is_left_in_file(std::uint32_t key, std::size_t length) noexcept {
    const std::uint32_t tag = key >> 3;  // float_data to double_data, not string_data
    return (key & 7) == 2 && length > (1 << 16) &&
           (tag == 4 || tag == 5 || tag == 7 || (tag >= 9 && tag <= 11));
}
}  // namespace detail

/// One axis of a declared shape: a size, a symbol, or neither.
struct dimension {
    std::int64_t size = -1;  // -1: open
    std::string_view symbol;
};

struct value_info {
    std::string_view name;
    std::int32_t elem_type = 0;  // TensorProto.DataType
    bool is_tensor = false;
    std::string_view kind = {};  // of what is no tensor: a sequence, a map, ...
    bool has_shape = false;
    std::vector<dimension> dims;
};

struct external_data {
    std::string_view location, offset, length;
};

struct tensor_proto {
    std::string_view name;
    std::int32_t data_type = 0;
    std::vector<std::int64_t> dims;
    span<const std::byte> raw;
    bool has_raw = false;
    std::uint32_t fields = 0;  // the data fields that are there, by bit
    bool has_segment = false;
    bool is_external = false;
    external_data external;
    span<const std::byte> message;  // of the TensorProto: typed fields are decoded from it
};

enum class attribute_type : std::uint8_t {
    none,
    real,
    integer,
    text,
    tensor,
    graph,
    reals,
    integers,
    texts,
    tensors,
    graphs,
    sparse,
    other
};

/// A node's attribute. Lists of numbers are copied (they are short), the rest are views.
struct attribute {
    std::string_view name;
    attribute_type type = attribute_type::none;
    int values = 0;  // how many of the value fields are set
    float real = 0;
    std::int64_t integer = 0;
    std::string_view text;
    span<const std::byte> tensor, graph;  // a TensorProto, a GraphProto
    std::vector<float> reals;
    std::vector<std::int64_t> integers;
    std::vector<std::string_view> texts;
};

struct node_proto {
    std::string_view name, op_type, domain, overload;
    std::vector<std::string_view> inputs, outputs;
    std::vector<attribute> attributes;
};

struct opset {
    std::string_view domain;
    std::int64_t version = 0;
};

/// A ModelProto with its one graph. The graphs of attributes are read by themselves, as a model's
/// that has the rest of this one's (read_graph).
struct model_proto {
    onnx::source from;
    std::int64_t ir_version = 0;
    std::string_view producer, producer_version, graph_name;
    std::vector<opset> opsets;
    std::vector<node_proto> nodes;
    std::vector<tensor_proto> initializers;
    std::vector<value_info> inputs, outputs, values;
    std::size_t sparse_initializers = 0, functions = 0;
    std::vector<opset> function_opsets;

    /// Version of an imported operator set, 0 where it is not imported. "ai.onnx" is the default
    /// domain.
    std::int64_t version_of(std::string_view domain) const noexcept {
        const auto plain = [](std::string_view d) {
            return d == "ai.onnx" ? std::string_view{} : d;
        };
        for (const opset& o : opsets)
            if (plain(o.domain) == plain(domain)) return o.version;
        return 0;
    }
};

/// TensorProto.DataType to ours; empty for text, complex numbers and other types of 8 bits or less.
constexpr std::optional<dtype> to_dtype(std::int32_t code) noexcept {
    switch (code) {
        case 1: return dtype::f32;
        case 2: return dtype::u8;
        case 3: return dtype::i8;
        case 4: return dtype::u16;
        case 5: return dtype::i16;
        case 6: return dtype::i32;
        case 7: return dtype::i64;
        case 9: return dtype::boolean;
        case 10: return dtype::f16;
        case 11: return dtype::f64;
        case 12: return dtype::u32;
        case 13: return dtype::u64;
        case 16: return dtype::bf16;
        case 17: return dtype::f8_e4m3;
        case 19: return dtype::f8_e5m2;
        case 21: return dtype::u4;
        case 22: return dtype::i4;
        default: return std::nullopt;
    }
}

/// ONNX's name of a data type, for messages.
inline std::string name_of_type(std::int64_t code) {
    constexpr std::string_view names[] = {
        "UNDEFINED",      "FLOAT",      "UINT8",          "INT8",       "UINT16",    "INT16",
        "INT32",          "INT64",      "STRING",         "BOOL",       "FLOAT16",   "DOUBLE",
        "UINT32",         "UINT64",     "COMPLEX64",      "COMPLEX128", "BFLOAT16",  "FLOAT8E4M3FN",
        "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",      "INT4",      "FLOAT4E2M1",
        "FLOAT8E8M0",     "UINT2",      "INT2",           "FLOAT6E2M3", "FLOAT6E3M2"};
    return code >= 0 && std::cmp_less(code, std::size(names))
               ? std::string(names[code])
               : "a type that ONNX lacks (" + std::to_string(code) + ")";
}
/// Whether ONNX has a data type of this number.
inline bool is_type(std::int64_t code) { return code > 0 && code <= 28; }

}}}  // namespace pumice::PUMICE_ABI::onnx
