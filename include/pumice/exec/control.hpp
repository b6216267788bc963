// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How plans with steps that decide run, in any engine: the host reads a bool, or counts, and runs
// the plans within. Each of them is made ready once; between decisions the engine runs stretches.
#pragma once

#include <pumice/exec/plan/control.hpp>
#include <pumice/exec/vulkan/executable.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What the functions below need of an engine, which is nobody else's business.
class decision_runner {
public:
    explicit decision_runner(graph_engine& home, bool locked) : home_(home), locked_(locked) {}

    std::shared_ptr<engine_graph> prepare(evaluation&& e) const {
        return prepare_plan(home_, std::move(e), locked_);
    }
    void execute(plan_run& run, stop_view stop) const { home_.execute(run, stop); }
    bool computes() const { return home_.computes(); }
    bool holds(const any_tensor& flag) const {
        std::byte b{};
        home_.fetch(flag.get(), &b);
        return b != std::byte{0};
    }
    any_tensor make_tensor(const plan_value& v, std::shared_ptr<storage> memory,
                           std::shared_ptr<const kernel_record> record) const {
        return home_.make_tensor(v, std::move(memory), std::move(record));
    }
    /// The tensor at the beginning of memory of its own.
    any_tensor dense(const any_tensor& t) const {
        std::unique_lock lock(home_.mutex_, std::defer_lock);
        if (!locked_) lock.lock();
        return any_tensor(home_.dense(t, 0));
    }
    /// Of a value without elements, which no step makes; else nothing.
    any_tensor made_of_nothing(const plan_value& v) const {
        if (v.is_given() || v.alias >= 0 || v.count() > 0) return {};
        return any_tensor(home_.create(v.type, v.extent, nullptr));
    }
    bool locked() const noexcept { return locked_; }

private:
    graph_engine& home_;
    bool locked_;  // the caller has the engine's lock
};

namespace detail {

/// Each run has new ones, whatever this thread is tracing.
inline array_list<std::uint32_t> fresh_keys(std::size_t count) {
    struct paused {
        open_trace* held = std::exchange(current_trace, nullptr);
        ~paused() { current_trace = held; }
    } const untraced;
    array_list<std::uint32_t> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back(random::detail::fresh().seed());
    return keys;
}

}  // namespace detail

/// A step that decides, ready to run.
class ready_decision {
public:
    ready_decision(const decision_runner& by, const control_problem& what) : what_(what) {
        for (const nested_plan& n : what.parts)
            parts_.push_back(by.prepare(evaluation_of(*n.what)));
    }

    /// Gives as many results as the problem has; of a loop `wanted` by nobody too.
    submission run(const decision_runner& by, std::span<const any_tensor> inputs,
                   std::span<any_tensor> results, stop_view stop) const {
        return what_.what == deciding::branch ? choose(by, inputs, results, stop)
                                              : repeat(by, inputs, results, stop);
    }
    std::string explain() const {
        std::string text = cat({what_.call, "\n"});
        constexpr const char* names[] = {"where false", "where true"};
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            append_text(text, {"  ",
                               what_.what == deciding::branch ? names[i]
                               : what_.count < 0              ? "each step"
                                                 : cat({"each of at most ", what_.count, " steps"}),
                               ":\n"});
            indent(text, parts_[i]->explain());
        }
        return text;
    }
    memory_use memory() const {
        memory_use total;
        for (const auto& p : parts_) add(total, p->memory());
        return total;
    }
    static void add(memory_use& total, const memory_use& m) {
        total.bytes += m.bytes;
        total.unshared += m.unshared;
        total.least += m.least;
    }

