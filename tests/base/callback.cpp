// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/callback.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace pumice;

namespace {
int twice(int x) { return 2 * x; }
struct counted {
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    int operator()(int x) const { return x + *alive; }
};
}  // namespace

TEST_CASE("empty, from a function, from a lambda with captures") {
    callback<int(int)> f;
    CHECK(!f);
    f = &twice;
    REQUIRE(f);
    CHECK(f(21) == 42);
    const std::string text(100, 'x');
    f = [text](int n) { return static_cast<int>(text.size()) + n; };
    CHECK(f(1) == 101);
    f = nullptr;
    CHECK(!f);
}

TEST_CASE("copies share the callable, the last one destroys it") {
    counted c;
    const std::weak_ptr<int> alive = c.alive;
    callback<int(int)> a = std::move(c);
    {
        callback<int(int)> b = a, d;
        d = b;
        a = nullptr;
        CHECK(alive.use_count() == 1);
        callback<int(int)> e = std::move(b);
        CHECK(!b);  // NOLINT: moved from is empty, by contract
        CHECK(e(5) == 5);
        CHECK(d(6) == 6);
        const callback<int(int)>& same = d;
        d = same;
        CHECK(d(7) == 7);
    }
    CHECK(alive.expired());
}

TEST_CASE("references are handed through, results converted") {
    const callback<long(std::string&)> grow = [](std::string& s) {
        return static_cast<int>((s += '!').size());
    };
    std::string s = "a";
    CHECK(grow(s) == 2);
    CHECK(s == "a!");
    static_assert(!std::is_constructible_v<callback<int(int)>, int (*)(std::string)>);
    static_assert(!std::is_constructible_v<callback<int(int)>, std::string>);
}

TEST_CASE("an empty one that is called says so") {
    const callback<int(int)> none;
    CHECK_THROWS_WITH_AS(none(1), doctest::Contains("an empty function"), error);
}
