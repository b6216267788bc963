// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A model from a file: read, checked and uploaded once, run from any thread. It joins the tensor's
// way at the graph, so fusion, kernels and devices are those of typed code.
#pragma once

#include <pumice/base/expected.hpp>
#include <pumice/graph/naming.hpp>
#include <pumice/model/detail/formats.hpp>
#include <pumice/tensor/compile.hpp>

#include <algorithm>
#include <concepts>

namespace pumice { inline namespace PUMICE_ABI {

struct varying;  // <pumice/varying.hpp>

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
        return model(detail::open_model(path, chosen), chosen);
    }
    template <load_option... Options>
    static expected<model> try_load(const std::filesystem::path& path, const Options&... options) {
        return attempt([&] { return load(path, options...); });
    }
    /// From the bytes of a file, which are copied. Data in other files is refused.
    template <load_option... Options>
    static model from_bytes(span<const std::byte> bytes, const Options&... options) {
        const load_options chosen = collect(options...);
        return model(detail::open_model(bytes, chosen), chosen);
    }
    template <load_option... Options>
    static expected<model> try_from_bytes(span<const std::byte> bytes, const Options&... options) {
        return attempt([&] { return from_bytes(bytes, options...); });
    }

    /// From a builder of the user's own, for another format (model/builder.hpp). Throws what it
    /// throws.
    template <load_option... Options>
    static model from_builder(std::shared_ptr<model_builder> builder, const Options&... options) {
        return model(std::move(builder), collect(options...));
    }

    span<const model_value> inputs() const noexcept { return self_->signature.inputs; }
    span<const model_value> outputs() const noexcept { return self_->signature.outputs; }
    const context& where() const noexcept { return self_->weights.where(); }

    /// The outputs, in the order of the file, as lazy tensors: nothing is downloaded, and nothing
    /// runs before one is read or evaluated (`pm::eval(outputs)` runs them all at once). What is
    /// done to them beforehand fuses with the model. Throws errc::shape_mismatch,
    /// errc::dtype_mismatch.
    std::vector<any_tensor> run(span<const any_tensor> inputs) const {
        check(inputs);
        std::vector<any_tensor> results = self_->builder->build(inputs, self_->weights);
        for (std::size_t i = 0; i < results.size(); ++i) {
            results[i] = self_->weights.upload(results[i]);
            if (outputs()[i].has_dtype) results[i] = astype(results[i], outputs()[i].dtype);
        }
        return results;
    }
    std::vector<any_tensor> run(std::initializer_list<any_tensor> inputs) const {
        return run(span(inputs.begin(), inputs.size()));
    }

    /// By name, in any order.
    std::vector<any_tensor> run(span<const std::pair<std::string, any_tensor>> named) const {
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
        auto results = run(span<const any_tensor>(list));
        if (results.size() != 1)
            throw error(errc::invalid_argument, "model",
                        "the model has " + std::to_string(results.size()) + " outputs; use run",
                        signature());
        return std::move(results[0]);
    }

    /// What a recording for these input shapes takes (those of the file where left out, an open
    /// axis as 1). Throws errc::invalid_argument where they are fewer or more than the inputs.
    std::vector<executable::value> recorded_values(span<const shape> shapes = {}) const {
        const std::vector<shape> chosen = shapes_or_own(shapes);
        if (chosen.size() != inputs().size())
            throw error(errc::invalid_argument, "model",
                        place(*self_) + "takes " + std::to_string(inputs().size()) +
                            " inputs, got " + std::to_string(chosen.size()) + " shapes",
                        signature());
        std::vector<executable::value> values;
        for (std::size_t i = 0; i < chosen.size(); ++i)
            values.push_back({inputs()[i].dtype, chosen[i]});
        return values;
    }

    /// The model recorded for these input shapes (those of the file where left out, an open axis as
    /// 1): planned once, then run without building anything. To record more than the model, compile
    /// a function that calls it. Throws errc::invalid_argument where a shape depends on inputs'
    /// values.
    executable compile(span<const shape> shapes = {}) const {
        return trace(where(), recorded_values(shapes),
                     [this](span<const any_tensor> x) { return run_named(x); });
    }
    executable compile(std::initializer_list<shape> shapes) const {
        return compile(span(shapes.begin(), shapes.size()));
    }

    /// The same for every extent of open axes up to `range.at_most`, of each input those of
    /// `range.axes`; as that is when it is made, the first axis of each input where it is open: the
    /// batch. Throws errc::invalid_argument for an axis that the file fixes, and what `compile` of
    /// a function throws (<pumice/varying.hpp>, which it needs).
    template <std::same_as<varying> Range>
    executable compile(const Range& range, span<const shape> shapes = {}) const {
        const std::vector<executable::value> values = recorded_values(shapes);
        return trace(where(), values, open_axes(range.axes, values), range.at_most,
                     [this](span<const any_tensor> x) { return run_named(x); });
    }

    /// Types and shapes of all values for these input shapes (those of the file where left out, an
    /// open axis as 1). Nothing runs.
    std::vector<inferred_value> infer_shapes(span<const shape> shapes = {}) const {
        return self_->builder->infer_shapes(shapes_or_own(shapes), self_->weights);
    }
    /// The model as text: inputs, every operator with its shapes, outputs.
    std::string dump(span<const shape> shapes = {}) const {
        return self_->builder->dump(shapes_or_own(shapes), self_->weights);
    }

private:
    /// Immutable but for the weights, which look after themselves.
    struct state {
        std::shared_ptr<model_builder> builder;
        load_options options;
        model_signature signature;
        mutable pumice::weights weights;

