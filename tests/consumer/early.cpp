// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program whose context and tensors are objects of a namespace, made before main: the engine is
// there, in whatever order the linker has the program's objects and the library.
#include <pumice.hpp>

#include <iostream>

namespace pm = pumice;

const pm::context home;
const pm::vector<float> ones = pm::ones<float>({5000}, home);
const pm::vector<float> fives = ones * 2.0f + pm::full<float>({5000}, 3.0f, home);
const float first = fives(0).item();

int main() { std::cout << first << ' ' << pm::view(fives, pm::slice{0, 3}) << '\n'; }
