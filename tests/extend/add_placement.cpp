// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a placement policy: a class with apply(policy_set&) that sets where each step runs.
#include <pumice/front.hpp>
#include <pumice/policy/placement.hpp>

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace mine {
/// Each step in turn goes where its result is expected first: where its operands are ready, with
/// the time that those of another place take on the way.
struct soonest {
    double bytes_a_second = 10e9, latency = 10e-6;  // of a copy between places
    void apply(pm::policy_set& set) const {
        set.place = [*this](pm::placement& p) {
            std::vector<double> ready(p.steps.size());
            for (std::size_t i = 0; i < p.steps.size(); ++i) {
                double best = 1e300;
                for (int place = 0; place < int(p.places.size()); ++place) {
                    if (!p.steps[i].can_run_at(place)) continue;
                    double start = 0;
                    for (const pm::operand_view& o : p.steps[i].operands) {
                        const bool made = o.made_by >= 0;
                        const auto by = std::size_t(made ? o.made_by : 0);
                        const bool here = made ? p.at[by] == place : o.holders >> place & 1;
                        start =
                            std::max(start,
                                     (made ? ready[by] : 0) +
                                         (here ? 0 : latency + double(o.bytes) / bytes_a_second));
                    }
                    const double end = start + p.steps[i].seconds[std::size_t(place)];
                    if (end >= best) continue;
                    best = ready[i] = end;
                    p.at[i] = place;
                }
            }
        };
    }
};
static_assert(pm::policy<mine::soonest>);
}  // namespace mine

TEST_CASE("extend: a placement policy of one's own sends little to the host, much to the device") {
    const pm::context home(mine::soonest{});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host alone is one place");
    const pm::vector<float> small = pm::ones<float>({8}, home);
    CHECK(pm::explain(pm::vector<float>(small + 1.0f)).find("host/elementwise") !=
          std::string::npos);
    const pm::matrix<float> large = pm::ones<float>({512, 512}, home);
    const pm::matrix<float> product = pm::matmul(large, large);
    CHECK(pm::explain(product).find("host/") == std::string::npos);
    // The sum of a row is the device's work, what becomes of so little of it the host's.
    const pm::vector<float> sums = pm::sum(product, pm::axis<1>);
    CHECK(sums.to_vector()[511] == 512 * 512);
    const pm::vector<float> next = pm::vector<float>(sums * 2.0f + 1.0f);
    CHECK(next.to_vector()[0] == 512 * 512 * 2 + 1);
}
