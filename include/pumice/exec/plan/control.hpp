// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops in a plan: the problem that decides, with the plans within it, and the
// stretches of a plan between its decisions.
#pragma once

#include <pumice/exec/plan/part.hpp>
#include <pumice/graph/control.hpp>
#include <pumice/tensor/random.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// A plan within another's step: it takes what the step does, and gives what that wants.
struct nested_plan {
    std::shared_ptr<const plan> what;
    array_list<int> reads;  // of each input of the plan, the step's input that it is
};

/// What a control_call asks (graph/control.hpp), with plans for its graphs.
struct control_problem {
    static constexpr std::string_view name = "control";
    std::string call;
    deciding what = deciding::branch;
    array_list<nested_plan> parts;
    int carried = 0;
    std::int64_t count = -1, wanted = -1;
    bool tested = false;
    array_list<operand> operands, results;  // dense; a result that nobody wants has no buffer
    array_list<shape> operand_shapes, result_shapes;
};

inline void visit_operands(const control_problem& p, const operand_visitor& f) {
    for (std::size_t i = 0; i < p.operands.size(); ++i)
        f(p.operands[i], p.operand_shapes[i], false);
    for (std::size_t i = 0; i < p.results.size(); ++i) f(p.results[i], p.result_shapes[i], true);
}

/// Throws errc::shape_mismatch for a loop that had to take another number of steps.
inline void must_have_taken(const control_problem& p, std::int64_t steps) {
    if (p.wanted >= 0 && steps != p.wanted)
        fail(errc::shape_mismatch, p.call,
             {"the loop took ", steps, " steps; its results have room for those of ", p.wanted});
}

