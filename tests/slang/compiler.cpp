// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <map>

using namespace pumice;

namespace {

slang_library& installed() { return slang_library::open(find_slang()); }

/// A store in memory that counts.
struct memory_store {
    std::map<std::string, std::string> blobs;
    int reads = 0, writes = 0;

    module_store functions() {
        return {[this](const std::string& name, const std::string&) -> std::optional<std::string> {
                    ++reads;
                    const auto found = blobs.find(name);
                    if (found == blobs.end()) return std::nullopt;
                    return found->second;
                },
                [this](const std::string& name, const std::string&, const std::string& blob) {
                    ++writes;
                    blobs[name] = blob;
                }};
    }
};

/// The error of a request that Slang must refuse, as text.
std::string refusal(slang_compiler& c, const kernel_request& r) {
    try {
        c.compile(r);
    } catch (const error& e) {
        CHECK(e.code() == errc::compile_failed);
        return e.what();
    }
    FAIL("compiled");
    return {};
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a generic kernel is specialised with a generated type and a number") {
    slang_compiler c(installed(), test::small_library());
    const spirv_code three = c.compile(test::small_request(3, 1));
    CHECK(test::is_spirv(three));
    CHECK(c.compile(test::small_request(3, 1)).words == three.words);
    CHECK(c.compile(test::small_request(4, 1)).words != three.words);
    CHECK(c.compile(test::small_request(3, 2)).words != three.words);
}

TEST_CASE("a kernel may be generated whole") {
    slang_compiler c(installed(), {});
    const kernel_request r{"own",
                           "run",
                           {},
                           {{"own",
                             "[shader(\"compute\")] [numthreads(1, 1, 1)]\n"
                             "public void run(uniform uint* p) { p[0] = 1; }\n"}}};
    CHECK(test::is_spirv(c.compile(r)));
}

TEST_CASE("a library module may lie in parts, and is kept as one") {
    memory_store kept;
    const array_list<library_module> parts{
        {"whole", "module whole;\n__include \"whole/half\";\n"},
        {"whole/half", "implementing whole;\npublic uint half_of(uint x) { return x / 2; }\n"}};
    const kernel_request r{"use",
                           "run",
                           {},
                           {{"use",
                             "import whole;\n[shader(\"compute\")] [numthreads(1, 1, 1)]\n"
                             "public void run(uniform uint* p) { p[0] = half_of(p[0]); }\n"}}};
    slang_compiler c(installed(), parts, kept.functions());
    const spirv_code code = c.compile(r);
    CHECK(kept.writes == 1);
    slang_compiler again(installed(), parts, kept.functions());
    CHECK(again.compile(r).words == code.words);
    CHECK(kept.writes == 1);
}

TEST_CASE("a generated module may import one before it") {
    slang_compiler c(installed(), test::small_library());
    kernel_request r = test::small_request();
    r.generated
        .push_back({"outer",
                    "import fill;\nimport times_3;\npublic struct outer : IValue "
                    "{ public static uint value(uint i) { return times_3.value(i) + 5; } }\n"});
    r.arguments[0] = "outer";
    CHECK(test::is_spirv(c.compile(r)));
}

TEST_CASE("a refused text is an error with Slang's words and numbered lines, and does no harm") {
    slang_compiler c(installed(), test::small_library());
    kernel_request bad = test::small_request();
    bad.generated[0].text = "import fill;\npublic struct times_3 : IValue { oops }\n";
    const std::string text = refusal(c, bad);
    CHECK(contains(text, "fill.run<times_3, 1>"));
    CHECK(contains(text, "times_3.slang:2"));
    CHECK(contains(text, "   2 | public struct times_3"));
    CHECK(contains(refusal(c, bad), "oops"));
    CHECK(!contains(text, "which computes"));
    bad.generated[0].text = "import element;\nimport fill;\n// add, mine\nstruct p { oops }\n";
    CHECK(contains(refusal(c, bad), "fill.run<times_3, 1>, which computes add, mine"));
    bad.generated[0].text = "import fill;\npublic struct times_3 : IValue { oops }\n";
    CHECK(test::is_spirv(c.compile(test::small_request())));
    CHECK(contains(refusal(c, bad), "oops"));  // the name is now taken by a good text
}

TEST_CASE("what is missing is named") {
    slang_compiler c(installed(), test::small_library());
    kernel_request r = test::small_request();
    r.module = "nothing";
    CHECK(contains(refusal(c, r), "nothing.run"));
    r = test::small_request();
    r.entry = "walk";
    CHECK(contains(refusal(c, r), "entry point"));
    r = test::small_request();
    r.arguments[0] = "times_9";
    CHECK(contains(refusal(c, r), "times_9"));
    r = test::small_request();
    r.arguments.pop_back();
    CHECK(contains(refusal(c, r), "specialis"));
    slang_compiler broken(installed(), {{"fill", "module fill;\nthis is no Slang\n"}});
    CHECK(contains(refusal(broken, test::small_request()), "fill.slang"));
}

TEST_CASE("another text under a known name gives its own code") {
    slang_compiler c(installed(), test::small_library());
    const spirv_code three = c.compile(test::small_request(3));
    kernel_request other = test::small_request(4);
    other.arguments[0] = other.generated[0].name = "times_3";
    std::string& text = other.generated[0].text;
    text.replace(text.find("times_4"), 7, "times_3");
    CHECK(c.compile(other).words != three.words);
    CHECK(c.compile(test::small_request(3)).words == three.words);
}

TEST_CASE("library modules are kept compiled, and only ones of this very Slang are used") {
    memory_store kept;
    slang_compiler first(installed(), test::small_library(), kept.functions());
    const spirv_code code = first.compile(test::small_request());
    CHECK(kept.writes == 1);
    REQUIRE(kept.blobs.contains("fill"));
    const std::string blob = kept.blobs["fill"];

    SUBCASE("of this one") {
        slang_compiler second(installed(), test::small_library(), kept.functions());
        CHECK(second.compile(test::small_request()).words == code.words);
        CHECK(kept.writes == 1);
    }
    SUBCASE("of another: its tag is changed in the blob") {
        std::string tag;
        {
            const std::lock_guard lock(installed().mutex);
            tag = installed().build_tag();
        }
        std::string& other = kept.blobs["fill"];
        const std::size_t at = other.find(tag);
        REQUIRE(at != std::string::npos);
        other[at + tag.size() - 1] = other[at + tag.size() - 1] == '9' ? '8' : '9';
        slang_compiler second(installed(), test::small_library(), kept.functions());
        CHECK(second.compile(test::small_request()).words == code.words);
        CHECK(kept.writes == 2);
        CHECK(kept.blobs["fill"] == blob);
    }
    SUBCASE("not a module at all") {
        kept.blobs["fill"] = "hello";
        slang_compiler second(installed(), test::small_library(), kept.functions());
        CHECK(second.compile(test::small_request()).words == code.words);
        CHECK(kept.writes == 2);
    }
}

TEST_CASE("sessions are renewed while kernels go on") {
    slang_compiler c(installed(), test::small_library());
    const spirv_code first = c.compile(test::small_request(0));
    for (int i = 1; i <= 205; ++i) REQUIRE(test::is_spirv(c.compile(test::small_request(i))));
    CHECK(c.compile(test::small_request(0)).words == first.words);
}

TEST_CASE("each module of the library compiles") {
    const auto modules = test::library();
    slang_compiler c(installed(), modules);
    for (const library_module& m : modules) {
        if (m.name.find('/') != std::string::npos) continue;  // a part of another module
        CAPTURE(m.name);
        const std::string name = "uses_" + m.name;
        const kernel_request r{name,
                               "run",
                               {},
                               {{name, "import " + m.name +
                                           ";\n[shader(\"compute\")] [numthreads(1, 1, 1)]\n"
                                           "public void run(uniform uint* p) { p[0] = 1; }\n"}}};
        CHECK(test::is_spirv(c.compile(r)));
    }
}
