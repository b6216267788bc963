// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A stranger's program, of two files that both include everything.
#include "twice.hpp"

#include <iostream>

namespace pm = pumice;

int main() {
    const pm::vector<float> ones = pm::ones<float>({4});
    const pm::vector<float> five = twice(ones) * 2.0f + ones;
    std::cout << five << '\n';
}
