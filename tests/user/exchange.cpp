// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program between two others: NumPy's files in, a least squares fit, files for NumPy out.
#include "check.hpp"

#include <pumice/exchange/npz.hpp>

#include <tests/support/files.hpp>

namespace pm = pumice;

namespace {

/// tests/exchange/make_expected.py's: element i of an array is i * 5 % 7.
double number(std::size_t i) { return double(i * 5 % 7); }

}  // namespace

TEST_CASE("user: arrays come from NumPy's files, in both orders, and go back") {
    const auto rows = pm::load<float, 3>(pumice_test::data("exchange/rows.npy")),
               columns = pm::load<float, 3>(pumice_test::data("exchange/columns.npy"));
    std::vector<double> plain(24);
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = number(i);
    CHECK(pumice_test::worst(rows.to_vector(), plain) == 0);
    CHECK(pumice_test::worst(columns.to_vector(), plain) == 0);

    const pumice_test::temporary_folder folder;
    const auto path = folder.path() / "mean.npy";
    CHECK(pumice_test::kernels_of([&] {
              pm::save(path, pm::mean(rows * columns - 1.0f, pm::axis<2>));
          }) <= 2);  // on the host the product is stored
    std::vector<double> means(6);
    for (std::size_t i = 0; i < 24; ++i) means[i / 4] += (number(i) * number(i) - 1) / 4;
    CHECK(pumice_test::worst(pm::load<float, 2>(path).to_vector(), means) < 1e-5);
}

TEST_CASE("user: a fit by gradients, its data and its weights in archives") {
    const pumice_test::temporary_folder folder;
    const auto in = folder.path() / "in.npz", out = folder.path() / "out.npz";
    {  // What another program left: y = 3 x0 - 2 x1 + 0.5.
        const pm::matrix<float> x = pm::random::uniform<float>({64, 2}, pm::random::key(5));
        const pm::matrix<float> y =
            pm::matmul(x, pm::matrix<float>{{3}, {-2}}) + pm::scalar_tensor<float>(0.5f);
        pm::save_npz(in, {{"x", x}, {"y", y}}, pm::npz_entries::deflated);
    }
    const pm::named_tensors data = pm::load_npz(in);
    const pm::matrix<float> x(data.at("x")), y(data.at("y"));
    pm::matrix<float> w = pm::zeros<float>({2, 1});
    pm::matrix<float> b = pm::zeros<float>({1, 1});
    const auto step = pm::compile([](const pm::matrix<float>& x_, const pm::matrix<float>& y_,
                                     const pm::matrix<float>& w_, const pm::matrix<float>& b_) {
        const pm::matrix<float> error = pm::matmul(x_, w_) + b_ - y_;
        const float rate = 1.0f / 64;
        return std::tuple(pm::matrix<float>(w_ - pm::matmul(pm::transpose(x_), error) * rate),
                          pm::matrix<float>(b_ - pm::sum(error, pm::axis<0>, pm::keepdims) * rate));
    });
    std::uint64_t kernels = 0;
    for (int i = 0; i < 400; ++i)
        kernels = pumice_test::kernels_of([&] { std::tie(w, b) = step(x, y, w, b); });
    CHECK(kernels <= 4);
    pm::save_npz(out, {{"w", w}, {"b", b}});

    const pm::named_tensors fitted = pm::load_npz(out);
    CHECK(pumice_test::worst(pm::to_vector<float>(fitted.at("w")), w.to_vector()) == 0);
    CHECK(pumice_test::worst(w.to_vector(), std::vector<double>{3, -2}) < 0.15);
    // The same steps in plain C++.
    const std::vector<float> xs = x.to_vector(), ys = y.to_vector();
    double w0 = 0, w1 = 0, b0 = 0;
    for (int i = 0; i < 400; ++i) {
        double g0 = 0, g1 = 0, g = 0;
        for (std::size_t k = 0; k < 64; ++k) {
            const double error = xs[2 * k] * w0 + xs[2 * k + 1] * w1 + b0 - ys[k];
            g0 += error * xs[2 * k], g1 += error * xs[2 * k + 1], g += error;
        }
        w0 -= g0 / 64, w1 -= g1 / 64, b0 -= g / 64;
    }
    CHECK(pumice_test::worst(w.to_vector(), std::vector<double>{w0, w1}) < 1e-3);
    CHECK(pumice_test::worst(b.to_vector(), std::vector<double>{b0}) < 1e-3);
}
