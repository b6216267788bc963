// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A stranger's program, of two files that both include everything.
#include "twice.hpp"

#include <iostream>
#ifdef WITH_PACK
#include <kernels.hpp>
#endif

namespace pm = pumice;

int main() {
#ifdef WITH_PACK
    pm::set_default_context(pm::context(pm::pack(pumice_packs::kernels)));
#endif
    const pm::vector<float> ones = pm::ones<float>({4});
    const pm::vector<float> five = twice(ones) * 2.0f + ones;
    std::cout << five << '\n';
}
