// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The log: what an error is not thrown for. Warnings and errors go to stderr unless a sink takes
// them.
#pragma once

#include <pumice/base/hash.hpp>
#include <pumice/base/text.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace pumice { inline namespace PUMICE_ABI {

enum class severity { info, warning, error, off };  // off: a level above all that is told

/// Called from any thread; must not call back into Pumice.
using log_sink = void (*)(severity, std::string_view);

namespace detail {

inline constinit std::atomic<log_sink> sink{nullptr};
inline constinit std::atomic<int> level_asked_for{-1};  // by set_log_level; -1: none

/// PUMICE_LOG: from which severity on something is told where no sink is set; warnings by default.
inline severity least_told() noexcept {
    static const severity least = [] {
        const char* const named = std::getenv("PUMICE_LOG");
        const std::string_view wish = named ? named : "";
        if (wish == "info") return severity::info;
        if (wish == "error") return severity::error;
        return wish == "off" ? severity::off : severity::warning;
    }();
    return least;
}

/// A line of stderr, where the same was not told before: what is true of each context or kernel is
/// said once. Remembers the last text of each of some hundred hashes.
inline void tell(severity level, std::string_view text) {
    static constinit std::atomic<std::uint64_t> told[256] = {};
    const std::uint64_t hash = hash_of(text) | 1;
    if (told[(hash >> 1) % 256].exchange(hash, std::memory_order_relaxed) == hash) return;
    constexpr const char* names[] = {"info", "warning", "error"};
    std::fprintf(stderr, "pumice: %s: %.*s\n", names[static_cast<int>(level)],
                 static_cast<int>(text.size()), text.data());
}

}  // namespace detail

/// Sets the sink for the whole process and returns the old one; null (the start value) is stderr,
/// for what PUMICE_LOG asks for.
inline log_sink set_log_sink(log_sink sink) noexcept { return detail::sink.exchange(sink); }

/// From which severity on the log is told at all, a sink too; severity::off: of nothing. Until it
/// is called a sink is told everything, and stderr what PUMICE_LOG asks for.
inline void set_log_level(severity from) noexcept {
    detail::level_asked_for = static_cast<int>(from);
}

inline void write_log(severity level, std::string_view text) {
    const int least = detail::level_asked_for.load(std::memory_order_relaxed);
    if (static_cast<int>(level) < least) return;
    if (log_sink sink = detail::sink.load(std::memory_order_acquire)) sink(level, text);
    else if (least >= 0 || level >= detail::least_told()) detail::tell(level, text);
}

/// In a handler, for a callback that nobody waits for: logs what it threw, unless memory for the
/// text is short.
inline void log_callback_fault(std::string_view whose) noexcept try {
    try {
        throw;
    } catch (const std::exception& fault) {
        write_log(severity::error, cat({"a callback of ", whose, " threw: ", fault.what()}));
    } catch (...) {
        write_log(severity::error, cat({"a callback of ", whose, " threw no std::exception"}));
    }
} catch (...) {
}

}}  // namespace pumice::PUMICE_ABI
