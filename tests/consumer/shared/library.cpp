// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A shared library that uses Pumice inside and shows nothing of it.
#include <pumice.hpp>

#include <sstream>
#include <string>

__attribute__((visibility("default"))) std::string from_library() {
    const pumice::vector<float> ones = pumice::ones<float>({4});
    const pumice::vector<float> five = ones * 4.0f + ones;
    std::ostringstream text;
    text << five;
    return text.str();
}
