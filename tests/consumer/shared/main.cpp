// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program that uses Pumice beside a library that does: each has an engine of its own, and they
// agree.
#include <pumice.hpp>

#include <iostream>
#include <sstream>

std::string from_library();

int main() {
    const pumice::vector<float> ones = pumice::ones<float>({4});
    const pumice::vector<float> five = ones * 4.0f + ones;
    std::ostringstream text;
    text << five;
    std::cout << text.str() << '\n';
    return text.str() == from_library() ? 0 : 1;
}
