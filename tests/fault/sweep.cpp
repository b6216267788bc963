// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Does one thing (a mode) again and again, each time with one fault, and says what came of it.
//
//   sweep MODE [LAYER]     modes: hello, model, executable, tree, profile, places;
//   PUMICE_DEVICE=host for the host device.
//                          LAYER: the file of the fault layer, which the Vulkan loader was told of
//                          too
//
// Each line of its input is a fault: CALL:N:RESULT of the layer, new:N (the N-th operator new
// fails), from:N (that and all later ones), or `count`, which gives what there is to fail. For each
// it prints "> FAULT" and then one of
//   quiet         nothing failed: there is no such call
//   typed         an error was thrown as documented; the next try, with what the first one left,
//   was right swallowed     the result was right all the same bad WHY
// A fault before the first `count` meets a process that has not opened Vulkan yet.
//
// After each all is let go, and has to be gone. A device that was lost may fail the next try too;
// then a new context is right. An error is pumice::error; where operator new fails, std::bad_alloc
// too.
#include <pumice.hpp>
#include <pumice/base/log.hpp>
#include <pumice/model.hpp>
#include <pumice/policy/placement.hpp>

#include "failing_new.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>

#include <dlfcn.h>

namespace pm = pumice;

namespace {

using numbers = std::vector<float>;

numbers waves(std::size_t count, float step) {
    const test::spared own;
    numbers list(count);
    for (std::size_t i = 0; i < count; ++i) list[i] = std::sin(step * static_cast<float>(i + 1));
    return list;
}
pm::any_tensor given(const pm::context& home, const pm::shape& extent, float step) {
    const numbers values = waves(static_cast<std::size_t>(pm::element_count(extent)), step);
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(values)), home);
}
void append(numbers& to, const pm::any_tensor& t) {
    const std::vector<float> values = pm::to_vector<float>(t);
    const test::spared own;
    to.insert(to.end(), values.begin(), values.end());
}

/// Without a Vulkan device the host would step in, which is no fault; here it would hide what is.
pm::context open() {
    const char* const device = std::getenv("PUMICE_DEVICE");
    return device && std::string_view(device) == "host" ? pm::context()
                                                        : pm::context(pm::vulkan_only());
}

/// A mode. A second call goes on with what the first one left when it threw.
struct mode {
    std::optional<pm::context> home;
    virtual ~mode() = default;
    numbers operator()() {
        if (!home) home.emplace(open_home());
        return run();
    }
    virtual pm::context open_home() { return open(); }
    virtual numbers run() = 0;
};

/// What README shows.
struct hello final : mode {
    std::optional<pm::matrix<float>> a, b, z;
    std::optional<pm::vector<float>> c;
    numbers run() override {
        if (!a) a.emplace(given(*home, {16, 16}, 0.3f));
        if (!b) b.emplace(given(*home, {16, 16}, 0.7f));
        if (!c) c.emplace(pm::ones<float>({16}, *home));
        if (!z) {
            auto y = pm::relu(*a * *b + *c);
            z.emplace(pm::softmax(pm::matmul(y, *b) + *c, pm::axis<1>));
        }
        numbers result;
        append(result, *z);
        append(result, pm::any_tensor(pm::matrix<float>(*z * 2.0f)));
        append(result, *a);  // what was given is there
        return result;
    }
};

struct model_mode final : mode {
    std::string path = std::string(PUMICE_TESTS_DIR) + "/data/models/mnist-12.onnx";
    std::optional<pm::model> network;
    pm::any_tensor image, digits;
    numbers run() override {
        pm::load_options options;
        options.limits.folded_elements = 64;  // longer ones are not kept on the host
        if (!network) network.emplace(pm::model::load(path, *home, options));
        if (!image.has_value()) image = given(*home, {1, 1, 28, 28}, 0.1f);
        if (!digits.has_value()) digits = (*network)(image);
        numbers result;
        append(result, digits);
        return result;
    }
};

/// Recorded once, run with new inputs, into outputs that are there, and over its inputs.
struct executable_mode final : mode {
    pm::any_tensor w, x, state;
    pm::executable recorded, over;
    bool made = false;
    numbers run() override {
        if (!w.has_value()) w = given(*home, {16, 16}, 0.4f);
        if (!x.has_value()) x = given(*home, {16, 16}, 0.2f);
        if (!made) {
            const pm::executable::value in[] = {{pm::dtype::f32, {16, 16}}};
            recorded = pm::trace(*home, in, [this](std::span<const pm::any_tensor> i) {
                const pm::matrix<float> m(i[0]), weights(w);
                const pm::matrix<float> h = pm::relu(pm::matmul(m, weights));
                return std::vector<pm::any_tensor>{
                    pm::matrix<float>(pm::softmax(pm::matmul(h, weights), pm::axis<1>)), h};
            });
            over = pm::trace(*home, in, [](std::span<const pm::any_tensor> i) {
                return std::vector<pm::any_tensor>{
                    pm::matrix<float>(pm::matrix<float>(i[0]) * 0.5f + 1.0f)};
            });
            made = true;
        }
        numbers result;
        std::vector<pm::any_tensor> outputs(2);
        for (int i = 0; i < 4; ++i) {
            const pm::any_tensor in = given(*home, {16, 16}, 0.2f + 0.1f * static_cast<float>(i));
            const pm::any_tensor ins[] = {in};
            if (i % 2 == 0) outputs = recorded.run(ins);
            else recorded.run_into(outputs, ins);
            // read in between by what no recording knows of
            append(result, pm::any_tensor(pm::matrix<float>(pm::matrix<float>(outputs[0]) +
                                                            pm::matrix<float>(outputs[1]))));
            append(result, outputs[1]);
        }
        state = given(*home, {16, 16}, 0.9f);
        for (int i = 0; i < 3; ++i) state = std::move(over.run_donating(std::move(state))[0]);
        append(result, state);
        append(result, x);
        return result;
    }
};

