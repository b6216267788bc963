// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rows of docs/reference/coming_from_*.md: how each of four libraries writes what stands below.
#include <tests/pages/shows.hpp>

#include <pumice/exchange/save.hpp>

#include <filesystem>

namespace pm = pumice;

// clang-format off: lines as the pages show them

// table: coming_from
TEST_CASE("pages: coming from") {
    pm::matrix<float> a = {{1, 2}, {3, 4}};
    const pm::matrix<float> b = {{1, 0}, {1, 1}};
    const pm::vector<float> v = {3, 1, 2};
    const pm::vector<int> i = {2, 0};
    const std::vector<pm::vector<float>> list = {v, v};
    const auto file = std::filesystem::temp_directory_path() / "pumice_pages.npy";
    //
    // numpy: np.array([[1, 2], [3, 4]], np.float32)
    // xtensor: xt::xtensor<float, 2>{{1, 2}, {3, 4}}
    // eigen: Eigen::Matrix2f{{1, 2}, {3, 4}}
    // mlx: mx::array({1.f, 2.f, 3.f, 4.f}, {2, 2})
    SHOWS("[[1. 2.] [3. 4.]]", pm::matrix<float>{{1, 2}, {3, 4}});
    // numpy: np.zeros((2, 3), np.float32)
    // xtensor: xt::zeros<float>({2, 3})
    // eigen: Eigen::MatrixXf::Zero(2, 3)
    // mlx: mx::zeros({2, 3})
    SHOWS("[[0. 0. 0.] [0. 0. 0.]]", pm::zeros<float>({2, 3}));
    // numpy: np.arange(2, 10, 3)
    // xtensor: xt::arange<int>(2, 10, 3)
    // eigen: Eigen::VectorXi::LinSpaced(3, 2, 8)
    // mlx: mx::arange(2, 10, 3)
    SHOWS("[2 5 8]", pm::arange(2, 10, 3));
    // numpy: np.linspace(0, 1, 5)
    // xtensor: xt::linspace<float>(0, 1, 5)
    // eigen: Eigen::VectorXf::LinSpaced(5, 0, 1)
    // mlx: mx::linspace(0, 1, 5)
    SHOWS("[0. 0.25 0.5 0.75 1.]", pm::linspace<float>(0, 1, 5));
    // numpy: np.eye(2)
    // xtensor: xt::eye<float>(2)
    // eigen: Eigen::Matrix2f::Identity()
    // mlx: mx::eye(2)
    SHOWS("[[1. 0.] [0. 1.]]", pm::eye<float>(2));
    // numpy: np.eye(3)[i]
    // mlx: mx::take(mx::eye(3), i, 0)
    SHOWS("[[0. 0. 1.] [1. 0. 0.]]", pm::eye<float>(3)[i]);
    // numpy: rng.standard_normal((2, 3))
    // xtensor: xt::random::randn<float>({2, 3})
    // mlx: mx::random::normal({2, 3}, mx::random::key(7))
    SHOWS("(2, 3)", pm::random::normal({2, 3}, pm::random::key(7)).shape());
    // numpy: rng.integers(0, 10, 3)
    // mlx: mx::random::randint(0, 10, {3})
    SHOWS("(3,)", pm::random::integers({3}, 0, 10).shape());
    // numpy: rng.permutation(3)
    // mlx: mx::random::permutation(3)
    SHOWS("[0 1 2]", pm::sort(pm::random::permutation(3)));
    // numpy: rng.permutation(v), rng.shuffle(v)
    // mlx: mx::random::permutation(v)
    SHOWS("(3,)", pm::take(v, pm::random::permutation(3)).shape());
    // numpy: a.shape
    // xtensor: a.shape()
    // eigen: a.rows(), a.cols()
    // mlx: a.shape()
    SHOWS("(2, 2)", a.shape());
    // numpy: a.astype(np.float64)
    // xtensor: xt::cast<double>(a)
    // eigen: a.cast<double>()
    // mlx: mx::astype(a, mx::float64)
    SHOWS("[[1. 2.] [3. 4.]]", pm::astype<double>(a));
    // numpy: a + a * b
    // xtensor: a + a * b
    // eigen: a.array() + a.array() * b.array()
    // mlx: a + a * b
    SHOWS("[[2. 2.] [6. 8.]]", a + a * b);
    // numpy: a @ b
    // xtensor: xt::linalg::dot(a, b)
    // eigen: a * b
    // mlx: mx::matmul(a, b)
    SHOWS("[[3. 2.] [7. 4.]]", pm::matmul(a, b));
    // numpy: np.dot(v, v)
    // xtensor: xt::linalg::dot(v, v)
    // eigen: v.dot(v)
    // mlx: mx::inner(v, v)
    SHOWS("14", pm::matmul(v, v).item());
    // numpy: np.outer(v, v)
    // xtensor: xt::linalg::outer(v, v)
    // eigen: v * v.transpose()
    // mlx: mx::outer(v, v)
    SHOWS("[[9. 3. 6.] [3. 1. 2.] [6. 2. 4.]]", pm::expand_dims(v, pm::axis<1>) * v);
    // numpy: a.T
    // xtensor: xt::transpose(a)
    // eigen: a.transpose()
    // mlx: mx::transpose(a)
    SHOWS("[[1. 3.] [2. 4.]]", pm::transpose(a));
    // numpy: np.einsum("ij,kj->ik", a, b)
    // mlx: mx::einsum("ij,kj->ik", {a, b})
    SHOWS("[[1. 3.] [3. 7.]]", pm::einsum("ij,kj->ik", a, b));
    // numpy: np.exp(a), np.maximum(a, 0)
    // xtensor: xt::exp(a), xt::maximum(a, 0)
    // eigen: a.array().exp(), a.array().max(0)
    // mlx: mx::exp(a), mx::maximum(a, 0)
    SHOWS("[[1. 1.] [2.71828 7.38906]]", pm::exp(pm::maximum(a - 2.0f, 0.0f)));
    // numpy: np.where(a > 2, a, 0)
    // xtensor: xt::where(a > 2, a, 0)
    // eigen: (a.array() > 2).select(a, 0)
    // mlx: mx::where(a > 2, a, 0)
    SHOWS("[[0. 0.] [3. 4.]]", pm::where(a > 2.0f, a, 0.0f));
    // numpy: a.sum()
    // xtensor: xt::sum(a)()
    // eigen: a.sum()
    // mlx: mx::sum(a)
    SHOWS("10", pm::sum(a).item());
    // numpy: a.sum(axis=1)
    // xtensor: xt::sum(a, {1})
    // eigen: a.rowwise().sum()
    // mlx: mx::sum(a, 1)
    SHOWS("[3. 7.]", pm::sum(a, pm::axis<1>));
    // numpy: a.max(axis=0, keepdims=True)
    // xtensor: xt::amax(a, {0}, xt::keep_dims)
    // eigen: a.colwise().maxCoeff()
    // mlx: mx::max(a, 0, true)
    SHOWS("[[3. 4.]]", pm::max(a, pm::axis<0>, pm::keepdims));
    // numpy: a.std(axis=1, ddof=1)
    // xtensor: xt::stddev(a, {1})
    // mlx: mx::sqrt(mx::var(a, 1, false, 1))
    SHOWS("[0.707107 0.707107]", pm::std(a, pm::axis<1>, pm::correction{1}));
    // numpy: a.argmax(axis=1)
    // xtensor: xt::argmax(a, 1)
    // mlx: mx::argmax(a, 1)
    SHOWS("[1 1]", pm::argmax(a, pm::axis<1>));
    // numpy: np.cumsum(a, axis=1)
    // xtensor: xt::cumsum(a, 1)
    // mlx: mx::cumsum(a, 1)
    SHOWS("[[1. 3.] [3. 7.]]", pm::cumulative_sum(a, pm::axis<1>));
    // numpy: a[1, 0]
    // xtensor: a(1, 0)
    // eigen: a(1, 0)
    // mlx: mx::take(mx::take(a, 1, 0), 0)
    SHOWS("3", a(1, 0).item());
    // numpy: a[:, 1]
    // xtensor: xt::view(a, xt::all(), 1)
    // eigen: a.col(1)
    // mlx: mx::take(a, 1, 1)
    SHOWS("[2. 4.]", a(pm::all, 1));
    // numpy: a[0:1, ::-1]
    // xtensor: xt::view(a, xt::range(0, 1), xt::range(_, _, -1))
    // eigen: a.topRows(1).rowwise().reverse()
    // mlx: mx::slice(a, {0, 1}, {1, -3}, {1, -1})
    SHOWS("[[2. 1.]]", a(pm::slice{0, 1}, pm::slice{{}, {}, -1}));
    // numpy: v[v > 1]
    // xtensor: xt::filter(v, v > 1)
    SHOWS("[3. 2.]", v[v > 1.0f]);
    // numpy: v[i]
    // xtensor: xt::index_view(v, i)
    // eigen: v(i)
    // mlx: mx::take(v, i)
    SHOWS("[2. 3.]", v[i]);
    // numpy: np.bincount(i, minlength=4)
    // xtensor: xt::bincount(i, {}, 4)
    SHOWS("[1 0 1 0]", pm::scatter_elements(pm::zeros<int>({4}), i, 1, pm::axis<0>, pm::scattering::sum));
    // numpy: np.linalg.norm(v)
    // xtensor: xt::norm_l2(v)
    // eigen: v.norm()
    // mlx: mx::linalg::norm(v)
    SHOWS("3.74166", pm::sqrt(pm::sum(v * v)).item());
    // numpy: np.allclose(a, b)
    // xtensor: xt::allclose(a, b)
    // eigen: a.isApprox(b)
    // mlx: mx::allclose(a, b)
    SHOWS("False", pm::all(pm::abs(a - b) <= 1e-5f));
    // numpy: np.isclose(a, b)
    // xtensor: xt::isclose(a, b)
    // mlx: mx::isclose(a, b)
    SHOWS("[[True False] [False False]]", pm::abs(a - b) <= 1e-8f + 1e-5f * pm::abs(b));
    // numpy: a[0, :] = 0
    // xtensor: xt::view(a, 0) = 0
    // eigen: a.row(0).setZero()
    // mlx: a = mx::slice_update(a, mx::zeros({1, 2}), {0, 0}, {1, 2})
    pm::at(a, 0) = 0.0f;
    // numpy: a[a > 3] += 1
    // xtensor: xt::filter(a, a > 3) += 1
    // mlx: a = mx::where(a > 3, a + 1, a)
    pm::at(a, a > 3.0f) += 1.0f;
    // numpy: v[np.newaxis, :]
    // xtensor: xt::expand_dims(v, 0)
    // eigen: v.transpose()
    // mlx: mx::expand_dims(v, 0)
    SHOWS("[[3. 1. 2.]]", pm::expand_dims(v, pm::axis<0>));
    // numpy: v.reshape(3, 1)
    // xtensor: xt::reshape_view(v, {3, 1})
    // eigen: v.reshaped(3, 1)
    // mlx: mx::reshape(v, {3, 1})
    SHOWS("[[3.] [1.] [2.]]", pm::reshape(v, {3, 1}));
    // numpy: b.ravel(), b.flatten()
    // xtensor: xt::ravel(b), xt::flatten(b)
    // eigen: b.reshaped<Eigen::RowMajor>()
    // mlx: mx::flatten(b)
    SHOWS("[1. 0. 1. 1.]", pm::reshape(b, {-1}));
    // numpy: np.concatenate([b, b], axis=1)
    // xtensor: xt::concatenate(xt::xtuple(b, b), 1)
    // mlx: mx::concatenate({b, b}, 1)
    SHOWS("[[1. 0. 1. 0.] [1. 1. 1. 1.]]", pm::concat(pm::axis<1>, b, b));
    // numpy: np.vstack([b, b])
    // xtensor: xt::vstack(xt::xtuple(b, b))
    // mlx: mx::concatenate({b, b}, 0)
    SHOWS("[[1. 0.] [1. 1.] [1. 0.] [1. 1.]]", pm::concat(pm::axis<0>, b, b));
    // numpy: np.hstack([b, b])
    // xtensor: xt::hstack(xt::xtuple(b, b))
    // mlx: mx::concatenate({b, b}, 1)
    SHOWS("[[1. 0. 1. 0.] [1. 1. 1. 1.]]", pm::concat(pm::axis<1>, b, b));
    // numpy: np.stack([v, v])
    // xtensor: xt::stack(xt::xtuple(v, v))
    // mlx: mx::stack({v, v})
    SHOWS("[[3. 1. 2.] [3. 1. 2.]]", pm::stack(pm::axis<0>, v, v));
    // numpy: np.stack(list)
    // mlx: mx::stack(list)
    SHOWS("[[3. 1. 2.] [3. 1. 2.]]", pm::stack(list));
    // numpy: np.pad(v, (1, 2))
    // xtensor: xt::pad(v, {{1, 2}})
    // mlx: mx::pad(v, {{1, 2}})
    SHOWS("[0. 3. 1. 2. 0. 0.]", pm::pad(v, {{1, 2}}));
    // numpy: np.sort(v)[::-1]
    // xtensor: xt::flip(xt::sort(v), 0)
    // mlx: mx::sort(v)[::-1]
    SHOWS("[3. 2. 1.]", pm::sort(v, true));
    // numpy: v[np.argsort(v)]
    // xtensor: xt::index_view(v, xt::argsort(v))
    // mlx: mx::take(v, mx::argsort(v))
    SHOWS("[1. 2. 3.]", pm::take(v, pm::argsort(v)));
    // numpy: np.unique(v)
    // xtensor: xt::unique(v)
    SHOWS("[1. 2. 3.]", pm::unique_values(v));
    // numpy: np.save(file, v)
    // xtensor: xt::dump_npy(file, v)
    // mlx: mx::save(file, v)
    pm::save(file, v);
    // numpy: np.load(file)
    // xtensor: xt::load_npy<float>(file)
    // mlx: mx::load(file)
    const pm::vector<float> loaded = pm::load<float>(file);
    // mlx: mx::eval(a)
    pm::eval(a);
    // xtensor: xt::eval(a + b)
    // eigen: (a + b).eval()
    // mlx: mx::eval(c = a + b)
    const pm::matrix<float> c = a + b;
    // mlx: mx::compile(f)
    const auto f = pm::compile([](const pm::vector<float>& x) { return pm::vector<float>(x * x); });
    //
    SHOWS("[3. 1. 2.]", loaded);
    SHOWS("[9. 1. 4.]", f(v));
    SHOWS("[[1. 0.] [4. 6.]]", c);
    std::filesystem::remove(file);
}
