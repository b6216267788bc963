// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How benchmarks time: medians as JSON lines with the fields of bench/peers/torch_ref.py.
#pragma once

#include <pumice/front.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

namespace bench {

namespace pm = pumice;

inline double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now()
                                                         .time_since_epoch())
        .count();
}

inline double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + std::ptrdiff_t(v.size() / 2), v.end());
    return v[v.size() / 2];
}

/// Waits until the device has done everything so far.
inline void drain(const pm::any_tensor& last) {
    const pm::slice one[] = {{0, 1, 1}};
    pm::any_tensor part =
        last.rank() > 0 ? pm::slice_view(pm::reshape(last, pm::shape{-1}), one) : last;
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.size_bytes()));
    pm::read(part, bytes);
}

struct timing {
    double med_us;   // per call, calls queued ahead: throughput
    double sync_us;  // call until the device is done: latency
};

/// `call` gives a fresh lazy tensor each time.
inline timing measure(const std::function<pm::any_tensor()>& call, int iterations = 50) {
    const auto run = [&] {
        pm::any_tensor t = call();
        pm::eval(std::span<const pm::any_tensor>(&t, 1));
        return t;
    };
    for (int i = 0; i < 5; ++i) drain(run());
    std::vector<double> sync, batches;
    for (int i = 0; i < iterations; ++i) {
        const double start = now();
        drain(run());
        sync.push_back(now() - start);
    }
    for (int round = 0; round < 5; ++round) {
        const double start = now();
        pm::any_tensor last;
        for (int i = 0; i < iterations; ++i) last = run();
        drain(last);
        batches.push_back((now() - start) / iterations);
    }
    return {median(batches), median(sync)};
}

/// A recording: runs into one output, which is read each time for the latency.
inline timing measure(const pm::executable& e, std::span<const pm::any_tensor> inputs,
                      int iterations = 200) {
    std::vector<pm::any_tensor> out(e.outputs().size());
    const auto once = [&] { e.run_into(out, inputs); };
    once();
    std::vector<std::byte> bytes(static_cast<std::size_t>(out[0].size_bytes()));
    const auto finish = [&] { pm::read(out[0], bytes); };
    for (int i = 0; i < 5; ++i) once(), finish();
    std::vector<double> sync, batches;
    for (int i = 0; i < iterations; ++i) {
        const double start = now();
        once(), finish();
        sync.push_back(now() - start);
    }
    for (int round = 0; round < 5; ++round) {
        const double start = now();
        for (int i = 0; i < iterations; ++i) once();
        finish();
        batches.push_back((now() - start) / iterations);
    }
    return {median(batches), median(sync)};
}

/// `kernel_us`: of the kernels alone, by the device's clock, where that was measured.
inline void report(const char* name, const timing& t, double flop, double bytes,
                   const std::string& kernel, double kernel_us = 0) {
    std::printf("{\"peer\":\"pumice\",\"case\":\"%s\",\"med_us\":%.3f,\"sync_us\":%.3f", name,
                t.med_us, t.sync_us);
    if (flop > 0) std::printf(",\"tflops\":%.2f", flop / t.med_us * 1e-6);
    if (bytes > 0) std::printf(",\"gbps\":%.1f", bytes / t.med_us * 1e-3);
    if (kernel_us > 0) std::printf(",\"kernel_us\":%.3f", kernel_us);
    std::printf(",\"kernel\":\"%s\"}\n", kernel.substr(0, kernel.find('\n')).c_str());
    std::fflush(stdout);
}

}  // namespace bench
