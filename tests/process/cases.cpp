// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a process does to a context besides computing: it forks, it exits. One case a run;
// tests/process/run runs them.
#include <pumice.hpp>
#include <pumice/runner.hpp>
#include <pumice/vk/device.hpp>

#include <tests/support/child.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace pm = pumice;

namespace {

bool on_host() {
    const char* device = std::getenv("PUMICE_DEVICE");
    return device && std::strcmp(device, "host") == 0;
}

const std::vector<float> ones_and_more = {1, 2, 3, 4};

/// Whether a context computes.
bool computes(const pm::context& place, float n = 3) {
    const pm::vector<float> x = pm::from_span<float>({4}, ones_and_more, place);
    return pm::vector<float>(pm::relu(x * n) + 1.0f).to_vector() ==
           std::vector<float>{n + 1, 2 * n + 1, 3 * n + 1, 4 * n + 1};
}
bool computes() { return computes(pm::default_context()); }

/// Whether `f` is refused with this error, which names the way out.
template <class F>
bool refused(pm::errc code, const char* way_out, F&& f) {
    try {
        f();
    } catch (const pm::error& e) {
        return e.code() == code && std::strstr(e.what(), way_out);
    }
    return false;
}
template <class F>
bool refused_as_forked(F&& f) {
    return refused(pm::errc::forked, "host_only", f);
}

/// The ways in which a process ends; std::exit where none is named.
std::string leaving;
[[noreturn]] void leave(bool right) {
    if (leaving == "quick_exit") std::quick_exit(right ? 0 : 1);
    std::exit(right ? 0 : 1);
}

bool child(const std::function<bool()>& work) { return test::right_in_child(work, leave); }

/// Runs `f` again and again on some threads until it goes.
class busy_threads {
public:
    busy_threads(int count, std::function<void()> f) {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([f](const std::stop_token& stop) {
                while (!stop.stop_requested()) f();
            });
    }

private:
    std::vector<std::jthread> threads_;
};

// ---- fork

/// The child uses what its parent made.
bool fork_after() {
    pm::vector<float> x = pm::from_span<float>({4}, ones_and_more);
    const pm::vector<float> y = x + 1.0f;
    pm::eval(y);
    const pm::vector<float> lazy = y * 2.0f;
    const auto use = [&] { return lazy.to_vector() == std::vector<float>{4, 6, 8, 10}; };
    const auto change = [&] { x.host_mut()[0] = 5; };
    const auto first = [&] {
        if (on_host()) return use();
        return refused_as_forked(use) && refused_as_forked([&] { (void)y.to_vector(); }) &&
               refused_as_forked(change) && refused_as_forked([] { (void)pm::stats(); });
    };
    const bool right = child(first);
    return right && use() && computes();
}

/// The child makes a context of its own; a grandchild too.
bool fork_fresh() {
    if (!computes()) return false;
    const auto fresh = [] {
        if (on_host()) return computes(pm::context{});
        return refused_as_forked([] { computes(pm::context{}); }) &&
               refused_as_forked([] { computes(pm::context{pm::device_named{""}}); });
    };
    return child(fresh) && child([&] { return child(fresh); }) && computes(pm::context{});
}

/// The child does nothing but end.
bool fork_exit() {
    const bool right = computes();
    return child([] { return true; }) && right && computes();
}

/// The child is made while another thread opens the first device, and does nothing but end.
bool fork_opening() {
    bool right = true;
    for (const int ms : {0, 1, 2, 4, 8, 16})
        right = child([ms] {
                    std::jthread opens([] { computes(); });
                    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                    const bool ended = child([] { return true; });
                    opens.join();
                    return ended && computes();
                }) &&
                right;
    return right;
}

/// Everything that holds objects of the driver's goes in the child.
bool fork_drop() {
    auto home = std::make_unique<pm::context>();
    const pm::vector<float> x = pm::from_span<float>({4}, ones_and_more, *home);
    auto triple =
        pm::compile([](const pm::vector<float>& v) { return pm::vector<float>(v * 3.0f); });
    auto made = std::make_unique<pm::executable>(triple.get(x));
    auto result = std::make_unique<pm::vector<float>>(triple(x));
    const auto drop = [&] {
        const bool right = on_host() ? (*result).to_vector()[3] == 12
                                     : refused_as_forked([&] { (void)triple(x); });
        result.reset();
        made.reset();
        home.reset();
        pm::set_default_context(pm::context{pm::host_only{}});
        return right && computes();
    };
    return child(drop) && triple(x).to_vector()[3] == 12;
}

/// What is to be called after work of the parent's is called there, once, and the child neither
/// waits for it nor calls.
bool fork_submission() {
    auto home = std::make_unique<pm::context>();
    const pm::vector<float> x = pm::from_span<float>({4}, ones_and_more, *home);
    const auto triple =
        pm::compile([](const pm::vector<float>& v) { return pm::vector<float>(v * 3.0f); });
    auto made = std::make_unique<pm::executable>(triple.get(x));
    const std::vector<pm::any_tensor> inputs{x};
    std::vector<pm::any_tensor> results(1);
    auto work = std::make_unique<pm::submission>(made->run_into(results, inputs));
    std::atomic<int> calls = 0;
    work->then([&] { ++calls; });
    work->wait();
    while (calls == 0) std::this_thread::yield();
    work->then([&] { ++calls; });  // perhaps on its way while the process forks
    const auto use = [&] {
        const bool right =
            on_host() || (refused_as_forked([&] { work->wait(); }) &&
                          refused_as_forked([&] { (void)work->done(); }) &&
                          refused_as_forked([&] { work->then([&] { calls = 100; }); }));
        work.reset();
        results.clear();
        made.reset();
        home.reset();
        return right && calls < 100;
    };
    const bool right = child(use);
    work->wait();
    while (calls == 1) std::this_thread::yield();
    return right && calls == 2 && work->done();
}

/// The host device in the child, by contexts of before the fork and after it.
bool fork_host() {
    const pm::context host{pm::host_only{}};
    const pm::vector<float> mine = pm::from_span<float>({4}, ones_and_more, host);
    const pm::vector<float> big = pm::ones<float>({1 << 20}, host);
    if (!computes() || !computes(host)) return false;
    const auto use = [&] {
        return computes(host) && computes(pm::context{pm::host_only{}}) &&
               pm::vector<float>(mine + mine).to_vector()[3] == 8 &&
               pm::vector<float>(big + big).to_vector()[77] == 2;  // in several threads
    };
    return child(use) && child([&] { return child(use); }) && use();
}

/// Nothing was opened before the fork: parent and child may use what they like.
bool fork_first() {
    return child([] { return computes() && computes(pm::context{}); }) && computes();
}

/// The child's context is the host's by the parent's choice.
bool fork_default() {
    if (!computes()) return false;
    pm::set_default_context(pm::context{pm::host_only{}});
    return child([] { return computes(); });
}

/// Other threads are at work, on contexts of each kind, in creation and in the default context,
/// when the process forks, also from a thread.
bool fork_busy() {
    const pm::context device, host{pm::host_only{}};
    const pm::vector<float> x = pm::ones<float>({1 << 18}, device),
                            h = pm::ones<float>({1 << 18}, host);
    int wrong = 0;
    {
        const auto on_device = [&] { (void)pm::vector<float>(x * 2.0f).to_vector(); };
        const auto on_the_host = [&] { (void)pm::vector<float>(h * 2.0f).to_vector(); };
        const auto by_default = [] { return computes(); };
        const auto creates = [] { (void)pm::random::uniform<float>({4}); };
        // Once before: the first use of anything registers what is to be done at exit, and a child
        // that is forked within glibc's lock of that list waits for it for ever in exit().
        on_device(), on_the_host(), creates();
        if (!by_default()) return false;
        const busy_threads one(2, on_device), two(2, on_the_host), three(1, by_default),
            four(1, creates);
        const auto work = [&] {
            if (!computes(pm::context{pm::host_only{}})) return false;
            // What another thread was using at the fork says so; what was not in use serves on.
            const auto shared = [&] { return pm::vector<float>(h + 1.0f).to_vector()[5] == 2; };
            try {
                if (!shared()) return false;
            } catch (const pm::error& e) {
                if (e.code() != pm::errc::forked) return false;
            }
            return on_host() || refused_as_forked([&] { (void)x.to_vector(); });
        };
        for (int i = 0; i < 10; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(i));
            wrong += !child(work);
        }
        std::jthread([&] {
            for (int i = 0; i < 10; ++i) wrong += !child(work);
        }).join();
    }
    return wrong == 0 && computes();
}

