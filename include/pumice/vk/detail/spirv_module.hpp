// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The words of a SPIR-V module read one instruction after the other, and what its declarations say
// of ids: names, types with their sizes, constants. For vk/check_spirv.hpp.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/vk/describe.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// A 32-bit specialization constant.
struct constant {
    std::uint32_t id = 0, value = 0;
};

namespace detail {

// Newer than the SPIRV-Headers of stable distributions.
inline constexpr auto op_type_tensor = static_cast<spv::Op>(4163),
                      op_type_cooperative_matrix = static_cast<spv::Op>(4456),
                      op_ext_inst_forward = static_cast<spv::Op>(4433);

class spirv_module {
protected:
    using word = std::uint32_t;

    /// What is known of an id, by its kind.
    struct fact {
        word name = 0;    // where its name stands
        word at = 0;      // where it is defined
        word size = 0;    // of a type: bytes, at most `huge`
        word align = 1;   // of a type
        word value = 0;   // a constant's, a function's number from 1, a variable's binding
        word stride = 0;  // of a type: of an array's elements; where a struct's last member begins
        std::uint16_t depth = 0;  // of a type: how deep types nest
        bool known = false, built_in = false, special = false, bound = false, forward = false;
        bool block = false;         // of a type: of a buffer
        bool buffer_block = false;  // the same of storage buffers, as SPIR-V 1.0 has them
    };
    static constexpr word huge = 0x7fffffff;

    spirv_module(span<const word> words, std::string_view name, const candidate& on,
                 span<const constant> constants)
        : words_(words), name_(name), on_(on), constants_(constants) {}

    /// Calls `each` at every instruction.
    template <class Each>
    void walk(Each each) {
        header();
        for (at_ = 5; at_ < words_.size(); at_ += length_) {
            op_ = static_cast<spv::Op>(words_[at_] & spv::OpCodeMask);
            length_ = words_[at_] >> spv::WordCountShift;
            if (length_ == 0 || length_ > words_.size() - at_)
                broken({"the instruction at word ", at_, " has ", length_, " words, and ",
                        words_.size() - at_, " are left"});
            each();
        }
    }

    [[noreturn, gnu::cold]] void refuse(errc code, std::initializer_list<piece> what,
                                        std::initializer_list<piece> reason) const {
        std::vector<std::string> reasons;
        if (reason.size() > 0) reasons.push_back(cat(reason));
        throw error(code, "vulkan", cat({"kernel ", name_, " ", cat(what)}), std::move(reasons));
    }
    [[noreturn, gnu::cold]] void broken(std::initializer_list<piece> why) const {
        throw error(errc::compile_failed, "vulkan",
                    cat({"kernel ", name_, " is no SPIR-V that a driver could take"}),
                    {cat(why), "if it comes from a pack or a cache, record or delete that"});
    }

    void header() {
        if (words_.size() < 5 || words_[0] != spv::MagicNumber)
            refuse(errc::compile_failed, {"is not SPIR-V"}, {words_.size(), " words"});
        // Vulkan 1.3 and 1.4 take versions up to 1.6.
        if (words_[1] < 0x10000 || words_[1] > 0x10600 || (words_[1] & 0xff) != 0)
            refuse(errc::unsupported, {"is SPIR-V ", words_[1] >> 16, ".", words_[1] >> 8 & 255u},
                   {on_.info.name, " takes 1.0 to 1.6"});
        constexpr word most_ids = 0x3fffff;  // what every driver has to take
        if (words_[3] == 0 || words_[3] > most_ids || words_[4] != 0)
            broken({"its header says ", words_[3], " ids and a schema of ", words_[4]});
        facts_.resize(words_[3]);
    }

