// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/runner/options.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace test;
using pm::runner_options;

namespace {

/// Each option: a value that is not the default as a text and by its own type, and wrong ones.
struct option_case {
    const char* key;
    const char* text;
    std::any typed;
    std::vector<std::any> wrong;
};
const std::vector<option_case>& option_cases() {
    static const std::string unknown = "sideways";
    static const std::vector<option_case> list = {
        {"input_view", "hardware", pm::io_view::hardware, {unknown, 3, true}},
        {"output_view", "hardware", pm::io_view::hardware, {unknown, 1.5}},
        {"hardware_layout",
         "generic(0,2,1,3)",
         pm::memory_layout::generic({0, 2, 1, 3}),
         {unknown, std::string("generic(0,0,1)"), std::string("generic(0,1"), 4}},
        {"hardware_dtype", "bf16", pm::dtype::bf16, {unknown, std::string("i32"), pm::dtype::i8}},
        {"skip_input_sync", "true", true, {unknown, 1, std::string("1")}},
        {"skip_output_sync", "true", true, {unknown, std::string("yes")}},
        {"memory_heap", "1", 1, {unknown, -2, 1.0, std::string("1.5"), std::string("")}},
        {"queue_sharing", "shared", pm::queue_sharing::shared, {unknown, false}},
        {"queue_index", "3", 3u, {-1, unknown, std::string("3 ")}},
        {"transfer_queues", "true", true, {1, std::string("yes")}},
        {"compiler_messages", "true", true, {unknown, 1}},
        {"cache_folder", "/tmp/{model}-{pid}", std::string("/tmp/{model}-{pid}"), {5, true}},
        {"async_threads", "7", 7, {0, -3, unknown, std::string("99999999999999")}},
        {"max_in_flight", "33", 33, {0, unknown}},
        {"when_full", "busy", pm::when_full::busy, {unknown, true}},
        {"callback_order", "as_submitted", pm::callback_order::as_submitted, {unknown, 0}},
        {"cancel_running", "true", true, {unknown}},
        {"log_level", "error", pm::log_level::error, {unknown, 2}},
        {"profiling", "true", true, {unknown, 0}},
    };
    return list;
}

std::string temporary_file(const std::string& text) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("pumice-options-" + std::to_string(getpid()) + ".txt");
    std::ofstream(path) << text;
    return path.string();
}

}  // namespace

TEST_CASE("runner options: each by its type, by a text and from a file, and wrong ones by name") {
    runner_options by_type, by_text;
    std::map<std::string, std::any> types, texts;
    std::string file = "# of a test\n\n";
    for (const option_case& c : option_cases()) {
        CAPTURE(c.key);
        types[c.key] = c.typed;
        texts[c.key] = c.text;
        file += std::string("  ") + c.key + " =\t" + c.text + "  # so\r\n";
        const runner_options one = runner_options::from_map({{c.key, c.typed}});
        CHECK_FALSE(one == runner_options());
        CHECK(one == runner_options::from_map({{c.key, std::string(c.text)}}));
        CHECK(to_string(one).find(std::string(c.key) + " = " + c.text + "\n") != std::string::npos);
        for (const std::any& wrong : c.wrong) {
            const pm::error e = thrown_by([&] { runner_options::from_map({{c.key, wrong}}); });
            CHECK(e.code() == pm::errc::invalid_argument);
            CHECK(e.message().find(std::string("\"") + c.key + "\" takes") != std::string::npos);
        }
    }
    by_type = runner_options::from_map(types);
    CHECK(by_type == runner_options::from_map(texts));
    const std::string path = temporary_file(file);
    CHECK(by_type == runner_options::from_file(path));
    CHECK(by_type == runner_options::from_map({{"config_file", path}}));
    runner_options more = by_type;
    more.async_threads = 2;
    CHECK(more == runner_options::from_map({{"config_file", path}, {"async_threads", 2}}));
    // What is printed is read again, and no option is left out of the table.
    std::ofstream(path) << to_string(by_type);
    CHECK(by_type == runner_options::from_file(path));
    std::size_t lines = 0;
    for (const char ch : to_string(by_type)) lines += ch == '\n';
    CHECK(lines == option_cases().size());

    const pm::error unknown = thrown_by([] { runner_options::from_map({{"columns", 4}}); });
    CHECK(unknown.message() == "there is no option \"columns\"");
    CHECK(unknown.reasons().size() == lines);
    std::ofstream(path) << "profiling = true\nprofiling\n";
    CHECK(text_of_error([&] { runner_options::from_file(path); }).find(":2: \"profiling\" is no") !=
          std::string::npos);
    std::ofstream(path) << "\nprofilng = true\n";
    CHECK(text_of_error([&] { runner_options::from_file(path); }).find(":2: there is no option") !=
          std::string::npos);
    std::ofstream(path) << "# all\ncache_folder = /tmp/a#b # a folder\n";
    CHECK(runner_options::from_file(path).cache_folder == "/tmp/a#b");
    std::filesystem::resize_file(path, (1 << 20) + 1);
    CHECK(code_of([&] { runner_options::from_file(path); }) == pm::errc::bad_file);
    std::filesystem::remove(path);
    CHECK(code_of([&] { runner_options::from_file(path); }) == pm::errc::io_failed);
    CHECK(code_of([] { runner_options::from_file("/"); }) == pm::errc::io_failed);
    CHECK(code_of([] { runner_options::from_map({{"config_file", 5}}); }) ==
          pm::errc::invalid_argument);
}

TEST_CASE("runner options: struct, map and file give the same runner, which checks them") {
    const pm::context home;
    runner_options o;
    o.async_threads = 0;
    CHECK(text_of_error([&] { shifting(home, {4}, o); }).find("\"async_threads\" is 0") !=
          std::string::npos);
    o.async_threads = 3;
    o.input_view = pm::io_view::hardware;
    const std::string path = temporary_file(to_string(o));
    std::vector<std::string> seen;
    for (const runner_options& each :
         {o, runner_options::from_map({{"async_threads", 3}, {"input_view", "hardware"}}),
          runner_options::from_file(path)}) {
        const pm::runner r = shifting(home, {16}, each);
        std::vector<float> out(16);
        const pm::runner_tensor x = r.allocate("x");
        x.write(bytes_of(counting(16, 0)));
        CHECK(r.execute({x}, {r.wrap("output0", out.data())}) == pm::run_status::ok);
        CHECK(out == shifted(counting(16, 0)));
        seen.push_back(to_string(r.options()) + r.recorded().explain());
    }
    std::filesystem::remove(path);
    CHECK(seen[0] == seen[1]);
    CHECK(seen[0] == seen[2]);
}

TEST_CASE("runner options: the level of the log is the process's") {
    static std::atomic<int> heard;
    heard = 0;
    const captured_log restores_the_sink;
    pm::set_log_sink([](pm::severity, std::string_view) { ++heard; });
    struct restored {
        ~restored() { pm::detail::level_asked_for = -1; }
    } const at_the_end;
    const pm::context home;
    const int wanted[] = {3, 3, 2, 1, 0};  // of info, warning and error
    for (const auto level : {pm::log_level::unchanged, pm::log_level::info, pm::log_level::warning,
                             pm::log_level::error, pm::log_level::off}) {
        runner_options o;
        o.level = level;
        const pm::runner r = shifting(home, {4}, o);
        heard = 0;
        for (const auto s : {pm::severity::info, pm::severity::warning, pm::severity::error})
            pm::write_log(s, "of a test");
        CHECK(heard == wanted[static_cast<int>(level)]);
    }
}
