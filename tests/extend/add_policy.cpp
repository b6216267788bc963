// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a policy: a class with apply(policy_set&), handed to a context.
#include <pumice/front.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace mine {
/// The kernel that takes most: what a test takes to see the others too.
struct dearest {
    void apply(pm::policy_set& set) const {
        set.kernel = [](std::span<const pm::kernel_candidate> able) {
            std::size_t most = 0;
            for (std::size_t i = 1; i < able.size(); ++i)
                if (able[i].seconds > able[most].seconds) most = i;
            return most;
        };
    }
};
static_assert(pm::policy<dearest>);
}  // namespace mine

TEST_CASE("extend: a policy of one's own chooses the kernel, and explain() says so") {
    const pm::context usual, home(mine::dearest{});
    for (const pm::context* c : {&usual, &home}) {
        const pm::vector<float> x = pm::ones<float>({64}, *c);
        const pm::vector<float> y = x + 1.0f;
        CHECK(y.to_vector() == std::vector<float>(64, 2.0f));
        if (c->device().type == pm::device_type::host) continue;
        const bool strided = pm::explain(y).find("elementwise/strided (") != std::string::npos;
        CHECK(strided == (c == &home));
    }
}
