// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One recording for every length up to a bound: planned once, and nothing behind a length is read.
#include <pumice.hpp>
#include <pumice/varying.hpp>

#include <cstdio>

namespace pm = pumice;

int main() try {
    const std::int64_t width = 32;
    const pm::matrix<float> wq = pm::random::normal<float>({width, width}),
                            wk = pm::random::normal<float>({width, width});
    pm::eval(wq, wk);

    // The rows of x are tokens; how many there are, each call says.
    const auto attention = [=](const pm::matrix<float>& x) {
        const pm::matrix<float> q = pm::matmul(x, wq), k = pm::matmul(x, wk);
        const pm::matrix<float> scores = pm::matmul(q, pm::permute_dims(k, pm::axes<1, 0>)) * 0.18f;
        return pm::vector<float>(pm::mean(pm::matmul(pm::softmax(scores, pm::axis<1>), x),
                                          pm::axis<0>));
    };
    const auto any_length = pm::compile(attention, pm::varying{.at_most = 256});

    for (const std::int64_t length : {256, 17, 100, 1, 255}) {
        const pm::matrix<float> x = pm::random::normal<float>({length, width});
        const pm::vector<float> y = any_length(x), z = attention(x);
        std::printf("%3d tokens: %8.4f, and alone %8.4f\n", int(length), double(y.to_vector()[0]),
                    double(z.to_vector()[0]));
    }
    std::printf("recorded functions: %d\n", int(any_length.recorded()));
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
