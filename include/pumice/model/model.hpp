// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A model from a file: read, checked and uploaded once, run from any thread. It joins the tensor's way
// at the graph, so fusion, kernels and devices are those of typed code.
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/model/onnx_dump.hpp>

#include <algorithm>
#include <functional>

namespace pumice::inline PUMICE_ABI {

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

/// A handle: copies share the weights. All functions are const and may be called by several threads.
class model {
public:
    /// Throws errc::io_failed, errc::bad_file, errc::unsupported_op, errc::unsupported, and what uploading throws.
    template <load_option... Options>
    static model load(const std::filesystem::path& path, const Options&... options) {
        const load_options chosen = collect(options...);
        return model(onnx::read(path, chosen.limits), chosen);
    }
    template <load_option... Options>
    static expected<model> try_load(const std::filesystem::path& path, const Options&... options) {
        return attempt([&] { return load(path, options...); });
    }
    /// From the bytes of a file, which are copied. Data in other files is refused.
    template <load_option... Options>
    static model from_bytes(std::span<const std::byte> bytes, const Options&... options) {
        const load_options chosen = collect(options...);
        auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
        return model(onnx::read(onnx::source{"model", *copy, copy, {}, false}, chosen.limits),
                     chosen);
    }
    template <load_option... Options>
    static expected<model> try_from_bytes(std::span<const std::byte> bytes,
                                          const Options&... options) {
        return attempt([&] { return from_bytes(bytes, options...); });
    }

    std::span<const model_value> inputs() const noexcept { return self_->inputs; }
    std::span<const model_value> outputs() const noexcept { return self_->outputs; }
    const context& where() const noexcept { return self_->weights.where(); }

    /// The outputs, in the order of the file, as lazy tensors: nothing is downloaded, and nothing runs
    /// before one is read or evaluated (`pm::eval(outputs)` runs them all at once). What is done to
    /// them beforehand fuses with the model. Throws errc::shape_mismatch, errc::dtype_mismatch.
    std::vector<any_tensor> run(std::span<const any_tensor> inputs) const {
        check(inputs);
        return finish(onnx::build_graph(self_->plan, inputs, &self_->weights,
                                        self_->options.compute));
    }
    std::vector<any_tensor> run(std::initializer_list<any_tensor> inputs) const {
        return run(std::span(inputs.begin(), inputs.size()));
    }

    /// By name, in any order.
    std::vector<any_tensor> run(std::span<const std::pair<std::string, any_tensor>> named) const {
        std::vector<any_tensor> list(inputs().size());
        for (const auto& [name, t] : named) {
            const auto at = std::find_if(inputs().begin(), inputs().end(),
                                         [&](const model_value& v) { return v.name == name; });
            if (at == inputs().end())
                throw error(errc::invalid_argument, "model", "there is no input \"" + name + "\"",
                            signature());
            list[static_cast<std::size_t>(at - inputs().begin())] = t;
        }
        return run(list);
    }

    /// For models of one output.
    template <class... Inputs>
        requires(std::convertible_to<const Inputs&, any_tensor> && ...)
    any_tensor operator()(const Inputs&... inputs) const {
        const std::array<any_tensor, sizeof...(Inputs)> list{static_cast<any_tensor>(inputs)...};
        auto results = run(std::span<const any_tensor>(list));
        if (results.size() != 1)
            throw error(errc::invalid_argument, "model",
                        "the model has " + std::to_string(results.size()) + " outputs; use run",
                        signature());
        return std::move(results[0]);
    }

