// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reads the attributes of shader operators. Needs nlohmann/json, without which they are refused.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/model/detail/vk_formats.hpp>
#include <pumice/model/shader_attributes.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define PUMICE_HAS_JSON 1
#else
#define PUMICE_HAS_JSON 0
#endif

namespace pumice { inline namespace PUMICE_ABI {

PUMICE_BODY std::optional<array_list<std::byte>> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    array_list<std::byte> bytes;
    for (std::size_t at = 0; at < text.size(); at += 4) {
        std::uint32_t bits = 0;
        std::size_t padding = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            const char c = text[at + k];
            std::uint32_t six = 0;
            if (c >= 'A' && c <= 'Z') six = static_cast<std::uint32_t>(c - 'A');
            else if (c >= 'a' && c <= 'z') six = static_cast<std::uint32_t>(c - 'a' + 26);
            else if (c >= '0' && c <= '9') six = static_cast<std::uint32_t>(c - '0' + 52);
            else if (c == '+') six = 62;
            else if (c == '/') six = 63;
            else if (c == '=' && at + 4 == text.size() && k >= 2) ++padding;
            else return std::nullopt;
            if (c != '=' && padding > 0) return std::nullopt;
            bits = bits << 6 | six;
        }
        for (std::size_t k = 0; k < 3 - padding; ++k)
            bytes.push_back(static_cast<std::byte>(bits >> (16 - 8 * k) & 0xff));
        if (padding > 0 && (bits & (padding == 1 ? 0xffu : 0xffffu)) != 0) return std::nullopt;
    }
    return bytes;
}

#if PUMICE_HAS_JSON

namespace detail {

class shader_attribute_reader {
    using json = nlohmann::json;

public:
    shader_attribute_reader(std::string_view name, std::size_t inputs, std::size_t outputs)
        : name_(name), inputs_(inputs), outputs_(outputs) {}

    shader_attributes read(std::string_view text) {
        made_.shader.name = std::string(name_);
        if (inputs_ + outputs_ > most)
            say({"it has ", inputs_ + outputs_, " inputs and outputs, at most ", most,
                 " are taken"});
        else try {
                all_ = json::parse(text,
                                   [this](int depth, json::parse_event_t event, const json& key) {
                                       if (depth == 1 && event == json::parse_event_t::key &&
                                           !seen_.insert(key).second)
                                           say({"the key \"", part_of(key), "\" stands twice"});
                                       if (event == json::parse_event_t::object_start) count();
                                       return true;
                                   });
                if (all_.is_object()) keys();
                else say({"a JSON object is asked for, this is ", all_.type_name()});
            } catch (const json::exception& e) {
                say({"it is no JSON: ", e.what()});
            }
        if (!faults_.empty())
            throw error(unsupported_ ? errc::unsupported : errc::bad_file, "shader operator",
                        cat({"implementation_attrs of ", name_, " cannot be taken"}),
                        std::move(faults_));
        return std::move(made_);
    }

private:
    static constexpr std::size_t most = 32, most_faults = 100, most_objects = 10000;
    std::size_t objects_ = 0;

    void say(std::initializer_list<piece> fault) {
        if (faults_.size() < most_faults) faults_.push_back(cat(fault));
    }
    /// At each object's end the parser looks through the list that it stands in.
    void count() {
        if (++objects_ > most_objects)
            throw error(errc::bad_file, "shader operator",
                        cat({"implementation_attrs of ", name_, " has more than ", most_objects,
                             " objects"}));
    }
    /// What a fault shows of a text.
    static std::string part_of(const std::string& text) { return text.substr(0, 64); }
    /// The value of a key that has to be there, or null with a fault.
    const json* needed(const std::string& key) {
        known_.push_back(key);
        const auto at = all_.find(key);
        if (at != all_.end()) return &*at;
        say({"the key \"", key, "\" is missing"});
        return nullptr;
    }
    const json* optional(const std::string& key) {
        known_.push_back(key);
        const auto at = all_.find(key);
        return at == all_.end() ? nullptr : &*at;
    }
    const std::string* text_of(const std::string& key, const json* at) {
        if (!at) return nullptr;
        if (at->is_string()) return at->get_ptr<const std::string*>();
        say({"\"", key, "\" is ", at->type_name(), ", a string is asked for"});
        return nullptr;
    }
    std::uint32_t number_of(const std::string& key, const json* at, std::uint32_t least,
                            std::uint32_t greatest) {
        if (!at) return least;
        if (!at->is_number_integer()) {
            say({"\"", key, "\" is ", at->type_name(), ", an integer is asked for"});
            return least;
        }
        const bool fits = at->is_number_unsigned() && at->get<std::uint64_t>() >= least &&
                          at->get<std::uint64_t>() <= greatest;
        if (!fits)
            say({"\"", key, "\" is ", at->dump(), ", from ", least, " to ", greatest,
                 " is asked for"});
        return fits ? at->get<std::uint32_t>() : least;
    }

