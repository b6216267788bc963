// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An engine that has no way of its own to fill a tensor from a source writes it in pieces.
#include <pumice/base/byte_source.hpp>
#include <pumice/tensor/engine.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace pumice;

namespace {

struct counting final : byte_source {
    void read(std::int64_t begin, pumice::span<std::byte> into) const override {
        for (std::byte& b : into) b = std::byte(begin++ % 251);
    }
};

class writing_engine final : public engine {
public:
    writing_engine() : engine(policy_set{}) {}
    node_ptr create(dtype type, const shape& extent, const void*) override {
        struct nothing final : storage {};
        return make_data(type, extent, std::make_shared<nothing>(), shared_from_this());
    }
    void write(const node_ptr& n, std::int64_t begin,
               pumice::span<const std::byte> bytes) override {
        CHECK(begin == std::ssize(written));
        CHECK(n->type == dtype::u8);
        largest = std::max(largest, bytes.size());
        written.insert(written.end(), bytes.begin(), bytes.end());
    }
    void eval(pumice::span<const node_ptr>) override {}
    void read(const node_ptr&, void*) override {}
    std::byte* host(const node_ptr&, bool) override { return nullptr; }
    std::shared_ptr<prepared_graph> prepare(const traced_graph&, graph_preparer*) override {
        return nullptr;
    }
    statistics stats() const override { return {}; }
    std::string explain(const node_ptr&) override { return {}; }
    const device_info& device() const override { return info; }
    std::string device_report() const override { return {}; }

    device_info info;
    std::vector<std::byte> written;
    std::size_t largest = 0;
};

}  // namespace

TEST_CASE("byte source: an engine fills a tensor that it reserved, in bounded pieces") {
    const auto home = std::make_shared<writing_engine>();
    const counting source;
    const std::int64_t count = (5 << 20) + 3;
    home->fill({{home->reserve(dtype::u8, {count}, "w"), &source}});
    REQUIRE(std::ssize(home->written) == count);
    CHECK(home->largest <= 1 << 20);
    bool right = true;
    for (std::int64_t i = 0; i < count; ++i)
        right = right && home->written[static_cast<std::size_t>(i)] == std::byte(i % 251);
    CHECK(right);
    CHECK(home->trim() == 0);
}

TEST_CASE("byte source: where one throws, none of the tensors has values") {
    struct ending final : byte_source {
        void read(std::int64_t begin, pumice::span<std::byte>) const override {
            if (begin > 0) throw error(errc::io_failed, "test", "the file ends here");
        }
    };
    const auto home = std::make_shared<writing_engine>();
    const ending source;
    const node_ptr first = home->reserve(dtype::u8, {3 << 20}, "w"),
                   second = home->reserve(dtype::u8, {8}, "v");
    CHECK_THROWS_AS(home->fill({{first, &source}, {second, &source}}), error);
    CHECK(first->data->lost);
    CHECK(second->data->lost);
}
