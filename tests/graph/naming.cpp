// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/front.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;

TEST_CASE("naming: a name is the value's, seen by every handle; the first stays") {
    const std::shared_ptr<engine> home = host();
    const any_tensor x = data(home, {2, 3}), again = x;
    CHECK(x.name().empty());
    CHECK(named(x, "x").name() == "x");
    CHECK(again.name() == "x");
    CHECK(named(x, "y").name() == "x");
    CHECK(named(apply<op::add>(x, 1.0), "attention", 3).name() == "attention-3");
    CHECK(apply<op::add>(x, 1.0).name().empty());
}

TEST_CASE("naming: views are called after what they show, before they are evaluated and after") {
    const std::shared_ptr<engine> home = host();
    const any_tensor x = data(home, {2, 3}), y = named(apply<op::add>(x, 1.0), "y");
    const std::int64_t swap[] = {1, 0};
    const slice part[] = {slice{0, 1}};
    const std::pair<any_tensor, const char*> rows[] = {{permute_dims(y, swap), "y (permuted)"},
                                                       {slice_view(y, part), "y (view)"},
                                                       {flip(y), "y (view)"},
                                                       {broadcast_to(y, {4, 2, 3}), "y (view)"},
                                                       {reshape(y, {3, 2}), "y (reshaped)"},
                                                       {permute_dims(x, swap), ""},
                                                       {named(reshape(y, {6}), "flat"), "flat"}};
    for (const auto& [t, name] : rows) {
        CAPTURE(name);
        CHECK(t.name() == name);
        home->eval(std::span(&t.get(), 1));
        CHECK(t.name() == name);
    }
}

TEST_CASE("naming: typed tensors keep their type, an expression becomes a tensor") {
    const context home(host());
    const vector<float> a = ones<float>({3}, home);
    const vector<float> b = named(vector<float>(a + a), "b");
    CHECK(b.name() == "b");
    CHECK(named(a * b, "product").name() == "product");
    CHECK(to_vector<float>(b) == std::vector<float>{2, 2, 2});
}

TEST_CASE("naming: graphs without names have the keys that they had") {
    const std::shared_ptr<engine> home = host();
    const auto words = [&](const char* input, const char* result) {
        any_tensor x = data(home, {2, 3}), y = apply<op::add>(x, 1.0);
        if (input) named(x, input);
        if (result) named(y, result);
        graph_walk walk;
        walk.go(std::span(&y.get(), 1));
        CHECK(walk.labelled() == (input || result));
        return std::vector<std::uint64_t>(walk.key().words().begin(), walk.key().words().end());
    };
    const auto plain = words(nullptr, nullptr);
    CHECK(words(nullptr, "y").size() == plain.size() + 1);
    CHECK(words("x", "y").size() == plain.size() + 2);
    CHECK(words("x", "y") == words("x", "y"));
    CHECK(words("x", "y") != words("x", "z"));
    CHECK(words("x", "y") != words("y", "x"));
    CHECK(words("x", nullptr) != words(nullptr, "x"));
}
