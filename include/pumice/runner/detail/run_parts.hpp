// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a runner is made of: an executable, and the views of what it takes and gives.
#pragma once

#include <pumice/runner/tensor.hpp>
#include <pumice/tensor/compile.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

inline std::vector<tensor_info> named_values(span<const executable::value> list,
                                             std::string_view name) {
    std::vector<tensor_info> infos;
    for (std::size_t i = 0; i < list.size(); ++i) {
        infos.emplace_back();
        infos.back().name = cat({name, i});
        infos.back().dtype = list[i].dtype;
        infos.back().shape = list[i].shape;
    }
    return infos;
}

/// What a runner is made of.
struct run_parts {
    executable recorded;
    std::vector<tensor_info> values[2]
                                   [2];  // of inputs and outputs in the host's view and the other

    /// The same value as the hardware has it.
    static tensor_info hardware_of(tensor_info v, const runner_options& o,
                                   const device_info& device) {
        v.view = io_view::hardware;
        if (o.hardware_dtype && is_floating(v.dtype)) v.dtype = *o.hardware_dtype;
        if (o.hardware_layout.rank() != v.shape.rank()) return v;  // or it is as the host's
        if (std::string why = why_not(o.hardware_layout, v.dtype, v.shape.rank(), device);
            !why.empty())
            fail(errc::unsupported, "runner", {"\"", v.name, "\": ", why});
        v.shape = packed_shape(o.hardware_layout, v.shape);
        v.layout = o.hardware_layout;
        return v;
    }

    static run_parts of(const executable& e, const runner_options& o) {
        if (!o.hardware_layout.is_host() || o.hardware_dtype)
            fail(errc::unsupported, "runner",
                 {"an executable is recorded for the host's layout and types; make the runner of "
                  "the model or the function, or leave hardware_layout and hardware_dtype out"});
        run_parts p;
        p.recorded = e;
        for (int out = 0; out < 2; ++out) {
            p.values[out][0] =
                named_values(out ? e.outputs() : e.inputs(), out ? "output" : "input");
            for (const tensor_info& v : p.values[out][0])
                p.values[out][1].push_back(hardware_of(v, o, e.where().device()));
        }
        return p;
    }

    /// Names of the outputs where `outputs` has them. In the host's view a value takes the way by
    /// the hardware's too, so that all views give the same bits.
    static run_parts of(const context& home, span<const tensor_info> inputs,
                        span<const tensor_info> outputs, const traced_function& function,
                        const runner_options& o) {
        check_options(o);
        run_parts p;
        std::vector<executable::value> takes;
        for (tensor_info v : inputs) {
            v.view = io_view::host;
            v.layout = {};
            p.values[0][0].push_back(v);
            p.values[0][1].push_back(hardware_of(v, o, home.device()));
            const tensor_info& chosen = p.values[0][o.input_view == io_view::hardware].back();
            takes.push_back({chosen.dtype, chosen.shape});
        }
        p.recorded = trace(home, takes, [&](span<const any_tensor> x) {
            std::vector<any_tensor> list;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const tensor_info &host = p.values[0][0][i], &hard = p.values[0][1][i];
                list.push_back(o.input_view == io_view::hardware
                                   ? astype(from_layout(x[i], hard.layout, host.shape), host.dtype)
                                   : astype(astype(x[i], hard.dtype), host.dtype));
            }
            list = function(list);
            p.values[1][0].clear();
            p.values[1][1].clear();
            for (std::size_t i = 0; i < list.size(); ++i) {
                tensor_info v;
                if (i < outputs.size()) v = outputs[i];
                else v.name = cat({"output", i});
                v.dtype = list[i].dtype();
                v.shape = list[i].shape();
                p.values[1][0].push_back(v);
                const tensor_info hard = hardware_of(v, o, home.device());
                p.values[1][1].push_back(hard);
                list[i] = astype(list[i], hard.dtype);
                list[i] = o.output_view == io_view::hardware ? to_layout(list[i], hard.layout)
                                                             : astype(list[i], v.dtype);
            }
            return list;
        });
        return p;
    }
};

/// The names and types of a model's values, and how its numbers stand for real ones.
template <class Value>
tensor_info info_of(const Value& v, const shape& s) {
    tensor_info i;
    i.name = v.name;
    i.dtype = v.dtype;
    i.shape = s;
    if constexpr (requires { v.scale; })
        if (!v.scale.empty()) i.quantization = quantization{v.scale, v.zero_point, v.axis};
    return i;
}

/// Of what is recorded already, under the names and with the scales that it has.
template <class Recorded>
run_parts parts_of_recorded(const Recorded& r, const runner_options& o) {
    run_parts p = run_parts::of(r.recorded(), o);
    const auto name = [&](std::vector<tensor_info>* views, const auto& values) {
        for (int v = 0; v < 2; ++v)
            for (std::size_t i = 0; i < views[v].size(); ++i) {
                const tensor_info named = info_of(values[i], views[v][i].shape);
                views[v][i].name = named.name;
                views[v][i].quantization = named.quantization;
            }
    };
    name(p.values[0], r.inputs());
    name(p.values[1], r.outputs());
    return p;
}

template <class Model>
run_parts parts_of_model(const Model& m, const runner_options& o, span<const shape> shapes) {
    std::vector<tensor_info> inputs, outputs;
    const std::vector<executable::value> values = m.recorded_values(shapes);
    for (std::size_t i = 0; i < values.size(); ++i)
        inputs.push_back(info_of(m.inputs()[i], values[i].shape));
    for (const auto& v : m.outputs()) outputs.push_back(info_of(v, {}));
    return run_parts::of(
        m.where(), inputs, outputs, [&m](span<const any_tensor> x) { return m.run(x); }, o);
}

}}}  // namespace pumice::PUMICE_ABI::detail
