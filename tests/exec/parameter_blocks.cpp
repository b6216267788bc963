// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The parameter block of every kernel in the library's lists against the Slang that reads it,
// without a device. PUMICE_GOLDEN_WRITE=1 writes the structs of shaders/ anew from the kernels'
// tables:
//
//   PUMICE_GOLDEN_WRITE=1 build/gcc/tests/test_device --test-case='parameter blocks: text*'
#include <tests/device/machine.hpp>
#include <tests/slang/support.hpp>
#include <tests/support/block_layout.hpp>
#include <tests/support/sample_launches.hpp>

#include <pumice/exec/kernel_requests.hpp>

#include <cstdlib>
#include <set>

using namespace pumice;

namespace {

using members = std::vector<const block_member*>;

/// The struct's lines, each with the comment that its member has so far, where it stands.
std::string written_anew(std::string_view body, const members& list) {
    std::size_t end = 0;
    pumice_test::members_of_body(body, &end);
    std::istringstream lines{std::string(body.substr(0, end))};
    std::map<std::string, std::string> old;
    for (std::string line; std::getline(lines, line);)
        for (const std::string& m : pumice_test::members_of_body("\n" + line))
            old[pumice_test::name_of_member(m)] = line;
    std::string text = "\n";
    for (const block_member* m : list) {
        std::string line = cat({"    public ", m->slang, ";"});
        const std::string& before = old[pumice_test::name_of_member(m->slang)];
        if (const std::size_t at = before.find("//"); at != before.npos) {
            line.resize(std::max(line.size() + 1, at), ' ');
            line += before.substr(at);
        }
        text += line + "\n";
    }
    return text + std::string(body.substr(std::min(end, body.size())));
}

/// The module that holds a struct of the launch: its own, or the one that has it.
library_module* module_with(array_list<library_module>& modules, const launch& l,
                            const std::string& structure) {
    library_module* found = nullptr;
    for (library_module& m : modules)
        if (!pumice_test::body_of_struct(m.source, structure).empty() &&
            (!found || m.name == l.module))
            found = &m;
    return found;
}

}  // namespace

TEST_CASE("parameter blocks: text of every struct in shaders is what its kernels' tables say") {
    array_list<library_module> modules = test::library();
    std::set<std::string> seen, changed;
    pumice_test::each_sample_launch([&](const kernel_entry& k, const launch& l) {
        CAPTURE(k.name);
        pumice_test::each_struct(l, 0, [&](const block_member& owner, const members& list) {
            if (!*list[0]->slang) return;  // a text that is made with the launch
            const std::string structure = owner.structure;
            CAPTURE(structure);
            library_module* const m = module_with(modules, l, structure);
            REQUIRE(m != nullptr);
            const std::string_view body = pumice_test::body_of_struct(m->source, structure);
            std::vector<std::string> wanted;
            for (const block_member* each : list) wanted.emplace_back(each->slang);
            seen.insert(m->name + "." + structure);
            if (pumice_test::members_of_body(body) == wanted) return;
            const std::string anew = written_anew(body, list);
            CHECK_MESSAGE(std::getenv("PUMICE_GOLDEN_WRITE"),
                          "shaders/" << m->name << ".slang has another " << structure
                                     << " than its table says: " << anew);
            m->source.replace(static_cast<std::size_t>(body.data() - m->source.data()), body.size(),
                              anew);
            changed.insert(m->name);
        });
    });
    const std::filesystem::path shaders =
        std::filesystem::path(pumice_test::tests_dir()).parent_path() / "shaders";
    if (std::getenv("PUMICE_GOLDEN_WRITE"))
        for (const library_module& m : modules)
            if (changed.contains(m.name)) std::ofstream(shaders / (m.name + ".slang")) << m.source;
    // Every struct of parameters, and every one that a kernel is handed, is one of them.
    for (const library_module& m : modules)
        for (const std::string_view before : {"struct ", "uniform "})
            for (std::size_t at = 0; (at = m.source.find(before, at)) != m.source.npos; ++at) {
                const std::size_t first = at + before.size();
                std::size_t end = first;
                while (detail::is_identifier(m.source[end])) ++end;
                const std::string name = m.source.substr(first, end - first);
                if (before == "uniform " || name.ends_with("Params"))
                    CHECK_MESSAGE(seen.contains(m.name + "." + name), m.name << "." << name);
            }
}

TEST_CASE("parameter blocks: Slang lays every kernel's struct out as its table is written") {
    if (test::machines().empty()) return;  // skipped: a run without a device has no Slang either
    kernel_service service({.modules = test::library()});
    std::set<std::string> kernels, done;
    pumice_test::each_sample_launch([&](const kernel_entry& k, const launch& l) {
        // One of each kernel, with each combination of structs and their sizes.
        std::string key = cat({k.name, ".", l.entry, " "});
        for (const block_member& m : l.members)
            if (m.structure) append_text(key, {m.structure, " ", m.at, " "});
        kernels.insert(std::string(k.name));
        if (!done.insert(key).second) return;
        CAPTURE(key);
        const auto code = service.get(request_for(l));
        pumice_test::check_layout(l, code->words);
        if (l.threads > 0) CHECK(pumice_test::threads_of(code->words) == l.threads);
    });
    std::size_t listed = 0;
    for (const kernel_entries list :
         {kernels_for<elementwise_problem>, kernels_for<reduce_problem>,
          kernels_for<normalize_problem>, kernels_for<matmul_problem>, kernels_for<conv_problem>,
          kernels_for<pool_problem>, kernels_for<take_problem>, kernels_for<sort_problem>,
          kernels_for<scatter_problem>, kernels_for<scan_problem>,
          kernels_for<custom_kernel_problem>})
        listed += list.size();
    CHECK(kernels.size() == listed - 1);  // each, but a shader as it stands, which has no block
    MESSAGE(done.size() << " layouts of " << kernels.size() << " kernels");
}

TEST_CASE("parameter blocks: a row more is a line more of the struct, and comments stay") {
    const block_member rows[] = {
        {"I first", nullptr, 0, 0}, {"uint more", nullptr, 4, 0}, {"I last[2]", nullptr, 8, 0}};
    const std::string body =
        "\n    public I first, last;     // of both\n    public I place() { return first; }\n";
    CHECK(pumice_test::members_of_body(body) == std::vector<std::string>{"I first", "I last"});
    CHECK(
        written_anew(body, {&rows[0], &rows[1], &rows[2]}) ==
        "\n    public I first;           // of both\n    public uint more;\n    public I last[2];  "
        "       // of both\n    public I place() { return first; }\n");
}