/// A tree of lazy products that is dropped, evaluated in part, and dropped again.
struct tree final : mode {
    pm::any_tensor leaf, kept;
    pm::any_tensor grow(int depth) const {
        if (depth == 0) return leaf;
        const pm::matrix<float> left(grow(depth - 1)), right(grow(depth - 1));
        return pm::matrix<float>(pm::matmul(left, right));
    }
    numbers run() override {
        if (!leaf.has_value()) leaf = given(*home, {4, 4}, 0.3f);
        {
            const pm::any_tensor dropped = grow(6);
        }
        if (!kept.has_value()) kept = grow(3);
        numbers result;
        append(result, kept);
        return result;
    }
};

struct profile_mode final : mode {
    pm::any_tensor x;
    numbers run() override {
        if (!x.has_value()) x = given(*home, {64}, 0.3f);
        numbers result;
        pm::profiler at_work(*home);
        append(result, pm::any_tensor(pm::vector<float>(pm::exp(pm::vector<float>(x)))));
        const pm::profile p = at_work.finish();
        const std::string text = p.table() + p.chrome_trace();
        return result;
    }
};

/// Steps of an evaluation and of a recording on the device and on the host in turn, and a tensor
/// that the host writes in place.
struct places_mode final : mode {
    pm::any_tensor w, state;
    pm::executable recorded;
    bool made = false;
    pm::context open_home() override {
        return pm::context(pm::vulkan_only(), pm::place_steps{[](pm::placement& p) {
                               for (std::size_t i = 0; i < p.steps.size(); ++i)
                                   if (p.steps[i].family != "matmul") p.at[i] = p.host();
                           }});
    }
    static pm::any_tensor layers(const pm::any_tensor& x, const pm::any_tensor& by) {
        const pm::any_tensor h = pm::softmax(pm::matmul(x, by), 1);
        return pm::matmul(h, by) + h;
    }
    numbers run() override {
        if (!w.has_value()) w = given(*home, {16, 16}, 0.4f);
        if (!made) {
            const pm::executable::value in[] = {{pm::dtype::f32, {16, 16}}};
            recorded = pm::trace(*home, in, [this](std::span<const pm::any_tensor> i) {
                return std::vector<pm::any_tensor>{layers(i[0], w)};
            });
            made = true;
        }
        numbers result;
        std::vector<pm::any_tensor> outputs(1);
        for (int i = 0; i < 3; ++i) {
            const pm::any_tensor in = given(*home, {16, 16}, 0.2f + 0.1f * static_cast<float>(i));
            append(result, layers(in, w));
            recorded.run_into(outputs, std::span(&in, 1));
            append(result, outputs[0]);
        }
        state = given(*home, {16, 16}, 0.9f);
        for (int i = 0; i < 3; ++i) state = state * 0.5 + 1.0;
        append(result, state);
        append(result, pm::matmul(state, w));
        return result;
    }
};

std::unique_ptr<mode> make(const std::string& name) {
    const test::spared own;
    if (name == "hello") return std::make_unique<hello>();
    if (name == "model") return std::make_unique<model_mode>();
    if (name == "executable") return std::make_unique<executable_mode>();
    if (name == "tree") return std::make_unique<tree>();
    if (name == "profile") return std::make_unique<profile_mode>();
    if (name == "places") return std::make_unique<places_mode>();
    std::fprintf(stderr, "there is no mode %s\n", name.c_str());
    std::exit(2);
}

/// The layer's functions; none where there is no layer.
struct layer_control {
    bool (*arm)(const char*) = nullptr;
    bool (*fired)() = nullptr;
    const char* (*calls)(int, unsigned*) = nullptr;
    long (*live)() = nullptr;
    explicit layer_control(const char* file) {
        void* const library = file ? ::dlopen(file, RTLD_NOW) : nullptr;
        if (!library) return;
        arm = reinterpret_cast<bool (*)(const char*)>(::dlsym(library, "pumice_fault_arm"));
        fired = reinterpret_cast<bool (*)()>(::dlsym(library, "pumice_fault_fired"));
        calls = reinterpret_cast<const char* (*)(int, unsigned*)>(::dlsym(library,
                                                                          "pumice_fault_calls"));
        live = reinterpret_cast<long (*)()>(::dlsym(library, "pumice_fault_live"));
    }
};

