// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a family of ops (add_family.hpp): it is built, fused, kept in plans, placed and
// checked as the library's own are.
#include <tests/extend/add_family.hpp>
#include <tests/support/thrown.hpp>

#include <pumice/front.hpp>
#include <pumice/graph/print.hpp>
#include <pumice/policy/passes.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;

namespace {

double distance_of(const std::vector<double>& a, const std::vector<double>& b, std::int64_t k,
                   std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t c = 0; c < k; ++c) {
        const double d =
            a[static_cast<std::size_t>(i * k + c)] - b[static_cast<std::size_t>(j * k + c)];
        sum += d * d;
    }
    return sum;
}

std::vector<double> some(std::int64_t count, int seed) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < count; ++i)
        v.push_back(static_cast<double>((i * 7 + seed) % 11) / 4);
    return v;
}

}  // namespace

TEST_CASE("extend: a family of one's own has what is elementwise around it in its kernel") {
    for (const pm::context& home : {pm::context(), pm::context(pm::host_only{})})
        for (const pm::dtype type : {pm::dtype::f32, pm::dtype::f16})
            for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{3, 5, 4},
                                          {70, 33, 17},
                                          {1, 1, 1},
                                          {4, 3, 0},
                                          {0, 3, 4}}) {
                const std::vector<double> a = some(m * k, 1), b = some(n * k, 5);
                const auto tensor = [&](const std::vector<double>& v, std::int64_t rows) {
                    const std::vector<float> narrow(v.begin(), v.end());
                    return pm::astype(pm::from_span<float>(pm::shape{rows, k}, narrow, home), type);
                };
                pm::any_tensor x = tensor(a, m), y = tensor(b, n);
                pm::eval(x, y);
                const std::uint64_t before = home.stats().dispatches;
                const pm::any_tensor root =
                    pm::sqrt(mine::distance(x * 2.0,
                                            pm::flip(y, std::array<std::int64_t, 1>{0}) * 2.0));
                CHECK(root.shape() == pm::shape{m, n});
                const auto got = pm::to_vector<float>(pm::astype(root, pm::dtype::f32));
                if (home.device().type != pm::device_type::host && type == pm::dtype::f32)
                    CHECK(home.stats().host_kernels == 0);
                CHECK(home.stats().dispatches - before <= 2);  // one more is the cast's own at most
                for (std::int64_t i = 0; i < m; ++i)
                    for (std::int64_t j = 0; j < n; ++j)
                        CHECK(got[static_cast<std::size_t>(i * n + j)] ==
                              doctest::Approx(2 * std::sqrt(distance_of(a, b, k, i, n - 1 - j)))
                                  .epsilon(type == pm::dtype::f16 ? 2e-3 : 1e-5));
            }
}

TEST_CASE("extend: a family of one's own is checked, merged, drawn and recorded") {
    int passes = 0;
    const pm::context home(pm::graph_pass{"look", [&](pm::op_graph& graph) {
                                              for (const pm::graph_node* n : graph.order())
                                                  passes += n->op().is<mine::distance_op>();
                                          }});
    const pm::any_tensor a = pm::full(pm::dtype::f32, {4, 3}, 1, home),
                         b = pm::full(pm::dtype::f32, {5, 3}, 0, home);
    const pm::any_tensor d = mine::distance(a, b);
    CHECK(pm::to_dot(d).find("mine/distance") != std::string::npos);
    pm::any_tensor both =
        pm::concat(std::array{pm::reshape(d, {20}), pm::reshape(mine::distance(a, b), {20})});
    CHECK(pm::to_vector<float>(both) == std::vector<float>(40, 3.0f));
    CHECK(passes > 0);
    const auto f = pm::compile([](const pm::any_tensor& x, const pm::any_tensor& y) {
        return mine::distance(x, y) + 1.0;
    });
    for (int i = 0; i < 3; ++i)
        CHECK(pm::to_vector<float>(f(a, b)) == std::vector<float>(20, 4.0f));
    CHECK(test::thrown_by([&] {
              mine::distance(a, pm::full(pm::dtype::f32, {5, 4}, 1, home));
          }).code() == pm::errc::shape_mismatch);
}
