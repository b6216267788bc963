// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a test changes of its process, for a scope: environment variables and the log's sink.
#pragma once

#include <pumice/base/log.hpp>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace test {

/// Sets an environment variable for its own lifetime.
struct variable {
    std::string name, before;
    bool had = false;
    variable(const char* what, const std::string& value) : name(what) {
        if (const char* old = std::getenv(what)) before = old, had = true;
        ::setenv(what, value.c_str(), 1);
    }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;
    ~variable() { had ? ::setenv(name.c_str(), before.c_str(), 1) : ::unsetenv(name.c_str()); }
};

/// Collects the warnings and errors that are logged in its own lifetime.
class captured_log {
public:
    captured_log() : before_(pumice::set_log_sink(&keep)) {
        const std::lock_guard lock(mutex());
        lines().clear();
    }
    captured_log(const captured_log&) = delete;
    captured_log& operator=(const captured_log&) = delete;
    ~captured_log() { pumice::set_log_sink(before_); }

    /// Those that contain `part`.
    std::vector<std::string> with(std::string_view part) const {
        const std::lock_guard lock(mutex());
        std::vector<std::string> found;
        for (const std::string& line : lines())
            if (line.find(part) != std::string::npos) found.push_back(line);
        return found;
    }

private:
    static std::mutex& mutex() {
        static std::mutex m;
        return m;
    }
    static std::vector<std::string>& lines() {
        static std::vector<std::string> list;
        return list;
    }
    static void keep(pumice::severity level, std::string_view text) {
        if (level == pumice::severity::info) return;
        const std::lock_guard lock(mutex());
        lines().emplace_back(text);
    }
    pumice::log_sink before_;
};

}  // namespace test
