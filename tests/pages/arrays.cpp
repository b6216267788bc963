// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <tests/pages/shows.hpp>

namespace pm = pumice;

// clang-format off: lines as the pages show them

// page: reductions
TEST_CASE("pages: reductions") {
    const pm::matrix<float> x = {{1, 2, 3}, {4, 5, 6}};
    const pm::matrix<std::uint8_t> bytes = {{200, 100}, {0, 7}};
    //
    SHOWS("[6. 15.]", pm::sum(x, pm::axis<1>));
    SHOWS("21.", pm::sum(x, pm::axes<0, 1>));
    SHOWS("[[5. 7. 9.]]", pm::sum(x, pm::axis<0>, pm::keepdims));
    SHOWS("307", pm::sum(bytes));
    SHOWS("[200. 107.]", pm::sum(bytes, pm::axis<0>, pm::as<float>));
    SHOWS("[4. 10. 18.]", pm::prod(x, pm::axis<0>));
    SHOWS("[3. 6.]", pm::max(x, pm::axis<1>));
    SHOWS("1.", pm::min(x));
    SHOWS("[2.5 3.5 4.5]", pm::mean(x, pm::axis<0>));
    SHOWS("[False True]", pm::any(x > 5.0f, pm::axis<1>));
    SHOWS("True", pm::all(x > 0.0f));
    SHOWS("[2 2]", pm::argmax(x, pm::axis<1>));
    SHOWS("0", pm::argmin(x));
    SHOWS("[3.40761 6.40761]", pm::logsumexp(x, pm::axis<1>));
    SHOWS("[0.666667 0.666667]", pm::var(x, pm::axis<1>));
    SHOWS("[1. 1.]", pm::std(x, pm::axis<1>, pm::correction{1}));
    SHOWS("[[1. 3. 6.] [4. 9. 15.]]", pm::cumulative_sum(x, pm::axis<1>));
    SHOWS("[[0. 1. 3. 6.] [0. 4. 9. 15.]]", pm::cumulative_sum(x, pm::axis<1>, pm::include_initial));
    SHOWS("[[1. 2. 6.] [4. 20. 120.]]", pm::cumulative_prod(x, pm::axis<1>));
    SHOWS("[1 1 2]", pm::count_nonzero(x > 2.0f, pm::axis<0>));
    SHOWS("[[1. 1.] [1. 1.]]", pm::diff(x, 1));
    SHOWS("[[0.0900306 0.244728 0.665241] [0.0900306 0.244728 0.665241]]", pm::softmax(x, pm::axis<1>));
    SHOWS("[[-2.40761 -1.40761 -0.407606] [-2.40761 -1.40761 -0.407606]]", pm::log_softmax(x, pm::axis<1>));
}

// page: creation
TEST_CASE("pages: creation") {
    const std::vector<float> values = {1, 2, 3, 4};
    const pm::matrix<float> x = {{1, 2}, {3, 4}};
    const pm::vector<float> v = {1, 2}, w = {3, 4, 5};
    //
    SHOWS("[[7 7] [7 7]]", pm::full<int>({2, 2}, 7));
    SHOWS("[[0. 0. 0.] [0. 0. 0.]]", pm::zeros<float>({2, 3}));
    SHOWS("[1. 1. 1.]", pm::ones<float>({3}));
    SHOWS("[2 5 8]", pm::arange(2, 10, 3));
    SHOWS("[0. 0.25 0.5 0.75 1.]", pm::linspace<float>(0, 1, 5));
    SHOWS("[[0 1 0] [0 0 1]]", pm::eye<int>(2, 3, 1));
    SHOWS("[[1. 2.] [3. 4.]]", pm::from_span<float>({2, 2}, values));
    SHOWS("[1. 2. 3. 4.]", pm::adapt(values));
    SHOWS("[[1. 2.] [3. 4.]]", pm::from_bytes(pm::dtype::f32, {2, 2}, std::as_bytes(std::span(values))));
    SHOWS("[1. 2. 3. 4.]", pm::asarray(values));
    SHOWS("(2, 3)", pm::empty<float>({2, 3}).shape());
    SHOWS("[[1. 2.] [3. 4.]]", pm::adapt(values, {2, 2}));
    SHOWS("(2, 2)", pm::empty_like(x).shape());
    SHOWS("[[5. 5.] [5. 5.]]", pm::full_like(x, 5.0f));
    SHOWS("[[0. 0.] [0. 0.]]", pm::zeros_like(x));
    SHOWS("[[1. 1.] [1. 1.]]", pm::ones_like(x));
    SHOWS("[[1. 0.] [3. 4.]]", pm::tril(x));
    SHOWS("[[0. 2.] [0. 0.]]", pm::triu(x, 1));
    SHOWS("{[[1. 2.] [1. 2.] [1. 2.]], [[3. 3.] [4. 4.] [5. 5.]]}", pm::meshgrid(v, w));
    SHOWS("(2, 3)", pm::random::uniform<float>({2, 3}, pm::random::key(7)).shape());
    SHOWS("(2, 3)", pm::random::normal({2, 3}, 10, 0.5).shape());
    SHOWS("(2, 3)", pm::random::integers<int>({2, 3}, 0, 10).shape());
    SHOWS("[0 1 2 3]", pm::sort(pm::random::permutation(4)));
    SHOWS("true", pm::random::default_seed == pm::random::seed());
}

