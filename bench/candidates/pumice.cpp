// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Whether the kernel that is chosen is the best one: each candidate of each case is run, and its
// time printed beside what was expected of it. usage: [part of a name] [divisor of sizes]
#include <bench/support/measure.hpp>

#include <pumice/measure_rates.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace pm = pumice;

namespace {

struct candidate {
    std::string name;
    double expected = 0, measured = 0;  // seconds
};

/// The candidates of the last kernel that was asked for, where somebody wants to know.
bool asking = false;
std::size_t wanted = 0;
std::vector<candidate> offered;

std::size_t pick(std::span<const pm::kernel_candidate> list) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < list.size(); ++i)
        if (list[i].seconds < list[best].seconds) best = i;
    if (!asking) return best;
    offered.clear();
    for (const pm::kernel_candidate& c : list) {
        std::string name(c.name);
        for (const int n : c.sizes)
            if (n != 0) pm::append_text(name, {" ", n});
        offered.push_back({name, c.seconds, 0});
    }
    return wanted < list.size() ? wanted : best;
}

struct input {
    pm::dtype type;
    pm::shape extent;
};
struct test_case {
    std::string name;
    std::vector<input> inputs;
    std::function<pm::any_tensor(std::span<const pm::any_tensor>)> op;
};

pm::device_rates rates;
bool shrunk = false;

/// A context for each candidate: what is chosen is kept with the plan.
double run(const test_case& c, std::size_t candidate) {
    const pm::context home(pm::choose_kernel{pick}, pm::measured_rates{rates});
    std::vector<pm::any_tensor> inputs;
    for (const input& i : c.inputs)
        inputs.push_back(pm::random::normal(i.type, i.extent, pm::random::key(1), 0, 1, home));
    pm::eval(inputs);
    wanted = candidate;
    bench::keep_busy(home, shrunk ? 0 : 0.05);
    asking = true;
    const double seconds = pm::kernel_seconds(home, [&] { return c.op(inputs); });
    asking = false;
    return seconds;
}

}  // namespace