// ---- exit

void end_with(bool right) {
    if (!right) {
        std::fprintf(stderr, "wrong at exit\n");
        ::_exit(1);
    }
}

/// A handler that was registered before the first use runs when the driver has ended.
bool atexit_before() {
    std::atexit([] {
        const auto all = [] { return computes() && computes(pm::context{}); };
        end_with(on_host() ? all()
                           : refused(pm::errc::exiting, "before", [] { (void)computes(); }) &&
                                 refused(pm::errc::exiting, "before",
                                         [] { (void)computes(pm::context{}); }) &&
                                 computes(pm::context{pm::host_only{}}));
    });
    return computes();
}

/// One that was registered after it runs while everything is there.
bool atexit_after() {
    const bool right = computes();
    std::atexit([] { end_with(computes() && computes(pm::context{})); });
    return right;
}

/// A static object that computes when it is destroyed with what it holds; refused where it was made
/// before the driver was loaded, since it goes after the driver.
struct holder {
    std::vector<pm::context> home;
    std::vector<pm::vector<float>> x;
    bool early = false;
    ~holder() {
        const auto all = [&] {
            return (x.empty() || pm::vector<float>(x[0] * 2.0f).to_vector()[3] == 8) &&
                   (home.empty() || computes(home[0]));
        };
        end_with(early && !on_host() ? refused(pm::errc::exiting, "before", [&] { (void)all(); })
                                     : all());
    }
};
bool static_early() {
    static holder h;
    h.early = true;
    h.x.push_back(pm::from_span<float>({4}, ones_and_more));
    return computes();
}
bool static_late() {
    const bool right = computes();
    static holder h;
    h.x.push_back(pm::from_span<float>({4}, ones_and_more));
    return right;
}
bool static_own() {
    static holder h;
    h.early = true;
    h.home.emplace_back();
    return computes(h.home[0]);
}

