// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans that one process writes and another binds: on the host, on the default device and on the
// null device.
//
//   plans write FOLDER COUNT   traces random programs, and writes their plans and their results
//   plans read FOLDER COUNT    binds the plans, and counts those that give other results
#include <pumice.hpp>
#include <pumice/exec/plan/bind.hpp>
#include <pumice/exec/plan/json.hpp>
#include <tests/exec/random_programs.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

namespace pm = pumice;

namespace {

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}
std::vector<float> floats_of(const std::string& path) {
    const std::string bytes = text_of(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

struct place {
    const char* name;
    pm::context home;
};

int write(const std::string& folder, unsigned count, std::span<const place> places) {
    int with_kernels = 0;
    for (unsigned seed = 0; seed < count; ++seed)
        for (const place& p : places) {
            const std::string stem = folder + "/" + std::to_string(seed);
            const test::traced_program one(seed, p.home);
            const std::vector<float> values = test::elements_of(one.recording.run(one.start));
            std::ofstream(stem + "." + p.name, std::ios::binary)
                .write(reinterpret_cast<const char*>(values.data()),
                       std::streamsize(values.size() * sizeof(float)));
            const std::string text = pm::to_json(one.recording.planned());
            with_kernels += text.find("\"kind\":\"kernel\"") != text.npos;
            std::ofstream(stem + ".json", std::ios::binary) << text;
        }
    std::printf("%u plans, %d with a kernel of one's own\n", count, with_kernels);
    return with_kernels > 0 ? 0 : 1;
}

int read(const std::string& folder, unsigned count, std::span<const place> places) {
    const pm::plan_names names{{}, {test::mixed().get(), test::crossed().get()}};
    const pm::context null(pm::null_device{places[1].home.get()->device()});
    int wrong = 0;
    for (unsigned seed = 0; seed < count; ++seed) {
        const std::string stem = folder + "/" + std::to_string(seed);
        const pm::plan p = pm::plan_from_json(text_of(stem + ".json"), names);
        for (const place& at : places) {
            const auto start = test::traced_program::start_of(seed, at.home);
            const std::vector<float> got = test::elements_of(pm::bind(at.home, p).run(start));
            wrong += !test::same_bits(got, floats_of(stem + "." + at.name));
        }
        const std::uint64_t before = null.stats().dispatches;
        pm::bind(null, p).run(test::traced_program::start_of(seed, null));
        wrong += null.stats().dispatches - before < p.steps.size();
    }
    std::printf("%u plans, %d give other results\n", count, wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    try {
        const place places[] = {{"host", pm::context(pm::host_only{})}, {"device", pm::context()}};
        const auto count = unsigned(std::atoi(argv[3]));
        return std::string_view(argv[1]) == "write" ? write(argv[2], count, places)
                                                    : read(argv[2], count, places);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}
