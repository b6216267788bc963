// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What kernels may declare: modules written by hand, cut, and with bits turned over.
#include "spirv_text.hpp"
#include "support.hpp"

#include <pumice/vk/pipeline.hpp>

#include <random>

using namespace pumice;
using test::spirv_text;
using test::words;

namespace {

/// What the check says; empty where it lets the module pass.
std::string said(const words& module, errc code, const vulkan::pipeline_options& options = {},
                 const vulkan::candidate& on = test::some_device()) {
    // Of just that size, so that a sanitizer sees a word read behind it.
    const words exact(module);
    try {
        vulkan::check_spirv(exact, "k", on, options);
    } catch (const error& e) {
        CHECK_MESSAGE(e.code() == code, e.what());
        return e.what();
    }
    return {};
}
std::string unsupported(const spirv_text& t, const vulkan::pipeline_options& options = {}) {
    return said(t.all(), errc::unsupported, options);
}
std::string broken(const spirv_text& t) { return said(t.all(), errc::compile_failed); }
bool passes(const spirv_text& t, const vulkan::pipeline_options& options = {}) {
    const std::string what = said(t.all(), errc::unsupported, options);
    CHECK_MESSAGE(what.empty(), what);
    return what.empty();
}
void has(const std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
        CHECK_MESSAGE(text.find(part) != text.npos, "no \"" << part << "\" in " << text);
}

/// Tests of some edit of a good module.
template <class Edit>
spirv_text with(Edit edit) {
    spirv_text t;
    edit(t);
    return t;
}

constexpr std::uint32_t a = spirv_text::fresh, b = a + 2, c = a + 4, d = a + 6;

}  // namespace

static_assert(vulkan::detail::capability_cooperative_matrix ==
                  spv::CapabilityCooperativeMatrixKHR &&
              vulkan::detail::capability_bfloat16 == spv::CapabilityBFloat16TypeKHR &&
              vulkan::detail::capability_bfloat16_dot == spv::CapabilityBFloat16DotProductKHR &&
              vulkan::detail::capability_bfloat16_matrix ==
                  spv::CapabilityBFloat16CooperativeMatrixKHR &&
              vulkan::detail::op_type_cooperative_matrix == spv::OpTypeCooperativeMatrixKHR &&
              vulkan::detail::op_ext_inst_forward == spv::OpExtInstWithForwardRefsKHR);

TEST_CASE("check spirv: good modules pass") {
    CHECK(passes({}));
    vulkan::candidate on = test::some_device();
    CHECK(said(words(std::begin(test::scale_kernel), std::end(test::scale_kernel)),
               errc::unsupported, {}, on) == "");
}

TEST_CASE("check spirv: a header that is none") {
    const words good = spirv_text().all();
    const auto changed = [&](std::size_t i, std::uint32_t value) {
        words w = good;
        w[i] = value;
        return w;
    };
    has(said({}, errc::compile_failed), {"kernel k is not SPIR-V", "0 words"});
    has(said(changed(0, 0x03022307), errc::compile_failed), {"not SPIR-V"});
    has(said(changed(1, 0x10700), errc::unsupported), {"is SPIR-V 1.7", "some device takes"});
    has(said(changed(1, 0x20000), errc::unsupported), {"is SPIR-V 2.0"});
    has(said(changed(1, 0), errc::unsupported), {"is SPIR-V 0.0"});
    has(said(changed(3, 0), errc::compile_failed), {"says 0 ids"});
    has(said(changed(3, ~0u), errc::compile_failed), {"4294967295 ids"});
    has(said(changed(3, 4), errc::compile_failed), {"outside the 4"});
    has(said(changed(4, 1), errc::compile_failed), {"schema of 1"});
}

TEST_CASE("check spirv: a module that ends anywhere") {
    for (const words& good :
         {spirv_text().all(), words(std::begin(test::scale_kernel), std::end(test::scale_kernel))})
        for (std::size_t n = 0; n < good.size(); ++n) {
            CAPTURE(n);
            CHECK(said(words(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)),
                       errc::compile_failed) != "");
        }
}

