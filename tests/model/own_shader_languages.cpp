// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models with shader operators (domain com.arm.VulkanCustomShader): what runs, and what is refused.
#include <pumice/exec/plan/partition.hpp>
#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/model/provider.hpp>
#include <pumice/model/shader_attributes.hpp>
#include <pumice/package.hpp>

#include <tests/model/support.hpp>
#include <tests/support/samples.hpp>
#include <tests/support/skip.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

using namespace pumice_test;
namespace pm = pumice;
using pm::any_tensor;

namespace {

constexpr std::string_view slang_twice = R"(
[[vk::binding(0, 0)]] StructuredBuffer<float> x;
[[vk::binding(1, 0)]] RWStructuredBuffer<float> y;
[shader("compute")] [numthreads(8, 1, 1)]
void run(uint3 at : SV_DispatchThreadID) {
    uint count, stride;
    x.GetDimensions(count, stride);
    if (at.x < count) y[at.x] = 2 * x[at.x];
})",
                           hlsl_twice = R"(
[[vk::binding(0, 0)]] StructuredBuffer<float> x;
[[vk::binding(1, 0)]] RWStructuredBuffer<float> y;
[numthreads(8, 1, 1)]
void run(uint3 at : SV_DispatchThreadID) {
    uint count, stride;
    x.GetDimensions(count, stride);
    if (at.x < count) y[at.x] = 2 * x[at.x];
})",
                           glsl_twice = R"(#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at < x.length()) y[at] = 2.0 * x[at];
})";

// The GLSL above, with one thread a workgroup.
constexpr std::string_view spirv_twice =
    "AwIjBwAGAQAAACgAJwAAAAAAAAARAAIAAQAAAAoACwBTUFZfS0hSX3N0b3JhZ2VfYnVmZmVyX3N0b3JhZ2VfY2xh"
    "c3MAAAAADgADAAAAAAABAAAADwAIAAUAAAACAAAAbWFpbgAAAAAeAAAAFQAAAAsAAAAQAAYAAgAAABEAAAABAAAA"
    "AQAAAAEAAAADAAMACwAAAAEAAAAFAAMADAAAAGF0AAAFAAoAEQAAAFNMQU5HX1BhcmFtZXRlckdyb3VwX1lfc3Rk"
    "NDMwAAAABgAEABEAAAAAAAAAeQAAAAUAAwAVAAAAWQAAAAUACgAcAAAAU0xBTkdfUGFyYW1ldGVyR3JvdXBfWF9z"
    "dGQ0MzAAAAAGAAQAHAAAAAAAAAB4AAAABQADAB4AAABYAAAABQAEAAIAAABtYWluAAAAAEcABAALAAAACwAAABwA"
    "AABHAAQAEwAAAAYAAAAEAAAARwADABEAAAACAAAASAAFABEAAAAAAAAAIwAAAAAAAABHAAQAFQAAACEAAAABAAAA"
    "RwAEABUAAAAiAAAAAAAAAEcABAAYAAAABgAAAAQAAABHAAQAGgAAAAYAAAAEAAAARwADABwAAAACAAAASAAFABwA"
    "AAAAAAAAIwAAAAAAAABHAAQAHgAAACEAAAAAAAAARwAEAB4AAAAiAAAAAAAAAEcAAwAeAAAAGAAAABMAAgABAAAA"
    "IQADAAMAAAABAAAAFQAEAAcAAAAgAAAAAAAAABcABAAIAAAABwAAAAMAAAAgAAQACgAAAAEAAAAIAAAAFAACAA0A"
    "AAArAAQABwAAAA8AAAD///9/FgADABIAAAAgAAAAHQADABMAAAASAAAAHgADABEAAAATAAAAIAAEABQAAAAMAAAA"
    "EQAAABUABAAWAAAAIAAAAAEAAAArAAQAFgAAABcAAAAAAAAAIAAEABgAAAAMAAAAEwAAACAABAAaAAAADAAAABIA"
    "AAAeAAMAHAAAABMAAAAgAAQAHQAAAAwAAAAcAAAAKwAEABIAAAAjAAAAAAAAQDsABAAKAAAACwAAAAEAAAA7AAQA"
    "FAAAABUAAAAMAAAAOwAEAB0AAAAeAAAADAAAADYABQABAAAAAgAAAAAAAAADAAAA+AACAAQAAAA9AAQACAAAAAkA"
    "AAALAAAAUQAFAAcAAAAMAAAACQAAAAAAAACwAAUADQAAAA4AAAAMAAAADwAAAPcAAwAGAAAAAAAAAPoABAAOAAAA"
    "BQAAAAYAAAD4AAIABQAAAEEABQAYAAAAGQAAABUAAAAXAAAAQQAFABoAAAAbAAAAGQAAAAwAAABBAAUAGAAAAB8A"
    "AAAeAAAAFwAAAEEABQAaAAAAIAAAAB8AAAAMAAAAPQAEABIAAAAhAAAAIAAAAIUABQASAAAAIgAAACMAAAAhAAAA"
    "PgADABsAAAAiAAAA+QACAAYAAAD4AAIABgAAAP0AAQA4AAEA";

