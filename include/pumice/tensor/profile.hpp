// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the time goes: what a context's device and its host did, as data, as a table, as a trace.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/tensor/context.hpp>

#ifndef PUMICE_COMPILED
#include <pumice/base/escape.hpp>
#endif

#include <cstdint>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// A kernel, a copy, or a stretch of the host's work. Times are in microseconds since the start.
struct profile_event {
    std::string name;
    double begin_us = 0, duration_us = 0;
    std::int64_t bytes = 0;   // read and written
    int track = 0;            // of profile::tracks
    std::string origin = {};  // what of the program a kernel computes, where that has names
};

struct profile {
    std::vector<std::string> tracks;  // the host, then each queue of the device
    std::vector<profile_event> events;
    std::int64_t dropped = 0;  // events beyond the most that a profile holds

    /// A row a kernel with its count, time, bytes a second and share, then the host's work. A
    /// kernel that computes what has names has a row for each of them.
    PUMICE_FUNCTION std::string table() const;
    /// JSON of Chrome's trace event format, which ui.perfetto.dev opens.
    PUMICE_FUNCTION std::string chrome_trace() const;
};

/// Profiles a context from here to `finish()`, or to the end of the scope, which drops the profile.
/// One at a time for a context: throws errc::invalid_argument where one is at work already, and
/// errc::unsupported where the device has no clock.
class profiler {
public:
    explicit profiler(const context& c = default_context()) : engine_(c.get()) {
        engine_->profile_start();
    }
    profiler(const profiler&) = delete;
    profiler& operator=(const profiler&) = delete;
    ~profiler();

    /// Waits for the device. Throws what it reports, and errc::invalid_argument if called again.
    profile finish();

private:
    std::shared_ptr<engine> engine_;
};

#ifndef PUMICE_COMPILED

PUMICE_INLINE profiler::~profiler() {
    if (!engine_) return;
    try {
        profile dropped;
        engine_->profile_stop(dropped);
    } catch (...) {
        // A device that was lost has told, or will tell, whoever reads a tensor.
    }
}
PUMICE_INLINE profile profiler::finish() {
    if (!engine_) fail(errc::invalid_argument, "profiler", {"this profile is finished already"});
    profile p;
    std::exchange(engine_, nullptr)->profile_stop(p);
    return p;
}

namespace detail {

/// A number with some decimals, whatever the locale says.
inline std::string decimal(double value, int digits) {
    std::int64_t scale = 1;
    for (int i = 0; i < digits; ++i) scale *= 10;
    const bool minus = value < 0;
    const auto whole =
        static_cast<std::int64_t>((minus ? -value : value) * static_cast<double>(scale) + 0.5);
    std::string text = cat({minus ? "-" : "", whole / scale, "."});
    const std::string rest = cat({whole % scale});
    return text.append(static_cast<std::size_t>(digits) - rest.size(), '0') + rest;
}

/// Appends `text`, at the right of a column.
inline void append_right(std::string& out, std::size_t width, const std::string& text) {
    if (text.size() < width) out.append(width - text.size(), ' ');
    out += text;
}

/// Events of one name and origin.
struct profile_row {
    const std::string *name, *origin;
    std::int64_t count = 0, bytes = 0;
    double us = 0;
};

/// The events of the host or of the devices by name, the longest first.
inline array_list<profile_row> profile_rows(const profile& p, bool host) {
    array_list<profile_row> rows;
    for (const profile_event& e : p.events) {
        if ((e.track == 0) != host) continue;
        std::size_t i = 0;
        while (i < rows.size() && (*rows[i].name != e.name || *rows[i].origin != e.origin)) ++i;
        if (i == rows.size()) rows.push_back({&e.name, &e.origin});
        ++rows[i].count;
        rows[i].bytes += e.bytes;
        rows[i].us += e.duration_us;
    }
    for (std::size_t i = 1; i < rows.size(); ++i)
        for (std::size_t k = i; k > 0 && rows[k].us > rows[k - 1].us; --k)
            std::swap(rows[k], rows[k - 1]);
    return rows;
}

}  // namespace detail

PUMICE_BODY std::string profile::table() const {
    const array_list<detail::profile_row> kernels = detail::profile_rows(*this, false);
    const std::string total_name = "all", nothing;
    detail::profile_row total{&total_name, &nothing};
    for (const detail::profile_row& r : kernels) {
        total.count += r.count;
        total.bytes += r.bytes;
        total.us += r.us;
    }
    std::string text = "  count           µs      GB/s   share  kernel\n";
    const auto write = [&](const detail::profile_row& r) {
        detail::append_right(text, 7, cat({r.count}));
        detail::append_right(text, 13, detail::decimal(r.us, 1));
        const double rate = static_cast<double>(r.bytes) / 1000;  // bytes a µs are MB/s
        detail::append_right(text, 10, r.us > 0 ? detail::decimal(rate / r.us, 1) : "-");
        detail::append_right(text, 7,
                             total.us > 0 ? detail::decimal(100 * r.us / total.us, 1) : "-");
        append_text(text,
                    {" %", "  ", *r.name, r.origin->empty() ? "" : "  for ", *r.origin, "\n"});
    };
    for (const detail::profile_row& r : kernels) write(r);
    if (kernels.size() != 1) write(total);
    double first = 0, last = 0;
    bool ran = false;
    for (const profile_event& e : events) {
        if (e.track == 0) continue;
        const double end = e.begin_us + e.duration_us;
        if (!ran || e.begin_us < first) first = e.begin_us;
        if (!ran || end > last) last = end;
        ran = true;
    }
    if (ran)
        append_text(text, {"from the first to the last ", detail::decimal(last - first, 1), " µs"});
    else text += "no kernel ran";
    const char* before = "; the host: ";
    for (const detail::profile_row& r : detail::profile_rows(*this, true)) {
        append_text(text, {before, *r.name, " ", detail::decimal(r.us, 1), " µs"});
        before = ", ";
    }
    text += '\n';
    if (dropped > 0)
        append_text(text,
                    {dropped, " events more were left out: a profile holds ", events.size(), "\n"});
    return text;
}

PUMICE_BODY std::string profile::chrome_trace() const {
    std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    const char* before = "\n";
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        append_text(text, {before, "{\"ph\":\"M\",\"pid\":1,\"tid\":", i,
                           ",\"name\":\"thread_name\",\"args\":{\"name\":\"",
                           escape_json(tracks[i]), "\"}}"});
        before = ",\n";
    }
    for (const profile_event& e : events) {
        append_text(text, {before, "{\"ph\":\"X\",\"pid\":1,\"tid\":", e.track,
                           ",\"ts\":", detail::decimal(e.begin_us, 3),
                           ",\"dur\":", detail::decimal(e.duration_us, 3), ",\"name\":\"",
                           escape_json(e.name), "\""});
        if (!e.origin.empty())
            append_text(text, {",\"args\":{\"bytes\":", e.bytes, ",\"computes\":\"",
                               escape_json(e.origin), "\"}"});
        else if (e.bytes > 0) append_text(text, {",\"args\":{\"bytes\":", e.bytes, "}"});
        text += '}';
        before = ",\n";
    }
    return cat({text, "\n],\"otherData\":{\"dropped\":\"", dropped, "\"}}\n"});
}

#endif

}}  // namespace pumice::PUMICE_ABI