TEST_CASE("check spirv: entry points") {
    has(broken(with([](spirv_text& t) { t.enter("other"); })), {"has no entry point main"});
    has(broken(with([](spirv_text& t) { t.entry.clear(); })), {"has no entry point main"});
    has(broken(with([](spirv_text& t) { t.enter("main", spv::ExecutionModelKernel); })),
        {"the entry point main, which is not for compute"});
    has(broken(with([](spirv_text& t) { t.enter("main", spv::ExecutionModelFragment); })),
        {"not for compute"});
    vulkan::pipeline_options other;
    other.entry = "other";
    CHECK(passes(with([](spirv_text& t) { t.enter("other"); }), other));
    has(broken(with([](spirv_text& t) { t.functions.clear(); })),
        {"calls 1, which is no function"});
    has(broken(with([](spirv_text& t) { t.model.clear(); })), {"no memory model"});
    has(broken(with([](spirv_text& t) {
            t.model.clear();
            spirv_text::add(t.model, spv::OpMemoryModel, {2, 2});
        })),
        {"addressing model is 2"});
}

TEST_CASE("check spirv: resources of a kernel's own") {
    const auto declares = [](spv::StorageClass storage, bool named = true) {
        return with([&](spirv_text& t) {
            if (named) t.name(b, "mine");
            spirv_text::add(t.decorations, spv::OpDecorate, {b, spv::DecorationDescriptorSet, 0});
            spirv_text::add(t.decorations, spv::OpDecorate, {b, spv::DecorationBinding, 7});
            spirv_text::add(t.types, spv::OpTypeStruct, {a - 1, spirv_text::f32});
            t.variable(b, a - 1, storage);
        });
    };
    for (const auto storage :
         {spv::StorageClassUniformConstant, spv::StorageClassUniform,
          spv::StorageClassStorageBuffer, spv::StorageClassOutput, spv::StorageClassImage,
          spv::StorageClassAtomicCounter, spv::StorageClassCrossWorkgroup, spv::StorageClassGeneric,
          spv::StorageClassPhysicalStorageBuffer, spv::StorageClassTaskPayloadWorkgroupEXT}) {
        CAPTURE(storage);
        has(unsupported(declares(storage)), {"kernel k declares a resource of its own, `mine`",
                                             "take an Input or Output of the kernel"});
        has(unsupported(declares(storage, false)), {"a resource of its own, at binding 7"});
    }
    has(unsupported(declares(spv::StorageClassStorageBuffer)), {"a buffer"});
    has(unsupported(declares(spv::StorageClassInput)), {"reads the input `mine`"});
    CHECK(passes(with([](spirv_text& t) {
        spirv_text::add(t.decorations, spv::OpDecorate,
                        {d, spv::DecorationBuiltIn, spv::BuiltInGlobalInvocationId});
        spirv_text::add(t.types, spv::OpTypeVector, {a, spirv_text::u32, 3});
        t.variable(d, a, spv::StorageClassInput);
    })));
}

TEST_CASE("check spirv: what a shader is given by descriptors, and no addresses") {
    constexpr shader_descriptor given[] = {shader_descriptor::storage_buffer};
    vulkan::pipeline_options shader;
    shader.descriptors = given;
    const auto sees = [](bool block, std::uint32_t length = 0) {
        return with([&](spirv_text& t) {
            t.name(b, "mine");
            if (block)
                spirv_text::add(t.decorations, spv::OpDecorate, {a - 1, spv::DecorationBlock});
            spirv_text::add(t.decorations, spv::OpDecorate, {b, spv::DecorationDescriptorSet, 0});
            spirv_text::add(t.decorations, spv::OpDecorate, {b, spv::DecorationBinding, 0});
            spirv_text::add(t.types, spv::OpTypeStruct, {a - 1, spirv_text::f32});
            if (length > 0) spirv_text::add(t.types, spv::OpTypeArray, {a, a - 1, length});
            t.variable(b, length > 0 ? a : a - 1, spv::StorageClassStorageBuffer);
        });
    };
    CHECK(passes(sees(true), shader));
    for (const spirv_text& t : {sees(false), sees(true, spirv_text::three)})
        has(unsupported(t, shader), {"kernel k sees `mine` as other than one block"});
    spirv_text addressed = sees(true);
    spirv_text::add(addressed.capabilities, spv::OpCapability,
                    {spv::CapabilityPhysicalStorageBufferAddresses});
    has(unsupported(addressed, shader), {"kernel k reaches memory by addresses"});
}

