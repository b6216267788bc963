// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One expression, one kernel: its Slang text, its result against plain C++, what it cost.
#include <pumice.hpp>

#include <cmath>
#include <iostream>

namespace pm = pumice;

int main() try {
    pm::matrix<float> a = pm::random::normal<float>({256, 1000});
    pm::matrix<float> b = pm::random::normal<float>({256, 1000});
    pm::vector<float> c = pm::linspace<float>(-1, 1, 1000);
    pm::eval(a, b, c);

    auto y = pm::relu(a * b + c);           // an expression: a type. Nothing runs.
    static_assert(pm::fuses<decltype(y)>);  // one kernel, and the compiler knows it
    std::cout << pm::kernel_source(y) << '\n';

    const pm::statistics before = pm::stats();
    pm::matrix<float> z = y;
    pm::eval(z);  // here it runs
    const pm::statistics after = pm::stats();

    const std::vector<float> va = a.to_vector(), vb = b.to_vector(), vc = c.to_vector(),
                             vz = z.to_vector();
    double worst = 0;
    for (std::size_t i = 0; i < vz.size(); ++i) {
        const float x = va[i] * vb[i] + vc[i % 1000];
        worst = std::max(worst, std::fabs(double(vz[i]) - double(x < 0 ? 0 : x)));
    }
    std::cout << z << "\n\n"
              << pm::explain(z) << "largest difference to plain C++: " << worst << '\n'
              << "dispatches=" << after.dispatches - before.dispatches << '\n'
              << "slang_opens=" << after.slang_opens << '\n'  // 0: the kernels were in the cache
              << pm::default_context().device_report();
    return worst < 1e-6 ? 0 : 1;
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
