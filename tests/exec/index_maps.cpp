// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is rolled, tiled or padded is read where it lies: on the default device and on the host it
// gives what plain C++ gives, and takes no kernel of its own where something is fused with it.
#include <pumice/exec/plan/json.hpp>
#include <pumice/exec/plan/verify.hpp>
#include <pumice/front.hpp>
#include <pumice/varying.hpp>

#include <tests/support/samples.hpp>
#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <random>

namespace pm = pumice;
using pm::any_tensor;
using integers = std::vector<std::int64_t>;

namespace {

std::vector<pm::context> places() { return {pm::context(), pm::context(pm::host_only{})}; }

/// A tensor in plain C++.
struct plain {
    pm::shape extent;
    std::vector<float> v;

    /// The element at each index of `to`, as f(index) gives it.
    template <class F>
    static plain of(const pm::shape& to, F&& f) {
        plain p{to, {}};
        for (std::int64_t i = 0; i < pm::element_count(to); ++i) {
            pm::index_list at = pm::index_list::filled(to.rank(), 0);
            std::int64_t rest = i;
            for (int d = to.rank(); d-- > 0; rest /= to[d]) at[d] = rest % to[d];
            p.v.push_back(f(at));
        }
        return p;
    }
    float at(const pm::index_list& index) const {
        std::int64_t i = 0;
        for (int d = 0; d < extent.rank(); ++d) i = i * extent[d] + index[d];
        return v[std::size_t(i)];
    }
    static plain counting(const pm::shape& extent, int cycle = 7) {
        std::int64_t n = 0;
        return of(extent, [&](const pm::index_list&) { return float(n++ % cycle); });
    }
};

std::int64_t modulo(std::int64_t i, std::int64_t n) { return (i % n + n) % n; }

plain rolled(const plain& x, std::int64_t shift, int axis) {
    return plain::of(x.extent, [&](pm::index_list at) {
        at[axis] = modulo(at[axis] - shift, x.extent[axis]);
        return x.at(at);
    });
}
plain tiled(const plain& x, const integers& times) {
    pm::shape to = x.extent;
    for (int d = 0; d < to.rank(); ++d) to[d] *= times[std::size_t(d)];
    return plain::of(to, [&](pm::index_list at) {
        for (int d = 0; d < to.rank(); ++d) at[d] %= x.extent[d];
        return x.at(at);
    });
}
plain padded(const plain& x, const std::vector<pm::pad_width>& widths, pm::pad_mode mode,
             float fill) {
    pm::shape to = x.extent;
    for (int d = 0; d < to.rank(); ++d)
        to[d] += widths[std::size_t(d)].before + widths[std::size_t(d)].after;
    return plain::of(to, [&](pm::index_list at) {
        for (int d = 0; d < to.rank(); ++d) {
            const std::int64_t n = x.extent[d], i = at[d] - widths[std::size_t(d)].before;
            at[d] = i;
            if (i >= 0 && i < n) continue;
            if (mode == pm::pad_mode::constant) return fill;
            if (mode == pm::pad_mode::edge || n == 1) at[d] = i < 0 ? 0 : n - 1;
            else if (mode == pm::pad_mode::wrap) at[d] = modulo(i, n);
            else {
                const std::int64_t k = modulo(i, 2 * (n - 1));
                at[d] = k < n ? k : 2 * (n - 1) - k;
            }
        }
        return x.at(at);
    });
}
template <class... P>
plain each(float (*f)(float, float), const plain& a, const plain& b) {
    plain r = a;
    for (std::size_t i = 0; i < r.v.size(); ++i) r.v[i] = f(a.v[i], b.v[i]);
    return r;
}

any_tensor tensor(const plain& p, const pm::context& home, pm::dtype type = pm::dtype::f32) {
    any_tensor x =
        pm::astype(pm::from_bytes(pm::dtype::f32, p.extent, std::as_bytes(std::span(p.v)), home),
                   type);
    pm::eval(x);
    return x;
}
void same(const any_tensor& x, const plain& p) {
    REQUIRE(x.shape() == p.extent);
    CHECK(pm::to_vector<float>(pm::astype(x, pm::dtype::f32)) == p.v);
}
/// The kernels that ran while `f` did.
template <class F>
std::uint64_t kernels_of(const pm::context& home, F&& f) {
    const std::uint64_t before = home.stats().dispatches;
    f();
    return home.stats().dispatches - before;
}

constexpr pm::pad_mode modes[] = {pm::pad_mode::constant, pm::pad_mode::edge, pm::pad_mode::reflect,
                                  pm::pad_mode::wrap};

/// A lazy tensor with what it is in plain C++.
struct pair {
    any_tensor x;
    plain p;
};

/// One op more over it, of those that read by a map or are views.
pair one_more(pair a, std::mt19937& random) {
    const auto some = [&](std::int64_t n) { return std::int64_t(random() % std::uint32_t(n)); };
    const int rank = a.p.extent.rank(), axis = int(some(rank));
    const std::int64_t n = a.p.extent[axis];
    switch (some(6)) {
        case 0: {
            const std::int64_t by = some(4 * n + 3) - 2 * n - 1;
            return {pm::roll(a.x, by, axis), rolled(a.p, by, axis)};
        }
        case 1: {
            integers times(std::size_t(rank), 1);
            times[std::size_t(axis)] += some(3);
            return {pm::tile(a.x, times), tiled(a.p, times)};
        }
        case 2:
        case 3: {
            std::vector<pm::pad_width> widths(std::size_t(rank), pm::pad_width{});
            widths[std::size_t(axis)] = {some(n + 4) - 1, some(2 * n + 1)};
            if (const std::int64_t other = some(rank); other != axis)
                widths[std::size_t(other)] = {some(3), some(2)};
            const pm::pad_mode mode = modes[some(4)];
            return {pm::pad(a.x, widths, mode, 5), padded(a.p, widths, mode, 5)};
        }
        case 4: {
            const std::int64_t axes[] = {axis};
            return {pm::flip(a.x, axes), plain::of(a.p.extent, [&](pm::index_list at) {
                        at[axis] = n - 1 - at[axis];
                        return a.p.at(at);
                    })};
        }
        default: {
            integers order;
            pm::shape to;
            for (int d = 0; d < rank; ++d) {
                order.push_back((d + 1) % rank);
                to.push_back(a.p.extent[(d + 1) % rank]);
            }
            return {pm::permute_dims(a.x, order), plain::of(to, [&](const pm::index_list& at) {
                        pm::index_list from = at;
                        for (int d = 0; d < rank; ++d) from[(d + 1) % rank] = at[d];
                        return a.p.at(from);
                    })};
        }
    }
}

}  // namespace

