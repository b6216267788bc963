// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan whose numbers are functions of an extent: found from the plans of five neighbouring
// extents, which are alike but for numbers that follow it.
#pragma once

#include <pumice/exec/plan/detail/number_walk.hpp>
#include <pumice/exec/plan/detail/varying_launches.hpp>
#include <pumice/exec/plan/range.hpp>

#include <algorithm>
#include <exception>

namespace pumice { inline namespace PUMICE_ABI {

/// Which inputs have axes of the extent, and what it may be.
struct varying_inputs {
    array_list<shape> shapes;     // for the largest extent
    array_list<index_list> axes;  // of each
    std::int64_t least = 0, most = 0;
    std::string why_not_less = {};  // what a smaller extent throws
};

class varying_plan final : public plan_range {
public:
    static constexpr int samples = extent_formula::samples;

    /// Of the plans for the extents first, first + 1, ... Throws errc::unsupported that names the
    /// step where they are not alike.
    varying_plan(varying_inputs inputs, std::int64_t first, const array_list<const plan*>& plans)
        : inputs_(std::move(inputs)), as_first_(*plans[0]) {
        array_list<detail::number_reader> read(samples);
        const auto visit = [&](const std::string& what, auto&& part_of) {
            begins_.push_back(numbers_.size());
            for (int k = 0; k < samples; ++k) {
                detail::number_reader& r = read[static_cast<std::size_t>(k)];
                r = {};
                detail::number_walk walk(r);
                auto part = part_of(*plans[static_cast<std::size_t>(k)]);
                walk(part);
                if (r.words != read[0].words || r.numbers.size() != read[0].numbers.size())
                    fail(errc::unsupported, "varying",
                         {what, " is not alike for the extents ", first, " and ", first + k,
                          "; what a function does, and where a placement policy puts it, must "
                          "not depend on the extent"});
            }
            for (std::size_t i = 0; i < read[0].numbers.size(); ++i) {
                std::int64_t values[samples] = {};
                for (int k = 0; k < samples; ++k)
                    values[k] = read[static_cast<std::size_t>(k)].numbers[i];
                extent_formula f;
                if (!f.find(first, values))
                    fail(errc::unsupported, "varying",
                         {what,
                          " has a number that is no polynomial of the extent, such as one that is "
                          "rounded: tried with ",
                          first, ", ", first + 1, " and ", first + 2, " it is ", values[0], ", ",
                          values[1], " and ", values[2]});
                if (!f.is_constant()) varying_.push_back({numbers_.size(), f});
                numbers_.push_back(values[0]);
            }
        };
        for (const plan* p : plans)
            if (p->values.size() != plans[0]->values.size() ||
                p->steps.size() != plans[0]->steps.size() || p->decisions ||
                p->numbers.size() != plans[0]->numbers.size())
                fail(errc::unsupported, "varying",
                     {p->decisions ? "a branch or a loop is planned for fixed extents"
                                   : "the plan has other steps for other extents; what a function "
                                     "does, and where a placement policy puts it, must not depend "
                                     "on the extent"});
        visit("a scalar of the function", [](const plan& p) { return p.numbers; });
        for (std::size_t v = 0; v < as_first_.values.size(); ++v)
            visit(about_value(v), [v](const plan& p) { return p.values[v]; });
        for (std::size_t s = 0; s < as_first_.steps.size(); ++s)
            visit(about(as_first_.steps[s]), [s](const plan& p) { return p.steps[s]; });
        begins_.push_back(numbers_.size());
        keep_common_givings(plans);
        const plan largest = fill(inputs_.most, true);
        for (const plan_value& v : largest.values) bytes_.push_back(v.bytes());
    }

    /// The plan for the largest extent, which names this object.
    plan largest() const {
        plan p = fill(inputs_.most, true);
        p.range = this;
        return p;
    }
    const varying_inputs& inputs() const noexcept { return inputs_; }
    /// Throws errc::unsupported where the plan for an extent is another than this object has.
    void must_be(plan p, std::int64_t extent) const {
        detail::number_reader read[2];
        plan ours = fill(extent, true);
        for (const bool mine : {false, true}) {
            plan& of = mine ? ours : p;
            detail::number_walk walk(read[mine]);
            walk(of.numbers);
            for (plan_value& v : of.values) walk(v);
            for (plan_step& s : of.steps) walk(s);
        }
        if (read[0].words != read[1].words || read[0].numbers != read[1].numbers)
            fail(errc::unsupported, "varying",
                 {"a pass leaves another graph for the extent ", extent,
                  " than those near the bound say; it must not decide by a number that follows the "
                  "extent"});
    }

