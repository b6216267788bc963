// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <algorithm>
#include <thread>

using namespace pumice;

namespace {

/// Modules as cmake/precompile.cpp keeps them, made in this process and named while it lives.
struct precompiled_here {
    std::vector<std::pair<std::string, std::string>> blobs;
    std::vector<precompiled_module> modules;
    std::string sources, options = detail::compile_options(false), tag;
    precompiled_library library{};
    const precompiled_library* const before = detail::precompiled;

    explicit precompiled_here(const array_list<library_module>& texts)
        : sources(to_string(kernel_service::digest_of_library(texts))) {
        module_store store;
        store.write = [this](const std::string& name, const std::string& by,
                             const std::string& blob) {
            tag = by;
            blobs.emplace_back(name, blob);
        };
        slang_compiler(slang_library::open(find_slang()), texts, std::move(store), false)
            .compile_library();
        for (const auto& [name, blob] : blobs) modules.push_back({name, blob.data(), blob.size()});
    }
    precompiled_here(const precompiled_here&) = delete;
    precompiled_here& operator=(const precompiled_here&) = delete;
    ~precompiled_here() { detail::precompiled = before; }

    void use() {
        library = {sources, options, tag, {modules.data(), modules.size()}};
        detail::precompiled = &library;
    }
};

/// How many files a service keeps that compiles one kernel: the kernel, and a module it compiled.
std::size_t files_kept(spirv_code& code) {
    const test::folder here;
    kernel_service s(test::options_in(here.path));
    code = *s.get(test::small_request());
    return here.files().size();
}

}  // namespace

TEST_CASE("modules that were compiled with the program are used, if Slang and text are the same") {
    precompiled_here made(test::small_library());
    REQUIRE(made.blobs.size() == 1);
    detail::precompiled = nullptr;
    spirv_code from_source, code;
    CHECK(files_kept(from_source) == 2);

    made.use();
    CHECK(files_kept(code) == 1);
    CHECK(code.words == from_source.words);

    SUBCASE("of another Slang") { made.tag += "0"; }
    SUBCASE("of another text") { made.sources = to_string(digest_of("another")); }
    SUBCASE("by other options") { made.options = detail::compile_options(true); }
    SUBCASE("not there") { made.modules.clear(); }
    made.use();
    CHECK(files_kept(code) == 2);
    CHECK(code.words == from_source.words);
}

TEST_CASE("each module of the library can be compiled with the program") {
    const auto texts = test::library();
    const precompiled_here made(texts);
    for (const library_module& m : texts) {
        CAPTURE(m.name);
        const auto count = std::count_if(made.blobs.begin(), made.blobs.end(),
                                         [&](const auto& b) { return b.first == m.name; });
        CHECK(count == (m.name.find('/') == std::string::npos ? 1 : 0));
    }
}

TEST_CASE("what runs in an arena of its own returns and throws as it would here") {
    int ran = 0;
    std::thread::id where;
    detail::in_own_arena([&] { ++ran, where = std::this_thread::get_id(); });
    CHECK(ran == 1);
#if defined(__GLIBC__)
    CHECK(where != std::this_thread::get_id());
#endif
    CHECK_THROWS_WITH_AS(detail::in_own_arena([] { throw std::runtime_error("from there"); }),
                         "from there", std::runtime_error);
}
