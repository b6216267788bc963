// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The JSON of shader operators: what it says, and each way in which it can be wrong.
#include <pumice/front.hpp>
#include <pumice/model/shader_attributes.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pm = pumice;

namespace {

struct key {
    std::string name, value;  // as JSON
};
std::vector<key> minimal() {
    return {{"entry_point", R"("run")"},
            {"workgroup_sizes", "[4, 2, 1]"},
            {"shader_language", R"("GLSL")"},
            {"shader_code", R"("void run() {}")"},
            {"input_0_binding", "0"},
            {"input_0_descriptorset", "0"},
            {"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER")"},
            {"input_0_vkformat", R"("VK_FORMAT_R32_SFLOAT")"},
            {"output_0_binding", "1"},
            {"output_0_descriptorset", "0"},
            {"output_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER")"},
            {"output_0_vkformat", R"("VK_FORMAT_R16_SFLOAT")"}};
}
std::string text_of(const std::vector<key>& keys) {
    std::string text = "{";
    for (const key& k : keys) text += (text.size() > 1 ? ", \"" : "\"") + k.name + "\": " + k.value;
    return text + "}";
}
/// The minimal object with some keys otherwise; without those whose value is empty.
std::string with(const std::vector<key>& changes) {
    std::vector<key> keys = minimal(), left;
    for (const key& c : changes) {
        bool found = false;
        for (key& k : keys)
            if (k.name == c.name) k.value = c.value, found = true;
        if (!found) keys.push_back(c);
    }
    for (const key& k : keys)
        if (!k.value.empty()) left.push_back(k);
    return text_of(left);
}
pm::shader_attributes parse(const std::string& text) {
    return pm::parse_shader_attributes(text, "Mine", 1, 1);
}

}  // namespace

TEST_CASE("shader_attributes: every key") {
    const pm::shader_attributes a = parse(with({{"push_constants", R"("AQIDBA==")"}}));
    CHECK(a.shader.name == "Mine");
    CHECK(a.shader.entry == "run");
    CHECK(a.shader.groups == std::array<std::uint32_t, 3>{4, 2, 1});
    CHECK(a.shader.language == pm::shader_language::glsl);
    CHECK(a.shader.text == "void run() {}");
    CHECK(a.shader.inputs[0] == pm::shader_binding{0, 0});
    CHECK(a.shader.outputs[0] == pm::shader_binding{0, 1});
    CHECK(a.inputs[0] == pm::dtype::f32);
    CHECK(a.outputs[0] == pm::dtype::f16);
    CHECK(a.shader.push.size() == 4);
    CHECK(a.shader.push[3] == std::byte{4});
    const pm::shader_attributes b =
        parse(with({{"entry_point", ""},
                    {"output_0_vkformat", ""},
                    {"push_constants", R"([{"type": "i32", "value": -2}])"}}));
    CHECK(b.shader.entry == "main");
    CHECK(!b.outputs[0]);
    CHECK(b.shader.push[0] == std::byte{0xfe});
    const pm::shader_binding texels =
        parse(with({{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER")"},
                    {"input_0_vkformat", R"("VK_FORMAT_R16G16B16A16_SFLOAT")"}}))
            .shader.inputs[0];
    CHECK(texels == pm::shader_binding{0, 0, pm::shader_descriptor::uniform_texel_buffer, 97, 8});
    CHECK(parse(with({{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER")"}}))
              .shader.inputs[0]
              .as == pm::shader_descriptor::uniform_buffer);
    const pm::shader_attributes c =
        parse(with({{"shader_language", R"("SPIR-V")"},
                    {"shader_code", R"("AwIjBwAGAQAAAAAAAQAAAAAAAAA=")"}}));
    REQUIRE(c.shader.words.size() == 5);
    CHECK(c.shader.words[0] == 0x07230203);
    CHECK(c.shader.words[1] == 0x10600);
}

