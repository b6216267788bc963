// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Functions recorded once for all extents up to a bound give what they give for each extent, on
// every device and with every kernel; they read nothing behind an extent, and refuse what they
// cannot plan.
#include <pumice/control.hpp>
#include <pumice/front.hpp>
#include <pumice/policy/passes.hpp>
#include <pumice/varying.hpp>

#include "support.hpp"

#include <pumice/exec/null_engine.hpp>
#include <pumice/exec/plan/verify.hpp>
#include <pumice/exec/record_pack.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace pm = pumice;
using pumice_test::code_of, pumice_test::text_of_error;
using any = pm::any_tensor;
using tensors = std::span<const any>;

namespace {

constexpr double short_list = 2.5;  // all functions with validation, a quarter with sanitizers

std::span<const std::int64_t> axis(std::size_t i) {
    static constexpr std::int64_t list[] = {0, 1, 2};
    return {list + i, 1};
}
any transposed(const any& x) {
    static constexpr std::int64_t order[] = {1, 0};
    return pm::permute_dims(x, order);
}
any joined(std::initializer_list<any> parts, std::int64_t along) {
    return pm::concat(std::span(parts.begin(), parts.size()), along);
}

/// An argument: its shape, in which -1 is the extent, and its element type.
struct argument {
    pm::shape extent;
    pm::dtype type = pm::dtype::f32;

