// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a kernel's SPIR-V declares, held against its device before the driver sees it: drivers may
// crash on what they were not promised. No validator: what function bodies compute is not looked
// at.
#pragma once

#include <pumice/base/callback.hpp>
#include <pumice/base/shader_language.hpp>
#include <pumice/vk/detail/spirv_module.hpp>
#include <pumice/vk/detail/tensor_type.hpp>

#include <optional>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

struct pipeline_options {
    int subgroup_size = 0;        // required size; 0: the driver's choice
    bool full_subgroups = false;  // every subgroup of a workgroup is full
    const char* entry = "main";
    span<const constant> constants{};
    /// What each dispatch pushes to set 0, from binding 0 on, and bytes of its push constants.
    /// Where there is none: the address of a parameter block.
    span<const shader_descriptor> descriptors{};
    std::uint32_t pushed = 0;
    /// Of each descriptor that shows a tensor: which.
    span<const tensor_type> tensors{};
    /// Asked of a module that a file brings, and throws where it is not valid; behind check_spirv.
    callback<void(span<const std::uint32_t>)> validate{};
};

namespace detail {

/// What a module declares, against its device.
class spirv_check : spirv_module {
public:
    /// Bytes of push constants that a kernel is given: the address of its parameter block.
    static constexpr std::uint32_t push_bytes = 16;
    /// Bytes of a thread's own variables: as many as CUDA gives a thread.
    static constexpr std::uint32_t most_private = 512 << 10;

    spirv_check(span<const std::uint32_t> words, std::string_view name, const candidate& on,
                const pipeline_options& options)
        : spirv_module(words, name, on, options.constants), wanted_(options.entry),
          given_(options.descriptors), given_tensors_(options.tensors),
          pushes_(given_.empty() ? push_bytes : options.pushed) {}

    void run() {
        walk([this] {
            if (function_ != place::outside) in_function();
            else declaration();
        });
        if (function_ != place::outside) broken({"its last function has no end"});
        if (entry_ == 0) refuse(errc::compile_failed, {"has no entry point ", wanted_}, {});
        workgroup();
        calls();
    }

private:
    struct function {
        std::size_t next, end;  // of the calls
        std::uint64_t weight = 0;
        enum class state : std::uint8_t { fresh, open, done } is = state::fresh;
    };
    enum class place : std::uint8_t { outside, parameters, block, between };

    void declaration() {
        if (op_ == spv::OpFunction) return begin_function();
        if (anywhere(op_)) {
            if (op_ == spv::OpUndef) define(2);
            return;
        }
        const int here = section(op_);
        if (here < section_ || (here == 3 && section_ == 3) || !functions_.empty())
            broken({"the instruction ", static_cast<word>(op_), " at word ", at_,
                    " stands where SPIR-V has none"});
        if (here > 3 && section_ < 3) broken({"it has no memory model"});
        section_ = here;
        if (op_ == spv::OpVariable) return variable();
        if (here == 8) return type_or_value();
        switch (op_) {
            case spv::OpCapability: return capability(operand(1));
            case spv::OpExtension: return extension(text(at_, 1));
            case spv::OpExtInstImport: define(1), text(at_, 2); return;
            case spv::OpMemoryModel:
                if (operand(1) != spv::AddressingModelPhysicalStorageBuffer64 &&
                    operand(1) != spv::AddressingModelLogical)
                    broken({"its addressing model is ", operand(1)});
                if (operand(2) != spv::MemoryModelGLSL450 && operand(2) != spv::MemoryModelVulkan)
                    broken({"its memory model is ", operand(2)});
                return;
            case spv::OpEntryPoint: return entry_point();
            case spv::OpExecutionMode:
            case spv::OpExecutionModeId: return mode();
            case spv::OpName:
                id(1).name = static_cast<word>(at_);
                text(at_, 2);
                return;
            case spv::OpDecorate: return decorate(id(1), operand(2), 3);
            case spv::OpMemberDecorate:
                fact_of(operand(1));
                if (operand(3) == spv::DecorationOffset)
                    id(1).stride = std::max(id(1).stride, std::min(operand(4), huge));
                if (operand(3) == spv::DecorationBuiltIn) id(1).built_in = true;
                return;
            default: return;
        }
    }

