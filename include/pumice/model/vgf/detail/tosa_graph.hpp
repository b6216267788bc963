// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A data graph in SPIR-V (SPV_ARM_graph, SPV_ARM_tensors) read into instructions of the extended
// instruction set TOSA.001000.1, values and constants. Never reads outside the words.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/error.hpp>
#include <pumice/base/span.hpp>
#include <pumice/model/detail/model_limits.hpp>
#include <pumice/model/vgf/detail/contents.hpp>
#include <pumice/model/vgf/detail/tosa_instructions.hpp>

#include <spirv/unified1/TOSA.001000.1.h>
#include <spirv/unified1/spirv.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {
namespace detail {

class graph_reader {
public:
    using word = std::uint32_t;

    graph_reader(span<const word> words, std::string_view entry, const model_limits& limits)
        : words_(words), entry_(entry), limits_(limits) {}

    tosa_graph run() {
        if (words_.size() < 5 || words_[0] != spv::MagicNumber) broken({"it is not SPIR-V"});
        const word bound = words_[3];
        if (bound == 0 || bound > 0x3fffff) broken({"its header says ", bound, " ids"});
        for (at_ = 5; at_ < words_.size(); at_ += length_) {
            op_ = static_cast<spv::Op>(words_[at_] & 0xffffu);
            length_ = words_[at_] >> 16;
            if (length_ == 0 || length_ > words_.size() - at_)
                broken({"the instruction at word ", at_, " has ", length_, " words, and ",
                        words_.size() - at_, " are left"});
            instruction();
        }
        if (!done_) broken({"it has no graph for the entry point ", entry_});
        for (const graph_port& p : made_.outputs)
            if (p.id == 0) broken({"an output of the graph is never set"});
        return std::move(made_);
    }

private:
    /// A type: an element's, a tensor's, or an array's of numbers.
    struct type_fact {
        dtype type = dtype::f32;
        pumice::shape shape;
        bool tensor = false;
    };
    struct variable {
        word type = 0;
        std::optional<word> set, binding;
    };

    [[noreturn, gnu::cold]] void broken(std::initializer_list<piece> why) const {
        throw error(errc::bad_file, "vgf", cat(why));
    }
    [[noreturn, gnu::cold]] void unsupported(std::initializer_list<piece> why) const {
        throw error(errc::unsupported, "vgf", cat(why));
    }

    word operand(word i) const {
        if (i >= length_) broken({"the instruction at word ", at_, " is too short"});
        return words_[at_ + i];
    }
    std::string_view text(word from) const {
        operand(from);
        const char* const first = reinterpret_cast<const char*>(words_.data() + at_ + from);
        const std::size_t room = (length_ - from) * 4, size = ::strnlen(first, room);
        if (size == room) broken({"the text at word ", at_, " has no end"});
        return {first, size};
    }
    const type_fact& type_of(word id) const {
        const auto found = types_.find(id);
        if (found == types_.end()) broken({"id ", id, " at word ", at_, " is no type of a graph"});
        return found->second;
    }
    const type_fact& tensor_of(word id) const {
        const type_fact& t = type_of(id);
        if (!t.tensor) broken({"id ", id, " at word ", at_, " is no tensor's type"});
        return t;
    }
    const graph_constant& constant_of(word id) const {
        const auto found = made_.constants.find(id);
        if (found == made_.constants.end())
            broken({"id ", id, " at word ", at_, " is no constant"});
        return found->second;
    }
    /// An integer that is known.
    std::int64_t number(word id) const {
        const graph_constant& c = constant_of(id);
        std::int64_t value = 0;
        if (!c.shape.empty() || is_floating(c.type) || c.external)
            broken({"id ", id, " at word ", at_, " is no integer"});
        std::memcpy(&value, c.bytes.data(), c.bytes.size());
        return value;
    }
    void fresh(word id) {
        if (id == 0 || id >= words_[3]) broken({"id ", id, " is outside those of the header"});
        if (!ids_.insert(id).second) broken({"id ", id, " is defined twice"});
        if (static_cast<std::int64_t>(ids_.size()) > limits_.items)
            broken({"it has more ids than model_limits::items"});
    }

