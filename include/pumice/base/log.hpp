// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The log hook. The library itself prints nothing.
#pragma once

#include <pumice/base/config.hpp>

#include <atomic>
#include <string_view>

namespace pumice::inline PUMICE_ABI {

enum class severity { info, warning, error };

/// Called from any thread; must not call back into Pumice.
using log_sink = void (*)(severity, std::string_view);

namespace detail {
inline constinit std::atomic<log_sink> sink{nullptr};
}

/// Sets the sink for the whole process and returns the old one; null (the start value) is silence.
inline log_sink set_log_sink(log_sink sink) noexcept { return detail::sink.exchange(sink); }

inline void write_log(severity level, std::string_view text) {
    if (log_sink sink = detail::sink.load(std::memory_order_acquire)) sink(level, text);
}

}  // namespace pumice::inline PUMICE_ABI
