// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loops over dense floats against the same in double.
#include <pumice/host/lanes.hpp>

#include <doctest/doctest.h>

#include <random>
#include <utility>
#include <vector>

using namespace pumice::detail;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(),
                quiet_nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> floats_between(std::int64_t n, float low, float high) {
    static std::mt19937 random(3);
    std::uniform_real_distribution<float> any(low, high);
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = any(random);
    return v;
}

}  // namespace

TEST_CASE("sums stay within 4 eps log2(n) sum|x|, for one sign and for both") {
    for (const std::int64_t n : {0, 1, 2, 7, 8, 9, 31, 33, 511, 512, 513, 5000, 100003})
        for (const float low : {0.5f, -1.0f}) {
            const std::vector<float> v = floats_between(n, low, 1.0f);
            double sum = 0, size = 0;
            for (const float x : v) sum += double(x), size += std::fabs(double(x));
            const double bound = 4 * 0x1p-23 * std::log2(std::max(2.0, double(n))) * size;
            CHECK(std::fabs(run_wide(sum_of_floats{}, v.data(), n) - sum) <= bound);
        }
}

TEST_CASE("a NaN anywhere is the extreme; so is the start where there is nothing") {
    for (const std::int64_t n : {0, 1, 15, 16, 17, 40}) {
        std::vector<float> v = floats_between(n, -5, 5);
        float top = -inf, low = inf;
        for (const float x : v) top = std::max(top, x), low = std::min(low, x);
        CHECK(run_wide(extreme_of_floats<1>{}, v.data(), n, -inf) == top);
        CHECK(run_wide(extreme_of_floats<-1>{}, v.data(), n, inf) == low);
        for (std::size_t i = 0; i < v.size(); ++i) {
            const float kept = std::exchange(v[i], quiet_nan);
            CHECK(std::isnan(run_wide(extreme_of_floats<1>{}, v.data(), n, -inf)));
            CHECK(std::isnan(run_wide(extreme_of_floats<-1>{}, v.data(), n, inf)));
            v[i] = kept;
        }
    }
}

TEST_CASE("e^x is right to 2 ulp down to the least number, then 0") {
    const std::vector<float> some = floats_between(100000, -110, 0);
    std::vector<float> v = some;
    for (const float x : {0.0f, -0.0f, -1e-30f, -0.34657f, -0.3466f, -87.33f, -87.34f, -103.9f,
                          -104.1f, -1e30f, -inf})
        v.push_back(x);
    std::vector<float> out(v.size());
    run_wide(exp_of_floats{}, v.data(), std::int64_t(v.size()), 0.0f, out.data());
    int wrong = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
        const double right = std::exp(double(v[i]));
        const double ulp =
            std::max(0x1p-149, std::ldexp(1.0, std::ilogb(std::max(right, 1e-300)) - 23));
        wrong += std::fabs(double(out[i]) - right) > 2 * ulp;
    }
    CHECK(wrong == 0);
    CHECK(out[100000] == 1.0f);
    CHECK(out.back() == 0.0f);
    float one[] = {quiet_nan, 0};
    run_wide(exp_of_floats{}, one, std::int64_t(2), 0.0f, one);
    CHECK((std::isnan(one[0]) && one[1] == 1.0f));
}

TEST_CASE("softmax and its logarithm, in place too, of any length") {
    for (const std::int64_t n : {1, 2, 8, 9, 100, 511, 513, 3000}) {
        const std::vector<float> v = floats_between(n, -20, 20);
        double top = -1e9, sum = 0;
        for (const float x : v) top = std::max(top, double(x));
        for (const float x : v) sum += std::exp(double(x) - top);
        std::vector<float> soft = v, logarithm(v.size());
        run_wide(softmax_of_floats<false>{}, soft.data(), n, soft.data());
        run_wide(softmax_of_floats<true>{}, v.data(), n, logarithm.data());
        bool near = true;
        for (std::size_t i = 0; i < v.size(); ++i) {
            const double right = std::exp(double(v[i]) - top) / sum,
                         log = double(v[i]) - top - std::log(sum);
            // The difference to the top is rounded before its power is taken.
            const double eps = (4 + top - double(v[i])) * 0x1p-23;
            near = near && std::fabs(double(soft[i]) - right) <= eps * right + 0x1p-149;
            near = near && std::fabs(double(logarithm[i]) - log) <= 0x1p-22 * (1 + std::fabs(log));
        }
        CHECK(near);
    }
    float ends[] = {-inf, 3, -inf};
    run_wide(softmax_of_floats<false>{}, ends, std::int64_t(3), ends);
    CHECK((ends[0] == 0 && ends[1] == 1 && ends[2] == 0));
}