    void instruction() {
        switch (op_) {
            case spv::OpExtInstImport:
                fresh(operand(1));
                if (text(2) == "TOSA.001000.1") tosa_ = operand(1);
                else others_.emplace(operand(1), text(2));
                return;
            case spv::OpDecorate: return decorate();
            case spv::OpTypeBool: return type({dtype::boolean, {}, false});
            case spv::OpTypeInt: return type({integer(operand(2), operand(3)), {}, false});
            case spv::OpTypeFloat: return type({real(), {}, false});
            case spv::OpTypeArray: {
                const type_fact& of = type_of(operand(2));
                const std::int64_t n = number(operand(3));
                if (of.tensor || !of.shape.empty() || n < 0) broken({"an array of arrays"});
                return type({of.type, shape{n}, false});
            }
            case spv::OpTypeTensorARM: return tensor_type();
            case spv::OpTypePointer:
                fresh(operand(1));
                pointers_[operand(1)] = operand(3);
                return;
            case spv::OpVariable: {
                fresh(operand(2));
                const auto to = pointers_.find(operand(1));
                if (to == pointers_.end()) broken({"a variable of no pointer's type"});
                variables_[operand(2)].type = to->second;
                return;
            }
            case spv::OpConstantTrue: return logical(true);
            case spv::OpConstantFalse: return logical(false);
            case spv::OpConstant: return single();
            case spv::OpConstantNull: {
                const type_fact& t = type_of(operand(1));
                return keep({t.type, t.shape, std::vector<std::byte>(each(t.type)), true, {}});
            }
            case spv::OpConstantComposite: return composite();
            case spv::OpConstantCompositeReplicateEXT: {
                const type_fact& t = type_of(operand(1));
                const graph_constant& one = constant_of(operand(3));
                if (one.type != t.type || !one.shape.empty())
                    broken({"a constant at word ", at_, " repeats another type"});
                return keep({t.type, t.shape, one.bytes, true, {}});
            }
            case spv::OpGraphConstantARM: {
                const type_fact& t = tensor_of(operand(1));
                return keep({t.type, t.shape, {}, false, operand(3)});
            }
            case spv::OpGraphEntryPointARM: return entry_point();
            case spv::OpGraphARM: return begin();
            case spv::OpGraphInputARM: return input();
            case spv::OpExtInst: return step();
            case spv::OpGraphSetOutputARM: return output();
            case spv::OpTypeGraphARM: return graph_type();
            case spv::OpGraphEndARM:
                if (!open_) broken({"a graph ends that did not begin"});
                if (chosen_) ends();
                done_ |= chosen_;
                open_ = chosen_ = false;
                return;
            case spv::OpSpecConstant:
            case spv::OpSpecConstantTrue:
            case spv::OpSpecConstantFalse:
            case spv::OpSpecConstantComposite:
                unsupported({"the graph has specialization constants"});
            case spv::OpFunction: broken({"a function in a graph's module"});
            default:
                if (chosen_)
                    unsupported({"the graph has the instruction ", static_cast<word>(op_),
                                 ", which is none of TOSA's"});
                return others();
        }
    }
    /// What needs no reading here, and what a driver might read otherwise.
    void others() {
        constexpr spv::Op known[] = {
            spv::OpNop,    spv::OpSourceContinued, spv::OpSource,   spv::OpSourceExtension,
            spv::OpName,   spv::OpMemberName,      spv::OpString,   spv::OpLine,
            spv::OpNoLine, spv::OpExtension,       spv::OpTypeVoid, spv::OpModuleProcessed};
        if (std::find(std::begin(known), std::end(known), op_) != std::end(known)) return;
        if (op_ == spv::OpMemoryModel && operand(1) == spv::AddressingModelLogical &&
            operand(2) == spv::MemoryModelVulkan)
            return;
        if (op_ != spv::OpCapability) return beyond({"the instruction ", static_cast<word>(op_)});
        constexpr word taken[] = {spv::CapabilityMatrix,
                                  spv::CapabilityShader,
                                  spv::CapabilityFloat16,
                                  spv::CapabilityInt64,
                                  spv::CapabilityInt16,
                                  spv::CapabilityInt8,
                                  spv::CapabilityVulkanMemoryModel,
                                  spv::CapabilityTensorsARM,
                                  spv::CapabilityGraphARM,
                                  spv::CapabilityReplicatedCompositesEXT};
        if (std::find(std::begin(taken), std::end(taken), operand(1)) == std::end(taken))
            beyond({"the capability ", operand(1)});
        capabilities_.push_back(operand(1));
    }
    void beyond(std::initializer_list<piece> what) {
        if (made_.beyond.empty()) made_.beyond = cat({"its module has ", cat(what)});
    }
    void graph_type() {
        for (const word needed :
             {spv::CapabilityGraphARM, spv::CapabilityTensorsARM, spv::CapabilityVulkanMemoryModel})
            if (std::find(capabilities_.begin(), capabilities_.end(), needed) ==
                capabilities_.end())
                beyond({"a graph without the capability ", needed});
        fresh(operand(1));
        auto& [inputs, all] = graph_types_[operand(1)];
        inputs = operand(2);
        for (word i = 3; i < length_; ++i) all.push_back(tensor_of(operand(i)));
        if (inputs > all.size()) broken({"the graph's type at word ", at_, " is too short"});
    }
    /// The graph's type says what its inputs and outputs are.
    void ends() {
        const auto& [inputs, all] = graph_types_.at(type_);
        bool same = inputs == made_.inputs.size() && all.size() - inputs == made_.outputs.size();
        for (std::size_t i = 0; same && i < all.size(); ++i) {
            const graph_port& p = i < inputs ? made_.inputs[i] : made_.outputs[i - inputs];
            same = p.type == all[i].type && p.shape == all[i].shape;
        }
        if (!same || interface_.size() != all.size())
            broken({"the graph's type says other inputs and outputs than it has"});
    }

