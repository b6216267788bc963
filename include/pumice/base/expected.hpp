// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// `expected`: the standard's or tl::expected (base/config.hpp says when).
#pragma once

#include <pumice/base/error.hpp>

#ifdef PUMICE_STD_EXPECTED
#include <expected>
namespace pumice { inline namespace PUMICE_ABI {
template <class T>
using expected = std::expected<T, error>;
using unexpected = std::unexpected<error>;
}}  // namespace pumice::PUMICE_ABI
#else
#include <tl/expected.hpp>
namespace pumice { inline namespace PUMICE_ABI {
template <class T>
using expected = tl::expected<T, error>;
using unexpected = tl::unexpected<error>;
}}  // namespace pumice::PUMICE_ABI
#endif

namespace pumice { inline namespace PUMICE_ABI {

/// Runs `f` and turns a thrown `pumice::error` into an `expected`: how each `try_x` is made of `x`.
template <class F>
auto attempt(F&& f) -> expected<decltype(f())> {
    try {
        if constexpr (std::is_void_v<decltype(f())>) {
            f();
            return {};
        } else {
            return f();
        }
    } catch (const error& e) {
        return unexpected(e);
    }
}

}}  // namespace pumice::PUMICE_ABI
