// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a run: a status instead of an exception, and a text of what went wrong.
#pragma once

#include <pumice/base/error.hpp>

#include <cstring>
#include <exception>
#include <new>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// The values are those of <pumice/runner.h>, and stay.
enum class run_status : int {
    ok = 0,
    timeout = 1,    // the time of a wait is over, the run goes on
    busy = 2,       // as many runs are in flight as the runner takes
    cancelled = 3,  // before it was done, or its runner went
    invalid_argument = 4,
    shape_mismatch = 5,
    dtype_mismatch = 6,
    context_mismatch = 7,
    unsupported = 8,
    out_of_memory = 9,
    device_lost = 10,
    io_failed = 11,
    bad_file = 12,
    failed = 13,  // anything else: run_message() says what
};

constexpr std::string_view to_string(run_status s) noexcept {
    constexpr std::string_view names[] = {"ok",
                                          "timeout",
                                          "busy",
                                          "cancelled",
                                          "invalid_argument",
                                          "shape_mismatch",
                                          "dtype_mismatch",
                                          "context_mismatch",
                                          "unsupported",
                                          "out_of_memory",
                                          "device_lost",
                                          "io_failed",
                                          "bad_file",
                                          "failed"};
    const auto i = static_cast<std::size_t>(s);
    return i < std::size(names) ? names[i] : "unknown";
}

constexpr run_status status_of(errc code) noexcept {
    switch (code) {
        case errc::invalid_argument:
        case errc::axis_out_of_range:
        case errc::index_out_of_range:
        case errc::size_overflow: return run_status::invalid_argument;
        case errc::shape_mismatch:
        case errc::rank_mismatch: return run_status::shape_mismatch;
        case errc::dtype_mismatch: return run_status::dtype_mismatch;
        case errc::context_mismatch: return run_status::context_mismatch;
        case errc::unsupported:
        case errc::unsupported_op: return run_status::unsupported;
        case errc::out_of_memory: return run_status::out_of_memory;
        case errc::device_lost: return run_status::device_lost;
        case errc::io_failed: return run_status::io_failed;
        case errc::bad_file: return run_status::bad_file;
        case errc::cancelled: return run_status::cancelled;
        default: return run_status::failed;
    }
}

/// A text of bounded length that needs no memory.
class short_text {
public:
    void set(std::string_view text) noexcept {
        const std::size_t n = text.size() < sizeof text_ ? text.size() : sizeof text_ - 1;
        if (n > 0) std::memcpy(text_, text.data(), n);
        text_[n] = 0;
    }
    const char* c_str() const noexcept { return text_; }

private:
    char text_[512] = {};
};

namespace detail {
inline thread_local constinit short_text last_message{};

/// The status of the exception that is being handled; `text` says what it said.
inline run_status status_of_exception(short_text& text) noexcept {
    try {
        throw;
    } catch (const error& e) {
        text.set(e.what());
        return status_of(e.code());
    } catch (const std::bad_alloc&) {
        text.set("the host has no memory left");
        return run_status::out_of_memory;
    } catch (const std::exception& e) {
        text.set(e.what());
        return run_status::failed;
    } catch (...) {
        text.set("something that is no std::exception was thrown");
        return run_status::failed;
    }
}
inline run_status tell(run_status s, std::string_view text) noexcept {
    last_message.set(text);
    return s;
}
}  // namespace detail

/// What the last call of a runner's on this thread that did not give `ok` said; "" before one.
inline const char* run_message() noexcept { return detail::last_message.c_str(); }

}}  // namespace pumice::PUMICE_ABI
