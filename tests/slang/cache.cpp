// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <tests/support/full_disk.hpp>
#include <tests/support/sanitizer.hpp>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <csignal>
#endif

using namespace pumice;
namespace fs = std::filesystem;

namespace {

std::string slurp(const fs::path& file) { return detail::read_file(file, 1u << 30).value(); }
void put(const fs::path& file, const std::string& bytes) {
    fs::remove(file);  // some file systems flush a file that is cut and written again
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A payload that tells whether it is whole.
std::string payload_of(std::uint64_t seed, std::size_t size) {
    std::mt19937_64 bits(seed);
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(bits());
    return text;
}

int warnings = 0;
void count_warning(severity level, std::string_view) {
    if (level == severity::warning) ++warnings;
}
struct counting_log {
    log_sink before = set_log_sink(&count_warning);
    counting_log() { warnings = 0; }
    counting_log(const counting_log&) = delete;
    counting_log& operator=(const counting_log&) = delete;
    ~counting_log() { set_log_sink(before); }
};

}  // namespace

TEST_CASE("what is written is read, by its key and its compiler") {
    const test::folder here;
    disk_cache cache(here.path);
    CHECK_FALSE(cache.read("key", "slang 1"));
    CHECK_FALSE(cache.read("key", ""));
    cache.write("key", "slang 1", "one");
    cache.write("other key", "slang 1", "");
    CHECK(cache.read("key", "slang 1") == "one");
    CHECK(cache.read("other key", "slang 1") == "");
    CHECK_FALSE(cache.read("key", "slang 2"));
    CHECK(cache.read("key", "") == "one");
    cache.write("key", "slang 2", "two");
    CHECK(cache.read("key", "slang 1") == "one");
    CHECK(cache.read("key", "slang 2") == "two");
    CHECK(cache.read("key", "").has_value());
    cache.write("key", "slang 1", "newer");
    CHECK(disk_cache(here.path).read("key", "slang 1") == "newer");
}

TEST_CASE("an empty folder name is a cache that holds nothing") {
    disk_cache cache{fs::path()};
    cache.write("key", "slang", "one");
    CHECK_FALSE(cache.read("key", "slang"));
    CHECK_FALSE(cache.read("key", ""));
}

TEST_CASE("a damaged entry is absent, whatever the damage, and is written anew") {
    const test::folder here;
    disk_cache cache(here.path);
    const std::string payload = payload_of(1, 6000);
    cache.write("key", "slang", payload);
    REQUIRE(here.files().size() == 1);
    const fs::path file = here.files()[0];
    const std::string whole = slurp(file);
    const auto holds = [&](const std::string& bytes) {
        put(file, bytes);
        return cache.read("key", "slang").has_value() || cache.read("key", "").has_value();
    };

    int accepted = 0;
    for (std::size_t i = 0; i < 4096; ++i) {  // each byte of the front, each bit in turn
        std::string bad = whole;
        bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
        accepted += holds(bad);
    }
    std::mt19937_64 random(2);
    for (int i = 0; i < 2000; ++i) {
        std::string bad = whole;
        bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
        accepted += holds(bad);
    }
    for (std::size_t n = 0; n < whole.size(); n += n < 200 ? 1 : 61)
        accepted += holds(whole.substr(0, n));
    for (std::size_t n = 1; n < 70; ++n) accepted += holds(whole + std::string(n, '\0'));
    for (int i = 0; i < 200; ++i) accepted += holds(payload_of(random(), random() % 300));
    CHECK(accepted == 0);

    cache.write("key", "slang", payload);
    CHECK(cache.read("key", "slang") == payload);
}

TEST_CASE("an entry under another's name is not taken for it") {
    const test::folder here;
    disk_cache cache(here.path);
    cache.write("first", "slang", "one");
    const fs::path first = here.files()[0];
    const std::string bytes = slurp(first);
    cache.write("second", "slang", "two");
    for (const fs::path& file : here.files()) put(file, bytes);
    CHECK(cache.read("first", "slang") == "one");
    CHECK_FALSE(cache.read("second", "slang"));
}

TEST_CASE("old entries go when a bucket passes its share, the fresh and the used stay") {
    const test::folder here;
    disk_cache cache(here.path, 256 * 4096);
    std::vector<std::string> keys;  // all of one bucket
    for (int i = 0; keys.size() < 6; ++i) {
        const std::string key = "key " + std::to_string(i);
        if (to_string(digest_of(key)).starts_with("7f")) keys.push_back(key);
    }
    const auto age = [&](int days) {
        for (const fs::path& f : here.files())
            fs::last_write_time(f, fs::last_write_time(f) - std::chrono::hours(24 * days));
    };
    for (std::size_t i = 0; i < 3; ++i) {
        cache.write(keys[i], "slang", payload_of(i, 1000));
        age(2);
    }
    CHECK(cache.read(keys[0], "slang"));  // the oldest, but in use
    cache.write(keys[3], "slang", payload_of(3, 1800));
    CHECK(cache.read(keys[0], "slang"));
    CHECK_FALSE(cache.read(keys[1], "slang"));
    CHECK(cache.read(keys[3], "slang"));
    cache.write(keys[4], "slang", payload_of(4, 100000));  // larger than the whole share
    CHECK(cache.read(keys[4], "slang"));
    std::uintmax_t total = 0;
    for (const fs::path& f : here.files()) total += fs::file_size(f);
    CHECK(total < 100200);
}

TEST_CASE("the folder comes from the environment") {
    const char* names[] = {"PUMICE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    std::vector<std::optional<std::string>> before;
    for (const char* n : names) {
        const char* old = std::getenv(n);
        before.push_back(old ? std::optional<std::string>(old) : std::nullopt);
        ::unsetenv(n);
    }
    CHECK(default_cache_folder().empty());
    ::setenv("HOME", "/home/somebody", 1);
    CHECK(default_cache_folder() == "/home/somebody/.cache/pumice");
    ::setenv("XDG_CACHE_HOME", "relative", 1);  // the specification says to ignore it
    CHECK(default_cache_folder() == "/home/somebody/.cache/pumice");
    ::setenv("XDG_CACHE_HOME", "/caches", 1);
    CHECK(default_cache_folder() == "/caches/pumice");
    ::setenv("PUMICE_CACHE_DIR", "/mine", 1);
    CHECK(default_cache_folder() == "/mine");
    ::setenv("PUMICE_CACHE_DIR", "off", 1);
    CHECK(default_cache_folder().empty());
    for (std::size_t i = 0; i < 3; ++i) {
        if (before[i]) ::setenv(names[i], before[i]->c_str(), 1);
        else ::unsetenv(names[i]);
    }
}

TEST_CASE("threads write and read one key at once") {
    const test::folder here;
    disk_cache cache(here.path);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    const std::string a = payload_of(1, 50000), b = payload_of(2, 70000);
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                if (t % 2 == 0) cache.write("key", "slang", i % 2 == 0 ? a : b);
                else if (const auto got = cache.read("key", "slang"); got && *got != a && *got != b)
                    ++wrong;
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(here.files().size() == 1);
}

#if !defined(_WIN32)

TEST_CASE("a folder that cannot be made or written is one warning and no cache") {
    const test::folder here;
    put(here.path / "file", "in the way");
    const counting_log log;
    disk_cache cache(here.path / "file" / "cache");
    for (int i = 0; i < 3; ++i) cache.write("key", "slang", "one");
    CHECK_FALSE(cache.read("key", "slang"));
    CHECK_FALSE(cache.read("key", ""));
    CHECK(warnings == 1);

    if (::geteuid() != 0) {  // root writes everywhere
        fs::permissions(here.path, fs::perms::owner_read | fs::perms::owner_exec);
        disk_cache read_only(here.path);
        read_only.write("key", "slang", "one");
        CHECK_FALSE(read_only.read("key", "slang"));
        CHECK(warnings == 2);
        fs::permissions(here.path, fs::perms::owner_all);
    }
}

TEST_CASE("a full disk leaves the old entry, no half of a new one, and one warning") {
    const test::folder here;
    const counting_log log;
    disk_cache cache(here.path);
    cache.write("key", "slang", "old");
    {
        const test::full_disk full(4096);
        cache.write("key", "slang", payload_of(1, 20000));
        cache.write("other", "slang", payload_of(2, 20000));
    }
    CHECK(cache.read("key", "slang") == "old");
    CHECK_FALSE(cache.read("other", "slang"));
    CHECK(here.files().size() == 1);
    CHECK(warnings == 1);
    cache.write("other", "slang", "two");
    CHECK(cache.read("other", "slang") == "two");
}

TEST_CASE("what is no regular file is passed by") {
    const test::folder here;
    disk_cache cache(here.path);
    cache.write("key", "slang", "one");
    const fs::path file = here.files()[0];
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    CHECK_FALSE(cache.read("key", "slang"));  // and does not wait for a writer
    cache.write("key", "slang", "two");
    CHECK(cache.read("key", "slang") == "two");
    fs::remove(file);
    fs::create_directory(file);
    CHECK_FALSE(cache.read("key", ""));
}

TEST_CASE("a writer that is killed leaves a valid cache, and its leftover goes") {
    const test::folder here;
    std::mt19937_64 random(3);
    std::vector<std::string> payloads;
    for (std::uint64_t i = 0; i < 8; ++i) payloads.push_back(payload_of(i, 200000));
    disk_cache(here.path).write("key", "slang", payloads[0]);
    int unusable = 0, leftovers = 0;
    // A fork costs a sanitizer a third of a second.
    const int rounds = test::address_sanitizer || test::thread_sanitizer ? 20 : 200;
    for (int round = 0; round < rounds; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            disk_cache cache(here.path);
            for (std::size_t i = 0;; ++i) cache.write("key", "slang", payloads[i % 8]);
        }
        ::usleep(static_cast<useconds_t>(500 + random() % 8000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        int waiting = 0;
        for (const fs::path& f : here.files()) waiting += f.parent_path().filename() == "writing";
        leftovers = std::max(leftovers, waiting);
        const auto got = disk_cache(here.path).read("key", "slang");
        unusable += !got || std::find(payloads.begin(), payloads.end(), *got) == payloads.end();
    }
    CHECK(unusable == 0);
    CHECK(leftovers <= 1);
    disk_cache(here.path).write("last", "slang", "one");
    for (const fs::path& f : here.files()) CHECK(f.parent_path().filename() != "writing");
}

TEST_CASE("whoever removes leftovers takes no file from a writer that has just made it") {
    const test::folder here;
    std::jthread sweeper([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::error_code failed;
            for (fs::directory_iterator it(here.path, failed), end; !failed && it != end;
                 it.increment(failed))
                if (it->path().extension() == ".new") detail::remove_if_abandoned(it->path());
        }
    });
    int failed = 0;
    for (int i = 0; i < 1000; ++i)
        failed += bool(detail::write_whole(here.path / (detail::unique_name() + ".new"),
                                           here.path / "entry", "x"));
    CHECK(failed == 0);
    CHECK(slurp(here.path / "entry") == "x");
}

TEST_CASE("a living writer's file is no leftover") {
    const test::folder here;
    fs::create_directories(here.path / "writing");
    const fs::path file = here.path / "writing" / "busy";
    const detail::file_descriptor held(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::flock(held.value, LOCK_EX) == 0);
    disk_cache(here.path).write("key", "slang", "one");
    CHECK(fs::exists(file));
    ::flock(held.value, LOCK_UN);
    disk_cache(here.path).write("key", "slang", "one");
    CHECK_FALSE(fs::exists(file));
}

#endif