// The same by glslang for Vulkan 1.0: SPIR-V 1.0, whose storage buffers are another storage class.
constexpr std::string_view spirv_1_0_twice =
    "AwIjBwAAAQALAAgAJQAAAAAAAAARAAIAAQAAAAsABgABAAAAR0xTTC5zdGQuNDUwAAAAAA4AAwAAAAAAAQAAAA8ABg"
    "AFAAAABAAAAG1haW4AAAAACwAAABAABgAEAAAAEQAAAAEAAAABAAAAAQAAAEcABAALAAAACwAAABwAAABHAAQAEQAA"
    "AAYAAAAEAAAASAAFABIAAAAAAAAAIwAAAAAAAABHAAMAEgAAAAMAAABHAAQAFAAAACIAAAAAAAAARwAEABQAAAAhAA"
    "AAAQAAAEcABAAZAAAABgAAAAQAAABIAAQAGgAAAAAAAAAYAAAASAAFABoAAAAAAAAAIwAAAAAAAABHAAMAGgAAAAMA"
    "AABHAAQAHAAAACIAAAAAAAAARwAEABwAAAAhAAAAAAAAAEcABAAkAAAACwAAABkAAAATAAIAAgAAACEAAwADAAAAAg"
    "AAABUABAAGAAAAIAAAAAAAAAAgAAQABwAAAAcAAAAGAAAAFwAEAAkAAAAGAAAAAwAAACAABAAKAAAAAQAAAAkAAAA7"
    "AAQACgAAAAsAAAABAAAAKwAEAAYAAAAMAAAAAAAAACAABAANAAAAAQAAAAYAAAAWAAMAEAAAACAAAAAdAAMAEQAAAB"
    "AAAAAeAAMAEgAAABEAAAAgAAQAEwAAAAIAAAASAAAAOwAEABMAAAAUAAAAAgAAABUABAAVAAAAIAAAAAEAAAArAAQA"
    "FQAAABYAAAAAAAAAKwAEABAAAAAYAAAAAAAAQB0AAwAZAAAAEAAAAB4AAwAaAAAAGQAAACAABAAbAAAAAgAAABoAAA"
    "A7AAQAGwAAABwAAAACAAAAIAAEAB4AAAACAAAAEAAAACsABAAGAAAAIwAAAAEAAAAsAAYACQAAACQAAAAjAAAAIwAA"
    "ACMAAAA2AAUAAgAAAAQAAAAAAAAAAwAAAPgAAgAFAAAAOwAEAAcAAAAIAAAABwAAAEEABQANAAAADgAAAAsAAAAMAA"
    "AAPQAEAAYAAAAPAAAADgAAAD4AAwAIAAAADwAAAD0ABAAGAAAAFwAAAAgAAAA9AAQABgAAAB0AAAAIAAAAQQAGAB4A"
    "AAAfAAAAHAAAABYAAAAdAAAAPQAEABAAAAAgAAAAHwAAAIUABQAQAAAAIQAAABgAAAAgAAAAQQAGAB4AAAAiAAAAFA"
    "AAABYAAAAXAAAAPgADACIAAAAhAAAA/QABADgAAQA=";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (c == '\n') out += "\\n";
        else if (c == '"' || c == '\\') (out += '\\') += c;
        else out += c;
    return out;
}
std::string resource(const std::string& which, int binding, int set = 0,
                     std::string_view format = "R32_SFLOAT",
                     std::string_view type = "STORAGE_BUFFER") {
    return ", \"" + which + "_binding\": " + std::to_string(binding) + ", \"" + which +
           "_descriptorset\": " + std::to_string(set) + ", \"" + which +
           "_vkdescriptortype\": \"VK_DESCRIPTOR_TYPE_" + std::string(type) + "\", \"" + which +
           "_vkformat\": \"VK_FORMAT_" + std::string(format) + "\"";
}
std::string attributes_of(std::string_view language, std::string_view code, std::string_view entry,
                          const std::string& rest, std::string_view groups = "[1, 1, 1]") {
    return "{\"entry_point\": \"" + std::string(entry) +
           "\", \"workgroup_sizes\": " + std::string(groups) + ", \"shader_language\": \"" +
           std::string(language) + "\", \"shader_code\": \"" + escaped(code) + "\"" + rest + "}";
}
message shader_node(const std::string& name, const std::vector<std::string>& in,
                    const std::vector<std::string>& out, const std::string& attributes) {
    return node_of(name, in, out, {attribute("implementation_attrs", attributes.c_str())},
                   name + "_node", std::string(pm::shader_domain));
}
message model_with_shaders(const message& graph) {
    return model_of(graph, 20).put(8,
                                   message{}.text(1, std::string(pm::shader_domain)).number(2, 1));
}
any_tensor floats_on(const pm::context& home, const pm::shape& s, const std::vector<float>& v) {
    return pm::from_bytes(pm::dtype::f32, s, std::as_bytes(std::span(v)), home);
}