namespace detail {

/// A plan by the references of its problems: memory in, memory out.
inline void solve_plan(const plan& p, span<std::byte* const> inputs,
                       span<array_list<std::byte>> outputs) {
    array_list<array_list<std::byte>> own(p.values.size());
    array_list<std::byte*> at(p.values.size(), nullptr);
    for (std::size_t v = 0; v < p.values.size(); ++v) {
        const plan_value& value = p.values[v];
        if (value.role == value_role::input) {
            at[v] = inputs[value.index];
            continue;
        }
        own[v].resize(static_cast<std::size_t>(value.bytes()));
        at[v] = own[v].data();
        const std::uint32_t key = random::detail::fresh().seed();
        if (value.role == value_role::parameter) std::memcpy(at[v], &key, sizeof key);
    }
    for (const plan_step& s : p.steps) {
        host_buffers buffers{{}, {p.numbers.data(), p.numbers.size()}};
        for (const int v : s.buffers) buffers.memory.push_back(at[static_cast<std::size_t>(v)]);
        solve_on_host(s.what, buffers);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
        outputs[i] = std::move(own[static_cast<std::size_t>(p.outputs[i])]);
}

}  // namespace detail

inline void reference(const control_problem& p, const host_buffers& buffers) {
    const auto memory = [&](const operand& o) {
        return buffers.memory[static_cast<std::size_t>(o.buffer)] + byte_offset(o.type, o.offset);
    };
    const auto inputs_of = [&](const nested_plan& n) {
        array_list<std::byte*> list;
        for (const int r : n.reads) list.push_back(memory(p.operands[static_cast<std::size_t>(r)]));
        return list;
    };
    const auto holds = [](const std::byte* flag) { return *flag != std::byte{0}; };
    const auto carried = static_cast<std::size_t>(p.carried);
    const std::size_t first = p.tested ? 1 : 0;
    array_list<array_list<std::byte>> made(first + p.results.size()), before;
    const auto run = [&](const nested_plan& n, const array_list<std::byte*>& inputs) {
        before = std::exchange(made, array_list<array_list<std::byte>>(made.size()));
        detail::solve_plan(*n.what, span(inputs.data(), inputs.size()),
                           span(made.data(), made.size()));
    };
    array_list<std::byte*> results;
    if (p.what == deciding::branch) {
        const nested_plan& n = p.parts[holds(memory(p.operands[0])) ? 1 : 0];
        run(n, inputs_of(n));
        for (array_list<std::byte>& m : made) results.push_back(m.data());
    } else {
        results = inputs_of(p.parts[0]);
        std::int64_t steps = 0;
        bool goes_on = !p.tested || holds(memory(p.operands[carried]));
        for (; goes_on && (p.count < 0 || steps < p.count); ++steps) {
            run(p.parts[0], results);
            for (std::size_t i = 0; i < carried; ++i) results[i] = made[first + i].data();
            if (p.tested) goes_on = holds(made[0].data());
        }
        must_have_taken(p, steps);
    }
    for (std::size_t i = 0; i < p.results.size(); ++i)
        if (p.results[i].buffer >= 0)
            std::memcpy(memory(p.results[i]), results[i],
                        static_cast<std::size_t>(byte_count(p.results[i].type,
                                                            element_count(p.result_shapes[i]))));
}

// What is asked of the family (graph/operation.hpp).

inline kernel_value result_of(const control_op& op, span<const kernel_value>) {
    return op.call->results[static_cast<std::size_t>(op.output)];
}
inline std::string describe(const control_op& op) { return op.call->name; }

inline void add_words(const control_op& op, graph_key& key) {
    const control_call& call = *op.call;
    key.add_all(op.output, call.what, call.carried, call.count, call.tested, call.wanted,
                call.parts.size(), call.results.size());
    for (const control_call::part& p : call.parts) {
        key.add_axes(p.reads);
        graph_walk walk;
        walk.go(p.graph.outputs, false);
        for (const auto* list : {&p.graph.inputs, &p.graph.keys, &p.graph.outputs})
            for (const node_ptr& n : *list) {
                walk.include(n.get());
                key.add(walk.number_of(n.get()));
            }
        for (const std::uint64_t w : walk.key().words()) key.add(w);
        // Numbers of the graph are the same whenever its plan runs.
        for (const node* n : walk.order())
            if (const auto* e = n->op.get_if<elementwise_op>())
                for (const scalar& s : e->scalars) key.add_all(s.type, s.bits);
    }
}

template <>
inline const op_functions& functions_of<control_op>() {
    return detail::functions_of_family<control_op>::value;
}

inline bool decides(const plan_step& s) { return s.what.kind().decisions != nullptr; }

inline void order_by_decisions(plan& p) {
    array_list<std::size_t> level(p.steps.size(), 0), made_at(p.values.size(), 0);
    std::size_t last = 0;
    for (bool settled = false; !settled;) {
        settled = true;
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            const plan_step& s = p.steps[i];
            const auto writes = [&](int v) {
                return std::find(s.outputs.begin(), s.outputs.end(), v) != s.outputs.end();
            };
            // All that write a value stand together.
            for (const int v : s.buffers)
                if (!decides(s) || !writes(v))
                    level[i] = std::max(level[i], made_at[static_cast<std::size_t>(v)]);
            for (const int v : s.outputs) {
                std::size_t& made = made_at[static_cast<std::size_t>(v)];
                const std::size_t now = level[i] + decides(s);
                settled = settled && made >= now;
                made = std::max(made, now);
            }
            last = std::max(last, level[i]);
        }
    }
    array_list<plan_step> steps;
    for (std::size_t at = 0; at <= last; ++at)
        for (const bool deciding : {false, true})
            for (std::size_t i = 0; i < p.steps.size(); ++i)
                if (level[i] == at && decides(p.steps[i]) == deciding) steps.push_back(p.steps[i]);
    p.steps = std::move(steps);
}

/// The plan's stretches and decisions, in order.
inline array_list<plan_part> cut_at_decisions(const plan& p) {
    array_list<plan_part> parts;
    for (std::size_t begin = 0, end = 0; begin < p.steps.size(); begin = end) {
        end = begin + 1;
        if (decides(p.steps[begin])) {
            parts.push_back({begin, end, nullptr, {}, {}});
            continue;
        }
        while (end < p.steps.size() && !decides(p.steps[end])) ++end;
        parts.push_back(part_of(p, begin, end));
    }
    return parts;
}

}}  // namespace pumice::PUMICE_ABI