TEST_CASE("index maps: each kind over ragged shapes, alone and fused, is one kernel") {
    for (const pm::context& home : places())
        for (const pm::shape& extent :
             {pm::shape{1}, {5}, {64}, {3, 1}, {7, 13}, {4, 64}, {2, 3, 5}, {3, 4, 1, 6}})
            for (int axis = 0; axis < extent.rank(); ++axis) {
                CAPTURE(axis);
                CAPTURE(pm::to_string(extent));
                const plain p = plain::counting(extent, 101);
                const any_tensor x = tensor(p, home);
                const std::int64_t n = extent[axis];
                const auto check = [&](const any_tensor& y, const plain& want) {
                    plain twice = want;
                    for (float& v : twice.v) v = v * 2 + 1;
                    const any_tensor z =
                        pm::apply<pm::op::add>(pm::apply<pm::op::multiply>(y, 2), 1);
                    CHECK(kernels_of(home, [&] { pm::eval(z); }) <= 1);
                    same(z, twice);
                    same(y, want);
                };
                for (const std::int64_t by : {1L, -1L, 3L, -n - 2, 5 * n + 1})
                    check(pm::roll(x, by, axis), rolled(p, by, axis));
                integers times(std::size_t(extent.rank()), 1);
                times[std::size_t(axis)] = 3;
                check(pm::tile(x, times), tiled(p, times));
                for (const pm::pad_mode mode : modes)
                    for (const auto [before, after] :
                         {pm::pad_width{1, 2}, {0, 3}, {3 * n + 2, 0}, {-1, 2}, {2, -1}}) {
                        std::vector<pm::pad_width> widths(std::size_t(extent.rank()));
                        widths[std::size_t(axis)] = {before, after};
                        check(pm::pad(x, widths, mode, 9), padded(p, widths, mode, 9));
                    }
            }
}