// page: manipulation
TEST_CASE("pages: manipulation") {
    const pm::matrix<int> x = {{1, 2, 3}, {4, 5, 6}};
    const pm::vector<int> v = {7, 8, 9};
    //
    SHOWS("[[1 2] [3 4] [5 6]]", pm::reshape<3, 2>(x));
    SHOWS("[[1 2] [3 4] [5 6]]", pm::reshape(x, {3, -1}));
    SHOWS("[1 2 3 4 5 6]", pm::reshape_to(x, 6));
    SHOWS("[[1 4] [2 5] [3 6]]", pm::permute_dims(x, pm::axes<1, 0>));
    SHOWS("[[1 4] [2 5] [3 6]]", pm::transpose(x));
    SHOWS("[[1 4] [2 5] [3 6]]", pm::matrix_transpose(x));
    SHOWS("[[1 4] [2 5] [3 6]]", pm::moveaxis(x, 0, 1));
    SHOWS("[[3 2 1] [6 5 4]]", pm::flip(x, pm::axis<1>));
    SHOWS("[[3 1 2] [6 4 5]]", pm::roll(x, 1, pm::axis<1>));
    SHOWS("[[7 8 9] [7 8 9]]", pm::broadcast_to<2, 3>(v));
    SHOWS("{[[1 2 3] [4 5 6]], [[7 8 9] [7 8 9]]}", pm::broadcast_arrays(x, v));
    SHOWS("[[7 8 9]]", pm::expand_dims(v, pm::axis<0>));
    SHOWS("[7 8 9]", pm::squeeze(pm::expand_dims(v, pm::axis<0>), pm::axis<0>));
    SHOWS("[[1 2 3] [4 5 6] [1 2 3] [4 5 6]]", pm::concat(pm::axis<0>, x, x));
    SHOWS("[[7 8 9] [7 8 9]]", pm::stack(pm::axis<0>, v, v));
    SHOWS("{[1 2 3], [4 5 6]}", pm::unstack(x, pm::axis<0>));
    SHOWS("{[[1] [4]], [[2] [5]], [[3] [6]]}", pm::split(pm::any_tensor(x), 3, 1));
    SHOWS("[7 7 8 8 9 9]", pm::repeat(v, 2, pm::axis<0>));
    SHOWS("[7 8 9 7 8 9]", pm::tile(v, {2}));
    SHOWS("[0 7 8 9 0 0]", pm::pad(v, {{1, 2}}));
    SHOWS("[[1. 2. 3.] [4. 5. 6.]]", pm::astype<float>(x));
    SHOWS("[7. 8. 9.]", pm::nextafter(pm::astype<float>(v), 0.0f * pm::astype<float>(v)));
    SHOWS("[1 5]", pm::diagonal(x));
    SHOWS("6", pm::trace(x));
}

