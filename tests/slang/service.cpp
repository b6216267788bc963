// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <csignal>
#endif

using namespace pumice;
namespace fs = std::filesystem;

TEST_CASE("a kernel comes from Slang once, then from memory, and from disk in the next service") {
    const test::folder here;
    spirv_code code;
    {
        kernel_service s(test::options_in(here.path));
        const auto first = s.get(test::small_request());
        CHECK(test::is_spirv(*first));
        CHECK(s.get(test::small_request()) == first);
        CHECK(s.counters().compiles == 1);
        CHECK(s.counters().memory_hits == 1);
        CHECK(s.counters().disk_hits == 0);
        code = *first;
    }
    const std::uint64_t opens = slang_library_opens();
    kernel_service s(test::options_in(here.path));
    CHECK(s.get(test::small_request())->words == code.words);
    CHECK(s.counters().disk_hits == 1);
    CHECK(s.counters().compiles == 0);
    CHECK(s.counters().library_opens == 0);
    CHECK(slang_library_opens() == opens);
    CHECK(s.get(test::small_request(3, 2))->words != code.words);
    CHECK(s.counters().compiles == 1);
}

namespace {

/// How many sessions have been made from Slang's global one and live: other tests keep theirs.
int live_sessions() { return slang_library::open(find_slang()).sessions; }

}  // namespace

TEST_CASE("after its release Slang is made again, and gives the same code") {
    const int others = live_sessions();
    kernel_service s(test::options_in({}));
    const auto first = s.get(test::small_request());
    const std::uint64_t made = slang_sessions_made();
    s.release_compiler(std::chrono::hours(1));  // used a moment ago
    s.get(test::small_request(3, 2));
    CHECK(slang_sessions_made() == made);
    s.release_compiler(std::chrono::nanoseconds(0));
    s.release_compiler(std::chrono::nanoseconds(0));
    CHECK(s.get(test::small_request()) == first);  // from memory
    CHECK(slang_sessions_made() == made);
    CHECK(live_sessions() == others);
    const auto again = s.get(test::small_request(5));
    CHECK(slang_sessions_made() == made + (others == 0));
    CHECK(again->words.size() == first->words.size());
    CHECK(s.counters().library_opens <= 1);
}

TEST_CASE(
    "a release leaves what another service's session was made from: it writes there as it ends") {
    const int others = live_sessions();
    kernel_service s(test::options_in({})), other(test::options_in({}));
    const auto first = s.get(test::small_request());
    other.get(test::small_request());
    const std::uint64_t made = slang_sessions_made();
    s.release_compiler(std::chrono::nanoseconds(0));
    CHECK(s.get(test::small_request(5))->words.size() == first->words.size());
    CHECK(slang_sessions_made() == made);
    s.release_compiler(std::chrono::nanoseconds(0));
    for (int i = 1; i <= 40; ++i)
        other.get(test::small_request(i, 2));  // more than a session takes
    CHECK(live_sessions() == others + 1);
    other.release_compiler(std::chrono::nanoseconds(0));
    CHECK(live_sessions() == others);
    other.get(test::small_request(5));
    CHECK(slang_sessions_made() == made + (others == 0));
}

TEST_CASE("each part of a request makes another kernel") {
    kernel_service s(test::options_in({}));
    std::vector<kernel_request> all(6, test::small_request());
    all[1].module += "x";
    all[2].entry += "x";
    all[3].arguments = {all[0].arguments[0] + "\n" + all[0].arguments[1]};
    all[4].generated[0].text += "\n";
    all[5].generated.push_back({"more", ""});
    std::vector<digest> names;
    for (const kernel_request& r : all) names.push_back(s.name_of(r));
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    service_options other = test::options_in({});
    other.modules[0].source += "\n";
    CHECK(kernel_service(other).name_of(all[0]) != s.name_of(all[0]));
}

TEST_CASE("without any Slang what is on disk still runs, and the rest says what to do") {
    const test::folder here;
    kernel_service(test::options_in(here.path)).get(test::small_request());
    service_options o = test::options_in(here.path);
    o.slang_library = (here.path / "no-slang.so").string();
    kernel_service s(o);
    CHECK(test::is_spirv(*s.get(test::small_request())));
    CHECK(s.counters().disk_hits == 1);
    for (int i = 0; i < 2; ++i) try {
            s.get(test::small_request(9));
            FAIL("compiled without Slang");
        } catch (const error& e) {
            CHECK(e.code() == errc::no_slang);
        }
    CHECK(s.counters().compiles == 0);
}

TEST_CASE("what another Slang made is not served while a Slang is there") {
    const test::folder here;
    kernel_service(test::options_in(here.path)).get(test::small_request());
    const test::folder
        elsewhere;  // the same library with another time: an update, as far as one can tell
    const slang_location place = find_slang();
    const fs::path copy = elsewhere.path / place.file.filename();
    fs::create_symlink(place.file, copy);
    CHECK(find_slang(copy.string()).identity == place.identity);
    fs::remove(copy);
    fs::copy_file(place.file, copy);
    service_options o = test::options_in(here.path);
    o.slang_library = copy.string();
    kernel_service s(o);
    try {
        s.get(test::small_request());
    } catch (const error&) {  // the copy may not load beside the original; it must only be asked
    }
    CHECK(s.counters().disk_hits == 0);
}