TEST_CASE("index maps: every element type") {
    for (const pm::context& home : places())
        for (const pm::dtype_info& row : pm::dtype_table) {
            const auto type = static_cast<pm::dtype>(&row - pm::dtype_table.data());
            if (!home.device().supports(type)) continue;
            CAPTURE(pm::to_string(type));
            const int cycle = type == pm::dtype::boolean ? 2 : 7;
            for (const pm::shape& extent : {pm::shape{6, 37}, {8, 64}}) {
                const plain p = plain::counting(extent, cycle);
                const any_tensor x = tensor(p, home, type);
                const std::vector<pm::pad_width> widths{{1, 1}, {8, 3}};
                same(pm::roll(x, 3, 1), rolled(p, 3, 1));
                same(pm::roll(pm::roll(x, 3, 1), -8, 0), rolled(rolled(p, 3, 1), -8, 0));
                same(pm::tile(x, integers{2, 3}), tiled(p, {2, 3}));
                for (const pm::pad_mode mode : modes)
                    same(pm::pad(x, widths, mode, 1), padded(p, widths, mode, 1));
            }
        }
}

TEST_CASE("index maps: of each other, and of views") {
    std::mt19937 random(5);
    for (int round = 0; round < test::samples(300); ++round) {
        const auto home = places()[std::size_t(round % 2)];
        pm::shape extent;
        for (int d = 1 + int(random() % 3); d > 0; --d)
            extent.push_back(1 + std::int64_t(random() % 6));
        const plain p = plain::counting(extent, 251);
        pair a{tensor(p, home), p};
        for (int k = 1 + int(random() % 4); k > 0; --k) {
            pair next = one_more(a, random);
            if (next.p.v.size() > 20000) break;
            a = std::move(next);
            if (random() % 4 == 0) {
                a.x = pm::apply<pm::op::add>(a.x, 1);
                for (float& v : a.p.v) v += 1;
            }
        }
        CAPTURE(round);
        const int rank = a.p.extent.rank(), axis = int(random() % std::uint32_t(rank));
        const std::int64_t axes[] = {axis};
        // A maximum of it, before it is stored.
        plain most;
        most.extent = a.p.extent;
        most.extent[axis] = 1;
        most = plain::of(most.extent, [&](pm::index_list at) {
            float m = -1;
            for (at[axis] = 0; at[axis] < a.p.extent[axis]; ++at[axis]) m = std::max(m, a.p.at(at));
            return m;
        });
        same(pm::reduce(pm::reduction::max, a.x, axes, true), most);
        same(pm::apply<pm::op::multiply>(a.x, 3),
             each([](float v, float) { return 3 * v; }, a.p, a.p));
        same(a.x, a.p);
    }
}

TEST_CASE("index maps: no elements") {
    for (const pm::context& home : places()) {
        const any_tensor none = tensor(plain{{3, 0}, {}}, home);
        CHECK(pm::roll(none, 2, 0).shape() == pm::shape{3, 0});
        CHECK(pm::to_vector<float>(pm::tile(none, integers{2, 2})).empty());
        const std::vector<pm::pad_width> widths{{1, 0}, {2, 1}}, down{{1, 0}, {0, 0}};
        same(pm::pad(none, widths, pm::pad_mode::constant, 4),
             padded({{3, 0}, {}}, widths, modes[0], 4));
        CHECK(pm::to_vector<float>(pm::pad(none, down, pm::pad_mode::reflect)).empty());
        const any_tensor x = tensor(plain::counting({2, 3}), home);
        CHECK(pm::to_vector<float>(pm::tile(x, integers{0, 2})).empty());
    }
}

