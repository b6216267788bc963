// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What tests/vgf/run has done by Pumice: a line of words on stdin each, and a line on stdout for
// it, "ok" with the data graphs that the device has run, or "error CODE MESSAGE". An argument says
// who runs graph segments: best, native or translated.
//
//     run MODEL OUT IN...    the .npy files IN through the model, its outputs to OUT0.npy, OUT1.npy
//     ... zeros MODEL            loads it, and runs it once on zeros
#include <pumice.hpp>
#include <pumice/exchange/save.hpp>
#include <pumice/package.hpp>
#include <pumice/runner/load.hpp>
#include <pumice/vgf.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>

namespace pm = pumice;

namespace {

pm::graph_segments segments = pm::graph_segments::best;

void run(std::istream& words) {
    std::string model, out, in;
    words >> model >> out;
    std::vector<pm::any_tensor> inputs;
    while (words >> in) inputs.push_back(pm::load(in));
    const pm::model m = pm::model::load(model, segments);
    const std::vector<pm::any_tensor> lazy = m.run(inputs);
    const auto recorded = m.compile().run(inputs);  // the same once more, as runners have it
    for (std::size_t i = 0; i < lazy.size(); ++i) {
        pm::save(out + std::to_string(i) + ".npy", lazy[i]);
        const auto same = pm::apply<pm::op::equal>(lazy[i], recorded[i]);
        const auto nan =
            pm::is_floating(lazy[i].dtype())
                ? pm::apply<pm::op::logical_or>(same, pm::apply<pm::op::isnan>(lazy[i]))
                : same;
        if (!pm::reduce(pm::reduction::all, nan).as<pm::tensor<bool, pm::dims<0>>>().item())
            throw pm::error(pm::errc::unsupported, "check",
                            "the recorded model gives other values");
    }
}

/// Of one value each, for the shapes of the file; an open axis has an extent of 1.
std::vector<pm::any_tensor> inputs_of(const pm::model& m, double value) {
    std::vector<pm::any_tensor> inputs;
    for (const pm::model_value& v : m.inputs()) {
        pm::shape extent;
        for (const pm::model_dim& d : v.dims) extent.push_back(d.size < 0 ? 1 : d.size);
        inputs.push_back(pm::full(v.dtype, extent, value, m.where()));
    }
    return inputs;
}
void require(bool good, const char* what) {
    if (!good) throw pm::error(pm::errc::unsupported, "check", what);
}

void faces(std::istream& words) {
    std::string model, package;
    words >> model >> package;
    const pm::model m = pm::model::load(model);
    const std::vector<pm::any_tensor> inputs = inputs_of(m, 1);
    std::vector<std::vector<std::byte>> wanted, given;
    for (const pm::any_tensor& t : m.run(inputs)) wanted.push_back(pm::detail::bytes_of(t));

    pm::package::save(package, m);
    const std::vector<pm::any_tensor> packed = pm::package::load(package).run(inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        require(pm::detail::bytes_of(packed[i]) == wanted[i], "the package gives other values");

    const pm::runner r = pm::make_runner(pm::runner_kind::best, model);
    std::vector<pm::runner_tensor_view> in, out;
    for (const pm::any_tensor& t : inputs) given.push_back(pm::detail::bytes_of(t));
    for (std::size_t i = 0; i < given.size(); ++i)
        in.push_back(r.wrap(r.inputs()[i].name, given[i].data()));
    std::vector<std::vector<std::byte>> got = wanted;
    for (std::size_t i = 0; i < got.size(); ++i) {
        std::fill(got[i].begin(), got[i].end(), std::byte(0x5a));
        out.push_back(r.wrap(r.outputs()[i].name, got[i].data()));
    }
    require(r.execute(in, out) == pm::run_status::ok, "the runner fails");
    require(got == wanted, "the runner gives other values");
    for (std::size_t i = 0; i < m.inputs().size(); ++i)
        require(r.inputs()[i].name == m.inputs()[i].name, "the runner has other names");
}

void write(std::istream& words) {
    std::string model, vgf;
    words >> model >> vgf;
    pm::vgf::save(vgf, pm::model::load(model));
}

/// Providers take CONV3D (its zeros) and TANH (twice its input); an operator of one's own is ERF.
PUMICE_OP(own_erf, 1, pumice::rules::floating, "ERF", x + x);
void provided(std::istream& words) {
    std::string tanh, conv;
    words >> tanh >> conv;
    std::vector<std::string> asked;
    const pm::op_provider takes = [&](const pm::op_request& r) -> std::vector<pm::any_tensor> {
        asked.push_back(std::string(r.op));
        require(r.domain == "TOSA" && r.outputs == 1, "the request says other things");
        if (r.op == "TANH") return {pm::apply<pm::op::add>(r.inputs[0], r.inputs[0])};
        if (r.op != "CONV3D") return {};
        require(r.inputs.size() == 3 &&
                    r.integers("stride") == std::vector<std::int64_t>{1, 1, 1} &&
                    r.integers("pad").size() == 6 && r.integer("none", 7) == 7,
                "the request has other attributes");
        return {pm::full(r.inputs[0].dtype(), {1, 3, 3, 3, 3}, 0.5,
                         pm::context(pm::default_context()))};
    };
    const auto first = [](const pm::model& m) {
        return pm::to_vector<float>(m.run(inputs_of(m, 0.5))[0])[0];
    };
    require(std::abs(first(pm::model::load(tanh, takes)) - 0.8427f) < 1e-4f, "TANH was not taken");
    require(first(pm::model::load(tanh, takes, pm::ops<own_erf>)) == 2.0f,
            "an own ERF was not taken");
    require(first(pm::model::load(conv, takes)) == 0.5f, "CONV3D was not taken");
    require(std::count(asked.begin(), asked.end(), "CONV3D") >= 1, "nobody asked for CONV3D");
}

/// The names that a file has.
void names(std::istream& words) {
    std::string model, name;
    words >> model;
    const pm::model m = pm::model::load(model);
    for (const auto list : {m.inputs(), m.outputs()})
        for (const pm::model_value& v : list) {
            words >> name;
            require(v.name == name, "the file has other names");
        }
}

void zeros(std::istream& words) {
    std::string model;
    words >> model;
    pm::load_options o;
    o.segments = segments;
    o.limits.elements = 1 << 24;
    o.limits.kernel_work = std::int64_t{1} << 32;
    const std::vector<std::byte> bytes = pm::input_file::open(model)->read_all();
    const pm::model m = pm::model::from_bytes(bytes, o);
    const std::vector<pm::any_tensor> outputs = m.run(inputs_of(m, 0));
    pm::eval(outputs);
}

}  // namespace

int main(int, char** argv) {
    using enum pm::graph_segments;
    const std::string who = argv[1] ? argv[1] : "best";
    segments = who == "native" ? native : who == "translated" ? translated : best;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string what;
        words >> what;
        try {
            const std::uint64_t before = pm::default_context().stats().data_graphs;
            if (what == "run") run(words);
            else if (what == "zeros") zeros(words);
            else if (what == "faces") faces(words);
            else if (what == "names") names(words);
            else if (what == "provided") provided(words);
            else if (what == "write") write(words);
            else return 1;
            std::cout << "ok " << pm::default_context().stats().data_graphs - before << std::endl;
        } catch (const pm::error& e) {
            std::string text = e.what();
            std::replace(text.begin(), text.end(), '\n', ' ');
            std::cout << "error " << to_string(e.code()) << ' ' << text << std::endl;
        }
    }
}