    void capability(word what) const {
        // What a shader reaches by descriptors the device bounds.
        if (what == spv::CapabilityPhysicalStorageBufferAddresses && !given_.empty())
            refuse(errc::unsupported, {"reaches memory by addresses"},
                   {"it is given descriptors of its inputs and outputs alone"});
        for (const word each : on_.capabilities)
            if (each == what) return;
        refuse(errc::unsupported, {"needs the SPIR-V capability ", capability_text(what)},
               {on_.info.name, " has it not, or Pumice does not switch it on"});
    }
    void extension(std::string_view which) const {
        const char* const needs = extension_for(which);
        if (needs && (!*needs || on_.extensions.has(needs))) return;
        refuse(errc::unsupported, {"needs the SPIR-V extension ", which},
               {on_.info.name, " has ", needs ? needs : "what it needs",
                " not, or Pumice does not switch it on"});
    }
    void entry_point() {
        const word model = operand(1), of = operand(2);
        fact_of(of);
        const std::string_view called = text(at_, 3);
        if (model != spv::ExecutionModelGLCompute)
            refuse(errc::compile_failed,
                   {"has the entry point ", called, ", which is not for compute (model ", model,
                    ")"},
                   {});
        if (called == wanted_) entry_ = of;
    }
    void mode() {
        if (fact_of(operand(1)).at != 0) broken({"id ", operand(1), " is no entry point"});
        const bool by_id = operand(2) == spv::ExecutionModeLocalSizeId;
        if ((!by_id && operand(2) != spv::ExecutionModeLocalSize) || operand(1) != entry_) return;
        least(6);
        size_at_ = at_;
        size_by_id_ = by_id;
    }
    void decorate(fact& of, word what, word i) {
        switch (what) {
            case spv::DecorationBuiltIn:
                of.built_in = true;
                if (operand(i) == spv::BuiltInWorkgroupSize) size_constant_ = operand(1);
                return;
            case spv::DecorationBlock: of.block = true; return;
            case spv::DecorationBufferBlock: of.buffer_block = true; return;
            case spv::DecorationArrayStride: of.stride = std::min(operand(i), huge); return;
            case spv::DecorationSpecId:
                of.special = true;
                of.value = operand(i);
                return;
            case spv::DecorationBinding:
                of.bound = true;
                of.value = operand(i);
                return;
            default: return;
        }
    }

