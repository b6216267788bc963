// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What tests/vgf/run has done by Pumice: a line of words on stdin each, and a line on stdout for
// it, "ok" or "error CODE MESSAGE".
//
//     run MODEL OUT IN...    the .npy files IN through the model, its outputs to OUT0.npy, OUT1.npy
//     ... zeros MODEL            loads it, and runs it once on zeros
#include <pumice.hpp>
#include <pumice/exchange/save.hpp>
#include <pumice/vgf.hpp>

#include <algorithm>
#include <iostream>
#include <sstream>

namespace pm = pumice;

namespace {

void run(std::istream& words) {
    std::string model, out, in;
    words >> model >> out;
    std::vector<pm::any_tensor> inputs;
    while (words >> in) inputs.push_back(pm::load(in));
    const pm::model m = pm::model::load(model);
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

void write(std::istream& words) {
    std::string model, vgf;
    words >> model >> vgf;
    pm::vgf::save(vgf, pm::model::load(model));
}

void zeros(std::istream& words) {
    std::string model;
    words >> model;
    pm::load_options o;
    o.limits.elements = 1 << 24;
    o.limits.kernel_work = std::int64_t{1} << 32;
    const std::vector<std::byte> bytes = pm::input_file::open(model)->read_all();
    const pm::model m = pm::model::from_bytes(bytes, o);
    std::vector<pm::any_tensor> inputs;
    for (const pm::model_value& v : m.inputs()) {
        pm::shape extent;
        for (const pm::model_dim& d : v.dims) extent.push_back(d.size);
        inputs.push_back(pm::full(v.dtype, extent, 0, pm::default_context()));
    }
    const std::vector<pm::any_tensor> outputs = m.run(inputs);
    pm::eval(outputs);
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string what;
        words >> what;
        try {
            if (what == "run") run(words);
            else if (what == "zeros") zeros(words);
            else if (what == "write") write(words);
            else return 1;
            std::cout << "ok" << std::endl;
        } catch (const pm::error& e) {
            std::string text = e.what();
            std::replace(text.begin(), text.end(), '\n', ' ');
            std::cout << "error " << to_string(e.code()) << ' ' << text << std::endl;
        }
    }
}
