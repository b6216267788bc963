// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random programs of views, reshapes, parts and what computes between them: fused, compiled and on
// a device they give what each op gives alone.
#include <pumice/front.hpp>
#include <pumice/graph/array_api.hpp>

#include <tests/support/samples.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace pm = pumice;
using pm::any_tensor;

namespace { namespace random_views {

using tensors = std::vector<any_tensor>;

class views {
public:
    explicit views(unsigned seed) : numbers_(seed) {}

    any_tensor input(const pm::context& home) {
        pm::shape extent;
        for (int rank = below(4); rank > 0; --rank)
            extent.push_back(std::array{1, 1, 2, 3, 5}[std::size_t(below(5))]);
        std::vector<float> v(std::size_t(pm::element_count(extent)));
        for (float& x : v) x = float(below(33) - 16) / 8;
        return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)), home);
    }
    /// Some ops, each of what came before, and three of their results.
    tensors of(tensors t) {
        for (int i = 0; i < 14; ++i) {
            const any_tensor a = below(2) ? t.back() : any(t), b = any(t);
            try {
                const any_tensor y = step(a, b);
                if (y.size() <= 4096) t.push_back(y);
            } catch (const pm::error&) {  // shapes that do not fit
            }
        }
        return {t.back(), any(t), any(t)};
    }

private:
    int below(int n) { return int(numbers_() % unsigned(n)); }
    any_tensor any(const tensors& t) { return t[std::size_t(below(int(t.size())))]; }
    any_tensor step(const any_tensor& a, const any_tensor& b) {
        const int rank = a.rank(), axis = rank ? below(rank) : 0;
        if (rank == 0 || rank > 4) return pm::apply<pm::op::add>(pm::reshape(a, {-1}), b);
        const std::int64_t axes[] = {axis};
        switch (below(14)) {
            case 0: return pm::apply<pm::op::add>(a, b);
            case 1: return pm::apply<pm::op::tanh>(a);
            case 2: return pm::reduce(pm::reduction::sum, a, axes, below(2));
            case 3: return pm::expand_dims(a, below(rank + 1));
            case 4: return pm::squeeze(a, axis);
            case 5: {
                pm::shape to;
                for (int k = 0; k < rank; ++k)
                    if (a.shape()[k] != 1 || below(2)) to.push_back(a.shape()[k]);
                if (below(2)) to.push_back(1);
                return pm::reshape(a, to);
            }
            case 6: {
                std::vector<std::int64_t> order;
                for (int k = 0; k < rank; ++k) order.push_back(k);
                std::swap(order[std::size_t(axis)], order[std::size_t(below(rank))]);
                return pm::permute_dims(a, order);
            }
            case 7: return pm::softmax(a, axis);
            case 8: return pm::reshape(a, {-1});
            case 9: return pm::flip(a, axes);
            case 10: {
                const any_tensor list[] = {a, below(2) ? a : b};
                return pm::concat(list, axis);
            }
            case 11:
            case 12: {
                std::vector<pm::slice> part(std::size_t(rank), pm::slice{});
                const std::int64_t n = a.shape()[axis], begin = below(int(n));
                part[std::size_t(axis)] = {begin, begin + 1 + below(int(n - begin))};
                const bool fits = pm::slice_view(a, part).shape() == b.shape();
                return pm::slice_update(a, fits ? b : pm::reduce(pm::reduction::sum, b), part);
            }
            default: return pm::matmul(a, b);
        }
    }
    std::mt19937 numbers_;
};

std::vector<std::vector<float>> run(unsigned seed, const pm::context& home, bool compiled) {
    views made(seed);
    tensors in;
    for (int i = 0; i < 3; ++i) in.push_back(made.input(home));
    tensors out;
    if (compiled) {
        const auto f = pm::compile([&](any_tensor a, any_tensor b, any_tensor c) {
            const tensors r = views(seed).of({a, b, c});
            return std::tuple(r[0], r[1], r[2]);
        });
        const auto [x, y, z] = f(in[0], in[1], in[2]);
        out = {x, y, z};
    } else {
        out = views(seed).of(in);
        pm::eval(out);
    }
    std::vector<std::vector<float>> values;
    for (const any_tensor& t : out) values.push_back(pm::to_vector<float>(t));
    return values;
}
bool same(float a, float b) {
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           std::abs(a - b) <= 1e-4f * (1 + std::abs(b));
}

void against_single_ops(const pm::context& home, int count, unsigned seed) {
    const pm::context alone(pm::host_only{}, pm::fusion::none{}, pm::eager{});
    for (int k = 0; k < count; ++k) {
        const unsigned program = seed + unsigned(k);
        CAPTURE(program);
        const auto want = run(program, alone, false);
        for (const bool compiled : {false, true}) {
            CAPTURE(compiled);
            const auto got = run(program, home, compiled);
            for (std::size_t i = 0; i < want.size(); ++i) {
                REQUIRE(got[i].size() == want[i].size());
                REQUIRE(std::equal(got[i].begin(), got[i].end(), want[i].begin(), same));
            }
        }
    }
}

}}  // namespace ::random_views

TEST_CASE("random views: what is fused and compiled gives what each op gives alone") {
    const auto seed = unsigned(test::seed());
    MESSAGE("from seed " << seed);
    random_views::against_single_ops(pm::context(pm::host_only{}), test::samples(1000), seed);
    random_views::against_single_ops(pm::context(), test::samples(10), seed + 100000);
}