    void type(type_fact t) {
        fresh(operand(1));
        types_[operand(1)] = std::move(t);
    }
    dtype integer(word bits, word is_signed) const {
        static_cast<void>(is_signed);  // TOSA's integers have none: each operator says how it reads
        switch (bits) {
            case 4: return dtype::i4;
            case 8: return dtype::i8;
            case 16: return dtype::i16;
            case 32: return dtype::i32;
            case 64: return dtype::i64;
            default: unsupported({"integers of ", bits, " bits"});
        }
    }
    dtype real() const {
        const word bits = operand(2);
        if (length_ > 3) {
            const word encoding = operand(3);
            if (bits == 16 && encoding == word(spv::FPEncodingBFloat16KHR)) return dtype::bf16;
            if (bits == 8 && encoding == word(spv::FPEncodingFloat8E4M3EXT)) return dtype::f8_e4m3;
            if (bits == 8 && encoding == word(spv::FPEncodingFloat8E5M2EXT)) return dtype::f8_e5m2;
            unsupported({"floats of ", bits, " bits in encoding ", encoding});
        }
        if (bits == 16) return dtype::f16;
        if (bits == 32) return dtype::f32;
        if (bits == 64) return dtype::f64;
        unsupported({"floats of ", bits, " bits"});
    }
    static std::size_t each(dtype t) {
        return static_cast<std::size_t>(is_packed(t) ? 1 : info(t).bits / 8);
    }
    void tensor_type() {
        const type_fact& element = type_of(operand(2));
        if (length_ != 5) unsupported({"a tensor whose shape is not known"});
        const std::int64_t rank = number(operand(3));
        const graph_constant& list = constant_of(operand(4));
        if (element.tensor || !element.shape.empty() || list.shape.rank() != 1 ||
            list.shape[0] != rank || list.type != dtype::i32 || list.external || rank < 0)
            broken({"the tensor's type at word ", at_, " has no shape"});
        if (rank > max_rank)
            unsupported({"a tensor of ", rank, " axes, Pumice has ", int(max_rank)});
        shape extent;
        for (int i = 0; i < rank; ++i) {
            std::int32_t n = 0;
            std::memcpy(&n, list.bytes.data() + (list.splat ? 0 : i * 4), 4);
            if (n <= 0) broken({"a tensor has an axis of ", n});
            extent.push_back(n);
        }
        if (!has_at_most(extent, limits_.elements))
            broken({"a tensor has the shape ", to_string(extent),
                    ", more than model_limits::elements"});
        type({element.type, extent, true});
    }

