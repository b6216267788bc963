// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What is written for each form of a map; whole texts are compared in tests/golden.
#include <pumice/expr/emit_map.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

std::string type_of(std::uint32_t form) {
    std::string text;
    pumice::detail::map_emitter<std::string>(text).type(0, form);
    return text;
}
std::string load_of(std::uint32_t form) {
    std::string text;
    pumice::detail::map_emitter<std::string>(text).load({0, form, "F32", "float"});
    return text;
}
bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("emit_map: an axis alone is not divided, more are") {
    CHECK(has(type_of(0x2), "uint2 m[5]"));
    CHECK(!has(type_of(0x2), "/"));
    CHECK(has(type_of(0x12), "i / at<I>(m[1])"));
    CHECK(!has(type_of(0x12), "i / at<I>(m[5])"));
    CHECK(has(type_of(0x112), "i / at<I>(m[5])"));
    CHECK(has(type_of(0x112), "uint2 m[13]"));
}

TEST_CASE("emit_map: each kind of axis, and no load where there is no element") {
    CHECK(has(type_of(0x1), "return i * at<I>(m[4])"));
    CHECK(has(type_of(0x2), "around<I>(i + at<I>(m[2]), at<I>(m[3])) * at<I>(m[4])"));
    CHECK(has(type_of(0x3), "edge<I>"));
    CHECK(has(type_of(0x4), "mirror<I>"));
    CHECK(has(type_of(0x5), "inside<I>(i + at<I>(m[2]), at<I>(m[3]), within)"));
    CHECK(has(load_of(0x12), "v.x0 = F32.load(a.x0, i0);"));
    CHECK(has(load_of(0x51), "v.x0 = w0 ? F32.load(a.x0, i0) : float(0);"));
}