    std::int64_t extent_of(span<const any_tensor> inputs) const override {
        std::int64_t found = -1;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            for (const std::int64_t axis : inputs_.axes[i]) {
                const std::int64_t n = inputs[i].get()->extent[static_cast<int>(axis)];
                if (found >= 0 && n != found)
                    fail(errc::shape_mismatch, "executable",
                         {"input ", i, " has ", n, " along axis ", axis,
                          ", another varying axis has ", found, "; they vary together"});
                found = n;
            }
        return found;
    }
    bool takes(std::size_t index, const shape& s) const override {
        shape fixed = s;
        if (s.rank() != inputs_.shapes[index].rank()) return false;
        for (const std::int64_t a : inputs_.axes[index]) {
            const int axis = static_cast<int>(a);
            if (s[axis] > inputs_.most)
                fail(errc::shape_mismatch, "executable",
                     {"input ", index, " has ", s[axis], " along axis ", axis,
                      ", which varies up to ", inputs_.most,
                      "; compile for a larger extent (varying::at_most)"});
            if (s[axis] < inputs_.least)
                fail(errc::shape_mismatch, "executable",
                     {"input ", index, " has ", s[axis], " along axis ", axis,
                      ", the function takes ", inputs_.least, " at least: ", inputs_.why_not_less});
            fixed[axis] = inputs_.most;
        }
        return fixed == inputs_.shapes[index];
    }

    plan at(std::int64_t extent, bool steps) const override {
        plan p = fill(extent, steps);
        for (std::size_t v = 0; v < p.values.size(); ++v) {
            for (const std::int64_t n : p.values[v].extent)
                if (n < 0)
                    fail(errc::shape_mismatch, "executable",
                         {about_value(v), " would have the shape ", to_string(p.values[v].extent),
                          " for the extent ", extent});
            if (p.values[v].bytes() > bytes_[v])
                fail(errc::unsupported, "varying",
                     {about_value(v), " takes more memory for the extent ", extent, " than for ",
                      inputs_.most, ", the largest"});
        }
        return p;
    }

    choice choose(const plan& p, std::size_t step, const device_info& device,
                  const policy_set& policies) const override;

private:
    /// Whether each value has a shape for it; extents for which one has none are recorded apart.
    bool has_shapes(std::int64_t extent) const {
        for (const plan_value& v : fill(extent, false).values)
            if (std::any_of(v.extent.begin(), v.extent.end(), [](auto n) { return n < 0; }))
                return false;
        return true;
    }
    choice choose(std::size_t step, const detail::chosen_extents& extents,
                  const device_info& device, const policy_set& policies) const;

    struct varying_place {
        std::size_t at;  // among the numbers
        extent_formula number;
    };

    static std::string about(const plan_step& s) {
        const std::string ops = fused_name(s.what), origin = origin_of(s);
        return cat({"`", family_of(s.what), "`", ops.empty() ? "" : " of " + ops,
                    origin.empty() ? "" : " for " + origin});
    }
    std::string about_value(std::size_t v) const {
        const plan_value& value = as_first_.values[v];
        std::string text = cat({to_string(value.role), " ", value.index});
        if (value.made_by >= 0)
            append_text(text,
                        {" of ", about(as_first_.steps[static_cast<std::size_t>(value.made_by)])});
        return text;
    }

    /// What may be given for all of the extents.
    void keep_common_givings(const array_list<const plan*>& plans) {
        const auto has = [](const plan& p, const giving& g) {
            for (const giving& each : p.givings)
                if (each.step == g.step && each.from == g.from && each.to == g.to) return true;
            return false;
        };
        plan& p = as_first_;
        array_list<int> place;
        array_list<giving> kept;
        for (const giving& g : p.givings) {
            bool common = true;
            for (const plan* each : plans) common = common && has(*each, g);
            place.push_back(common ? static_cast<int>(kept.size()) : -1);
            if (common) kept.push_back(g);
        }
        p.givings = std::move(kept);
        for (plan_step& s : p.steps)
            if (s.unless_given >= 0)
                s.unless_given = place[static_cast<std::size_t>(s.unless_given)];
    }