    void keep(graph_constant c) {
        fresh(operand(2));
        bytes_ += static_cast<std::int64_t>(c.bytes.size());
        if (bytes_ > limits_.structure_bytes)
            broken({"its constants have more bytes than model_limits::structure_bytes"});
        made_.constants.emplace(operand(2), std::move(c));
    }
    void logical(bool value) { keep({dtype::boolean, {}, {std::byte(value)}, false, {}}); }
    void single() {
        const type_fact& t = type_of(operand(1));
        if (t.tensor || !t.shape.empty() || t.type == dtype::boolean)
            broken({"the constant at word ", at_, " is no number"});
        const std::size_t size = each(t.type);
        operand(size > 4 ? 4 : 3);
        std::vector<std::byte> bytes(size);
        std::memcpy(bytes.data(), words_.data() + at_ + 3, size);
        keep({t.type, {}, std::move(bytes), false, {}});
    }
    void composite() {
        const type_fact& t = type_of(operand(1));
        if (t.shape.empty()) broken({"the constant at word ", at_, " has no parts"});
        if (is_packed(t.type)) unsupported({"constants of integers of 4 bits within the module"});
        // Parts are numbers, or what lies along the first axis.
        const std::int64_t parts = static_cast<std::int64_t>(length_) - 3;
        if (parts == 0) broken({"the constant at word ", at_, " has no parts"});
        const bool flat = constant_of(operand(3)).shape.empty();
        shape within;
        for (int i = 1; !flat && i < t.shape.rank(); ++i) within.push_back(t.shape[i]);
        if (parts != (flat ? element_count(t.shape) : t.shape[0]))
            broken({"the constant at word ", at_, " has ", parts, " parts, its shape is ",
                    to_string(t.shape)});
        const auto size = static_cast<std::size_t>(byte_count(t.type, element_count(t.shape)));
        if (std::cmp_greater(size, limits_.structure_bytes))
            broken({"a constant has more bytes than model_limits::structure_bytes"});
        std::vector<std::byte> bytes;
        for (word i = 3; i < length_; ++i) {
            const graph_constant& part = constant_of(operand(i));
            if (part.type != t.type || part.shape != within || part.external)
                broken({"the constant at word ", at_, " has a part of another type"});
            for (std::int64_t k = part.splat ? element_count(within) : 1; k > 0; --k)
                bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
        }
        keep({t.type, t.shape, std::move(bytes), false, {}});
    }

