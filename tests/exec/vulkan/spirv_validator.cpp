// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// SPIR-V that files bring is validated before a driver sees it: whatever word of it is changed, it
// runs or is refused, and the process goes on. (No sample has a shared array: no device has to
// bound indices into those.)
#include "../support.hpp"

#include <pumice/exec/vulkan/spirv_validator.hpp>
#include <pumice/graph/custom_kernel.hpp>

#include <tests/support/samples.hpp>
#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace pm = pumice;

namespace {

using words = pm::array_list<std::uint32_t>;

constexpr std::string_view twice = R"(#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at < x.length()) y[at] = 2.0 * x[at];
})",
                           shared_memory = R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
shared vec2 part;
float shaped(float v, int k) {
    switch (k) {
        case 0: return exp(v);
        case 1: return clamp(v, -1.0, 1.0);
        default: return v < 0.0 ? -v : sqrt(v);
    }
}
void main() {
    uint at = gl_GlobalInvocationID.x;
    float v = at < x.length() ? x[at] : 0.0;
    if (gl_LocalInvocationID.x == 0) part = vec2(v, float(at));
    barrier();
    mat2 m = mat2(part, part.yx);
    if (at < y.length()) y[at] = shaped(m[0].x + m[1].y, int(at) & 3) + v;
})",
                           uniform = R"(#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform X { vec4 x[2]; };
layout(set = 0, binding = 1) buffer Y { vec4 y[]; };
void main() {
    if (gl_GlobalInvocationID.x < 2) y[gl_GlobalInvocationID.x] = x[gl_GlobalInvocationID.x].wzyx;
})";

/// As Slang compiles them.
words compiled(std::string_view glsl) {
    pm::own_shader s;
    pm::kernel_request r{"of_test", "main", {}, {{"of_test", std::string(glsl)}}};
    r.language = pm::shader_language::glsl;
    r.build = pm::build_shader;
    return pm::kernel_service(pm::service_options{}).get(r)->words;
}
std::span<const std::uint32_t> all(const words& w) { return {w.data(), w.size()}; }

constexpr std::uint32_t vulkan_1_4 = VK_API_VERSION_1_4;

pm::any_tensor run(const pm::context& home, words code, pm::shader_descriptor as) {
    pm::own_shader s;
    s.name = "Mine";
    s.file = "mine.onnx";
    s.language = pm::shader_language::spirv;
    s.words = std::move(code);
    s.groups = {2, 1, 1};
    s.inputs = {{0, 0, as}};
    s.outputs = {{0, 1}};
    const auto kernel = pm::make_shader_kernel(std::move(s), {.inputs = {{}}, .outputs = {{}}});
    const pm::any_tensor x[] = {test::numbers(home, 8, 1)};
    return pm::call_kernel(kernel, x, {}, [&] { return home.get(); })[0];
}

/// The library in use, and the one beside Slang.
std::vector<pm::unique_ptr<pm::spirv_validator>> validators() {
    std::vector<pm::unique_ptr<pm::spirv_validator>> list;
    list.push_back(pm::spirv_validator::open());
    const auto folder = pm::find_slang().file.parent_path();
    const test::variable named("PUMICE_SPIRV_TOOLS",
                               pm::detail::newest_in(folder, "libslang-glslang").string());
    list.push_back(pm::spirv_validator::open());
    return list;
}

}  // namespace

TEST_CASE("spirv_validator: valid modules pass, others are told with their file") {
    if (!test::open_context()) PUMICE_SKIP("vulkan-device", "Slang may not be there");
    const auto list = validators();
    for (const auto& v : list) {
        REQUIRE(v);
        for (const std::string_view text : {twice, shared_memory, uniform}) {
            words code = compiled(text);
            for (const std::uint32_t version : {VK_API_VERSION_1_3, VK_API_VERSION_1_4})
                CHECK_NOTHROW(v->check(all(code), "Mine", "mine.onnx", version));
            code.back() += 1;  // OpFunctionEnd
            const pm::error e =
                test::thrown_by([&] { v->check(all(code), "Mine", "mine.onnx", vulkan_1_4); });
            CHECK(e.code() == pm::errc::compile_failed);
            const std::string_view said = e.what();
            CHECK(said.find("kernel Mine is not valid SPIR-V") != said.npos);
            CHECK(said.find("mine.onnx") != said.npos);
            CHECK(said.find(v->name() + " says so") != said.npos);
        }
    }
    CHECK(list[1]->name() == "libslang-glslang");
    if (list[0]->name() == list[1]->name())
        PUMICE_SKIP("spirv-tools", "only libslang-glslang was asked: tools/deps --dev takes it");
}

TEST_CASE("spirv_validator: what PUMICE_SPIRV_TOOLS names is taken, or an error that says so") {
    {
        const test::variable off("PUMICE_SPIRV_TOOLS", "off");
        CHECK(!pm::spirv_validator::open());
    }
    for (const char* no_validator : {"/nonexistent/libSPIRV-Tools-shared.so", "libm.so.6"}) {
        const test::variable named("PUMICE_SPIRV_TOOLS", no_validator);
        const pm::error e = test::thrown_by([] { pm::spirv_validator::open(); });
        CHECK(e.code() == pm::errc::io_failed);
        CHECK(std::string_view(e.what()).find(no_validator) != std::string_view::npos);
    }
}

TEST_CASE("spirv_validator: each word of a module changed, it runs or is refused") {
    const std::optional<pm::context> home = test::open_context();
    if (!home) PUMICE_SKIP("vulkan-device", "the case is of a device");
    if (home->device().type != pm::device_type::cpu)
        PUMICE_SKIP("cpu-driver", "valid shaders that nobody wrote may hang a GPU");
    struct sample {
        std::string_view text;
        pm::shader_descriptor as = pm::shader_descriptor::storage_buffer;
    };
    int counted = 0, refused = 0;
    for (const sample& of : {sample{twice}, sample{shared_memory},
                             sample{uniform, pm::shader_descriptor::uniform_buffer}}) {
        const words good = compiled(of.text);
        CHECK(pm::to_vector<float>(run(*home, good, of.as)).size() == 8);
        for (std::size_t at = 0; at < good.size(); ++at)
            for (const std::uint32_t to :
                 {good[at] + 1, good[at] ^ 0x10000u, 0u, ~0u, good[7 * at % good.size()]}) {
                if (to == good[at] || !test::sampled(++counted)) continue;
                words changed = good;
                changed[at] = to;
                try {
                    pm::to_vector<float>(run(*home, std::move(changed), of.as));
                } catch (const pm::error& e) {
                    ++refused;
                    const bool known = e.code() == pm::errc::compile_failed ||
                                       e.code() == pm::errc::unsupported ||
                                       e.code() == pm::errc::vulkan_failed ||
                                       e.code() == pm::errc::invalid_argument;
                    CHECK_MESSAGE(known, "word " << at << " as " << to << ": " << e.what());
                }
            }
    }
    CHECK(refused > counted * std::min(1.0, test::scale()) / 2);
}
