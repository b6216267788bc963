// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a model is loaded with, and how its inputs and outputs are described.
#pragma once

#include <pumice/model/onnx/resolve.hpp>

#include <algorithm>
#include <functional>

namespace pumice { inline namespace PUMICE_ABI {

/// How a model is loaded. Every field may be left out; contexts and op sets may be given beside it.
struct load_options {
    std::int64_t batch = 0;  // the open first axis of inputs; 0 leaves it open
    std::map<std::string, std::int64_t, std::less<>> dims = {};  // other open axes, by their symbol
    std::optional<dtype> compute = {};  // f16 or bf16 in place of f32: faster, less exact
    std::optional<context> where = {};  // the process-wide context where there is none
    op_set extra = {};                  // a user's own elementwise operators
    model_limits limits = {};
};

namespace detail {
inline void take_option(load_options& chosen, const load_options& o) {
    const load_options before = std::exchange(chosen, o);
    if (!chosen.where) chosen.where = before.where;
    if (chosen.extra.list.empty()) chosen.extra = before.extra;
}
inline void take_option(load_options& chosen, const context& c) { chosen.where = c; }
inline void take_option(load_options& chosen, const op_set& s) { chosen.extra = s; }
}  // namespace detail

/// What `model::load` takes after the path, in any order: load_options, a context, pm::ops<...>.
template <class O>
concept load_option =
    requires(load_options& chosen, const O& o) { detail::take_option(chosen, o); };

/// One axis of an input or output: its size, or -1 and the symbol that the file gives it.
struct model_dim {
    std::int64_t size = -1;
    std::string symbol;
};

struct model_value {
    std::string name;
    pumice::dtype dtype = pumice::dtype::f32;
    std::vector<model_dim> dims;
    bool has_shape = false;  // false: the file does not say, any shape is taken

    /// "f32 (batch, 1, 28, 28)".
    std::string text() const {
        std::string list;
        for (const model_dim& d : dims)
            list += (list.empty() ? "" : ", ") + (d.size >= 0        ? std::to_string(d.size)
                                                  : d.symbol.empty() ? "?"
                                                                     : d.symbol);
        return std::string(to_string(dtype)) + (has_shape ? " (" + list + ")" : " of any shape");
    }
};

namespace detail {

/// A value as the file declares it, with the sizes that the options give to open axes.
inline model_value describe_value(const onnx::value_info& v,
                                  const std::map<std::string, std::int64_t, std::less<>>& sizes,
                                  std::int64_t batch) {
    model_value m{
        std::string(v.name), onnx::to_dtype(v.elem_type).value_or(dtype::f32), {}, v.has_shape};
    for (const onnx::dimension& dim : v.dims) {
        model_dim d{dim.size, std::string(dim.symbol)};
        const auto given = d.symbol.empty() ? sizes.end() : sizes.find(d.symbol);
        if (d.size < 0 && given != sizes.end()) d.size = given->second;
        if (d.size < 0 && m.dims.empty() && batch > 0) d.size = batch;
        m.dims.push_back(std::move(d));
    }
    return m;
}

/// Inputs and outputs. Throws errc::invalid_argument for sizes of axes that no input has.
inline std::pair<std::vector<model_value>, std::vector<model_value>> describe_values(
    const onnx::resolved_model& p, const load_options& o) {
    if (o.batch < 0)
        throw error(errc::invalid_argument, "model", "a batch of " + std::to_string(o.batch));
    auto sizes = o.dims;
    std::vector<std::string> symbols;
    for (const auto& v : p.input_info)
        for (const onnx::dimension& d : v.dims) {
            if (d.size >= 0 || d.symbol.empty()) continue;
            symbols.emplace_back(d.symbol);
            if (&d == v.dims.data() && o.batch > 0) sizes.emplace(symbols.back(), o.batch);
        }
    for (const auto& [name, size] : o.dims)
        if (size < 0 || std::find(symbols.begin(), symbols.end(), name) == symbols.end())
            throw error(errc::invalid_argument, "model",
                        p.file.from.name + ": " +
                            (size < 0 ? "a negative size for \""
                                      : "no input has an open axis called \"") +
                            name + "\"",
                        std::move(symbols));
    std::pair<std::vector<model_value>, std::vector<model_value>> values;
    for (const auto& v : p.input_info) values.first.push_back(describe_value(v, sizes, o.batch));
    for (const auto& v : p.file.outputs) values.second.push_back(describe_value(v, sizes, 0));
    return values;
}

}  // namespace detail

}}  // namespace pumice::PUMICE_ABI
