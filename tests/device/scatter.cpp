// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/scatter.hpp>

#include <algorithm>
#include <cmath>

using namespace test;

namespace {

template <class T>
void put(const operand& o, workspace& w, const std::vector<std::int64_t>& list) {
    const host_array a = w.host(w.buffers).array(o);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const T v = static_cast<T>(list[i]);
        std::memcpy(a.data + (a.offset + static_cast<std::int64_t>(i) * a.steps[0]) *
                                 static_cast<std::int64_t>(sizeof v),
                    &v, sizeof v);
    }
}

}  // namespace

TEST_CASE("scatter: sorted updates of any type join in order, and keys outside go nowhere") {
    for (const auto& m : machines()) {
        tally count("scatter on " + m->info().name);
        dice d(51);
        for (int i = 0; i < samples(150); ++i) {
            const dtype type = all_dtypes[static_cast<std::size_t>(i) % std::size(all_dtypes)];
            workspace w(d, d.chance(0.15));
            scatter_problem p;
            p.what =
                type == dtype::boolean ? scattering::replace : static_cast<scattering>(d.in(0, 4));
            p.count = d.in(1, 60);
            p.rows = d.chance(0.3) ? d.in(1, 3) : d.in(1, 50);
            p.width = d.chance(0.3) ? 1 : d.in(1, 40);
            std::vector<std::int64_t> keys, order;
            for (std::int64_t k = 0; k < p.count; ++k) {
                keys.push_back(d.chance(0.1) ? d.in(-3, p.rows + 3) : d.in(0, p.rows - 1));
                order.push_back(k);
                std::swap(order.back(), order[static_cast<std::size_t>(d.in(0, k))]);
            }
            std::sort(keys.begin(), keys.end());
            const auto layout = [&] { return d.chance(0.5) ? placing::dense : placing::any; };
            const bool moves = p.what == scattering::replace || p.what >= scattering::max;
            const values how = moves                        ? values::special
                               : p.what == scattering::prod ? values::tiny
                                                            : values::plain;
            p.keys = w.input(d.chance(0.5) ? dtype::i32 : dtype::i64, {p.count}, placing::dense);
            p.order = w.input(dtype::i64, {p.count}, placing::dense);
            p.updates = w.input(type, {p.count, p.width}, layout(), how);
            p.data = w.input(type, {p.rows, p.width}, layout(), how);
            p.output = w.output(type, {p.rows, p.width}, layout());
            if (p.keys.type == dtype::i32) put<std::int32_t>(p.keys, w, keys);
            else put<std::int64_t>(p.keys, w, keys);
            put<std::int64_t>(p.order, w, order);
            tolerance allowed;
            if (!moves && is_floating(type)) {
                // Sums and products in the order of the updates, in float: an ulp of the largest
                // part.
                const double unit = type == dtype::f64   ? 0x1p-52
                                    : type == dtype::f32 ? 0x1p-23
                                    : type == dtype::f16 ? 0x1p-10
                                                         : 0x1p-7;
                allowed.ulps = 1;
                const double most = p.what == scattering::prod ? 0 : 16.0;
                allowed.absolute.assign(static_cast<std::size_t>(p.rows * p.width),
                                        most * static_cast<double>(p.count) * unit *
                                            (type == dtype::f16 || type == dtype::bf16 ? 0x1p-9
                                                                                       : 1));
                if (p.what == scattering::prod) allowed.ulps = 60;
            }
            check<scatter_rows>(*m, p, w, {{p.output, {p.rows, p.width}}}, {allowed},
                                std::string(to_string(type)) + " " +
                                    std::string(to_string(p.what)) + " " + std::to_string(p.count) +
                                    " into " + to_string(shape{p.rows, p.width}) +
                                    (w.high ? " wide" : ""),
                                count);
        }
        CHECK(count.ran > 0);
    }
}

TEST_CASE("scatter: no updates, or of no width, write nothing") {
    for (const auto& m : machines()) {
        tally count("empty scatter on " + m->info().name);
        dice d(52);
        for (const bool narrow : {false, true}) {
            workspace w(d);
            scatter_problem p;
            p.count = narrow ? 2 : 0;
            p.rows = 3;
            p.width = narrow ? 0 : 4;
            p.keys = w.input(dtype::i32, {3}, placing::dense);
            p.order = w.input(dtype::i64, {3}, placing::dense);
            p.updates = w.input(dtype::f32, {3, 4}, placing::dense);
            p.data = w.input(dtype::f32, {3, 4}, placing::dense);
            p.output = w.output(dtype::f32, {3, 4}, placing::dense);
            check<scatter_rows>(*m, p, w, {}, {}, "empty", count);
        }
    }
}