    void least(word n) const {
        if (length_ < n) broken({"the instruction at word ", at_, " is too short"});
    }
    /// An operand: word i of the instruction.
    word operand(word i) const {
        least(i + 1);
        return words_[at_ + i];
    }
    fact& id(word i) { return fact_of(operand(i)); }
    fact& fact_of(word which) {
        if (which == 0 || which >= facts_.size())
            broken({"id ", which, " at word ", at_, " is outside the ", facts_.size(),
                    " that its header says"});
        return facts_[which];
    }
    fact& define(word i) {
        fact& f = id(i);
        if (f.at != 0) broken({"id ", operand(i), " is defined twice"});
        f.at = static_cast<word>(at_);
        return f;
    }
    /// The text that begins at word `from`, of the instruction at word `at`.
    std::string_view text(std::size_t at, std::size_t from) const {
        const std::size_t end = at + (words_[at] >> spv::WordCountShift);
        const char* const first = reinterpret_cast<const char*>(words_.data() + at + from);
        const std::size_t room = at + from < end ? (end - at - from) * 4 : 0;
        std::size_t size = 0;
        while (size < room && first[size] != 0) ++size;
        if (size == room) broken({"the text at word ", at, " has no end"});
        return {first, size};
    }
    std::string name_of(word which) const {
        const fact& f = facts_[which];
        if (f.name != 0)
            if (const std::string_view given = text(f.name, 2); !given.empty())
                return cat({"`", given, "`"});
        return f.bound ? cat({"at binding ", f.value}) : cat({"with the id ", which});
    }

    static std::string storage_text(word storage) {
        switch (storage) {
            case spv::StorageClassUniformConstant: return "a texture or sampler";
            case spv::StorageClassUniform: return "a constant buffer";
            case spv::StorageClassStorageBuffer: return "a buffer";
            case spv::StorageClassOutput: return "a pipeline's output";
            default: return cat({"storage class ", storage});
        }
    }

    /// Where SPIR-V wants an instruction that is no part of a function; -1: nowhere.
    static int section(spv::Op op) noexcept {
        switch (op) {
            case spv::OpCapability: return 0;
            case spv::OpExtension: return 1;
            case spv::OpExtInstImport: return 2;
            case spv::OpMemoryModel: return 3;
            case spv::OpEntryPoint: return 4;
            case spv::OpExecutionMode:
            case spv::OpExecutionModeId: return 5;
            case spv::OpString:
            case spv::OpSource:
            case spv::OpSourceExtension:
            case spv::OpSourceContinued:
            case spv::OpName:
            case spv::OpMemberName:
            case spv::OpModuleProcessed: return 6;
            case spv::OpDecorate:
            case spv::OpMemberDecorate:
            case spv::OpDecorateId:
            case spv::OpDecorateString:
            case spv::OpMemberDecorateString:
            case spv::OpDecorationGroup:
            case spv::OpGroupDecorate:
            case spv::OpGroupMemberDecorate: return 7;
            case op_type_tensor:
            case op_type_cooperative_matrix: return 8;
            default:
                return (op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer) ||
                               (op >= spv::OpConstantTrue && op <= spv::OpSpecConstantOp) ||
                               op == spv::OpVariable
                           ? 8
                           : -1;
        }
    }
    /// What may stand behind the declarations and in functions.
    static bool anywhere(spv::Op op) noexcept {
        return op == spv::OpNop || op == spv::OpUndef || op == spv::OpLine || op == spv::OpNoLine ||
               op == spv::OpExtInst || op == op_ext_inst_forward;
    }

    static word times(std::uint64_t a, std::uint64_t b) noexcept {
        return static_cast<word>(std::min<std::uint64_t>(a * b, huge));
    }
    static word rounded(std::uint64_t size, word align) noexcept {
        return static_cast<word>(std::min<std::uint64_t>((size + align - 1) / align * align, huge));
    }
    fact& type(word i) {
        fact& f = id(i);
        if (f.at == 0 && !f.forward)
            broken({"type ", operand(i), " at word ", at_, " is not known yet"});
        return f;
    }
    void type_is(fact& f, std::uint64_t size, word align, unsigned depth = 0) const {
        constexpr unsigned deepest = 255;  // what every driver has to take
        if (depth > deepest) broken({"its types nest deeper than ", deepest});
        f.size = static_cast<word>(std::min<std::uint64_t>(size, huge));
        f.align = align;
        f.depth = static_cast<std::uint16_t>(depth);
    }