    void variable() {
        const fact& pointer = type(1);
        const word which = operand(2), storage = operand(3);
        if ((words_[pointer.at] & spv::OpCodeMask) != spv::OpTypePointer ||
            words_[pointer.at + 2] != storage)
            broken({"variable ", which, " is of no pointer's type"});
        const fact of = fact_of(words_[pointer.at + 3]);
        if (of.at == 0) broken({"the type of variable ", which, " is not known"});
        const fact& f = define(2);
        const bool local = storage == spv::StorageClassFunction;
        if (local == (function_ == place::outside))
            broken({"variable ", which, " stands where it cannot"});
        switch (storage) {
            case spv::StorageClassInput:
                if (f.built_in || of.built_in) return;
                refuse(errc::unsupported, {"reads the input ", name_of(which)},
                       {"kernels take Input<T> and scalars, and no inputs of a pipeline"});
            case spv::StorageClassPushConstant:
                if (pushed_)
                    refuse(errc::unsupported, {"declares push constants, ", name_of(which)},
                           {"Pumice gives none but the address of the kernel's parameters; numbers "
                            "go in as `.scalars`"});
                pushed_ = true;
                if (of.size > pushes_)
                    refuse(errc::unsupported,
                           {"declares ", of.size, " bytes of push constants, ", name_of(which)},
                           {given_.empty()
                                ? cat({"Pumice gives ", pushes_, "; numbers go in as `.scalars`"})
                                : cat({"it is given ", pushes_})});
                return;
            case spv::StorageClassStorageBuffer:
            case spv::StorageClassUniform:
            case spv::StorageClassUniformConstant: return resource(f, of, which, storage);
            case spv::StorageClassWorkgroup:
                shared_ = rounded(shared_, of.align) + std::uint64_t{of.size};
                if (of.size >= most_shared_) most_shared_ = of.size, shared_name_ = which;
                return;
            case spv::StorageClassPrivate:
            case spv::StorageClassFunction:
                private_ += of.size;
                if (private_ > most_private)
                    refuse(errc::unsupported,
                           {"wants ", private_,
                            " bytes for each thread's own variables, at last for the one ",
                            name_of(which)},
                           {"at most ", most_private,
                            " are taken; use `groupshared` memory or an Output"});
                return;
            default: no_resource(which, storage);
        }
    }
    /// One of those that dispatches push.
    void resource(const fact& variable, const fact& of, word which, word storage) const {
        if (!variable.bound || variable.value >= given_.size()) no_resource(which, storage);
        if (storage != spv::StorageClassUniformConstant && !of.block && !of.buffer_block)
            refuse(errc::unsupported, {"sees ", name_of(which), " as other than one block"},
                   {"a buffer is a struct with the decoration Block, and no array of them"});
        std::optional<shader_descriptor> is;
        if (storage == spv::StorageClassUniformConstant) is = texels(of);
        else if (storage == spv::StorageClassUniform && !of.buffer_block)
            is = shader_descriptor::uniform_buffer;
        else is = shader_descriptor::storage_buffer;
        const shader_descriptor given = given_[variable.value];
        if (is == given) {
            if (is == shader_descriptor::tensor) tensor(of, which, variable.value);
            return;
        }
        refuse(errc::unsupported,
               {"sees ", name_of(which), " as ",
                is ? cat({"a ", to_string(*is)}) : storage_text(storage)},
               {"it is given as a ", to_string(given)});
    }
    /// A tensor has to have the rank and the elements' size that the shader says.
    void tensor(const fact& of, word which, word binding) const {
        const tensor_type& given = given_tensors_[binding];
        if (words_[of.at] >> spv::WordCountShift != 4)
            refuse(errc::unsupported,
                   {"sees ", name_of(which),
                    " as a tensor without a rank, or "
                    "with a shape"},
                   {"a shader's tensors have a rank, and no shape"});
        const fact &element = facts_[words_[of.at + 2]], &rank = facts_[words_[of.at + 3]];
        const bool truth = (words_[element.at] & spv::OpCodeMask) == spv::OpTypeBool;
        const word bytes = truth ? 1 : element.size;
        if (!rank.known || rank.value != static_cast<word>(given.extent.rank()) ||
            bytes != given.element_bytes)
            refuse(errc::unsupported,
                   {"sees ", name_of(which), " as a tensor of rank ",
                    rank.known ? cat({rank.value}) : std::string("that is not known"), " of ",
                    bytes, " bytes each"},
                   {cat({"it is given as one of rank ", given.extent.rank(), " of ",
                         given.element_bytes, " bytes each"})});
    }
    /// What an image or tensor is.
    std::optional<shader_descriptor> texels(const fact& of) const {
        if ((words_[of.at] & spv::OpCodeMask) == op_type_tensor) return shader_descriptor::tensor;
        constexpr word dim = 3, arrayed = 5, multisampled = 6, sampled = 7;  // of OpTypeImage
        if ((words_[of.at] & spv::OpCodeMask) != spv::OpTypeImage ||
            words_[of.at] >> spv::WordCountShift <= sampled || words_[of.at + arrayed] != 0 ||
            words_[of.at + multisampled] != 0)
            return std::nullopt;
        if (words_[of.at + dim] == spv::Dim2D && words_[of.at + sampled] == 2)
            return shader_descriptor::storage_image;
        if (words_[of.at + dim] != spv::DimBuffer) return std::nullopt;
        return words_[of.at + sampled] == 2 ? shader_descriptor::storage_texel_buffer
                                            : shader_descriptor::uniform_texel_buffer;
    }
    [[noreturn, gnu::cold]] void no_resource(word which, word storage) const {
        refuse(errc::unsupported,
               {"declares a resource of its own, ", name_of(which), " (", storage_text(storage),
                ")"},
               {given_.empty() ? "Pumice binds no buffers, textures or samplers: take an Input or "
                                 "Output of the kernel, or `groupshared` memory"
                               : "it is given its inputs and outputs alone"});
    }

    void begin_function() {
        if (section_ < 8) broken({"a function without types"});
        operand(4);
        type(1);
        define(2).value = static_cast<word>(functions_.size() + 1);
        functions_.push_back({calls_.size(), 0});
        function_ = place::parameters;
    }
    void in_function() {
        ++functions_.back().weight;
        if (anywhere(op_)) return;
        switch (op_) {
            case spv::OpFunctionParameter:
                if (function_ != place::parameters) misplaced();
                return;
            case spv::OpLabel:
                if (function_ == place::block) misplaced();
                function_ = place::block;
                return;
            case spv::OpFunctionEnd:
                if (function_ != place::between) misplaced();
                functions_.back().end = calls_.size();
                function_ = place::outside;
                return;
            default: break;
        }
        if (function_ != place::block || op_ == spv::OpFunction) misplaced();
        switch (op_) {
            case spv::OpBranch:
            case spv::OpBranchConditional:
            case spv::OpSwitch:
            case spv::OpReturn:
            case spv::OpReturnValue:
            case spv::OpUnreachable: function_ = place::between; return;
            case spv::OpFunctionCall: calls_.push_back(operand(3)); return;
            case spv::OpVariable: return variable();
            case spv::OpKill:
            case spv::OpTerminateInvocation:
            case spv::OpDemoteToHelperInvocationEXT:
            case spv::OpIsHelperInvocationEXT:
            case spv::OpEmitVertex:
            case spv::OpEndPrimitive:
            case spv::OpEmitStreamVertex:
            case spv::OpEndStreamPrimitive:
                broken({"the instruction ", static_cast<word>(op_), " at word ", at_,
                        " is not for compute kernels"});
            default:
                if (section(op_) >= 0) misplaced();
        }
    }
    [[noreturn, gnu::cold]] void misplaced() const {
        broken({"the instruction ", static_cast<word>(op_), " at word ", at_,
                " stands where a function has none"});
    }

