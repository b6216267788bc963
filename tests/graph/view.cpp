// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Views against NumPy's semantics; what each reads is checked through the host engine.
#include <pumice/graph/view.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace pumice;
using namespace pumice_test;

namespace {

const std::shared_ptr<engine> home = host();
constexpr std::nullopt_t none = std::nullopt;

std::string show(const any_tensor& t) {
    std::string text = to_string(t.shape()) + ":";
    for (float v : values(t)) text += " " + std::to_string(static_cast<int>(v));
    return text;
}
any_tensor cut(const any_tensor& x, std::vector<slice> s) { return slice_view(x, s); }
any_tensor permuted(const any_tensor& x, std::vector<std::int64_t> order) {
    return permute_dims(x, order);
}
any_tensor flipped(const any_tensor& x, std::vector<std::int64_t> axes = {}) {
    return flip(x, axes);
}

}  // namespace

TEST_CASE("slices of one axis, against numpy.arange(n)[start:stop:step]") {
    struct row {
        std::int64_t n;
        slice s;
        std::vector<float> wanted;
    };
    const row rows[] = {
        {10, {none, none, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
        {10, {2, 7, 1}, {2, 3, 4, 5, 6}},
        {10, {2, 7, 2}, {2, 4, 6}},
        {10, {2, 7, 3}, {2, 5}},
        {10, {none, none, 3}, {0, 3, 6, 9}},
        {10, {1, none, 4}, {1, 5, 9}},
        {10, {-3, none, 1}, {7, 8, 9}},
        {10, {none, -7, 1}, {0, 1, 2}},
        {10, {-100, 3, 1}, {0, 1, 2}},
        {10, {7, 100, 1}, {7, 8, 9}},
        {10, {7, 3, 1}, {}},
        {10, {10, none, 1}, {}},
        {10, {100, 200, 1}, {}},
        {10, {none, none, -1}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
        {10, {none, none, -4}, {9, 5, 1}},
        {10, {7, 2, -1}, {7, 6, 5, 4, 3}},
        {10, {7, 2, -2}, {7, 5, 3}},
        {10, {2, 7, -1}, {}},
        {10, {-2, -5, -1}, {8, 7, 6}},
        {10, {100, none, -3}, {9, 6, 3, 0}},
        {10, {none, 100, -1}, {}},
        {10, {none, -100, -5}, {9, 4}},
        {10, {0, none, -1}, {0}},
        {10, {-100, none, -1}, {}},
        {10, {none, none, 100}, {0}},
        {10, {none, none, -100}, {9}},
        {10, {none, none, std::numeric_limits<std::int64_t>::max()}, {0}},
        {10, {none, none, std::numeric_limits<std::int64_t>::min()}, {9}},
        {10, {5, 5, 1}, {}},
        {10, {5, 5, -1}, {}},
        {1, {none, none, -1}, {0}},
        {0, {none, none, 1}, {}},
        {0, {none, none, -1}, {}},
        {0, {2, -2, 3}, {}},
        {3, {-1, none, 1}, {2}},
        {3, {none, -1, 2}, {0}},
    };
    for (const row& r : rows) {
        const any_tensor x = counting(home, {r.n});
        const any_tensor y = cut(x, {r.s});
        CHECK(y.shape() == shape{static_cast<std::int64_t>(r.wanted.size())});
        CHECK(values(y) == r.wanted);
    }
}

TEST_CASE("slices of slices, on several axes") {
    const any_tensor x = counting(home, {4, 5});
    CHECK(show(cut(x, {{1, 3, 1}, {none, none, 2}})) == "(2, 3): 5 7 9 10 12 14");
    CHECK(show(cut(x, {{none, none, -2}})) == "(2, 5): 15 16 17 18 19 5 6 7 8 9");
    CHECK(show(cut(cut(x, {{none, none, -1}, {none, none, -1}}), {{0, 2, 1}, {1, none, 2}})) ==
          "(2, 2): 18 16 13 11");
    CHECK(show(cut(x, {})) == "(4, 5): 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
    CHECK(show(cut(x, {{4, none, 1}, {none, none, 1}})) == "(0, 5):");
    CHECK(code_of([&] { cut(x, {{none, none, 0}}); }) == errc::invalid_argument);
    CHECK(code_of([&] { cut(x, {{}, {}, {}}); }) == errc::rank_mismatch);
}

TEST_CASE("permute_dims, flip, expand_dims, squeeze, broadcast_to") {
    const any_tensor x = counting(home, {2, 3});
    CHECK(show(permuted(x, {1, 0})) == "(3, 2): 0 3 1 4 2 5");
    CHECK(show(permuted(x, {-1, -2})) == "(3, 2): 0 3 1 4 2 5");
    CHECK(show(permuted(counting(home, {2, 1, 3}), {2, 0, 1})) == "(3, 2, 1): 0 3 1 4 2 5");
    CHECK(show(flipped(x)) == "(2, 3): 5 4 3 2 1 0");
    CHECK(show(flipped(x, {1})) == "(2, 3): 2 1 0 5 4 3");
    CHECK(show(flipped(x, {-2})) == "(2, 3): 3 4 5 0 1 2");
    CHECK(show(expand_dims(x, 1)) == "(2, 1, 3): 0 1 2 3 4 5");
    CHECK(show(expand_dims(x, -1)) == "(2, 3, 1): 0 1 2 3 4 5");
    CHECK(show(squeeze(expand_dims(x, 0), 0)) == "(2, 3): 0 1 2 3 4 5");
    CHECK(show(broadcast_to(counting(home, {3}), {2, 3})) == "(2, 3): 0 1 2 0 1 2");
    CHECK(show(broadcast_to(counting(home, {2, 1}), {2, 3})) == "(2, 3): 0 0 0 1 1 1");
    CHECK(show(broadcast_to(counting(home, {}), {2, 2})) == "(2, 2): 0 0 0 0");
    CHECK(show(broadcast_to(counting(home, {1}), {0})) == "(0,):");
    CHECK(show(flipped(counting(home, {}))) == "(): 0");
    CHECK(code_of([&] { permuted(x, {0}); }) == errc::rank_mismatch);
    CHECK(code_of([&] { permuted(x, {0, 0}); }) == errc::invalid_argument);
    CHECK(code_of([&] { flipped(x, {0, -2}); }) == errc::invalid_argument);
    CHECK(code_of([&] { permuted(x, {0, 2}); }) == errc::axis_out_of_range);
    CHECK(code_of([&] { squeeze(x, 0); }) == errc::shape_mismatch);
    CHECK(code_of([&] { expand_dims(x, 3); }) == errc::axis_out_of_range);
    CHECK(code_of([&] { broadcast_to(x, {3, 3}); }) == errc::shape_mismatch);
    CHECK(code_of([&] { broadcast_to(x, {3}); }) == errc::shape_mismatch);
}

TEST_CASE("transpose reverses the axes, squeeze without an axis removes those of length 1") {
    const any_tensor x = counting(home, {1, 2, 1, 3});
    CHECK(show(transpose(x)) == "(3, 1, 2, 1): 0 3 1 4 2 5");
    CHECK(show(transpose(counting(home, {2}))) == "(2,): 0 1");
    CHECK(show(transpose(counting(home, {}))) == "(): 0");
    CHECK(show(squeeze(x)) == "(2, 3): 0 1 2 3 4 5");
    CHECK(show(squeeze(counting(home, {1, 1}))) == "(): 0");
    CHECK(show(squeeze(counting(home, {2}))) == "(2,): 0 1");
    CHECK(show(squeeze(counting(home, {0, 1}))) == "(0,):");
}

TEST_CASE("reshape keeps the order of elements and asks for -1 once") {
    const any_tensor x = counting(home, {2, 3, 4});
    CHECK(reshape(x, {6, -1}).shape() == shape{6, 4});
    CHECK(reshape(x, {-1}).shape() == shape{24});
    CHECK(reshape(x, {2, 3, 4}).get() == x.get());
    CHECK(values(reshape(x, {4, 6})) == values(x));
    CHECK(show(reshape(permuted(counting(home, {2, 3}), {1, 0}), {2, 3})) == "(2, 3): 0 3 1 4 2 5");
    CHECK(show(reshape(cut(counting(home, {6}), {{none, none, -2}}), {3, 1})) == "(3, 1): 5 3 1");
    CHECK(show(reshape(broadcast_to(counting(home, {2}), {2, 2}), {4})) == "(4,): 0 1 0 1");
    CHECK(reshape(counting(home, {}), {1, 1}).shape() == shape{1, 1});
    CHECK(reshape(counting(home, {0, 3}), {0, 7}).shape() == shape{0, 7});
    CHECK(code_of([&] { reshape(x, {5, -1}); }) == errc::shape_mismatch);
    CHECK(code_of([&] { reshape(x, {-1, -1}); }) == errc::invalid_argument);
    CHECK(code_of([&] { reshape(x, {23}); }) == errc::shape_mismatch);
    CHECK(code_of([&] { reshape(x, {-2, 12}); }) == errc::invalid_argument);
    CHECK(code_of([&] { reshape(counting(home, {0}), {0, -1}); }) == errc::shape_mismatch);
}

TEST_CASE("reshape only splits the axes of a view: no copy") {
    const any_tensor x = counting(home, {6, 8});
    const any_tensor views[] = {permuted(x, {1, 0}), flipped(x, {1}),
                                cut(x, {{1, 5}, {none, none, 2}}),
                                broadcast_to(cut(x, {{}, {3, 4}}), {6, 8})};
    for (const any_tensor& v : views) {
        const std::vector<float> flat = values(v);
        const std::int64_t n = v.shape()[0], m = v.shape()[1];
        for (const shape& to :
             {shape{n / 2, 2, m}, shape{n, 1, 2, m / 2}, shape{2, n / 2, m / 2, 2, 1}}) {
            const any_tensor r = reshape(v, to);
            CHECK(r.get()->op.is<view_op>());
            CHECK(values(r) == flat);
            CHECK(values(flipped(r)) == std::vector<float>(flat.rbegin(), flat.rend()));
        }
        CHECK(values(reshape(v, {-1})) == flat);  // joins them
    }
    CHECK(reshape(cut(x, {{2, 2}}), {2, 0, 4}).shape() == shape{2, 0, 4});
    CHECK(values(reshape(permuted(counting(home, {1, 1}), {1, 0}), {})) == std::vector<float>{0});
}

TEST_CASE("views of views of what is computed read the right elements") {
    const any_tensor x = counting(home, {3, 4});
    const any_tensor y = apply<op::multiply>(x, 10.0);
    const any_tensor v = permuted(cut(y, {{none, none, 2}, {3, none, -2}}), {1, 0});  // (2, 2)
    CHECK(show(v) == "(2, 2): 30 110 10 90");
    CHECK(show(apply<op::add>(v, permuted(v, {1, 0}))) == "(2, 2): 60 120 120 180");
    CHECK(show(apply<op::subtract>(flipped(y), y)) ==
          "(3, 4): 110 90 70 50 30 10 -10 -30 -50 -70 -90 -110");
}

TEST_CASE("a view costs no dispatch, and shares memory with what it looks at") {
    const std::shared_ptr<engine> own = host();
    const any_tensor x = counting(own, {4, 4}), v = permuted(x, {1, 0}), w = cut(v, {{1, none, 2}});
    own->eval(array_list<node_ptr>{w.get()});
    CHECK(own->stats().dispatches == 0);
    CHECK(w.get()->realised());
    CHECK(w.get()->data == x.get()->data);
    CHECK(w.get()->layout() == strides{2, 4});
    CHECK(w.get()->offset == 1);
}

TEST_CASE("a view of a lazy view looks at what that one looks at, and reads the same") {
    std::mt19937 random(3);
    const auto below = [&](std::int64_t n) { return std::int64_t(random() % std::uint64_t(n)); };
    int shown = 0;
    for (int round = 0; round < 2000; ++round) {
        const any_tensor x = counting(home, {1 + below(4), 1 + below(4), 1 + below(3)});
        any_tensor composed = x, settled = x;
        for (int step = 0; step < 5; ++step) {
            const shape s = composed.shape();
            const int kind = int(below(6));
            const std::int64_t axis = s.rank() == 0 ? 0 : below(s.rank());
            const auto one = [&](const any_tensor& t) -> any_tensor {
                if (kind == 0 && s.rank() < 6) return expand_dims(t, axis);
                if (kind == 1 && s.rank() > 0 && s[int(axis)] == 1) return squeeze(t, axis);
                if (kind == 2 && s.rank() > 0) {
                    shape wide = s;
                    if (wide[int(axis)] == 1) wide[int(axis)] = 3;
                    return broadcast_to(t, wide);
                }
                if (kind == 3 && s.rank() > 1) {
                    std::vector<std::int64_t> order(std::size_t(s.rank()));
                    std::iota(order.begin(), order.end(), 0);
                    std::swap(order[0], order[std::size_t(axis)]);
                    return permuted(t, order);
                }
                std::vector<slice> slices(std::size_t(s.rank()));
                for (int i = 0; i < s.rank(); ++i) {
                    slice& part = slices[std::size_t(i)];
                    if (s[i] > 1) part.start = std::int64_t(step) % s[i];
                    part.step = kind == 4 ? -1 : 1 + step % 2;
                }
                return cut(t, slices);
            };
            composed = one(composed);
            settled = one(settled);
            std::vector<float> unused =
                values(settled);  // evaluated, so the next one looks at memory
            if (composed.get()->op.is<view_op>()) CHECK(composed.get()->inputs[0] == x.get());
            CHECK(composed.shape() == settled.shape());
        }
        const bool in_order = detail::will_show_row_major(*composed.get());
        shown += in_order && composed.get()->op.is<view_op>();
        CHECK(values(composed) == values(settled));
        if (in_order) CHECK(composed.get()->row_major());
    }
    CHECK(shown > 50);
}

TEST_CASE("a lazy view with axes of one element more or less will lie in order") {
    const any_tensor x = apply<op::multiply>(counting(home, {2, 1, 3, 1}), 10.0);
    const auto shows = [](const any_tensor& v) {
        CHECK_FALSE(v.get()->realised());
        return detail::will_show_row_major(*v.get());
    };
    CHECK(shows(x));
    CHECK(shows(squeeze(x, 1)));
    CHECK(shows(expand_dims(squeeze(squeeze(x, 3), 1), 0)));
    CHECK(shows(permuted(x, {1, 0, 3, 2})));
    CHECK_FALSE(detail::will_be_row_major(*squeeze(x, 1).get()));
    CHECK_FALSE(shows(permuted(x, {2, 1, 0, 3})));
    CHECK_FALSE(shows(flipped(x, {2})));
    CHECK_FALSE(shows(cut(x, {{}, {}, {0, 2}})));
    CHECK_FALSE(shows(cut(x, {{1, 2}})));
    CHECK_FALSE(shows(broadcast_to(x, {2, 2, 3, 1})));
}

TEST_CASE("views that cancel are the tensor itself") {
    const any_tensor x = counting(home, {2, 3});
    CHECK(permuted(permuted(x, {1, 0}), {1, 0}).get() == x.get());
    CHECK(flipped(flipped(x)).get() == x.get());
    CHECK(squeeze(expand_dims(x, 1), 1).get() == x.get());
    CHECK(reshape(reshape(x, {3, 2}), {2, 3}).get() == x.get());
    CHECK(reshape(reshape(x, {3, 2}), {6}).get()->inputs[0] == x.get());
    CHECK(cut(x, {{0, 2, 1}}).get() == x.get());
}
