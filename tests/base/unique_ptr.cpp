// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/unique_ptr.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace pm = pumice;

namespace {

/// Counts who lives.
struct counted {
    static inline int alive = 0;
    int number;
    explicit counted(int n, const std::string& word = "") : number(n) {
        if (word == "throw") throw std::runtime_error(word);
        ++alive;
    }
    counted(const counted&) = delete;
    ~counted() { --alive; }
};

/// Holds one of its own class, as a list does.
struct link {
    pm::unique_ptr<link> next;
    ~link() { ++ended; }
    static inline int ended = 0;
};

}  // namespace

static_assert(!std::is_copy_constructible_v<pm::unique_ptr<int>> &&
              !std::is_copy_assignable_v<pm::unique_ptr<int>> &&
              std::is_nothrow_move_constructible_v<pm::unique_ptr<int>> &&
              std::is_nothrow_move_assignable_v<pm::unique_ptr<int>> &&
              !std::is_convertible_v<int*, pm::unique_ptr<int>> &&
              sizeof(pm::unique_ptr<int>) == sizeof(int*));

TEST_CASE("unique_ptr: an object ends once, with its owner") {
    {
        pm::unique_ptr<counted> a = pm::make_owned<counted>(1);
        CHECK(counted::alive == 1);
        pm::unique_ptr<counted> b(std::move(a));
        CHECK(a == nullptr);
        CHECK(b != nullptr);
        CHECK((*b).number == 1);
        a = pm::make_owned<counted>(2);
        CHECK(counted::alive == 2);
        a = std::move(b);  // ends the second
        CHECK(counted::alive == 1);
        CHECK(a->number == 1);
        CHECK(!b);
        a = nullptr;
        CHECK(counted::alive == 0);
        a.reset(new counted(3));
        a.reset(new counted(4));
        CHECK(counted::alive == 1);
        counted* const mine = a.release();
        CHECK(a.get() == nullptr);
        CHECK(counted::alive == 1);
        delete mine;
    }
    CHECK(counted::alive == 0);
}

TEST_CASE("unique_ptr: one that is moved to itself keeps its object") {
    pm::unique_ptr<counted> a = pm::make_owned<counted>(5);
    pm::unique_ptr<counted>& same = a;
    a = std::move(same);
    REQUIRE(a);
    CHECK(a->number == 5);
    CHECK(counted::alive == 1);
}

TEST_CASE("unique_ptr: a constructor's exception leaves nothing") {
    CHECK_THROWS_AS(static_cast<void>(pm::make_owned<counted>(1, "throw")), std::runtime_error);
    CHECK(counted::alive == 0);
}

TEST_CASE("unique_ptr: the head of a list may become what it owns") {
    link::ended = 0;
    {
        pm::unique_ptr<link> head = pm::make_owned<link>();
        head->next = pm::make_owned<link>();
        head = std::move(head->next);
        CHECK(link::ended == 1);
        CHECK(!head->next);
    }
    CHECK(link::ended == 2);
}
