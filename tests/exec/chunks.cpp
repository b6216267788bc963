// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels in pieces: no piece above the budget but for one kernel, and a graph of them as text.
#include <pumice/exec/chunks.hpp>

#include <doctest/doctest.h>

#include <random>

namespace pm = pumice;

TEST_CASE("chunks: a line of pieces within the budget, every kernel once and in order") {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<double> seconds(random() % 40);
        for (double& s : seconds) s = double(random() % 100);
        const double budget = double(random() % 200);
        const pm::array_list<pm::chunk> list = pm::cut(seconds, budget);
        REQUIRE(!list.empty());
        std::size_t at = 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const pm::chunk& c = list[i];
            CHECK(c.begin == at);
            at = c.end;
            double sum = 0;
            for (std::size_t k = c.begin; k < c.end; ++k) sum += seconds[k];
            CHECK((sum <= budget || c.end == c.begin + 1));
            CHECK(c.seconds == sum);
            CHECK(c.predecessors == (i == 0 ? 0 : 1));
            CHECK(c.is_output == (i + 1 == list.size()));
            CHECK(c.dependents.size() == (c.is_output ? 0 : 1));
            if (!c.is_output) {
                CHECK(c.dependents[0] == i + 1);
                CHECK(sum + seconds[at] > budget);  // the next kernel has no place here
            }
        }
        CHECK(at == seconds.size());
    }
}

TEST_CASE("chunks: as text") {
    CHECK(pm::to_string(pm::one_chunk(7)).empty());
    const double seconds[] = {0.001, 0.002, 0.5, 0.001};
    CHECK(pm::to_string(pm::cut(seconds, 0.01)) ==
          "chunk 0: kernels 0 to 1, 3000 us, after 0, before 1\n"
          "chunk 1: kernels 2 to 2, 500000 us, after 1, before 2\n"
          "chunk 2: kernels 3 to 3, 1000 us, after 1, before the end\n");
}
