// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A launch's parameter block against the Slang that reads it: the members that its table names
// against the text of the struct, and where they lie against what Slang makes of it.
#pragma once

#include <tests/support/skip.hpp>

#include <pumice/expr/emit.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/vk/detail/spirv_module.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace pumice_test {

/// The text of a struct between its braces; empty where there is none of that name.
inline std::string_view body_of_struct(std::string_view text, const std::string& name) {
    for (std::size_t at = 0; (at = text.find("struct " + name, at)) != text.npos; ++at) {
        const std::size_t behind = at + 7 + name.size();
        if (behind < text.size() && pumice::detail::is_identifier(text[behind])) continue;
        const std::size_t open = text.find('{', behind);
        std::size_t end = open + 1;
        for (int depth = 1; end < text.size() && depth > 0; ++end)
            depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
        return text.substr(open + 1, end - open - 2);
    }
    return {};
}

/// "I row", "uint width": the members that lines declare, one or several in a line, until another
/// line comes.
inline std::vector<std::string> members_of_body(std::string_view body, std::size_t* end = nullptr) {
    std::vector<std::string> list;
    std::size_t at = body.find('\n') + 1;
    while (at < body.size()) {
        const std::size_t next = std::min(body.find('\n', at), body.size());
        std::string line(body.substr(at, next - at));
        line.resize(std::min(line.find("//"), line.size()));
        const std::size_t first = line.find("public "), last = line.rfind(';');
        if (first == line.npos || last == line.npos || line.find('(') != line.npos) break;
        line = line.substr(first + 7, last - first - 7);
        std::string type, word;
        int depth = 0;
        for (const char c : line + ",") {
            depth += c == '<' ? 1 : c == '>' ? -1 : 0;
            if (c == ',' && depth == 0) {
                list.push_back(type + word);
                word.clear();
            } else if (c == ' ' && depth == 0) {
                if (!word.empty() && word.find('[') == word.npos) type = word + " ", word.clear();
                else if (!word.empty()) word += c;
            } else {
                word += c;
            }
        }
        at = next + 1;
    }
    if (end) *end = at;
    return list;
}

/// "places" of "Places<P, I, R> places", "step" of "I step[P.operands * R]".
inline std::string name_of_member(std::string_view declared) {
    const std::size_t end = std::min(declared.find('['), declared.size());
    const std::size_t first = declared.rfind(' ', end) + 1;
    return std::string(declared.substr(first, end - first));
}

/// f(owner, its members) for the block and for each member that is a table's struct.
template <class F>
std::size_t each_struct(const pumice::launch& l, std::size_t owner, F&& f) {
    std::vector<const pumice::block_member*> list;
    std::size_t next = owner + 1;
    for (std::uint32_t k = 0; k < l.members[owner].members; ++k) {
        list.push_back(&l.members[next]);
        next = each_struct(l, next, f);
    }
    if (l.members[owner].structure) f(l.members[owner], list);
    return next;
}

/// Where numbers and pointers lie in what the push constant points at, as a module's decorations
/// say.
class block_layout : pumice::vulkan::detail::spirv_module {
public:
    struct member {
        std::string name;
        std::uint32_t at;
        std::uint32_t type;
    };
    block_layout(std::span<const std::uint32_t> words, const pumice::vulkan::candidate& on)
        : spirv_module(words, "block", on, {}) {
        walk([&] { declaration(); });
        REQUIRE(block_ != 0);
    }