        state(std::shared_ptr<model_builder> b, const load_options& o)
            : builder(std::move(b)), options(o), signature(builder->signature()),
              weights(o.where ? *o.where : default_context(), o.compute, o.limits.folded_elements) {
            signature.set_sizes(o.batch, o.dims);
            weights.providers = o.providers;
        }

        dtype computed(dtype t) const {
            return options.compute && t == dtype::f32 ? *options.compute : t;
        }
    };

    template <class... Options>
    static load_options collect(const Options&... options) {
        load_options chosen;
        (detail::take_option(chosen, options), ...);
        return chosen;
    }

    model(std::shared_ptr<model_builder> builder, const load_options& o) {
        if (o.compute && *o.compute != dtype::f16 && *o.compute != dtype::bf16 &&
            *o.compute != dtype::f32)
            throw error(errc::invalid_argument, "model",
                        "compute is f16, bf16 or f32, not " + std::string(to_string(*o.compute)));
        auto s = std::make_shared<state>(std::move(builder), o);
        build_first(*s);
        s->builder->finish(s->weights);
        s->weights.settle();
        self_ = std::move(s);
    }

    static std::string place(const state& s) { return s.signature.name + ": "; }

    std::vector<shape> shapes_or_own(span<const shape> shapes) const {
        return shapes.empty() ? self_->signature.shapes()
                              : std::vector<shape>(shapes.begin(), shapes.end());
    }

    std::vector<any_tensor> run_named(span<const any_tensor> x) const {
        for (std::size_t i = 0; i < x.size(); ++i) named(x[i], inputs()[i].name);
        return run(x);
    }
    /// Of each input the axes that are to vary. `axes`: of a `varying`.
    array_list<index_list> open_axes(span<const index_list> axes,
                                     span<const executable::value> values) const {
        const auto refuse = [&](const std::string& why) {
            throw error(errc::invalid_argument, "model", place(*self_) + why, signature());
        };
        const bool batch = axes.size() == 1 && axes[0] == index_list{0};
        if (axes.empty() || axes.size() > values.size())
            refuse(std::to_string(axes.size()) + " lists of axes for " +
                   std::to_string(values.size()) + " inputs");
        array_list<index_list> found;
        bool some = false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const model_value& v = inputs()[i];
            const int rank = values[i].shape.rank();
            const auto is_open = [&](std::int64_t axis) {
                return !v.has_shape || v.dims[static_cast<std::size_t>(axis)].size < 0;
            };
            found.push_back({});
            if (batch && (rank == 0 || !is_open(0))) continue;
            for (std::int64_t axis : axes[std::min(i, axes.size() - 1)]) {
                if (axis < 0) axis += rank;
                if (axis < 0 || axis >= rank || !is_open(axis))
                    refuse("axis " + std::to_string(axis) + " of the input \"" + v.name +
                           "\", which is " + v.text() + ", cannot vary");
                found.back().push_back(axis);
                some = true;
            }
        }
        if (!some) refuse("no axis of an input is open, so none can vary");
        return found;
    }

    /// Builds the graph once, so that faults are found and weights go up now and not in the first
    /// run. With open axes taken as 1 a fault of shapes need not be one.
    static void build_first(state& s) {
        const bool open = s.signature.open();
        const auto shapes = s.signature.shapes();
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (element_count(shapes[i]) > s.options.limits.elements)
                throw error(errc::bad_file, "model",
                            place(s) + "the input \"" + s.signature.inputs[i].name +
                                "\" has the shape " + to_string(shapes[i]) +
                                ", more than model_limits::elements");
        std::vector<any_tensor> made;
        try {
            made = s.builder->build_first(abstract_inputs(s.signature, shapes, s.weights),
                                          s.weights, !open);
        } catch (const needs_value&) {
            return;  // a run knows more
        } catch (const error& e) {
            if (!open || e.code() == errc::unsupported_op || e.code() == errc::unsupported ||
                e.code() == errc::bad_file)
                throw;
            return;
        }
        for (std::size_t i = 0; i < made.size(); ++i) {
            model_value& v = s.signature.outputs[i];
            const auto refuse = [&](const std::string& is) {
                throw error(errc::bad_file, "model",
                            place(s) + "the output \"" + v.name + "\" is declared as " + v.text() +
                                " and is " + is);
            };
            if (!std::exchange(v.has_dtype, true)) v.dtype = made[i].dtype();
            else if (s.computed(v.dtype) != s.computed(made[i].dtype()))
                refuse(std::string(to_string(made[i].dtype())));
            if (open) continue;
            if (!s.builder->signature().outputs[i].takes(made[i].shape()))
                refuse(to_string(made[i].shape()));
            v.set_shape(made[i].shape());
        }
    }

    std::vector<std::string> signature() const { return self_->signature.lines(); }

    void check(span<const any_tensor> list) const {
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

    std::shared_ptr<const state> self_;
};

}}  // namespace pumice::PUMICE_ABI