/// What runs when the first thread returns from main is done before any handler of exit runs.
bool atexit_unfinished() {
    static pm::submission last;
    const pm::matrix<float> a = pm::ones<float>({700, 700});
    auto powers = pm::compile([](pm::matrix<float> x) {
        for (int i = 0; i < 16; ++i) x = pm::matmul(x, x) * 0.001f;
        return x;
    });
    std::vector<pm::any_tensor> to{powers(a)};
    const pm::any_tensor from = a;
    pm::eval(to[0]);
    std::atexit([] { end_with(last.done()); });
    last = powers.get(a).run_into(to, std::span(&from, 1));
    return on_host() || !last.done();
}
/// The process ends while its threads compute.
bool exit_busy() {
    const pm::context place;
    const pm::vector<float> x = pm::ones<float>({1 << 16}, place);
    const bool right = computes();
    for (int i = 0; i < 3; ++i)
        std::thread([x] {
            for (;;) (void)pm::vector<float>(x * 2.0f).to_vector();
        }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::quick_exit(right ? 0 : 1);
}

// ---- caches: tests/process/kills ends it while it writes them

/// Some kernels, each compiled when it is met; says how many had to be.
bool compiles() {
    const pm::context home;
    const pm::matrix<float> a = pm::ones<float>({8, 8}, home), b = pm::full<float>({8, 8}, 2, home);
    const auto first = [](const pm::any_tensor& t) { return pm::to_vector<float>(t)[0]; };
    bool right = first(pm::matrix<float>(pm::relu(a * 3.0f + b))) == 5;
    right &= first(pm::matrix<float>(pm::matmul(a, b))) == 16;
    right &= first(pm::matrix<float>(pm::softmax(a, pm::axis<1>))) == 0.125f;
    right &= first(pm::vector<float>(pm::sum(b, pm::axis<1>))) == 16;
    right &= first(pm::matrix<float>(pm::cumulative_sum(a, pm::axis<1>))) == 1;
    right &= first(pm::matrix<float>(pm::sort(b))) == 2;
    std::printf("compiled %llu\n", static_cast<unsigned long long>(home.stats().slang_compiles));
    return right;
}

// ---- what is heard: tests/process/run looks at stderr

/// Three contexts, each of which has the same to say.
bool heard() { return computes(pm::context{}) && computes(pm::context{}) && computes(); }

/// The same with a sink, which has it all.
std::atomic<int> told{0};
bool heard_by_sink() {
    pm::set_log_sink([](pm::severity level, std::string_view) {
        if (level != pm::severity::info) ++told;
    });
    return heard() && told > 0;
}

/// What a validation layer has something against, twice.
bool heard_of_validation() {
    const auto instance = pm::vulkan::instance::shared();
    const auto device = pm::vulkan::device::create(instance, instance->candidates()[0]);
    for (int i = 0; i < 2; ++i) {
        vk::BufferCreateInfo nothing{};
        nothing.usage = vk::BufferUsageFlags(vk::BufferUsageFlagBits::eStorageBuffer);
        vk::Buffer buffer{};
        (void)device->handle().createBuffer(&nothing, nullptr, &buffer, device->table());
        device->handle().destroyBuffer(buffer, nullptr, device->table());
    }
    return true;
}

// ---- memory that two processes hold

pm::runner doubling(const pm::context& home) {
    pm::tensor_info x;
    x.name = "x";
    x.shape = {1000};
    pm::runner_options o;
    o.input_view = o.output_view = pm::io_view::hardware;
    return {home, std::span(&x, 1),
            [](std::span<const pm::any_tensor> in) {
                return std::vector<pm::any_tensor>{pm::any_tensor(in[0] + in[0])};
            },
            o};
}
std::vector<float> first_numbers(float scale) {
    std::vector<float> v(1000);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i) * scale;
    return v;
}
bool has(const pm::runner_tensor_view& t, float scale) {
    std::vector<float> v(1000);
    t.read(std::as_writable_bytes(std::span(v)));
    return v == first_numbers(scale);
}