TEST_CASE("check spirv: push constants beyond the parameters' address") {
    const auto block = [](std::uint32_t members) {
        return with([&](spirv_text& t) {
            words list(members, spirv_text::u32);
            t.name(c, "pushed");
            spirv_text::add(t.types, spv::OpTypeStruct, {a}, list);
            t.variable(c, a, spv::StorageClassPushConstant);
        });
    };
    CHECK(passes(block(1)));
    CHECK(passes(block(4)));
    has(unsupported(block(5)), {"declares 20 bytes of push constants, `pushed`", "`.scalars`"});
    spirv_text two = block(2);
    two.name(d, "second");
    two.variable(d, a, spv::StorageClassPushConstant);
    has(unsupported(two), {"declares push constants, `second`", "the address of the kernel's"});
    // Where members lie counts, not only what they hold.
    spirv_text far = block(1);
    spirv_text::add(far.decorations, spv::OpMemberDecorate, {a, 0, spv::DecorationOffset, 16});
    has(unsupported(far), {"declares 20 bytes"});
    spirv_text strides = with([](spirv_text& t) {
        spirv_text::add(t.decorations, spv::OpDecorate, {a, spv::DecorationArrayStride, 16});
        spirv_text::add(t.types, spv::OpTypeArray, {a, spirv_text::u32, spirv_text::three});
        t.variable(c, a, spv::StorageClassPushConstant);
    });
    has(unsupported(strides), {"declares 48 bytes"});
}

TEST_CASE("check spirv: shared memory") {
    const auto floats = [](std::uint32_t n) {
        return with([&](spirv_text& t) {
            t.constant(a, n);
            t.name(d, "tile");
            spirv_text::add(t.types, spv::OpTypeArray, {b, spirv_text::f32, a});
            t.variable(d, b, spv::StorageClassWorkgroup);
        });
    };
    CHECK(passes(floats(8192)));
    has(unsupported(floats(8193)),
        {"wants 32772 bytes of shared memory", "`tile`", "some device has 32768"});
    for (const std::uint32_t n : {10240u, 1u << 20, 1u << 30, 1u << 31, ~0u})
        has(unsupported(floats(n)), {"`tile`"});
    spirv_text two = floats(8000);
    two.variable(d + 2, b, spv::StorageClassWorkgroup);
    has(unsupported(two), {"wants 64000 bytes"});

    // Structures, matrices, arrays of arrays; 8-byte members ask for room before them.
    spirv_text nested = floats(1);
    enum : std::uint32_t { f64 = 40, vec = 41, mat = 42, pair = 43, many = 44, deep = 46 };
    spirv_text::add(nested.types, spv::OpTypeFloat, {f64, 64});
    spirv_text::add(nested.types, spv::OpTypeVector, {vec, spirv_text::f32, 3});
    spirv_text::add(nested.types, spv::OpTypeMatrix, {mat, vec, 3});
    spirv_text::add(nested.types, spv::OpTypeStruct, {pair, spirv_text::f32, f64, mat});
    // 4 rounded to 8 before; then 8 + 8 + 36 rounded to 56, so many times.
    const auto all_of = [&](std::uint32_t n) {
        spirv_text t = nested;
        t.constant(many, n);
        spirv_text::add(t.types, spv::OpTypeArray, {deep, pair, many});
        t.variable(50, deep, spv::StorageClassWorkgroup);
        return t;
    };
    CHECK(passes(all_of(585)));
    has(unsupported(all_of(586)), {"wants 32824 bytes"});

    // A length that is a specialization constant, and one that is computed from it.
    const auto special = [](bool computed) {
        return with([&](spirv_text& t) {
            spirv_text::add(t.decorations, spv::OpDecorate, {a, spv::DecorationSpecId, 4});
            spirv_text::add(t.types, spv::OpSpecConstant, {spirv_text::u32, a, 100});
            spirv_text::add(t.types, spv::OpSpecConstantOp,
                            {spirv_text::u32, a + 1, spv::OpIMul, a, spirv_text::three});
            spirv_text::add(t.types, spv::OpTypeArray, {b, spirv_text::f32, computed ? a + 1 : a});
            t.variable(d, b, spv::StorageClassWorkgroup);
        });
    };
    const vulkan::constant more[] = {{9, 1}, {4, 8193}};
    vulkan::pipeline_options options;
    options.constants = more;
    CHECK(passes(special(false)));
    CHECK(passes(special(true)));
    has(unsupported(special(false), options), {"wants 32772 bytes"});
    has(unsupported(special(true), options), {"wants 98316 bytes"});
    has(broken(with([](spirv_text& t) {
            spirv_text::add(t.types, spv::OpSpecConstantOp,
                            {spirv_text::u32, a, spv::OpBitwiseXor, spirv_text::three,
                             spirv_text::three});
            spirv_text::add(t.types, spv::OpTypeArray, {b, spirv_text::f32, a});
        })),
        {"the length of array 12 is not known"});
    has(unsupported(with([](spirv_text& t) {
            spirv_text::add(t.types, spv::OpTypeRuntimeArray, {a, spirv_text::f32});
            t.variable(c, a, spv::StorageClassWorkgroup);
        })),
        {"of shared memory"});
}