TEST_CASE("shader_attributes: each fault is told by its key") {
    struct wrong {
        std::vector<key> change;
        std::string_view told;
        pm::errc code = pm::errc::bad_file;
    };
    std::vector<wrong> list;
    for (const key& k : minimal()) {
        if (k.name != "entry_point" && !k.name.ends_with("vkformat"))
            list.push_back({{{k.name, ""}}, "is missing"});
        list.push_back({{{k.name, "null"}}, "asked for"});
        list.push_back({{{k.name, "true"}}, "asked for"});
        list.push_back({{{k.name, "{}"}}, "asked for"});
    }
    const std::vector<wrong> others{
        {{{"workgroup_sizes", "[1, 1]"}}, "three integers"},
        {{{"workgroup_sizes", "[1, 1, 1, 1]"}}, "three integers"},
        {{{"workgroup_sizes", "[1, 0, 1]"}}, "workgroup_sizes[1]"},
        {{{"workgroup_sizes", "[1, 1, -1]"}}, "workgroup_sizes[2]"},
        {{{"workgroup_sizes", "[1.5, 1, 1]"}}, "workgroup_sizes[0]"},
        {{{"workgroup_sizes", "[1, 1, 4294967296]"}}, "workgroup_sizes[2]"},
        {{{"entry_point", R"("")"}}, "is empty"},
        {{{"shader_language", R"("WGSL")"}}, "\"WGSL\""},
        {{{"shader_language", R"("glsl")"}}, "\"glsl\""},
        {{{"shader_code", R"("")"}}, "is empty"},
        {{{"input_0_binding", "-1"}}, "\"input_0_binding\" is -1"},
        {{{"input_0_binding", "65536"}}, "\"input_0_binding\" is 65536"},
        {{{"input_0_binding", "0.5"}}, "\"input_0_binding\" is number"},
        {{{"output_0_descriptorset", "32"}}, "\"output_0_descriptorset\" is 32"},
        {{{"output_0_binding", "0"}}, "as that of input_0"},
        {{{"input_0_vkformat", R"("R32_SFLOAT")"}}, "there are"},
        {{{"input_0_vkformat", R"("VK_FORMAT_R8G8B8A8_UNORM")"}}, "there are"},
        {{{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_BUFFER")"}},
         "UNIFORM_TEXEL_BUFFER, STORAGE_IMAGE and TENSOR_ARM are taken"},
        {{{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_STORAGE_IMAGE")"},
          {"input_0_vkformat", ""}},
         "\"input_0_vkformat\" is missing"},
        {{{"output_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_TENSOR_ARM")"},
          {"output_0_vkformat", R"("VK_FORMAT_R32G32_SFLOAT")"}},
         "there are"},
        {{{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_SAMPLER")"}},
         "TYPE_SAMPLER\"",
         pm::errc::unsupported},
        {{{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE")"}},
         "SAMPLED_IMAGE\"",
         pm::errc::unsupported},
        {{{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER")"}},
         "COMBINED_IMAGE_SAMPLER\"",
         pm::errc::unsupported},
        {{{"input_0_vkdescriptortype", R"("UNIFORM_BUFFER")"}}, "\"UNIFORM_BUFFER\""},
        {{{"output_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER")"}},
         "TYPE_UNIFORM_BUFFER\", which a shader cannot write"},
        {{{"output_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER")"}},
         "UNIFORM_TEXEL_BUFFER\", which a shader cannot write"},
        {{{"output_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER")"},
          {"output_0_vkformat", ""}},
         "\"output_0_vkformat\" is missing"},
        {{{"input_0_vkdescriptortype", R"("VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER")"},
          {"input_0_vkformat", R"("VK_FORMAT_R8_BOOL_ARM")"}},
         "there are R8_UINT"},
        {{{"input_1_binding", "2"}}, "\"input_1_binding\" is not known"},
        {{{"workgroup_size", "[1, 1, 1]"}}, "\"workgroup_size\" is not known"},
        {{{"push_constants", "7"}}, "push_constants"},
        {{{"push_constants", R"("AQI")"}}, "no base64"},
        {{{"push_constants", R"("AQI=")"}}, "a multiple of 4"},
        {{{"push_constants", "[1]"}}, "push_constants[0]"},
        {{{"push_constants", R"([{"type": "f64", "value": 1}])"}}, "\"f64\""},
        {{{"push_constants", R"([{"type": "i32", "value": 2147483648}])"}}, "no i32"},
        {{{"push_constants", R"([{"type": "u32", "value": -1}])"}}, "push_constants[0]"},
        {{{"push_constants", R"([{"type": "f32"}])"}}, "push_constants[0]"},
        {{{"push_constants", R"([{"type": "f32", "value": -1e39}])"}}, "no f32"},
        {{{"shader_code", R"("a\u0000b")"}}, "a character 0"}};
    list.insert(list.end(), others.begin(), others.end());
    for (const std::string_view code :
         {"AwIjBw", "AwI=BwAA", "AwIjBwA*", "AwIjBwA=====", "====", "AwIjBwAAAgA", "AwIjBx=="})
        list.push_back({{{"shader_language", R"("SPIR-V")"},
                         {"shader_code", "\"" + std::string(code) + "\""}},
                        "no base64"});
    list.push_back({{{"shader_language", R"("SPIR-V")"}, {"shader_code", R"("AwIjBwA=")"}},
                    "no words of 32 bits"});
    for (const std::string_view code : {"AwIjBw==", "BwIjAwAGAQAAAAAAAQAAAAAAAAA="})
        list.push_back({{{"shader_language", R"("SPIR-V")"},
                         {"shader_code", "\"" + std::string(code) + "\""}},
                        "does not begin as SPIR-V does"});
    CHECK(list.size() >= 60);
    std::set<std::string> told;
    for (const wrong& w : list) {
        const std::string text = with(w.change);
        CAPTURE(text);
        const pm::error e = test::thrown_by([&] { parse(text); });
        CAPTURE(e.what());
        CHECK(e.code() == w.code);
        CHECK(std::string_view(e.what()).find("Mine") != std::string_view::npos);
        CHECK(std::string_view(e.what()).find(w.told) != std::string_view::npos);
        if (w.change.back().name != "shader_code") CHECK(told.insert(e.what()).second);
    }
    for (const char* text : {"", "{", "[]", "7", "{\"a\": }", "\xff"})
        CHECK(test::thrown_by([&] { parse(text); }).code() == pm::errc::bad_file);
    const auto told_of = [&](const std::string& text) {
        return test::thrown_by([&] { parse(text); });
    };
    const std::string twice = with({});
    CHECK(std::string_view(told_of("{\"entry_point\": \"a\", " + twice.substr(1)).what())
              .find("\"entry_point\" stands twice") != std::string_view::npos);
    // Deep ones are no danger, and many are told in part.
    const std::string deep(200000, '['), shut(200000, ']');
    for (const char* key : {"workgroup_sizes", "push_constants", "other"})
        CHECK(told_of(with({{key, deep + shut}})).code() == pm::errc::bad_file);
    std::vector<key> many;
    for (int i = 0; i < 1000; ++i) many.push_back({"k" + std::to_string(i), "0"});
    CHECK(told_of(with(many)).reasons().size() == 100);
    // All faults at once.
    const pm::error all = test::thrown_by([&] { parse("{}"); });
    CHECK(all.reasons().size() == 9);
}

TEST_CASE("shader_attributes: too many objects are refused") {
    std::string fields = "[";
    for (int i = 0; i < 200000; ++i) fields += R"({"type": "f32", "value": 1},)";
    const std::string text = with({{"push_constants", fields + "1]"}});
    const pm::error told = test::thrown_by([&] { parse(text); });
    CHECK(std::string_view(told.what()).find("more than 10000 objects") != std::string_view::npos);
}

TEST_CASE("shader_attributes: base64") {
    const auto text = [](std::string_view from) {
        const auto bytes = pm::from_base64(from);
        REQUIRE(bytes);
        return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    };
    CHECK(text("") == "");
    CHECK(text("Zg==") == "f");
    CHECK(text("Zm8=") == "fo");
    CHECK(text("Zm9v") == "foo");
    CHECK(text("Zm9vYmFy") == "foobar");
    CHECK(text("+/+/") == "\xfb\xff\xbf");
    for (const char* bad : {"Z", "Zg", "Zg=", "Zg==Zg==", "Zh==", "Zm9=", "Z===", "Zm 8", "Zm8\n"})
        CHECK(!pm::from_base64(bad));
}
