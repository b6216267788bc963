// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A block of a Llama in f16: norm, rotary positions, attention of several heads, a gated network.
#include "check.hpp"

namespace pm = pumice;

namespace {
constexpr int T = 24, H = 4, D = 16, E = H * D, F = 96;
using half = pm::f16;
using heads_t = pm::tensor<half, pm::dims<3>>;
using table = std::vector<double>;

table product(const table& a, const table& b, int n, int k, int m) {
    table r(std::size_t(n * m));
    for (int i = 0; i < n; ++i)
        for (int l = 0; l < k; ++l)
            for (int j = 0; j < m; ++j)
                r[std::size_t(i * m + j)] += a[std::size_t(i * k + l)] * b[std::size_t(l * m + j)];
    return r;
}
table normed(table x) {
    for (std::size_t i = 0; i < T; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < E; ++j) sum += x[i * E + j] * x[i * E + j];
        for (std::size_t j = 0; j < E; ++j) x[i * E + j] /= std::sqrt(sum / E + 1e-5);
    }
    return x;
}
double angle(std::size_t t, std::size_t i) {
    return double(t) * std::pow(1e4, -2.0 * double(i) / D);
}
void rotate(table& x) {
    for (std::size_t t = 0; t < T; ++t)
        for (std::size_t h = 0; h < H; ++h)
            for (std::size_t i = 0; i < D / 2; ++i) {
                double &a = x[t * E + h * D + i], &b = x[t * E + h * D + i + D / 2];
                const double c = std::cos(angle(t, i)), s = std::sin(angle(t, i)), was = a;
                a = was * c - b * s;
                b = b * c + was * s;
            }
}
table plain_block(const table& x, const std::vector<table>& w) {
    const table n = normed(x);
    table q = product(n, w[0], T, E, E), k = product(n, w[1], T, E, E), mixed(T * E);
    const table v = product(n, w[2], T, E, E);
    rotate(q), rotate(k);
    for (std::size_t h = 0; h < H; ++h)
        for (std::size_t i = 0; i < T; ++i) {
            double p[T], sum = 0;
            for (std::size_t j = 0; j <= i; ++j) {
                double dot = 0;
                for (std::size_t d = h * D; d < h * D + D; ++d) dot += q[i * E + d] * k[j * E + d];
                sum += p[j] = std::exp(dot / std::sqrt(double(D)));
            }
            for (std::size_t j = 0; j <= i; ++j)
                for (std::size_t d = h * D; d < h * D + D; ++d)
                    mixed[i * E + d] += p[j] / sum * v[j * E + d];
        }
    table y = product(mixed, w[3], T, E, E);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
    const table m = normed(y), up = product(m, w[5], T, E, F);
    table gate = product(m, w[4], T, E, F);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
    const table down = product(gate, w[6], T, F, E);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += down[i];
    return y;
}
}  // namespace

TEST_CASE("user: a block of a Llama in f16 takes at most 14 kernels") {
    std::vector<pm::matrix<half>> w;
    std::vector<table> plain;
    for (const auto& [n, m] :
         {std::pair{E, E}, {E, E}, {E, E}, {E, E}, {E, F}, {E, F}, {F, E}, {T, E}}) {
        const pm::matrix<float> r =
            pm::random::normal<float>({n, m}, pm::random::key(std::uint32_t(w.size())));
        w.push_back(pm::astype<half>(w.size() < 7 ? pm::matrix<float>(r * 0.12f) : r));
        plain.emplace_back();
        for (const half each : w.back().to_vector()) plain.back().push_back(double(float(each)));
    }
    const pm::matrix<half> x = w[7];
    std::vector<half> c, s;
    for (std::size_t t = 0; t < T; ++t)
        for (std::size_t i = 0; i < D; ++i) {
            c.push_back(half(float(std::cos(angle(t, i % (D / 2))))));
            s.push_back(half(float(std::sin(angle(t, i % (D / 2))) * (i < D / 2 ? -1 : 1))));
        }
    const auto whole = [](const std::vector<half>& list) {
        return heads_t(pm::from_bytes(pm::dtype::f16, {1, T, D}, std::as_bytes(std::span(list))));
    };
    const pm::matrix<half> joint = pm::concat(pm::axis<1>, w[0], w[1], w[2]);
    pm::eval(joint);
    const heads_t cosine = whole(c), sine = whole(s);
    const auto mask = pm::expand_dims(pm::arange<std::int32_t>(0, T), pm::axis<1>) >=
                      pm::arange<std::int32_t>(0, T);

    const auto block = pm::compile([=](const pm::matrix<half>& in) {
        const auto rope = [&](const auto& y) {
            return y * cosine + pm::roll(y, D / 2, pm::axis<2>) * sine;
        };
        const pm::matrix<half> n = pm::rms_norm(in, pm::axis<1>);
        const pm::matrix<half> qkv = pm::matmul(n, joint);
        const auto parts = pm::permute_dims(pm::reshape(qkv, {T, 3, H, D}), pm::axes<1, 2, 0, 3>);
        const heads_t q = rope(parts[0]), k = rope(parts[1]);
        const auto v = parts[2];
        const auto score = pm::matmul(q, pm::permute_dims(k, pm::axes<0, 2, 1>)) * half(0.25f);
        const heads_t p = pm::softmax(pm::where(mask, score, half(-6e4f)), pm::axis<2>);
        const auto mixed = pm::permute_dims(pm::matmul(p, v), pm::axes<1, 0, 2>);
        const pm::matrix<half> y = in + pm::matmul(pm::reshape(mixed, {T, E}), w[3]);
        const pm::matrix<half> m = pm::rms_norm(y, pm::axis<1>);
        const auto gate = pm::matmul(m, w[4]);
        const pm::matrix<half> z =
            y + pm::matmul(gate * pm::sigmoid(gate) * pm::matmul(m, w[5]), w[6]);
        return z;
    });
    const auto kernels = pumice_test::kernels_of([&] { block(x).to_vector(); });
    CHECK(kernels <= 14);
    CHECK(pumice_test::worst(block(x).to_vector(), plain_block(plain[7], plain)) < 2e-2);
}
