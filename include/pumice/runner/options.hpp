// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a runner runs: a struct, which is also made from a map or a file of `key = value` lines.
#pragma once

#include <pumice/base/log.hpp>
#include <pumice/base/span.hpp>
#include <pumice/model/input_file.hpp>
#include <pumice/runner/layout.hpp>

#include <any>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// In which form a tensor is given to a runner: as the model's file or function says, or as the
/// kernels read it, which is no copy.
enum class io_view : std::uint8_t { host, hardware };
enum class queue_sharing : std::uint8_t {
    shared,    // the process-wide context, whose queue other work uses too
    exclusive  // a device and a queue of its own
};
enum class when_full : std::uint8_t { block, busy };
enum class callback_order : std::uint8_t { as_submitted, as_completed };
enum class log_level : std::uint8_t { unchanged, info, warning, error, off };

namespace detail {
/// Pre: not `unchanged`, which severities lack.
constexpr severity severity_of(log_level l) noexcept {
    return static_cast<severity>(static_cast<int>(l) - 1);
}
static_assert(severity_of(log_level::info) == severity::info &&
              severity_of(log_level::off) == severity::off);
}  // namespace detail

struct runner_options {
    io_view input_view = io_view::host;
    io_view output_view = io_view::host;
    /// How arrays of the layout's rank lie in the hardware view; by itself as in the host's.
    memory_layout hardware_layout = {};
    /// Of floating values in the hardware view; by itself the host's.
    std::optional<dtype> hardware_dtype = {};
    /// The caller calls `sync` of tensors that lie in mapped memory.
    bool skip_input_sync = false;
    bool skip_output_sync = false;
    /// Heap of the device's memory that `allocate` takes; -1: the best.
    int memory_heap = -1;
    // Of a runner that makes its own context (make_runner); another's has one.
    queue_sharing sharing = queue_sharing::exclusive;
    int queue_index = 0;             // of the queues of the device's compute family
    bool transfer_queues = false;    // weights go up on queues that only copy, where there are any
    bool compiler_messages = false;  // what Slang says of kernels that compile goes to the log
    /// Of compiled kernels; "" the usual place, {model}, {pid} and {tid} stand for the model's
    /// name and the numbers of process and thread.
    std::string cache_folder = {};
    /// Threads that submit asynchronous runs, wait for them and call back; at least 1.
    int async_threads = 2;
    /// Asynchronous runs that are waiting or at work at most; at least 1.
    int max_in_flight = 8;
    when_full full = when_full::block;
    callback_order order = callback_order::as_completed;
    /// A run that has begun can be cancelled too: it is handed to the device in pieces of some
    /// 20 ms, which costs each run a little.
    bool cancel_running = false;
    /// Of the process: from which severity on the log is told.
    log_level level = log_level::unchanged;
    /// Each run is timed (runner::profile_table), which takes time and memory, one run at a time.
    bool profiling = false;

    /// Values are of the member's type, a text that names it, or an int for a number. Throws
    /// errc::invalid_argument that names an unknown key, or one of another type. The key
    /// `config_file` names a file whose options come first.
    static runner_options from_map(const std::map<std::string, std::any>& values);
    /// Lines of `key = value`; `#` begins a comment. Throws errc::io_failed, and what from_map
    /// throws with the line's number.
    static runner_options from_file(const std::string& path);

    friend bool operator==(const runner_options&, const runner_options&) = default;
};

/// A line of `key = value` each, which from_file reads.
inline std::string to_string(const runner_options& o);

// THE table of the options by name: reading and printing go through it.

