// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random programs over a few variables, and the comparison of what they leave in them.
#pragma once

#include <pumice/front.hpp>

#include <array>
#include <cmath>
#include <random>

namespace test {

namespace pm = pumice;

using variables = std::vector<pm::any_tensor>;

/// a / 2 + b / 4 by a kernel of the user's own, with what is elementwise before and behind it.
inline pm::kernel mixed() {
    return pm::kernel(
        "mixed",
        R"(void mixed<X : IInput<F32>, Y : IOutput<F32>>(uint3 t, X x, Input<F32> y, Y z)
{
    z[t.x] = x[t.x] / 2 + y[t.x] / 4;
})",
        {.inputs = {{.fused = true}, {}},
         .outputs = {{.fused = true}},
         .host = [](const pm::kernel_arguments& given) {
             for (std::size_t i = 0; i < given.outputs[0].as<float>().size(); ++i)
                 given.outputs[0].as<float>()[i] =
                     given.inputs[0].as<float>()[i] / 2 + given.inputs[1].as<float>()[i] / 4;
         }});
}

/// a + b, and a - b transposed.
inline pm::kernel crossed() {
    return pm::kernel(
        "crossed",
        R"(void crossed<X : IInput<F32>>(uint3 t, Input<F32> x, X y, Output<F32> s, Output<F32> d)
{
    s[t.x] = x[t.x] + y[t.x];
    d[t.x % d.shape(1), t.x / d.shape(1)] = x[t.x] - y[t.x];
})",
        {.inputs = {{}, {.fused = true}},
         .outputs = {{}, {}},
         .host = [](const pm::kernel_arguments& given) {
             const auto x = given.inputs[0].as<float>(), y = given.inputs[1].as<float>(),
                        s = given.outputs[0].as<float>(), d = given.outputs[1].as<float>();
             const auto n = std::size_t(given.inputs[0].what.shape[1]);
             for (std::size_t i = 0; i < x.size(); ++i) {
                 s[i] = x[i] + y[i];
                 d[i % n * n + i / n] = x[i] - y[i];
             }
         }});
}

/// One random statement over matrices of shape (n, n): arithmetic, views, reductions, products,
/// joins.
inline pm::any_tensor statement(std::mt19937& random, const variables& have, std::int64_t n,
                                bool heavy) {
    const auto pick = [&] { return have[random() % have.size()]; };
    const std::int64_t both[] = {1, 0}, last[] = {1};
    const pm::any_tensor a = pick(), b = pick();
    switch (random() % (heavy ? 23 : 12)) {
        case 0: return pm::apply<pm::op::add>(a, b);
        case 1: return pm::apply<pm::op::subtract>(a, b);
        case 2: return pm::apply<pm::op::multiply>(pm::apply<pm::op::tanh>(a), b);
        case 3: return pm::apply<pm::op::maximum>(a, b);
        case 4: return pm::apply<pm::op::where>(pm::apply<pm::op::less>(a, b), a, 0.25);
        case 5: return pm::apply<pm::op::sigmoid>(a);
        case 6: return pm::apply<pm::op::multiply>(a, double(random() % 7) * 0.25 - 0.75);
        case 7: return pm::permute_dims(a, both);
        case 8: return pm::flip(a, last);
        case 9: {
            const pm::slice row[] = {{std::int64_t(random() % std::uint64_t(n)), {}, 1}, {}};
            const pm::slice first[] = {{0, 1, 1}, {}};
            return pm::apply<pm::op::add>(a, pm::slice_view(pm::slice_view(b, row), first));
        }
        case 10: return pm::reshape(pm::reshape(a, {n * n}), {n, n});
        case 11: return pm::apply<pm::op::abs>(pm::apply<pm::op::negative>(a));
        case 12:
            return pm::apply<pm::op::subtract>(a, pm::reduce(pm::reduction::mean, b, last, true));
        case 13: return pm::softmax(a, 1);
        case 14: return pm::apply<pm::op::multiply>(pm::matmul(a, b), 1.0 / double(n));
        case 15: return pm::sort(a, std::int64_t(random() % 2), random() % 2 == 0);
        case 16: return pm::roll(a, std::int64_t(random() % 5), 1);
        case 17: {
            const pm::any_tensor mean =
                pm::apply<pm::op::multiply>(pm::einsum("ij,kj->ki", a, b), 1.0 / double(n));
            return pm::einsum("ij,i->ji", mean, pm::reduce(pm::reduction::max, b, last));
        }
        case 18: {  // rows of b are added to the first rows of a, several to one
            const pm::any_tensor rows =
                pm::arange(pm::dtype::i64, 0, double(n), 1, pm::context(a.get()->owner));
            const pm::any_tensor third = pm::apply<pm::op::floor_divide>(rows, 3);
            return pm::scatter_nd(a, pm::reshape(third, {n, 1}), b, pm::scattering::sum);
        }
        case 19: return mixed()(a, b);
        case 20: return crossed().outputs<2>(a, b)[random() % 2];
        case 21: {
            const auto both_of = crossed().outputs<2>(a, b);
            return pm::apply<pm::op::maximum>(both_of[0], both_of[1]);
        }
        default: {
            const pm::slice low[] = {{0, n / 2, 1}, {}}, high[] = {{n / 2, n, 1}, {}};
            const pm::any_tensor halves[] = {pm::slice_view(b, high), pm::slice_view(a, low)};
            return pm::concat(halves, 0);
        }
    }
}

