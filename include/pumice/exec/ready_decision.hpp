// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A step that decides, ready to run: the host reads a bool, or counts, and runs the plans within,
// each of which is a prepared graph.
#pragma once

#include <pumice/exec/plan/control.hpp>
#include <pumice/exec/vulkan/repeated_steps.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// What decisions need of an engine, which is nobody else's business. But for `prepare` without its
/// lock.
class decision_runner {
public:
    explicit decision_runner(graph_engine& home) : home_(home) {}

    std::shared_ptr<prepared_graph> prepare(evaluation&& e, kept_by by) const {
        return prepare_plan(home_, std::move(e), by);
    }
    void execute(plan_run& run) const {
        const std::lock_guard lock(home_.mutex_);
        home_.execute(run);
    }
    /// Steps of a body that go on without the host, as many of those as can: 0 where none does.
    std::int64_t repeat(prepared_graph& body, span<any_tensor> values, std::size_t carried,
                        std::int64_t steps) const {
        if (!home_.records() || body.planned()->decisions) return 0;
        return step_repeater(static_cast<vulkan_executable&>(body)).run(values, carried, steps);
    }
    /// Between two steps: whoever waits for the engine has his turn.
    void give_way() const noexcept { home_.mutex_.give_way(); }
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
        const std::lock_guard lock(home_.mutex_);
        return any_tensor(home_.dense(t, 0));
    }
    /// Of a value without elements, which no step makes; else nothing.
    any_tensor made_of_nothing(const plan_value& v) const {
        if (v.is_given() || v.alias >= 0 || v.count() > 0) return {};
        return any_tensor(home_.create(v.type, v.extent, nullptr));
    }
    /// A tensor whose values are lost; an empty handle where there is no memory for it.
    any_tensor lost(dtype type, const shape& extent) const noexcept {
        try {
            any_tensor t(home_.create(type, extent, nullptr));
            t.get()->data->lost = true;
            return t;
        } catch (...) {
            return {};
        }
    }

    /// While it is there, the engine's lock is free, and the nodes of the last walk are claimed.
    class apart {
    public:
        explicit apart(const decision_runner& by) : home_(by.home_) {
            home_.planner_.claim(claim_);
            home_.mutex_.unlock();
        }
        apart(const apart&) = delete;
        apart& operator=(const apart&) = delete;
        ~apart() {
            home_.mutex_.lock();
            home_.planner_.give_back(claim_);
            ++home_.claims_ended_;
            home_.claims_ended_.notify_all();
        }

    private:
        graph_engine& home_;
        key_index claim_;
    };
    /// Of a few plans the engine keeps what is ready to run. Pre: the engine's lock.
    void keep_few() const noexcept { home_.planner_.keep_parts(8); }

private:
    graph_engine& home_;
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

/// Any thread may run it. Pre: the problem outlives it.
class ready_decision {
public:
    ready_decision(const decision_runner& by, const control_problem& what, kept_by keeper)
        : what_(what) {
        for (const nested_plan& n : what.parts)
            parts_.push_back(by.prepare(evaluation_of(*n.what), keeper));
    }

    /// Gives as many results as the problem has. The first step of a loop may write over a carried
    /// value that nobody but `inputs` holds: where the run throws after that, it is lost.
    submission run(const decision_runner& by, span<any_tensor> inputs, span<any_tensor> results,
                   stop_view stop) const {
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
            text += indented(indented(parts_[i]->explain()));
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
    submission go(std::size_t part, span<const any_tensor> inputs, span<any_tensor> outputs,
                  stop_view stop) const {
        const auto keys = detail::fresh_keys(what_.parts[part].what->parameters.size());
        return parts_[part]->run(inputs, span(keys.data(), keys.size()), outputs, stop, false);
    }

    submission choose(const decision_runner& by, span<const any_tensor> inputs,
                      span<any_tensor> results, stop_view stop) const {
        submission last;
        for (std::size_t k = 0; k < 2; ++k) {
            if (by.computes() && by.holds(inputs[0]) != (k == 1)) continue;
            array_list<any_tensor> list;
            for (const int r : what_.parts[k].reads)
                list.push_back(inputs[static_cast<std::size_t>(r)]);
            last = go(k, span(list.data(), list.size()), results, stop);
        }
        return last;
    }

    /// The values of a loop's step. What it took from `inputs` goes back where the loop throws.
    struct loop_values {
        span<any_tensor> inputs;
        array_list<any_tensor> list{1};  // the bool, the carried values, what is captured
        array_list<char> taken;          // of each carried value whether `list` alone has it
        bool stepped = false;            // it is a later step's

        loop_values(span<any_tensor> from, const array_list<int>& reads, std::size_t carried)
            : inputs(from), taken(carried, 0) {
            list.reserve(1 + reads.size());
            for (std::size_t i = 0; i < reads.size(); ++i) {
                any_tensor& t = from[static_cast<std::size_t>(reads[i])];
                if (i < carried && std::count(reads.begin(), reads.end(), reads[i]) == 1) {
                    taken[i] = 1;
                    list.push_back(std::move(t));
                } else {
                    list.push_back(t);
                }
            }
        }
        loop_values(const loop_values&) = delete;
        loop_values& operator=(const loop_values&) = delete;
        ~loop_values() {
            for (std::size_t i = 0; i < taken.size(); ++i) {
                any_tensor& t = list[1 + i];
                if (!taken[i] || !t.has_value()) continue;
                if (stepped) t.get()->data->lost = true;
                inputs[i] = std::move(t);
            }
        }
    };
    /// A value that a step makes and nobody else holds lies where the one before was, where the
    /// plan allows it: it is input and output by one handle.
    submission repeat(const decision_runner& by, span<any_tensor> inputs, span<any_tensor> results,
                      stop_view stop) const {
        const auto carried = static_cast<std::size_t>(what_.carried);
        loop_values values(inputs, what_.parts[0].reads, carried);
        const span whole(values.list.data(), values.list.size());
        const span<any_tensor> outputs =
            whole.subspan(what_.tested ? 0 : 1, carried + (what_.tested ? 1 : 0));
        submission last;
        std::int64_t steps = 0;
        if (!by.computes()) {
            last = go(0, whole.subspan(1), outputs, stop);
        } else {
            bool goes_on = !what_.tested || by.holds(inputs[carried]);
            for (; goes_on && (what_.count < 0 || steps < what_.count); ++steps) {
                if (stop.stop_requested()) throw_cancelled();
                if (steps > 0) by.give_way();
                last = go(0, whole.subspan(1), outputs, stop);
                values.stepped = true;
                if (what_.tested) goes_on = by.holds(whole[0]);
                else if (!stop.stop_possible())
                    steps +=
                        by.repeat(*parts_[0], whole.subspan(1), carried, what_.count - steps - 1);
            }
            must_have_taken(what_, steps);
        }
        for (std::size_t i = 0; i < carried; ++i)
            if (steps == 0 && by.computes()) whole[1 + i] = by.dense(whole[1 + i]);
        for (std::size_t i = 0; i < carried; ++i) results[i] = std::move(whole[1 + i]);
        return last;
    }

    const control_problem& what_;
    array_list<std::shared_ptr<prepared_graph>> parts_;
};

}}  // namespace pumice::PUMICE_ABI
