// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rows to sort, for every kernel that does.
#pragma once

#include "kernel_harness.hpp"

namespace test {

template <class Kernel>
void sort_case(machine& m, dice& d, dtype type, const shape& outer, std::int64_t length, values how,
               bool high, tally& count, const configuration* way = nullptr) {
    workspace w(d, high);
    sort_problem p;
    p.outer = outer;
    p.length = length;
    p.first = d.chance(0.3) ? d.in(1, length) : length;
    p.descending = d.chance(0.5);
    shape all = outer;
    all.push_back(length);
    p.values = w.input(type, all, d.chance(0.5) ? placing::dense : placing::any, how);
    shape first = outer;
    first.push_back(p.first);
    p.output = w.output(dtype::i64, first, d.chance(0.5) ? placing::dense : placing::any);
    check<Kernel>(m, p, w, {{p.output, first}}, {tolerance{}},
                  std::string(to_string(type)) + " " + std::to_string(p.first) + " of " +
                      to_string(all) + (p.descending ? " descending" : "") + (high ? " wide" : ""),
                  count, way);
}

}  // namespace test