private:
    static void indent(std::string& to, const std::string& lines) {
        bool begins = true;
        for (const char c : lines) {
            if (begins) to += "    ";
            begins = c == '\n';
            to += c;
        }
    }
    submission go(const decision_runner& by, std::size_t part, std::span<const any_tensor> inputs,
                  std::span<any_tensor> outputs, stop_view stop) const {
        const auto keys = detail::fresh_keys(what_.parts[part].what->parameters.size());
        return parts_[part]->go(inputs, std::span(keys.data(), keys.size()), outputs, stop, false,
                                by.locked());
    }
    array_list<any_tensor> inputs_of(std::size_t part, std::span<const any_tensor> inputs) const {
        array_list<any_tensor> list;
        for (const int r : what_.parts[part].reads)
            list.push_back(inputs[static_cast<std::size_t>(r)]);
        return list;
    }

    submission choose(const decision_runner& by, std::span<const any_tensor> inputs,
                      std::span<any_tensor> results, stop_view stop) const {
        submission last;
        for (std::size_t k = 0; k < 2; ++k) {
            if (by.computes() && by.holds(inputs[0]) != (k == 1)) continue;
            const array_list<any_tensor> list = inputs_of(k, inputs);
            last = go(by, k, std::span(list.data(), list.size()), results, stop);
        }
        return last;
    }
    /// A value that a step makes and nobody else holds lies where the one before was, where the
    /// plan allows it: it is input and output by one handle.
    submission repeat(const decision_runner& by, std::span<const any_tensor> inputs,
                      std::span<any_tensor> results, stop_view stop) const {
        const auto carried = static_cast<std::size_t>(what_.carried);
        // The bool, the carried values, what is captured.
        array_list<any_tensor> values(1);
        for (any_tensor& t : inputs_of(0, inputs)) values.push_back(std::move(t));
        const std::span whole(values.data(), values.size());
        const std::span<any_tensor> outputs =
            whole.subspan(what_.tested ? 0 : 1, carried + (what_.tested ? 1 : 0));
        submission last;
        std::int64_t steps = 0;
        if (!by.computes()) {
            last = go(by, 0, whole.subspan(1), outputs, stop);
        } else {
            bool goes_on = !what_.tested || by.holds(inputs[carried]);
            for (; goes_on && (what_.count < 0 || steps < what_.count); ++steps) {
                if (stop.stop_requested()) throw_cancelled();
                last = go(by, 0, whole.subspan(1), outputs, stop);
                if (what_.tested) goes_on = by.holds(values[0]);
            }
            must_have_taken(what_, steps);
        }
        for (std::size_t i = 0; i < carried; ++i)
            results[i] =
                steps > 0 || !by.computes() ? std::move(values[1 + i]) : by.dense(values[1 + i]);
        return last;
    }

    const control_problem& what_;
    array_list<std::shared_ptr<engine_graph>> parts_;
};

inline const control_problem& decision_of(const plan_step& s) {
    return *s.what.get_if<control_problem>();
}

/// A plan with decisions, ready to run often. All of a run's values are new: one that fails leaves
/// what there was.
class decided_graph final : public engine_graph {
public:
    decided_graph(graph_engine& home, evaluation&& e, bool locked)
        : home_(home), keep_(home.shared_from_this()), planned_(std::move(e)),
          cut_(cut_at_decisions(what())), constants_(what().values.size()),
          last_use_(what().values.size(), 0) {
        const std::vector<any_tensor> list = planned_.constants();
        for (std::size_t i = 0; i < list.size(); ++i) constants_[at(what().constants[i])] = list[i];
        const decision_runner by(home_, locked);
        for (std::size_t k = 0; k < cut_.size(); ++k) {
            for (std::size_t i = cut_[k].begin; i < cut_[k].end; ++i)
                for (const int v : what().steps[i].buffers) last_use_[at(v)] = k;
            ready_.push_back(prepare(by, cut_[k]));
        }
        for (std::size_t i = 0; i < what().steps.size(); ++i)
            if (decides(what().steps[i]))
                planned_.run.records[i] = host_record(what().steps[i].what);
    }

    const plan* planned() const noexcept override { return &what(); }
    std::vector<any_tensor> constants() const override { return planned_.constants(); }

    submission go(std::span<const any_tensor> inputs, std::span<const std::uint32_t> keys,
                  std::span<any_tensor> outputs, stop_view stop, bool, bool locked) override {
        const decision_runner by(home_, locked);
        const plan& p = what();
        array_list<any_tensor> values = constants_;
        for (std::size_t v = 0; v < values.size(); ++v)
            if (p.values[v].count() == 0 && !values[v].has_value())
                values[v] = by.made_of_nothing(p.values[v]);
        for (std::size_t i = 0; i < inputs.size(); ++i) values[at(p.inputs[i])] = inputs[i];
        submission last;
        for (std::size_t k = 0; k < cut_.size(); ++k) {
            if (stop.stop_requested()) throw_cancelled();
            last =
                cut_[k].steps ? stretch(k, by, values, keys, stop) : decision(k, by, values, stop);
            for (const int v : p.temporaries)
                if (last_use_[at(v)] == k) values[at(v)] = {};
        }
        for (std::size_t i = 0; i < outputs.size(); ++i)
            outputs[i] = std::move(values[at(p.outputs[i])]);
        return last;
    }