namespace detail {

// The names of an enumeration's values, in order.
inline constexpr std::string_view io_views[] = {"host", "hardware"};
inline constexpr std::string_view queue_sharings[] = {"shared", "exclusive"};
inline constexpr std::string_view when_fulls[] = {"block", "busy"};
inline constexpr std::string_view callback_orders[] = {"as_submitted", "as_completed"};
inline constexpr std::string_view log_levels[] = {"unchanged", "info", "warning", "error", "off"};
inline constexpr std::string_view truths[] = {"false", "true"};

constexpr span<const std::string_view> words_of(io_view) { return io_views; }
constexpr span<const std::string_view> words_of(queue_sharing) { return queue_sharings; }
constexpr span<const std::string_view> words_of(when_full) { return when_fulls; }
constexpr span<const std::string_view> words_of(callback_order) { return callback_orders; }
constexpr span<const std::string_view> words_of(log_level) { return log_levels; }
constexpr span<const std::string_view> words_of(bool) { return truths; }

/// Calls f(key, member, least) for each option.
template <class Options, class F>
void each_option(Options& o, F&& f) {
    f("input_view", o.input_view, 0);
    f("output_view", o.output_view, 0);
    f("hardware_layout", o.hardware_layout, 0);
    f("hardware_dtype", o.hardware_dtype, 0);
    f("skip_input_sync", o.skip_input_sync, 0);
    f("skip_output_sync", o.skip_output_sync, 0);
    f("memory_heap", o.memory_heap, -1);
    f("queue_sharing", o.sharing, 0);
    f("queue_index", o.queue_index, 0);
    f("transfer_queues", o.transfer_queues, 0);
    f("compiler_messages", o.compiler_messages, 0);
    f("cache_folder", o.cache_folder, 0);
    f("async_threads", o.async_threads, 1);
    f("max_in_flight", o.max_in_flight, 1);
    f("when_full", o.full, 0);
    f("callback_order", o.order, 0);
    f("cancel_running", o.cancel_running, 0);
    f("log_level", o.level, 0);
    f("profiling", o.profiling, 0);
}

inline std::string option_text(const std::string& s) { return s; }
inline std::string option_text(int n) { return cat({n}); }
inline std::string option_text(const memory_layout& l) { return to_string(l); }
inline std::string option_text(const std::optional<dtype>& t) {
    return std::string(t ? to_string(*t) : "");
}
template <class T>
std::string option_text(T value) {
    return std::string(words_of(value)[static_cast<std::size_t>(value)]);
}

/// What a text may be for a member; empty: it was one.
inline std::string parse_option(std::string& to, std::string_view text) {
    to = text;
    return {};
}
inline std::string parse_option(int& to, std::string_view text) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), to);
    return fault == std::errc() && end == text.data() + text.size() && !text.empty()
               ? ""
               : "a whole number";
}
inline std::string parse_option(memory_layout& to, std::string_view text) {
    try {
        to = memory_layout::named(text);
        return {};
    } catch (const error& e) {
        return "a layout: " + e.message();
    }
}
inline std::string parse_option(std::optional<dtype>& to, std::string_view text) {
    to.reset();
    if (text.empty()) return {};
    for (std::size_t i = 0; i < dtype_table.size(); ++i)
        if (is_floating(static_cast<dtype>(i)) && dtype_table[i].name == text)
            to = static_cast<dtype>(i);
    return to ? "" : "a floating type such as f16 or bf16";
}
template <class T>
std::string parse_option(T& to, std::string_view text) {
    const span<const std::string_view> words = words_of(T{});
    std::string wanted;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == text) {
            to = static_cast<T>(i);
            return {};
        }
        append_text(wanted, {(i == 0 ? "one of " : ", "), words[i]});
    }
    return wanted;
}

/// The same of a value of whatever type.
template <class T>
std::string take_option(T& to, const std::any& value) {
    if (const T* same = std::any_cast<T>(&value)) {
        to = *same;
        return {};
    }
    if constexpr (std::is_same_v<T, std::optional<dtype>>)
        if (const dtype* same = std::any_cast<dtype>(&value)) {
            if (!is_floating(*same)) return "a floating type such as f16 or bf16";
            to = *same;
            return {};
        }
    if constexpr (std::is_same_v<T, int>)
        if (const auto* n = std::any_cast<unsigned>(&value); n && *n <= 0x7fffffffu) {
            to = static_cast<int>(*n);
            return {};
        }
    if (const auto* s = std::any_cast<std::string>(&value)) return parse_option(to, *s);
    if (const auto* s = std::any_cast<const char*>(&value)) return parse_option(to, *s);
    if (const auto* s = std::any_cast<std::string_view>(&value)) return parse_option(to, *s);
    T sample{};
    std::string wanted = parse_option(sample, "\n");  // no option's text
    return wanted.empty() ? "a text" : wanted;
}

