// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "sort_cases.hpp"

#include <pumice/kernels/sort_radix.hpp>

using namespace test;

TEST_CASE("sort: by bits, rows that a workgroup holds, any type and layout, with ties and NaN") {
    for (const auto& m : machines()) {
        tally count("radix sort on " + m->info().name);
        dice d(44);
        const std::int64_t most = m->info().shared_memory < 36 << 10 ? 4096 : 8192;
        for (int i = 0; i < samples(static_cast<int>(std::size(all_dtypes))); ++i) {
            const values how = d.chance(0.5) ? values::tiny : values::special;
            // Large workgroups take CPU drivers seconds to compile.
            const std::int64_t length = i == 1       ? d.in(2049, most)
                                        : i % 9 == 3 ? d.in(513, 2048)
                                        : i % 4 == 0 ? std::int64_t{1} << d.in(0, 9)
                                                     : d.in(1, 512);
            sort_case<sort_radix_rows>(
                *m, d, all_dtypes[static_cast<std::size_t>(i) % std::size(all_dtypes)],
                random_shape(d, static_cast<int>(d.in(0, 2)), length > 1024 ? 3 : 12), length, how,
                d.chance(0.1), count);
        }
        CHECK(count.ran > 0);
    }
}

TEST_CASE("sort: by bits in passes, from one tile to many of them") {
    for (const auto& m : machines()) {
        tally count("radix sort in passes on " + m->info().name);
        dice d(45);
        // What differs between types is in what the case above runs; and as few kernels as can be.
        const configuration small{{256, 4}};
        constexpr dtype types[] = {dtype::f32, dtype::f16, dtype::i8, dtype::f64};
        std::size_t i = 0;
        for (const std::int64_t length : {1025, 40000, 1, 4097, 1024})
            for (int k = 0; k < samples(2); ++k, ++i)
                sort_case<sort_radix>(*m, d, types[i % std::size(types)], {k == 0 ? 3 : 1}, length,
                                      i % 3 == 0 ? values::tiny : values::special, i == 2, count,
                                      &small);
        CHECK(count.ran > 0);
    }
}

TEST_CASE(
    "sort: by bits, no rows and empty rows write nothing, and what no workgroup holds is refused") {
    for (const auto& m : machines()) {
        tally count("empty radix sort on " + m->info().name);
        dice d(46);
        for (const auto& [outer, length] :
             {std::pair{shape{0}, std::int64_t{5}}, std::pair{shape{3}, std::int64_t{0}}}) {
            workspace w(d);
            sort_problem p{outer,
                           length,
                           length,
                           false,
                           w.input(dtype::f32, {5, 5}, placing::dense),
                           w.output(dtype::i64, {5, 5}, placing::dense)};
            check<sort_radix_rows>(*m, p, w, {}, {}, "empty", count);
            const configuration small{{256, 4}};
            check<sort_radix>(*m, p, w, {}, {}, "empty", count, &small);
        }
        sort_problem p{{}, 8193, 8193, false, {0, dtype::f32, 0, {1}}, {1, dtype::i64, 0, {1}}};
        const support s = sort_radix_rows::supports(p, m->info());
        CHECK_FALSE(s.yes);
        CHECK(s.reason.starts_with("no workgroup holds a row of 8193"));
        CHECK(sort_radix::supports(p, m->info()).yes);
    }
}