    std::string explain() const override {
        std::string text;
        for (const ready& r : ready_) text += r.steps ? r.steps->explain() : r.decides->explain();
        return text;
    }
    memory_use memory() const override {
        memory_use total;
        for (const ready& r : ready_)
            ready_decision::add(total, r.steps ? r.steps->memory() : r.decides->memory());
        return total;
    }

private:
    /// One of the two.
    struct ready {
        std::shared_ptr<engine_graph> steps;
        std::unique_ptr<ready_decision> decides;
    };
    static std::size_t at(int value) noexcept { return static_cast<std::size_t>(value); }
    const plan& what() const noexcept { return planned_.run.what(); }

    ready prepare(const decision_runner& by, const plan_part& part) {
        if (!part.steps)
            return {nullptr,
                    std::make_unique<ready_decision>(by, decision_of(what().steps[part.begin]))};
        evaluation e = evaluation_of(part.steps);
        e.run.numbers = planned_.run.numbers;
        e.keep = planned_.keep;
        for (std::size_t v = 0; v < part.whole.size(); ++v)
            if (e.run.what().values[v].role == value_role::constant)
                e.run.given[v] = planned_.run.given[at(part.whole[v])];
        return {by.prepare(std::move(e)), nullptr};
    }
    submission stretch(std::size_t k, const decision_runner& by, array_list<any_tensor>& values,
                       std::span<const std::uint32_t> keys, stop_view stop) {
        const plan_part& part = cut_[k];
        const plan& p = part.steps->what;
        array_list<any_tensor> inputs, outputs(p.outputs.size());
        array_list<std::uint32_t> own_keys;
        for (const int v : p.inputs) inputs.push_back(as_it_lies(values[at(part.whole[at(v)])]));
        for (const int v : p.parameters)
            own_keys.push_back(keys[what().at(part.whole[at(v)]).index]);
        const submission last = ready_[k].steps->go(std::span(inputs.data(), inputs.size()),
                                                    std::span(own_keys.data(), own_keys.size()),
                                                    std::span(outputs.data(), outputs.size()), stop,
                                                    false, by.locked());
        for (std::size_t i = 0; i < outputs.size(); ++i)
            values[at(part.whole[at(p.outputs[i])])] = std::move(outputs[i]);
        return last;
    }
    /// What was made in another order than row-major is read by where its elements lie.
    static any_tensor as_it_lies(const any_tensor& t) {
        const node& n = *t.get();
        if (!n.realised() || n.row_major()) return t;
        return any_tensor(make_data(n.type, {n.count()}, n.data, n.owner));
    }
    submission decision(std::size_t k, const decision_runner& by, array_list<any_tensor>& values,
                        stop_view stop) {
        const plan_step& s = what().steps[cut_[k].begin];
        const control_problem& c = decision_of(s);
        const auto value_of = [&](const operand& o) -> any_tensor& {
            return values[at(s.buffers[at(o.buffer)])];
        };
        array_list<any_tensor> inputs, results(c.results.size());
        for (const operand& o : c.operands) inputs.push_back(value_of(o));
        const submission last =
            ready_[k].decides->run(by, std::span(inputs.data(), inputs.size()),
                                   std::span(results.data(), results.size()), stop);
        for (std::size_t i = 0; i < results.size(); ++i)
            if (c.results[i].buffer >= 0) value_of(c.results[i]) = std::move(results[i]);
        return last;
    }

    graph_engine& home_;
    std::shared_ptr<engine> keep_;
    evaluation planned_;
    array_list<plan_part> cut_;
    array_list<ready> ready_;           // of each part
    array_list<any_tensor> constants_;  // by value; else empty
    array_list<std::size_t> last_use_;  // of each value the last part that reads or writes it
};