    /// Types and shapes of all values for these input shapes (those of the file where left out, an open
    /// axis as 1). Nothing runs.
    std::vector<onnx::inferred> infer_shapes(std::span<const shape> shapes = {}) const {
        return onnx::infer_shapes(self_->plan,
                                  shapes.empty() ? self_->shapes()
                                                 : std::vector<shape>(shapes.begin(), shapes.end()),
                                  self_->options.compute);
    }
    /// The model as text: inputs, every operator with its shapes, outputs.
    std::string dump(std::span<const shape> shapes = {}) const {
        return onnx::dump(self_->plan,
                          shapes.empty() ? self_->shapes()
                                         : std::vector<shape>(shapes.begin(), shapes.end()),
                          self_->options.compute);
    }

private:
    /// Immutable but for the weights, which look after themselves. A recorded executable per set of
    /// input shapes will lie here; it replaces build_graph in run.
    struct state {
        onnx::plan plan;
        load_options options;
        std::vector<model_value> inputs, outputs;
        mutable pumice::weights weights;

        state(onnx::plan p, const load_options& o)
            : plan(std::move(p)), options(o),
              weights(o.where ? *o.where : default_context(), o.compute) {}

        std::vector<shape> shapes() const {
            std::vector<shape> list;
            for (const model_value& v : inputs) {
                shape s;
                for (const model_dim& d : v.dims) s.push_back(d.size < 0 ? 1 : d.size);
                list.push_back(s);
            }
            return list;
        }
        bool open() const {
            return std::any_of(inputs.begin(), inputs.end(), [](const model_value& v) {
                return !v.has_shape || std::any_of(v.dims.begin(), v.dims.end(),
                                                   [](const model_dim& d) { return d.size < 0; });
            });
        }
    };

    template <class... Options>
    static load_options collect(const Options&... options) {
        load_options chosen;
        (detail::take_option(chosen, options), ...);
        return chosen;
    }

    model(onnx::model file, const load_options& o) {
        if (o.compute && *o.compute != dtype::f16 && *o.compute != dtype::bf16 &&
            *o.compute != dtype::f32)
            throw error(errc::invalid_argument, "model",
                        "compute is f16, bf16 or f32, not " + std::string(to_string(*o.compute)));
        onnx::plan plan = onnx::make_plan(std::move(file), o.limits, o.extra);
        auto s = std::make_shared<state>(std::move(plan), o);
        describe_values(*s);
        warm_up(*s);
        self_ = std::move(s);
    }

    static std::string place(const state& s) { return s.plan.file.from.name + ": "; }

    static void describe_values(state& s) {
        auto given = s.options.dims;
        if (s.options.batch < 0)
            throw error(errc::invalid_argument, "model",
                        "a batch of " + std::to_string(s.options.batch));
        std::vector<std::string> symbols;
        for (const auto& v : s.plan.input_info)
            for (std::size_t i = 0; i < v.dims.size(); ++i) {
                const std::string symbol(v.dims[i].symbol);
                if (v.dims[i].size >= 0 || symbol.empty()) continue;
                symbols.push_back(symbol);
                if (i == 0 && s.options.batch > 0) given.emplace(symbol, s.options.batch);
            }
        for (const auto& [name, size] : s.options.dims)
            if (size < 0 || std::find(symbols.begin(), symbols.end(), name) == symbols.end())
                throw error(errc::invalid_argument, "model",
                            place(s) +
                                (size < 0 ? "a negative size for "
                                          : "no input has an open axis called ") +
                                "\"" + name + "\"",
                            std::move(symbols));
        const auto value = [&](const onnx::value_info& v, bool input) {
            model_value m{std::string(v.name),
                          onnx::to_dtype(v.elem_type).value_or(dtype::f32),
                          {},
                          v.has_shape};
            for (std::size_t i = 0; i < v.dims.size(); ++i) {
                model_dim d{v.dims[i].size, std::string(v.dims[i].symbol)};
                if (const auto g = given.find(d.symbol);
                    d.size < 0 && g != given.end() && !d.symbol.empty())
                    d.size = g->second;
                if (d.size < 0 && i == 0 && input && s.options.batch > 0) d.size = s.options.batch;
                m.dims.push_back(std::move(d));
            }
            return m;
        };
        for (const auto& v : s.plan.input_info) s.inputs.push_back(value(v, true));
        for (const auto& v : s.plan.file.outputs) s.outputs.push_back(value(v, false));
    }