TEST_CASE("check spirv: a thread's own arrays") {
    const auto own = [](std::uint32_t n, bool in_function) {
        return with([&](spirv_text& t) {
            t.constant(a, n);
            t.name(d, "mine");
            spirv_text::add(t.types, spv::OpTypeArray, {b, spirv_text::f32, a});
            if (!in_function) return t.variable(d, b, spv::StorageClassPrivate);
            spirv_text::add(t.types, spv::OpTypePointer, {c, spv::StorageClassFunction, b});
            t.functions.clear();
            t.body(spirv_text::main, [](spirv_text& u) {
                spirv_text::add(u.functions, spv::OpVariable, {c, d, spv::StorageClassFunction});
            });
        });
    };
    for (const bool in_function : {false, true}) {
        CHECK(passes(own(1000, in_function)));
        has(unsupported(own(1 << 20, in_function)), {"bytes for each thread's own", "`mine`"});
    }
}

TEST_CASE("check spirv: the size of workgroups") {
    const auto sized = [](std::uint32_t x, std::uint32_t y, std::uint32_t z, int how) {
        return with([&](spirv_text& t) {
            t.modes.clear();
            if (how == 0)
                spirv_text::add(t.modes, spv::OpExecutionMode,
                                {spirv_text::main, spv::ExecutionModeLocalSize, x, y, z});
            else if (how == 1)
                spirv_text::add(t.modes, spv::OpExecutionModeId,
                                {spirv_text::main, spv::ExecutionModeLocalSizeId, a, a + 1, a + 2});
            else  // a constant stands above the mode
                spirv_text::add(t.modes, spv::OpExecutionMode,
                                {spirv_text::main, spv::ExecutionModeLocalSize, 1, 1, 1});
            t.constant(a, x);
            t.constant(a + 1, y);
            t.constant(a + 2, z);
            if (how != 2) return;
            spirv_text::add(t.decorations, spv::OpDecorate,
                            {a + 4, spv::DecorationBuiltIn, spv::BuiltInWorkgroupSize});
            spirv_text::add(t.types, spv::OpTypeVector, {a + 3, spirv_text::u32, 3});
            spirv_text::add(t.types, spv::OpConstantComposite, {a + 3, a + 4, a, a + 1, a + 2});
        });
    };
    for (const int how : {0, 1, 2}) {
        CAPTURE(how);
        CHECK(passes(sized(1024, 1, 1, how)));
        CHECK(passes(sized(4, 4, 64, how)));
        has(unsupported(sized(0, 1, 1, how)),
            {"workgroups of 0 threads along axis 0", "1 to 1024"});
        has(unsupported(sized(1, 1, 0, how)), {"axis 2"});
        has(unsupported(sized(1025, 1, 1, how)), {"1025 threads along axis 0"});
        has(unsupported(sized(1, 513, 1, how)), {"513 threads along axis 1", "1 to 512"});
        has(unsupported(sized(1, 1, 65, how)), {"axis 2", "1 to 64"});
        has(unsupported(sized(1024, 2, 1, how)), {"workgroups of 2048 threads", "takes 1024"});
        has(unsupported(sized(~0u, ~0u, ~0u, how)), {"axis 0"});
    }
    has(broken(with([](spirv_text& t) { t.modes.clear(); })), {"says no size of workgroups"});
    has(broken(with([](spirv_text& t) {
            t.modes.clear();
            spirv_text::add(t.modes, spv::OpExecutionModeId,
                            {spirv_text::main, spv::ExecutionModeLocalSizeId, 80, 80, 80});
        })),
        {"the size of its workgroups is not known"});
}

