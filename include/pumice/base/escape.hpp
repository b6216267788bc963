// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Any bytes as text within XML or JSON: what is no UTF-8 becomes U+FFFD, so a reader takes the
// whole.
#pragma once

#include <pumice/base/config.hpp>

#include <string>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Bytes of the UTF-8 character that `text` starts with; 0 where it starts with none.
inline std::size_t utf8_length(std::string_view text) noexcept {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = at(0);
    if (first < 0x80) return 1;
    const std::size_t length = first < 0xc2   ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    // Too long a form, a surrogate, or past U+10FFFF.
    const unsigned second = at(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90))
        return 0;
    return length;
}

/// Appends a character in another form, or gives false: it stands for itself.
using escape_ascii = bool(std::string& out, char c);

inline std::string escape(std::string_view text, escape_ascii* ascii) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) out += "\xef\xbf\xbd";
        else if (length > 1 || !ascii(out, text[0])) out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

}  // namespace detail

/// For XML's text and quoted attributes. Control characters, which XML has no way to write, become
/// U+FFFD too.
inline std::string escape_xml(std::string_view text) {
    return detail::escape(text, [](std::string& out, char c) {
        const char* by = c == '&'                 ? "&amp;"
                         : c == '<'               ? "&lt;"
                         : c == '>'               ? "&gt;"
                         : c == '"'               ? "&quot;"
                         : c == '\''              ? "&#39;"
                         : c == '\n' || c == '\t' ? " "
                         : c >= 0 && c < ' '      ? "\xef\xbf\xbd"
                                                  : nullptr;
        if (by) out += by;
        return by != nullptr;
    });
}

/// For what stands between the quotes of a JSON string.
inline std::string escape_json(std::string_view text) {
    return detail::escape(text, [](std::string& out, char c) {
        if (c == '"' || c == '\\') {
            (out += '\\') += c;
            return true;
        }
        if (static_cast<unsigned char>(c) >= ' ') return false;
        constexpr char digits[] = "0123456789abcdef";
        ((out += "\\u00") += digits[c >> 4]) += digits[c & 15];
        return true;
    });
}

}}  // namespace pumice::PUMICE_ABI
