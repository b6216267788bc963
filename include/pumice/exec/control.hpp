// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How plans with steps that decide run, in any engine: cut there, and what lies between and within
// is made ready once. No lock of the engine's is held while a loop runs.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/ready_decision.hpp>

namespace pumice { inline namespace PUMICE_ABI {

inline const control_problem& decision_of(const plan_step& s) {
    return *s.what.get_if<control_problem>();
}

/// A plan's parts, those that decide ready to run. Pre: the plan outlives them.
struct ready_parts {
    array_list<plan_part> list;
    array_list<unique_ptr<ready_decision>> decisions;  // of each part; null for a stretch
    array_list<std::size_t> last_use;  // of each value the last part that reads or writes it

    ready_parts(const decision_runner& by, const plan& p, kept_by keeper)
        : list(cut_at_decisions(p)), last_use(p.values.size(), 0) {
        for (std::size_t k = 0; k < list.size(); ++k) {
            for (std::size_t i = list[k].begin; i < list[k].end; ++i)
                for (const int v : p.steps[i].buffers) last_use[static_cast<std::size_t>(v)] = k;
            decisions.push_back(nullptr);
            if (!list[k].steps)
                decisions.back() =
                    make_owned<ready_decision>(by, decision_of(p.steps[list[k].begin]), keeper);
        }
    }
    /// Whether a part that decides is the last to look at an operand's value, and looks at it once.
    bool ends(std::size_t part, const plan_step& s, const control_problem& c, int value) const {
        int reads = 0;
        for (const operand& o : c.operands)
            reads += s.buffers[static_cast<std::size_t>(o.buffer)] == value;
        return last_use[static_cast<std::size_t>(value)] == part && reads == 1;
    }
};

/// Inputs that a run may write over, as the handles that its caller has: he has them back where the
/// run throws, with their values or without.
class given_handles {
public:
    /// Those that are `donated`, or the handle of a result.
    given_handles(const decision_runner& by, span<const any_tensor> inputs,
                  span<any_tensor> outputs, bool donated)
        : by_(by), of_(inputs.size(), nullptr) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            bool given = donated;
            for (const any_tensor& out : outputs) given = given || &out == &inputs[i];
            // The caller's handles are no constants then: results may be among them.
            if (given) of_[i] = const_cast<any_tensor*>(&inputs[i]);
        }
    }
    given_handles(const given_handles&) = delete;
    given_handles& operator=(const given_handles&) = delete;
    ~given_handles() {
        if (through) return;
        for (const taken& t : taken_)
            if (!t.from->has_value()) *t.from = by_.lost(t.type, t.extent);
    }
    /// Moves the handle of an input, if it is given and alone beside `held`, and lets go of that.
    bool take(std::size_t input, any_tensor& held, any_tensor& to) {
        any_tensor* const from = of_[input];
        if (!from || from->get() != held.get() || held.get().use_count() != 2 ||
            held.get()->data.use_count() != 1)
            return false;
        taken_.push_back({from, &to, held.dtype(), held.shape()});
        held = {};
        to = std::move(*from);
        return true;
    }
    std::size_t count() const noexcept { return taken_.size(); }
    /// What a decision that throws has left of what was taken for it: from `first` on.
    void give_back(std::size_t first) noexcept {
        for (std::size_t i = first; i < taken_.size(); ++i)
            if (taken_[i].at->has_value()) *taken_[i].from = std::move(*taken_[i].at);
    }

    bool through = false;

private:
    struct taken {
        any_tensor *from, *at;
        pumice::dtype type;
        shape extent;
    };
    const decision_runner& by_;
    array_list<any_tensor*> of_;  // by input; null where it is not given
    array_list<taken> taken_;
};