namespace detail {

inline void execute_decided(graph_engine& home, plan_run& run, stop_view stop) {
    const decision_runner by(home, true);
    const plan& p = run.what();
    if (!run.planned->parts)
        run.planned->parts = std::shared_ptr<const array_list<plan_part>>(
            new array_list<plan_part>(cut_at_decisions(p)));
    const auto& parts = *static_cast<const array_list<plan_part>*>(run.planned->parts.get());
    array_list<any_tensor> values(p.values.size());
    const auto give = [&](int v, any_tensor t) {
        run.made[static_cast<std::size_t>(v)] = t.get()->data;
        values[static_cast<std::size_t>(v)] = std::move(t);
    };
    const auto given_as_tensor = [](const node& n) {
        must_hold_values(n);
        node_ptr same = make_data(n.type, n.extent, n.data, n.owner);
        same->lay_out(n.layout());
        same->offset = n.offset;
        return any_tensor(std::move(same));
    };
    for (std::size_t v = 0; v < values.size(); ++v)
        if (any_tensor t = by.made_of_nothing(p.values[v]); t.has_value())
            give(static_cast<int>(v), std::move(t));
    for (const plan_part& part : parts) {
        if (part.steps) {
            plan_run one = evaluation_of(part.steps).run;
            one.numbers = run.numbers;
            for (std::size_t v = 0; v < part.whole.size(); ++v) {
                const auto whole = static_cast<std::size_t>(part.whole[v]);
                if (one.what().values[v].is_given())
                    one.given[v] = run.given[whole] ? run.given[whole] : values[whole].get().get();
            }
            by.execute(one, stop);
            for (const int v : one.what().outputs) {
                const int whole = part.whole[static_cast<std::size_t>(v)];
                give(whole, by.make_tensor(p.at(whole), one.made[static_cast<std::size_t>(v)],
                                           one.record_of(one.what().at(v))));
            }
            for (std::size_t i = part.begin; i < part.end; ++i)
                run.records[i] = one.records[i - part.begin];
            continue;
        }
        const plan_step& s = p.steps[part.begin];
        const control_problem& c = decision_of(s);
        const auto value_of = [&](const operand& o) {
            return s.buffers[static_cast<std::size_t>(o.buffer)];
        };
        array_list<any_tensor> inputs, results(c.results.size());
        for (const operand& o : c.operands) {
            const auto v = static_cast<std::size_t>(value_of(o));
            inputs.push_back(run.given[v] ? given_as_tensor(*run.given[v]) : values[v]);
        }
        const ready_decision ready(by, c);
        ready.run(by, std::span(inputs.data(), inputs.size()),
                  std::span(results.data(), results.size()), stop);
        for (std::size_t i = 0; i < results.size(); ++i)
            if (c.results[i].buffer >= 0) give(value_of(c.results[i]), std::move(results[i]));
        run.records[part.begin] = host_record(s.what);
    }
}

inline array_list<const plan*> nested_plans(const problem& p) {
    array_list<const plan*> list;
    for (const nested_plan& n : p.get_if<control_problem>()->parts) list.push_back(n.what.get());
    return list;
}
inline std::shared_ptr<engine_graph> prepare_decided(graph_engine& home, evaluation&& e,
                                                     bool locked) {
    return std::make_shared<decided_graph>(home, std::move(e), locked);
}
inline constexpr plan_decisions control_decisions{order_by_decisions, nested_plans, execute_decided,
                                                  prepare_decided};

}  // namespace detail

template <>
inline constexpr const plan_decisions* decisions_for<control_problem> = &detail::control_decisions;

/// Finds again what runs a plan, where that is not said.
inline void find_decisions(plan& p) {
    p.decisions = nullptr;
    for (const plan_step& s : p.steps)
        if (decides(s)) p.decisions = s.what.kind().decisions;
}

inline bool lower(const control_op& op, const lowering& group, plan_builder& out) {
    const control_call& call = *op.call;
    buffer_list buffers{&out.scalars};
    const auto held = lowering::fresh<control_problem>();
    control_problem& p = *held;
    p.call = call.name;
    p.what = call.what;
    p.carried = call.carried;
    p.count = call.count;
    p.wanted = call.wanted;
    p.tested = call.tested;
    for (std::size_t i = 0; i < group.anchor().inputs.size(); ++i) {
        p.operands.push_back(group.memory(buffers, group.input(i)));
        p.operand_shapes.push_back(group.input(i)->extent());
    }
    for (const kernel_value& v : call.results) {
        p.results.push_back({-1, v.dtype, 0, row_major_strides(v.shape)});
        p.result_shapes.push_back(v.shape);
    }
    for (graph_node* n : group.outputs())
        p.results[static_cast<std::size_t>(n->op().get_if<control_op>()->output)].buffer =
            buffers.number_of(n);
    for (const control_call::part& part : call.parts) {
        planner nested(out.maker->policies());
        nested.set_places(out.maker->places());
        evaluation e = nested.plan_of(part.graph);
        p.parts.push_back({std::shared_ptr<const plan>(e.run.planned, &e.run.planned->what),
                           part.reads});
    }
    out.made.decisions = &detail::control_decisions;
    return group.add(out, held, buffers);
}

template <>
inline bool lower_op<control_op>(const lowering& group, const control_op& op, plan_builder& out) {
    return lower(op, group, out);
}

}}  // namespace pumice::PUMICE_ABI
