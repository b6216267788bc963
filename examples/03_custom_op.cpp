// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An elementwise op of your own in one line, and a composite of existing ops: both fuse like any
// other.
#include <pumice.hpp>

#include <iostream>

namespace pm = pumice;

namespace mine {
PUMICE_OP(swish2, 1, pumice::rules::floating, "", x* pm_sigmoid(x + x));

/// A composite is a function; its argument has a name, so it is computed once.
auto normalised(const pm::matrix<float>& x) {
    return (x - pm::mean(x, pm::axis<1>, pm::keepdims)) * 0.5f;
}
}  // namespace mine

int main() try {
    pm::matrix<float> x = pm::random::uniform<float>({4, 6}, pm::random::key(1), -3, 3);
    auto y = mine::swish2(x * 2.0f) + 1.0f;
    static_assert(pm::fuses<decltype(y)>);
    std::cout << pm::kernel_source(y) << y << "\n\n";
    pm::matrix<float> z = mine::swish2(mine::normalised(x));
    std::cout << z << '\n' << pm::explain(z);
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
