// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Long chains of nodes in small files: loading, describing and dropping them takes linear time and no stack. (That they run, too,
// is for the graph's tests.)
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <chrono>
#include <exception>
#include <functional>

#include <pthread.h>

using namespace pumice_test;
using pumice::model;

namespace {

using list = std::vector<std::int64_t>;

/// The shortest names: of three letters at most.
std::string name_of(std::size_t n) {
    std::string name;
    for (; n > 0 || name.empty(); n /= 64) name += static_cast<char>('0' + n % 64);
    return name;
}

struct chain_link {
    const char* op;
    std::vector<std::string> constants;  // inputs behind the first
    std::vector<message> attributes = {};
    const char* back = nullptr;  // every other node is this one
};

message chain_of(const chain_link& l, std::size_t length) {
    message graph;
    for (std::size_t i = 0; i < length; ++i) {
        std::vector<std::string> in{name_of(i)};
        in.insert(in.end(), l.constants.begin(), l.constants.end());
        const bool back = l.back && i % 2 == 1;
        graph.put(1, node_of(back ? l.back : l.op, in, {name_of(i + 1)}, l.attributes));
    }
    graph.put(5, longs("zero", {1}, {0})).put(5, longs("all", {2}, {1, 3}));
    graph.put(5, longs("s", {2}, {0, 0})).put(5, longs("e", {2}, {9, 9}));
    return model_of(graph.put(11, value_of("0", 1, {1, 3}))
                        .put(12, message{}.text(1, name_of(length))));
}

/// Runs f on a thread of a small stack; what it throws is thrown here.
void on_small_stack(std::function<void()> f) {
    struct task {
        std::function<void()> f;
        std::exception_ptr fault = nullptr;
    } t{std::move(f)};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_t thread;
    REQUIRE(pthread_create(
                &thread, &attributes,
                [](void* p) -> void* {
                    auto& mine = *static_cast<task*>(p);
                    try {
                        mine.f();
                    } catch (...) {
                        mine.fault = std::current_exception();
                    }
                    return nullptr;
                },
                &t) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    if (t.fault) std::rethrow_exception(t.fault);
}

}  // namespace

TEST_CASE("long chains: 60 000 nodes of each kind load in linear time on a small stack") {
    const chain_link links[] = {
        {"Identity", {}},
        {"Relu", {}},
        {"Cast", {}, {attribute("to", std::int64_t(1))}},
        {"Reshape", {"all"}},
        {"Expand", {"all"}},
        {"Transpose", {}, {attribute("perm", list{0, 1})}},
        {"Slice", {"s", "e"}},
        {"Unsqueeze", {"zero"}, {}, "Squeeze"},
        {"Add", {"0"}},
        {"Flatten", {}},
    };
    for (const chain_link& l : links) {
        CAPTURE(l.op);
        double took[2] = {};
        for (int k = 0; k < 2; ++k) {
            const message file = chain_of(l, k == 0 ? 6'000 : 60'000);
            const auto start = std::chrono::steady_clock::now();
            on_small_stack([&] {
                const model m = model::from_bytes(file.view(), storing_context());
                CHECK(m.infer_shapes().size() > 6'000);
                CHECK(m.dump().size() > 6'000);
            });
            took[k] =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        }
        MESSAGE(std::string(l.op) << ": " << took[0] << " s, " << took[1] << " s");
        CHECK(took[1] < 20 * took[0] + 1);
    }
}

TEST_CASE("long chains: of constants, of values that nothing needs, and sums of many") {
    const std::size_t length = 60'000;
    on_small_stack([&] {
        message graph;
        graph.put(5, longs("0", {1}, {1}));
        for (std::size_t i = 0; i < length; ++i)
            graph.put(1, node_of("Neg", {name_of(i)}, {name_of(i + 1)}));
        graph.put(1, node_of("Add", {"x", name_of(length)}, {"y"}));
        graph.put(11, value_of("x", 7, {2})).put(12, message{}.text(1, "y"));
        CHECK(model::from_bytes(model_of(graph).view(), storing_context()).inputs().size() == 1);
        message dead = message{}.put(1, node_of("Relu", {"x"}, {"y"}));
        for (std::size_t i = 0; i < length; ++i)
            dead.put(1, node_of("Neg", {i == 0 ? "x" : name_of(i)}, {name_of(i + 1)}));
        dead.put(11, value_of("x", 1, {2})).put(12, message{}.text(1, "y"));
        CHECK(model::from_bytes(model_of(dead).view(), storing_context()).dump().size() < 300);
        std::vector<std::string> many(length, "c");
        many.push_back("x");
        const message sum = message{}
                                .put(5, floats("c", {}, {1}))
                                .put(1, node_of("Sum", many, {"y"}))
                                .put(11, value_of("x", 1, {2}))
                                .put(12, message{}.text(1, "y"));
        CHECK(model::from_bytes(model_of(sum).view(), storing_context()).inputs().size() == 1);
        message wide = model_of(message{}
                                    .put(1, node_of("Relu", {"x"}, {"y"}, {}, "", "d0"))
                                    .put(11, value_of("x", 1, {2}))
                                    .put(12, message{}.text(1, "y")));
        for (std::size_t i = 0; i < length; ++i)
            wide.put(8, message{}.text(1, "d" + std::to_string(i)).number(2, 1));
        CHECK(thrown_by([&] { model::from_bytes(wide.view(), storing_context()); }).first ==
              pumice::errc::unsupported_op);
    });
}
