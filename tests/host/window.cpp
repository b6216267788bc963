// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where the taps of a window lie, and that each line of each plane is taken once.
#include <pumice/host/window.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

namespace pm = pumice;

namespace {

struct moves {
    int stride[2], dilation[2], pad_begin[2], pad_end[2];
};

}  // namespace

TEST_CASE("host window: taps within the input, between pads and strides") {
    for (const int stride : {1, 2, 5})
        for (const int dilation : {1, 3})
            for (const int pad : {0, 2}) {
                const moves op{{stride}, {dilation}, {pad}, {1}};
                const pm::detail::window_axis axis(op, 0, 9,
                                                   (9 + pad + 1 - 2 * dilation - 1) / stride + 1,
                                                   3);
                for (std::int64_t o = 0; o < axis.out; ++o) {
                    std::int64_t within = 0, begin = 0, end = 3;
                    for (std::int64_t i = 0; i < 3; ++i) {
                        const std::int64_t at = o * stride - pad + i * dilation;
                        CHECK(axis.place(o, i) == at);
                        const bool inside = at >= 0 && at < 9;
                        CHECK((o >= axis.first(i) && o < axis.last(i)) == inside);
                        within += inside;
                    }
                    axis.cut(o, begin, end);
                    CHECK(end - begin == within);
                    CHECK(axis.count(o, false) == within);
                    CHECK(axis.count(o, true) == 3);
                }
            }
}

TEST_CASE("host window: stretches of lines and groups of planes take each line once") {
    const pm::thread_pool threads(3);
    for (const std::int64_t planes : {1, 7, 3000})
        for (const std::int64_t work : {1, 5000, 100000}) {
            const moves op{{1}, {1}, {0}, {0}};
            const pm::detail::window_axis down(op, 0, 9, 9, 1);
            std::vector<std::atomic<int>> taken(static_cast<std::size_t>(planes * 9));
            pm::detail::each_stretch(planes, down, work, threads,
                                     [&](std::int64_t plane, std::int64_t end, std::int64_t first,
                                         std::int64_t last) {
                                         for (; plane < end; ++plane)
                                             for (std::int64_t y = first; y < last; ++y)
                                                 ++taken[static_cast<std::size_t>(plane * 9 + y)];
                                     });
            bool once = true;
            for (const auto& n : taken) once = once && n == 1;
            CHECK(once);
        }
}
