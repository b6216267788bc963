// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Policies of a context: which device, which kernels, whether to fuse; and one of your own.
#include <pumice.hpp>

#include <iostream>

namespace pm = pumice;

/// Takes the last candidate that the device supports, and says what it was offered.
struct last_of_the_list {
    void apply(pm::policy_set& set) const {
        set.kernel = [](std::span<const pm::kernel_candidate> list) {
            for (const pm::kernel_candidate& c : list) std::cout << "offered " << c.name << '\n';
            return list.size() - 1;
        };
    }
};
static_assert(pm::policy<last_of_the_list>);

float run(const pm::context& home) {
    const pm::statistics before = home.stats();
    const auto values = std::vector<float>(64 * 64, 0.5f);
    pm::matrix<float> a = pm::from_span<float>({64, 64}, values, home);
    pm::matrix<float> y = pm::relu(pm::matmul(a, a) - 1.0f) * 2.0f;
    const float first = y.to_vector()[0];
    std::cout << home.device().name << ": " << home.stats().dispatches - before.dispatches
              << " kernels, y[0] = " << first << '\n';
    return first;
}

int main() try {
    const float expected = run(pm::context(pm::host_only{}));
    bool same = run(pm::context(pm::prefer_discrete{}, pm::portable{})) == expected;
    same &= run(pm::context(pm::fusion::none{})) == expected;
    same &= run(pm::context(last_of_the_list{})) == expected;
    std::cout << (same ? "all agree\n" : "they differ\n");
    return same ? 0 : 1;
} catch (const pm::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