TEST_CASE("a damaged entry is compiled again and mended") {
    const test::folder here;
    const auto code = kernel_service(test::options_in(here.path)).get(test::small_request());
    std::mt19937_64 random(5);
    for (int round = 0; round < 5; ++round) {
        for (const fs::path& f : here.files()) {
            std::fstream file(f, std::ios::binary | std::ios::in | std::ios::out);
            file.seekp(static_cast<std::streamoff>(random() % fs::file_size(f)));
            file.put(static_cast<char>(random()));
            file.seekp(static_cast<std::streamoff>(random() % 64));
            file.put('?');
        }
        kernel_service s(test::options_in(here.path));
        CHECK(s.get(test::small_request())->words == code->words);
        CHECK(s.counters().compiles == 1);
        kernel_service after(test::options_in(here.path));
        after.get(test::small_request());
        CHECK(after.counters().disk_hits == 1);
    }
}

TEST_CASE("an entry that is whole but no SPIR-V is compiled again") {
    const test::folder here;
    const auto code = kernel_service(test::options_in(here.path)).get(test::small_request());
    for (std::string payload : {std::string(), std::string("hello"), std::string(64, 'x')}) {
        service_options o = test::options_in(here.path);
        kernel_service s(o);
        disk_cache(here.path).write(s.key_of(test::small_request()), find_slang().identity,
                                    payload);
        CHECK(s.get(test::small_request())->words == code->words);
        CHECK(s.counters().compiles == 1);
    }
}

TEST_CASE("a refused kernel is refused again, and others go on") {
    kernel_service s(test::options_in({}));
    kernel_request bad = test::small_request();
    bad.generated[0].text += "oops";
    for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(s.get(bad), error);
    CHECK(test::is_spirv(*s.get(test::small_request())));
    CHECK(s.counters().compiles == 1);
}

TEST_CASE("threads that want one kernel compile it once; others are not held up") {
    kernel_service s(test::options_in({}));
    const auto warm = s.get(test::small_request(1));
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<const spirv_code>> got(8);
    for (std::size_t t = 0; t < got.size(); ++t)
        threads.emplace_back([&, t] {
            got[t] = s.get(test::small_request(2));
            if (s.get(test::small_request(1)) != warm) got[t].reset();
            s.get(test::small_request(10 + static_cast<int>(t % 4)));
        });
    for (std::thread& t : threads) t.join();
    for (const auto& code : got) CHECK(code == got[0]);
    CHECK(got[0]);
    CHECK(s.counters().compiles == 6);
}

TEST_CASE("a pack is asked after the disk, and a recorder sees each kernel once") {
    std::map<digest, spirv_code> pack;
    service_options o = test::options_in({});
    o.record = [&](const digest& name, const kernel_request& r, const spirv_code& code) {
        CHECK(r.module == "fill");
        pack[name] = code;
    };
    {
        kernel_service s(o);
        for (int i = 0; i < 6; ++i) s.get(test::small_request(i % 3));
    }
    CHECK(pack.size() == 3);
    const test::folder here;
    service_options shipped = test::options_in(here.path);
    shipped.slang_library = (here.path / "no-slang.so").string();
    shipped.pack = [&](const digest& name) -> std::shared_ptr<const spirv_code> {
        const auto found = pack.find(name);
        if (found == pack.end()) return nullptr;
        return std::make_shared<const spirv_code>(found->second);
    };
    kernel_service s(shipped);
    for (int i = 0; i < 3; ++i) CHECK(test::is_spirv(*s.get(test::small_request(i))));
    CHECK(s.counters().pack_hits == 3);
    CHECK_THROWS_AS(s.get(test::small_request(7)), error);
}

TEST_CASE("PUMICE_DUMP writes texts and code") {
    const test::folder here;
    ::setenv("PUMICE_DUMP", here.path.c_str(), 1);
    kernel_service s(test::options_in({}));
    ::unsetenv("PUMICE_DUMP");
    const auto code = s.get(test::small_request());
    int texts = 0, codes = 0;
    for (const fs::path& f : here.files()) {
        const std::string bytes = detail::read_file(f, 1u << 20).value();
        if (f.extension() == ".slang" && bytes.find("times_3") != std::string::npos) ++texts;
        if (f.extension() == ".spv" && bytes.size() == code->words.size() * 4) ++codes;
    }
    CHECK(texts == 1);
    CHECK(codes == 1);
}

#if !defined(_WIN32)

TEST_CASE("processes share a cold cache while one of them is killed") {
    slang_library::open(find_slang());  // children then need not each make a session of their own
    const auto right = kernel_service(test::options_in({})).get(test::small_request(1));
    std::mt19937_64 random(11);
    int wrong = 0;
    for (int round = 0; round < 6; ++round) {
        const test::folder here;
        std::vector<pid_t> children;
        for (int c = 0; c < 8; ++c)
            if (const pid_t child = ::fork(); child == 0) {
                int faults = 0;
                kernel_service s(test::options_in(here.path));
                for (int i = 0; i < 3; ++i)
                    faults += !test::is_spirv(*s.get(test::small_request(i)));
                faults += s.get(test::small_request(1))->words != right->words;
                ::_exit(faults);
            } else {
                children.push_back(child);
            }
        ::usleep(static_cast<useconds_t>(random() % 60000));
        const pid_t victim = children[random() % children.size()];
        ::kill(victim, SIGKILL);
        for (pid_t child : children) {
            int status = 0;
            ::waitpid(child, &status, 0);
            if (child != victim) wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        }
        kernel_service s(test::options_in(here.path));
        for (int i = 0; i < 3; ++i) s.get(test::small_request(i));
        wrong += s.counters().disk_hits != 3;
    }
    CHECK(wrong == 0);
}

#endif