    void keys() {
        own_shader& s = made_.shader;
        if (const std::string* entry = text_of("entry_point", optional("entry_point"))) {
            if (entry->empty()) say({"\"entry_point\" is empty"});
            s.entry = *entry;
        }
        if (const json* sizes = needed("workgroup_sizes")) {
            if (!sizes->is_array() || sizes->size() != 3)
                say({"\"workgroup_sizes\" is ", sizes->type_name(), " of ", sizes->size(),
                     ", three integers are asked for"});
            else
                for (std::size_t i = 0; i < 3; ++i)
                    s.groups[i] =
                        number_of(cat({"workgroup_sizes[", i, "]"}), &(*sizes)[i], 1, 0x7fffffff);
        }
        code();
        for (std::size_t i = 0; i < inputs_; ++i)
            resource(cat({"input_", i}), s.inputs, made_.inputs);
        for (std::size_t i = 0; i < outputs_; ++i)
            resource(cat({"output_", i}), s.outputs, made_.outputs);
        if (const json* push = optional("push_constants")) pushed(*push);
        for (const auto& [key, value] : all_.items())
            if (std::find(known_.begin(), known_.end(), key) == known_.end())
                say({"the key \"", part_of(key), "\" is not known"});
    }

    void code() {
        own_shader& s = made_.shader;
        const std::string* const language = text_of("shader_language", needed("shader_language"));
        const std::string* const text = text_of("shader_code", needed("shader_code"));
        if (!language || !text) return;
        bool known = false;
        for (const shader_language each : {shader_language::slang, shader_language::hlsl,
                                           shader_language::glsl, shader_language::spirv})
            if (*language == to_string(each)) s.language = each, known = true;
        if (!known)
            return say({"\"shader_language\" is \"", part_of(*language),
                        "\"; there are Slang, HLSL, GLSL and SPIR-V"});
        if (text->empty()) return say({"\"shader_code\" is empty"});
        if (text->find('\0') != text->npos)
            return say({"\"shader_code\" has a character 0 within"});
        if (s.language != shader_language::spirv) {
            s.text = *text;
            return;
        }
        const auto bytes = from_base64(*text);
        if (!bytes) return say({"\"shader_code\" is no base64"});
        if (bytes->size() % 4 != 0)
            return say({"\"shader_code\" has ", bytes->size(),
                        " bytes, which are no words of 32 bits"});
        s.words.resize(bytes->size() / 4);
        std::memcpy(s.words.data(), bytes->data(), bytes->size());
        constexpr std::uint32_t magic = 0x07230203;
        if (s.words.size() < 5 || s.words[0] != magic)
            say({"\"shader_code\" does not begin as SPIR-V does, with the word 0x07230203"});
    }

    void resource(const std::string& which, array_list<shader_binding>& places,
                  std::vector<std::optional<dtype>>& types) {
        const auto key = [&](const char* what) { return cat({which, what}); };
        const std::size_t before = faults_.size();
        shader_binding at;
        at.binding = number_of(key("_binding"), needed(key("_binding")), 0, 0xffff);
        at.set = number_of(key("_descriptorset"), needed(key("_descriptorset")), 0, 31);
        if (faults_.size() == before) {
            for (const auto& [other, place] : taken_)
                if (place.same_place(at))
                    say({"\"", key("_binding"), "\" is ", at.binding, " in set ", at.set,
                         ", as that of ", other, " is"});
            taken_.emplace_back(which, at);
        }
        descriptor(key("_vkdescriptortype"), at, &places == &made_.shader.outputs);
        const std::string format_key = key("_vkformat");
        const std::string* const text =
            text_of(format_key, has_format(at.as) ? needed(format_key) : optional(format_key));
        types.push_back(text ? format(format_key, *text, at) : std::nullopt);
        places.push_back(at);
    }
    void descriptor(const std::string& key, shader_binding& at, bool written) {
        const std::string* const type = text_of(key, needed(key));
        if (!type) return;
        constexpr std::string_view start = "VK_DESCRIPTOR_TYPE_";
        const std::string_view name =
            type->starts_with(start) ? std::string_view(*type).substr(start.size()) : "";
        using enum shader_descriptor;
        for (const shader_descriptor each : {storage_buffer, uniform_buffer, storage_texel_buffer,
                                             uniform_texel_buffer, storage_image, tensor}) {
            if (name != to_string(each)) continue;
            at.as = each;
            if (written && (each == uniform_buffer || each == uniform_texel_buffer))
                say({"\"", key, "\" is \"", *type, "\", which a shader cannot write"});
            return;
        }
        constexpr std::string_view others[] = {"SAMPLER", "COMBINED_IMAGE_SAMPLER",
                                               "SAMPLED_IMAGE"};
        unsupported_ |= std::find(std::begin(others), std::end(others), name) != std::end(others);
        say({"\"", key, "\" is \"", part_of(*type), "\"; of ", start,
             ".. STORAGE_BUFFER, UNIFORM_BUFFER, STORAGE_TEXEL_BUFFER, UNIFORM_TEXEL_BUFFER, "
             "STORAGE_IMAGE and TENSOR_ARM are taken"});
    }
    std::optional<dtype> format(const std::string& key, const std::string& text,
                                shader_binding& at) {
        std::string names;
        for (const vk_format& r : vk_formats) {
            if (has_texels(at.as) && r.texel == 0) continue;
            if (at.as == shader_descriptor::tensor && !r.single) continue;
            append_text(names, {names.empty() ? "" : ", ", r.name});
            if (text != cat({"VK_FORMAT_", r.name})) continue;
            if (has_texels(at.as)) at.format = r.number, at.texel = r.texel;
            if (at.as == shader_descriptor::tensor)
                at.format = r.number, at.texel = static_cast<std::uint32_t>(info(r.type).bits / 8);
            return r.type;
        }
        say({"\"", key, "\" is \"", part_of(text), "\"; of VK_FORMAT_.. there are ", names});
        return std::nullopt;
    }

