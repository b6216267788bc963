// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// TOSA as MLIR text, written operation by operation. Every tensor has an axis at least, and
// operands of elementwise operations as many axes as each other.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/shape.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

/// A value of the text.
struct mlir_value {
    std::string name;
    dtype type = dtype::f32;
    pumice::shape shape;
    std::int64_t sizes = -1;  // of a list of sizes, which is no tensor: its length
};

/// Within a string of MLIR's, in which `text` may itself be one of JSON's.
inline std::string in_quotes(std::string_view text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') made += '\\', made += c;
        else if (c == '\n') made += "\\n";
        else if (c == '\t') made += "\\t";
        else if (c == '\r') made += "\\0D";
        else made += c;
    }
    return made + "\"";
}

class mlir_text {
public:
    /// Throws errc::unsupported for types that TOSA lacks.
    static std::string_view type_name(dtype type) {
        switch (type) {
            case dtype::f32: return "f32";
            case dtype::f16: return "f16";
            case dtype::bf16: return "bf16";
            case dtype::f8_e4m3: return "f8E4M3FN";
            case dtype::f8_e5m2: return "f8E5M2";
            case dtype::boolean: return "i1";
            case dtype::i4: return "i4";
            case dtype::i8: return "i8";
            case dtype::i16: return "i16";
            case dtype::i32: return "i32";
            default:
                throw error(errc::unsupported, "vgf",
                            cat({"TOSA has no tensors of ", to_string(type),
                                 "; there are f32, f16, bf16, bool, i8, i16 and i32"}));
        }
    }
    static std::string tensor_type(dtype type, const shape& s) {
        std::string text = "tensor<";
        for (const std::int64_t d : s) append_text(text, {d, "x"});
        return cat({text, type_name(type), ">"});
    }
    static std::string type_of(const mlir_value& v) {
        return v.sizes >= 0 ? cat({"!tosa.shape<", v.sizes, ">"}) : tensor_type(v.type, v.shape);
    }

    mlir_value argument(dtype type, const shape& s) {
        mlir_value v{cat({"%arg", arguments_.size()}), type, s};
        arguments_.push_back(cat({v.name, ": ", type_of(v)}));
        return v;
    }

    /// tosa.NAME of one result.
    mlir_value op(std::string_view name, std::initializer_list<mlir_value> operands, dtype type,
                  const shape& s, std::string_view attributes = "") {
        return op(name, span(operands.begin(), operands.size()), type, s, attributes);
    }
    mlir_value op(std::string_view name, span<const mlir_value> operands, dtype type,
                  const shape& s, std::string_view attributes = "") {
        return op(name, operands, {{"", type, s}}, attributes)[0];
    }
    /// Several results of one operation.
    std::vector<mlir_value> op(std::string_view name, span<const mlir_value> operands,
                               std::vector<mlir_value> results, std::string_view attributes) {
        std::string names, types, given;
        for (const mlir_value& v : operands) {
            append_text(names, {names.empty() ? "" : ", ", v.name});
            append_text(types, {types.empty() ? "" : ", ", type_of(v)});
        }
        const std::string all = fresh();
        for (std::size_t i = 0; i < results.size(); ++i) {
            results[i].name = results.size() == 1 ? all : cat({all, "#", i});
            append_text(given, {given.empty() ? "" : ", ", type_of(results[i])});
        }
        append_text(body_, {"  ", all, results.size() == 1 ? "" : cat({":", results.size()}),
                            " = \"tosa.", name, "\"(", names, ") {", attributes, "} : (", types,
                            ") -> (", given, ")\n"});
        return results;
    }

    /// `bytes`: of all elements, or of the one that all of them are.
    mlir_value constant(dtype type, const shape& s, span<const std::byte> bytes) {
        std::string values;
        if (type == dtype::boolean) {  // whose bytes MLIR packs
            if (bytes.size() == 1) values = bytes[0] != std::byte(0) ? "true" : "false";
            else {
                std::size_t at = 0;
                values = nested(s, 0, bytes, at);
            }
        } else {
            constexpr char digits[] = "0123456789ABCDEF";
            values.reserve(bytes.size() * 2 + 4);
            values = "\"0x";
            for (const std::byte b : bytes) {
                values.push_back(digits[std::to_integer<unsigned>(b) >> 4]);
                values.push_back(digits[std::to_integer<unsigned>(b) & 15]);
            }
            values.push_back('"');
        }
        mlir_value made{fresh(), type, s};
        const std::string as = type_of(made);
        append_text(body_, {"  ", made.name, " = \"tosa.const\"() {values = dense<"});
        body_ += values;
        append_text(body_, {"> : ", as, "} : () -> ", as, "\n"});
        return made;
    }
    /// A list of sizes, which is no tensor.
    mlir_value sizes(span<const std::int64_t> list) {
        mlir_value made{fresh(), dtype::i32, {}, 0};
        std::string text;
        for (const std::int64_t d : list) append_text(text, {text.empty() ? "" : ", ", d});
        append_text(body_, {"  ", made.name, " = \"tosa.const_shape\"() {values = dense<[", text,
                            "]> : tensor<", list.size(), "xindex>} : () -> !tosa.shape<",
                            list.size(), ">\n"});
        made.sizes = static_cast<std::int64_t>(list.size());
        return made;
    }
    mlir_value sizes(const shape& s) { return sizes(span(s.begin(), s.size())); }

    /// `inputs` and `outputs`: what the converter is to call them, all or none.
    std::string finish(span<const mlir_value> results, span<const std::string> inputs,
                       span<const std::string> outputs) const {
        std::string names, types, arguments;
        for (const mlir_value& v : results) {
            append_text(names, {names.empty() ? "" : ", ", v.name});
            append_text(types, {types.empty() ? "" : ", ", type_of(v)});
        }
        for (const std::string& a : arguments_)
            append_text(arguments, {arguments.empty() ? "" : ", ", a});
        std::string called;
        if (!inputs.empty() || !outputs.empty())
            called = cat({" attributes {tf.entry_function = {inputs = ", list_of(inputs),
                          ", outputs = ", list_of(outputs), "}}"});
        return cat({"func.func @main(", arguments, ") -> (", types, ")", called, " {\n", body_,
                    "  return ", names, " : ", types, "\n}\n"});
    }

private:
    /// With commas between them, so a name's own become underscores, with more where another is
    /// called so.
    static std::string list_of(span<const std::string> names) {
        std::vector<std::string> told(names.begin(), names.end());
        for (std::string& name : told) std::replace(name.begin(), name.end(), ',', '_');
        std::string list;
        for (std::size_t i = 0; i < told.size(); ++i) {
            while (told[i] != names[i] && std::count(told.begin(), told.end(), told[i]) > 1)
                told[i] += '_';
            append_text(list, {i > 0 ? "," : "", told[i]});
        }
        return in_quotes(list);
    }
    std::string fresh() { return cat({"%", count_++}); }
    static std::string nested(const shape& s, int axis, span<const std::byte> bytes,
                              std::size_t& at) {
        std::string text = "[";
        for (std::int64_t i = 0; i < s[axis]; ++i) {
            if (i > 0) text += ", ";
            if (axis + 1 < s.rank()) text += nested(s, axis + 1, bytes, at);
            else text += bytes[at++] != std::byte(0) ? "true" : "false";
        }
        return text + "]";
    }

    std::vector<std::string> arguments_;
    std::string body_;
    int count_ = 0;
};

}}}  // namespace pumice::PUMICE_ABI::vgf
