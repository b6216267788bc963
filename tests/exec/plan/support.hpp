// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Plans that are looked at and never run: by hand, or of an engine for a device that is only
// described.
#pragma once

#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/plan/verify.hpp>
#include <pumice/front.hpp>

#include <tests/kernels/support.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace pumice_test {

inline pumice::device_info described() {
    pumice::device_info d;
    d.name = "a described GPU";
    d.type = pumice::device_type::discrete_gpu;
    d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
    d.int64_arithmetic = true;
    d.max_workgroup_invocations = 1024;
    d.max_workgroup_count = {65535, 65535, 65535};
    d.shared_memory = 32 << 10;
    return d;
}

/// The sum of `leaves` f32 arrays in buffers 0, 1 .. to each of `outputs` in the buffers behind
/// them.
inline pumice::elementwise_problem sum_of(int leaves, std::int64_t n, int outputs = 1) {
    builder b;
    std::uint16_t sum = b.leaf(0);
    for (int i = 1; i < leaves; ++i) sum = b.apply<pumice::op::add>(sum, b.leaf(i));
    sum = b.apply<pumice::op::abs>(sum);
    if (outputs == 2) b.out({sum, sum});
    else b.out({sum});
    pumice::elementwise_problem p{{n}, made(b)};
    for (int i = 0; i < leaves; ++i) p.body.leaves.push_back({i, pumice::dtype::f32, 0, {1}});
    for (int i = 0; i < outputs; ++i)
        p.body.outputs.push_back({leaves + i, pumice::dtype::f32, 0, {1}});
    return p;
}
/// The same, but for reading the first array from its end: it cannot be written over.
inline pumice::elementwise_problem turned_sum_of(int leaves, std::int64_t n) {
    pumice::elementwise_problem p = sum_of(leaves, n);
    p.body.leaves[0].offset = n - 1;
    p.body.leaves[0].steps = {-1};
    return p;
}
/// Buffer 0 to the elements of buffer 1 from `offset` on.
inline pumice::elementwise_problem copy_of(std::int64_t n, std::int64_t offset = 0) {
    builder b;
    b.out({b.leaf(0)});
    return {{n},
            made(b, {{0, pumice::dtype::f32, 0, {1}}}, {{1, pumice::dtype::f32, offset, {1}}})};
}
/// The sums of `columns` that n elements of buffer 0 lie in, in buffer 1. Of many elements it takes
/// scratch memory, and two launches where there are many columns too.
inline pumice::reduce_problem total_of(std::int64_t n, std::int64_t columns = 1) {
    builder before, behind;
    before.out({before.leaf(0)});
    behind.out({behind.given()});
    pumice::reduce_problem p;
    p.outer = {columns};
    p.inner = {n / columns};
    p.prologue = made(before, {{0, pumice::dtype::f32, 0, {columns > 1 ? 1 : 0, columns}}});
    p.epilogue = made(behind, {}, {{1, pumice::dtype::f32, 0, {1}}});
    return p;
}

class plan_maker {
public:
    pumice::plan made;

    /// Of n f32 elements.
    int value(pumice::value_role role, std::int64_t n) {
        const int number = static_cast<int>(made.values.size());
        pumice::array_list<int>& list = made.of_role(role);
        pumice::plan_value v{role, pumice::dtype::f32, {n}, {1}};
        v.index = list.size();
        made.values.push_back(std::move(v));
        list.push_back(number);
        return number;
    }
    int input(std::int64_t n) { return value(pumice::value_role::input, n); }
    int temporary(std::int64_t n) { return value(pumice::value_role::temporary, n); }
    int output(std::int64_t n) { return value(pumice::value_role::output, n); }
    /// A part of another value.
    int output_within(int other, std::int64_t offset, std::int64_t n) {
        const int number = output(n);
        made.at(number).alias = other;
        made.at(number).offset = offset;
        return number;
    }
    /// Outputs are the last of the buffers.
    void step(pumice::problem p, std::initializer_list<int> buffers, std::size_t outputs = 1) {
        pumice::plan_step s{std::move(p), buffers};
        s.outputs.append(s.buffers.end() - outputs, s.buffers.end());
        for (const int v : s.outputs) made.at(v).made_by = static_cast<int>(made.steps.size());
        made.steps.push_back(std::move(s));
    }
    /// The plan with its givings, which has to be without fault.
    std::shared_ptr<const pumice::plan> take() {
        pumice::find_givings(made);
        for (const std::string& fault : pumice::find_faults(made)) FAIL(fault);
        return std::make_shared<const pumice::plan>(std::move(made));
    }
};

class planning_engine final : public pumice::graph_engine {
public:
    struct held final : pumice::storage {};

    planning_engine() : graph_engine(pumice::policy_set{}) {}
    pumice::node_ptr create(pumice::dtype type, const pumice::shape& extent, const void*) override {
        return pumice::make_data(type, extent, std::make_shared<held>(), shared_from_this());
    }
    void read(const pumice::node_ptr&, void*) override {}
    void write(const pumice::node_ptr&, std::int64_t, pumice::span<const std::byte>) override {}
    std::byte* host(const pumice::node_ptr&, bool) override { return nullptr; }
    pumice::statistics stats() const override { return {}; }
    const pumice::device_info& device() const override { return info_; }
    std::string device_report() const override { return info_.name; }

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
    void fetch(const pumice::node_ptr&, void*) override {}
    void execute(pumice::plan_run&, pumice::stop_view) override {}
    pumice::device_info info_ = described();
};

}  // namespace pumice_test