    word value_of(word which) {
        const fact& f = fact_of(which);
        if (!f.known) broken({"the size of its workgroups is not known"});
        return f.value;
    }
    void workgroup() {
        std::array<word, 3> size{};
        if (size_constant_ != 0) {  // stands above the mode
            at_ = fact_of(size_constant_).at;
            if (at_ == 0 || words_[at_] >> spv::WordCountShift != 6)
                broken({"the size of its workgroups is no triple"});
            for (std::size_t i = 0; i < 3; ++i) size[i] = value_of(words_[at_ + 3 + i]);
        } else {
            if (size_at_ == 0) broken({"it says no size of workgroups"});
            for (std::size_t i = 0; i < 3; ++i) {
                size[i] = words_[size_at_ + 3 + i];
                if (size_by_id_) size[i] = value_of(size[i]);
            }
        }
        const device_info& device = on_.info;
        std::int64_t threads = 1;
        for (std::size_t i = 0; i < 3; ++i) {
            if (size[i] == 0 || size[i] > device.max_workgroup_size[i])
                refuse(errc::unsupported,
                       {"has workgroups of ", size[i], " threads along axis ", i},
                       {device.name, " takes 1 to ", device.max_workgroup_size[i]});
            threads = std::min<std::int64_t>(threads * size[i], INT32_MAX);
        }
        if (threads > device.max_workgroup_invocations)
            refuse(errc::unsupported, {"has workgroups of ", threads, " threads"},
                   {device.name, " takes ", device.max_workgroup_invocations});
        if (shared_ > static_cast<std::uint64_t>(device.shared_memory))
            refuse(errc::unsupported,
                   {"wants ", shared_, " bytes of shared memory, the most of them for ",
                    name_of(shared_name_)},
                   {device.name, " has ", device.shared_memory, " for a workgroup"});
    }

    /// Drivers put functions into their callers: no recursion, and not more than they can bear.
    void calls() {
        constexpr std::size_t deepest = 256;
        constexpr std::uint64_t heaviest = 1 << 22;
        array_list<word> open;
        const auto enter = [&](word which) {
            const word n = fact_of(which).value;
            if (n == 0 || n > functions_.size() || facts_[which].known ||
                (words_[facts_[which].at] & spv::OpCodeMask) != spv::OpFunction)
                broken({"it calls ", which, ", which is no function"});
            function& f = functions_[n - 1];
            if (f.is == function::state::open)
                refuse(errc::unsupported, {"calls the function ", name_of(which), " from itself"},
                       {"kernels cannot recurse"});
            if (f.is == function::state::done) return false;
            f.is = function::state::open;
            open.push_back(which);
            if (open.size() > deepest)
                refuse(errc::unsupported, {"calls functions deeper than ", deepest}, {});
            return true;
        };
        enter(entry_);
        while (!open.empty()) {
            function& f = functions_[facts_[open.back()].value - 1];
            if (f.next == f.end) {
                f.is = function::state::done;
                open.pop_back();
                continue;
            }
            const word callee = calls_[f.next];
            if (enter(callee)) continue;
            ++f.next;
            f.weight += functions_[facts_[callee].value - 1].weight;
            if (f.weight > heaviest)
                refuse(errc::unsupported,
                       {"has more than ", heaviest,
                        " instructions when its calls are put in place"},
                       {"call fewer functions from functions"});
        }
    }

    std::string_view wanted_;  // entry point
    span<const shader_descriptor> given_;
    span<const tensor_type> given_tensors_;
    std::uint32_t pushes_;
    int section_ = 0;
    place function_ = place::outside;

    array_list<function> functions_;
    array_list<word> calls_;  // of each function, one behind the other
    word entry_ = 0;
    std::size_t size_at_ = 0;  // of the mode that says the workgroups' size
    bool size_by_id_ = false, pushed_ = false;
    word size_constant_ = 0;
    std::uint64_t shared_ = 0, private_ = 0;
    word most_shared_ = 0, shared_name_ = 0;
};

}  // namespace detail

/// Throws errc::compile_failed for words that are no module of SPIR-V, and errc::unsupported for a
/// module that declares what Pumice does not give it or the device does not have. Never reads
/// outside `words`. `name` stands in the errors.
inline void check_spirv(span<const std::uint32_t> words, std::string_view name, const candidate& on,
                        const pipeline_options& options = {}) {
    detail::spirv_check(words, name, on, options).run();
}

}}}  // namespace pumice::PUMICE_ABI::vulkan
