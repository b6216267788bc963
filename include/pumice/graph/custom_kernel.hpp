// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A kernel of the user's own in the graph: what it takes and gives, and the nodes of a call to it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/expr/emit.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/graph/own_shader.hpp>

#include <array>
#include <optional>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// What a tensor is, but for its values.
struct kernel_value {
    pumice::dtype dtype;
    pumice::shape shape;
};

/// An element type as a description says it: one, or a name that stands for one in the Slang text.
struct kernel_element {
    kernel_element() = default;  // any
    kernel_element(dtype t) : type(t) {}
    kernel_element(const char* n) : name(n) {}
    std::optional<dtype> type;
    std::string name;
};

struct kernel_input {
    kernel_element type = {};
    int rank = -1;       // -1: any
    bool fused = false;  // elementwise work before it is done as the kernel reads (IInput)
    bool strided =
        false;  // a view is read where it lies; otherwise inputs are dense, in row-major order
};

struct kernel_output {
    kernel_element type = {};  // none: that of the input `like`
    int like = 0;              // the input whose shape it has, where there is none here:
    std::optional<pumice::shape> shape = {};
    bool fused = false;  // elementwise work behind it is done as the kernel writes (IOutput)
};

/// Threads in all, along up to three axes: fixed, or by what the kernel takes and gives. Where
/// nothing is said, one for each element of the first output.
struct kernel_grid {
    using function =
        callback<shape(span<const kernel_value> inputs, span<const kernel_value> outputs)>;

    kernel_grid() = default;
    kernel_grid(std::initializer_list<std::int64_t> fixed)
        : threads([list = shape(fixed)](auto, auto) { return list; }) {}
    template <class F>
        requires std::is_constructible_v<function, F>
    kernel_grid(F f) : threads(std::move(f)) {}
    function threads;
};

/// A dense array in host memory.
struct kernel_memory {
    kernel_value what;
    std::byte* data;

    std::int64_t size() const { return element_count(what.shape); }
    /// Throws errc::dtype_mismatch unless T is its type.
    template <element T>
    span<T> as() const {
        if (what.dtype != dtype_of<T>)
            fail(errc::dtype_mismatch, "kernel",
                 {"the operand is ", to_string(what.dtype), ", asked for ",
                  to_string(dtype_of<T>)});
        return {reinterpret_cast<T*>(data), static_cast<std::size_t>(size())};
    }
};
/// What a kernel's host function works on.
struct kernel_arguments {
    span<const kernel_memory> inputs, outputs;
    span<const scalar> scalars;
    std::array<std::int64_t, 3> threads;
};

struct kernel_options {
    std::vector<kernel_input> inputs = {};
    std::vector<kernel_output> outputs = {{}};
    std::vector<dtype> scalars = {};  // run-time numbers, behind inputs and outputs
    /// Types and shapes of all outputs by those of the inputs, in place of what `outputs` says.
    callback<std::vector<kernel_value>(span<const kernel_value>)> results = {};
    kernel_grid grid = {};
    pumice::shape group = {256};  // threads of a workgroup, along up to three axes
    bool whole_groups = false;    // threads beyond the grid run too: for barriers within a group
    bool checked = false;         // reads outside are clamped, writes outside dropped
    callback<void(const kernel_arguments&)> host = {};  // the same on the host device
};

/// Made once by make_custom_kernel, and the same for all its calls.
struct custom_kernel {
    std::string name, text;
    kernel_options how;
    /// Of a shader operator (graph/own_shader.hpp); `text` is all that it says, beginning with its
    /// attributes.
    std::shared_ptr<const own_shader> shader = {};

    /// What it is called in files. Shader operators may share a name, and do different things.
    std::string unique_name() const {
        if (!shader) return name;
        std::string unique = cat({name, "#"});
        append_hex(unique, hash_of(text));
        return unique;
    }
};

/// One call: what all of its results share.
struct kernel_call {
    std::shared_ptr<const custom_kernel> what;
    array_list<std::pair<std::string, dtype>> names;  // of element types
    std::vector<kernel_value> inputs, outputs;
    array_list<scalar> scalars;
    std::array<std::int64_t, 3> threads{1, 1, 1};
};

/// Throws errc::invalid_argument for a description that contradicts itself.
PUMICE_FUNCTION std::shared_ptr<const custom_kernel> make_custom_kernel(std::string_view name,
                                                                        std::string_view text,
                                                                        kernel_options how);

/// A compute shader as a kernel; of `how`, inputs and outputs count.
PUMICE_FUNCTION std::shared_ptr<const custom_kernel> make_shader_kernel(own_shader source,
                                                                        kernel_options how);