    void decorate() {
        variable& v = variables_[operand(1)];
        if (operand(2) == word(spv::DecorationBinding)) v.binding = operand(3);
        if (operand(2) == word(spv::DecorationDescriptorSet)) v.set = operand(3);
    }
    void entry_point() {
        const word graph = operand(1);
        const std::string_view name = text(2);
        if (name != entry_) return;
        if (graph_ != 0) broken({"two graphs for the entry point ", entry_});
        graph_ = graph;
        for (word i = 2 + static_cast<word>(name.size() / 4) + 1; i < length_; ++i)
            interface_.push_back(operand(i));
    }
    void begin() {
        if (open_) broken({"a graph within a graph"});
        fresh(operand(2));
        if (!graph_types_.contains(operand(1))) broken({"a graph of no graph's type"});
        open_ = true;
        chosen_ = operand(2) == graph_;
        if (chosen_) type_ = operand(1);
        else beyond({"another graph"});
    }
    graph_port port(std::size_t i) const {
        if (i >= interface_.size()) broken({"the graph has more inputs than its entry point"});
        const auto found = variables_.find(interface_[i]);
        if (found == variables_.end() || !found->second.binding || !found->second.set)
            broken({"a tensor of the entry point has no set and binding"});
        const type_fact& t = tensor_of(found->second.type);
        return {0, *found->second.set, *found->second.binding, t.type, t.shape};
    }
    void input() {
        if (!chosen_) return;
        if (length_ != 4) unsupported({"arrays of tensors"});
        const type_fact& t = tensor_of(operand(1));
        fresh(operand(2));
        const std::int64_t i = number(operand(3));
        if (i != static_cast<std::int64_t>(made_.inputs.size()))
            unsupported({"inputs of the graph in another order than its entry point's"});
        made_.inputs.push_back(port(static_cast<std::size_t>(i)));
        graph_port& p = made_.inputs.back();
        if (p.type != t.type || p.shape != t.shape)
            broken({"input ", i, " of the graph has another type than its variable"});
        p.id = operand(2);
        values_.insert(p.id);
    }
    void step() {
        if (!chosen_) return open_ ? void() : beyond({"instructions outside of a graph"});
        if (const auto other = others_.find(operand(3)); other != others_.end()) {
            if (other->second.starts_with("NonSemantic.")) return;
            unsupported({"the graph uses the instruction set ", other->second});
        }
        if (operand(3) != tosa_) broken({"an instruction of a set that was not imported"});
        const type_fact& t = tensor_of(operand(1));
        fresh(operand(2));
        tosa_instruction s{operand(4), operand(2), t.type, t.shape, {}};
        for (word i = 5; i < length_; ++i) {
            if (!values_.contains(operand(i))) constant_of(operand(i));
            s.operands.push_back(operand(i));
        }
        values_.insert(s.result);
        made_.steps.push_back(std::move(s));
        if (static_cast<std::int64_t>(made_.steps.size()) > limits_.nodes)
            broken({"the graph has more instructions than model_limits::nodes"});
    }
    void output() {
        if (!chosen_) return;
        if (length_ != 3) unsupported({"arrays of tensors"});
        const word id = operand(1);
        const std::int64_t i = number(operand(2));
        const std::size_t inputs = made_.inputs.size();
        if (i < 0 || static_cast<std::size_t>(i) + inputs >= interface_.size())
            broken({"the graph has more outputs than its entry point"});
        if (!values_.contains(id)) constant_of(id);
        made_.outputs.resize(interface_.size() - inputs);
        graph_port& p = made_.outputs[static_cast<std::size_t>(i)];
        if (p.id != 0) broken({"output ", i, " is set twice"});
        p = port(inputs + static_cast<std::size_t>(i));
        p.id = id;
    }

    span<const word> words_;
    std::string_view entry_;
    const model_limits& limits_;
    std::size_t at_ = 0;
    spv::Op op_ = spv::OpNop;
    word length_ = 0;
    tosa_graph made_;
    std::set<word> ids_, values_;
    std::map<word, type_fact> types_;
    std::map<word, word> pointers_;
    std::map<word, variable> variables_;
    std::map<word, std::string_view> others_;  // other instruction sets
    std::vector<word> interface_;
    std::map<word, std::pair<word, std::vector<type_fact>>> graph_types_;
    array_list<word> capabilities_;  // inputs, all
    word tosa_ = 0, graph_ = 0, type_ = 0;
    bool open_ = false, chosen_ = false, done_ = false;
    std::int64_t bytes_ = 0;
};

}  // namespace detail

/// The graph of the entry point. Throws errc::bad_file for what is no module with such a graph,
/// errc::unsupported for what Pumice does not take of graphs.
inline tosa_graph read_graph(span<const std::uint32_t> words, std::string_view entry,
                             const model_limits& limits = {}) {
    return detail::graph_reader(words, entry, limits).run();
}

}}}  // namespace pumice::PUMICE_ABI::vgf
