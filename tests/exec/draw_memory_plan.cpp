// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exec/draw_memory_plan.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;

namespace {
using buffers = pm::array_list<pm::planned_buffer>;
}

TEST_CASE("a plan as text") {
    const buffers list{{1000, 0, 1, -1, "conv"}, {1000, 1, 2, 0, "relu"}, {300, 2, 3, -1, ""}};
    CHECK(pm::to_string(pm::plan_memory(list), list) ==
          "offset  bytes  moments  buffer\n"
          "     0   1000      0-1  conv\n"
          "     0   1000      1-2  relu (in place of #0)\n"
          "  1024    300      2-3  #2\n"
          "1536 bytes for 3 buffers; unshared 2560, needed at once 1536\n");
}

TEST_CASE("a plan as a picture: one rectangle a buffer, and no name breaks it") {
    const buffers list{{1000, 0, 1, -1, "a<b>&\"c\"\x01\xff"}, {1000, 1, 2, 0, "relu"}, {0, 0, 9}};
    CHECK(
        pm::to_svg(pm::plan_memory(list), list) ==
        R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120000 60000" width="1200" height="600" font-family="sans-serif" font-size="1200">
<title>1024 bytes; unshared 2048, needed at once 1024</title>
<g><title>a&lt;b&gt;&amp;&quot;c&quot;��: 1000 bytes at 0, moments 0-1</title><rect x="0" y="1407" width="24000" height="58593" fill="hsl(0,60%,75%)" stroke="#444" stroke-width="20"/><text x="300" y="2607">a&lt;b&gt;&amp;&quot;c&quot;��</text></g>
<g><title>relu: 1000 bytes at 0, moments 1-2</title><rect x="24000" y="1407" width="12000" height="58593" fill="hsl(137,60%,75%)" stroke="#444" stroke-width="20"/><text x="24300" y="2607">relu</text></g>
</svg>
)svg");
    CHECK(pm::to_svg(pm::plan_memory(buffers{}), {}).ends_with("</svg>\n"));
}
