// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What crosses from one place of a plan to another.
#pragma once

#include <pumice/exec/plan/plan.hpp>

#include <set>
#include <utility>

namespace test {

struct crossings {
    int all = 0, again = 0;  // transfers, and those of a value that had crossed to that place
    explicit crossings(const pumice::plan& p) {
        std::set<std::pair<int, int>> seen;
        for (const pumice::plan_step& s : p.steps) {
            if (!p.is_transfer(s)) continue;
            ++all;
            again += !seen.insert({s.buffers[0], p.at(s.outputs[0]).place}).second;
        }
    }
};

}  // namespace test