/// Computes into memory of a file descriptor, says where it is, and when it has been told that the
/// other has written there reads that.
bool exports() {
    const pm::runner r = doubling(pm::context{});
    const pm::runner_tensor x = r.allocate("x"), y = r.allocate("output0", pm::memory_kind::fd);
    const std::vector<float> numbers = first_numbers(1);
    x.write(std::as_bytes(std::span(numbers)));
    if (r.execute({x}, {y}) != pm::run_status::ok) return false;
    const int fd = y.export_fd();
    std::printf("/proc/%d/fd/%d\n", static_cast<int>(getpid()), fd);
    std::fflush(stdout);
    return std::getchar() == 'r' && has(y, 4);
}
/// Reads what the other has computed at the path PUMICE_IMPORT, computes with it, and writes the
/// result there.
bool imports() {
    const char* const path = std::getenv("PUMICE_IMPORT");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return false;
    const pm::runner r = doubling(pm::context{});
    const pm::runner_tensor_view x = r.import_fd("x", fd);
    close(fd);
    const pm::runner_tensor y = r.allocate("output0");
    if (!has(x, 2) || r.execute({x}, {y}) != pm::run_status::ok || !has(y, 4)) return false;
    const std::vector<float> result = first_numbers(4);
    x.write(std::as_bytes(std::span(result)));
    return true;
}

const std::map<std::string, bool (*)()> cases = {
    {"fork_after", fork_after},
    {"fork_fresh", fork_fresh},
    {"fork_exit", fork_exit},
    {"fork_drop", fork_drop},
    {"fork_submission", fork_submission},
    {"fork_host", fork_host},
    {"fork_first", fork_first},
    {"fork_default", fork_default},
    {"fork_busy", fork_busy},
    {"atexit_before", atexit_before},
    {"atexit_after", atexit_after},
    {"atexit_unfinished", atexit_unfinished},
    {"static_early", static_early},
    {"static_late", static_late},
    {"static_own", static_own},
    {"exit_busy", exit_busy},
    {"fork_opening", fork_opening},
    {"compiles", compiles},
    {"exports", exports},
    {"imports", imports},
    {"heard", heard},
    {"heard_by_sink", heard_by_sink},
    {"heard_of_validation", heard_of_validation},
};

}  // namespace

/// cases NAME [quick_exit]: what is asked of the process, and how it and its children end.
int main(int argc, char** argv) {
    if (argc < 2) {
        for (const auto& [name, f] : cases) std::puts(name.c_str());
        return 0;
    }
    leaving = argc > 2 ? argv[2] : "";
    try {
        const bool right = cases.at(argv[1])();
        if (leaving != "") leave(right);
        return right ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}
