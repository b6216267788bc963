// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// SPIR-V put together by hand, for modules that no compiler would write.
#pragma once

#include <pumice/vk/check_spirv.hpp>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace test {

using words = std::vector<std::uint32_t>;

inline words text(std::string_view s) {
    words w(s.size() / 4 + 1);
    std::memcpy(w.data(), s.data(), s.size());
    return w;
}

/// A module by its sections. It is good as it is: a kernel of 64 threads that does nothing. Ids
/// from 10 are free.
struct spirv_text {
    enum id : std::uint32_t { main = 1, nothing, function, label, u32, f32, three, fresh = 10 };

    words capabilities, extensions, model, entry, modes, names, decorations, types, functions;
    std::uint32_t version = 0x10600, bound = 100;

    spirv_text() {
        add(capabilities, spv::OpCapability, {spv::CapabilityShader});
        add(model, spv::OpMemoryModel, {spv::AddressingModelLogical, spv::MemoryModelGLSL450});
        enter();
        add(modes, spv::OpExecutionMode, {main, spv::ExecutionModeLocalSize, 64, 1, 1});
        add(types, spv::OpTypeVoid, {nothing});
        add(types, spv::OpTypeFunction, {function, nothing});
        add(types, spv::OpTypeInt, {u32, 32, 0});
        add(types, spv::OpTypeFloat, {f32, 32});
        add(types, spv::OpConstant, {u32, three, 3});
        body(main, [](spirv_text&) {});
    }
    static void add(words& to, spv::Op op, std::initializer_list<std::uint32_t> operands,
                    const words& more = {}) {
        to.push_back(static_cast<std::uint32_t>(operands.size() + more.size() + 1) << 16 |
                     static_cast<std::uint32_t>(op));
        to.insert(to.end(), operands);
        to.insert(to.end(), more.begin(), more.end());
    }
    void enter(std::string_view name = "main",
               std::uint32_t model_of = spv::ExecutionModelGLCompute) {
        entry.clear();
        add(entry, spv::OpEntryPoint, {model_of, main}, text(name));
    }
    void name(std::uint32_t of, std::string_view is) { add(names, spv::OpName, {of}, text(is)); }
    /// A variable of a type that is declared, with its pointer's type in the id before.
    void variable(std::uint32_t which, std::uint32_t type, spv::StorageClass storage) {
        add(types, spv::OpTypePointer, {which - 1, static_cast<std::uint32_t>(storage), type});
        add(types, spv::OpVariable, {which - 1, which, static_cast<std::uint32_t>(storage)});
    }
    void constant(std::uint32_t which, std::uint32_t value) {
        add(types, spv::OpConstant, {u32, which, value});
    }
    /// A function whose one block `inside` fills.
    template <class Inside>
    void body(std::uint32_t which, Inside inside) {
        add(functions, spv::OpFunction, {nothing, which, 0, function});
        add(functions, spv::OpLabel, {label});
        inside(*this);
        add(functions, spv::OpReturn, {});
        add(functions, spv::OpFunctionEnd, {});
    }

    words all() const {
        words w{spv::MagicNumber, version, 0, bound, 0};
        for (const words* part : {&capabilities, &extensions, &model, &entry, &modes, &names,
                                  &decorations, &types, &functions})
            w.insert(w.end(), part->begin(), part->end());
        return w;
    }
};

/// A device that there might be.
inline pumice::vulkan::candidate some_device() {
    pumice::vulkan::candidate c;
    c.info.name = "some device";
    c.info.max_workgroup_size = {1024, 512, 64};
    c.info.max_workgroup_invocations = 1024;
    c.info.shared_memory = 32768;
    c.capabilities = {spv::CapabilityMatrix, spv::CapabilityShader,
                      spv::CapabilityPhysicalStorageBufferAddresses};
    return c;
}

}  // namespace test
