// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A model from a file: read, checked and uploaded once, run from any thread. It joins the tensor's
// way at the graph, so fusion, kernels and devices are those of typed code.
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/model/detail/model_options.hpp>
#include <pumice/model/onnx/dump.hpp>
#include <pumice/tensor/compile.hpp>

#include <algorithm>
#include <tuple>

namespace pumice { inline namespace PUMICE_ABI {

/// A handle: copies share the weights. All functions are const and may be called by several
/// threads.
class model {
public:
    /// When it returns, the weights are on their device and the file is closed: what becomes of the
    /// file does not matter. Throws errc::io_failed, errc::bad_file, errc::unsupported_op,
    /// errc::unsupported, and what uploading throws.
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

    /// The outputs, in the order of the file, as lazy tensors: nothing is downloaded, and nothing
    /// runs before one is read or evaluated (`pm::eval(outputs)` runs them all at once). What is
    /// done to them beforehand fuses with the model. Throws errc::shape_mismatch,
    /// errc::dtype_mismatch.
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

    /// The model recorded for these input shapes (those of the file where left out, an open axis as
    /// 1): planned once, then run without building anything. To record more than the model, compile
    /// a function that calls it. Throws errc::invalid_argument where a shape depends on inputs'
    /// values.
    executable compile(std::span<const shape> shapes = {}) const {
        const std::vector<shape> chosen =
            shapes.empty() ? self_->shapes() : std::vector<shape>(shapes.begin(), shapes.end());
        if (chosen.size() != inputs().size())
            throw error(errc::invalid_argument, "model",
                        place(*self_) + "takes " + std::to_string(inputs().size()) +
                            " inputs, got " + std::to_string(chosen.size()) + " shapes",
                        signature());
        std::vector<executable::value> values;
        for (std::size_t i = 0; i < chosen.size(); ++i)
            values.push_back({inputs()[i].dtype, chosen[i]});
        return trace(where(), values, [this](std::span<const any_tensor> x) { return run(x); });
    }

    /// Types and shapes of all values for these input shapes (those of the file where left out, an
    /// open axis as 1). Nothing runs.
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
    /// Immutable but for the weights, which look after themselves.
    struct state {
        onnx::resolved_model plan;
        load_options options;
        std::vector<model_value> inputs, outputs;
        mutable pumice::weights weights;

        state(onnx::resolved_model p, const load_options& o)
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
        dtype computed(dtype t) const {
            return options.compute && t == dtype::f32 ? *options.compute : t;
        }
        static bool fits(const std::vector<onnx::dimension>& declared, const shape& is) {
            bool same = declared.size() == is.size();
            for (std::size_t i = 0; same && i < declared.size(); ++i)
                same = declared[i].size < 0 || declared[i].size == is[static_cast<int>(i)];
            return same;
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

    model(onnx::model_proto file, const load_options& o) {
        if (o.compute && *o.compute != dtype::f16 && *o.compute != dtype::bf16 &&
            *o.compute != dtype::f32)
            throw error(errc::invalid_argument, "model",
                        "compute is f16, bf16 or f32, not " + std::string(to_string(*o.compute)));
        onnx::resolved_model plan = onnx::resolve(std::move(file), o.limits, o.extra);
        auto s = std::make_shared<state>(std::move(plan), o);
        std::tie(s->inputs, s->outputs) = detail::describe_values(s->plan, o);
        warm_up(*s);
        settle(*s);
        self_ = std::move(s);
    }

    static std::string place(const state& s) { return s.plan.file.from.name + ": "; }

    /// Builds the graph once, so that faults are found and weights go up now and not in the first
    /// run. With open axes taken as 1 a fault of shapes need not be one.
    static void warm_up(state& s) {
        std::vector<any_tensor> places;
        const auto shapes = s.shapes();
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            if (element_count(shapes[i]) > s.options.limits.elements)
                throw error(errc::bad_file, "model",
                            place(s) + "the input \"" + s.inputs[i].name + "\" has the shape " +
                                to_string(shapes[i]) + ", more than model_limits::elements");
            places.push_back(make_abstract(s.inputs[i].dtype, shapes[i]));
            places.back().get()->owner = s.weights.where().get();
        }
        std::vector<any_tensor> slots;
        try {
            slots = onnx::build_graph(s.plan, places, &s.weights, s.options.compute, true);
        } catch (const onnx::needs_value&) {
            return;  // a run knows more
        } catch (const error& e) {
            if (!s.open() || e.code() == errc::unsupported_op || e.code() == errc::unsupported ||
                e.code() == errc::bad_file)
                throw;
            return;
        }
        for (std::size_t i = 0; i < s.outputs.size(); ++i) {
            const any_tensor& made = slots[static_cast<std::size_t>(s.plan.outputs[i])];
            const auto& declared = s.plan.file.outputs[i];
            if (declared.elem_type != 0 && !onnx::to_dtype(declared.elem_type))
                throw error(errc::bad_file, "model",
                            place(s) + "the output \"" + s.outputs[i].name + "\" is declared as " +
                                onnx::name_of_type(declared.elem_type) + " and is " +
                                std::string(to_string(made.dtype())));
            if (declared.elem_type == 0) s.outputs[i].dtype = made.dtype();
            else if (s.computed(s.outputs[i].dtype) != s.computed(made.dtype()))
                throw error(errc::bad_file, "model",
                            place(s) + "the output \"" + s.outputs[i].name + "\" is declared as " +
                                s.outputs[i].text() + " and is " +
                                std::string(to_string(made.dtype())));
            if (s.open()) continue;
            if (declared.has_shape && !s.fits(declared.dims, made.shape()))
                throw error(errc::bad_file, "model",
                            place(s) + "the output \"" + s.outputs[i].name + "\" is declared as " +
                                s.outputs[i].text() + " and is " + to_string(made.shape()));
            s.outputs[i].dims.clear();
            s.outputs[i].has_shape = true;
            for (std::int64_t d : made.shape()) s.outputs[i].dims.push_back({d, {}});
        }
        compare(s, slots);
    }

    /// Brings the weights up, those too that only runs of other shapes need, and lets go of the
    /// files.
    static void settle(state& s) {
        const auto keep = [&](int slot) {
            if (slot >= 0) s.weights.keep(s.plan.constants[static_cast<std::size_t>(slot)]);
        };
        for (const onnx::resolved_node& step : s.plan.steps)
            for (int i : step.inputs) keep(i);
        for (int o : s.plan.outputs) keep(o);
        s.weights.settle();
        if (s.plan.file.from.file) s.plan.file.from.file->close();
        for (const auto& file : s.plan.files) file->close();
    }

    /// What the file says of values in between is what they are.
    static void compare(const state& s, std::span<const any_tensor> slots) {
        for (const auto& [slot, v] : s.plan.declared) {
            const any_tensor& made = slots[static_cast<std::size_t>(slot)];
            if (!made.has_value() || !v->is_tensor) continue;
            const std::string what = place(s) + "the value \"" + std::string(v->name) + "\" ";
            const auto type = onnx::to_dtype(v->elem_type);
            bool fits =
                v->elem_type == 0 || (type && s.computed(*type) == s.computed(made.dtype()));
            if (v->has_shape && !s.open()) fits = fits && s.fits(v->dims, made.shape());
            if (!fits)
                throw error(errc::bad_file, "model",
                            what + "is declared otherwise than it is: " +
                                std::string(to_string(made.dtype())) + " " +
                                to_string(made.shape()));
        }
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

}}  // namespace pumice::PUMICE_ABI