/// A call with inputs of those types and shapes. Throws what `call_kernel` throws.
PUMICE_FUNCTION std::shared_ptr<const kernel_call> make_call(
    const std::shared_ptr<const custom_kernel>& what, std::vector<kernel_value> inputs,
    span<const scalar> scalars);

/// The lazy results, which one dispatch computes together. Throws errc::invalid_argument,
/// errc::dtype_mismatch, errc::rank_mismatch, errc::size_overflow and errc::context_mismatch.
/// `home` is asked for where there are no inputs.
PUMICE_FUNCTION std::vector<any_tensor> call_kernel(
    const std::shared_ptr<const custom_kernel>& what, span<const any_tensor> inputs,
    span<const scalar> scalars, const callback<std::shared_ptr<engine>()>& home);

#ifndef PUMICE_COMPILED

namespace detail {

/// Whether Slang reads the identifier as a word of its own.
inline bool is_reserved(std::string_view name) {
    constexpr std::string_view words[] = {"as",          "associatedtype",
                                          "bool",        "break",
                                          "case",        "cbuffer",
                                          "catch",       "class",
                                          "const",       "continue",
                                          "default",     "defer",
                                          "discard",     "do",
                                          "double",      "else",
                                          "enum",        "export",
                                          "extension",   "extern",
                                          "false",       "float",
                                          "for",         "func",
                                          "groupshared", "half",
                                          "if",          "implementing",
                                          "import",      "in",
                                          "inline",      "inout",
                                          "int",         "interface",
                                          "internal",    "is",
                                          "let",         "module",
                                          "namespace",   "none",
                                          "nullptr",     "operator",
                                          "out",         "private",
                                          "property",    "public",
                                          "return",      "static",
                                          "struct",      "subscript",
                                          "switch",      "tbuffer",
                                          "this",        "This",
                                          "throw",       "throws",
                                          "true",        "try",
                                          "typealias",   "typedef",
                                          "uint",        "uniform",
                                          "using",       "var",
                                          "void",        "volatile",
                                          "where",       "while"};
    for (const std::string_view word : words)
        if (word == name) return true;
    return false;
}
/// How deep the brackets of a Slang text nest, but for those of comments and strings.
inline int nesting(std::string_view text) {
    int depth = 0, deepest = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view rest = text.substr(at);
        const char c = text[at];
        if (rest.starts_with("//")) at = std::min(text.find('\n', at), text.size());
        else if (rest.starts_with("/*")) at = std::min(text.find("*/", at + 2), text.size() - 1);
        else if (c == '"') {
            for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
                if (text[at] == '\\') ++at;
        } else if (c == '(' || c == '[' || c == '{') deepest = std::max(deepest, ++depth);
        else if (c == ')' || c == ']' || c == '}') depth = std::max(0, depth - 1);
    }
    return deepest;
}
/// Whether the text has `name(` or `name<`.
inline bool has_function(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        if (at > 0 && is_identifier(text[at - 1])) continue;
        const std::size_t next = text.find_first_not_of(" \t\r\n", at + name.size());
        if (next != text.npos && (text[next] == '(' || text[next] == '<')) return true;
    }
    return false;
}

/// A call being made: every fault names the kernel.
template <int = 0>
class kernel_caller {
public:
    kernel_caller(const std::shared_ptr<const custom_kernel>& what,
                  std::vector<kernel_value> inputs)
        : how_(what->how), place_(cat({"kernel ", what->name})), call_(new kernel_call) {
        call_->what = what;
        call_->inputs = std::move(inputs);
    }