    /// Sizes are C's, which Slang is told to lay out by; an array's stride may say more.
    void type_or_value() {
        switch (op_) {
            case spv::OpTypeForwardPointer: {
                fact& f = id(1);
                f.forward = true;
                f.size = f.align = 8;
                return;
            }
            case spv::OpTypeBool: return type_is(define(1), 4, 4);
            case spv::OpTypeInt:
            case spv::OpTypeFloat: {
                const word bytes = operand(2) / 8;
                if (bytes == 0 || bytes > 8 || (operand(2) & (operand(2) - 1)) != 0)
                    broken({"a number of ", operand(2), " bits"});
                return type_is(define(1), bytes, bytes);
            }
            case spv::OpTypeVector:
            case spv::OpTypeMatrix: {
                const fact of = type(2);
                return type_is(define(1), times(of.size, operand(3)), of.align, of.depth + 1u);
            }
            case spv::OpTypeArray: {
                const fact of = type(2), n = type(3);
                if (!n.known) broken({"the length of array ", operand(1), " is not known"});
                fact& f = define(1);
                const word each = std::max(rounded(of.size, of.align), f.stride);
                return type_is(f, times(each, n.value), of.align, of.depth + 1u);
            }
            case spv::OpTypeRuntimeArray: {
                const fact of = type(2);
                return type_is(define(1), huge, of.align, of.depth + 1u);
            }
            case spv::OpTypeStruct: return structure();
            case spv::OpTypePointer: {
                fact_of(operand(3));
                return type_is(define(1), 8, 8, facts_[operand(3)].depth + 1u);
            }
            case spv::OpConstant:
            case spv::OpSpecConstant: return number();
            case spv::OpSpecConstantOp: return computed();
            default: break;
        }
        if (op_ == op_type_tensor) {
            type(2);
            if (length_ > 3) type(3);
        }
        const bool value = op_ >= spv::OpConstantTrue && op_ <= spv::OpSpecConstantOp;
        if (value) type(1);
        define(value ? 2 : 1);
    }
    void structure() {
        std::uint64_t size = 0;
        word align = 1, last = 0;
        unsigned depth = 0;
        for (word i = 2; i < length_; ++i) {
            const fact& of = type(i);
            size = rounded(size, of.align) + std::uint64_t{of.size};
            align = std::max(align, of.align);
            depth = std::max<unsigned>(depth, of.depth);
            last = of.size;
        }
        fact& f = define(1);
        size = std::max(size, std::uint64_t{f.stride} + last);
        type_is(f, rounded(size, align), align, depth + 1);
    }
    void number() {
        type(1);
        operand(3);
        fact& f = define(2);
        const bool is_long = length_ > 4 && operand(4) != 0;
        word value = is_long ? ~word{0} : operand(3);
        if (op_ == spv::OpSpecConstant && f.special)
            for (const constant& c : constants_)
                if (c.id == f.value) value = c.value;
        f.value = value;
        f.known = true;
    }
    /// Enough to know lengths that depend on specialization constants.
    void computed() {
        type(1);
        const word what = operand(3);
        fact& f = define(2);
        if (length_ != 6) return;
        const fact &a = id(4), &b = id(5);
        if (!a.known || !b.known) return;
        switch (what) {
            case spv::OpIAdd: f.value = a.value + b.value; break;
            case spv::OpISub: f.value = a.value - b.value; break;
            case spv::OpIMul: f.value = a.value * b.value; break;
            case spv::OpUDiv: f.value = b.value == 0 ? 0 : a.value / b.value; break;
            default: return;
        }
        f.known = true;
    }

    span<const std::uint32_t> words_;
    std::string_view name_;
    const candidate& on_;
    span<const constant> constants_;

    std::size_t at_ = 0;  // of the instruction
    spv::Op op_ = spv::OpNop;
    word length_ = 0;
    array_list<fact> facts_;  // by id
};

}  // namespace detail

}}}  // namespace pumice::PUMICE_ABI::vulkan