/// A plan with decisions, ready to run often. But for what a loop is given for good all of a run's
/// values are new: one that fails leaves what there was.
class decided_graph final : public prepared_graph {
public:
    decided_graph(graph_engine& home, evaluation&& e, kept_by by, std::shared_ptr<engine> keep)
        : home_(home), keep_(std::move(keep)), planned_(std::move(e)),
          parts_(decision_runner(home), what(), by), constants_(what().values.size()) {
        const std::vector<any_tensor> list = planned_.constants();
        for (std::size_t i = 0; i < list.size(); ++i) constants_[at(what().constants[i])] = list[i];
        for (const plan_part& part : parts_.list)
            stretches_.push_back(part.steps ? prepare(part, by) : nullptr);
        for (std::size_t i = 0; i < what().steps.size(); ++i)
            if (decides(what().steps[i]))
                planned_.run.records[i] = host_record(what().steps[i].what);
    }

    const plan* planned() const noexcept override { return &what(); }
    std::vector<any_tensor> constants() const override { return planned_.constants(); }

    submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                   span<any_tensor> outputs, stop_view stop, bool donated) override {
        array_list<node_ptr> lazy;  // a step may decide by an input
        for (const any_tensor& t : inputs)
            if (!t.get()->realised()) lazy.push_back(t.get());
        if (!lazy.empty()) home_.eval(span<const node_ptr>(lazy.data(), lazy.size()));
        const decision_runner by(home_);
        const plan& p = what();
        given_handles given(by, inputs, outputs, donated);
        array_list<any_tensor> values = constants_;
        for (std::size_t v = 0; v < values.size(); ++v)
            if (p.values[v].count() == 0 && !values[v].has_value())
                values[v] = by.made_of_nothing(p.values[v]);
        for (std::size_t i = 0; i < inputs.size(); ++i) values[at(p.inputs[i])] = inputs[i];
        submission last;
        for (std::size_t k = 0; k < parts_.list.size(); ++k) {
            if (stop.stop_requested()) throw_cancelled();
            last = parts_.list[k].steps ? stretch(k, values, keys, stop)
                                        : decision(k, by, values, given, stop);
            for (const int v : p.temporaries)
                if (parts_.last_use[at(v)] == k) values[at(v)] = {};
        }
        for (std::size_t i = 0; i < outputs.size(); ++i)
            outputs[i] = std::move(values[at(p.outputs[i])]);
        given.through = true;
        return last;
    }

    std::string explain() const override {
        std::string text;
        for (std::size_t k = 0; k < stretches_.size(); ++k)
            text += stretches_[k] ? stretches_[k]->explain() : parts_.decisions[k]->explain();
        return text;
    }
    memory_use memory() const override {
        memory_use total;
        for (std::size_t k = 0; k < stretches_.size(); ++k)
            ready_decision::add(total, stretches_[k] ? stretches_[k]->memory()
                                                     : parts_.decisions[k]->memory());
        return total;
    }

private:
    static std::size_t at(int value) noexcept { return static_cast<std::size_t>(value); }
    const plan& what() const noexcept { return planned_.run.what(); }

    std::shared_ptr<prepared_graph> prepare(const plan_part& part, kept_by by) {
        evaluation e = evaluation_of(part.steps);
        e.run.numbers = planned_.run.numbers;
        e.keep = planned_.keep;
        for (std::size_t v = 0; v < part.whole.size(); ++v)
            if (e.run.what().values[v].role == value_role::constant)
                e.run.given[v] = planned_.run.given[at(part.whole[v])];
        return decision_runner(home_).prepare(std::move(e), by);
    }
    submission stretch(std::size_t k, array_list<any_tensor>& values,
                       span<const std::uint32_t> keys, stop_view stop) {
        const plan_part& part = parts_.list[k];
        const plan& p = part.steps->what;
        array_list<any_tensor> inputs, outputs(p.outputs.size());
        array_list<std::uint32_t> own_keys;
        for (const int v : p.inputs) inputs.push_back(as_it_lies(values[at(part.whole[at(v)])]));
        for (const int v : p.parameters)
            own_keys.push_back(keys[what().at(part.whole[at(v)]).index]);
        const submission last =
            stretches_[k]->run(span(inputs.data(), inputs.size()),
                               span(own_keys.data(), own_keys.size()),
                               span(outputs.data(), outputs.size()), stop, false);
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
                        given_handles& given, stop_view stop) {
        const plan_step& s = what().steps[parts_.list[k].begin];
        const control_problem& c = decision_of(s);
        const auto value_of = [&](const operand& o) { return s.buffers[at(o.buffer)]; };
        const std::size_t before = given.count();
        array_list<any_tensor> inputs(c.operands.size()), results(c.results.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const int v = value_of(c.operands[i]);
            const plan_value& value = what().at(v);
            const bool last = c.what == deciding::loop && parts_.ends(k, s, c, v);
            if (last && value.role == value_role::temporary) inputs[i] = std::move(values[at(v)]);
            else if (!last || value.role != value_role::input ||
                     !given.take(value.index, values[at(v)], inputs[i]))
                inputs[i] = values[at(v)];
        }
        try {
            const submission done = at_step(s, [&] {
                return parts_.decisions[k]->run(by, span(inputs.data(), inputs.size()),
                                                span(results.data(), results.size()), stop);
            });
            for (std::size_t i = 0; i < results.size(); ++i)
                if (c.results[i].buffer >= 0)
                    values[at(value_of(c.results[i]))] = std::move(results[i]);
            return done;
        } catch (...) {
            given.give_back(before);
            throw;
        }
    }

    graph_engine& home_;
    std::shared_ptr<engine> keep_;
    evaluation planned_;
    ready_parts parts_;
    array_list<std::shared_ptr<prepared_graph>> stretches_;  // of each part; null for a decision
    array_list<any_tensor> constants_;                       // by value; else empty
};