    std::shared_ptr<const kernel_call> run(span<const scalar> scalars) && {
        check_inputs();
        take_scalars(scalars);
        find_outputs();
        find_grid();
        return std::move(call_);
    }

private:
    void check_inputs() {
        count("inputs", how_.inputs.size(), call_->inputs.size());
        for (std::size_t i = 0; i < how_.inputs.size(); ++i) {
            const kernel_input& wanted = how_.inputs[i];
            const kernel_value& v = call_->inputs[i];
            if (const dtype type = named(wanted.type, v.dtype); type != v.dtype)
                fail(errc::dtype_mismatch, place_,
                     {"input ", i, " is ", to_string(v.dtype), ", not ", to_string(type)});
            if (wanted.rank >= 0 && v.shape.rank() != wanted.rank)
                fail(errc::rank_mismatch, place_,
                     {"input ", i, " has shape ", to_string(v.shape), ", not rank ", wanted.rank});
            bound("input", i, v);
        }
    }
    void take_scalars(span<const scalar> scalars) {
        count("scalars", how_.scalars.size(), scalars.size());
        for (std::size_t i = 0; i < scalars.size(); ++i) {
            call_->scalars.emplace_back();
            const std::string why = bring_to(how_.scalars[i], scalars[i], call_->scalars.back());
            if (!why.empty())
                fail(errc::dtype_mismatch, place_,
                     {"scalar ", i, " is ", to_string(how_.scalars[i]), ": ", why});
        }
    }
    void find_outputs() {
        std::vector<kernel_value>& all = call_->outputs;
        if (how_.results) all = how_.results(call_->inputs);
        for (std::size_t i = 0; !how_.results && i < how_.outputs.size(); ++i) {
            const kernel_output& o = how_.outputs[i];
            kernel_value v{};
            if (static_cast<std::size_t>(o.like) < call_->inputs.size())
                v = call_->inputs[static_cast<std::size_t>(o.like)];
            if (o.shape) v.shape = *o.shape;
            v.dtype = named(o.type, v.dtype);
            all.push_back(std::move(v));
        }
        if (all.size() != how_.outputs.size())
            fail(errc::invalid_argument, place_,
                 {"`results` gives ", all.size(), " outputs, the description has ",
                  how_.outputs.size()});
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (const dtype type = named(how_.outputs[i].type, all[i].dtype); type != all[i].dtype)
                fail(errc::dtype_mismatch, place_,
                     {"`results` makes output ", i, " ", to_string(all[i].dtype), ", not ",
                      to_string(type)});
            bound("output", i, all[i]);
        }
    }
    void find_grid() {
        const shape threads = how_.grid.threads ? how_.grid.threads(call_->inputs, call_->outputs)
                                                : shape{element_count(call_->outputs[0].shape)};
        bool writes = false, none = false;
        for (const kernel_value& v : call_->outputs) writes |= element_count(v.shape) > 0;
        if (threads.empty() || threads.rank() > 3)
            fail(errc::invalid_argument, place_,
                 {"the grid ", to_string(threads), " has not one to three axes"});
        for (int i = 0; i < threads.rank(); ++i) {
            if (threads[i] < 0 || threads[i] > most)
                fail(threads[i] < 0 ? errc::invalid_argument : errc::size_overflow, place_,
                     {"the grid ", to_string(threads), " is outside [0, 2^31) along axis ", i});
            none |= threads[i] == 0;
            call_->threads[static_cast<std::size_t>(i)] = threads[i];
        }
        if (writes && none)
            fail(errc::invalid_argument, place_,
                 {"the grid ", to_string(threads), " has no thread to write the outputs"});
    }
    /// What kernels count elements and threads up to.
    static constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

    void count(const char* what, std::size_t wanted, std::size_t given) const {
        if (wanted != given)
            fail(errc::invalid_argument, place_, {"takes ", wanted, " ", what, ", got ", given});
    }
    /// The type that is asked for; `found` is what a name that is new stands for from now on.
    dtype named(const kernel_element& asked, dtype found) {
        if (asked.type) return *asked.type;
        if (asked.name.empty()) return found;
        for (const auto& [name, type] : call_->names)
            if (name == asked.name) return type;
        call_->names.emplace_back(asked.name, found);
        return found;
    }
    void bound(const char* what, std::size_t i, const kernel_value& v) const {
        for (const std::int64_t d : v.shape)
            if (d < 0)
                fail(errc::invalid_argument, place_,
                     {what, " ", i, ": the shape ", to_string(v.shape), " has a negative extent"});
        if (element_count(v.shape) > most)
            fail(errc::size_overflow, place_,
                 {what, " ", i, " of shape ", to_string(v.shape),
                  " passes the 2^31 elements that a kernel of one's own counts; take it in parts"});
    }

    const kernel_options& how_;
    std::string place_;
    std::shared_ptr<kernel_call> call_;
};

}  // namespace detail