    pm::shape at(std::int64_t n) const {
        pm::shape s = extent;
        for (std::int64_t& d : s) d = d < 0 ? n : d;
        return s;
    }
    pm::index_list axes() const {
        pm::index_list list;
        for (int d = 0; d < extent.rank(); ++d)
            if (extent[d] < 0) list.push_back(d);
        return list;
    }
};

/// A function of run-time types and what it takes.
struct varying_case {
    const char* name;
    std::int64_t most;
    std::vector<argument> takes;
    any (*f)(tensors x);
    std::int64_t least = 0;
    std::int64_t joins_at = 2;  // an extent that is not recorded apart
};

std::vector<any> arguments(const varying_case& c, std::int64_t n, const pm::context& home) {
    std::vector<any> list;
    for (std::size_t i = 0; i < c.takes.size(); ++i) {
        const pm::random::key key(static_cast<std::uint32_t>(97 * n) + static_cast<unsigned>(i));
        list.push_back(pm::astype(pm::random::normal(pm::dtype::f32, c.takes[i].at(n), key, 0, 3,
                                                     home),
                                  c.takes[i].type));
    }
    pm::eval(tensors(list));
    return list;
}

pm::executable recorded(const varying_case& c, const pm::context& home) {
    std::vector<pm::executable::value> values;
    pm::array_list<pm::index_list> axes;
    for (const argument& a : c.takes) {
        values.push_back({a.type, a.at(c.most)});
        axes.push_back(a.axes());
    }
    return pm::trace(home, values, axes, c.most, [&](tensors x) {
        std::vector<any> results;
        results.push_back(c.f(x));
        return results;
    });
}

std::vector<double> doubles(const any& t) {
    return pm::to_vector<double>(pm::astype(t, pm::dtype::f64));
}

void check_close(const any& is, const any& wanted, double relative) {
    REQUIRE(is.shape() == wanted.shape());
    REQUIRE(is.dtype() == wanted.dtype());
    const std::vector<double> a = doubles(is), b = doubles(wanted);
    double most = 1, fault = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
        if (std::isfinite(b[i])) most = std::max(most, std::abs(b[i]));
    for (std::size_t i = 0; i < b.size(); ++i) {
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        const double off = same ? 0 : std::abs(a[i] - b[i]);
        if (!(off <= fault)) fault = off, at = i;
    }
    CHECK_MESSAGE(fault <= relative * most, "element ", at, " is ", a.empty() ? 0 : a[at],
                  ", wanted ", b.empty() ? 0 : b[at]);
}
double tolerance(const varying_case& c) {
    for (const argument& a : c.takes)
        if (a.type == pm::dtype::f16) return 2e-3;
    return 1e-5;
}

void check_extents(const varying_case& c, const pm::executable& e, const pm::context& other,
                   std::initializer_list<std::int64_t> extents) {
    for (const std::int64_t n : extents) {
        if (n < c.least || n > c.most) continue;
        CAPTURE(n);
        const std::vector<any> here = arguments(c, n, e.where()), there = arguments(c, n, other);
        any wanted = c.f(there);
        pm::eval(std::span<const any>(&wanted, 1));
        check_close(e.run(here)[0], wanted, tolerance(c));
    }
}

constexpr pm::dtype f16 = pm::dtype::f16, f32 = pm::dtype::f32, i32 = pm::dtype::i32,
                    i64 = pm::dtype::i64, u8 = pm::dtype::u8;

const varying_case cases[] = {
    {"elementwise", 300, {{{-1, 6}}}, [](tensors x) { return pm::tanh(x[0]) * 2.0 + 1.0; }},
    {"elementwise, last axis", 300, {{{6, -1}}}, [](tensors x) { return x[0] * x[0] - 1.0; }},
    {"elementwise of bytes", 300, {{{6, -1}, u8}}, [](tensors x) { return x[0] + x[0]; }},
    {"broadcast", 300, {{{-1, 1}}, {{1, 6}}}, [](tensors x) { return x[0] + x[1]; }},
    {"outer",
     90,
     {{{-1}}},
     [](tensors x) { return pm::expand_dims(x[0], 1) * pm::expand_dims(x[0], 0); }},
    {"transposed", 300, {{{-1, 6}}}, [](tensors x) { return pm::exp(transposed(x[0])); }},
    {"transposed twice, side by side",
     600,
     {{{-1, 301}}},
     [](tensors x) { return joined({transposed(x[0]), transposed(x[0])}, 1); }},
    {"flipped", 300, {{{-1, 6}}}, [](tensors x) { return pm::flip(x[0], axis(0)) + 1.0; }},
    {"rolled", 300, {{{-1, 6}}}, [](tensors x) { return pm::roll(x[0], 2, 0) - x[0]; }},
    {"rolled along it", 300, {{{6, -1}}}, [](tensors x) { return pm::roll(x[0], -9, 1) - x[0]; }},
    {"padded",
     300,
     {{{-1, 6}}},
     [](tensors x) {
         const pm::pad_width widths[] = {{2, 3}, {1, 1}};
         return pm::pad(x[0], widths, pm::pad_mode::constant, 2.5) * 2.0;
     }},
    {"mirrored",
     300,
     {{{6, -1}}},
     [](tensors x) {
         const pm::pad_width widths[] = {{0, 0}, {4, 7}};
         return pm::sum(pm::pad(x[0], widths, pm::pad_mode::reflect), axis(1));
     },
     1},
    {"tiled",
     300,
     {{{-1, 6}}},
     [](tensors x) {
         const std::int64_t times[] = {2, 3};
         return pm::tile(x[0], times) + 1.0;
     }},
    {"joined",
     300,
     {{{-1, 6}}, {{-1, 6}}},
     [](tensors x) { return joined({x[0] * 2.0, x[1], x[0] + 1.0}, 0); }},
    {"joined with one",
     300,
     {{{4, -1}}, {{4, 1}}},
     [](tensors x) { return pm::tanh(joined({x[0] * 2.0, x[1]}, 1)); }},
    {"reshaped",
     300,
     {{{-1, 6}}},
     [](tensors x) { return pm::sum(pm::reshape(x[0], {x[0].shape()[0] * 3, 2}) * 2.0, axis(1)); }},
    {"counted",
     300,
     {{{-1, 6}}},
     [](tensors x) {
         const any rows =
             pm::arange(f32, 0, double(x[0].shape()[0]), 1, pm::context(x[0].get()->owner));
         return x[0] + pm::expand_dims(rows, 1);
     }},
    {"divided by the extent",
     300,
     {{{-1, 6}}},
     [](tensors x) { return pm::sum(x[0], axis(0)) / double(x[0].shape()[0]); }},
    {"sum of all", 3000, {{{-1, 6}}}, [](tensors x) { return pm::sum(x[0]); }},
    {"sum of rows", 300, {{{6, -1}}}, [](tensors x) { return pm::sum(x[0] * x[0], axis(1)); }},
    {"sum of columns", 300, {{{-1, 6}}}, [](tensors x) { return pm::sum(x[0], axis(0)); }},
    {"sums of many", 300, {{{-1, 64}}}, [](tensors x) { return pm::sum(x[0], axis(1)); }},
    {"sum of a long vector", 70000, {{{-1}}}, [](tensors x) { return pm::sum(x[0]); }},
    {"mean", 3000, {{{-1, 64}}}, [](tensors x) { return pm::mean(x[0], axis(0)); }},
    {"mean of all", 3000, {{{-1, 64}}}, [](tensors x) { return pm::mean(x[0]); }},
    {"maximum", 300, {{{-1, 6}}}, [](tensors x) { return pm::max(x[0], axis(0)); }, 1},
    {"argmax", 300, {{{6, -1}}}, [](tensors x) { return pm::argmax(x[0], axis(1)); }, 1},
    {"variance", 300, {{{6, -1}}}, [](tensors x) { return pm::variance(x[0], axis(1)); }, 1},
    {"sum of integers", 300, {{{6, -1}, i32}}, [](tensors x) { return pm::sum(x[0], axis(1)); }},
    {"softmax", 300, {{{6, -1}}}, [](tensors x) { return pm::softmax(x[0], 1); }},
    {"softmax of columns", 300, {{{-1, 6}}}, [](tensors x) { return pm::softmax(x[0], 0); }},
    {"softmax of many rows", 300, {{{-1, 65}}}, [](tensors x) { return pm::softmax(x[0], 1); }},
    {"softmax of f16", 300, {{{8, -1}, f16}}, [](tensors x) { return pm::softmax(x[0], 1); }},
    {"softmax of long rows", 20000, {{{2, -1}}}, [](tensors x) { return pm::softmax(x[0], 1); }},
    {"layer_norm", 300, {{{-1, 64}}}, [](tensors x) { return pm::layer_norm(x[0], axis(1)); }},
    {"layer_norm along it",
     300,
     {{{5, -1}}},
     [](tensors x) { return pm::layer_norm(x[0], axis(1)); },
     1},
    {"rms_norm", 300, {{{-1, 60}, f16}}, [](tensors x) { return pm::rms_norm(x[0], axis(1)); }},
    {"cumulative sum",
     300,
     {{{-1, 6}}},
     [](tensors x) { return pm::cumulative(pm::reduction::sum, x[0], 0); }},
    {"cumulative sum of rows",
     3000,
     {{{3, -1}}},
     [](tensors x) { return pm::cumulative(pm::reduction::sum, x[0], 1); }},
    {"product, rows",
     300,
     {{{-1, 32}}, {{32, 20}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, columns",
     300,
     {{{20, 32}}, {{32, -1}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, sums",
     300,
     {{{20, -1}}, {{-1, 24}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, both sides",
     150,
     {{{-1, 20}}, {{20, -1}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, all",
     150,
     {{{-1, -1}}, {{-1, -1}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, batches",
     20,
     {{{-1, 20, 30}}, {{-1, 30, 40}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, batches and rows",
     40,
     {{{-1, -1, 30}}, {{-1, 30, 40}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product, a factor shared",
     20,
     {{{-1, 20, 30}}, {{30, 40}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product by a vector",
     300,
     {{{-1, -1}}, {{-1}}},
     [](tensors x) { return pm::matmul(x[0], x[1]); }},
    {"product of f16",
     300,
     {{{-1, 32}, f16}, {{32, 48}, f16}},
     [](tensors x) { return pm::matmul(x[0], x[1]) * 0.1; }},
    {"product of f16, sums",
     300,
     {{{32, -1}, f16}, {{-1, 48}, f16}},
     [](tensors x) { return pm::matmul(x[0], x[1]) * 0.1; }},
    {"rows of a table",
     300,
     {{{50, 24}}, {{-1}, i32}},
     [](tensors x) { return pm::take(x[0], x[1], 0); }},
    {"rows of what varies",
     300,
     {{{-1, 24}}, {{9}, i64}},
     [](tensors x) { return pm::take(x[0], x[1], 0); },
     1},
    {"bytes of a table",
     300,
     {{{50, 6}, u8}, {{-1}, i32}},
     [](tensors x) { return pm::take(x[0], x[1], 0); }},
    {"convolution of images",
     20,
     {{{-1, 8, 6, 5}}, {{6, 8, 3, 3}}},
     [](tensors x) {
         pm::conv_op how;
         for (int i = 0; i < 2; ++i) how.pad_begin[i] = how.pad_end[i] = 1;
         return pm::conv(x[0], x[1], how);
     }},
    {"convolution of lines",
     7,
     {{{1, 64, -1, 8}, f16}, {{33, 64, 2, 2}, f16}},
     [](tensors x) { return pm::conv(x[0], x[1]); },
     2},
    // At the ends, where a view is all there is, or nothing, or cut, extents are recorded apart.
    {"the first two",
     64,
     {{{-1, 6}}},
     [](tensors x) {
         const pm::slice rows[] = {{0, 2}};
         return pm::max(pm::slice_view(x[0], rows), axis(0));
     },
     1},
    {"the first, summed",
     64,
     {{{-1, 6}}},
     [](tensors x) {
         const pm::slice rows[] = {{0, 1}};
         return pm::sum(pm::slice_view(x[0], rows), axis(0));
     }},
    {"the last two, backwards",
     64,
     {{{-1, 6}}},
     [](tensors x) {
         const pm::slice rows[] = {{-1, -3, -1}};
         return pm::prod(pm::slice_view(x[0], rows), axis(0));
     }},
    {"all but the first",
     64,
     {{{-1, 6}}},
     [](tensors x) {
         const pm::slice rows[] = {{1, {}}};
         return pm::tanh(pm::slice_view(x[0], rows));
     }},
    {"differences to the third before",
     64,
     {{{6, -1}}},
     [](tensors x) {
         const pm::slice late[] = {{}, {3, {}}}, early[] = {{}, {0, -3}};
         return pm::slice_view(x[0], late) - pm::slice_view(x[0], early);
     },
     0,
     3},
    {"as far as there are five",
     64,
     {{{-1, 6}}},
     [](tensors x) {
         const pm::slice rows[] = {{0, 5}};
         return pm::softmax(pm::slice_view(x[0], rows), 0);
     },
     0,
     5},
    {"flipped along all axes", 64, {{{-1, 6}}}, [](tensors x) { return pm::flip(x[0]) + 1.0; }},
    {"group_norm", 20, {{{-1, 8, 5}}}, [](tensors x) { return pm::group_norm(x[0], 1); }},
    {"an axis dropped",
     64,
     {{{-1, 1}}},
     [](tensors x) { return pm::reshape(x[0], {x[0].shape()[0]}) * 2.0; }},
    {"from the bound on",
     100,
     {{{-1}}},
     [](tensors x) {
         const pm::slice from[] = {{99, {}}};
         return pm::sum(pm::slice_update(x[0] * 1.0,
                                         any(pm::full(f32, {}, 5, pm::context(x[0].get()->owner))),
                                         from));
     }},
};

/// Kernels of launches, as `explain` begins its lines.
std::set<std::string> kernels_in(const std::string& explained) {
    std::set<std::string> names;
    for (std::size_t at = 0; at < explained.size();) {
        const std::size_t end = std::min(explained.find('\n', at), explained.size());
        const std::string line = explained.substr(at, end - at);
        const std::size_t slash = line.find('/'), space = line.find(' ');
        if (!line.starts_with(' ') && slash < space) names.insert(line.substr(0, space));
        at = end + 1;
    }
    return names;
}

/// One head: products, softmax along the extent, a mean over it, rows of a table, a mask.
any attention(const any& ids, const any& table, const any& q, const any& k, const any& v) {
    const any x = pm::take(table, ids, 0);
    const any scores = pm::matmul(pm::matmul(x, q), transposed(pm::matmul(x, k))) * 0.125;
    const any read = pm::matmul(pm::softmax(scores, 1), pm::matmul(x, v));
    return pm::mean(pm::tanh(read) + x, axis(0));
}

}  // namespace

TEST_CASE("varying: every function gives what it gives for each extent") {
    const pm::context home, reference{pm::host_only{}};
    int number = 0;
    for (const varying_case& c : cases) {
        if (!test::sampled(number++, short_list)) continue;
        CAPTURE(c.name);
        const pm::executable e = recorded(c, home);
        check_extents(c, e, reference, {c.most, 0, 1, 2, 3, 5, 16, 17, 64, c.most / 2, c.most - 1});
        CHECK(e.outputs()[0].shape == c.f(arguments(c, c.most, reference)).shape());
    }
}

TEST_CASE("varying: every kernel that serves a range serves all of it") {
    std::vector<std::string> able_names;  // of a case, in the order in which they were offered
    std::string wanted;
    const pm::context home{
        pm::choose_kernel{[&](std::span<const pm::kernel_candidate> able) -> std::size_t {
            std::size_t chosen = 0;
            for (std::size_t i = able.size(); i-- > 0;) {
                if (able[i].name == wanted) chosen = i;
                if (std::ranges::find(able_names, able[i].name) == able_names.end())
                    able_names.emplace_back(able[i].name);
            }
            return chosen;
        }}};
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host has no kernels to choose from");
    const pm::context reference{pm::host_only{}};
    std::set<std::string> all;
    for (const varying_case& c : cases) {
        CAPTURE(c.name);
        std::set<std::string> seen;
        able_names.assign(1, "");
        for (std::size_t i = 0; i < able_names.size(); ++i) {
            wanted = able_names[i];
            const pm::executable e = recorded(c, home);
            const std::set<std::string> names = kernels_in(e.explain());
            const std::size_t before = seen.size();
            seen.insert(names.begin(), names.end());
            if (seen.size() == before) continue;
            CAPTURE(wanted);
            check_extents(c, e, reference, {c.most, 1, 0, 3, 5, 17, c.most - 1});
        }
        all.insert(seen.begin(), seen.end());
    }
    for (const char* name :
         {"elementwise/strided", "elementwise/vectors", "elementwise/tiled", "reduce/rows",
          "reduce/columns", "reduce/vector_rows", "normalize/rows", "normalize/columns",
          "normalize/streamed", "normalize/streamed_columns", "normalize/vector_rows",
          "matmul/tiled", "matmul/split_k", "scan/rows", "scan/columns", "take/elements",
          "take/chunks", "conv/channels"})
        CHECK_MESSAGE(all.contains(name), name);
}

TEST_CASE("varying: a hundred lengths through one recording, one plan") {
    const pm::context home;
    const std::int64_t most = 96, width = 24;
    const auto made = [&](const pm::shape& s, std::uint32_t key) {
        return pm::random::normal(f32, s, pm::random::key(key), 0, 1, home);
    };
    // A captured tensor is a constant.
    const any table = made({50, width}, 1), q = made({width, width}, 2),
              k = made({width, width}, 3), v = made({width, width}, 4);
    const std::array<any, 4> constants{table, q, k, v};
    pm::eval(tensors(constants));
    const auto f = [&](const any& ids) { return attention(ids, table, q, k, v); };
    const auto g = pm::compile(f, pm::varying{.at_most = most});

    std::mt19937 random(7);
    std::vector<std::int64_t> lengths{most, 0, 1, most - 1};
    while (lengths.size() < 100)
        lengths.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1)));
    std::vector<any> ids, results;
    for (const std::int64_t n : lengths) {
        ids.push_back(pm::astype(pm::random::uniform(f32, {n}, pm::random::key(unsigned(n)), 0, 50,
                                                     home),
                                 i32));
        pm::eval(tensors(&ids.back(), 1));
    }
    const pm::statistics before = home.stats();
    for (const any& each : ids) {
        results.push_back(g(each));
        pm::to_vector<float>(results.back());
    }
    const pm::statistics after = home.stats();
    CHECK(after.plans - before.plans == 1);
    CHECK(g.recorded() == 1);
    // A recording is a command buffer for each run in flight.
    const bool records = home.device().type != pm::device_type::host;
    CHECK(after.recordings - before.recordings >= (records ? 1 : 0));
    CHECK(after.recordings - before.recordings <= (records ? 3 : 0));
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        CAPTURE(lengths[i]);
        check_close(results[i], f(ids[i]), 1e-5);
    }
    // Once more, none waited for: nothing is planned or compiled.
    const pm::statistics steady = home.stats();
    std::vector<any> again;
    for (const any& each : ids) again.push_back(g(each));
    pm::eval(tensors(again));
    const pm::statistics still = home.stats();
    CHECK(still.plans == steady.plans);
    CHECK(still.recordings - steady.recordings <= 3);
    CHECK(still.pipelines == steady.pipelines);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        CAPTURE(lengths[i]);
        check_close(again[i], results[i], 0);
    }
}

TEST_CASE("varying: nothing behind the extent is read, and nothing that a longer run left") {
    const pm::context home;
    const std::int64_t most = 70, width = 16;
    const auto f = [](const any& x) {
        const any scores = pm::softmax(pm::matmul(x, transposed(x)) * 0.25, 1);
        return joined({pm::matmul(scores, x), pm::cumulative(pm::reduction::sum, pm::tanh(x), 0),
                       pm::expand_dims(pm::mean(x, axis(0)), 0)},
                      0);
    };
    const auto g = pm::compile(f, pm::varying{.at_most = most});
    const any numbers = pm::random::normal(f32, {most, width}, pm::random::key(5), 0, 1, home),
              nan = pm::full(f32, {most, width}, std::numeric_limits<double>::quiet_NaN(), home);
    pm::eval(tensors(std::array<any, 2>{numbers, nan}));
    pm::eval(tensors(std::array<any, 1>{g(nan)}));  // the memory between the kernels has NaN
    for (const std::int64_t n : {1, 7, 16, 33, 64, 69}) {
        CAPTURE(n);
        // The first n rows of a tensor whose other rows are NaN.
        const pm::slice rows[] = {{0, n}};
        any part =
            pm::slice_view(joined({pm::slice_view(numbers, rows), pm::slice_view(nan, rows)}, 0),
                           rows);
        pm::eval(tensors(&part, 1));
        const any is = g(part), wanted = f(pm::slice_view(numbers, rows));
        for (const double each : doubles(is)) REQUIRE(std::isfinite(each));
        check_close(is, wanted, 1e-5);
    }
}

TEST_CASE("varying: the plan has the largest extent, and holds to the rules for each") {
    const pm::context home;
    for (const varying_case& c : cases) {
        CAPTURE(c.name);
        const pm::executable e = recorded(c, home);
        const pm::plan& p = e.planned();
        pm::verify(p);
        REQUIRE(p.range != nullptr);
        CHECK(p.at(p.outputs[0]).extent == e.outputs()[0].shape);
        for (const std::int64_t n : {c.joins_at, c.most / 2}) pm::verify(p.range->at(n, true));
    }
}

TEST_CASE("varying: results that are there keep their memory for their extent") {
    const pm::context home;
    const auto g = pm::compile([](const any& x) { return x * 2.0; }, pm::varying{.at_most = 4000});
    std::vector<any> x, y(1);
    for (const std::int64_t n : {4000, 3000})
        x.push_back(pm::random::normal(f32, {n}, pm::random::key(1), 0, 1, home));
    pm::eval(tensors(x));
    const pm::executable e = g.get(x[0]);
    e.run_into(y, tensors(&x[0], 1)).wait();
    const pm::storage* const held = y[0].get()->data.get();
    e.run_into(y, tensors(&x[0], 1)).wait();
    if (home.device().type != pm::device_type::host) CHECK(y[0].get()->data.get() == held);
    e.run_into(y, tensors(&x[1], 1)).wait();
    CHECK(y[0].shape() == pm::shape{3000});
    check_close(y[0], x[1] * 2.0, 0);
    // A handle that is input and result.
    std::vector<any> state{x[1] * 1.0};
    pm::eval(tensors(state));
    e.run_into(state, tensors(state)).wait();
    check_close(state[0], x[1] * 2.0, 0);
    check_close(e.run_donating(x[1] * 1.0)[0], x[1] * 2.0, 0);
}

TEST_CASE("varying: random numbers are those of the extent, new in each run") {
    const pm::context home;
    const auto f = [&](const any& x) {
        return x + pm::random::uniform(f32, x.shape(), pm::random::detail::fresh(), 0, 1, home);
    };
    const auto g = pm::compile(f, pm::varying{.at_most = 400});
    const any x = pm::full(f32, {300, 2}, 1.0, home);
    g(x);  // tracing draws keys too
    pm::random::seed(3);
    const any a = g(x), b = g(x);
    pm::random::seed(3);
    check_close(a, f(x), 0);
    CHECK(doubles(a) != doubles(b));
}

TEST_CASE("varying: several results, several in flight, extents that change each time") {
    const pm::context home;
    const auto g = pm::compile(
        [](const any& x) { return std::vector<any>{pm::sum(x, axis(0)), pm::softmax(x, 0) * 2.0}; },
        pm::varying{.at_most = 500});
    std::vector<any> x;
    std::vector<std::vector<any>> y;
    for (std::int64_t n = 0; n < 24; ++n)
        x.push_back(pm::random::normal(f32, {n * 20, 5}, pm::random::key(unsigned(n)), 0, 1, home));
    pm::eval(tensors(x));
    for (const any& each : x) y.push_back(g(each));
    for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(i);
        check_close(y[i][0], pm::sum(x[i], axis(0)), 1e-5);
        check_close(y[i][1], pm::softmax(x[i], 0) * 2.0, 1e-5);
    }
}

TEST_CASE(
    "varying: numbers that follow the extent do so behind a pass that copies or remakes them") {
    for (const bool copies : {true, false}) {
        const pm::context home(pm::graph_pass{
            "mine", [=](pm::op_graph& g) {
                for (pm::graph_node* n : g.order()) {
                    const auto* e = n->op().get_if<pm::elementwise_op>();
                    if (!e) continue;
                    pm::elementwise_op again = *e;
                    if (!copies)
                        for (pm::scalar& s : again.scalars)
                            s = pm::scalar(s.type, s.as<double>() * 2);
                    g.change(*n, std::move(again), n->inputs);
                }
            }});
        auto f =
            pm::compile([](const pm::vector<float>&
                               x) { return pm::vector<float>(x * float(x.shape()[0]) + 1.0f); },
                        pm::varying{.at_most = 64});
        for (const std::int64_t n : {1, 5, 64}) {
            const std::vector<float> one(static_cast<std::size_t>(n), 1),
                wanted(one.size(), (copies ? 1.0f : 2.0f) * (float(n) + 1));
            CHECK(f(pm::from_span<float>({n}, one, home)).to_vector() == wanted);
        }
    }
}

TEST_CASE("varying: a pass that decides by a number of the extent is refused") {
    const auto with = [](auto number) {
        return pm::context(pm::graph_pass{
            "mine", [=](pm::op_graph& g) {
                for (pm::graph_node* n : g.order()) {
                    const auto* e = n->op().get_if<pm::elementwise_op>();
                    if (!e) continue;
                    pm::elementwise_op again = *e;
                    for (pm::scalar& s : again.scalars)
                        s = pm::scalar(s.type, number(s.as<double>()));
                    g.change(*n, std::move(again), n->inputs);
                }
            }});
    };
    const auto run = [](const pm::context& home) {
        const auto f =
            pm::compile([](const any& x) { return pm::tanh(x) * 0.0 + x * double(x.shape()[0]); },
                        pm::varying{.at_most = 64});
        return doubles(f(pm::full(f32, {3}, 1.0, home)));
    };
    CHECK(run(with([](double n) { return n; })) == std::vector<double>{3, 3, 3});
    const pm::context at_most_30 = with([](double n) { return n > 30 ? 30 : n; });
    CHECK(code_of([&] { run(at_most_30); }) == pm::errc::unsupported);
    CHECK(text_of_error([&] { run(at_most_30); }) ==
          "[varying] a pass leaves another graph for the extent 2 than those near the bound say; "
          "it must not decide by a number that follows the extent");
}

TEST_CASE("varying: steps that the host runs") {
    test::wishes w;
    w.without_f64 = true;
    w.policies.fallback = pm::cpu_fallback::mode::allow;
    const std::optional<pm::context> home = test::open_context(w);
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto f = [](const any& x) {
        return pm::sum(pm::astype(pm::exp(pm::astype(x * 2.0, pm::dtype::f64) * 0.5), f32) + x,
                       axis(0));
    };
    const auto g = pm::compile(f, pm::varying{.at_most = 300});
    for (const std::int64_t n : {300, 17, 0, 299}) {
        CAPTURE(n);
        any x = pm::random::normal(f32, {n, 6}, pm::random::key(unsigned(n)), 0, 1, *home);
        pm::eval(tensors(&x, 1));
        check_close(g(x), f(x), 1e-5);
    }
}

TEST_CASE("varying: a pack for a device that is only described has the kernels") {
    const pm::context device;
    if (device.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    const auto work = [](const pm::context& home) {
        const auto g = pm::compile([](const any& x) { return pm::softmax(x, 1) * pm::sum(x); },
                                   pm::varying{.at_most = 50, .axes = {{1}}});
        std::vector<float> all;
        for (const std::int64_t n : {50, 7}) {
            const std::vector<float> x(static_cast<std::size_t>(3 * n), 1.0f);
            const std::vector<float> y =
                pm::to_vector<float>(g(pm::from_bytes(f32, {3, n}, std::as_bytes(std::span(x)),
                                                      home)));
            all.insert(all.end(), y.begin(), y.end());
        }
        return all;
    };
    const std::string pack =
        pm::record_pack([&](const pm::context& c) { work(c); }, pm::null_device{device.device()});
    const test::temporary_folder folder;
    const test::variable no_slang("PUMICE_SLANG_LIBRARY", (folder.path / "gone").string());
    const pm::context home(pm::pack(std::as_bytes(std::span(pack))),
                           pm::cache_folder{(folder.path / "cache").string()});
    CHECK(work(home) == work(device));
    CHECK(home.stats().slang_compiles == 0);
}

TEST_CASE("varying: what is out of range is refused with the way out") {
    const pm::context home;
    const auto g =
        pm::compile([](const any& x, const any& y) { return x + y; }, pm::varying{.at_most = 8});
    const auto of = [&](std::int64_t n) { return pm::full(f32, {n, 2}, 1, home); };
    CHECK(code_of([&] { g(of(9), of(9)); }) == pm::errc::shape_mismatch);
    CHECK(text_of_error([&] { g(of(9), of(9)); }) ==
          "[executable] input 0 has 9 along axis 0, which varies up to 8; compile for a larger "
          "extent (varying::at_most)");
    CHECK(text_of_error([&] { g(of(8), of(7)); }) ==
          "[executable] input 1 has 7 along axis 0, another varying axis has 8; they vary "
          "together");
    const pm::executable e = g.get(of(8), of(8));
    CHECK(code_of([&] { e.run({of(3), pm::full(f32, {3, 3}, 1, home)}); }) ==
          pm::errc::shape_mismatch);

    const auto greatest =
        pm::compile([](const any& x) { return pm::max(x, axis(0)); }, pm::varying{.at_most = 8});
    CHECK(doubles(greatest(of(1))) == std::vector<double>{1, 1});
    const std::string text = text_of_error([&] { greatest(of(0)); });
    CHECK_MESSAGE(text.starts_with("[executable] input 0 has 0 along axis 0, the function takes 1 "
                                   "at least: "),
                  text);
    const auto third = pm::compile(
        [](const any& x) {
            const pm::slice from[] = {{2, 3}};
            return pm::slice_view(x, from) + pm::sum(x, axis(0));
        },
        pm::varying{.at_most = 8});
    CHECK(doubles(third(of(8))) == std::vector<double>{9, 9});
    CHECK(third(of(2)).shape() == pm::shape{0, 2});
}

TEST_CASE("varying: what cannot be planned for a range says what it is") {
    const pm::context home;
    const auto refused = [&](auto f, std::int64_t most = 40) {
        any x = pm::full(f32, {7, 6}, 1, home);
        const auto g = pm::compile(f, pm::varying{.at_most = most});
        CHECK(code_of([&] { g(x); }) == pm::errc::unsupported);
        return text_of_error([&] { g(x); });
    };
    const auto has = [](const std::string& text, const char* part) {
        CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    };
    // Half of the rows; the first ten rows, as far as there are ten.
    has(refused([](const any& x) {
            const pm::slice half[] = {{0, x.shape()[0] / 2}};
            return pm::tanh(pm::slice_view(x, half));
        }),
        "no polynomial of the extent");
    has(refused([](const any& x) {
            const pm::slice ten[] = {{0, 10}};
            return pm::tanh(pm::slice_view(x, ten));
        }),
        "for the extent 8 does not go on");
    // A scalar that is no whole number.
    has(refused([](const any& x) { return x * (1.0 / double(x.shape()[0])); }), "a scalar");
    // Other things for other extents.
    has(refused([](const any& x) { return x.shape()[0] > 20 ? pm::sum(x) : pm::max(x); }),
        "decided by it");
    // A scalar that is cut: where it ends at the extent, and where the extent ends it.
    const auto times = [](auto number) {
        return [=](const any& x) { return x * double(number(x.shape()[0])); };
    };
    has(refused(times([](std::int64_t n) { return std::max<std::int64_t>(n - 12, 0); })),
        "does not go on");
    has(refused(times([](std::int64_t n) { return std::min<std::int64_t>(n, 12); })),
        "does not go on");
    has(refused(times([](std::int64_t n) { return n > 15 && n < 25 ? 7 : n; })), "does not go on");
    // A result that has no row fewer where there is none.
    has(refused([](const any& x) {
            const pm::slice all_but_the_last[] = {{0, -10}};
            const pm::pad_width two[] = {{2, 0}, {0, 0}};
            return pm::pad(pm::slice_view(x, all_but_the_last), two);
        }),
        "of result 0 for the extent 8 does not go on");
    // A loop, along the extent or beside it.
    has(refused([](const any& x) {
            return pm::cond(
                pm::sum(x) > 0.0, [](const any& y) { return y * 2.0; },
                [](const any& y) { return y; }, x);
        }),
        "a branch or a loop");
    has(refused([](const any& x) {
            const any row = pm::max(x, axis(0));
            return std::get<1>(pm::scan(
                [](const any& sum, const any& each) { return std::tuple{any(sum + each), sum}; },
                row, x));
        }),
        "a branch or a loop");
}
