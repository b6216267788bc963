// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How benchmarks time: lines of JSON with the fields of bench/peers/torch_ref.py.
#pragma once

#include <pumice/front.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <regex>

namespace bench {

namespace pm = pumice;

inline double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now()
                                                         .time_since_epoch())
        .count();
}

/// The value that a share `at` of `v` lies below.
inline double percentile(std::vector<double> v, double at) {
    const auto place =
        std::min(v.size() - 1, static_cast<std::size_t>(at * static_cast<double>(v.size())));
    std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(place), v.end());
    return v[place];
}
inline double median(std::vector<double> v) { return percentile(std::move(v), 0.5); }

/// Whether a case is asked for: all are where nothing is, else those that the expression is found
/// in.
class filter {
public:
    explicit filter(const char* expression = nullptr)
        : all_(!expression || !*expression), expression_(all_ ? "" : expression) {}
    bool takes(const std::string& name) const {
        return all_ || std::regex_search(name, expression_);
    }

private:
    bool all_;
    std::regex expression_;
};

/// One object, printed as a line when it goes.
class json_line {
public:
    json_line() : text_("{\"peer\":\"pumice\"") {}
    json_line(const json_line&) = delete;
    json_line& operator=(const json_line&) = delete;
    ~json_line() {
        std::printf("%s}\n", text_.c_str());
        std::fflush(stdout);
    }
    /// What was not measured, or is no number, is left out.
    json_line& add(const char* name, double value) {
        char number[40];
        std::snprintf(number, sizeof number, "%.6g", value);
        if (std::isfinite(value)) text_ += cat_name(name) + number;
        return *this;
    }
    json_line& add(const char* name, const std::string& value) {
        text_ += cat_name(name) + '"';
        for (const char c : value) {
            if (c == '"' || c == '\\') text_ += '\\';
            text_ += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
        }
        text_ += '"';
        return *this;
    }
    json_line& add(const char* name, const std::vector<double>& values) {
        text_ += cat_name(name) + '[';
        for (std::size_t i = 0; i < values.size(); ++i) {
            char number[40];
            std::snprintf(number, sizeof number, i == 0 ? "%.6g" : ",%.6g", values[i]);
            text_ += number;
        }
        text_ += ']';
        return *this;
    }

private:
    static std::string cat_name(const char* name) { return std::string(",\"") + name + "\":"; }
    std::string text_;
};

/// The first line of a program: on what, by what and when. More is added by the caller.
inline void add_machine(json_line& l, const pm::context& home) {
    const std::time_t seconds = std::time(nullptr);
    char date[32];
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds));
    l.add("mode", "info")
        .add("device", home.device().name)
        .add("driver", home.device().driver)
        .add("date", date);
}

/// Waits until the device has done everything so far.
inline void drain(const pm::any_tensor& last) {
    const pm::slice one[] = {{0, 1, 1}};
    pm::any_tensor part =
        last.rank() > 0 ? pm::slice_view(pm::reshape(last, pm::shape{-1}), one) : last;
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.size_bytes()));
    pm::read(part, bytes);
}

/// Keeps the device at work for as many seconds: idle, one lowers its clocks, and what is measured
/// next would be measured at those.
inline void keep_busy(const pm::context& home, double seconds) {
    const pm::any_tensor a =
        pm::random::normal(pm::dtype::f32, {2048, 2048}, pm::random::key(1), 0, 1, home);
    for (const double until = now() + 1e6 * seconds; now() < until;) {
        pm::any_tensor t = pm::matmul(a, a);
        pm::eval(std::span(&t, 1));
        drain(t);
    }
}

/// Microseconds.
struct timing {
    double queued, queued_least;  // a call, others queued ahead: throughput
    std::vector<double> sync;     // a call until the device is done: latency
};

/// `once(i)` starts the i-th call, `finish()` waits for the device. As many calls as `budget`
/// seconds hold for the latencies, and for each of five rounds of queued ones.
template <class Once, class Finish>
timing measure(const Once& once, const Finish& finish, int most = 50, double budget = 0.25) {
    std::size_t i = 0;
    double one = 0;
    for (int warm = 0; warm < 5; ++warm) {
        const double start = now();
        once(i++), finish();
        one = now() - start;
    }
    const int count = std::clamp(static_cast<int>(budget * 1e6 / one), std::min(5, most), most);
    timing t{};
    for (int n = 0; n < count; ++n) {
        const double start = now();
        once(i++), finish();
        t.sync.push_back(now() - start);
    }
    std::vector<double> rounds;
    for (int round = 0; round < 5; ++round) {
        const double start = now();
        for (int n = 0; n < count; ++n) once(i++);
        finish();
        rounds.push_back((now() - start) / count);
    }
    t.queued = median(rounds);
    t.queued_least = *std::min_element(rounds.begin(), rounds.end());
    return t;
}

/// `call(i)` gives a fresh lazy tensor each time.
inline timing measure_calls(const std::function<pm::any_tensor(std::size_t)>& call, int most = 50,
                            double budget = 0.25) {
    pm::any_tensor last;
    return measure(
        [&](std::size_t i) {
            pm::any_tensor t = call(i);
            pm::eval(std::span<const pm::any_tensor>(&t, 1));
            last = std::move(t);
        },
        [&] { drain(last); }, most, budget);
}

/// A recording: runs into one output, which is read each time for the latency.
inline timing measure_recorded(const pm::executable& e, std::span<const pm::any_tensor> inputs,
                               int most = 200, double budget = 1) {
    std::vector<pm::any_tensor> out(e.outputs().size());
    e.run_into(out, inputs);
    std::vector<std::byte> bytes(static_cast<std::size_t>(out[0].size_bytes()));
    return measure([&](std::size_t) { e.run_into(out, inputs); }, [&] { pm::read(out[0], bytes); },
                   most, budget);
}

inline void add_timing(json_line& l, const timing& t) {
    l.add("med_us", t.queued).add("min_us", t.queued_least).add("sync_us", median(t.sync));
}

/// How `values` lie, in microseconds: `name`_us is the median.
inline void add_distribution(json_line& l, const std::string& name,
                             const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double v : values) sum += v;
    const double mean = sum / static_cast<double>(values.size());
    for (const double v : values) squares += (v - mean) * (v - mean);
    const auto at = [&](const char* end, double share) {
        l.add((name + end).c_str(), percentile(values, share));
    };
    at("_us", 0.5), at("_p05_us", 0.05), at("_p25_us", 0.25), at("_p75_us", 0.75);
    at("_p95_us", 0.95), at("_p99_us", 0.99);
    l.add((name + "_sd_us").c_str(), std::sqrt(squares / static_cast<double>(values.size())));
    // 20 bins from the least to the hundredth greatest; what lies above is in the last.
    const double low = *std::min_element(values.begin(), values.end()),
                 width = std::max((percentile(values, 0.99) - low) / 20, 1e-3);
    std::vector<double> bins(20, 0.0);
    for (const double v : values)
        ++bins[std::min<std::size_t>(19, static_cast<std::size_t>((v - low) / width))];
    l.add((name + "_bin_from_us").c_str(), low).add((name + "_bin_us").c_str(), width);
    l.add((name + "_bins").c_str(), bins);
}

}  // namespace bench