    std::uint32_t block() const { return block_; }
    /// Of a struct, with what C layout makes of it.
    std::vector<member> members(std::uint32_t structure) const {
        std::vector<member> list;
        const std::vector<word>& types = types_.at(structure);
        for (word k = 0; k < types.size(); ++k) {
            const auto key = std::pair(structure, k);
            const auto name = names_.find(key);
            list.push_back({name == names_.end() ? "" : name->second, offsets_.at(key), types[k]});
        }
        return list;
    }
    bool is_struct(std::uint32_t type) const { return types_.contains(type); }
    /// Bytes of each number or pointer from the first of `type` on, and whether it is a pointer.
    void leaves(std::uint32_t type, std::uint32_t at,
                std::map<std::uint32_t, std::pair<std::uint32_t, bool>>& list) const {
        if (is_struct(type)) {
            for (const member& m : members(type)) leaves(m.type, at + m.at, list);
        } else if (const auto found = arrays_.find(type); found != arrays_.end()) {
            for (word k = 0; k < found->second.second; ++k)
                leaves(found->second.first, at + k * strides_.at(type), list);
        } else {
            list[at] = {sizes_.at(type), pointers_.contains(type)};
        }
    }

private:
    void declaration() {
        switch (op_) {
            case spv::OpMemberName: names_[{operand(1), operand(2)}] = text(at_, 3); return;
            case spv::OpMemberDecorate:
                if (operand(3) == spv::DecorationOffset)
                    offsets_[{operand(1), operand(2)}] = operand(4);
                return;
            case spv::OpDecorate:
                if (operand(2) == spv::DecorationArrayStride) strides_[operand(1)] = operand(3);
                return;
            case spv::OpTypeInt:
            case spv::OpTypeFloat: sizes_[operand(1)] = operand(2) / 8; return;
            case spv::OpTypeVector: sizes_[operand(1)] = sizes_.at(operand(2)) * operand(3); return;
            case spv::OpTypePointer:
                sizes_[operand(1)] = 8;
                pointers_[operand(1)] = operand(3);
                return;
            case spv::OpConstant: values_[operand(2)] = operand(3); return;
            case spv::OpTypeArray:
                arrays_[operand(1)] = {operand(2), values_.at(operand(3))};
                return;
            case spv::OpTypeStruct:
                for (word i = 2; i < length_; ++i) types_[operand(1)].push_back(operand(i));
                return;
            case spv::OpVariable:
                if (operand(3) == spv::StorageClassPushConstant)
                    block_ = pointers_.at(types_.at(pointers_.at(operand(1)))[0]);
                return;
            default: return;
        }
    }

    word block_ = 0;
    std::map<std::pair<word, word>, std::string> names_;
    std::map<std::pair<word, word>, word> offsets_;
    std::map<word, word> sizes_, strides_, values_, pointers_;
    std::map<word, std::pair<word, word>> arrays_;
    std::map<word, std::vector<word>> types_;
};

/// Invocations of a workgroup, as OpExecutionMode LocalSize says.
inline std::uint32_t threads_of(std::span<const std::uint32_t> spirv) {
    for (std::size_t at = 5; at < spirv.size(); at += spirv[at] >> 16)
        if ((spirv[at] & 0xffff) == spv::OpExecutionMode &&
            spirv[at + 2] == spv::ExecutionModeLocalSize)
            return spirv[at + 3] * spirv[at + 4] * spirv[at + 5];
    return 0;
}

/// The members of the table are those of the module's structs, by name and place; what is written
/// before a dispatch is a pointer or a number there, and the block ends with its last member.
inline void check_layout(const pumice::launch& l, std::span<const std::uint32_t> spirv) {
    const pumice::vulkan::candidate on;
    const block_layout layout(spirv, on);
    std::map<const pumice::block_member*, std::uint32_t> types{{&l.members[0], layout.block()}};
    // Owners come behind what they hold: they are walked from the block on.
    std::vector<std::pair<const pumice::block_member*, std::vector<const pumice::block_member*>>>
        structs;
    each_struct(l, 0, [&](const auto& owner, const auto& list) {
        structs.insert(structs.begin(), {&owner, list});
    });
    for (const auto& [owner, list] : structs) {
        CAPTURE(owner->structure);
        const std::vector<block_layout::member> there = layout.members(types.at(owner));
        REQUIRE(there.size() == list.size());
        for (std::size_t k = 0; k < list.size(); ++k) {
            CAPTURE(list[k]->slang);
            if (*list[k]->slang) CHECK(there[k].name == name_of_member(list[k]->slang));
            CHECK(owner->at + there[k].at == list[k]->at);
            CHECK((!list[k]->structure || layout.is_struct(there[k].type)));
            types[list[k]] = there[k].type;
        }
    }
    std::map<std::uint32_t, std::pair<std::uint32_t, bool>> leaves;
    layout.leaves(layout.block(), 0, leaves);
    for (const pumice::relocation& r : l.relocations) {
        CAPTURE(r.at);
        REQUIRE(leaves.contains(static_cast<std::uint32_t>(r.at)));
        CHECK(leaves[static_cast<std::uint32_t>(r.at)].second);
    }
    for (const pumice::number_place& n : l.numbers) {
        CAPTURE(n.at);
        REQUIRE(leaves.contains(static_cast<std::uint32_t>(n.at)));
        CHECK_FALSE(leaves[static_cast<std::uint32_t>(n.at)].second);
    }
    REQUIRE(!leaves.empty());
    CHECK(leaves.rbegin()->first + leaves.rbegin()->second.first == l.parameters.size());
}

}  // namespace pumice_test
