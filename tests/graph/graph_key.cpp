// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The words of a key: each field of an op that decides its plan is in them.
#include <pumice/graph/graph_key.hpp>

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace pumice;

namespace {

std::vector<std::uint64_t> words_of(operation op) {
    graph_key key;
    key.add_op(op);
    return {key.words().begin(), key.words().end()};
}

/// All differ, and each is itself again.
template <op_family... Ops>
void check_differ(const Ops&... ops) {
    std::set<std::vector<std::uint64_t>> seen;
    (seen.insert(words_of(ops)), ...);
    CHECK(seen.size() == sizeof...(Ops));
    (seen.insert(words_of(ops)), ...);
    CHECK(seen.size() == sizeof...(Ops));
}

/// One that differs from the default.
template <class Op>
Op with(void (*change)(Op&)) {
    Op op;
    change(op);
    return op;
}

}  // namespace

TEST_CASE("graph key: ops of two families have different words") {
    check_differ(source_op(), reshape_op(), matmul_op(), copy_op(), view_op(), concat_op(),
                 sort_op(), scan_op(), reduce_op(), normalize_op(), conv_op(), pool_op(), take_op(),
                 scatter_op());
}

TEST_CASE("graph key: each field of an op is in its words") {
    check_differ(reduce_op(), with<reduce_op>([](reduce_op& op) { op.what = reduction::max; }),
                 with<reduce_op>([](reduce_op& op) { op.axes = {1}; }),
                 with<reduce_op>([](reduce_op& op) { op.keepdims = true; }));
    check_differ(normalize_op(),
                 with<normalize_op>([](normalize_op& op) { op.what = normalization::rms_norm; }),
                 with<normalize_op>([](normalize_op& op) { op.axes = {2}; }),
                 with<normalize_op>([](normalize_op& op) { op.epsilon = 1e-5; }));
    check_differ(scan_op(), with<scan_op>([](scan_op& op) { op.what = reduction::prod; }),
                 with<scan_op>([](scan_op& op) { op.axis = 1; }),
                 with<scan_op>([](scan_op& op) { op.leads = true; }),
                 with<scan_op>([](scan_op& op) { op.reverse = true; }));
    check_differ(take_op(), with<take_op>([](take_op& op) { op.axis = 1; }),
                 with<take_op>([](take_op& op) { op.what = taking::tuples; }));
    check_differ(sort_op(), with<sort_op>([](sort_op& op) { op.axis = 1; }),
                 with<sort_op>([](sort_op& op) { op.descending = true; }),
                 with<sort_op>([](sort_op& op) { op.first = 3; }));
    check_differ(view_op(), with<view_op>([](view_op& op) { op.start = {1}; }),
                 with<view_op>([](view_op& op) { op.source = {1}; }),
                 with<view_op>([](view_op& op) { op.step = {1}; }));
    check_differ(pool_op(), with<pool_op>([](pool_op& op) { op.what = pooling::average; }),
                 with<pool_op>([](pool_op& op) { op.window[1] = 2; }),
                 with<pool_op>([](pool_op& op) { op.stride[0] = 2; }),
                 with<pool_op>([](pool_op& op) { op.dilation[0] = 2; }),
                 with<pool_op>([](pool_op& op) { op.pad_begin[0] = 2; }),
                 with<pool_op>([](pool_op& op) { op.pad_end[1] = 2; }),
                 with<pool_op>([](pool_op& op) { op.ceil_mode = true; }),
                 with<pool_op>([](pool_op& op) { op.count_include_pad = true; }));
    check_differ(conv_op(), with<conv_op>([](conv_op& op) { op.stride[1] = 2; }),
                 with<conv_op>([](conv_op& op) { op.dilation[1] = 2; }),
                 with<conv_op>([](conv_op& op) { op.pad_begin[1] = 2; }),
                 with<conv_op>([](conv_op& op) { op.pad_end[0] = 2; }),
                 with<conv_op>([](conv_op& op) { op.group = 2; }));
}

TEST_CASE("graph key: keys of other words have other hashes") {
    graph_key a, b;
    a.add_all(1, 2);
    b.add_all(2, 1);
    CHECK(a.words() != b.words());
    CHECK(a.hash() != b.hash());
    b.clear();
    b.add_all(1, 2);
    CHECK(a.words() == b.words());
    CHECK(a.hash() == b.hash());
}
