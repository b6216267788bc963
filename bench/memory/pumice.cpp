// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that memory limits, in f32 and f16, by the device's clock: the rate at which they read
// and write what they must. usage: [part of a name] [divisor of sizes]
#include <pumice/front.hpp>
#include <pumice/measure_rates.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pm = pumice;

namespace {

const char* only = "";
std::int64_t shrink = 1;

template <class T>
pm::any_tensor random(pm::shape s) {
    const pm::any_tensor t =
        pm::random::normal(pm::dtype_of<T>, s, pm::random::key(1), 0, 1, pm::default_context());
    pm::eval(std::span(&t, 1));
    return t;
}

bool wanted(const std::string& name) { return std::strstr(name.c_str(), only) != nullptr; }

template <class F>
void run(const std::string& name, double bytes, F&& make) {
    if (!wanted(name)) return;
    const auto start = std::chrono::steady_clock::now();
    do {  // a device that waited for the host has slow clocks
        const pm::any_tensor t = make();
        pm::eval(std::span(&t, 1));
    } while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100 / shrink));
    const double s = pm::kernel_seconds(pm::default_context(), make);
    std::printf("{\"peer\":\"pumice\",\"case\":\"%s\",\"us\":%.2f,\"gbps\":%.0f}\n", name.c_str(),
                s * 1e6, bytes / s * 1e-9);
    std::fflush(stdout);
}

template <class T>
void all(const std::string& type) {
    const double size = sizeof(T);
    const std::int64_t side = 8192 / shrink;
    const auto square = static_cast<double>(side * side) * size;
    const std::int64_t some = (std::int64_t{64} << 20) / std::int64_t{sizeof(T)} / shrink,
                       many = (std::int64_t{1} << 30) / std::int64_t{sizeof(T)} / shrink;
    {
        const pm::any_tensor v = random<T>({some}), w = random<T>({many}), u = random<T>({many});
        const double few = static_cast<double>(some) * size, lot = static_cast<double>(many) * size;
        run("gelu_64MiB_" + type, 2 * few, [&] { return pm::gelu(v); });
        run("gelu_tanh_64MiB_" + type, 2 * few, [&] { return pm::gelu_tanh(v); });
        run("add_1GiB_" + type, 3 * lot, [&] { return w + u; });
        run("chain_1GiB_" + type, 3 * lot,
            [&] { return pm::relu(w * u + w) * 0.5f - pm::any_tensor(u); });
        run("cast_1GiB_" + type, 1.5 * lot,
            [&] { return pm::astype(w, sizeof(T) == 4 ? pm::dtype::f16 : pm::dtype::i8); });
    }
    const pm::any_tensor x = random<T>({side, side}), ones = random<T>({side});
    const pm::matrix<T> m = x.as<pm::matrix<T>>();
    const pm::vector<T> scale = ones.as<pm::vector<T>>();
    run("softmax_" + type, 2 * square, [&] { return pm::any_tensor(pm::softmax(m, pm::axis<1>)); });
    run("layernorm_" + type, 2 * square,
        [&] { return pm::any_tensor(pm::matrix<T>(pm::layer_norm(m) * scale + scale)); });
    run("rmsnorm_" + type, 2 * square,
        [&] { return pm::any_tensor(pm::matrix<T>(pm::rms_norm(m) * scale)); });
    run("sum_rows_" + type, square, [&] { return pm::any_tensor(pm::sum(m, pm::axis<1>)); });
    run("sum_full_" + type, square, [&] { return pm::any_tensor(pm::sum(m)); });
    run("sum_cols_" + type, square, [&] { return pm::any_tensor(pm::sum(m, pm::axis<0>)); });
    run("transpose_" + type, 2 * square, [&] { return pm::copy(pm::transpose(m)); });
    run("cumsum_rows_" + type, 2 * square,
        [&] { return pm::any_tensor(pm::cumulative_sum(m, pm::axis<1>)); });
    const std::int64_t images = std::max<std::int64_t>(32 / shrink, 1);
    const pm::any_tensor image = random<T>({images, 56, 56, 256});
    run("nhwc_to_nchw_" + type, 2 * static_cast<double>(images * 56 * 56 * 256) * size,
        [&] { return pm::copy(pm::permute_dims(image, std::array<std::int64_t, 4>{0, 3, 1, 2})); });
    const pm::any_tensor planes = random<T>({images, 256, 56, 56}),
                         taps = random<T>({256, 1, 3, 3});
    run("depthwise_" + type, 2 * static_cast<double>(images * 56 * 56 * 256) * size, [&] {
        pm::conv_op how;
        how.group = 256;
        for (int i = 0; i < 2; ++i) how.pad_begin[i] = how.pad_end[i] = 1;
        return pm::conv(planes, taps, how);
    });
    const pm::any_tensor tall = random<T>({14336 / shrink, 4096 / shrink});
    const pm::any_tensor turned = pm::permute_dims(tall, std::array<std::int64_t, 2>{1, 0});
    const auto entries = static_cast<double>(14336 / shrink * (4096 / shrink)) * size;
    for (const std::int64_t rows : {1, 8}) {
        const pm::any_tensor a = random<T>({rows, 14336 / shrink}),
                             b = random<T>({rows, 4096 / shrink});
        const std::string name = "gemv_" + std::to_string(rows) + "_" + type;
        run(name, entries, [&] { return pm::matmul(a, tall); });
        run(name + "_turned", entries, [&] { return pm::matmul(b, turned); });
    }
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 1) only = argv[1];
    if (argc > 2) shrink = std::max(1, std::atoi(argv[2]));
    std::printf("{\"peer\":\"pumice\",\"mode\":\"info\",\"device\":\"%s\"}\n",
                pm::default_context().device().name.c_str());
    all<float>("f32");
    all<pm::f16>("f16");
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