/// The same from a file, and back.
pm::package packed(const pm::executable& e, const pm::context& home) {
    const temporary_folder folder;
    const auto at = folder.path() / "shaders.pumice";
    pm::package::save(at, e);
    return pm::package::load(at, home);
}

struct spelled {
    std::string_view language, code, entry, groups = "[1, 1, 1]";
};
const spelled languages[] = {{"Slang", slang_twice, "run"},
                             {"HLSL", hlsl_twice, "run"},
                             {"GLSL", glsl_twice, "main"},
                             {"SPIR-V", spirv_twice, "main", "[5, 1, 1]"},
                             {"SPIR-V", spirv_1_0_twice, "main", "[5, 1, 1]"}};

}  // namespace

TEST_CASE("shader operators: each language, between fused neighbours, once and recorded") {
    const pm::context home;
    for (const spelled& how : languages) {
        CAPTURE(how.language);
        message graph;
        graph.put(5, floats("w", {1}, {3}))
            .put(1, node_of("Mul", {"x", "w"}, {"a"}))
            .put(1, node_of("Neg", {"a"}, {"b"}))
            .put(1, shader_node("Twice", {"b"}, {"c"},
                                attributes_of(how.language, how.code, how.entry,
                                              resource("input_0", 0) + resource("output_0", 1),
                                              how.groups)))
            .put(1, node_of("Abs", {"c"}, {"d"}))
            .put(1, node_of("Add", {"d", "w"}, {"y"}))
            .put(11, value_of("x", 1, {5}))
            .put(12, value_of("y", 1, {5}));
        const pm::model m = pm::model::from_bytes(model_with_shaders(graph).view(), home);
        const any_tensor x = floats_on(home, {5}, {1, -2, 3, -4, 5});
        const std::vector<float> expected{9, 15, 21, 27, 33};
        if (home.device().type == pm::device_type::host) {
            const auto refused = thrown_by([&] { pm::to_vector<float>(m(x)); });
            CHECK(refused.first == pm::errc::unsupported);
            CHECK(contains(refused.second, "needs a Vulkan device"));
            continue;
        }
        const auto before = home.stats();
        CHECK(pm::to_vector<float>(m(x)) == expected);
        CHECK(home.stats().dispatches - before.dispatches == 3);
        pm::profiler profiler(home);
        pm::to_vector<float>(m(x));
        const std::vector<pm::profile_event> seen = profiler.finish().events;
        CHECK(std::any_of(seen.begin(), seen.end(),
                          [](const pm::profile_event& e) { return e.name == "kernel/Twice"; }));
        const auto ready = m.compile();
        const pm::plan& p = ready.planned();
        const pm::plan_partition pieces = pm::partition(p, pm::labels_of(p));
        REQUIRE(pieces.pieces.size() == 3);
        CHECK(pieces.pieces[1].label.alone);
        for (int i = 0; i < 3; ++i) CHECK(pm::to_vector<float>(ready.run({x})[0]) == expected);
        const pm::package kept = packed(ready, home);
        CHECK(kept.contents().compute_nodes == std::vector<std::string>{"Twice"});
        CHECK(pm::to_vector<float>(kept.run({x})[0]) == expected);
        const any_tensor other = floats_on(home, {5}, {0, 0, 1, 0, 0});
        CHECK(pm::to_vector<float>(ready.run({other})[0]) == std::vector<float>{3, 3, 9, 3, 3});
    }
}

