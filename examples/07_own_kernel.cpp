// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A kernel of your own in Slang as an op of the graph: each row's sum of squares by one workgroup.
#include <pumice.hpp>

#include <cmath>
#include <iostream>

namespace pm = pumice;

const char* const text = R"(
groupshared float part[groupX];

void row_energy<X : IInput<F32>>(uint3 thread, X x, Output<F32> y, float scale)
{
    uint row = thread.y, t = thread.x, columns = x.shape(1);
    part[t] = 0;
    for (uint c = t; c < columns; c += groupX) part[t] += x[row, c] * x[row, c];
    for (uint n = groupX / 2; n > 0; n /= 2)
    {
        GroupMemoryBarrierWithGroupSync();
        if (t < n) part[t] += part[t + n];
    }
    if (t == 0) y[row] = scale * part[0];
}
)";

void on_host(const pm::kernel_arguments& a) {
    const auto x = a.inputs[0].as<float>(), y = a.outputs[0].as<float>();
    for (float& sum : y) sum = 0;
    for (std::size_t i = 0, columns = x.size() / y.size(); i < x.size(); ++i)
        y[i / columns] += a.scalars[0].as<float>() * x[i] * x[i];
}

int main() try {
    const pm::kernel row_energy("row_energy", text,
                                {.inputs = {{.type = pm::dtype::f32, .rank = 2, .fused = true}},
                                 .scalars = {pm::dtype::f32},
                                 .results =
                                     [](std::span<const pm::kernel_value> in) {
                                         return std::vector<pm::kernel_value>{
                                             {in[0].dtype, {in[0].shape[0]}}};
                                     },
                                 .grid = [](auto,
                                            auto out) { return pm::shape{64, out[0].shape[0]}; },
                                 .group = {64},
                                 .whole_groups = true,
                                 .host = on_host});
    pm::matrix<float> x = pm::random::normal<float>({7, 1000}, pm::random::key(1));
    auto energy =
        row_energy(x - 1.0f, 0.5f).as<pm::vector<float>>();  // x - 1 is computed as it reads
    std::cout << energy << '\n' << pm::explain(energy);

    pm::vector<float> expected = 0.5f * pm::sum((x - 1.0f) * (x - 1.0f), pm::axis<1>);
    for (std::size_t i = 0; i < 7; ++i)
        if (std::abs(energy.to_vector()[i] - expected.to_vector()[i]) > 0.01f) return 1;
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
