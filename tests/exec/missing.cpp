// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a machine may lack: the Vulkan loader, a device, Slang, a cache folder. Each has a message
// of its own, which names the thing and the way out, and nothing that was there is lost.
#include <pumice/base/expected.hpp>
#include <pumice/front.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>

#include <unistd.h>

namespace pm = pumice;
namespace fs = std::filesystem;
using pm::errc;
using test::thrown_by;
using test::variable;

namespace {

void has(const std::string& text, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
        CHECK_MESSAGE(text.find(word) != std::string::npos, "no \"" << word << "\" in " << text);
}

/// The host computes, and one warning says why and what to do.
void falls_to_the_host(std::initializer_list<std::string_view> words) {
    const test::captured_log log;
    const pm::context home;
    CHECK(home.device().type == pm::device_type::host);
    CHECK(pm::vector<float>(pm::arange<float>(0, 3, 1, home) * 2.0f).to_vector() ==
          std::vector<float>{0, 2, 4});
    const auto warnings = log.with("");
    REQUIRE(warnings.size() == 1);
    has(warnings[0], {"the host device computes", "install"});
    has(warnings[0], words);
    has(home.device_report(), words);
}

struct folder {
    fs::path path;
    folder() {
        for (int i = 0; path.empty() || !fs::create_directory(path); ++i)
            path = fs::temp_directory_path() /
                   ("pumice_missing_" + std::to_string(::getpid()) + "_" + std::to_string(i));
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

pm::vector<float> kernel_of(const pm::context& home) {
    return pm::vector<float>(pm::arange<float>(0, 3, 1, home) * 0.5f + 1.0f);
}
const std::vector<float> its_values{1, 1.5f, 2};

bool on_the_host() { return pm::context().device().type == pm::device_type::host; }

}  // namespace

TEST_CASE("missing: no Vulkan loader") {
    const variable any("PUMICE_DEVICE", "");
    const variable gone("PUMICE_VULKAN_LOADER", "/nonexistent/libvulkan.so.1");
    falls_to_the_host({"no Vulkan loader", "/nonexistent/libvulkan.so.1", "PUMICE_VULKAN_LOADER"});
    for (const auto& e : {thrown_by([] { pm::context home(pm::vulkan_only{}); }),
                          thrown_by([] { pm::context home(pm::gpu_only{}); })}) {
        CHECK(e.code() == errc::no_vulkan_loader);
        has(e.what(), {"no Vulkan loader", "/nonexistent/libvulkan.so.1", "PUMICE_VULKAN_LOADER"});
    }
    const auto result = pm::context::try_make(pm::vulkan_only{});
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == errc::no_vulkan_loader);
}

TEST_CASE("missing: no device") {
    const variable any("PUMICE_DEVICE", "");
    const variable none("VK_DRIVER_FILES", "/nonexistent/no.json");
    const pm::error e = thrown_by([] { pm::context home(pm::vulkan_only{}); });
    if (e.code() == errc::no_vulkan_loader) PUMICE_SKIP("vulkan-device", "no Vulkan loader");
    CHECK(e.code() == errc::no_device);
    has(e.what(), {"any Vulkan 1.3 device", "/nonexistent/no.json", "install"});
    const pm::error gpu = thrown_by([] { pm::context home(pm::gpu_only{}); });
    CHECK(gpu.code() == errc::no_device);
    has(gpu.what(), {"sought: a GPU", "/nonexistent/no.json"});
    falls_to_the_host({"/nonexistent/no.json"});
}

TEST_CASE("missing: a device of that name: what there is, and why it is not it") {
    const variable any("PUMICE_DEVICE", "");
    if (on_the_host()) PUMICE_SKIP("vulkan-device", "there is none to refuse");
    const std::string there = pm::context().device().name;
    const pm::error e = thrown_by([] { pm::context home(pm::device_named{"Nonesuch 9000"}); });
    CHECK(e.code() == errc::no_device);
    has(e.what(), {"sought: a device whose name contains \"Nonesuch 9000\"", there + ": not a"});
    const variable named("PUMICE_DEVICE", "Nonesuch 9000");
    const pm::error f = thrown_by([] { pm::context home; });
    CHECK(f.code() == errc::no_device);
    has(f.what(), {"Nonesuch 9000", "(PUMICE_DEVICE)", there});
}

TEST_CASE("missing: no Slang library: the kernel is refused, the tensor is not lost") {
    if (on_the_host()) PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    const folder cache;
    const pm::context home(pm::cache_folder{cache.path.string()});
    const pm::vector<float> y = kernel_of(home);
    {
        const variable gone("PUMICE_SLANG_LIBRARY", "/nonexistent/libslang-compiler.so");
        for (int i = 0; i < 2; ++i) {
            const pm::error e = thrown_by([&] { pm::eval(y); });
            CHECK(e.code() == errc::no_slang);
            has(e.what(), {"no Slang library", "/nonexistent/libslang-compiler.so",
                           "PUMICE_SLANG_LIBRARY", "install Slang"});
            CHECK_FALSE(y.get()->realised());
        }
    }
    CHECK(y.to_vector() == its_values);  // Slang is there again
    CHECK(home.stats().slang_compiles == 1);

    // What is in the cache needs no Slang.
    const variable gone("PUMICE_SLANG_LIBRARY", "/nonexistent/libslang-compiler.so");
    const pm::context warm(pm::cache_folder{cache.path.string()});
    CHECK(kernel_of(warm).to_vector() == its_values);
    CHECK(warm.stats().slang_compiles == 0);
    CHECK(warm.stats().cache_hits == 1);
}

TEST_CASE("missing: a cache folder that cannot be written: said once, and everything runs") {
    if (on_the_host()) PUMICE_SKIP("vulkan-device", "the host device keeps no kernels");
    const folder parent;
    const fs::path file = parent.path / "file";
    std::ofstream(file) << "no folder";
    for (const fs::path& place : {file / "below", fs::path("/proc/pumice")}) {
        const test::captured_log log;
        {
            const pm::context home(pm::cache_folder{place.string()});
            CHECK(kernel_of(home).to_vector() == its_values);
            CHECK(pm::sum(kernel_of(home) * 2.0f).item() == 9);
            CHECK(home.stats().slang_compiles >= 2);
        }
        const auto kernels = log.with("[cache]"), pipelines = log.with("pipeline cache");
        REQUIRE(kernels.size() == 1);
        has(kernels[0], {place.string(), "PUMICE_CACHE_DIR"});
        CHECK(pipelines.size() <= 1);
        CHECK(log.with("").size() == kernels.size() + pipelines.size());
    }
    std::ifstream in(file);
    const std::string still(std::istreambuf_iterator<char>(in), {});
    CHECK(still == "no folder");
}