TEST_CASE("shader operators: two inputs and outputs in two sets, push constants, another shape") {
    const pm::context home;
    constexpr std::string_view code = R"(
[[vk::binding(0, 0)]] StructuredBuffer<float> a;
[[vk::binding(3, 1)]] StructuredBuffer<int> b;
[[vk::binding(0, 1)]] RWStructuredBuffer<float> sum;
[[vk::binding(1, 0)]] RWStructuredBuffer<int> total;
struct Numbers { float factor; int add; };
[[vk::push_constant]] ConstantBuffer<Numbers> numbers;
[shader("compute")] [numthreads(1, 1, 1)]
void mix(uint3 at : SV_DispatchThreadID) {
    sum[at.x] = numbers.factor * a[at.x] + b[at.x];
    if (at.x == 0) total[0] = b[0] + b[1] + b[2] + numbers.add;
})";
    const auto pushing = [](const std::string& factor) {
        return resource("input_0", 0, 0) + resource("input_1", 3, 1, "R32_SINT") +
               resource("output_0", 0, 1) + resource("output_1", 1, 0, "R32_SINT") +
               R"(, "push_constants": [{"type": "f32", "value": )" + factor +
               R"(}, {"type": "i32", "value": -7}])";
    };
    message graph;
    graph
        .put(1, shader_node("Mix", {"a", "b"}, {"s", "t"},
                            attributes_of("Slang", code, "mix", pushing("0.5"), "[3, 1, 1]")))
        .put(1, node_of("Neg", {"s"}, {"u"}))  // a diamond: s is read twice
        .put(1, node_of("Abs", {"s"}, {"v"}))
        .put(1, shader_node("Mix", {"v", "b"}, {"w", "t2"},
                            attributes_of("Slang", code, "mix", pushing("1"), "[3, 1, 1]")))
        .put(1, node_of("Add", {"u", "w"}, {"y"}))
        .put(11, value_of("a", 1, {3}))
        .put(11, value_of("b", 6, {3}))
        .put(12, value_of("y", 1, {3}))
        .put(12, value_of("t", 6, {1}))
        .put(13, value_of("t2", 6, {1}));
    const pm::model m = pm::model::from_bytes(model_with_shaders(graph).view(), home);
    const std::vector<std::int32_t> ints{10, 20, 30};
    const any_tensor a = floats_on(home, {3}, {2, -4, -100}),
                     b = pm::from_bytes(pm::dtype::i32, {3}, std::as_bytes(std::span(ints)), home);
    if (home.device().type == pm::device_type::host) {
        CHECK(thrown_by([&] { pm::to_vector<float>(m.compile().run({a, b})[0]); }).first ==
              pm::errc::unsupported);
        return;
    }
    const auto ready = m.compile();
    const pm::package kept = packed(ready, home);  // of one name, with push constants of their own
    CHECK(kept.contents().compute_nodes.size() == 2);
    for (int i = 0; i < 3; ++i) {
        const auto made = i == 2 ? kept.run({a, b}) : ready.run({a, b});
        // s = a / 2 + b = {11, 18, -20}; w = |s| + b = {21, 38, 50}
        CHECK(pm::to_vector<float>(made[0]) == std::vector<float>{10, 20, 70});
        CHECK(pm::to_vector<std::int32_t>(made[1]) == std::vector<std::int32_t>{53});
    }
}

TEST_CASE("shader operators: chains by uniform buffers, texel buffers and images") {
    const pm::context home;
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "shaders are of a device");
    // y = x * c, by each descriptor that a tensor can have.
    constexpr std::string_view code = R"(
struct Four { float4 v; };
[[vk::binding(2, 1)]] ConstantBuffer<Four> c;
[[vk::binding(0, 0)]] Buffer<float> x;
[[vk::binding(1, 0)]] [format("r32f")] RWBuffer<float> y;
[shader("compute")] [numthreads(4, 1, 1)]
void run(uint3 at : SV_DispatchThreadID) { y[at.x] = c.v[at.x] * x[at.x]; })",
                               pairs = R"(
