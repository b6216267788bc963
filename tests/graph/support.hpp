// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An engine that keeps host data and runs nothing, for graphs that are only looked at; and one that
// runs on the host.
#pragma once

#include <pumice/exec/host_engine.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/graph/passes/fuse.hpp>
#include <pumice/tensor/context.hpp>

#include <tests/support/thrown.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pumice_test {

struct bytes_held : pumice::storage {
    std::vector<std::byte> bytes;
};

class fake_engine final : public pumice::engine {
public:
    explicit fake_engine(pumice::policy_set set = {}) : engine(std::move(set)) {}

    pumice::node_ptr create(pumice::dtype type, const pumice::shape& extent,
                            const void* data) override {
        auto held = std::make_shared<bytes_held>();
        held->bytes
            .resize(static_cast<std::size_t>(pumice::byte_count(type,
                                                                pumice::element_count(extent))));
        if (data) std::memcpy(held->bytes.data(), data, held->bytes.size());
        return pumice::make_data(type, extent, std::move(held), shared_from_this());
    }
    void eval(pumice::span<const pumice::node_ptr> roots) override {
        evaluated += static_cast<int>(roots.size());
    }
    void read(const pumice::node_ptr& n, void* out) override {
        const auto& bytes = static_cast<const bytes_held*>(n->data.get())->bytes;
        std::memcpy(out, bytes.data(), bytes.size());
    }
    void write(const pumice::node_ptr& n, std::int64_t begin,
               pumice::span<const std::byte> from) override {
        auto& bytes = static_cast<bytes_held*>(n->data.get())->bytes;
        std::memcpy(bytes.data() + begin, from.data(), from.size());
    }
    std::byte* host(const pumice::node_ptr& n, bool) override {
        return static_cast<bytes_held*>(n->data.get())->bytes.data();
    }
    std::shared_ptr<pumice::prepared_graph> prepare(const pumice::traced_graph& g,
                                                    pumice::graph_preparer*) override {
        traced.push_back(g);
        return nullptr;
    }
    pumice::statistics stats() const override { return {}; }
    std::string explain(const pumice::node_ptr&) override { return "nothing runs here"; }
    const pumice::device_info& device() const override { return info_; }
    std::string device_report() const override { return "fake"; }
    void profile_start() override { ++profiles; }
    void profile_stop(pumice::profile&) override { --profiles; }

    int evaluated = 0;
    int profiles = 0;
    std::vector<pumice::traced_graph> traced;

private:
    pumice::device_info info_;
};

inline pumice::any_tensor data(const std::shared_ptr<pumice::engine>& home,
                               const pumice::shape& extent,
                               pumice::dtype type = pumice::dtype::f32) {
    return pumice::any_tensor(home->create(type, extent, nullptr));
}
inline pumice::any_tensor data(const std::shared_ptr<pumice::engine>& home,
                               const pumice::shape& extent, const std::vector<float>& values) {
    return pumice::any_tensor(home->create(pumice::dtype::f32, extent, values.data()));
}
/// 0, 1, 2 ... in row-major order.
inline pumice::any_tensor counting(const std::shared_ptr<pumice::engine>& home,
                                   const pumice::shape& extent) {
    std::vector<float> values(static_cast<std::size_t>(pumice::element_count(extent)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return data(home, extent, values);
}

inline std::shared_ptr<pumice::engine> host(bool fusion = true) {
    pumice::policy_set set;
    set.fusion = fusion;
    return std::make_shared<pumice::host_engine>(std::move(set), "host");
}

inline std::vector<float> values(const pumice::any_tensor& t) {
    return pumice::to_vector<float>(t);
}

using test::code_of;
using test::text_of_error;

}  // namespace pumice_test
