// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An engine that does nothing, for tests of what is asked of engines to begin with.
#pragma once

#include <pumice/core/device_info.hpp>
#include <pumice/tensor/engine.hpp>

namespace pumice_test {

struct idle_engine : pumice::engine {
    idle_engine() : engine(pumice::policy_set()) {}
    pumice::node_ptr create(pumice::dtype, const pumice::shape&, const void*) override {
        return {};
    }
    void eval(pumice::span<const pumice::node_ptr>) override {}
    void read(const pumice::node_ptr&, void*) override {}
    void write(const pumice::node_ptr&, std::int64_t, pumice::span<const std::byte>) override {}
    std::byte* host(const pumice::node_ptr&, bool) override { return nullptr; }
    std::shared_ptr<pumice::prepared_graph> prepare(const pumice::traced_graph&,
                                                    pumice::graph_preparer*) override {
        return {};
    }
    pumice::statistics stats() const override { return {}; }
    std::string explain(const pumice::node_ptr&) override { return {}; }
    const pumice::device_info& device() const override {
        static const pumice::device_info none;
        return none;
    }
    std::string device_report() const override { return {}; }
};

}  // namespace pumice_test