    /// Base64 of their bytes, or fields one behind the other, each of four bytes.
    void pushed(const json& from) {
        array_list<std::byte>& to = made_.shader.push;
        if (from.is_string()) {
            const auto bytes = from_base64(*from.get_ptr<const std::string*>());
            if (!bytes) return say({"\"push_constants\" is no base64"});
            to = *bytes;
        } else if (from.is_array()) {
            for (std::size_t i = 0; i < from.size(); ++i)
                field(from[i], cat({"push_constants[", i, "]"}));
        } else {
            return say({"\"push_constants\" is ", from.type_name(),
                        ", a string of base64 or a list of fields is asked for"});
        }
        if (to.size() % 4 != 0)
            say({"\"push_constants\" has ", to.size(), " bytes, a multiple of 4 is asked for"});
    }
    void field(const json& from, const std::string& key) {
        const auto put = [&](auto value) {
            const auto at = reinterpret_cast<const std::byte*>(&value);
            made_.shader.push.append(at, at + sizeof value);
        };
        if (!from.is_object() || from.size() != 2 || !from.contains("type") ||
            !from.contains("value") || !from["type"].is_string() || !from["value"].is_number())
            return say({"\"", key, "\" is ", from.type_name(),
                        R"(, a field is asked for, as {"type": "f32", "value": 1.5})"});
        const auto type = from["type"].get<std::string>();
        const json& value = from["value"];
        if (type == "f32") {
            const auto number = value.get<double>();
            if (std::abs(number) > std::numeric_limits<float>::max())
                return say({"\"", key, "\" is ", value.dump(), ", which is no f32"});
            return put(static_cast<float>(number));
        }
        if (type == "u32") return put(number_of(key, &value, 0, 0xffffffff));
        if (type != "i32")
            return say({"\"", key, "\" has the type \"", part_of(type),
                        "\"; there are f32, i32 and u32"});
        const bool fits = value.is_number_integer() &&
                          (value.is_number_unsigned() ? value.get<std::uint64_t>() <= 0x7fffffff
                                                      : value.get<std::int64_t>() >= -0x80000000LL);
        if (!fits) say({"\"", key, "\" is ", value.dump(), ", which is no i32"});
        else put(value.get<std::int32_t>());
    }

    std::string_view name_;
    std::size_t inputs_, outputs_;
    json all_;
    shader_attributes made_;
    std::vector<std::string> faults_, known_;
    std::set<std::string> seen_;
    std::vector<std::pair<std::string, shader_binding>> taken_;
    bool unsupported_ = false;
};

}  // namespace detail

PUMICE_BODY shader_attributes parse_shader_attributes(std::string_view text, std::string_view name,
                                                      std::size_t inputs, std::size_t outputs) {
    return detail::shader_attribute_reader(name, inputs, outputs).read(text);
}

#else

PUMICE_BODY shader_attributes parse_shader_attributes(std::string_view, std::string_view name,
                                                      std::size_t, std::size_t) {
    fail(errc::unsupported, "shader operator",
         {name, " needs nlohmann/json, without which Pumice was compiled"});
}

#endif

}}  // namespace pumice::PUMICE_ABI
