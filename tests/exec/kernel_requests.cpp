// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the Slang service is asked for.
#include "launches.hpp"

#include <pumice/exec/kernel_requests.hpp>
#include <pumice/front.hpp>

#include <doctest/doctest.h>

#include <set>

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
