// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that a model brings, in its package: their text, and what each of their calls takes and
// gives, so that the functions that say so need not be there when it is loaded.
#pragma once

#include <pumice/exec/plan/control.hpp>
#include <pumice/package/detail/reader.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A kernel and its calls in a plan, each once.
struct compute_node {
    std::shared_ptr<const custom_kernel> kernel;
    std::vector<std::shared_ptr<const kernel_call>> calls;
};

inline bool alike(span<const kernel_value> a, span<const kernel_value> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.dtype == y.dtype && x.shape == y.shape;
    });
}

/// Of a plan and those within it, in the order of their first steps. Throws errc::unsupported for
/// two of one name, but for shader operators, and for two calls that differ in their outputs alone.
inline void find_compute_nodes(const plan& p, std::vector<compute_node>& list) {
    for (const plan_step& s : p.steps) {
        if (const auto* c = s.what.get_if<control_problem>())
            for (const nested_plan& n : c->parts) find_compute_nodes(*n.what, list);
        const auto* k = s.what.get_if<custom_kernel_problem>();
        if (!k) continue;
        const auto& call = k->call;
        auto at = std::find_if(list.begin(), list.end(), [&](const compute_node& n) {
            return n.kernel->unique_name() == call->what->unique_name();
        });
        if (at == list.end()) at = list.insert(at, {call->what, {}});
        if (at->kernel->text != call->what->text)
            fail(errc::unsupported, "package",
                 {"two kernels are called ", call->what->name, "; give one another name"});
        const auto known = std::find_if(at->calls.begin(), at->calls.end(), [&](const auto& other) {
            return alike(other->inputs, call->inputs);
        });
        if (known == at->calls.end()) at->calls.push_back(call);
        else if (!alike((*known)->outputs, call->outputs))
            fail(errc::unsupported, "package",
                 {"two calls of ", call->what->name,
                  " take the same and give other shapes; give one another name"});
    }
}

inline flatbuffers::Offset<tables::Shader> write_shader(flatbuffers::FlatBufferBuilder& b,
                                                        const own_shader& s) {
    const auto places = [&](const array_list<shader_binding>& from) {
        std::vector<tables::Binding> made;
        for (const shader_binding& p : from)
            made.emplace_back(p.set, p.binding, static_cast<std::uint32_t>(p.as), p.format,
                              p.texel);
        return b.CreateVectorOfStructs(made);
    };
    const auto entry = b.CreateString(s.entry);
    const auto groups = b.CreateVector(s.groups.data(), s.groups.size());
    const auto inputs = places(s.inputs), outputs = places(s.outputs);
    const auto push =
        b.CreateVector(reinterpret_cast<const std::uint8_t*>(s.push.data()), s.push.size());
    const auto words = b.CreateVector(s.words.data(), s.words.size());
    return tables::CreateShader(b, entry, groups, inputs, outputs, push, words);
}

/// Throws errc::bad_file for what parse_shader_attributes gives of no text.
inline own_shader read_shader(const package_reader& from, const tables::Node& n) {
    const tables::Shader& t = *n.shader();
    own_shader s;
    s.name = n.name()->str();
    s.file = from.file();
    const auto refuse = [&](const char* why) {
        from.refuse({"the shader operator ", s.name, " has ", why});
    };
    s.entry = t.entry()->str();
    std::optional<shader_language> language;
    for (const shader_language each : {shader_language::slang, shader_language::hlsl,
                                       shader_language::glsl, shader_language::spirv})
        if (n.language()->string_view() == to_string(each)) language = each;
    if (!language) refuse("a language that this program does not know");
    s.language = *language;
    if (s.language == shader_language::spirv) s.words.append(t.words()->begin(), t.words()->end());
    else s.text = n.text()->str();
    if (t.groups()->size() != s.groups.size()) refuse("no triple of workgroups");
    for (flatbuffers::uoffset_t i = 0; i < t.groups()->size(); ++i)
        s.groups[i] = t.groups()->Get(i);
    const auto places = [&](const flatbuffers::Vector<const tables::Binding*>& list,
                            array_list<shader_binding>& to) {
        for (const tables::Binding* p : list) {
            constexpr auto last = static_cast<std::uint32_t>(shader_descriptor::tensor);
            if (p->descriptor() > last) refuse("a descriptor that this program does not know");
            const auto as = static_cast<shader_descriptor>(p->descriptor());
            if (has_format(as) ? p->texel() == 0 || p->texel() > 16 : p->texel() != 0)
                refuse("texels that cannot be");
            const shader_binding made{p->set(), p->binding(), as, p->format(), p->texel()};
            for (const shader_binding& other : s.bindings())
                if (made.same_place(other)) refuse("two tensors at one binding");
            to.push_back(made);
        }
    };
    places(*t.inputs(), s.inputs);
    places(*t.outputs(), s.outputs);
    const auto* const bytes = reinterpret_cast<const std::byte*>(t.push()->data());
    s.push.append(bytes, bytes + t.push()->size());
    if (s.push.size() % 4 != 0) refuse("push constants that are no words");
    return s;
}

