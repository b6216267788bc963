// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Loads files that nobody vouches for, each in a process of its own: .npy and .npz arrays are read,
// models loaded on the host device and, where every input is static and of at most 2^20 elements,
// run once on zeros.
//
//     loader FILE            exits with 0: accepted; 1: refused, with one line on stderr
//     loader --list < NAMES  for each name a line: verdict, seconds of a processor, MiB at most,
//     name, message, with tabs between
//                            them. The verdict is accepted, refused, or what went wrong: slow,
//                            hanging, large, or how the process ended. Slow is more than
//                            PUMICE_HOSTILE_SECONDS, by default 10; 10 times that on the clock is
//                            hanging.
#include <pumice/exchange/npz.hpp>
#include <pumice/exec/host_engine.hpp>
#include <pumice/model.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pm = pumice;

namespace {

constexpr double most_mib = 1024;

/// What a program that takes files from anywhere sets, by what it can bear: a small file may ask
/// for large values.
pm::model_limits bearable() {
    pm::model_limits limits;
    limits.elements = 1 << 24;
    limits.kernel_work = std::int64_t{1} << 32;
    return limits;
}

constexpr std::int64_t most_elements = 1 << 20;

double most_seconds() {
    const char* text = std::getenv("PUMICE_HOSTILE_SECONDS");
    return text ? std::atof(text) : 10;
}

void run_once(const pm::model& m) {
    std::vector<pm::any_tensor> inputs;
    for (const pm::model_value& v : m.inputs()) {
        pm::shape extent;
        for (const pm::model_dim& d : v.dims) {
            if (d.size < 0) return;
            extent.push_back(d.size);
        }
        if (!v.has_shape || pm::element_count(extent) > most_elements) return;
        const std::vector<std::byte>
            zeros(static_cast<std::size_t>(pm::byte_count(v.dtype, pm::element_count(extent))));
        inputs.push_back(pm::from_bytes(v.dtype, extent, zeros, m.where()));
    }
    for (const pm::any_tensor& t : m.run(inputs)) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(t.size_bytes()));
        pm::read(t, bytes);
    }
}

std::shared_ptr<pm::engine> host(pm::policy_set policies) {
    return std::make_shared<pm::host_engine>(std::move(policies), "device  host (native C++)\n");
}

/// 0 or 1; anything but a pumice::error leaves it.
int check(const std::filesystem::path& path) {
    try {
        if (path.extension() == ".npy") {
            pm::read_npy(path);
            return 0;
        }
        const pm::context home(host({}));
        if (path.extension() == ".npz") {
            pm::load_npz(path, {.bytes = 1 << 26, .arrays = 64}, home);
            return 0;
        }
        run_once(pm::model::load(path, home, pm::load_options{.limits = bearable()}));
        return 0;
    } catch (const pm::error& e) {
        std::string line = e.what();
        std::replace(line.begin(), line.end(), '\n', ' ');
        line += '\n';
        return ::write(2, line.data(), line.size()) < 0 ? 2 : 1;
    }
}

/// MiB that a process holds now, 0 where it has ended.
double resident(pid_t child) {
    std::ifstream file("/proc/" + std::to_string(child) + "/statm");
    double all = 0, held = 0;
    file >> all >> held;
    return held * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void judge(const std::string& path) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    std::FILE* said = std::tmpfile();
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::fileno(said), 2);
        const ::rlimit no_core{0, 0}, time{static_cast<::rlim_t>(most_seconds()), RLIM_INFINITY};
        ::setrlimit(RLIMIT_CORE, &no_core);
        ::setrlimit(RLIMIT_CPU, &time);
        std::exit(check(path));
    }
    std::string verdict;
    int status = 0;
    ::rusage used{};
    const ::timespec moment{0, 2'000'000};
    ::sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    while (::wait4(child, &status, WNOHANG, &used) == 0) {
        if (verdict.empty()) {
            if (clock::now() - start > std::chrono::duration<double>(10 * most_seconds()))
                verdict = "hanging";
            if (resident(child) > most_mib) verdict = "large";
            if (!verdict.empty()) ::kill(child, SIGKILL);
        }
        ::sigtimedwait(&children, nullptr, &moment);
    }
    const auto seconds = [](const ::timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    const double mib = static_cast<double>(used.ru_maxrss) / 1024;
    std::rewind(said);
    static std::string text;  // kept, so that later children do not inherit a grown heap
    text.assign(4 << 20, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), said));
    std::fclose(said);
    const bool one_line = std::count(text.begin(), text.end(), '\n') == 1;
    if (!verdict.empty()) {
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) verdict = "slow";
    else if (WIFSIGNALED(status)) verdict = "signal " + std::to_string(WTERMSIG(status));
    else if (mib > most_mib) verdict = "large";
    else if (WEXITSTATUS(status) == 0) verdict = text.empty() ? "accepted" : "accepted, but said";
    else if (WEXITSTATUS(status) == 1) verdict = one_line ? "refused" : "refused without one line";
    else verdict = "status " + std::to_string(WEXITSTATUS(status));
    text.resize(std::min<std::size_t>(text.size(), 300));
    std::replace_if(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
    std::printf("%s\t%.2f\t%.0f\t%s\t%s\n", verdict.c_str(),
                seconds(used.ru_utime) + seconds(used.ru_stime), mib, path.c_str(), text.c_str());
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    pm::engine_hook = &host;  // which folds constants
    if (std::string_view(argv[1]) != "--list") return check(argv[1]);
    ::sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    std::vector<std::string> paths;  // read before any child shares the input
    for (std::string path; std::getline(std::cin, path);) paths.push_back(path);
    for (const std::string& path : paths) judge(path);
    return 0;
}
