// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The same by Eigen, each result in fresh memory. usage: [part of a case's name]
#include <Eigen/Core>
#include <bench/host/measure.hpp>

namespace {

template <class T>
void run_all(const char* only) {
    using vec = Eigen::Array<T, Eigen::Dynamic, 1>;
    using mat = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using arr = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto run = [&](const char* name, std::int64_t n, auto&& make) {
        bench::report<T>("eigen", name, n, only, [&] {
            const auto y = make();
            bench::use(y.data());
        });
    };
    for (const std::int64_t n : bench::sizes) {
        std::vector<vec> v;
        for (std::uint32_t i = 0; i < 5; ++i)
            v.push_back(Eigen::Map<const vec>(bench::numbers<T>(n, i).data(), n));
        const auto &a = v[0], &b = v[1], &c = v[2], &d = v[3], &e = v[4];
        run("add", n, [&] { return vec(a + b); });
        run("relu3", n, [&] { return vec((a * b + c).max(T(0))); });
        run("relu5", n, [&] { return vec((a * b + c).max(T(0)) * d + e); });
        const std::int64_t rows = bench::rows_of(n);
        const arr x = Eigen::Map<const arr>(bench::numbers<T>(n, 9).data(), rows, n / rows);
        run("row_sums", n, [&] { return vec(x.rowwise().sum()); });
        run("column_sums", n, [&] { return vec(x.colwise().sum().transpose()); });
        run("softmax", n, [&] {
            arr y = (x.colwise() - x.rowwise().maxCoeff()).exp();
            y.colwise() /= vec(y.rowwise().sum());
            return y;
        });
    }
    for (const std::int64_t n : {64, 128, 256, 512}) {
        const mat a = Eigen::Map<const mat>(bench::numbers<T>(n * n, 1).data(), n, n),
                  b = Eigen::Map<const mat>(bench::numbers<T>(n * n, 2).data(), n, n);
        run("matmul", n, [&] { return mat(a * b); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* only = argc > 1 ? argv[1] : "";
    run_all<float>(only);
    run_all<double>(only);
}
