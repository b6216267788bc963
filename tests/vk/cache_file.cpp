// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/vk/cache_file.hpp>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <csignal>
#include <cstring>

using namespace pumice::vulkan;
namespace fs = std::filesystem;

namespace {

cache_blob content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    cache_blob list(text.size());
    std::memcpy(list.data(), text.data(), text.size());
    return list;
}

void overwrite(const fs::path& path, const cache_blob& data) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size()));
}

cache_blob blob_of(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    cache_blob blob(size);
    for (auto& b : blob) b = static_cast<unsigned char>(random());
    return blob;
}

std::size_t files_in(const fs::path& folder) {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& each : fs::directory_iterator(folder)) ++n;
    return n;
}

const cache_identity me = [] {
    cache_identity id{};
    for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<unsigned char>(i);
    return id;
}();

}  // namespace

TEST_CASE("cache file: what was written is read back, and only by its owner") {
    test::temporary_folder folder;
    const fs::path path = folder.path / "deep" / "down" / "a.bin";
    std::string why;
    CHECK(read_cache_file(path, me, why).empty());
    CHECK(why.empty());
    const cache_blob blob = blob_of(5000, 1);
    REQUIRE(write_cache_file(path, me, blob, why));
    CHECK(read_cache_file(path, me, why) == blob);
    CHECK(why.empty());
    CHECK(files_in(path.parent_path()) == 1);
    for (std::size_t i = 0; i < me.size(); ++i) {
        cache_identity other = me;
        other[i] ^= 1;
        CHECK(read_cache_file(path, other, why).empty());
        CHECK(why == "it is of another driver or device");
    }
    const cache_blob next = blob_of(100, 2);
    REQUIRE(write_cache_file(path, me, next, why));
    why.clear();
    CHECK(read_cache_file(path, me, why) == next);
}

TEST_CASE("cache file: no damage gets through") {
    test::temporary_folder folder;
    const fs::path path = folder.path / "a.bin";
    std::string why;
    const cache_blob blob = blob_of(3000, 3);
    REQUIRE(write_cache_file(path, me, blob, why));
    const cache_blob whole = content(path);
    int wrong = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        cache_blob flipped = whole;
        flipped[i] ^= static_cast<unsigned char>(1u << (i % 8));
        overwrite(path, flipped);
        wrong += !read_cache_file(path, me, why).empty();
    }
    CHECK(wrong == 0);
    for (std::size_t i = 0; i < whole.size(); i += 7) {
        overwrite(path, cache_blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)));
        wrong += !read_cache_file(path, me, why).empty();
    }
    CHECK(wrong == 0);
    cache_blob longer = whole;
    longer.push_back(0);
    overwrite(path, longer);
    CHECK(read_cache_file(path, me, why).empty());
    fs::remove(path);
    fs::create_directory(path);
    CHECK(read_cache_file(path, me, why).empty());
    CHECK_FALSE(write_cache_file(path, me, blob, why));
    CHECK(fs::is_directory(path));
}

TEST_CASE("cache file: no room, no right, no folder: false with a reason, and the old file stays") {
    test::temporary_folder folder;
    std::string why;
    overwrite(folder.path / "file", {1});
    CHECK_FALSE(write_cache_file(folder.path / "file" / "a.bin", me, blob_of(10, 1), why));
    CHECK_FALSE(why.empty());
    const fs::path path = folder.path / "a.bin";
    const cache_blob old = blob_of(1000, 4);
    REQUIRE(write_cache_file(path, me, old, why));
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{2000, 2000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        std::string reason;
        const bool written = write_cache_file(path, me, blob_of(100000, 5), reason);
        ::_exit(written || reason.empty());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(read_cache_file(path, me, why) == old);
    CHECK(files_in(folder.path) == 2);
}

TEST_CASE("cache file: writers in several processes and threads leave one whole file") {
    test::temporary_folder folder;
    const fs::path path = folder.path / "a.bin";
    const cache_blob contents[] = {blob_of(200000, 0), blob_of(150000, 1), blob_of(100, 2),
                                   blob_of(300000, 3)};
    std::string why;
    REQUIRE(write_cache_file(path, me, contents[0], why));
    std::vector<pid_t> children;
    for (const cache_blob& mine : contents) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::string reason;
            for (int i = 0; i < 60; ++i) write_cache_file(path, me, mine, reason);
            ::_exit(0);
        }
        children.push_back(child);
    }
    std::atomic<bool> reading{true};
    std::thread writer([&] {
        std::string reason;
        while (reading) write_cache_file(path, me, contents[0], reason);
    });
    int torn = 0;
    for (int i = 0; i < 300; ++i) {
        const cache_blob found = read_cache_file(path, me, why);
        torn += std::find(std::begin(contents), std::end(contents), found) == std::end(contents);
    }
    reading = false;
    writer.join();
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    CHECK(torn == 0);
    CHECK_FALSE(read_cache_file(path, me, why).empty());
    CHECK(files_in(folder.path) == 1);
}

TEST_CASE(
    "cache file: a writer killed at any time leaves a whole file, and at most one that the next "
    "overwrites") {
    test::temporary_folder folder;
    const fs::path path = folder.path / "a.bin";
    const cache_blob contents[] = {blob_of(400000, 0), blob_of(300000, 1)};
    std::string why;
    REQUIRE(write_cache_file(path, me, contents[0], why));
    std::mt19937 random(7);
    int wrong = 0;
    std::size_t most = 0;
    for (int round = 0; round < 60; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::string reason;
            for (int i = 0;; ++i) write_cache_file(path, me, contents[i % 2], reason);
        }
        ::usleep(static_cast<useconds_t>(200 + random() % 4000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        const cache_blob found = read_cache_file(path, me, why);
        wrong += found != contents[0] && found != contents[1];
        most = std::max(most, files_in(folder.path));
    }
    CHECK(wrong == 0);
    CHECK(most <= 2);
    CHECK(write_cache_file(path, me, contents[1], why));  // no lock outlives its holder
    CHECK(files_in(folder.path) == 1);
}
