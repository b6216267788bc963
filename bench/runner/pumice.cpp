// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a runner adds to the executable's run, tensors used again against new ones, mnist-12 through
// a runner, and a gigabyte brought up while kernels run. usage: [regular expression]
// [mnist-12.onnx] [what sizes are divided by]
#include <bench/support/measure.hpp>

#include <pumice/exec/vulkan/executable.hpp>
#include <pumice/model.hpp>
#include <pumice/runner.hpp>
#include <pumice/tensor/profile.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

namespace pm = pumice;

// Calls of operator new by the thread that measures, those of the driver included.
namespace {
thread_local std::uint64_t allocations = 0;
void* take(std::size_t size, std::size_t alignment) {
    ++allocations;
    const std::size_t bytes = (size + alignment - 1) / alignment * alignment;
    void* const p = std::aligned_alloc(alignment, bytes ? bytes : alignment);
    if (!p) throw std::bad_alloc();
    return p;
}
}  // namespace
[[gnu::noinline]] void* operator new(std::size_t n) { return take(n, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t a) {
    return take(n, std::size_t(a));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
    std::free(p);
}

namespace {

void must(pm::run_status s) {
    if (s != pm::run_status::ok) throw std::runtime_error(pm::run_message());
}

pm::runner_options direct() {
    pm::runner_options o;
    o.input_view = o.output_view = pm::io_view::hardware;
    return o;
}

/// relu(x - 1) * 2 of so many floats.
pm::runner shifting(const pm::context& home, std::int64_t count, const pm::runner_options& o) {
    pm::tensor_info x;
    x.name = "x";
    x.dtype = pm::dtype::f32;
    x.shape = {count};
    return {home, std::span(&x, 1),
            [](std::span<const pm::any_tensor> in) {
                const pm::any_tensor y = pm::relu(in[0] - 1.0f);
                return std::vector<pm::any_tensor>{pm::any_tensor(y + y)};
            },
            o};
}

/// Two ways by turns, in rounds of `calls`: microseconds a call, of each round.
struct two_ways {
    std::vector<double> first, second, difference;
    double first_allocations, second_allocations;  // a call
};
template <class First, class Second>
two_ways by_turns(const First& first, const Second& second, int rounds, int calls) {
    two_ways r{};
    for (int i = 0; i < 20; ++i) first(), second();
    const auto round = [calls](const auto& f, std::vector<double>& times, double& asked) {
        const std::uint64_t before = allocations;
        const double begin = bench::now();
        for (int i = 0; i < calls; ++i) f();
        const double took = (bench::now() - begin) / calls;
        asked = static_cast<double>(allocations - before) / calls;
        times.push_back(took);
        return took;
    };
    for (std::vector<double>* v : {&r.first, &r.second, &r.difference})
        v->reserve(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) {
        const double a = round(first, r.first, r.first_allocations);
        const double b = round(second, r.second, r.second_allocations);
        r.difference.push_back(b - a);
    }
    return r;
}
double least(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

void steady(const std::string& name, const pm::context& home) {
    const pm::runner r = shifting(home, 64, direct());
    const pm::runner_tensor x = r.allocate("x"), y = r.allocate("output0");
    const pm::runner_tensor_view in[] = {x}, out[] = {y};
    const pm::any_tensor plain_in[] = {pm::zeros(pm::dtype::f32, {64}, home)};
    std::vector<pm::any_tensor> plain_out(1);
    const two_ways t = by_turns([&] { r.recorded().run_into(plain_out, plain_in).wait(); },
                                [&] { must(r.execute(in, out)); }, 61, 100);
    bench::json_line()
        .add("case", name)
        .add("device", home.device().name)
        .add("executable_us", bench::median(t.first))
        .add("executable_min_us", least(t.first))
        .add("runner_us", bench::median(t.second))
        .add("runner_min_us", least(t.second))
        .add("added_us", bench::median(t.difference))
        .add("added_p25_us", bench::percentile(t.difference, 0.25))
        .add("added_p75_us", bench::percentile(t.difference, 0.75))
        .add("executable_allocations", t.first_allocations)
        .add("runner_allocations", t.second_allocations);
}

void reuse(const std::string& name, const pm::context& home, std::int64_t count) {
    const pm::runner r = shifting(home, count, direct());
    const pm::runner_tensor x = r.allocate("x"), y = r.allocate("output0");
    const two_ways t = by_turns([&] { must(r.execute({x}, {y})); },
                                [&] {
                                    const pm::runner_tensor in = r.allocate("x"),
                                                            result = r.allocate("output0");
                                    must(r.execute({in}, {result}));
                                },
                                21, 10);
    bench::json_line()
        .add("case", name)
        .add("reused_us", bench::median(t.first))
        .add("fresh_us", bench::median(t.second))
        .add("reused_allocations", t.first_allocations)
        .add("fresh_allocations", t.second_allocations);
}

/// Microseconds a run with so many in flight, of which `start(slot)` begins the next and
/// `wait(slot)` ends that slot's last.
template <class Start, class Wait>
std::vector<double> in_flight(const Start& start, const Wait& wait, std::size_t slots, int rounds,
                              int calls) {
    std::vector<double> times;
    for (int round = 0; round < rounds + 1; ++round) {
        const double begin = bench::now();
        for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i) {
            if (i >= slots) wait(i % slots);
            start(i % slots);
        }
        for (std::size_t s = 0; s < std::min(slots, static_cast<std::size_t>(calls)); ++s) wait(s);
        if (round > 0) times.push_back((bench::now() - begin) / calls);
    }
    return times;
}

void model(const bench::filter& asked, const std::string& file, int shrink) {
    const std::string name = "runner_mnist-12_f32";
    if (!asked.takes(name)) return;
    const pm::model m = pm::model::load(file);
    constexpr std::size_t slots = 8, tensors = 2 * slots;
    const int calls = std::max(2000 / shrink, 10), rounds = 11;
    pm::runner_options o = direct();
    o.max_in_flight = slots;
    const pm::runner placed(m, o), copied(m);
    const pm::executable& e = placed.recorded();
    const pm::tensor_info x = placed.inputs()[0], y = placed.outputs()[0];

    const auto line = [&](const char* mode, const std::vector<double>& times) {
        bench::json_line()
            .add("case", name)
            .add("mode", mode)
            .add("med_us", bench::median(times))
            .add("min_us", least(times));
    };
    std::vector<pm::any_tensor> in, out[slots];
    in.push_back(pm::full(x.dtype, x.shape, 0.5));
    pm::eval(std::span<const pm::any_tensor>(in));
    for (auto& each : out) each.resize(1);
    std::vector<pm::runner_tensor> inputs, outputs;
    for (std::size_t s = 0; s < tensors; ++s) {
        inputs.push_back(placed.allocate(x));
        outputs.push_back(placed.allocate(y));
        inputs[s].write(std::vector<std::byte>(static_cast<std::size_t>(x.bytes())));
    }
    const pm::runner_tensor_view first_in[] = {inputs[0]}, first_out[] = {outputs[0]};
    const two_ways sync =
        by_turns([&] { e.run_into(out[0], in).wait(); },
                 [&] { must(placed.execute(first_in, first_out)); }, rounds, calls / 8 + 1);
    line("executable", sync.first);
    line("runner", sync.second);
    bench::json_line()
        .add("case", name)
        .add("mode", "added")
        .add("med_us", bench::median(sync.difference))
        .add("runner_allocations", sync.second_allocations);

    // From the host's memory to the host's memory.
    std::vector<std::byte> given(static_cast<std::size_t>(x.bytes())),
        got(static_cast<std::size_t>(y.bytes()));
    pm::any_tensor staged = pm::zeros(x.dtype, x.shape);
    std::vector<pm::any_tensor> from(1);
    const pm::runner_tensor_view host_in[] = {copied.wrap(x.name, given.data())},
                                 host_out[] = {copied.wrap(y.name, got.data())};
    const two_ways copies = by_turns(
        [&] {
            from[0] = {};
            pm::write(staged, given);
            from[0] = staged;
            e.run_into(out[0], from);
            pm::read(out[0][0], got);
        },
        [&] { must(copied.execute(host_in, host_out)); }, rounds, calls / 8 + 1);
    line("executable_host", copies.first);
    line("runner_host", copies.second);

    pm::submission work[slots];
    line("executable_8_in_flight",
         in_flight([&](std::size_t s) { work[s] = e.run_into(out[s], in); },
                   [&](std::size_t s) { work[s].wait(); }, slots, rounds, calls));
    pm::job jobs[slots];
    line("runner_8_in_flight",
         in_flight([&](std::size_t
                           s) { jobs[s] = placed.execute_async({inputs[s]}, {outputs[s]}); },
                   [&](std::size_t s) { must(jobs[s].wait()); }, slots, rounds, calls));
    std::atomic<int> done{0};
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        done = 0;
        const double begin = bench::now();
        for (int i = 0; i < calls; ++i) {
            const std::size_t s = static_cast<std::size_t>(i) % tensors;
            const pm::job j =
                placed.execute_async({inputs[s]}, {outputs[s]}, [&](pm::run_status r) {
                    must(r);
                    if (++done == calls) done.notify_one();
                });
            if (j.done()) must(j.wait());  // it may have been refused
        }
        for (int now = done; now != calls; now = done) done.wait(now);
        times.push_back((bench::now() - begin) / calls);
    }
    line("runner_8_callbacks", times);
}

/// Bytes of a file that is in the host's memory.
struct bytes_at_hand final : pm::byte_source {
    std::vector<std::byte> piece = std::vector<std::byte>(64 << 20, std::byte{1});
    void read(std::int64_t begin, pm::span<std::byte> into) const override {
        const auto size = static_cast<std::int64_t>(piece.size());
        for (std::size_t done = 0; done < into.size();) {
            const std::int64_t at = (begin + static_cast<std::int64_t>(done)) % size;
            const std::size_t n = std::min(into.size() - done, static_cast<std::size_t>(size - at));
            std::memcpy(into.data() + done, piece.data() + at, n);
            done += n;
        }
    }
};

/// A stretch of time, in microseconds since the profile began.
struct stretch {
    double begin, end;
};
/// How long both are at work.
double together(std::vector<stretch> a, std::vector<stretch> b) {
    const auto joined = [](std::vector<stretch>& v) {
        std::sort(v.begin(), v.end(),
                  [](const stretch& x, const stretch& y) { return x.begin < y.begin; });
        std::size_t n = 0;
        for (const stretch& s : v)
            if (n > 0 && s.begin <= v[n - 1].end) v[n - 1].end = std::max(v[n - 1].end, s.end);
            else v[n++] = s;
        v.resize(n);
    };
    joined(a), joined(b);
    double sum = 0;
    for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
        const double end = std::min(a[i].end, b[k].end);
        sum += std::max(0.0, end - std::max(a[i].begin, b[k].begin));
        if (a[i].end < b[k].end) ++i;
        else ++k;
    }
    return sum;
}
double length(const std::vector<stretch>& v) {
    double sum = 0;
    for (const stretch& s : v) sum += s.end - s.begin;
    return sum;
}