[[vk::binding(0, 0)]] Buffer<uint2> x;
[[vk::binding(1, 0)]] [format("rg32ui")] RWBuffer<uint2> y;
[shader("compute")] [numthreads(2, 1, 1)]
void run(uint3 at : SV_DispatchThreadID) { y[at.x] = x[at.x].yx; })";
    const std::string scaled =
        attributes_of("Slang", code, "run",
                      resource("input_0", 0, 0, "R32_SFLOAT", "UNIFORM_TEXEL_BUFFER") +
                          resource("input_1", 2, 1, "R32_SFLOAT", "UNIFORM_BUFFER") +
                          resource("output_0", 1, 0, "R32_SFLOAT", "STORAGE_TEXEL_BUFFER"));
    // An image's neighbours: a tensor of shape (2, 3, 4) is one of 2 * 3 rows.
    constexpr std::string_view turned = R"(
[[vk::binding(0, 0)]] [format("r32f")] RWTexture2D<float> x;
[[vk::binding(1, 0)]] [format("r32f")] RWTexture2D<float> y;
[shader("compute")] [numthreads(4, 6, 1)]
void run(uint3 at : SV_DispatchThreadID) { y[at.xy] = x[uint2(3 - at.x, 5 - at.y)]; })";
    const std::string backwards =
        attributes_of("Slang", turned, "run",
                      resource("input_0", 0, 0, "R32_SFLOAT", "STORAGE_IMAGE") +
                          resource("output_0", 1, 0, "R32_SFLOAT", "STORAGE_IMAGE"));
    const auto swapped = [&](std::string_view format) {
        return attributes_of("Slang", pairs, "run",
                             resource("input_0", 0, 0, format, "UNIFORM_TEXEL_BUFFER") +
                                 resource("output_0", 1, 0, format, "STORAGE_TEXEL_BUFFER"));
    };
    message graph;
    graph.put(5, floats("w", {4}, {1, 2, 3, 4}))
        .put(1, shader_node("Scale", {"x", "w"}, {"a"}, scaled))
        .put(1, shader_node("Scale", {"a", "w"}, {"b"}, scaled))
        .put(1, shader_node("Scale", {"b", "w"}, {"c"}, scaled))
        .put(1, node_of("Neg", {"c"}, {"y"}))
        .put(1, shader_node("Swap", {"u"}, {"z"}, swapped("R32G32_UINT")))
        .put(1, node_of("Neg", {"p"}, {"q"}))
        .put(1, shader_node("Turn", {"q"}, {"r"}, backwards))
        .put(1, shader_node("Turn", {"r"}, {"s"}, backwards))
        .put(1, shader_node("Turn", {"s"}, {"t"}, backwards))
        .put(1, node_of("Neg", {"t"}, {"v"}))
        .put(11, value_of("x", 1, {4}))
        .put(11, value_of("u", 12, {4}))
        .put(11, value_of("p", 1, {2, 3, 4}))
        .put(12, value_of("y", 1, {4}))
        .put(12, value_of("z", 12, {4}))
        .put(12, value_of("v", 1, {2, 3, 4}));
    const pm::model m = pm::model::from_bytes(model_with_shaders(graph).view(), home);
    const std::vector<std::uint32_t> ints{1, 2, 3, 4};
    const any_tensor u = pm::from_bytes(pm::dtype::u32, {4}, std::as_bytes(std::span(ints)), home);
    const auto ready = m.compile();
    CHECK(pm::partition(ready.planned(), pm::labels_of(ready.planned())).pieces.size() == 9);
    for (float first : {1.0f, -2.0f, 0.5f}) {
        const any_tensor x = floats_on(home, {4}, {first, 1, 1, 1});
        const std::vector<float> expected{-first, -8, -27, -64};
        std::vector<float> ramp(24), back(24);
        for (std::size_t i = 0; i < 24; ++i) ramp[i] = back[23 - i] = first + float(i);
        const any_tensor p = floats_on(home, {2, 3, 4}, ramp);
        const auto made = ready.run({x, u, p});
        CHECK(pm::to_vector<float>(made[2]) == back);
        CHECK(pm::to_vector<float>(made[0]) == expected);
        CHECK(pm::to_vector<std::uint32_t>(made[1]) == std::vector<std::uint32_t>{2, 1, 4, 3});
        const auto before = home.stats();
        const std::vector<any_tensor> once = m.run({x, u, p});
        pm::eval(once);
        CHECK(home.stats().dispatches - before.dispatches == 10);
        CHECK(pm::to_vector<float>(once[0]) == expected);
        CHECK(pm::to_vector<float>(once[2]) == back);
    }
    CHECK(pm::to_vector<std::uint32_t>(packed(ready, home)
                                           .run({floats_on(home, {4}, {1, 1, 1, 1}), u,
                                                 floats_on(home, {2, 3, 4},
                                                           std::vector<float>(24))})[1]) ==
          std::vector<std::uint32_t>{2, 1, 4, 3});
    const auto refused = [&](const std::string& attributes, std::int64_t n) {
        message one;
        one.put(1, shader_node("Swap", {"u"}, {"z"}, attributes))
            .put(11, value_of("u", 12, {n}))
            .put(12, value_of("z", 12, {n}));
        return thrown_by([&] {
            const pm::model wrong = pm::model::from_bytes(model_with_shaders(one).view(), home);
            wrong.compile();
        });
    };
    CHECK(contains(refused(swapped("R32G32_UINT"), 3).second, "no texels of 8"));
    const auto shown = refused(attributes_of("Slang", pairs, "run",
                                             resource("input_0", 0, 0, "R32_UINT") +
                                                 resource("output_0", 1, 0, "R32G32_UINT",
                                                          "STORAGE_TEXEL_BUFFER")),
                               4);
    CHECK(shown.first == pm::errc::unsupported);
    CHECK(contains(shown.second, "as a UNIFORM_TEXEL_BUFFER"));
    CHECK(contains(shown.second, "given as a STORAGE_BUFFER"));
}

