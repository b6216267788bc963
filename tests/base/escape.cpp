// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Any bytes within XML and JSON.
#include <pumice/base/escape.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

TEST_CASE("what has a meaning in XML or JSON is written otherwise, the rest stands as it is") {
    CHECK(pm::escape_xml("a<b> & \"c\" 'd'\n") == "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; ");
    CHECK(pm::escape_json("a<b> & \"c\" \\ \n\t\x01\x1f") ==
          "a<b> & \\\"c\\\" \\\\ \\u000a\\u0009\\u0001\\u001f");
    CHECK(pm::escape_json("") == "");
    CHECK(pm::escape_json("\x7f") == "\x7f");
    const char* words = "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf \xed\x9f\xbf";
    CHECK(pm::escape_xml(words) == words);
    CHECK(pm::escape_json(words) == words);
}

TEST_CASE("bytes that are no UTF-8 become the replacement character, one each") {
    const std::string bad = "\xef\xbf\xbd";
    CHECK(pm::escape_json("a\xff z") == "a" + bad + " z");
    CHECK(pm::escape_json("\x80") == bad);
    CHECK(pm::escape_json("\xc3") == bad);                      // cut short
    CHECK(pm::escape_json("\xc3(") == bad + "(");               // not followed as it should be
    CHECK(pm::escape_json("\xc0\x80") == bad + bad);            // too long a form
    CHECK(pm::escape_json("\xe0\x9f\xbf") == bad + bad + bad);  // too long a form
    CHECK(pm::escape_json("\xf0\x8f\xbf\xbf") == bad + bad + bad + bad);
    CHECK(pm::escape_json("\xed\xa0\x80") == bad + bad + bad);            // a surrogate
    CHECK(pm::escape_json("\xf4\x90\x80\x80") == bad + bad + bad + bad);  // past U+10FFFF
    CHECK(pm::escape_xml(std::string_view("\0\x01", 2)) == bad + bad);
    CHECK(pm::escape_json(std::string_view("\0", 1)) == "\\u0000");
}
