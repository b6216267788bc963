// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel_harness.hpp"

#include <pumice/kernels/take.hpp>

namespace {

using namespace test;

template <class N>
void put_indices(dice& d, const operand& o, const shape& index, const workspace& w,
                 std::vector<bytes>& memory, std::int64_t length) {
    const host_array a = w.host(memory).array(o);
    for_each_row(index, [&](const index_list& row) {
        for (std::int64_t i = 0; i < (index.empty() ? 1 : index.back()); ++i) {
            std::int64_t v = d.in(-length, length - 1);
            if (d.chance(0.1))
                v = d.chance(0.5) ? d.in(-3 * length, 3 * length)
                                  : static_cast<std::int64_t>(d.bits());
            const N n = static_cast<N>(v);
            std::memcpy(a.data + (offset_of(a, row) +
                                  (index.empty() ? 0 : i * o.steps[index.rank() - 1])) *
                                     static_cast<std::int64_t>(sizeof(N)),
                        &n, sizeof n);
        }
    });
}

}  // namespace

TEST_CASE("take along any axis with any indices, any type") {
    for (const auto& m : machines()) {
        tally count("take on " + m->info().name);
        dice d(31);
        for (int i = 0; i < samples(150); ++i) {
            const dtype type = all_dtypes[static_cast<std::size_t>(i) % std::size(all_dtypes)];
            workspace w(d, d.chance(0.15));
            const shape outer = random_shape(d, static_cast<int>(d.in(0, 2)), 30),
                        index = random_shape(d, static_cast<int>(d.in(0, 3)), 60);
            shape rest = random_shape(d, static_cast<int>(d.in(0, 2)), 100);
            if (!rest.empty() && d.chance(0.5)) rest[rest.rank() - 1] = 16 * d.in(1, 4);
            const std::int64_t length = d.chance(0.3) ? 16 : d.in(1, 257);
            take_problem p;
            shape input = outer;
            input.push_back(length);
            p.domain = outer;
            for (std::int64_t n : index) p.domain.push_back(n);
            for (std::int64_t n : rest) input.push_back(n), p.domain.push_back(n);
            const placing layout = d.chance(0.5) ? placing::dense : placing::any;
            p.values = w.input(type, input, layout, values::special);
            p.indices = w.input(d.chance(0.5) ? dtype::i32 : dtype::i64, index,
                                d.chance(0.5) ? placing::dense : placing::any);
            p.output = w.output(type, p.domain, layout);
            if (p.indices.type == dtype::i32)
                put_indices<std::int32_t>(d, p.indices, index, w, w.buffers, length);
            else put_indices<std::int64_t>(d, p.indices, index, w, w.buffers, length);
            const std::int64_t axis = outer.rank();
            p.length = {length};
            p.step = {p.values.steps[outer.rank()]};
            p.values.steps.erase(outer.rank());
            for (int k = 0; k < index.rank(); ++k) p.values.steps.insert(outer.rank(), 0);
            for (int k = 0; k < outer.rank(); ++k) p.indices.steps.insert(0, 0);
            for (int k = 0; k < rest.rank(); ++k) p.indices.steps.push_back(0);
            const std::string about = std::string(to_string(type)) + " " + to_string(input) +
                                      " axis " + std::to_string(axis) + " by " + to_string(index) +
                                      (w.high ? " wide" : "");
            check<take_elements>(*m, p, w, {{p.output, p.domain}}, {tolerance{}}, about, count);
            check<take_chunks>(*m, p, w, {{p.output, p.domain}}, {tolerance{}}, about, count);
        }
    }
}

