// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The new element type at work: every bit pattern through a kernel, a chain, a sum.
#include <pumice.hpp>

#include <cmath>
#include <iostream>

namespace pm = pumice;

int main() try {
    int wrong = 0;
    const auto check = [&](const char* what, std::size_t i, float got, float want) {
        if (got == want || (std::isnan(got) && std::isnan(want))) return;
        std::cout << what << ' ' << i << " is " << got << ", not " << want << '\n';
        ++wrong;
    };
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})}) {
        std::cout << home.device().name << '\n';
        std::vector<pm::e4m3fnuz> all(256);
        for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint8_t>(i);
        const pm::vector<pm::e4m3fnuz> x = pm::from_span<pm::e4m3fnuz>({256}, all, home);
        const std::vector<float> as_float = pm::vector<float>(pm::astype<float>(x)).to_vector();
        const std::vector<pm::e4m3fnuz> chain =
            pm::vector<pm::e4m3fnuz>(pm::relu(x * 0.75f + 1.0f)).to_vector();
        for (std::size_t i = 0; i < all.size(); ++i) {
            check("value", i, as_float[i], all[i]);
            const float y = float(all[i]) * 0.75f + 1.0f;
            check("chain", i, chain[i], pm::e4m3fnuz(y < 0 ? 0 : y));
        }
        const pm::matrix<pm::e4m3fnuz> ones = pm::ones<pm::e4m3fnuz>({3, 40}, home);
        check("sum", 0, pm::vector<pm::e4m3fnuz>(pm::sum(ones, pm::axis<1>)).to_vector()[2], 40);
        std::cout << pm::matrix<pm::e4m3fnuz>(ones * 1.5f) << '\n';
    }
    return wrong == 0 ? 0 : 1;
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