    array_list<std::int64_t> numbers_at(std::int64_t extent) const {
        array_list<std::int64_t> n = numbers_;
        for (const varying_place& v : varying_) n[v.at] = v.number.at(extent);
        return n;
    }
    plan fill(std::int64_t extent, bool steps) const {
        plan p;
        if (steps) p = as_first_;
        else p.values = as_first_.values, p.numbers = as_first_.numbers;
        const array_list<std::int64_t> numbers = numbers_at(extent);
        detail::number_writer to{numbers.data()};
        detail::number_walk walk(to);
        walk(p.numbers);
        for (plan_value& v : p.values) walk(v);
        for (plan_step& s : p.steps) walk(s);
        return p;
    }
    /// The numbers of a step that depend on the extent.
    span<const varying_place> varying_in(std::size_t step) const {
        const std::size_t part = 1 + as_first_.values.size() + step;
        const auto before = [](const varying_place& v, std::size_t at) { return v.at < at; };
        const varying_place* const from =
            std::lower_bound(varying_.begin(), varying_.end(), begins_[part], before);
        const varying_place* const to =
            std::lower_bound(from, varying_.end(), begins_[part + 1], before);
        return {from, static_cast<std::size_t>(to - from)};
    }
    problem problem_of(std::size_t step, std::int64_t extent) const {
        const std::size_t part = 1 + as_first_.values.size() + step;
        array_list<std::int64_t> numbers;
        for (std::size_t i = begins_[part]; i < begins_[part + 1]; ++i)
            numbers.push_back(numbers_[i]);
        for (const varying_place& v : varying_in(step))
            numbers[v.at - begins_[part]] = v.number.at(extent);
        detail::number_writer to{numbers.data()};
        detail::number_walk walk(to);
        problem made = as_first_.steps[step].what;
        walk(made);
        return made;
    }

    /// Kernels are compiled for how their operands are aligned. So the extents that one is chosen
    /// for have no number more even than it is for all; where there are none such (of n and n + 1
    /// one is even), no number that is even by chance is a multiple of 4, and `more` has other
    /// extents of that kind.
    /// `least`: from there on.
    detail::chosen_extents extents_for(std::size_t step, std::int64_t least) const {
        const span<const varying_place> numbers = varying_in(step);
        const auto is_typical = [&](std::int64_t extent, std::uint64_t by_chance) {
            for (const varying_place& v : numbers) {
                const auto n = static_cast<std::uint64_t>(v.number.at(extent));
                const std::uint64_t even = n & (~n + 1), always = v.number.even();
                if (even != always && (even > by_chance || even == 0)) return false;
            }
            return true;
        };
        constexpr std::int64_t widest = 64;
        for (const std::uint64_t by_chance : {1u, 2u})
            for (std::int64_t apart = 1; apart <= widest; apart *= 2)
                for (std::int64_t from = least; from < least + widest; ++from) {
                    detail::chosen_extents e{from, apart};
                    bool good = true;
                    for (int k = 0; good && k < samples; ++k)
                        good = is_typical(e.at(k), by_chance == 1 ? 0 : by_chance);
                    if (!good) continue;
                    for (std::int64_t more = from; by_chance == 2 && more < from + 8; ++more)
                        if (is_typical(more, by_chance)) e.more.push_back(more);
                    return e;
                }
        return {least};
    }

