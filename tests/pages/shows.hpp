// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The examples of docs/: each `SHOWS("text", expression);` is a line of a page, and says what the
// expression prints. `tests/checks/reference` makes the pages of them.
#pragma once

#include <pumice/array_api.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

namespace pumice_test {

inline std::string one_line(std::string text) {
    std::string line;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n';
        if (space && (line.empty() || line.back() == ' ' || line.back() == '[')) continue;
        line += space ? ' ' : c;
    }
    return line;
}

inline std::string shown(const std::string& text) { return one_line(text); }
inline std::string shown(std::string_view text) { return std::string(text); }
inline std::string shown(const pumice::shape& extent) { return pumice::to_string(extent); }
inline std::string shown(pumice::dtype type) { return std::string(pumice::to_string(type)); }
template <class X>
    requires std::is_arithmetic_v<X>
std::string shown(X x) {
    if constexpr (std::same_as<X, bool>) return x ? "true" : "false";
    else if constexpr (std::integral<X>) return std::to_string(x);
    else {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%g", double(x));
        return text.data();
    }
}
template <class X>
    requires requires(const X& x) { pumice::any_tensor(x.get()); }
std::string shown(const X& x) {
    return one_line(pumice::to_string(pumice::any_tensor(x.get())));
}
template <class... X>
std::string shown(const std::tuple<X...>& list);
template <class List>
    requires requires(const List& list) { shown(*list.begin()); } &&
             (!std::convertible_to<const List&, std::string_view>)
std::string shown(const List& list) {
    std::string text;
    for (const auto& each : list) text += (text.empty() ? "" : ", ") + shown(each);
    return "{" + text + "}";
}
template <class... X>
std::string shown(const std::tuple<X...>& list) {
    std::string text;
    std::apply(
        [&](const auto&... each) { ((text += (text.empty() ? "" : ", ") + shown(each)), ...); },
        list);
    return "{" + text + "}";
}

}  // namespace pumice_test

#define SHOWS(TEXT, ...) CHECK(pumice_test::shown(__VA_ARGS__) == TEXT)
