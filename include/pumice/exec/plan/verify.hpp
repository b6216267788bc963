// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rules of a plan, checked: what a pass or a planner got wrong is named, with step and value.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/exec/plan/control.hpp>
#include <pumice/exec/plan/donation.hpp>
#include <pumice/exec/problem_kind.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/kernels/operands.hpp>
#include <pumice/policy/placement.hpp>

#include <algorithm>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

class plan_verifier {
public:
    explicit plan_verifier(const plan& p) : plan_(p) {}

    std::vector<std::string> run() && {
        // The rest looks values up, and what they lie within, and walks programs and domains.
        if (!numbers() || !aliases() || !problems()) return std::move(faults_);
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
        for (const value_role role : roles_)
            for (const int v : plan_.of_role(role))
                if (!known(v))
                    fault({"a value ", v, " of role ", to_string(role), " does not exist"});
        return faults_.size() == before;
    }

    static constexpr value_role roles_[] = {value_role::input,     value_role::constant,
                                            value_role::parameter, value_role::state,
                                            value_role::temporary, value_role::output};
    /// Each value has one role, and knows its place among the values of that role.
    void roles() {
        array_list<int> listed(plan_.values.size(), 0);
        for (const value_role role : roles_)
            for (std::size_t i = 0; i < plan_.of_role(role).size(); ++i) {
                const int v = plan_.of_role(role)[i];
                if (++listed[static_cast<std::size_t>(v)] > 1)
                    fault({"value ", v, " has two roles"});
                else if (plan_.at(v).role != role || plan_.at(v).index != i)
                    fault({"value ", v, " is listed in a role or a place that is not its own"});
            }
        for (std::size_t v = 0; v < listed.size(); ++v)
            if (listed[v] == 0) fault({"value ", v, " has no role"});
    }

    /// What lies within another value ends there: chains have an end, and elements room.
    bool aliases() {
        const std::size_t before = faults_.size();
        for (std::size_t i = 0; i < plan_.values.size(); ++i) {
            const plan_value& v = plan_.values[i];
            if (v.layout.rank() != v.extent.rank())
                fault({"value ", i, " has ", v.layout.rank(), " strides for ", v.extent.rank(),
                       " axes"});
            else if (!countable(v.offset, v.layout, v.extent))
                fault({"value ", i, " of shape ", to_string(v.extent), " cannot be counted"});
            if (faults_.size() != before) return false;
            if (v.is_given()) {
                const access a = range_of({0, v.type, v.offset, v.layout}, v.extent, false);
                if (a.begin < 0 || a.begin >= 16)
                    fault({"value ", i, " begins ", a.begin,
                           " bytes behind where kernels count from"});
            }
            if (v.alias < 0) continue;
            int at = v.alias;
            std::size_t steps = 0;
            while (plan_.at(at).alias >= 0 && steps <= plan_.values.size())
                at = plan_.at(at).alias, ++steps;
            if (steps > plan_.values.size()) {
                fault({"value ", i, " lies within itself"});
                return false;
            }
            const access a = range_of({0, v.type, v.offset, v.layout}, v.extent, false);
            if (a.begin < 0 || a.end > end_of(plan_.at(at)))
                fault({"value ", i, " ends at byte ", a.end, " of value ", at, ", which has ",
                       end_of(plan_.at(at))});
        }
        return true;
    }

