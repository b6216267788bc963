// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exec/plan/print.hpp>
#include <pumice/front.hpp>
#include <pumice/policy/placement.hpp>

#include <tests/extend/add_backend.hpp>

#include <doctest/doctest.h>

namespace {

pm::executable two_layers(const pm::context& home, bool names) {
    const auto called = [&](const pm::any_tensor& t, const char* name) {
        return names ? pm::named(t, name) : t;
    };
    const pm::any_tensor w = called(pm::full(pm::dtype::f32, {3, 2}, 0.5, home), "w");
    pm::eval(std::span(&w, 1));
    const pm::executable::value in[] = {{pm::dtype::f32, {4, 3}}};
    return pm::trace(home, in, [&](std::span<const pm::any_tensor> x) {
        const pm::any_tensor h = called(pm::matmul(called(x[0], "x"), w), "h");
        const pm::any_tensor a = called(pm::relu(h + 1.0), "a");
        return std::vector<pm::any_tensor>{called(pm::softmax(a, 1), "p"), a};
    });
}

}  // namespace

TEST_CASE("plan print: a line a step, with names, sizes, places, uses and origin") {
    const pm::context home(pm::host_only{});
    CHECK(pm::to_text(two_layers(home, true).planned()) ==
          R"(2 steps, 4 values
0 matmul | add, relu: a f32 (4, 2) 32 B at 0, use 1 <- x 48 B input, w 24 B constant [h, a]
1 normalize softmax: p f32 (4, 2) 32 B at 0, use 0 <- a 32 B at 0 [p]
)");
    CHECK(pm::to_text(two_layers(home, false).planned()) ==
          R"(2 steps, 4 values
0 matmul | add, relu: %2 f32 (4, 2) 32 B at 0, use 1 <- %0 48 B input, %1 24 B constant
1 normalize softmax: %3 f32 (4, 2) 32 B at 0, use 0 <- %2 32 B at 0
)");
}

TEST_CASE("plan print: what crosses to another place is called after what it copies") {
    const pm::context home(mine::on_mine{1 << 20}, pm::place_steps{[](pm::placement& p) {
                               for (std::size_t i = 0; i < p.at.size(); ++i)
                                   p.at[i] = static_cast<int>(i % 3);
                           }});
    const std::string text = pm::to_text(two_layers(home, true).planned());
    CHECK(text.find("a (copy) f32 (4, 2) 32 B at 1, use 1 <- a 32 B at 0 [a (copy)]\n") !=
          text.npos);
    CHECK(text.find("<- a (copy) 32 B at 1 [p]\n") != text.npos);
}