// page: indexing
TEST_CASE("pages: indexing") {
    pm::matrix<int> x = {{1, 2, 3}, {4, 5, 6}};
    const pm::vector<int> v = {30, 10, 20}, places = {2, 0};
    const pm::matrix<std::int64_t> columns = {{1}, {0}};
    //
    SHOWS("6", x(1, 2));  // pm::view
    SHOWS("[2 5]", x(pm::all, 1));  // pm::view
    SHOWS("[1 2 3]", x[0]);
    SHOWS("[[1 2] [4 5]]", x(pm::ellipsis, pm::slice{0, 2}));
    SHOWS("[[30 10 20]]", v(pm::newaxis));
    SHOWS("[6 5 4]", pm::view(x, 1, pm::slice{{}, {}, -1}));
    SHOWS("[30 20]", v[v > 15]);
    SHOWS("[20 30]", v[places]);
    SHOWS("[[3 1] [6 4]]", pm::take(x, places, pm::axis<1>));
    SHOWS("[[2] [4]]", pm::take_along_axis(x, columns, pm::axis<1>));
    SHOWS("[[4 5 6] [1 2 3]]", pm::gather_nd(x, columns));
    SHOWS("[[1 3 3] [4 5 6]]", pm::scatter_elements(x, columns, pm::astype<int>(columns), pm::axis<1>, pm::scattering::sum));
    SHOWS("[30 30 20]", pm::scatter_nd(v, columns, v(pm::slice{0, 2}), pm::scattering::max));
    pm::at(x, 0, pm::slice{1, 3}) = 0;
    SHOWS("[[1 0 0] [4 5 6]]", x);
    pm::at(x, x > 4) += 10;
    SHOWS("[[1 0 0] [4 15 16]]", x);
    SHOWS("[10 20 30]", pm::sort(v));
    SHOWS("[1 2 0]", pm::argsort(v));
    SHOWS("[30 20]", pm::top_k(v, 2).values);
    SHOWS("[2 0 1]", pm::searchsorted(pm::sort(v), v));
    SHOWS("{[0 2]}", pm::nonzero(v > 15));
    SHOWS("[10 20 30]", pm::unique_values(v));
    SHOWS("[30 0 20]", pm::where(v > 15, v, 0));
}

// page: products
TEST_CASE("pages: products") {
    const pm::matrix<float> a = {{1, 2}, {3, 4}}, b = {{1, 0}, {1, 1}};
    const pm::vector<float> v = {1, 2};
    const pm::any_tensor image = pm::full(pm::dtype::f32, {1, 1, 4, 4}, 1),
                         filter = pm::full(pm::dtype::f32, {1, 1, 3, 3}, 1);
    //
    SHOWS("[[3. 2.] [7. 4.]]", pm::matmul(a, b));
    SHOWS("[5. 11.]", pm::matmul(a, v));
    SHOWS("[[3. 2.] [7. 4.]]", pm::tensordot(a, b, pm::axis<1>, pm::axis<0>));
    SHOWS("[1. 7.]", pm::vecdot(a, b));
    SHOWS("[[1. 3.] [3. 7.]]", pm::einsum("ij,kj->ik", a, b));
    SHOWS("[[[[9. 9.] [9. 9.]]]]", pm::conv(image, filter));
    SHOWS("[[[[4. 6.] [6. 9.]]]]", pm::conv(image, filter, {.stride = {2, 2}, .pad_begin = {1, 1}, .pad_end = {1, 1}}));
    SHOWS("[[[[1. 1.] [1. 1.]]]]", pm::pool(image, {.what = pm::pooling::max, .window = {2, 2}, .stride = {2, 2}}));
    SHOWS("[[-0.99998 0.99998] [-0.99998 0.99998]]", pm::layer_norm(a, pm::axis<1>));
    SHOWS("[[0.632454 1.26491] [0.848528 1.13137]]", pm::rms_norm(a, pm::axis<1>));
    SHOWS("[[-0.99998 0.99998] [-0.99998 0.99998]]", pm::group_norm(pm::any_tensor(a), 1));
}