TEST_CASE("index maps: stencils, windows and tiles are one kernel, at once and recorded") {
    for (const pm::context& home : places()) {
        constexpr int rows = 37, columns = 260;
        const plain p = plain::counting({rows, columns}, 11), q = plain::counting({columns}, 5),
                    r = plain::counting({1, 20}, 7);
        const pm::matrix<float> x = tensor(p, home).as<pm::matrix<float>>();
        const pm::vector<float> v = tensor(q, home).as<pm::vector<float>>();
        const pm::matrix<float> row = tensor(r, home).as<pm::matrix<float>>();
        const auto once = [&](auto&& f, const plain& want, auto... inputs) {
            auto y = f(inputs...);
            CHECK(kernels_of(home, [&] { pm::eval(y); }) <= 1);  // the host does small work at once
            same(y, want);
            const pm::executable e = pm::compile(f).get(inputs...);
            any_tensor again;
            CHECK(kernels_of(home, [&] {
                      again = e.run({any_tensor(inputs)...})[0];
                      pm::eval(again);
                  }) == 1);
            same(again, want);
        };
        const auto at = [&](std::int64_t i, std::int64_t j) {
            return p.at({modulo(i, rows), modulo(j, columns)});
        };
        once([](const pm::vector<float>& u) { return pm::roll(u, 1) + pm::roll(u, -1) - 2.0f * u; },
             plain::of({columns},
                       [&](const pm::index_list& i) {
                           return q.at({modulo(i[0] - 1, columns)}) +
                                  q.at({modulo(i[0] + 1, columns)}) - 2 * q.at(i);
                       }),
             v);
        // The neighbours of a cell on a torus, the diagonal ones by two rolls each.
        once(
            [](const pm::matrix<float>& u) {
                const pm::matrix<float> up = pm::roll(u, 1, pm::axis<0>),
                                        down = pm::roll(u, -1, pm::axis<0>);
                return up + down + pm::roll(u, 1, pm::axis<1>) + pm::roll(u, -1, pm::axis<1>) +
                       pm::roll(up, 1, pm::axis<1>) + pm::roll(up, -1, pm::axis<1>) +
                       pm::roll(down, 1, pm::axis<1>) + pm::roll(down, -1, pm::axis<1>);
            },
            plain::of({rows, columns},
                      [&](const pm::index_list& i) {
                          float sum = 0;
                          for (int a = -1; a <= 1; ++a)
                              for (int b = -1; b <= 1; ++b)
                                  if (a != 0 || b != 0) sum += at(i[0] + a, i[1] + b);
                          return sum;
                      }),
            x);
        // A window of a padded image.
        for (const pm::pad_mode mode : modes)
            once(
                [mode](const pm::matrix<float>& u) {
                    const pm::matrix<float> w = pm::pad(u, {{1, 1}, {1, 1}}, mode);
                    constexpr pm::slice low{0, -2}, in{1, -1}, high{2, {}};
                    return w(low, low) + 2.0f * w(in, in) + w(high, high);
                },
                plain::of({rows, columns},
                          [&, w = padded(p, {{1, 1}, {1, 1}}, mode, 0)](const pm::index_list& i) {
                              return w.at(i) + 2 * w.at({i[0] + 1, i[1] + 1}) +
                                     w.at({i[0] + 2, i[1] + 2});
                          }),
                x);
        once([](const pm::matrix<float>& u,
                const pm::matrix<float>& w) { return u * pm::tile(w, {rows, columns / 20}); },
             plain::of({rows, columns},
                       [&](const pm::index_list& i) { return p.at(i) * r.at({0, i[1] % 20}); }),
             x, row);
    }
}

TEST_CASE("index maps: what has to be computed first is stored once, and no memory is given away") {
    for (const pm::context& home : places()) {
        constexpr int n = 300;
        const plain p = plain::counting({n, n}, 11);
        const pm::matrix<float> x = tensor(p, home).as<pm::matrix<float>>();
        const auto twice = [](const pm::matrix<float>& u) {
            const pm::matrix<float> t = u * 2.0f;
            return pm::roll(t, 1, pm::axis<0>) - pm::roll(t, -1, pm::axis<0>);
        };
        const plain want = plain::of({n, n}, [&](const pm::index_list& i) {
            return 2 * (p.at({modulo(i[0] - 1, n), i[1]}) - p.at({modulo(i[0] + 1, n), i[1]}));
        });
        const pm::executable both = pm::compile(twice).get(x);
        CHECK(kernels_of(home, [&] { same(both.run({x})[0], want); }) == 2);

        // The same memory in and out would be read where it is written.
        const auto step = [](const pm::matrix<float>& u) {
            return pm::roll(u, 1, pm::axis<0>) + u;
        };
        const pm::executable e = pm::compile(step).get(x);
        std::vector<any_tensor> now{pm::copy(x)};
        pm::eval(now[0]);
        plain v = p;
        for (int k = 0; k < 3; ++k) {
            now = e.run_donating(std::move(now[0]));
            v = each([](float a, float b) { return a + b; }, rolled(v, 1, 0), v);
        }
        same(now[0], v);
        pm::matrix<float> z = tensor(p, home).as<pm::matrix<float>>();
        z = pm::roll(z, 1, pm::axis<0>) + z;
        same(z, each([](float a, float b) { return a + b; }, rolled(p, 1, 0), p));
    }
}

