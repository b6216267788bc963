// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A model's signature: names, types and shapes of what it takes and gives.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/core/dtype.hpp>
#include <pumice/core/shape.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

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
    bool has_dtype = true;   // false: the file does not say, of an output
    /// Where the file quantises it at once, or gives it quantised: real = scale * (stored -
    /// zero_point), of the tensor or along `axis`; empty elsewhere.
    std::vector<float> scale = {};
    std::vector<std::int64_t> zero_point = {};
    std::optional<std::int64_t> axis = {};

    /// "f32 (batch, 1, 28, 28)".
    std::string text() const {
        std::string list;
        for (const model_dim& d : dims)
            list += (list.empty() ? "" : ", ") + (d.size >= 0        ? std::to_string(d.size)
                                                  : d.symbol.empty() ? "?"
                                                                     : d.symbol);
        return std::string(has_dtype ? to_string(dtype) : "any type") +
               (has_shape ? " (" + list + ")" : " of any shape");
    }
    /// Whether its shape is not known before a run.
    bool open() const {
        return !has_shape ||
               std::any_of(dims.begin(), dims.end(), [](const model_dim& d) { return d.size < 0; });
    }
    /// Whether `s` has its rank, and its size along each axis that is not open.
    bool takes(const shape& s) const {
        if (!has_shape) return true;
        bool same = dims.size() == s.size();
        for (std::size_t i = 0; same && i < dims.size(); ++i)
            same = dims[i].size < 0 || dims[i].size == s[static_cast<int>(i)];
        return same;
    }
    void set_shape(const shape& s) {
        dims.clear();
        has_shape = true;
        for (const std::int64_t d : s) dims.push_back({d, {}});
    }
};

struct model_signature {
    std::string name;  // of the file, for messages
    std::vector<model_value> inputs, outputs;

    /// Whether a shape of an input is not known before a run.
    bool open() const {
        return std::any_of(inputs.begin(), inputs.end(),
                           [](const model_value& v) { return v.open(); });
    }
    /// Of the inputs, open axes as 1.
    std::vector<shape> shapes() const {
        std::vector<shape> list;
        for (const model_value& v : inputs) {
            shape s;
            for (const model_dim& d : v.dims) s.push_back(d.size < 0 ? 1 : d.size);
            list.push_back(s);
        }
        return list;
    }
    /// A line each.
    std::vector<std::string> lines() const {
        std::vector<std::string> list;
        for (const model_value& v : inputs) list.push_back("input \"" + v.name + "\" " + v.text());
        for (const model_value& v : outputs)
            list.push_back("output \"" + v.name + "\" " + v.text());
        return list;
    }

    /// Gives open axes their sizes: by their symbol, and the first ones of inputs `batch`, where it
    /// is not 0. Throws errc::invalid_argument for sizes of axes that no input has.
    void set_sizes(std::int64_t batch, std::map<std::string, std::int64_t, std::less<>> sizes) {
        if (batch < 0)
            throw error(errc::invalid_argument, "model", "a batch of " + std::to_string(batch));
        const auto given = sizes;
        std::vector<std::string> symbols;
        for (const model_value& v : inputs)
            for (const model_dim& d : v.dims) {
                if (d.size >= 0 || d.symbol.empty()) continue;
                symbols.push_back(d.symbol);
                if (&d == v.dims.data() && batch > 0) sizes.emplace(d.symbol, batch);
            }
        for (const auto& [symbol, size] : given)
            if (size < 0 || std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
                throw error(errc::invalid_argument, "model",
                            name + ": " +
                                (size < 0 ? "a negative size for \""
                                          : "no input has an open axis called \"") +
                                symbol + "\"",
                            std::move(symbols));
        const auto settle = [&](model_value& v, std::int64_t first) {
            for (model_dim& d : v.dims) {
                if (d.size >= 0) continue;
                const auto found = d.symbol.empty() ? sizes.end() : sizes.find(d.symbol);
                if (found != sizes.end()) d.size = found->second;
                else if (&d == v.dims.data() && first > 0) d.size = first;
            }
        };
        for (model_value& v : inputs) settle(v, batch);
        for (model_value& v : outputs) settle(v, 0);
    }
};

}}  // namespace pumice::PUMICE_ABI
