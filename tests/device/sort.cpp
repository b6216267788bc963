// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "sort_cases.hpp"

#include <pumice/kernels/sort.hpp>

using namespace test;

TEST_CASE("sort: rows that fit in a workgroup, any type and layout, with ties and NaN") {
    for (const auto& m : machines()) {
        tally count("sort on " + m->info().name);
        dice d(41);
        for (int i = 0; i < samples(120); ++i) {
            const values how = d.chance(0.4)   ? values::tiny
                               : d.chance(0.5) ? values::special
                                               : values::plain;
            const std::int64_t length = d.chance(0.2)   ? d.in(1, 3)
                                        : d.chance(0.2) ? std::int64_t{1} << d.in(0, 10)
                                                        : d.in(1, 1024);
            sort_case<sort_rows>(*m, d,
                                 all_dtypes[static_cast<std::size_t>(i) % std::size(all_dtypes)],
                                 random_shape(d, static_cast<int>(d.in(0, 3)), 20), length, how,
                                 d.chance(0.15), count);
        }
        CHECK(count.ran > 0);
    }
}

TEST_CASE("sort: longer rows are merged, an even or odd number of times") {
    for (const auto& m : machines()) {
        tally count("long sort on " + m->info().name);
        dice d(42);
        for (const std::int64_t length : {1025, 2047, 2048, 2049, 3072, 4097, 5000, 9000, 20011})
            for (int k = 0; k < samples(2); ++k)
                sort_case<sort_rows>(*m, d, all_dtypes[d.in(0, std::ssize(all_dtypes) - 1)],
                                     random_shape(d, static_cast<int>(d.in(0, 2)), 3), length,
                                     d.chance(0.5) ? values::tiny : values::special, d.chance(0.1),
                                     count);
        CHECK(count.ran > 0);
    }
}

TEST_CASE("sort: no rows and empty rows write nothing") {
    for (const auto& m : machines()) {
        tally count("empty sort on " + m->info().name);
        dice d(43);
        for (const auto& [outer, length] :
             {std::pair{shape{0}, std::int64_t{5}}, std::pair{shape{3}, std::int64_t{0}}}) {
            workspace w(d);
            sort_problem p{outer,
                           length,
                           length,
                           false,
                           w.input(dtype::f32, {5, 5}, placing::dense),
                           w.output(dtype::i64, {5, 5}, placing::dense)};
            check<sort_rows>(*m, p, w, {}, {}, "empty", count);
        }
    }
}
