// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shaders as they stand, in Slang, HLSL or GLSL.
#pragma once

#include <pumice/slang/compiler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// GLSL whose main Slang takes for what it is: without the attribute it leaves out local_size.
inline std::string with_marked_main(std::string_view glsl) {
    std::string text;
    std::size_t done = 0;
    for (std::size_t at = glsl.find("void"); at != glsl.npos; at = glsl.find("void", at + 1)) {
        const std::size_t name = glsl.find_first_not_of(" \t\r\n", at + 4);
        if (name == glsl.npos || name == at + 4 || !glsl.substr(name).starts_with("main")) continue;
        const std::size_t open = glsl.find_first_not_of(" \t\r\n", name + 4);
        if (open == glsl.npos || glsl[open] != '(') continue;
        append_text(text, {glsl.substr(done, at - done), "[shader(\"compute\")] "});
        done = at;
    }
    append_text(text, {glsl.substr(done)});
    return text;
}

}  // namespace detail

/// A shader as it stands, in a session of its own: it is laid out as its language says.
inline spirv_code build_shader(slang_compiler& with, const kernel_request& request) {
    const bool glsl = *request.language == shader_language::glsl;
    slang::IGlobalSession& global = glsl ? with.library_.glsl_session() : with.library_.session();
    with.tag_ = with.library_.build_tag();
    slang::TargetDesc target{};
    target.format = SLANG_SPIRV;
    target.profile = global.findProfile("spirv_1_6");
    slang::CompilerOptionEntry plain{};
    plain.name = slang::CompilerOptionName::SkipSPIRVValidation;
    plain.value.kind = slang::CompilerOptionValueKind::Int;
    plain.value.intValue0 = 1;
    slang::SessionDesc description{};
    description.targets = &target;
    description.targetCount = 1;
    description.allowGLSLSyntax = glsl;
    description.compilerOptionEntries = &plain;
    description.compilerOptionEntryCount = 1;
    detail::com_ptr<slang::ISession> session;
    with.check(request, "making a session",
               SLANG_SUCCEEDED(global.createSession(description, session.out())) && session,
               nullptr);
    const generated_module& text = request.generated[0];
    constexpr const char* endings[] = {".slang", ".hlsl", ".glsl"};
    const std::string path = text.name + endings[static_cast<int>(*request.language)];
    detail::com_ptr<ISlangBlob> said;
    const std::string source = glsl ? detail::with_marked_main(text.text) : text.text;
    slang::IModule* const module =
        session->loadModuleFromSourceString(text.name.c_str(), path.c_str(), source.c_str(),
                                            said.out());
    with.check(request, "reading the text", module != nullptr, said.get());
    detail::com_ptr<slang::IEntryPoint> entry;
    bool good =
        SLANG_SUCCEEDED(module->findAndCheckEntryPoint(request.entry.c_str(), SLANG_STAGE_COMPUTE,
                                                       entry.out(), said.out()));
    with.check(request, "finding the entry point", good && entry, said.get());
    slang::IComponentType* parts[] = {module, entry.get()};
    detail::com_ptr<slang::IComponentType> program;
    good =
        SLANG_SUCCEEDED(session->createCompositeComponentType(parts, 2, program.out(), said.out()));
    with.check(request, "joining the parts", good && program, said.get());
    return with.finish(request, program.get());
}

}}  // namespace pumice::PUMICE_ABI
