// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elements that share bytes, on the default device and on the host: what an op makes of them is
// what it makes of the same numbers in whole bytes, modulo 16, whatever the shape, and views that
// begin or end within a byte are read and written without harm to their neighbours.
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <sstream>

namespace pm = pumice;
using pm::any_tensor;

namespace {

using function = std::function<any_tensor(const any_tensor& x, const any_tensor& y)>;

any_tensor random_numbers(pm::dtype type, const pm::shape& extent, unsigned seed,
                          const pm::context& home) {
    std::mt19937 bits(seed);
    std::vector<std::int32_t> v(static_cast<std::size_t>(pm::element_count(extent)));
    const int low = type == pm::dtype::i4 ? -8 : 0;
    for (std::int32_t& n : v) n = static_cast<std::int32_t>(bits() % 16) + low;
    return pm::from_span<std::int32_t>(extent, v, home);
}

/// Modulo 16: what 4 bits keep.
std::vector<int> kept(const any_tensor& t) {
    std::vector<int> v;
    for (const std::int32_t n : pm::to_vector<std::int32_t>(pm::astype(t, pm::dtype::i32)))
        v.push_back(n & 15);
    return v;
}

/// f of 4-bit numbers against f of the same in `wide`.
void same(const char* what, pm::dtype type, const pm::shape& extent, const pm::context& home,
          const function& f) {
    CAPTURE(what);
    CAPTURE(pm::to_string(extent));
    CAPTURE(pm::to_string(type));
    const any_tensor x = random_numbers(type, extent, 1, home),
                     y = random_numbers(type, extent, 2, home);
    const pm::dtype wide = type == pm::dtype::i4 ? pm::dtype::i8 : pm::dtype::u8;
    const any_tensor whole = f(pm::astype(x, wide), pm::astype(y, wide));
    any_tensor a = pm::astype(x, type), b = pm::astype(y, type);
    pm::eval(a, b);
    const any_tensor packed = f(a, b);
    CHECK(packed.shape() == whole.shape());
    CHECK(kept(packed) == kept(whole));
    CHECK(kept(a) == kept(x));  // nothing wrote over them
}

std::vector<pm::context> places() { return {pm::context(), pm::context(pm::host_only{})}; }

any_tensor part(const any_tensor& x, std::int64_t begin, std::int64_t step = 1) {
    std::vector<pm::slice> slices(static_cast<std::size_t>(x.rank()));
    slices.back() = {begin, {}, step};
    slices.front() = {begin, {}, 1};
    return pm::slice_view(x, slices);
}

const pm::shape extents[] = {{1},    {2},      {7},       {8},     {33}, {1000}, {3, 5},
                             {5, 8}, {16, 17}, {2, 3, 7}, {9, 64}, {0},  {3, 0}};

}  // namespace

TEST_CASE("packed: elementwise, views and their copies") {
    for (const pm::context& home : places())
        for (const pm::dtype type : {pm::dtype::i4, pm::dtype::u4})
            for (const pm::shape& e : extents) {
                same("add", type, e, home, [](auto& x, auto& y) { return x + y; });
                if (e.rank() > 2 || pm::element_count(e) == 0) continue;
                same("chain", type, e, home,
                     [](auto& x, auto& y) { return pm::maximum(x, y) * x - pm::minimum(x, y); });
                same("turned", type, e, home, [](auto& x, auto& y) {
                    std::vector<std::int64_t> order;
                    for (int i = x.rank(); i-- > 0;) order.push_back(i);
                    return pm::permute_dims(x, order) + pm::permute_dims(y, order);
                });
                same("flipped", type, e, home, [](auto& x, auto&) { return pm::flip(x); });
                same("odd part", type, e, home, [](auto& x, auto&) { return part(x, 1); });
                same("odd part, used", type, e, home,
                     [](auto& x, auto& y) { return part(x, 1) + part(y, 1); });
                same("every third", type, e, home, [](auto& x, auto&) { return part(x, 0, 3); });
                same("part of a part", type, e, home, [](auto& x, auto&) {
                    any_tensor v = part(x, 1);
                    pm::eval(v);
                    return part(v, 1);
                });
            }
}