/// Pre: `where` begins the message. Throws errc::invalid_argument.
inline void set_option(runner_options& o, const std::string& key, const std::any& value,
                       std::string_view where) {
    bool known = false;
    std::vector<std::string> keys;
    each_option(o, [&]<class T>(const char* name, T& member, [[maybe_unused]] int least) {
        keys.emplace_back(name);
        if (key != name) return;
        known = true;
        std::string wanted = take_option(member, value);
        if constexpr (std::is_same_v<T, int>)
            if (wanted.empty() && member < least) wanted = cat({"a number of at least ", least});
        if (!wanted.empty())
            fail(errc::invalid_argument, "runner_options",
                 {where, "the option \"", key, "\" takes ", wanted});
    });
    if (!known)
        throw error(errc::invalid_argument, "runner_options",
                    cat({where, "there is no option \"", key, "\""}), std::move(keys));
}

inline void read_options(runner_options& o, const std::string& path) {
    const std::shared_ptr<input_file> file = input_file::open(path);
    if (file->size() > 1 << 20)
        fail(errc::bad_file, "runner_options",
             {path, ": options take at most 1 MiB, the file has ", file->size()});
    std::string all(static_cast<std::size_t>(file->size()), '\0');
    file->read(0, as_writable_bytes(span(all)));
    const auto trimmed = [](std::string_view s) {
        while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
        while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r'))
            s.remove_suffix(1);
        return s;
    };
    // From a '#' on that begins the line or stands behind a space.
    const auto without_comment = [](std::string_view s) {
        for (std::size_t at = s.find('#'); at != s.npos; at = s.find('#', at + 1))
            if (at == 0 || s[at - 1] == ' ' || s[at - 1] == '\t') return s.substr(0, at);
        return s;
    };
    int number = 0;
    for (std::string_view rest = all; !rest.empty();) {
        ++number;
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view text = trimmed(without_comment(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (text.empty()) continue;
        const std::string where = cat({path, ":", number, ": "});
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos)
            fail(errc::invalid_argument, "runner_options",
                 {where, "\"", text, "\" is no line of the form key = value"});
        set_option(o, std::string(trimmed(text.substr(0, equals))),
                   std::string(trimmed(text.substr(equals + 1))), where);
    }
}

/// Throws errc::invalid_argument for what the struct was given out of range.
inline void check_options(const runner_options& o) {
    each_option(o, []<class T>(const char* name, const T& member, [[maybe_unused]] int least) {
        if constexpr (std::is_same_v<T, int>)
            if (member < least)
                fail(errc::invalid_argument, "runner_options",
                     {"the option \"", name, "\" is ", member, ", at least ", least, " is wanted"});
    });
    if (o.hardware_dtype && !is_floating(*o.hardware_dtype))
        fail(errc::invalid_argument, "runner_options",
             {"the option \"hardware_dtype\" is ", to_string(*o.hardware_dtype),
              ", a floating type is wanted"});
}

}  // namespace detail

inline runner_options runner_options::from_map(const std::map<std::string, std::any>& values) {
    runner_options o;
    if (const auto file = values.find("config_file"); file != values.end()) {
        std::string path, wanted = detail::take_option(path, file->second);
        if (!wanted.empty())
            fail(errc::invalid_argument, "runner_options",
                 {"the option \"config_file\" takes ", wanted});
        if (!path.empty()) detail::read_options(o, path);
    }
    for (const auto& [key, value] : values)
        if (key != "config_file") detail::set_option(o, key, value, "");
    return o;
}
inline runner_options runner_options::from_file(const std::string& path) {
    runner_options o;
    detail::read_options(o, path);
    return o;
}
inline std::string to_string(const runner_options& o) {
    std::string text;
    detail::each_option(o, [&](const char* name, const auto& member, int) {
        append_text(text, {name, " = ", detail::option_text(member), "\n"});
    });
    return text;
}

}}  // namespace pumice::PUMICE_ABI