PUMICE_BODY std::shared_ptr<const custom_kernel> make_custom_kernel(std::string_view name,
                                                                    std::string_view text,
                                                                    kernel_options how) {
    const std::string place = cat({"kernel ", name});
    const auto require = [&](bool good, std::initializer_list<piece> message) {
        if (!good) fail(errc::invalid_argument, place, message);
    };
    constexpr int deepest = 256;  // Slang reads brackets by calling itself
    require(detail::is_name(name), {"the name is no identifier"});
    require(!detail::is_reserved(name), {"the name is a word of Slang's; take another"});
    require(!name.starts_with("pumice_") && name != "groupX" && name != "groupY" &&
                name != "groupZ",
            {"the text around the kernel has that name already; take another"});
    require(detail::has_function(text, name),
            {"the Slang text has no function `", name, "(uint3 thread, ..)`"});
    require(detail::nesting(text) <= deepest,
            {"the brackets of the Slang text nest ", detail::nesting(text), " deep, at most ",
             deepest, " are taken"});
    require(!how.outputs.empty(), {"it gives nothing"});
    const auto check_name = [&](const kernel_element& e) {
        require(e.name.empty() || detail::is_name(e.name),
                {"the element type's name `", e.name, "` is no identifier"});
        require(!detail::is_reserved(e.name),
                {"the element type's name `", e.name, "` is a word of Slang's; take another"});
    };
    for (std::size_t i = 0; i < how.inputs.size(); ++i) {
        const kernel_input& in = how.inputs[i];
        check_name(in.type);
        require(!in.fused || !in.strided,
                {"input ", i, " is fused, so it has no strides; say one of the two"});
    }
    for (std::size_t i = 0; i < how.outputs.size(); ++i) {
        const kernel_output& o = how.outputs[i];
        check_name(o.type);
        require(!o.fused || how.outputs.size() == 1,
                {"output ", i, " is fused, which a kernel of one output can be"});
        const bool exists = o.like >= 0 && static_cast<std::size_t>(o.like) < how.inputs.size();
        require(how.results || exists || (o.shape && o.type.type),
                {"output ", i, " is like input ", o.like,
                 ", which there is not; give type and shape"});
        bool known = o.type.name.empty() || how.results;
        for (const kernel_input& in : how.inputs) known |= in.type.name == o.type.name;
        require(known, {"output ", i, ": no input says what `", o.type.name, "` is"});
    }
    require(!how.group.empty() && how.group.rank() <= 3,
            {"the workgroup ", to_string(how.group), " has not one to three axes"});
    for (const std::int64_t n : how.group)
        require(n > 0, {"the workgroup ", to_string(how.group), " has no threads"});
    return std::make_shared<const custom_kernel>(custom_kernel{std::string(name), std::string(text),
                                                               std::move(how)});
}

PUMICE_BODY std::shared_ptr<const custom_kernel> make_shader_kernel(own_shader source,
                                                                    kernel_options how) {
    how.grid = {1};  // the shader's own
    how.group = {1};
    std::string text = cat({to_string(source.language), " ", source.entry});
    for (const std::uint32_t n : source.groups) append_text(text, {" ", n});
    for (const shader_binding& b : source.bindings())
        append_text(text, {"\n", to_string(b.as), " ", b.set, " ", b.binding, " ", b.format});
    append_text(text, {"\n", source.inputs.size(), " inputs, pushes"});
    for (const std::byte b : source.push) append_text(text, {" ", static_cast<int>(b)});
    append_text(text, {"\n", source.text});
    if (source.graph) text += source.graph->summary();
    custom_kernel made{source.name, std::move(text), std::move(how), {}};
    for (const std::uint32_t word : source.words)
        for (int shift = 0; shift < 32; shift += 8)
            made.text.push_back(static_cast<char>(word >> shift & 0xff));
    made.shader = std::make_shared<const own_shader>(std::move(source));
    return std::make_shared<const custom_kernel>(std::move(made));
}

PUMICE_BODY std::shared_ptr<const kernel_call> make_call(const std::shared_ptr<const custom_kernel>&
                                                             what,
                                                         std::vector<kernel_value> inputs,
                                                         span<const scalar> scalars) {
    return detail::kernel_caller<>(what, std::move(inputs)).run(scalars);
}

PUMICE_BODY std::vector<any_tensor> call_kernel(const std::shared_ptr<const custom_kernel>& what,
                                                span<const any_tensor> inputs,
                                                span<const scalar> scalars,
                                                const callback<std::shared_ptr<engine>()>& home) {
    std::vector<kernel_value> values;
    for (const any_tensor& t : inputs) values.push_back({t.dtype(), t.shape()});
    const std::shared_ptr<const kernel_call> call = make_call(what, std::move(values), scalars);
    array_list<node_ptr> read;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const kernel_input& how = what->how.inputs[i];
        read.push_back(how.fused || how.strided ? inputs[i].get() : copy(inputs[i]).get());
    }
    const auto results = std::make_shared<kernel_results>();
    std::vector<any_tensor> list;
    for (std::size_t i = 0; i < call->outputs.size(); ++i) {
        const kernel_value& v = call->outputs[i];
        node_ptr n =
            make_node(v.dtype, v.shape, kernel_op{call, static_cast<int>(i), results}, read);
        if (!n->owner) n->owner = home();
        results->push_back(n);
        list.emplace_back(std::move(n));
    }
    return list;
}

#endif

}}  // namespace pumice::PUMICE_ABI