struct program_kind {
    bool heavy = true;  // with reductions, products and joins
    int variables = 3;
    int most = 15;         // statements
    float start = 0;       // added to the values that the variables start with
    bool evaluate = true;  // now and then, within the program
};

/// What a program starts with: matrices of one size.
inline variables beginning(std::mt19937& random, const pm::context& home,
                           const program_kind& kind = {}) {
    const std::int64_t n = 2 + std::int64_t(random() % 9);
    variables held;
    for (int v = 0; v < kind.variables; ++v) {
        std::vector<float> start(static_cast<std::size_t>(n * n));
        for (float& x : start) x = float(int(random() % 41) - 20) / 16 + kind.start;
        held.push_back(pm::from_bytes(pm::dtype::f32, {n, n}, std::as_bytes(std::span(start)),
                                      home));
    }
    return held;
}

/// Statements that assign to random variables, so that old values stay alive in views only.
inline void assign(std::mt19937& random, variables& held, const program_kind& kind = {}) {
    const pm::context home(held[0].get()->owner);
    const std::int64_t n = held[0].shape()[0];
    const int length = 2 + int(random() % unsigned(kind.most - 1));
    for (int s = 0; s < length; ++s) {
        const std::size_t target = random() % held.size();
        held[target] = statement(random, held, n, kind.heavy);
        if (home.get()->policies().eager && !held[target].get()->realised())
            pm::eval(std::span<const pm::any_tensor>(&held[target], 1));
        if (random() % 8 == 0 && kind.evaluate)
            pm::eval(std::span<const pm::any_tensor>(&held[random() % held.size()], 1));
    }
}

/// A program from its beginning.
inline variables run(const pm::context& home, unsigned seed, const program_kind& kind = {}) {
    std::mt19937 random(seed);
    variables held = beginning(random, home, kind);
    assign(random, held, kind);
    return held;
}

/// A short program of four variables as a recording, with what it starts with.
struct traced_program {
    variables start;
    pm::executable recording;

    traced_program(unsigned seed, const pm::context& home) : start(start_of(seed, home)) {
        const std::vector<pm::executable::value> inputs(start.size(),
                                                        {pm::dtype::f32, start[0].shape()});
        recording = pm::trace(home, inputs, [&](std::span<const pm::any_tensor> given) {
            variables held(given.begin(), given.end());
            std::mt19937 random(seed);
            assign(random, held, kind());
            return std::vector<pm::any_tensor>(held);
        });
    }
    static variables start_of(unsigned seed, const pm::context& home) {
        std::mt19937 random(seed);
        return beginning(random, home, kind());
    }
    static program_kind kind() {
        program_kind k;
        k.evaluate = false;
        k.variables = 4;
        k.most = 8;
        return k;
    }
};

inline int differences(const variables& a, const variables& b) {
    int wrong = 0;
    for (std::size_t v = 0; v < a.size(); ++v) {
        const std::vector<float> x = pm::to_vector<float>(a[v]), y = pm::to_vector<float>(b[v]);
        for (std::size_t i = 0; i < x.size(); ++i)
            wrong += !(std::fabs(x[i] - y[i]) <= 2e-5f * (1 + std::fabs(y[i])) ||
                       (std::isnan(x[i]) && std::isnan(y[i])));
    }
    return wrong;
}

/// The elements of all variables, after each other; one evaluation.
inline std::vector<float> elements_of(const variables& all_of) {
    pm::eval(all_of);
    std::vector<float> all;
    for (const pm::any_tensor& v : all_of) {
        const std::vector<float> one = pm::to_vector<float>(v);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace test