namespace detail {

/// The parts of a known plan, which stay with it for a while. Pre: the engine's lock.
inline std::shared_ptr<const ready_parts> parts_of(const decision_runner& by, known_plan& planned) {
    if (!planned.parts) {
        planned.parts = std::make_shared<const ready_parts>(by, planned.what, kept_by::engine);
        by.keep_few();
    }
    return std::static_pointer_cast<const ready_parts>(planned.parts);
}

inline void execute_decided(graph_engine& home, evaluation& e) {
    plan_run& run = e.run;
    const decision_runner by(home);
    const plan& p = run.what();
    const auto parts = parts_of(by, *run.planned);
    const decision_runner::apart meanwhile(by);
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
    for (std::size_t k = 0; k < parts->list.size(); ++k) {
        const plan_part& part = parts->list[k];
        if (part.steps) {
            plan_run one = evaluation_of(part.steps).run;
            one.numbers = run.numbers;
            for (std::size_t v = 0; v < part.whole.size(); ++v) {
                const auto whole = static_cast<std::size_t>(part.whole[v]);
                if (one.what().values[v].is_given())
                    one.given[v] = run.given[whole] ? run.given[whole] : values[whole].get().get();
            }
            by.execute(one);
            for (const int v : one.what().outputs) {
                const int whole = part.whole[static_cast<std::size_t>(v)];
                give(whole, by.make_tensor(p.at(whole), one.made[static_cast<std::size_t>(v)],
                                           one.record_of(one.what().at(v))));
            }
            for (std::size_t i = 0; i < part.step_of.size(); ++i)
                run.records[part.step_of[i]] = one.records[i];
            continue;
        }
        const plan_step& s = p.steps[part.begin];
        const control_problem& c = decision_of(s);
        const auto value_of = [&](const operand& o) {
            return s.buffers[static_cast<std::size_t>(o.buffer)];
        };
        array_list<any_tensor> inputs, results(c.results.size());
        for (const operand& o : c.operands) {
            const int v = value_of(o);
            const auto number = static_cast<std::size_t>(v);
            if (run.given[number]) {
                inputs.push_back(given_as_tensor(*run.given[number]));
            } else if (p.at(v).role == value_role::temporary && parts->ends(k, s, c, v)) {
                run.made[number].reset();
                inputs.push_back(std::move(values[number]));
            } else {
                inputs.push_back(values[number]);
            }
        }
        at_step(s, [&] {
            parts->decisions[k]->run(by, span(inputs.data(), inputs.size()),
                                     span(results.data(), results.size()), {});
        });
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
inline std::shared_ptr<prepared_graph> prepare_decided(graph_engine& home, evaluation&& e,
                                                       kept_by by) {
    return std::make_shared<decided_graph>(home, std::move(e), by, home.keeper(by));
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
