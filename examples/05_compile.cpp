// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A function recorded once, then run in a loop that builds, records and allocates nothing.
#include <pumice.hpp>

#include <cstdio>

namespace pm = pumice;

int main() try {
    const pm::matrix<float> w1 = pm::random::normal<float>({64, 128}),
                            w2 = pm::random::normal<float>({128, 10});
    pm::eval(w1, w2);

    // Called once, with a tensor that has no values; w1 and w2 become constants of the recording.
    const auto classify = pm::compile([=](const pm::matrix<float>& x) {
        const pm::matrix<float> hidden = pm::relu(pm::matmul(x, w1));
        return pm::matrix<float>(pm::softmax(pm::matmul(hidden, w2), pm::axis<1>));
    });

    // Used like the function itself.
    const pm::matrix<float> x = pm::random::normal<float>({8, 64});
    const pm::matrix<float> y = classify(x);
    std::printf("row 0 sums to %.4f\n", double(pm::sum(y, pm::axis<1>).to_vector()[0]));

    // Or as what it is: into the same output each time, with new numbers in the same input.
    const pm::executable recorded = classify.get(x);
    std::printf("%s", recorded.explain().c_str());
    pm::any_tensor input = pm::zeros(pm::dtype::f32, {8, 64});
    std::vector<pm::any_tensor> inputs(1), outputs(1);
    std::vector<float> numbers(8 * 64), probabilities(8 * 10);
    const pm::statistics before = pm::stats();
    for (int step = 0; step < 100; ++step) {
        numbers[0] = float(step);
        inputs[0] = {};  // `input` is the only handle now, so it is written in place
        pm::write(input, std::as_bytes(std::span(numbers)));
        inputs[0] = input;
        recorded.run_into(outputs, inputs);
        pm::read(outputs[0], std::as_writable_bytes(std::span(probabilities)));
    }
    const pm::statistics after = pm::stats();
    std::printf("100 runs: %d submits, %d recordings\n", int(after.submits - before.submits),
                int(after.recordings - before.recordings));
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
