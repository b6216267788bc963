// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// First runs of programs with many kernels, for bench/start/run:
//     bench_start_pumice resnet18     ResNet-18 (He et al., 2015) over one picture of 64 x 64, once
//     bench_start_pumice kernels N    N elementwise expressions, of which no two share a kernel
#include <pumice.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace pm = pumice;

namespace {

pm::any_tensor weight(const pm::shape& extent) { return pm::full(pm::dtype::f32, extent, 0.01); }

pm::any_tensor conv(const pm::any_tensor& x, std::int64_t in, std::int64_t out, int window,
                    int stride) {
    const int pad = window / 2;
    return pm::conv(x, weight({out, in, window, window}),
                    {.stride = {stride, stride}, .pad_begin = {pad, pad}, .pad_end = {pad, pad}}) +
           weight({1, out, 1, 1});
}

double resnet18() {
    pm::any_tensor x = pm::relu(conv(pm::full(pm::dtype::f32, {1, 3, 64, 64}, 1.0), 3, 64, 7, 2));
    x = pm::pool(x, {.window = {3, 3}, .stride = {2, 2}, .pad_begin = {1, 1}, .pad_end = {1, 1}});
    for (std::int64_t layer = 0, in = 64; layer < 4; ++layer)
        for (int block = 0; block < 2; ++block) {
            const std::int64_t out = 64 << layer;
            const int stride = out == in ? 1 : 2;
            const pm::any_tensor y = conv(pm::relu(conv(x, in, out, 3, stride)), out, out, 3, 1);
            x = pm::relu(y + (stride == 2 ? conv(x, in, out, 1, 2) : x));
            in = out;
        }
    const pm::any_tensor features = pm::mean(x, {2, 3});
    return pm::to_vector<float>(pm::matmul(features, weight({512, 10})) + weight({10}))[0];
}

/// MiB of memory that the process has now, where the system tells (Linux), else 0.
long resident() {
    std::ifstream file("/proc/self/statm");
    long all = 0, pages = 0;
    file >> all >> pages;
    return pages * 4096 >> 20;
}

/// The i-th expression adds or multiplies as the bits of i say.
void kernels(int count) {
    const pm::any_tensor a = pm::full(pm::dtype::f32, {4096}, 0.5),
                         b = pm::full(pm::dtype::f32, {4096}, 0.25);
    for (int i = 0; i < count; ++i) {
        pm::any_tensor x = a;
        for (int bits = i + count; bits > 0; bits /= 2) x = bits % 2 ? x + b : x * b;
        pm::eval(x);
    }
}

}  // namespace

int main(int count, char** given) {
    const std::string_view what = count > 1 ? given[1] : "";
    if (what == "resnet18") std::printf("%g\n", resnet18());
    else if (what == "kernels" && count > 2) kernels(std::atoi(given[2]));
    else return std::puts("bench_start_pumice resnet18 | kernels N"), 1;
    if (what == "kernels") {
        std::printf("resident %ld MiB", resident());
        pm::default_context().trim();
        std::printf(", after trim %ld MiB\n", resident());
    }
    std::printf("slang_compiles=%llu\n",
                static_cast<unsigned long long>(pm::stats().slang_compiles));
}