/// A gigabyte comes up while products run, timed by the device. `home` is that of the device.
void uploads(const std::string& name, const pm::context& home, int shrink) {
    const std::int64_t bytes = (std::int64_t(1) << 30) / shrink, part = bytes / 4;
    const bytes_at_hand source;
    const std::int64_t side = shrink > 1 ? 256 : 4096;
    const pm::any_tensor a = pm::full(pm::dtype::f16, {side, side}, 0.5, home);
    pm::eval(std::span(&a, 1));
    bench::drain(pm::any_tensor(pm::matmul(a, a)));
    const auto bring = [&] {
        std::vector<pm::any_tensor> tensors;
        pm::array_list<pm::filling> list;
        for (int i = 0; i < 4; ++i) {
            tensors.emplace_back(home.get()->reserve(pm::dtype::u8, {part}, "weights"));
            list.push_back({tensors.back().get(), &source});
        }
        const double begin = bench::now();
        home.get()->fill(list);
        return bench::now() - begin;
    };
    bring();
    const double alone = bring();

    std::atomic<bool> over{false};
    std::thread worker;
    const auto work = [&] {
        for (; !over;) bench::drain(pm::any_tensor(pm::matmul(a, a)));
    };
    pm::profiler profiler(home);
    const double start = bench::now();
    worker = std::thread(work);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double begin = bench::now() - start;
    const double beside = bring();
    const double end = bench::now() - start;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    over = true;
    worker.join();
    const pm::profile p = profiler.finish();

    std::vector<stretch> copies, kernels;
    for (const pm::profile_event& event : p.events) {
        if (event.track == 0) continue;
        const stretch s{event.begin_us, event.begin_us + event.duration_us};
        if (event.name == "upload") copies.push_back(s);
        else if (event.name.find("matmul") != std::string::npos) kernels.push_back(s);
    }
    // Where the host writes to the device's memory itself, no command has a time: the call has.
    const bool by_commands = !copies.empty();
    if (!by_commands) copies.push_back({begin, end});
    bench::json_line()
        .add("case", name)
        .add("by", by_commands ? "the device's copies" : "the host's writes")
        .add("mib", double(bytes) / (1 << 20))
        .add("alone_ms", alone / 1000)
        .add("alone_gbps", double(bytes) / 1000 / alone)
        .add("beside_products_ms", beside / 1000)
        .add("copies", by_commands ? double(copies.size()) : 0)
        .add("copying_ms", length(copies) / 1000)
        .add("products", double(kernels.size()))
        .add("products_ms", length(kernels) / 1000)
        .add("together_ms", together(copies, kernels) / 1000)
        .add("dropped", double(p.dropped));
}