    /// The programs of a step read what is there and compute what ops allow, and its sizes can be
    /// divided by and multiplied.
    bool problems() {
        const std::size_t before = faults_.size();
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            const problem& p = plan_.steps[i].what;
            if (!divides(p)) {
                fault({"step ", i, " has a stride, a dilation or a group that is not positive"});
                continue;
            }
            if (const auto* c = p.get_if<control_problem>()) decision(i, *c);
            if (faults_.size() != before) continue;
            for (const fused* f : p.kind().before(p.get())) program(i, *f, 0);
            const fused* const after = p.kind().after(p.get());
            if (after && after->body) program(i, *after, 1);
            if (faults_.size() != before) continue;
            if (const auto* r = p.get_if<reduce_problem>(); r && !reduced(*r))
                fault({"step ", i, " reduces by no op that takes its values"});
            if (const auto* s = p.get_if<sort_problem>(); s && s->first > s->length)
                fault({"step ", i, " picks ", s->first, " of ", s->length, " elements"});
            visit_operands(p, [&](const operand& o, const shape& domain, bool write) {
                if (o.buffer < 0 && write) return;  // nobody wants it
                if (o.steps.rank() != domain.rank())
                    return fault({"step ", i, " has an operand with ", o.steps.rank(),
                                  " strides over ", domain.rank(), " axes"});
                if (!countable(o.offset, o.steps, domain))
                    return fault({"step ", i, " has an operand over ", to_string(domain),
                                  ", which cannot be counted"});
                if (!o.map.empty() && (!reads_by_program(p, o) || !maps(o, domain)))
                    fault({"step ", i, " has a map that leads out of its operand"});
            });
        }
        return faults_.size() == before;
    }
    /// The plans within a step take what it does, and give what it gives or carries on.
    void decision(std::size_t step, const control_problem& c) {
        const auto wrong = [&](std::initializer_list<piece> what) {
            fault({"step ", step, " (", c.call, ") ", cat(what)});
        };
        const bool loop = c.what == deciding::loop;
        const auto carried = static_cast<std::size_t>(loop ? c.carried : 0);
        if (!plan_.decisions) return wrong({"decides, which the plan does not say"});
        if (c.operands.size() != c.operand_shapes.size() ||
            c.results.size() != c.result_shapes.size() || c.carried < 0 ||
            c.parts.size() != (loop ? 1 : 2) || (loop && carried != c.results.size()) ||
            c.operands.size() < carried + (loop ? c.tested : 1) ||
            (loop && c.count < 0 && !c.tested))
            return wrong({"has other operands, results or plans than a ", to_string(c.what)});
        const auto same = [](const plan_value& v, const operand& o, const shape& extent) {
            return v.type == o.type && v.extent == extent;
        };
        for (std::size_t i = 0; i < carried; ++i)
            if (c.operands[i].type != c.results[i].type ||
                c.operand_shapes[i] != c.result_shapes[i])
                return wrong({"carries value ", i, " of another type or shape than its result"});
        if (!loop || c.tested)
            if (c.operands[carried].type != dtype::boolean ||
                element_count(c.operand_shapes[carried]) != 1)
                return wrong({"is decided by a value that is no bool"});
        for (const nested_plan& n : c.parts) {
            if (!n.what) return wrong({"lacks a plan"});
            const plan& p = *n.what;
            std::vector<std::string> within = plan_verifier(p).run();
            for (const std::string& f : within) wrong({"has a plan in which ", f});
            if (!within.empty()) return;
            if (!p.constants.empty() || !p.states.empty())
                return wrong({"has a plan with values that nobody brings"});
            if (n.reads.size() != p.inputs.size())
                return wrong({"has a plan that takes ", p.inputs.size(), " values, not ",
                              n.reads.size()});
            for (std::size_t i = 0; i < n.reads.size(); ++i) {
                const auto r = static_cast<std::size_t>(n.reads[i]);
                if (r >= c.operands.size() ||
                    !same(p.at(p.inputs[i]), c.operands[r], c.operand_shapes[r]) ||
                    (i < carried && r != i))
                    return wrong({"gives input ", i, " of its plan another value"});
            }
            const std::size_t first = loop && c.tested ? 1 : 0;
            bool good = p.outputs.size() == first + c.results.size();
            for (std::size_t i = 0; good && i < c.results.size(); ++i)
                good = same(p.at(p.outputs[first + i]), c.results[i], c.result_shapes[i]);
            if (good && first)
                good = p.at(p.outputs[0]).type == dtype::boolean && p.at(p.outputs[0]).count() == 1;
            if (!good) return wrong({"has a plan that gives other values than its results"});
        }
    }
    static bool divides(const problem& p) {
        const auto positive = [](const int(&list)[2]) { return list[0] > 0 && list[1] > 0; };
        if (const auto* c = p.get_if<conv_problem>())
            return positive(c->shape_of.stride) && positive(c->shape_of.dilation) &&
                   c->shape_of.group > 0;
        if (const auto* l = p.get_if<pool_problem>())
            return positive(l->shape_of.stride) && positive(l->shape_of.dilation);
        return true;
    }
    /// Whether the bytes that it reaches are few enough for sums of 64 bits.
    static bool countable(std::int64_t offset, const strides& steps, const shape& extent) {
        constexpr double most = 1LL << 56;
        double count = 1, reach = std::abs(static_cast<double>(offset));
        for (int d = 0; d < extent.rank(); ++d) {
            if (extent[d] < 0) return false;
            const auto n = static_cast<double>(extent[d]);
            count *= n;
            reach += std::abs(static_cast<double>(steps[d])) * n;
            if (count > most || reach > most) return false;
        }
        return true;
    }
    static bool reads_by_program(const problem& p, const operand& o) {
        const fused* const after = p.kind().after(p.get());
        array_list<const fused*> parts;
        for (const fused* f : p.kind().before(p.get())) parts.push_back(f);
        if (after) parts.push_back(after);
        for (const fused* f : parts)
            for (const operand& leaf : f->leaves)
                if (&leaf == &o) return true;
        return false;
    }
    /// Whether every index that the operand has over the domain is one of its map.
    static bool maps(const operand& o, const shape& domain) {
        if (element_count(domain) == 0) return true;
        strides steps;
        shape lengths;
        std::int64_t indices = 1;
        for (const mapped_axis& a : o.map) {
            if (a.extent < 1 || a.length < 1 || !countable(a.add, {a.extent}, {1}) ||
                !countable(0, {indices}, {a.extent}) ||
                (a.how == fold::none && (a.add != 0 || a.extent > a.length)))
                return false;
            indices *= a.extent;
            steps.push_back(a.step);
            lengths.push_back(a.length);
        }
        const access read = range_of({0, dtype::u8, o.offset, o.steps}, domain, false);
        return countable(o.origin, steps, lengths) && read.begin >= 0 && read.end <= indices;
    }
    static bool reduced(const reduce_problem& p) {
        return p.what == reduction::by_op ? p.by && reduces(*p.by, p.prologue.type()) : !p.by;
    }
    static bool is_mapped(const program_view& v, std::uint16_t leaf) {
        for (const instruction& i : v.code)
            if (i.what == instruction::code::mapped && i.index == leaf) return true;
        return false;
    }
    void program(std::size_t step, const fused& f, int givens) {
        using code = instruction::code;
        const program_view v = f.body->view();
        const auto wrong = [&](std::size_t k, const char* what) {
            fault({"step ", step, ": instruction ", k, " of a program ", what});
        };
        if (v.code.empty() || v.code.size() > max_program || v.outputs.empty() ||
            v.outputs.size() > max_outputs || f.outputs.size() > v.outputs.size())
            return fault({"step ", step, " has a program of ", v.code.size(), " instructions with ",
                          v.outputs.size(), " outputs"});
        for (std::size_t k = 0; k < v.code.size(); ++k) {
            const instruction& i = v.code[k];
            dtype types[3] = {};
            for (int a = 0; a < i.arity(); ++a) {
                if (i.args[a] >= k) return wrong(k, "reads one behind it");
                types[a] = v.code[i.args[a]].type;
            }
            if (i.is_leaf() || i.what == code::iota || i.what == code::inside) {
                if (i.index >= f.leaves.size())
                    return wrong(k, "reads an operand that is not there");
                const operand& o = f.leaves[i.index];
                if (i.what == code::inside) {
                    if (i.type != dtype::boolean || !is_mapped(v, i.index))
                        return wrong(k, "asks for an element of an operand that has no map");
                    continue;
                }
                if ((i.format ? o.format != i.format || o.type != i.format->memory
                              : o.format || o.type != i.type) ||
                    (o.buffer < 0) != (i.what == code::iota))
                    return wrong(k, "reads an operand of another type");
                if (o.map.size() > max_rank || o.map.empty() == (i.what == code::mapped) ||
                    form_of(span(o.map.data(), o.map.size())) != i.map)
                    return wrong(k, "reads an operand by another map");
            } else if (i.what == code::scalar) {
                if (i.index >= f.scalars.size() || f.scalars[i.index].value.type != i.type)
                    return wrong(k, "takes a number that is not there");
                const int number = f.scalars[i.index].number;
                if (number >= 0 && (static_cast<std::size_t>(number) >= plan_.numbers.size() ||
                                    plan_.numbers[static_cast<std::size_t>(number)].type != i.type))
                    return wrong(k, "takes a number that no run brings");
            } else if (i.what == code::given) {
                if (i.index >= givens) return wrong(k, "is given a value that there is not");
            } else if (i.what == code::apply &&
                       result_type(*i.op, span(types, static_cast<std::size_t>(i.arity()))) !=
                           i.type) {
                return wrong(k, "is of another type than its op gives");
            }
        }
        for (std::size_t o = 0; o < v.outputs.size(); ++o) {
            if (v.outputs[o] >= v.code.size())
                return fault({"step ", step, " has a program with an output that is not computed"});
            if (o < f.outputs.size() && f.outputs[o].type != v.code[v.outputs[o]].type)
                fault({"step ", step, " writes output ", o, " of a program as another type"});
        }
    }

    /// Of what kernels may reach: a tensor that is given has a layout and a beginning of its own.
    static std::int64_t end_of(const plan_value& v) {
        return v.is_given() ? range_of({0, v.type, v.offset, v.layout}, v.extent, false).end
                            : v.bytes();
    }

    void steps() {
        array_list<char> written(plan_.values.size(), 0);
        array_list<int> last(plan_.values.size(), -1);
        for (std::size_t v = 0; v < plan_.values.size(); ++v)
            written[v] = plan_.values[v].is_given() || plan_.values[v].role == value_role::state;
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
            places(i, s);
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
    /// What a step works on lies where it runs, but for one side of a transfer.
    void places(std::size_t step, const plan_step& s) {
        if (s.place < 0 || s.place >= max_places)
            return fault({"step ", step, " runs at place ", s.place});
        const auto lies_here = [&](int v) {
            return plan_.at(v).is_given() || plan_.at(v).place == s.place;
        };
        const auto at_home = std::count_if(s.buffers.begin(), s.buffers.end(), lies_here);
        if (at_home == std::ssize(s.buffers)) return;
        if (!plan_.is_transfer(s) || !is_plain_copy(s) || at_home != 1)
            fault({"step ", step, " runs at place ", s.place,
                   " and works on a value of another, which it does not copy"});
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
        if (a.end > a.begin && (a.begin < 0 || a.end > end_of(v)))
            fault({"step ", step, " reaches bytes ", a.begin, " to ", a.end, " of value ", number,
                   ", which has ", end_of(v)});
        if (write && v.is_given())
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
