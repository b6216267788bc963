// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rules of a plan, checked: what a pass or a planner got wrong is named, with step and value.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/exec/plan/donation.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/kernels/operands.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

class plan_verifier {
public:
    explicit plan_verifier(const plan& p) : plan_(p) {}

    std::vector<std::string> run() && {
        // The rest looks values up, and what they lie within.
        if (!numbers() || !aliases()) return std::move(faults_);
        roles();
        steps();
        givings();
        return std::move(faults_);
    }

private:
    void fault(std::initializer_list<piece> what) { faults_.push_back(cat(what)); }
    bool known(int value) const {
        return value >= 0 && static_cast<std::size_t>(value) < plan_.values.size();
    }

    /// Each number is that of a value, a step or a giving.
    bool numbers() {
        const std::size_t before = faults_.size();
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            const plan_step& s = plan_.steps[i];
            for (const array_list<int>* list : {&s.buffers, &s.outputs})
                for (const int v : *list)
                    if (!known(v))
                        fault({"step ", i, " names value ", v, ", which does not exist"});
            if (s.unless_given >= static_cast<int>(plan_.givings.size()))
                fault({"step ", i, " waits for giving ", s.unless_given, ", which does not exist"});
        }
        for (std::size_t v = 0; v < plan_.values.size(); ++v)
            if (plan_.values[v].alias != -1 && !known(plan_.values[v].alias))
                fault({"value ", v, " lies within value ", plan_.values[v].alias,
                       ", which does not exist"});
        for (const giving& g : plan_.givings)
            if (!known(g.from) || !known(g.to) || g.step < 0 ||
                static_cast<std::size_t>(g.step) >= plan_.steps.size())
                fault({"a giving of value ", g.from, " to value ", g.to, " in step ", g.step,
                       " names what does not exist"});
        for (const array_list<int>* list : lists())
            for (const int v : *list)
                if (!known(v)) fault({"value ", v, " has a role and does not exist"});
        return faults_.size() == before;
    }

    std::array<const array_list<int>*, 5> lists() const {
        return {&plan_.inputs, &plan_.constants, &plan_.parameters, &plan_.temporaries,
                &plan_.outputs};
    }
    /// Each value has one role, and knows its place among the values of that role.
    void roles() {
        constexpr value_role order[] = {value_role::input, value_role::constant,
                                        value_role::parameter, value_role::temporary,
                                        value_role::output};
        array_list<int> listed(plan_.values.size(), 0);
        for (std::size_t k = 0; k < std::size(order); ++k)
            for (std::size_t i = 0; i < lists()[k]->size(); ++i) {
                const int v = (*lists()[k])[i];
                if (++listed[static_cast<std::size_t>(v)] > 1)
                    fault({"value ", v, " has two roles"});
                else if (plan_.at(v).role != order[k] || plan_.at(v).index != i)
                    fault({"value ", v, " is listed in a role or a place that is not its own"});
            }
        for (std::size_t v = 0; v < listed.size(); ++v)
            if (listed[v] == 0) fault({"value ", v, " has no role"});
    }

    /// What lies within another value ends there: chains have an end, and elements room.
    bool aliases() {
        for (std::size_t i = 0; i < plan_.values.size(); ++i) {
            const plan_value& v = plan_.values[i];
            if (v.layout.rank() != v.extent.rank())
                fault({"value ", i, " has ", v.layout.rank(), " strides for ", v.extent.rank(),
                       " axes"});
            if (v.alias < 0) continue;
            int at = v.alias;
            std::size_t steps = 0;
            while (plan_.at(at).alias >= 0 && steps <= plan_.values.size())
                at = plan_.at(at).alias, ++steps;
            if (steps > plan_.values.size()) {
                fault({"value ", i, " lies within itself"});
                return false;
            }
            // An input's memory is as large as its tensor says.
            if (plan_.at(at).role == value_role::input || v.layout.rank() != v.extent.rank())
                continue;
            const access a = range_of({0, v.type, v.offset, v.layout}, v.extent, false);
            if (a.begin < 0 || a.end > plan_.at(at).bytes())
                fault({"value ", i, " ends at byte ", a.end, " of value ", at, ", which has ",
                       plan_.at(at).bytes()});
        }
        return true;
    }

    void steps() {
        array_list<char> written(plan_.values.size(), 0);
        array_list<int> last(plan_.values.size(), -1);
        for (const value_role given :
             {value_role::input, value_role::constant, value_role::parameter, value_role::state})
            for (std::size_t v = 0; v < plan_.values.size(); ++v)
                if (plan_.values[v].role == given) written[v] = 1;
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            const plan_step& s = plan_.steps[i];
            for (const int v : s.buffers)
                if (plan_.at(v).alias >= 0)
                    fault({"step ", i, " works on value ", v, ", which lies within another"});
            array_list<int> writes;
            visit_operands(s.what, [&](const operand& o, const shape& domain, bool write) {
                operand_of(i, s, o, domain, write, written);
                if (write && o.buffer >= 0 && static_cast<std::size_t>(o.buffer) < s.buffers.size())
                    writes.push_back(s.buffers[static_cast<std::size_t>(o.buffer)]);
            });
            for (const int v : writes) {
                if (std::find(s.outputs.begin(), s.outputs.end(), v) == s.outputs.end())
                    fault({"step ", i, " writes value ", v, ", which is not among its outputs"});
                written[static_cast<std::size_t>(v)] = 1;
            }
            for (const int v : s.outputs) {
                if (std::find(writes.begin(), writes.end(), v) == writes.end())
                    fault({"step ", i, " does not write its output, value ", v});
                last[static_cast<std::size_t>(v)] = static_cast<int>(i);
            }
        }
        for (std::size_t v = 0; v < plan_.values.size(); ++v) {
            if (plan_.values[v].made_by != last[v])
                fault({"value ", v, " is said to be made by step ", plan_.values[v].made_by,
                       ", and is by step ", last[v]});
            if (plan_.values[v].role == value_role::output && plan_.values[v].alias < 0 &&
                plan_.values[v].count() > 0 && last[v] < 0)
                fault({"no step writes the output value ", v});
        }
    }
    void operand_of(std::size_t step, const plan_step& s, const operand& o, const shape& domain,
                    bool write, const array_list<char>& written) {
        if (o.buffer < 0) return;  // an iota
        if (static_cast<std::size_t>(o.buffer) >= s.buffers.size())
            return fault({"step ", step, " has an operand in buffer ", o.buffer, " of ",
                          s.buffers.size()});
        const int number = s.buffers[static_cast<std::size_t>(o.buffer)];
        const plan_value& v = plan_.at(number);
        if (o.type != v.type)
            fault({"step ", step, " sees value ", number, " as ", to_string(o.type), ", it is ",
                   to_string(v.type)});
        const access a = range_of(o, domain, write);
        // A tensor that is given may be a part of a larger memory, and be seen backwards.
        const bool is_given = v.role == value_role::input || v.role == value_role::constant;
        if (!is_given && (a.begin < 0 || a.end > v.bytes()))
            fault({"step ", step, " reaches bytes ", a.begin, " to ", a.end, " of value ", number,
                   ", which has ", v.bytes()});
        if (write && (v.role == value_role::input || v.role == value_role::constant ||
                      v.role == value_role::parameter))
            fault({"step ", step, " writes value ", number, ", which the plan is given"});
        if (!write && a.end > a.begin && !written[static_cast<std::size_t>(number)])
            fault({"step ", step, " reads value ", number, " before a step wrote it"});
    }

    /// Who gives memory away is through with it, and who gets it did not have it before.
    void givings() {
        plan without = plan_;
        without.givings.clear();
        find_givings(without);
        for (const giving& g : plan_.givings) {
            const auto same = [&](const giving& other) {
                return other.step == g.step && other.from == g.from && other.to == g.to;
            };
            if (std::none_of(without.givings.begin(), without.givings.end(), same))
                fault({"value ", g.from, " may not give its memory to value ", g.to, " in step ",
                       g.step});
        }
        for (std::size_t i = 0; i < plan_.steps.size(); ++i)
            if (const int k = plan_.steps[i].unless_given; k >= 0) {
                const giving& g = plan_.givings[static_cast<std::size_t>(k)];
                if (static_cast<std::size_t>(g.step) != i || !is_plain_copy(plan_.steps[i]))
                    fault({"step ", i, " is not needless where value ", g.from, " gives memory"});
            }
    }

    const plan& plan_;
    std::vector<std::string> faults_;
};

}  // namespace detail

/// What is wrong with a plan; empty where nothing is.
inline std::vector<std::string> find_faults(const plan& p) {
    return detail::plan_verifier(p).run();
}

/// Throws errc::invalid_argument with every fault of the plan.
inline void verify(const plan& p) {
    std::vector<std::string> faults = find_faults(p);
    if (!faults.empty())
        throw error(errc::invalid_argument, "plan", "it breaks the rules of plans",
                    std::move(faults));
}

}}  // namespace pumice::PUMICE_ABI
