// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A network of two layers learns by gradients that are written by hand.
#include "check.hpp"

namespace pm = pumice;

namespace {
using table = std::vector<double>;
/// (n, k) times (k, m), either turned.
table product(const table& a, const table& b, int n, int k, int m, bool turn_a, bool turn_b) {
    table r(std::size_t(n * m));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            for (int l = 0; l < k; ++l)
                r[std::size_t(i * m + j)] += a[std::size_t(turn_a ? l * n + i : i * k + l)] *
                                             b[std::size_t(turn_b ? j * k + l : l * m + j)];
    return r;
}
table wide(const std::vector<float>& x) { return {x.begin(), x.end()}; }
}  // namespace

TEST_CASE("user: a perceptron learns as plain C++ does") {
    constexpr int batch = 32, in = 20, hidden = 24, out = 5, steps = 6;
    constexpr float rate = 0.1f;
    const pm::matrix<float> x = pm::random::normal<float>({batch, in}, pm::random::key(1));
    const pm::vector<std::int32_t> label =
        pm::astype<std::int32_t>(pm::random::uniform<float>({batch}, pm::random::key(2)).rank<1>() *
                                 float(out));
    pm::matrix<float> w1 = 0.2f * pm::random::normal<float>({in, hidden}, pm::random::key(3));
    pm::matrix<float> w2 = 0.2f * pm::random::normal<float>({hidden, out}, pm::random::key(4));
    table p1 = wide(w1.to_vector()), p2 = wide(w2.to_vector());
    const table px = wide(x.to_vector());
    const std::vector<std::int32_t> of = label.to_vector();
    double plain_loss = 0;
    for (int step = 0; step < steps; ++step) {
        table h = product(px, p1, batch, in, hidden, false, false);
        for (double& each : h) each = std::max(each, 0.0);
        table error = product(h, p2, batch, hidden, out, false, false);
        plain_loss = 0;
        for (std::size_t i = 0; i < batch; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < out; ++j) sum += std::exp(error[i * out + j]);
            for (std::size_t j = 0; j < out; ++j) {
                const double p = std::exp(error[i * out + j]) / sum;
                if (of[i] == int(j)) plain_loss -= std::log(p) / batch;
                error[i * out + j] = (p - (of[i] == int(j))) / batch;
            }
        }
        const table g2 = product(h, error, hidden, batch, out, true, false);
        table back = product(error, p2, batch, out, hidden, false, true);
        for (std::size_t i = 0; i < back.size(); ++i) back[i] *= h[i] > 0;
        const table g1 = product(px, back, in, batch, hidden, true, false);
        for (std::size_t i = 0; i < p1.size(); ++i) p1[i] -= double(rate) * g1[i];
        for (std::size_t i = 0; i < p2.size(); ++i) p2[i] -= double(rate) * g2[i];
    }

    const pm::matrix<float> wanted =
        pm::astype<float>(pm::expand_dims(label, pm::axis<1>) == pm::arange<std::int32_t>(0, out));
    const auto train = pm::compile([=](const pm::matrix<float>& a, const pm::matrix<float>& b) {
        const pm::matrix<float> h = pm::relu(pm::matmul(x, a));
        const pm::matrix<float> p = pm::softmax(pm::matmul(h, b), pm::axis<1>);
        const auto loss = -pm::sum(wanted * pm::log(p)) / float(batch);
        const pm::matrix<float> error = (p - wanted) / float(batch);
        const auto back = pm::where(h > 0.0f, pm::matmul(error, pm::transpose(b)), 0.0f);
        return std::tuple(pm::matrix<float>(a - rate * pm::matmul(pm::transpose(x), back)),
                          pm::matrix<float>(b - rate * pm::matmul(pm::transpose(h), error)),
                          pm::scalar_tensor<float>(loss));
    });
    pm::scalar_tensor<float> loss;
    for (int step = 0; step < steps; ++step) std::tie(w1, w2, loss) = train(w1, w2);
    CHECK(loss.item() == doctest::Approx(plain_loss).epsilon(1e-4));
    CHECK(pumice_test::worst(w1.to_vector(), p1) < 1e-5);
    CHECK(pumice_test::worst(w2.to_vector(), p2) < 1e-5);
    CHECK(pumice_test::kernels_of([&] {
              std::tie(w1, w2, loss) = train(w1, w2);
              loss.item();
          }) <= 12);
}
