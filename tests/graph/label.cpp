// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/graph/label.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using pumice::label_slot;
using pumice::node_label;

TEST_CASE("label: name and origin, shared by copies; an empty one is nothing") {
    const node_label l("y", "Conv \"conv1\"");
    node_label copy = l;
    CHECK(copy.name() == "y");
    CHECK(copy.origin() == "Conv \"conv1\"");
    CHECK(copy.maker() == "Conv \"conv1\"");
    CHECK(copy.name().data() == l.name().data());
    copy = node_label("h");
    CHECK(copy.maker() == "h");
    CHECK(l.name() == "y");
    const node_label moved = std::move(copy);
    CHECK(moved.name() == "h");
    CHECK(!node_label("", ""));
    CHECK(node_label().name().empty());
    CHECK(sizeof(node_label) == sizeof(void*));
}

TEST_CASE("label: it stays on one line") {
    CHECK(node_label("a\nb\x7f\t\xc3\xa4").name() == "a?b??\xc3\xa4");
}

TEST_CASE("label: a slot takes the first, and its hash tells labels apart") {
    label_slot s;
    CHECK(s.empty());
    CHECK(s.hash() == 0);
    CHECK(!s.get());
    CHECK(s.set(node_label("a")));
    CHECK(!s.set(node_label("b")));
    CHECK(s.get().name() == "a");
    label_slot same, origin, other;
    same.set(node_label("a"));
    origin.set(node_label("", "a"));
    other.set(node_label("b"));
    CHECK(s.hash() == same.hash());
    CHECK(s.hash() != origin.hash());
    CHECK(s.hash() != other.hash());
}

TEST_CASE("label: threads that set one slot leave one label") {
    for (int round = 0; round < 100; ++round) {
        label_slot s;
        std::atomic<int> taken{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                taken += s.set(node_label(std::string(40, static_cast<char>('a' + t))));
                CHECK(s.get().name().size() == 40);
            });
        for (std::thread& t : threads) t.join();
        CHECK(taken == 1);
    }
}