TEST_CASE("check spirv: capabilities and extensions that the device has not switched on") {
    const auto needs = [](std::uint32_t what) {
        return with([&](spirv_text& t) {
            spirv_text::add(t.capabilities, spv::OpCapability, {what});
        });
    };
    has(unsupported(needs(spv::CapabilityFloat64)),
        {"needs the SPIR-V capability Float64, which needs shaderFloat64",
         "some device has it not"});
    has(unsupported(needs(spv::CapabilityInt64Atomics)), {"shaderBufferInt64Atomics"});
    has(unsupported(needs(spv::CapabilityGeometry)), {"capability Geometry"});
    has(unsupported(needs(spv::CapabilityKernel)), {"capability Kernel"});
    has(unsupported(needs(54321)), {"capability number 54321"});
    vulkan::candidate on = test::some_device();
    on.capabilities.push_back(spv::CapabilityFloat64);
    CHECK(said(needs(spv::CapabilityFloat64).all(), errc::unsupported, {}, on) == "");

    const auto extended = [](std::string_view name) {
        return with([&](spirv_text& t) {
            spirv_text::add(t.extensions, spv::OpExtension, {}, test::text(name));
        });
    };
    CHECK(passes(extended("SPV_KHR_vulkan_memory_model")));
    has(unsupported(extended("SPV_KHR_cooperative_matrix")),
        {"extension SPV_KHR_cooperative_matrix", "VK_KHR_cooperative_matrix not"});
    has(unsupported(extended("SPV_KHR_ray_query")), {"extension SPV_KHR_ray_query"});
    on.extensions.names.push_back("VK_KHR_cooperative_matrix");
    CHECK(said(extended("SPV_KHR_cooperative_matrix").all(), errc::unsupported, {}, on) == "");
    has(broken(with([](spirv_text& t) {
            spirv_text::add(t.extensions, spv::OpExtension, {0x41414141});
        })),
        {"has no end"});
}

TEST_CASE("check spirv: instructions where none may stand") {
    const auto inside = [](auto fill) {
        return with([&](spirv_text& t) {
            t.functions.clear();
            t.body(spirv_text::main, fill);
        });
    };
    // What a kernel's text may put in by hand: a block that goes on behind its end.
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpUnreachable, {}); })),
        {"no SPIR-V that a driver could take", "stands where a function has none"});
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpReturn, {}); })),
        {"stands where"});
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpLabel, {50}); })),
        {"stands where"});
    has(broken(inside([](spirv_text& t) {
            spirv_text::add(t.functions, spv::OpCapability, {spv::CapabilityKernel});
        })),
        {"stands where"});
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpTypeVoid, {50}); })),
        {"stands where"});
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpKill, {}); })),
        {"is not for compute kernels"});
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpEmitVertex, {}); })),
        {"is not for compute kernels"});
    has(broken(inside([](spirv_text& t) {
            spirv_text::add(t.functions, spv::OpFunction,
                            {spirv_text::nothing, 50, 0, spirv_text::function});
        })),
        {"stands where"});
    has(broken(inside([](spirv_text& t) { spirv_text::add(t.functions, spv::OpFunctionEnd, {}); })),
        {"stands where"});
    has(broken(with([](spirv_text& t) {
            spirv_text::add(t.types, spv::OpName, {1}, test::text("late"));
        })),
        {"stands where SPIR-V has none"});
    has(broken(with([](spirv_text& t) { spirv_text::add(t.functions, spv::OpTypeVoid, {50}); })),
        {"stands where SPIR-V has none"});
    has(broken(with([](spirv_text& t) { t.types.push_back(spv::OpTypeVoid); })), {"has 0 words"});
    has(broken(with([](spirv_text& t) { spirv_text::add(t.types, spv::OpTypeVoid, {2}); })),
        {"id 2 is defined twice"});
    has(broken(with([](spirv_text& t) { spirv_text::add(t.types, spv::OpTypeInt, {50}); })),
        {"is too short"});
    has(broken(with([](spirv_text& t) { spirv_text::add(t.types, spv::OpTypeInt, {50, 12, 0}); })),
        {"a number of 12 bits"});
}

TEST_CASE("check spirv: functions that call each other without end") {
    const auto chain = [](std::uint32_t n, std::uint32_t times, bool closed) {
        return with([&](spirv_text& t) {
            t.bound = n + 100;
            t.name(50 + n - 1, "last");
            t.functions.clear();
            const auto calls = [&](std::uint32_t from, std::uint32_t to) {
                t.body(from, [&](spirv_text& u) {
                    for (std::uint32_t k = 0; k < times && to != 0; ++k)
                        spirv_text::add(u.functions, spv::OpFunctionCall,
                                        {spirv_text::nothing, 49, to});
                });
            };
            calls(spirv_text::main, 50);
            for (std::uint32_t i = 0; i < n; ++i)
                calls(50 + i, i + 1 < n ? 51 + i : closed ? 50 : 0);
        });
    };
    CHECK(passes(chain(1, 1, false)));
    CHECK(passes(chain(200, 1, false)));
    CHECK(passes(chain(10, 2, false)));
    has(unsupported(chain(1, 1, true)), {"calls the function `last` from itself", "recurse"});
    has(unsupported(chain(7, 2, true)), {"from itself"});
    has(unsupported(chain(30, 2, false)), {"instructions when its calls are put in place"});
    has(unsupported(chain(60000, 1, false)), {"calls functions deeper than 256"});
    has(broken(with([](spirv_text& t) {
            t.functions.clear();
            t.body(spirv_text::main, [](spirv_text& u) {
                spirv_text::add(u.functions, spv::OpFunctionCall,
                                {spirv_text::nothing, 49, spirv_text::three});
            });
        })),
        {"calls 7, which is no function"});
}