struct sweep {
    std::string name;
    layer_control layer;
    numbers right;
    long blocks = 0;   // of memory, while nothing is at work
    long objects = 0;  // of Vulkan: the instance, which the process shares

    /// Runs a mode; what it throws becomes a word, which is empty where it threw nothing
    /// documented.
    static std::string attempt(mode& m, numbers& result, bool no_memory, bool& lost) {
        try {
            result = m();
            return "right";
        } catch (const pm::error& e) {
            const test::spared own;
            lost = e.code() == pm::errc::device_lost;
            return "error " + std::string(to_string(e.code())) + ": " + e.message();
        } catch (const std::bad_alloc&) {
            const test::spared own;
            return no_memory ? "error bad_alloc" : "";
        } catch (const std::exception& e) {
            const test::spared own;
            std::printf("  threw %s\n", e.what());
            return "";
        } catch (...) {
            return "";
        }
    }
    bool same(const numbers& result) const {
        return result.size() == right.size() &&
               std::memcmp(result.data(), right.data(), right.size() * sizeof(float)) == 0;
    }

    void arm(const std::string& fault) {
        const long n = fault.find(':') == std::string::npos
                           ? 0
                           : std::atol(fault.c_str() + fault.find(':') + 1);
        const bool forever = fault.starts_with("from:");
        if (forever || fault.starts_with("new:")) test::failing_new::arm(n, forever);
        else if (!layer.arm || !layer.arm(fault.c_str())) {
            std::printf("  %s is no fault\n", fault.c_str());
            std::exit(2);
        }
    }
    bool disarm() {
        test::failing_new::disarm();
        const bool fired =
            test::failing_new::fired.exchange(false) || (layer.fired && layer.fired());
        if (layer.arm) layer.arm(nullptr);
        return fired;
    }

    std::string judge(const std::string& fault) {
        const bool no_memory = fault.starts_with("new:") || fault.starts_with("from:");
        const bool may_lose = fault.ends_with(":device_lost");
        std::string first, second;
        numbers result;
        bool lost = false, fired = false;
        const bool cold = right.empty();  // what is right comes afterwards
        {
            std::unique_ptr<mode> m = make(name);
            arm(fault);
            first = attempt(*m, result, no_memory, lost);
            fired = disarm();
            if (first.empty()) return "bad another exception";
            if (first == "right" && !cold && !same(result)) return "bad silently wrong";
            if (!fired) return first == "right" ? "quiet" : "bad without a fault: " + first;
            second = attempt(*m, result, false, lost);
            if (second != "right" && may_lose && lost) {
                m = make(name);
                second = attempt(*m, result, false, lost);
            }
            if (second != "right") return "bad the next try: " + second + " after " + first;
            if (!cold && !same(result)) return "bad the next try is wrong after " + first;
            if (fault.starts_with("from:")) {  // all go while there is no memory
                arm("from:1");
                m.reset();
                disarm();
            }
        }
        if (cold) {
            std::string judged = first;
            numbers early = std::move(result);
            count();
            return same(early) ? (judged == "right" ? "swallowed" : "typed " + judged)
                               : "bad the next try is wrong after " + judged;
        }
        if (const long left = layer.live ? layer.live() - objects : 0; left != 0)
            return "bad " + std::to_string(left) + " Vulkan objects are left after " + first;
        // Threads keep a few blocks for what comes next.
        const long more = test::failing_new::live - blocks;
        if (more > 16) {
            blocks += more;
            return "bad " + std::to_string(more) + " blocks of memory are left after " + first;
        }
        return first == "right" ? "swallowed" : "typed " + first;
    }

    void count() {
        if (layer.arm) layer.arm(nullptr);
        test::failing_new::arm(0);
        std::string device;
        {
            std::unique_ptr<mode> m = make(name);
            right = (*m)();
            const test::spared own;
            const pm::device_info& used = m->home->device();
            device = used.name + ", " + used.driver;
        }
        const long allocations = test::failing_new::calls;
        std::printf("device %s\n", device.c_str());
        std::printf("new %ld\n", allocations);
        unsigned n = 0;
        for (int i = 0; layer.calls; ++i) {
            const char* const call = layer.calls(i, &n);
            if (!call) break;
            if (n > 0) std::printf("%s %u\n", call, n);
        }
        blocks = test::failing_new::live;
        objects = layer.live ? layer.live() : 0;
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    pm::set_log_sink([](pm::severity, std::string_view) {});
    sweep s{argv[1], layer_control(argc > 2 ? argv[2] : nullptr), {}};
    for (std::string fault; std::getline(std::cin, fault);) {
        std::printf("> %s\n", fault.c_str());
        std::fflush(stdout);
        if (fault == "count") s.count();
        else std::printf("%s\n", s.judge(fault).c_str());
        std::printf("<\n");
        std::fflush(stdout);
    }
}