TEST_CASE("packed: joined, cut, picked, sorted, scattered and reduced") {
    for (const pm::context& home : places())
        for (const pm::dtype type : {pm::dtype::i4, pm::dtype::u4})
            for (const pm::shape& e : {pm::shape{5, 7}, pm::shape{4, 8}, pm::shape{33, 3}}) {
                const auto rows =
                    pm::from_span<std::int32_t>({5}, std::vector<std::int32_t>{3, 0, -1, 2, 0},
                                                home);
                const any_tensor at = rows;
                same("concat 0", type, e, home, [](auto& x, auto& y) {
                    return pm::concat(std::vector<any_tensor>{x, y, x}, 0);
                });
                same("concat 1", type, e, home, [](auto& x, auto& y) {
                    return pm::concat(std::vector<any_tensor>{x, x + y, y}, 1);
                });
                same("take rows", type, e, home,
                     [&](auto& x, auto&) { return pm::take(x, at, 0); });
                same("take columns", type, e, home,
                     [&](auto& x, auto&) { return pm::take(x, at, 1); });
                same("roll", type, e, home, [](auto& x, auto&) { return pm::roll(x, 3); });
                same("sort", type, e, home, [](auto& x, auto&) { return pm::sort(x, 1); });
                same("sum", type, e, home, [](auto& x, auto&) {
                    const std::int64_t axis[] = {1};
                    return pm::reduce(pm::reduction::sum, x, axis);
                });
                same("max", type, e, home, [](auto& x, auto&) {
                    const std::int64_t axis[] = {0};
                    return pm::reduce(pm::reduction::max, x, axis);
                });
                same("cumulative", type, e, home,
                     [](auto& x, auto&) { return pm::cumulative_sum(x, 1); });
                for (const pm::scattering how : {pm::scattering::replace, pm::scattering::sum})
                    same("scatter", type, e, home, [&](auto& x, auto& y) {
                        const any_tensor where = pm::reshape(at, {5, 1});
                        const std::vector<pm::slice> one{{0, 5, 1}, {0, 1, 1}};
                        any_tensor from =
                            pm::slice_view(pm::concat(std::vector<any_tensor>{y, y}, 0), one);
                        return pm::scatter_elements(x, where, from, 0, how);
                    });
                same("assigned", type, e, home, [](auto& x, auto& y) {
                    any_tensor z = x + y;
                    pm::at(z, pm::slice{1, 3}, pm::slice{1, 2}) =
                        pm::slice_view(y, std::vector<pm::slice>{{0, 2, 1}, {0, 1, 1}});
                    return z;
                });
            }
}

TEST_CASE("packed: a product with 4-bit weights reads them as they lie") {
    for (const pm::context& home : places())
        for (const auto [m, k, n] :
             {std::array<std::int64_t, 3>{1, 64, 32}, {17, 40, 24}, {3, 7, 5}}) {
            const any_tensor w =
                pm::astype(random_numbers(pm::dtype::i4, {k, n}, 3, home), pm::dtype::i4);
            const any_tensor x =
                pm::astype(random_numbers(pm::dtype::i4, {m, k}, 4, home), pm::dtype::f32);
            any_tensor held = w;
            pm::eval(held);
            const any_tensor y = pm::matmul(x, pm::astype(held, pm::dtype::f32));
            const any_tensor whole = pm::astype(held, pm::dtype::f32);
            any_tensor dense = whole;
            pm::eval(dense);
            CHECK(pm::to_vector<float>(y) == pm::to_vector<float>(pm::matmul(x, dense)));
        }
}

TEST_CASE("packed: bytes of a tensor are those of ONNX, whatever lies behind them") {
    for (const pm::context& home : places()) {
        const std::byte given[] = {std::byte{0x21}, std::byte{0x43}, std::byte{0xf5}};
        any_tensor t = pm::from_bytes(pm::dtype::u4, {5}, given, home);
        CHECK(t.size_bytes() == 3);
        const std::vector<pm::u4> values = pm::to_vector<pm::u4>(t);
        for (unsigned i = 0; i < 5; ++i) CHECK(unsigned(values[i]) == i + 1);
        std::byte back[3];
        pm::read(t, back);
        CHECK(back[2] == std::byte{0x05});
        CHECK(pm::to_string(t) == "[1 2 3 4 5]");
        CHECK(pm::vector<pm::i4>{pm::i4(-8), pm::i4(7), pm::i4(3)}.to_vector()[2] == 3);
        any_tensor tail = part(t, 3);
        CHECK(pm::to_string(tail) == "[4 5]");
        const std::span<const std::byte> shown = pm::host(tail);
        CHECK(shown.size() == 1);
        CHECK(shown[0] == std::byte{0x54});
        pm::host_mut(tail)[0] = std::byte{0x98};
        CHECK(pm::to_string(tail) == "[8 9]");
        CHECK(pm::to_string(t) == "[1 2 3 4 5]");
        pm::write(t, std::span(given).first(1), 1);
        CHECK(pm::to_string(t) == "[1 2 1 2 5]");
        CHECK(pm::scalar_tensor<pm::u4>(pm::reshape(part(t, 4), {})).item() == 5u);
        std::ostringstream both;
        both << pm::to(t, pm::context(pm::host_only{}));
        CHECK(both.str() == "[1 2 1 2 5]");
    }
}

TEST_CASE("packed: a compiled function, over inputs that begin within a byte too") {
    for (const pm::context& home : places()) {
        const pm::executable::value in[] = {{pm::dtype::i4, {5, 3}}, {pm::dtype::i4, {5, 3}}};
        const pm::executable f = pm::trace(home, in, [](std::span<const any_tensor> t) {
            return std::vector<any_tensor>{t[0] + t[1], pm::astype(t[0], pm::dtype::f32) * 0.5};
        });
        for (unsigned turn = 0; turn < 3; ++turn) {
            any_tensor x =
                pm::astype(random_numbers(pm::dtype::i4, {6, 4}, turn, home), pm::dtype::i4);
            any_tensor y =
                pm::astype(random_numbers(pm::dtype::i4, {16}, turn + 9, home), pm::dtype::i4);
            pm::eval(x, y);
            const any_tensor odd = pm::reshape(part(y, 1), {5, 3});
            const std::vector<any_tensor> out = f.run(std::vector<any_tensor>{part(x, 1), odd});
            CHECK(kept(out[0]) == kept(part(x, 1) + odd));
            CHECK(pm::to_vector<float>(out[1]) ==
                  pm::to_vector<float>(pm::astype(part(x, 1), pm::dtype::f32) * 0.5));
        }
    }
}