TEST_CASE(
    "shader operators: what is wrong is named by node and key, a provider may take it first") {
    const pm::context home;
    const auto model = [&](const std::string& attributes, std::string_view domain) {
        message graph;
        graph
            .put(1,
                 node_of("Twice", {"x"}, {"y"},
                         {attribute("implementation_attrs", attributes.c_str())}, "mine", domain))
            .put(11, value_of("x", 1, {5}))
            .put(12, value_of("y", 1, {5}));
        return model_with_shaders(graph)
            .put(8, message{}.text(1, "com.arm.vulkancustomshader").number(2, 1));
    };
    const std::string good =
        attributes_of("GLSL", glsl_twice, "main", resource("input_0", 0) + resource("output_0", 1));
    const auto refused = [&](const std::string& attributes) {
        return thrown_by([&] {
            pm::model::from_bytes(model(attributes, pm::shader_domain).view(), home);
        });
    };
    const auto bad = refused("{\"workgroup_sizes\": [1, 1]}");
    CHECK(bad.first == pm::errc::bad_file);
    CHECK(contains(bad.second, "\"mine\""));
    CHECK(contains(bad.second, "workgroup_sizes"));
    CHECK(contains(bad.second, "\"shader_code\" is missing"));
    CHECK(contains(bad.second, "\"input_0_binding\" is missing"));
    // Another domain, to the letter, is no shader operator.
    CHECK(thrown_by([&] {
              pm::model::from_bytes(model(good, "com.arm.vulkancustomshader").view(), home);
          }).first == pm::errc::unsupported_op);
    const pm::op_provider takes = [](const pm::op_request& r) {
        CHECK(r.domain == pm::shader_domain);
        CHECK(!r.text("implementation_attrs", "").empty());
        return std::vector<any_tensor>{any_tensor(r.inputs[0] * 10.0f)};
    };
    const pm::model mine =
        pm::model::from_bytes(model("{}", pm::shader_domain).view(), home, takes);
    CHECK(pm::to_vector<float>(mine(floats_on(home, {5}, {1, 2, 3, 4, 5})))[4] == 50);
    if (home.device().type == pm::device_type::host) return;
    const auto run = [&](const std::string& attributes) {
        return thrown_by([&] {
            const pm::model m =
                pm::model::from_bytes(model(attributes, pm::shader_domain).view(), home);
            pm::to_vector<float>(m(floats_on(home, {5}, {1, 2, 3, 4, 5})));
        });
    };
    const std::string both = resource("input_0", 0) + resource("output_0", 1);
    CHECK(contains(run(attributes_of("GLSL", "#version 450\nvoid main() { nothing(); }", "main",
                                     both))
                       .second,
                   "nothing"));
    CHECK(run(attributes_of("GLSL", glsl_twice, "other", both)).first == pm::errc::compile_failed);
    for (const char* no_name : {"main(", "\u00e8", "1", "a b", "x.y"})
        CHECK(contains(run(attributes_of("GLSL", glsl_twice, no_name, both)).second, "is no name"));
    const auto place = run(attributes_of("GLSL", glsl_twice, "main",
                                         resource("input_0", 0) + resource("output_0", 2)));
    CHECK(contains(place.second, "in set 0 at binding 1"));
    std::string fragment(spirv_twice);
    const auto wrong = run(attributes_of("SPIR-V", fragment, "none", both));
    CHECK(contains(wrong.second, "no entry point none"));
    CHECK(contains(run(attributes_of("SPIR-V", "AwIjBwAAAgAAAAAAAQAAAAAAAAA=", "main", both))
                       .second,
                   "SPIR-V 2.0"));
    CHECK(run(attributes_of("SPIR-V", spirv_twice.substr(0, 400), "main", both)).first ==
          pm::errc::compile_failed);
}