/// A context on the default device whose memory is told not to be mapped, so that what goes up is
/// copied by its queues: those that only copy, or the one that computes. Empty on the host.
std::optional<pm::context> copying(bool transfer_queues) {
    const pm::device_info& wanted = pm::default_context().device();
    if (wanted.type == pm::device_type::host) return std::nullopt;
    auto instance = pm::vulkan::instance::create({});
    for (const pm::vulkan::candidate& c : instance->candidates()) {
        if (!c.refusals.empty() || c.info.name != wanted.name) continue;
        pm::vulkan::candidate chosen = c;
        chosen.info.mapped_device_memory = chosen.info.unified_memory = false;
        pm::policy_set policies;
        policies.transfer_queues = transfer_queues;
        return pm::context(std::make_shared<pm::vulkan_engine>(
            std::make_shared<pm::vulkan_runtime>(instance, chosen, policies,
                                                 pm::vulkan::device_options{}),
            pm::policy_set(policies), "of a benchmark"));
    }
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) try {
    const bench::filter asked(argc > 1 ? argv[1] : nullptr);
    const int shrink = argc > 3 ? std::max(std::atoi(argv[3]), 1) : 1;
    const pm::context home = pm::default_context();
    {
        bench::json_line line;
        bench::add_machine(line, home);
    }
    const bool host = home.device().type == pm::device_type::host;
    pm::device_info described;
    described.name = "the null device";
    if (asked.takes("runner_steady_null")) {
        steady("runner_steady_null", pm::context(pm::null_device{described}));
    }
    if (!host) bench::keep_busy(home, shrink > 1 ? 0 : 1);
    if (asked.takes("runner_steady")) steady("runner_steady", home);
    for (const std::int64_t count : {std::int64_t(64), std::int64_t(1) << 20}) {
        const std::string name = "runner_tensors_" + std::to_string(count) + "_f32";
        if (asked.takes(name)) reuse(name, home, count);
    }
    if (argc > 2 && *argv[2]) model(asked, argv[2], shrink);
    if (asked.takes("upload_beside_products") && !host)
        uploads("upload_beside_products", home, shrink);
    for (const bool transfer : {false, true}) {
        const std::string name =
            transfer ? "upload_beside_products_transfer" : "upload_beside_products_staged";
        if (!asked.takes(name)) continue;
        if (const auto c = copying(transfer)) uploads(name, *c, shrink);
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
