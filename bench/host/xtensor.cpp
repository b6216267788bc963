// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The same by xtensor with xsimd, each result in fresh memory; it has no product of its own.
// usage: [part of a case's name]
#define XTENSOR_USE_XSIMD
#include <bench/host/measure.hpp>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

namespace {

template <class T>
void run_all(const char* only) {
    using vec = xt::xtensor<T, 1>;
    using mat = xt::xtensor<T, 2>;
    const auto run = [&](const char* name, std::int64_t n, auto&& make) {
        bench::report<T>("xtensor", name, n, only, [&] {
            const auto y = make();
            bench::use(y.data());
        });
    };
    for (const std::int64_t n : bench::sizes) {
        const auto size = static_cast<std::size_t>(n);
        std::vector<vec> v;
        for (std::uint32_t i = 0; i < 5; ++i)
            v.push_back(xt::adapt(bench::numbers<T>(n, i), std::array<std::size_t, 1>{size}));
        const auto &a = v[0], &b = v[1], &c = v[2], &d = v[3], &e = v[4];
        run("add", n, [&] { return vec(a + b); });
        run("relu3", n, [&] { return vec(xt::maximum(a * b + c, T(0))); });
        run("relu5", n, [&] { return vec(xt::maximum(a * b + c, T(0)) * d + e); });
        const auto rows = static_cast<std::size_t>(bench::rows_of(n));
        const mat x =
            xt::adapt(bench::numbers<T>(n, 9), std::array<std::size_t, 2>{rows, size / rows});
        run("row_sums", n,
            [&] { return vec(xt::sum(x, {1}, xt::evaluation_strategy::immediate)); });
        run("column_sums", n,
            [&] { return vec(xt::sum(x, {0}, xt::evaluation_strategy::immediate)); });
        run("softmax", n, [&] {
            const vec top = xt::amax(x, {1}, xt::evaluation_strategy::immediate);
            mat y = xt::exp(x - xt::view(top, xt::all(), xt::newaxis()));
            const vec total = xt::sum(y, {1}, xt::evaluation_strategy::immediate);
            y /= xt::view(total, xt::all(), xt::newaxis());
            return y;
        });
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* only = argc > 1 ? argv[1] : "";
    run_all<float>(only);
    run_all<double>(only);
}
