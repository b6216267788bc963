// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/stop_view.hpp>

#include <doctest/doctest.h>

#include <stop_token>

namespace pm = pumice;

namespace {

/// A token of the user's.
struct counted {
    int* asked;
    bool stop_requested() const { return ++*asked > 2; }
    bool stop_possible() const { return true; }
};

bool stopped(pm::stop_view stop) { return stop.stop_requested(); }

}  // namespace

static_assert(pm::stop_token_like<std::stop_token> && pm::stop_token_like<counted>);
static_assert(!pm::stop_token_like<std::stop_source&(int)> && !pm::stop_token_like<int>);

TEST_CASE("stop_view: sees the standard's token") {
    std::stop_source source;
    const std::stop_token token = source.get_token();
    const pm::stop_view view = token;
    CHECK(view.stop_possible());
    CHECK(!view.stop_requested());
    CHECK(!stopped(source.get_token()));
    source.request_stop();
    CHECK(view.stop_requested());
    CHECK(pm::stop_view(view).stop_requested());
    CHECK(stopped(source.get_token()));
}

TEST_CASE("stop_view: nobody can ask by none, or by a token without a source") {
    CHECK(!pm::stop_view().stop_possible());
    CHECK(!stopped({}));
    CHECK(!pm::stop_view(std::stop_token()).stop_possible());
}

TEST_CASE("stop_view: sees a token of the user's") {
    int asked = 0;
    const counted token{&asked};
    CHECK(!stopped(token));
    CHECK(!stopped(token));
    CHECK(stopped(token));
}