    /// Builds the graph once, so that faults are found and weights go up now and not in the first run.
    /// With open axes taken as 1 a fault of shapes need not be one.
    static void warm_up(state& s) {
        std::vector<any_tensor> places;
        const auto shapes = s.shapes();
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            places.push_back(make_placeholder(s.inputs[i].dtype, shapes[i]));
            places.back().get()->owner = s.weights.where().get();
        }
        std::vector<any_tensor> slots;
        try {
            slots = onnx::build_graph(s.plan, places, &s.weights, s.options.compute, true);
        } catch (const error& e) {
            if (!s.open() || e.code() == errc::unsupported_op || e.code() == errc::unsupported ||
                e.code() == errc::bad_file)
                throw;
            return;
        }
        for (std::size_t i = 0; i < s.outputs.size(); ++i) {
            const any_tensor& made = slots[static_cast<std::size_t>(s.plan.outputs[i])];
            const auto& declared = s.plan.file.outputs[i];
            const auto computed = [&](dtype t) {
                return s.options.compute && t == dtype::f32 ? *s.options.compute : t;
            };
            if (declared.elem_type == 0) s.outputs[i].dtype = made.dtype();
            else if (computed(s.outputs[i].dtype) != computed(made.dtype()))
                throw error(errc::bad_file, "model",
                            place(s) + "the output \"" + s.outputs[i].name + "\" is declared as " +
                                s.outputs[i].text() + " and is " +
                                std::string(to_string(made.dtype())));
            if (s.open()) continue;
            s.outputs[i].dims.clear();
            s.outputs[i].has_shape = true;
            for (std::int64_t d : made.shape()) s.outputs[i].dims.push_back({d, {}});
        }
        s.weights.evaluate();
    }

    std::vector<std::string> signature() const {
        std::vector<std::string> lines;
        for (const model_value& v : inputs())
            lines.push_back("input \"" + v.name + "\" " + v.text());
        for (const model_value& v : outputs())
            lines.push_back("output \"" + v.name + "\" " + v.text());
        return lines;
    }

    void check(std::span<const any_tensor> list) const {
        const auto refuse = [&](errc code, const std::string& why) {
            throw error(code, "model", place(*self_) + why, signature());
        };
        if (list.size() != inputs().size())
            refuse(errc::invalid_argument, "takes " + std::to_string(inputs().size()) +
                                               " inputs, got " + std::to_string(list.size()));
        std::map<std::string_view, std::int64_t> symbols;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const model_value& v = inputs()[i];
            const any_tensor& t = list[i];
            if (!t.has_value())
                refuse(errc::invalid_argument, "the input \"" + v.name + "\" is missing or empty");
            const std::string what = "the input \"" + v.name + "\" is " +
                                     std::string(to_string(t.dtype())) + " " + to_string(t.shape());
            if (t.get()->owner != where().get())
                refuse(errc::context_mismatch,
                       "the input \"" + v.name + "\" belongs to another context than the model");
            if (t.dtype() != v.dtype) refuse(errc::dtype_mismatch, what);
            if (!v.has_shape) continue;
            bool fits = v.dims.size() == t.shape().size();
            for (int k = 0; fits && k < t.rank(); ++k) {
                const model_dim& d = v.dims[static_cast<std::size_t>(k)];
                fits = d.size < 0 || d.size == t.shape()[k];
                if (d.size < 0 && !d.symbol.empty())
                    fits = symbols.emplace(d.symbol, t.shape()[k]).first->second == t.shape()[k];
            }
            if (!fits) refuse(errc::shape_mismatch, what);
        }
    }

    std::vector<any_tensor> finish(const std::vector<any_tensor>& slots) const {
        std::vector<any_tensor> results;
        for (std::size_t i = 0; i < outputs().size(); ++i)
            results.push_back(astype(
                self_->weights.upload(slots[static_cast<std::size_t>(self_->plan.outputs[i])]),
                outputs()[i].dtype));
        return results;
    }

    std::shared_ptr<const state> self_;
};

}  // namespace pumice::inline PUMICE_ABI
