// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The fields of problems: each kind has a name of its own, and fields that reach its members.
#include <pumice/kernels/fields.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace pumice;

namespace {

/// Counts a kind with its name, and looks at its fields.
template <class P>
void look_at(std::set<std::string_view>& kinds) {
    CHECK(kinds.insert(P::name).second);
    std::set<std::string> names;
    int members = 0;
    P p;
    each_field(p, [&](const char* name, auto&) {
        ++members;
        CHECK(names.insert(name).second);
    });
    CHECK(members >= 2);
    CHECK(names.size() == std::size_t(members));
}
template <class... P>
void look_at_all(std::set<std::string_view>& kinds, detail::type_list<P...>) {
    (look_at<P>(kinds), ...);
}

}  // namespace

TEST_CASE("fields: kinds of problems have names of their own, and their fields too") {
    std::set<std::string_view> kinds;
    look_at_all(kinds, detail::problems());
    CHECK(kinds.size() == 11);
    CHECK(kinds.contains("matmul"));
}

TEST_CASE("fields: what is written to a field is in the struct") {
    matmul_problem p;
    each_field(p, [](std::string_view name, auto& member) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::int64_t>)
            member = name == "m" ? 2 : name == "n" ? 3 : 5;
    });
    CHECK(p.m == 2);
    CHECK(p.n == 3);
    CHECK(p.k == 5);
    const pool_op pool;
    int arrays = 0;
    each_field(pool, [&](const char*, const auto& member) {
        arrays += std::is_array_v<std::remove_cvref_t<decltype(member)>>;
    });
    CHECK(arrays == 5);
}