TEST_CASE("check spirv: types that nest without end, and ids in plenty") {
    const auto nested = [](std::uint32_t n) {
        return with([&](spirv_text& t) {
            t.bound = n + 100;
            for (std::uint32_t i = 0; i < n; ++i)
                spirv_text::add(t.types, spv::OpTypeStruct,
                                {50 + i, i == 0 ? spirv_text::u32 : 49 + i});
        });
    };
    CHECK(passes(nested(255)));
    has(broken(nested(256)), {"nest deeper"});
    has(broken(nested(100000)), {"nest deeper"});
    CHECK(passes(with([](spirv_text& t) { t.bound = 0x3fffff; })));
}

TEST_CASE("check spirv: words turned over give a typed error or a module that passes") {
    std::mt19937 random(13);
    const words kernel(std::begin(test::scale_kernel), std::end(test::scale_kernel));
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        words w = kernel;
        for (std::uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
            std::uint32_t& at = w[random() % w.size()];
            if (random() % 3 == 0) at = static_cast<std::uint32_t>(random());
            else at ^= 1u << random() % 32;
        }
        if (random() % 8 == 0) w.resize(random() % w.size());
        try {
            vulkan::check_spirv(w, "k", test::some_device());
        } catch (const error& e) {
            ++refused;
            if (e.code() != errc::compile_failed && e.code() != errc::unsupported)
                FAIL_CHECK(e.what());
        }
    }
    CHECK(refused > 5000);
}

TEST_CASE("check spirv: what it refuses does not reach the driver") {
    static int modules = 0;
    static PFN_vkCreateShaderModule real = nullptr;
    vulkan::device_options options;
    options.edit_dispatcher = [](vulkan::dispatcher& table) {
        modules = 0;
        real = table.vkCreateShaderModule;
        table.vkCreateShaderModule = [](VkDevice on, const VkShaderModuleCreateInfo* info,
                                        const VkAllocationCallbacks* how, VkShaderModule* out) {
            ++modules;
            return real(on, info, how, out);
        };
    };
    auto gpu = test::open(options);
    if (!gpu) PUMICE_SKIP("vulkan-device", gpu.why);
    vulkan::pipeline_factory factory(gpu.device);
    factory.create(spirv_text().all(), "good");
    CHECK(modules == 1);
    const auto refused = [&](const words& w) {
        const auto code = test::code_of([&] { factory.create(w, "bad"); });
        CHECK((code == errc::compile_failed || code == errc::unsupported));
    };
    const words good = spirv_text().all();
    for (std::size_t n = 0; n < good.size(); ++n)
        refused(words(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)));
    refused(with([](spirv_text& t) {
                spirv_text::add(t.types, spv::OpTypeStruct, {a, spirv_text::f32});
                t.variable(c, a, spv::StorageClassStorageBuffer);
            }).all());
    refused(with([](spirv_text& t) {
                spirv_text::add(t.capabilities, spv::OpCapability, {spv::CapabilityGeometry});
            }).all());
    for (const std::uint32_t threads :
         {0u, static_cast<std::uint32_t>(gpu.device->info().max_workgroup_size[0] + 1)})
        refused(with([&](spirv_text& t) {
                    t.modes.clear();
                    spirv_text::add(t.modes, spv::OpExecutionMode,
                                    {spirv_text::main, spv::ExecutionModeLocalSize, threads, 1, 1});
                }).all());
    refused(with([&](spirv_text& t) {
                t.constant(a, static_cast<std::uint32_t>(gpu.device->info().shared_memory));
                spirv_text::add(t.types, spv::OpTypeArray, {b, spirv_text::f32, a});
                t.variable(d, b, spv::StorageClassWorkgroup);
            }).all());
    CHECK(modules == 1);
    CHECK(gpu.device->stats().pipelines == 1);
    CHECK(gpu.instance->validation_errors() == 0);
}