TEST_CASE("index maps: reductions, norms, products and the like read through them") {
    for (const pm::context& home : places()) {
        const plain p = plain::counting({24, 48}, 13);
        const any_tensor x = tensor(p, home), rolled_x = pm::roll(x, 5, 1);
        const any_tensor stored = tensor(rolled(p, 5, 1), home);
        const std::int64_t last[] = {1}, first[] = {0};
        const auto alike = [&](const any_tensor& a, const any_tensor& b, std::uint64_t most) {
            CHECK(kernels_of(home, [&] { pm::eval(a); }) <= most);
            const std::vector<float> u = pm::to_vector<float>(a), v = pm::to_vector<float>(b);
            REQUIRE(u.size() == v.size());
            for (std::size_t i = 0; i < u.size(); ++i) CHECK(u[i] == doctest::Approx(v[i]));
        };
        alike(pm::sum(rolled_x, last), pm::sum(stored, last), 1);
        alike(pm::max(rolled_x, first), pm::max(stored, first), 1);
        alike(pm::softmax(rolled_x, 1), pm::softmax(stored, 1), 1);
        alike(pm::cumulative(pm::reduction::sum, rolled_x, 1),
              pm::cumulative(pm::reduction::sum, stored, 1), 1);
        const any_tensor w = tensor(plain::counting({48, 16}, 5), home);
        alike(pm::matmul(rolled_x, w), pm::matmul(stored, w), 2);
        alike(pm::astype(pm::argsort(rolled_x, 1), pm::dtype::f32),
              pm::astype(pm::argsort(stored, 1), pm::dtype::f32), 3);
        const any_tensor image = tensor(plain::counting({1, 3, 9, 11}, 7), home),
                         kernel = tensor(plain::counting({2, 3, 3, 3}, 5), home);
        const std::vector<pm::pad_width> widths{{}, {}, {1, 2}, {2, 1}};
        const any_tensor wide = pm::pad(image, widths, pm::pad_mode::edge);
        pm::any_tensor wide_stored = pm::copy(wide);
        pm::eval(wide_stored);
        alike(pm::conv(wide, kernel, {}), pm::conv(wide_stored, kernel, {}), 2);
    }
}

TEST_CASE("index maps: a plan with one is written, read again and verified") {
    const pm::context home(pm::host_only{});
    const pm::executable::value in[] = {{pm::dtype::f32, {30, 40}}};
    const pm::executable f = pm::trace(home, in, [&](std::span<const any_tensor> x) {
        const std::vector<pm::pad_width> widths{{1, 0}, {0, 0}};
        return std::vector<any_tensor>{
            pm::apply<pm::op::add>(pm::pad(pm::roll(x[0], 3, 1), widths), 1)};
    });
    const pm::plan& p = f.planned();
    REQUIRE(p.steps.size() == 1);
    const std::string text = pm::to_json(p);
    CHECK(pm::to_json(pm::plan_from_json(text)) == text);
    CHECK(pm::find_faults(p).empty());

    const auto spoilt = [&](auto&& spoil) {
        pm::elementwise_problem q = *p.steps[0].what.get_if<pm::elementwise_problem>();
        for (pm::operand& o : q.body.leaves)
            if (!o.map.empty()) spoil(o);
        pm::plan other = p;
        other.steps[0].what = q;
        return !pm::find_faults(other).empty();
    };
    CHECK(!spoilt([](pm::operand&) {}));
    CHECK(spoilt([](pm::operand& o) { o.map.clear(); }));
    CHECK(spoilt([](pm::operand& o) { o.map[0].extent = 0; }));
    CHECK(spoilt([](pm::operand& o) { o.map[0].length += 100; }));
    CHECK(spoilt([](pm::operand& o) { o.map.back().how = pm::fold::none; }));
    CHECK(spoilt([](pm::operand& o) { o.origin = -1; }));
    CHECK(spoilt([](pm::operand& o) { o.offset += 5; }));
}
