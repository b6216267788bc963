// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A kernel of your own in Slang as an op of the graph: the sum of squares of each row, by a
// workgroup a row.
#include <pumice.hpp>

#include <iostream>

namespace pm = pumice;

const char* const text = R"(
groupshared float part[groupX];

void row_energy<X : IInput<F32>>(uint3 thread, X x, Output<F32> y, float scale)
{
    uint row = thread.y, t = thread.x;
    float sum = 0;
    for (uint c = t; c < x.shape(1); c += groupX) sum += x[row, c] * x[row, c];
    part[t] = sum;
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
    pm::kernel_options how;
    how.inputs = {{.type = pm::dtype::f32, .rank = 2, .fused = true}};  // x - 1 is done as it reads
    how.results = [](auto in) {
        return std::vector{pm::kernel_value{in[0].dtype, {in[0].shape[0]}}};
    };
    how.scalars = {pm::dtype::f32};
    how.grid = [](auto, auto out) { return pm::shape{64, out[0].shape[0]}; };
    how.group = {64};
    how.host = on_host;  // where there is no Vulkan device
    const pm::kernel row_energy("row_energy", text, how);

    auto x = pm::reshape<7, 1000>(pm::arange<float>(7000)) * 0.001f;
    pm::vector<float> y = row_energy(x - 1.0f, 0.5f).as<pm::vector<float>>();
    std::cout << y << '\n' << pm::explain(y);
    pm::vector<float> z = 0.5f * pm::sum((x - 1.0f) * (x - 1.0f), pm::axis<1>);
    const bool same = pm::max(pm::abs(y - z) / z).item() < 1e-5f;
    std::cout << (same ? "as by Pumice's own kernels\n" : "wrong\n");
    return same ? 0 : 1;
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