TEST_CASE("shader operators: within branches and loops, loaded and run by 32 threads at once") {
    const pm::context home;
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "shaders are of a device");
    const std::string twice =
        attributes_of("SPIR-V", spirv_twice, "main",
                      resource("input_0", 0) + resource("output_0", 1), "[5, 1, 1]");
    const auto graph_as = [](std::string_view name, const message& graph) {
        return message{}.text(1, name).put(6, graph).number(20, 5);
    };
    const message then = message{}
                             .put(1, shader_node("Then", {"x"}, {"t"}, twice))
                             .put(12, value_of("t", 1, {5})),
                  otherwise = message{}
                                  .put(1, node_of("Neg", {"x"}, {"n"}))
                                  .put(1, shader_node("Else", {"n"}, {"e"}, twice))
                                  .put(12, value_of("e", 1, {5})),
                  body = message{}
                             .put(1, node_of("Identity", {"goes"}, {"on"}))
                             .put(1, shader_node("Again", {"s"}, {"d"}, twice))
                             .put(1, node_of("Add", {"d", "x"}, {"next"}))
                             .put(11, value_of("i", 7, {}))
                             .put(11, value_of("goes", 9, {}))
                             .put(11, value_of("s", 1, {5}))
                             .put(12, value_of("on", 9, {}))
                             .put(12, value_of("next", 1, {5}));
    const message graph =
        message{}
            .put(1, node_of("If", {"c"}, {"z"},
                            {graph_as("then_branch", then), graph_as("else_branch", otherwise)}))
            .put(1, node_of("Loop", {"three", "", "z"}, {"y"}, {graph_as("body", body)}))
            .put(5, longs("three", {}, {3}))
            .put(11, value_of("x", 1, {5}))
            .put(11, value_of("c", 9, {}))
            .put(12, value_of("y", 1, {5}));
    const message file = model_with_shaders(graph);
    const auto right = [&](const pm::context& on, float start, bool c) {
        const pm::model m = pm::model::from_bytes(file.view(), on);
        const any_tensor y = m.run({floats_on(on, {5}, {start, 1, 2, 3, 4}),
                                    pm::full(pm::dtype::boolean, {}, c, on)})[0];
        const float by = c ? 23 : -9;
        return pm::to_vector<float>(y) ==
               std::vector<float>{by * start, by, 2 * by, 3 * by, 4 * by};
    };
    // Loads leave nothing behind.
    const auto load = [&](int times) {
        bool all = true;
        for (int i = 0; i < times; ++i) all &= right(home, float(i), i % 2 == 0);
        CHECK(all);
        return home.stats();
    };
    const auto before = load(20), after = load(test::samples(300));
    CHECK(after.device_bytes < before.device_bytes + 4096);
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 32; ++t)
            threads.emplace_back([&, t] {
                try {
                    const pm::context own = t % 8 == 0 ? pm::context() : home;
                    for (int i = 0; i < 6; ++i) wrong += !right(own, float(t + i), i % 2 == 0);
                } catch (const pm::error& e) {
                    ++wrong;
                    MESSAGE(e.what());
                }
            });
    }
    CHECK(wrong == 0);
    CHECK(home.stats().pipelines == before.pipelines);
}