TEST_CASE(
    "gather by tuples and by elements: indices over the domain, each with several components") {
    for (const auto& m : machines()) {
        tally count("gather on " + m->info().name);
        dice d(34);
        for (int i = 0; i < samples(100); ++i) {
            const dtype type = all_dtypes[static_cast<std::size_t>(i) % std::size(all_dtypes)];
            workspace w(d, d.chance(0.15));
            const placing layout = d.chance(0.5) ? placing::dense : placing::any;
            // The first axes of values are the domain's own, the others are picked from.
            const shape domain = random_shape(d, static_cast<int>(d.in(0, 4)), 300);
            const int own = static_cast<int>(d.in(0, domain.rank())),
                      picks = static_cast<int>(d.in(1, 3));
            take_problem p;
            p.domain = domain;
            shape input, index = domain;
            for (int k = 0; k < own; ++k) input.push_back(domain[k]);
            for (int k = 0; k < picks; ++k) {
                p.length.push_back(d.in(1, 9));
                input.push_back(p.length.back());
            }
            index.push_back(picks);
            p.values = w.input(type, input, layout, values::special);
            p.indices = w.input(d.chance(0.5) ? dtype::i32 : dtype::i64, index, layout);
            p.output = w.output(type, domain, layout);
            if (p.indices.type == dtype::i32)
                put_indices<std::int32_t>(d, p.indices, index, w, w.buffers, 5);
            else put_indices<std::int64_t>(d, p.indices, index, w, w.buffers, 5);
            for (int k = 0; k < picks; ++k) p.step.push_back(p.values.steps[own + k]);
            while (p.values.steps.rank() > own) p.values.steps.erase(own);
            while (p.values.steps.rank() < domain.rank()) p.values.steps.push_back(0);
            p.next = p.indices.steps.back();
            p.indices.steps.erase(domain.rank());
            const std::string about = std::string(to_string(type)) + " " + to_string(input) +
                                      " by " + to_string(index) + (w.high ? " wide" : "");
            check<take_elements>(*m, p, w, {{p.output, domain}}, {tolerance{}}, about, count);
        }
        CHECK(count.ran > 0);
    }
}

TEST_CASE("rows of a table move in 16 bytes, and NaN keeps its bits") {
    for (const auto& m : machines()) {
        tally count("table on " + m->info().name);
        dice d(32);
        for (const dtype type : {dtype::f16, dtype::f32, dtype::u8, dtype::f64}) {
            workspace w(d);
            take_problem p;
            p.domain = {7, 64};
            p.length = {31};
            p.step = {64};
            p.values = w.input(type, {31, 64}, placing::dense);
            for (std::byte& b : w.buffers[0]) b = static_cast<std::byte>(d.in(0, 255));
            p.indices = w.input(dtype::i32, {7}, placing::dense);
            p.output = w.output(type, p.domain, placing::dense);
            put_indices<std::int32_t>(d, p.indices, {7}, w, w.buffers, 31);
            p.values.steps = {0, 1};
            p.indices.steps = {1, 0};
            std::vector<bytes> got = w.buffers, want = w.buffers;
            reference(p, w.host(want));
            const launch one = take_chunks::make(p, m->info());
            CHECK(one.arguments[0] == "Cell16");
            m->run({&one, 1}, got, w.origins);
            CHECK(got == want);
            ++count.ran;
        }
    }
}

TEST_CASE("taking nothing writes nothing, and nothing cannot be taken from") {
    for (const auto& m : machines()) {
        tally count("empty take on " + m->info().name);
        dice d(33);
        workspace w(d);
        take_problem p;
        p.domain = {0, 4};
        p.values = w.input(dtype::f32, {5, 4}, placing::dense);
        p.indices = w.input(dtype::i32, {1}, placing::dense);
        p.output = w.output(dtype::f32, {1, 4}, placing::dense);
        p.length = {5};
        p.step = {4};
        p.values.steps = {0, 1};
        p.indices.steps = {1, 0};
        p.output.steps = {4, 1};
        check<take_elements>(*m, p, w, {}, {}, "no index", count);
        p.length = {0};
        CHECK_FALSE(take_elements::supports(p, m->info()).yes);
    }
}
