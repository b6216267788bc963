// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models and functions as VGF files: written as TOSA, which Arm's model converter makes a VGF of.
// The graph is that of any run, before it is fused, so what can be written is what TOSA has
// operators for.
#pragma once

#include <pumice/model/model.hpp>
#include <pumice/model/vgf/detail/write_nodes.hpp>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#ifdef __unix__
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
#endif

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

struct save_options {
    /// Arm's model converter: a path, or a name to be looked for. Where it is empty, what the
    /// environment variable PUMICE_MODEL_CONVERTER says, else `model-converter`.
    std::filesystem::path converter = {};
};

/// A function of tensors as TOSA in MLIR's text: `main`, over inputs of these types and shapes.
/// Inputs and outputs are called by their labels (`pm::named`), where they have some. Shader
/// operators are `tosa.custom`; a tensor without axes has one. Throws errc::unsupported_op
/// for ops that TOSA has nothing for, errc::unsupported for types that it has not, and what the
/// function throws.
inline std::string to_tosa(const context& home, span<const executable::value> inputs,
                           const traced_function& function) {
    return detail::graph_writer().run(pumice::detail::trace_graph(home, inputs, function));
}
/// The same of a model, with its names, for these shapes of its inputs, those of the file where
/// left out.
inline std::string to_tosa(const model& m, span<const shape> shapes = {}) {
    const std::vector<executable::value> values = m.recorded_values(shapes);
    std::vector<std::string> inputs, outputs;
    for (const model_value& v : m.inputs()) inputs.push_back(v.name);
    for (const model_value& v : m.outputs()) outputs.push_back(v.name);
    return detail::graph_writer().run(pumice::detail::trace_graph(m.where(), values,
                                                                  [&](span<const any_tensor> x) {
                                                                      return m.run(x);
                                                                  }),
                                      std::move(inputs), std::move(outputs));
}

namespace detail {

/// Runs the converter. Gives what it says where it fails.
inline std::string convert(const std::string& program, const std::filesystem::path& from,
                           const std::filesystem::path& to, const std::filesystem::path& said) {
#ifdef __unix__
    std::string words[] = {program, "--input", from.string(), "--output", to.string()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&files, 1, 2);
    ::pid_t child = 0;
    const int fault =
        ::posix_spawnp(&child, program.c_str(), &files, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    int status = 127 << 8;
    if (fault == 0)
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    if (fault != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        throw error(errc::unsupported, "vgf",
                    cat({"Arm's model converter, ", program, ", cannot be started"}),
                    {"it comes with the Python package ai-ml-sdk-model-converter; say where it is "
                     "by save_options::converter or PUMICE_MODEL_CONVERTER"});
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    std::ifstream text(said);
    std::string all((std::istreambuf_iterator<char>(text)), std::istreambuf_iterator<char>());
    return cat({WIFEXITED(status) ? "exit status " : "ended by signal ",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), ": ",
                std::string_view(all).substr(0, 2000)});
#else
    static_cast<void>(from), static_cast<void>(to), static_cast<void>(said);
    throw error(errc::unsupported, "vgf", cat({program, " is started on Unix only"}));
#endif
}

}  // namespace detail

/// Makes a VGF file of TOSA in MLIR's text: graph segments of its operators, a compute segment of
/// each shader operator, the tensors between, and constants. Throws errc::unsupported where there
/// is no converter, or it does not take the text, and errc::io_failed.
inline void save_tosa(const std::filesystem::path& path, std::string_view text,
                      const save_options& options = {}) {
    std::string program = options.converter.string();
    if (program.empty()) {
        const char* const named = std::getenv("PUMICE_MODEL_CONVERTER");
        program = named && *named ? named : "model-converter";
    }
    const auto beside = [&](const char* end) {
        std::filesystem::path p = path;
        return p += end;
    };
    struct removed {
        std::filesystem::path file;
        ~removed() {
            std::error_code ignored;
            std::filesystem::remove(file, ignored);
        }
    } const source{beside(".mlir")}, made{beside(".new")}, said{beside(".txt")};
    {
        std::ofstream out(source.file, std::ios::binary);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        if (!out.flush())
            throw error(errc::io_failed, "vgf",
                        source.file.string() +
                            ": cannot be written: " + std::generic_category().message(errno));
    }
    const std::string fault = detail::convert(program, source.file, made.file, said.file);
    if (!fault.empty())
        throw error(errc::unsupported, "vgf",
                    path.string() + ": Arm's model converter does not take what was written",
                    {fault});
    std::error_code code;
    std::filesystem::rename(made.file, path, code);
    if (code) throw error(errc::io_failed, "vgf", path.string() + ": " + code.message());
}

/// Writes a model, for these shapes of its inputs, as a VGF file. Inputs and outputs are in their
/// order, by their names; a comma in one becomes an underscore. Throws what `to_tosa` and
/// `save_tosa` throw.
inline void save(const std::filesystem::path& path, const model& m, span<const shape> shapes = {},
                 const save_options& options = {}) {
    save_tosa(path, to_tosa(m, shapes), options);
}
/// The same of a function of tensors.
inline void save(const std::filesystem::path& path, const context& home,
                 span<const executable::value> inputs, const traced_function& function,
                 const save_options& options = {}) {
    save_tosa(path, to_tosa(home, inputs, function), options);
}

}}}  // namespace pumice::PUMICE_ABI::vgf
