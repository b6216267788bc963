// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The bindings of a shader in several sets, made those of one, and what its dispatches are given.
#include "support.hpp"

#include <pumice/exec/vulkan/numbered_bindings.hpp>
#include <pumice/graph/custom_kernel.hpp>

#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace pm = pumice;

namespace {

PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
std::string labels;
VKAPI_ATTR void VKAPI_CALL noting(VkCommandBuffer to, const VkDebugUtilsLabelEXT* label) {
    labels += std::string(label->pLabelName) + " ";
    begin_label(to, label);
}

}  // namespace

TEST_CASE("numbered_bindings: views of texel buffers are given back, dispatches have a label") {
    test::wishes w;
    w.edit = [](pm::vulkan::dispatcher& table) {
        test::count_calls<&pm::vulkan::dispatcher::vkCreateBufferView,
                          &pm::vulkan::dispatcher::vkDestroyBufferView>(table);
        if (!table.vkCmdBeginDebugUtilsLabelEXT) return;
        begin_label = table.vkCmdBeginDebugUtilsLabelEXT;
        table.vkCmdBeginDebugUtilsLabelEXT = &noting;
    };
    labels.clear();
    {
        const auto runtime = test::open_runtime(w);
        if (!runtime) PUMICE_SKIP("vulkan-device", "the case is of a device");
        const pm::context home(std::make_shared<pm::vulkan_engine>(std::shared_ptr(runtime),
                                                                   pm::policy_set(), "of a test"));
        using enum pm::shader_descriptor;
        pm::own_shader s;
        s.name = "Mine";
        s.entry = "run";
        s.text = R"(
[[vk::binding(0, 0)]] Buffer<float> x;
[[vk::binding(0, 3)]] [format("r32f")] RWBuffer<float> y;
[shader("compute")] [numthreads(8, 1, 1)]
void run(uint3 at : SV_DispatchThreadID) { y[at.x] = 2 * x[at.x]; })";
        s.inputs = {{0, 0, uniform_texel_buffer, VK_FORMAT_R32_SFLOAT, 4}};
        s.outputs = {{3, 0, storage_texel_buffer, VK_FORMAT_R32_SFLOAT, 4}};
        const auto kernel = pm::make_shader_kernel(s, {.inputs = {{}}, .outputs = {{}}});
        for (int i = 0; i < 5; ++i) {
            const pm::any_tensor x[] = {test::numbers(home, 8, float(i))};
            const pm::any_tensor y = pm::call_kernel(kernel, x, {}, [&] { return home.get(); })[0];
            CHECK(pm::to_vector<float>(y)[7] == 2 * float(i + 7));
        }
        const bool labelled = runtime->device().parent().debug_utils();
        CHECK(labels == (labelled ? "Mine Mine Mine Mine Mine " : ""));
    }
    CHECK(test::calls<&pm::vulkan::dispatcher::vkCreateBufferView>() == 10);
    CHECK(test::calls<&pm::vulkan::dispatcher::vkDestroyBufferView>() == 10);
}

TEST_CASE("numbered_bindings: inputs then outputs in set 0, others are refused") {
    constexpr std::uint32_t decorate = 71 | 4 << 16;
    const pm::array_list<std::uint32_t> words{0x07230203, 0x10600, 0,        9, 0,  decorate, 5,
                                              34,         1,       decorate, 5, 33, 7,  // set 1, 7
                                              decorate,   6,       33,       2};        // binding 2
    pm::own_shader s;
    s.name = "mine";
    s.inputs = {{0, 2}};
    s.outputs = {{0, 4}, {1, 7}};
    const pm::array_list<std::uint32_t> made =
        pm::with_numbered_bindings({words.data(), words.size()}, s);
    REQUIRE(made.size() == words.size());
    CHECK(made[8] == 0);   // set
    CHECK(made[12] == 2);  // the second output
    CHECK(made[16] == 0);  // the input
    s.outputs = {{0, 7}};
    const pm::error e =
        test::thrown_by([&] { pm::with_numbered_bindings({words.data(), words.size()}, s); });
    CHECK(e.code() == pm::errc::invalid_argument);
    CHECK(std::string_view(e.what()).find("in set 1 at binding 7") != std::string_view::npos);
    const pm::array_list<std::uint32_t> cut{0x07230203, 0x10600, 0, 9, 0, decorate, 5};
    CHECK(pm::with_numbered_bindings({cut.data(), cut.size()}, s).size() == cut.size());
}