    varying_inputs inputs_;
    plan as_first_;
    array_list<std::int64_t> numbers_;  // for the first extent: of scalars, values, then steps
    array_list<std::size_t> begins_;    // of each of those
    array_list<varying_place> varying_;
    array_list<std::int64_t> bytes_;  // of each value for the largest extent
};

inline choice varying_plan::choose(const plan& p, std::size_t step, const device_info& device,
                                   const policy_set& policies) const {
    if (varying_in(step).empty()) return pumice::choose(p.steps[step].what, device, policies);
    // A kernel that is compiled for a length may change among some extents, and not among others.
    std::exception_ptr fault;
    for (const std::int64_t least :
         {inputs_.most, inputs_.most + 24, 2 * inputs_.most + 96, 4 * inputs_.most + 1100})
        try {
            return choose(step, extents_for(step, least), device, policies);
        } catch (const error& e) {
            if (e.code() != errc::unsupported) throw;
            if (!fault) fault = std::current_exception();
        }
    std::rethrow_exception(fault);
}

inline choice varying_plan::choose(std::size_t step, const detail::chosen_extents& extents,
                                   const device_info& device, const policy_set& policies) const {
    array_list<problem> asked;
    for (int k = 0; k < samples; ++k) asked.push_back(problem_of(step, extents.at(k)));
    struct refusal {
        kernel_candidate what;
        std::string why;
    };
    const auto same = [](const kernel_candidate& a, const kernel_candidate& b) {
        return a.name == b.name && a.sizes == b.sizes;
    };
    array_list<refusal> refused;
    policy_set with = policies;
    for (;;) {
        kernel_candidate chosen{};
        with.kernel = [&](span<const kernel_candidate> able) {
            array_list<kernel_candidate> left;
            array_list<std::size_t> numbers;
            for (std::size_t i = 0; i < able.size(); ++i)
                if (std::none_of(refused.begin(), refused.end(),
                                 [&](const refusal& r) { return same(r.what, able[i]); })) {
                    left.push_back(able[i]);
                    numbers.push_back(i);
                }
            if (left.empty()) {
                std::vector<std::string> reasons;
                for (const refusal& r : refused)
                    if (reasons.empty() || !reasons.back().starts_with(r.what.name))
                        reasons.push_back(cat({r.what.name, ": ", r.why}));
                throw error(errc::unsupported, "varying",
                            cat({"no kernel takes ", about(as_first_.steps[step]),
                                 " for all extents up to ", inputs_.most, " on ", device.name}),
                            std::move(reasons));
            }
            std::size_t best = 0;
            if (policies.kernel) best = policies.kernel({left.data(), left.size()});
            else
                for (std::size_t i = 1; i < left.size(); ++i)
                    if (left[i].seconds < left[best].seconds) best = i;
            if (best >= left.size())
                fail(errc::invalid_argument, "kernel policy",
                     {"chose candidate ", best, " of ", left.size()});
            chosen = left[best];
            return numbers[best];
        };
        choice last = pumice::choose(asked[samples - 1], device, with);
        std::string why;
        array_list<choice> others;
        with.kernel = [&](span<const kernel_candidate> able) {
            for (std::size_t i = 0; i < able.size(); ++i)
                if (same(able[i], chosen)) return i;
            why = "does not take every extent";
            return std::size_t{0};
        };
        const auto compare_with = [&](const problem& what) {
            if (!why.empty()) return;
            others.push_back(pumice::choose(what, device, with));
            if (!why.empty()) return;
            bool alike = others.back().launches.size() == last.launches.size();
            for (std::size_t i = 0; alike && i < last.launches.size(); ++i)
                alike = detail::is_alike(others.back().launches[i], last.launches[i]);
            if (!alike) why = "is compiled for the extent";
        };
        for (int k = 0; k + 1 < samples; ++k) compare_with(asked[static_cast<std::size_t>(k)]);
        for (const std::int64_t more : extents.more) compare_with(problem_of(step, more));
        for (std::size_t i = 0; i < last.launches.size() && why.empty(); ++i) {
            const launch as_made = last.launches[i];
            array_list<const launch*> each;
            for (std::size_t k = 0; k + 1 < samples; ++k) each.push_back(&others[k].launches[i]);
            each.push_back(&as_made);
            why = detail::find_varying(last.launches[i], {each.data(), each.size()}, extents);
        }
        // Far below: a number that is rounded looks like a constant where extents are neighbours.
        const std::int64_t least = std::max<std::int64_t>(inputs_.least, 2);
        for (std::int64_t far = inputs_.most / 2; far >= least && why.empty(); far /= 2) {
            if (!has_shapes(far)) break;
            const choice c = pumice::choose(problem_of(step, far), device, with);
            bool alike = why.empty() && c.launches.size() == last.launches.size();
            why.clear();  // another extent, another kernel: there is nothing to compare
            for (std::size_t i = 0; alike && i < c.launches.size(); ++i)
                alike = detail::is_alike(c.launches[i], last.launches[i]);
            for (std::size_t i = 0; alike && i < c.launches.size(); ++i)
                if (!detail::follows(c.launches[i], last.launches[i], far))
                    why = "rounds the extent";
        }
        if (why.empty()) return last;
        refused.push_back({chosen, std::move(why)});
    }
}

}}  // namespace pumice::PUMICE_ABI
