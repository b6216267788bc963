// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the Slang service is asked for.
#include "launches.hpp"

#include <pumice/exec/kernel_requests.hpp>
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#if defined(__unix__)
#include <unistd.h>
#endif

namespace pm = pumice;
using test::launches_of;

TEST_CASE("requests: a request names each generated program once, with its text") {
    const pm::context host(pm::host_only{});
    const pm::matrix<float> a = pm::zeros<float>({64, 64}, host);
    pm::device_info device;
    device.max_workgroup_count = {65535, 65535, 65535};
    device.max_workgroup_invocations = 1024;
    device.shared_memory = 32 << 10;
    const auto l = launches_of(pm::matrix<float>(pm::matmul(a, a)), device);
    REQUIRE(l.size() == 1);
    const pm::kernel_request r = pm::request_for(l[0]);
    CHECK(r.module == "split_k");
    CHECK(l[0].programs.size() == 3);  // two factors and what is stored
    std::set<std::string> names;
    for (const pm::generated_module& g : r.generated) {
        CHECK(names.insert(g.name).second);  // both factors are read by the same program
        CHECK(g.text.find(g.name) != std::string::npos);
    }
    CHECK(names.size() == 2);
}

TEST_CASE("requests: the library's shaders are whole and named as their files") {
    std::set<std::string> names;
    for (const pm::library_module& m : pm::shader_library()) {
        CHECK(names.insert(m.name).second);
        CHECK(m.source.size() > 100);
    }
    for (const char* name :
         {"elementwise", "reduce", "normalize", "matmul", "pool", "take", "scan", "program"})
        CHECK(names.contains(name));
}

TEST_CASE("requests: a context's policies say where kernels come from") {
    pm::policy_set set;
    set.cache_folder = "somewhere";
    CHECK(pm::service_options_of(set).cache_folder == "somewhere");
    CHECK_FALSE(pm::service_options_of(set).pack);
    set.pack_file = "/nonexistent/of.pack";
    try {
        pm::service_options_of(set);
        FAIL("a pack that is not there was taken");
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::io_failed);
        CHECK(std::string(e.what()).find("/nonexistent/of.pack") != std::string::npos);
    }
}

#if defined(__unix__)
TEST_CASE("requests: PUMICE_SHADERS names a folder of shaders that are edited") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("pumice-shaders-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto built_in = pm::shader_library();
    for (const pm::library_module& m : built_in) {
        const std::filesystem::path file = folder / (m.name + ".slang");
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << m.source << (m.name == "take" ? "// edited\n" : "");
    }
    ::setenv("PUMICE_SHADERS", folder.c_str(), 1);
    const auto edited = pm::shader_library();
    std::filesystem::remove(folder / "take.slang");
    std::string told;
    try {
        static_cast<void>(pm::shader_library());
    } catch (const pm::error& e) {
        CHECK(e.code() == pm::errc::io_failed);
        told = e.what();
    }
    ::unsetenv("PUMICE_SHADERS");
    std::filesystem::remove_all(folder);
    CHECK(told.find("take.slang") != std::string::npos);
    REQUIRE(edited.size() == built_in.size());
    for (std::size_t i = 0; i < edited.size(); ++i)
        CHECK(edited[i].source ==
              built_in[i].source + (built_in[i].name == "take" ? "// edited\n" : ""));
}
#endif
