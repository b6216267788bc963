// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program without Pumice that loads a library which uses it, calls it in a thread, closes it, and
// ends: with a device the library has to stay, since the driver has threads and what runs at exit.
#include <dlfcn.h>

#include <iostream>
#include <string>
#include <thread>

int main(int, char** arguments) {
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    void* const found = library ? dlsym(library, "_Z12from_libraryB5cxx11v") : nullptr;
    if (!found) {
        std::cerr << dlerror() << '\n';
        return 1;
    }
    std::string text;
    std::thread([&] { text = reinterpret_cast<std::string (*)()>(found)(); }).join();
    std::cout << text << '\n';
    return dlclose(library);
}
