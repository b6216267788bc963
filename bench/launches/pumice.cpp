// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What it costs the host to evaluate a graph of one kernel whose plan is known: time, allocations
// and submits of an evaluation that nobody waits for. usage: [regular expression of names]
#include <bench/support/measure.hpp>

#include <cstdlib>
#include <new>

namespace pm = pumice;

namespace {

const bench::filter* asked = nullptr;
thread_local std::uint64_t allocations = 0;  // of this thread

void* counted(std::size_t size) {
    ++allocations;
    if (void* const p = std::malloc(size > 0 ? size : 1)) return p;
    throw std::bad_alloc();
}

/// `make` gives a fresh lazy tensor each time.
void known(const pm::context& home, const char* name, const std::function<pm::any_tensor()>& make,
           int count, bool computes = true) {
    if (!asked->takes(name)) return;
    pm::any_tensor last;
    const auto run = [&] {
        pm::any_tensor t = make();
        pm::eval(std::span<const pm::any_tensor>(&t, 1));
        last = std::move(t);
    };
    const auto finish = [&] {
        if (computes) bench::drain(last);
    };
    for (int i = 0; i < 2 * count; ++i) run();
    finish();
    std::vector<double> host, queued;
    std::uint64_t submits = 0, allocates = 0;
    constexpr int rounds = 9;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t a = allocations, s = home.stats().submits;
        const double start = bench::now();
        for (int i = 0; i < count; ++i) run();
        host.push_back((bench::now() - start) / count);
        submits += home.stats().submits - s;
        allocates += allocations - a;
        finish();
        queued.push_back((bench::now() - start) / count);
    }
    bench::json_line()
        .add("case", std::string("launch_") + name)
        .add("host_us", bench::median(host))
        .add("med_us", bench::median(queued))
        .add("submits", double(submits) / (rounds * count))
        .add("allocations", double(allocates) / (rounds * count));
}

pm::any_tensor given(const pm::context& home, std::int64_t count) {
    const pm::any_tensor t = pm::full(pm::dtype::f32, {count}, 1.5, home);
    pm::eval(std::span(&t, 1));
    return t;
}

void all(const pm::context& home, const std::string& end, bool computes) {
    const pm::any_tensor a = given(home, 4096), b = given(home, 4096), large = given(home, 4 << 20),
                         other = given(home, 4 << 20);
    const int count = computes ? 200 : 2000;
    known(home, ("add_f32_16KiB" + end).c_str(), [&] { return a + b; }, count, computes);
    known(
        home, ("chain_f32_16KiB" + end).c_str(), [&] { return pm::relu(a * b + 1.0f) - a; }, count,
        computes);
    known(home, ("add_f32_16MiB" + end).c_str(), [&] { return large + other; }, count, computes);
    pm::any_tensor sum = a;
    known(
        home, ("dependent_add_f32_16KiB" + end).c_str(),
        [&] {
            sum = sum + b;
            return sum;
        },
        count, computes);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size > 0 ? size : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

int main(int argc, char** argv) try {
    const bench::filter names(argc > 1 ? argv[1] : nullptr);
    asked = &names;
    const pm::context home;
    {
        bench::json_line line;
        bench::add_machine(line, home);
    }
    pm::device_info described = home.device();
    all(pm::context(pm::null_device{described}), "_null", false);
    all(home, "", true);
    all(pm::context(pm::gathering::none{}), "_submit_each", true);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