inline flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<tables::Node>>>
write_compute_nodes(flatbuffers::FlatBufferBuilder& b, const std::vector<compute_node>& list) {
    const auto text = [&](std::string_view s) { return b.CreateString(s.data(), s.size()); };
    const auto shape_of = [&](span<const std::int64_t> s) {
        return b.CreateVector(std::vector<std::int64_t>(s.begin(), s.end()));
    };
    const auto values = [&](const std::vector<kernel_value>& from) {
        std::vector<flatbuffers::Offset<tables::NodeValue>> made;
        for (const kernel_value& v : from) {
            const auto type = text(to_string(v.dtype));
            const auto shape = shape_of(v.shape);
            made.push_back(tables::CreateNodeValue(b, type, shape));
        }
        return b.CreateVector(made);
    };
    const auto operand = [&](const kernel_element& e, int rank, bool fused, bool strided) {
        const auto type = text(e.type ? to_string(*e.type) : std::string_view(e.name));
        return tables::CreateOperand(b, type, !e.type, rank, fused, strided);
    };
    std::vector<flatbuffers::Offset<tables::Node>> nodes;
    for (const compute_node& n : list) {
        const kernel_options& how = n.kernel->how;
        const own_shader* const shader = n.kernel->shader.get();
        if (shader && shader->graph)
            throw error(
                errc::unsupported, "package",
                cat({n.kernel->name, " is a data graph of the device's"}),
                {"load the model with pumice::graph_segments::translated, which makes kernels "
                 "of it"});
        const auto name = text(n.kernel->name),
                   language = text(shader ? to_string(shader->language) : "slang"),
                   source = text(shader ? shader->text : n.kernel->text);
        std::vector<flatbuffers::Offset<tables::Operand>> ins, outs;
        for (const kernel_input& i : how.inputs)
            ins.push_back(operand(i.type, i.rank, i.fused, i.strided));
        for (const kernel_output& o : how.outputs)
            outs.push_back(operand(o.type, -1, o.fused, false));
        std::vector<flatbuffers::Offset<flatbuffers::String>> types;
        for (const dtype t : how.scalars) types.push_back(text(to_string(t)));
        std::vector<flatbuffers::Offset<tables::Call>> calls;
        for (const auto& c : n.calls) {
            const auto inputs = values(c->inputs), outputs = values(c->outputs);
            calls.push_back(tables::CreateCall(b, inputs, outputs, shape_of(c->threads)));
        }
        const auto inputs = b.CreateVector(ins), outputs = b.CreateVector(outs);
        const auto scalars = b.CreateVector(types);
        const auto group = shape_of(how.group);
        const auto uses = b.CreateVector(calls);
        nodes.push_back(tables::CreateNode(b, name, language, source, inputs, outputs, scalars,
                                           group, how.whole_groups, how.checked, uses,
                                           shader ? write_shader(b, *shader) : 0));
    }
    return b.CreateVector(nodes);
}

/// Kernels that do what those did which were written. Throws errc::bad_file.
inline std::vector<std::shared_ptr<const custom_kernel>> read_compute_nodes(const package_reader&
                                                                                from) {
    struct use {
        std::vector<kernel_value> inputs, outputs;
        shape threads;
    };
    const auto shape_of = [&](const flatbuffers::Vector<std::int64_t>& v) {
        return from.shape_of(v);
    };
    const auto values = [&](const auto& list) {
        std::vector<kernel_value> made;
        for (const tables::NodeValue* v : list)
            made.push_back({from.type_of(*v->type()), shape_of(*v->shape())});
        return made;
    };
    const auto element = [&](const tables::Operand& o) {
        kernel_element e;
        if (!o.type() || o.type()->size() == 0) return e;
        if (o.named()) e.name = o.type()->str();
        else e.type = from.type_of(*o.type());
        return e;
    };
    std::vector<std::shared_ptr<const custom_kernel>> list;
    for (const tables::Node* n : *from.index().nodes()) {
        if (!n->shader() && n->language()->string_view() != "slang")
            from.refuse({"the compute node ", n->name()->string_view(), " is written in ",
                         n->language()->string_view(), "; this program knows slang"});
        kernel_options how;
        how.outputs.clear();
        if (n->inputs())
            for (const tables::Operand* o : *n->inputs())
                how.inputs.push_back({element(*o), o->rank(), o->fused(), o->strided()});
        if (n->outputs())
            for (const tables::Operand* o : *n->outputs())
                how.outputs.push_back({element(*o), 0, {}, o->fused()});
        if (n->scalars())
            for (const flatbuffers::String* t : *n->scalars())
                how.scalars.push_back(from.type_of(*t));
        how.group = shape_of(*n->group());
        how.whole_groups = n->whole_groups();
        how.checked = n->checked();
        auto uses = std::make_shared<std::vector<use>>();
        for (const tables::Call* c : *n->calls())
            uses->push_back({values(*c->inputs()), values(*c->outputs()), shape_of(*c->threads())});
        const auto found =
            [uses, name = n->name()->str()](span<const kernel_value> inputs) -> const use& {
            for (const use& u : *uses)
                if (alike(u.inputs, inputs)) return u;
            fail(errc::bad_file, "package",
                 {"the compute node ", name, " is not described for a call that the graph has"});
        };
        how.results = [found](span<const kernel_value> in) { return found(in).outputs; };
        how.grid = kernel_grid([found](span<const kernel_value> in, span<const kernel_value>) {
            return found(in).threads;
        });
        if (n->shader()) {
            own_shader s = read_shader(from, *n);
            if (s.inputs.size() != how.inputs.size() || s.outputs.size() != how.outputs.size() ||
                s.outputs.empty())
                from.refuse({"the shader operator ", s.name, " has other bindings than tensors"});
            list.push_back(make_shader_kernel(std::move(s), std::move(how)));
            continue;
        }
        try {
            list.push_back(make_custom_kernel(n->name()->string_view(), n->text()->string_view(),
                                              std::move(how)));
        } catch (const error& e) {
            from.refuse({e.what()});
        }
    }
    return list;
}

}}}  // namespace pumice::PUMICE_ABI::detail
