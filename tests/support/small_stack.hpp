// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A function on a thread whose stack is small: what recurses along its input does not come back.
#pragma once

#include <tests/support/sanitizer.hpp>

#include <pthread.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <utility>

namespace test {

/// Calls `f` with 256 KiB of stack (4 MiB where the address sanitizer widens each frame) and throws
/// what it throws.
template <class F>
void on_small_stack(F f) {
    struct call {
        F body;
        std::exception_ptr fault;
        static void* start(void* self) {
            call& c = *static_cast<call*>(self);
            try {
                c.body();
            } catch (...) {
                c.fault = std::current_exception();
            }
            return nullptr;
        }
    } c{std::move(f), nullptr};
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, std::size_t{address_sanitizer ? 4096U : 256U} << 10);
    pthread_t thread{};
    const int failed = pthread_create(&thread, &how, &call::start, &c);
    pthread_attr_destroy(&how);
    if (failed != 0) throw std::runtime_error("no thread was to be had");
    pthread_join(thread, nullptr);
    if (c.fault) std::rethrow_exception(c.fault);
}

}  // namespace test
