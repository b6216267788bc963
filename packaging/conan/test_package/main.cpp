// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice.hpp>

#include <iostream>

int main() {
    const pumice::vector<float> ones = pumice::ones<float>({4});
    std::cout << ones * 2.0f + 3.0f << '\n';
}
