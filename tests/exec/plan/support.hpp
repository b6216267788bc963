// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// An engine whose plans are looked at and never run.
#pragma once

#include <pumice/exec/graph_engine.hpp>
#include <pumice/front.hpp>

namespace pumice_test {

class planning_engine final : public pumice::graph_engine {
public:
    struct held final : pumice::storage {};

    planning_engine() : graph_engine(pumice::policy_set{}) {
        info_.name = "described";
        info_.max_workgroup_count = {1 << 20, 1 << 16, 1 << 16};
        info_.max_workgroup_invocations = 1024;
        info_.shared_memory = 32 << 10;
        info_.int64_arithmetic = true;
    }
    pumice::node_ptr create(pumice::dtype type, const pumice::shape& extent, const void*) override {
        return pumice::make_data(type, extent, std::make_shared<held>(), shared_from_this());
    }
    void read(const pumice::node_ptr&, void*) override {}
    void write(const pumice::node_ptr&, std::int64_t, std::span<const std::byte>) override {}
    std::byte* host(const pumice::node_ptr&, bool) override { return nullptr; }
    pumice::statistics stats() const override { return {}; }
    const pumice::device_info& device() const override { return info_; }
    std::string device_report() const override { return "described"; }

    /// The plan of lazy tensors.
    std::shared_ptr<pumice::known_plan> plan_of(std::span<const pumice::any_tensor> roots) {
        pumice::array_list<pumice::node_ptr> list;
        for (const pumice::any_tensor& t : roots) list.push_back(t.get());
        pumice::evaluation e;
        planner_.plan_of(list, e);
        return e.run.planned;
    }
    /// The plan of a function of tensors with these shapes.
    template <class F>
    std::shared_ptr<pumice::known_plan> trace(std::initializer_list<pumice::shape> shapes, F&& f) {
        pumice::traced_graph g;
        std::vector<pumice::any_tensor> arguments;
        for (const pumice::shape& s : shapes) {
            g.inputs.push_back(pumice::make_data(pumice::dtype::f32, s, nullptr,
                                                 shared_from_this()));
            arguments.emplace_back(g.inputs.back());
        }
        for (const pumice::any_tensor& t : f(arguments)) g.outputs.push_back(t.get());
        return planner_.plan_of(g).run.planned;
    }
    pumice::any_tensor given(const pumice::shape& extent, pumice::dtype type = pumice::dtype::f32) {
        return pumice::any_tensor(create(type, extent, nullptr));
    }

private:
    void execute(pumice::plan_run&, const std::stop_token&) override {}
    pumice::device_info info_;
};

}  // namespace pumice_test