int main(int argc, char** argv) try {
    const char* const only = argc > 1 ? argv[1] : "";
    const std::int64_t shrink = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1;
    shrunk = shrink > 1;
    rates = pm::measure_rates();
    {
        bench::json_line line;
        bench::add_machine(line, pm::default_context());
        line.add("gbps", rates.bandwidth * 1e-9)
            .add("tflops", rates.arithmetic * 1e-12)
            .add("matrix_tflops", rates.matrix * 1e-12)
            .add("launch_us", rates.launch * 1e6);
    }

    std::vector<test_case> cases;
    const auto less = [&](std::int64_t n) {
        return n < 64 ? n : std::max<std::int64_t>(n / shrink, 1);
    };
    const auto like = [&](pm::dtype t, pm::shape s) {
        for (std::int64_t& n : s) n = less(n);
        return input{t, s};
    };
    const auto product = [&](pm::dtype t, std::int64_t m, std::int64_t n, std::int64_t k) {
        cases.push_back({pm::cat({"matmul ", pm::to_string(t), " ", m, "x", n, "x", k}),
                         {like(t, {m, k}), like(t, {k, n})},
                         [](std::span<const pm::any_tensor> x) { return pm::matmul(x[0], x[1]); }});
    };
    struct sizes {
        std::int64_t m, n, k;
    };
    for (const auto& [m, n, k] : {sizes{4096, 4096, 4096},
                                  {1024, 1024, 1024},
                                  {512, 512, 512},
                                  {256, 256, 256},
                                  {64, 64, 64},
                                  {1, 4096, 4096},
                                  {8, 4096, 4096},
                                  {64, 4096, 1024},
                                  {1, 128, 784},
                                  {2000, 2000, 100},
                                  {33, 65, 1000},
                                  {100, 10, 10000},
                                  {1, 338352, 784},
                                  {1, 10, 338352}})
        product(pm::dtype::f32, m, n, k);
    for (const auto& [m, n, k] : {sizes{4096, 4096, 4096},
                                  {2048, 2048, 2048},
                                  {1024, 1024, 1024},
                                  {512, 512, 512},
                                  {128, 128, 128},
                                  {4096, 512, 14336},
                                  {512, 512, 8192},
                                  {1, 4096, 4096},
                                  {8, 4096, 4096},
                                  {32, 4096, 4096},
                                  {1000, 1000, 64},
                                  {1, 128, 784}})
        product(pm::dtype::f16, m, n, k);
    // A matrix of 14336 rows of 4096: times vectors, and vectors times it.
    for (const pm::dtype t : {pm::dtype::f32, pm::dtype::f16})
        for (const std::int64_t m : {1, 8}) {
            product(t, m, 4096, 14336);
            cases.push_back({pm::cat({"matmul ", pm::to_string(t), " ", m, "x14336x4096 turned"}),
                             {like(t, {m, 4096}), like(t, {14336, 4096})},
                             [](std::span<const pm::any_tensor> x) {
                                 const std::array<std::int64_t, 2> turned{1, 0};
                                 return pm::matmul(x[0], pm::permute_dims(x[1], turned));
                             }});
        }
    const auto rows = [&](const char* name, const pm::shape& s, auto op) {
        cases.push_back({pm::cat({name, " ", pm::to_string(s)}),
                         {like(pm::dtype::f32, s)},
                         [op](std::span<const pm::any_tensor> x) {
                             return pm::any_tensor(op(x[0]));
                         }});
    };
    const auto sum_last = [](const pm::any_tensor& x) {
        return pm::any_tensor(pm::sum(pm::matrix<float>(x), pm::axis<1>));
    };
    for (const pm::shape& s : {pm::shape{8192, 8192},
                               {1, 1 << 24},
                               {64, 1 << 18},
                               {1 << 20, 16},
                               {4096, 500},
                               {1, 100000}})
        rows("sum of rows", s, sum_last);
    for (const pm::shape& s : {pm::shape{8192, 8192}, {1 << 18, 64}, {1000, 1000}})
        rows("sum of columns", s, [](const pm::any_tensor& x) {
            return pm::any_tensor(pm::sum(pm::matrix<float>(x), pm::axis<0>));
        });
    for (const pm::shape& s : {pm::shape{8192, 8192}, {64, 32768}, {100000, 100}, {32, 1000}})
        rows("softmax of rows", s, [](const pm::any_tensor& x) {
            return pm::any_tensor(pm::softmax(pm::matrix<float>(x), pm::axis<1>));
        });
    const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t window,
                          int group = 1, std::int64_t images = 1, pm::dtype type = pm::dtype::f32) {
        cases.push_back({pm::cat({"conv ", pm::to_string(type), " ", images, " of ", in, " to ",
                                  out, " in ", group, ", ", size, "x", size, " by ", window}),
                         {{type, {images, in, size, size}},
                          {type, {out, in / group, window, window}}},
                         [window, group](std::span<const pm::any_tensor> x) {
                             pm::conv_op how;
                             how.group = group;
                             for (int i = 0; i < 2; ++i)
                                 how.pad_begin[i] = how.pad_end[i] = static_cast<int>(window / 2);
                             return pm::conv(x[0], x[1], how);
                         }});
    };
    conv(1, 8, 28, 5);
    conv(8, 16, 14, 5);
    conv(3, 64, 112, 7);
    conv(32, 32, 56, 3, 8);
    conv(64, 64, 28, 3, 64);
    for (const pm::dtype t : {pm::dtype::f32, pm::dtype::f16}) conv(256, 256, 56, 3, 256, 32, t);
    for (const pm::dtype t : {pm::dtype::f32, pm::dtype::f16}) {
        conv(256, 512, 14, 5, 1, 1, t);
        conv(512, 1024, 7, 5, 1, 1, t);
        conv(1024, 2048, 3, 5, 1, 1, t);
        conv(3, 64, 224, 7, 1, 8, t);
        conv(256, 256, 56, 3, 1, 8, t);
        conv(512, 512, 7, 3, 1, 32, t);
    }
    conv(16, 16, 56, 3);
    conv(512, 512, 7, 3);
    conv(64, 64, 56, 3);
    rows("softmax of columns", {1000, 1000}, [](const pm::any_tensor& x) {
        return pm::any_tensor(pm::softmax(pm::matrix<float>(x), pm::axis<0>));
    });
    for (const pm::shape& s :
         {pm::shape{8192, 8192}, {1000, 1000}, {64, 100000}, {100000, 8}, {20, 300000}})
        rows("transpose", s, [](const pm::any_tensor& x) {
            return pm::any_tensor(pm::transpose(pm::matrix<float>(x)) * 1.0f);
        });
    for (const pm::shape& s :
         {pm::shape{8192, 8192}, {100000, 64}, {4096, 1000}, {256, 20000}, {1, 10000000}})
        rows("argsort of rows", s, [](const pm::any_tensor& x) { return pm::argsort(x, 1); });

    int close = 0, told = 0, count = 0;
    for (const test_case& c : cases) {
        if (c.name.find(only) == std::string::npos) continue;
        run(c, 0);
        std::vector<candidate> list = offered;
        std::size_t chosen = 0;
        for (std::size_t i = 1; i < list.size(); ++i)
            if (list[i].expected < list[chosen].expected) chosen = i;
        std::size_t best = chosen;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].expected > 6 * list[chosen].expected) continue;
            list[i].measured = run(c, i);
            if (list[best].measured == 0 || list[i].measured < list[best].measured) best = i;
        }
        for (const candidate& k : list) {
            if (k.measured <= 0) continue;
            bench::json_line line;
            line.add("case", c.name)
                .add("kernel", k.name)
                .add("expected_us", k.expected * 1e6)
                .add("us", k.measured * 1e6);
            if (&k == &list[chosen]) line.add("chosen", 1);
            if (&k == &list[best]) line.add("best", 1);
        }
        ++count;
        close += list[chosen].measured <= 1.1 * list[best].measured;
        const double off = list[chosen].expected / list[chosen].measured;
        told += off >= 0.5 && off <= 2;
    }
    bench::json_line()
        .add("cases", count)
        .add("within_10_percent_of_best", close)
        .add("expected_within_2", told);
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
