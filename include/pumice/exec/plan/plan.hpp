// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What shall run: values and steps, by number. A plan holds no node, no memory and nothing of a
// device; every engine runs it, once or often.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/label.hpp>
#include <pumice/kernels/problem.hpp>

namespace pumice { inline namespace PUMICE_ABI {

struct plan_decisions;
class plan_range;

/// What a value is to the runs of a plan.
enum class value_role : std::uint8_t {
    input,      // a tensor that each run brings
    constant,   // a tensor that is the same in each run
    parameter,  // a number of each run, in memory: a random key
    state,      // input and output in one storage
    temporary,  // made by a step for other steps
    output      // made by a step, and kept when the run is over
};

constexpr std::string_view to_string(value_role r) noexcept {
    constexpr std::string_view names[] = {"input", "constant",  "parameter",
                                          "state", "temporary", "output"};
    return names[static_cast<int>(r)];
}

/// Elements in memory. Offset and strides count elements.
struct plan_value {
    value_role role = value_role::temporary;
    dtype type = dtype::f32;
    shape extent;
    strides layout;
    /// The value in whose memory it lies; -1: it has memory of its own.
    int alias = -1;
    /// Of its first element: in the memory of `alias`, or of a tensor that is given behind the
    /// place from which kernels count (base_of).
    std::int64_t offset = 0;
    std::size_t index = 0;  // among the values of its role
    int made_by = -1;       // the last step that writes it
    /// Where its memory is, by number among the engine's places (plan_places). What a run is given
    /// has none: it is brought to where steps read it.
    int place = 0;
    node_label label = {};  // empty where the value has no name

    /// Whether a run brings it, or it is there before.
    bool is_given() const noexcept {
        return role == value_role::input || role == value_role::constant ||
               role == value_role::parameter;
    }
    std::int64_t count() const { return element_count(extent); }
    /// Of memory of its own.
    std::int64_t bytes() const { return byte_count(type, count()); }
};

/// A problem and the values behind its buffer numbers. One whose values lie at two places is a
/// transfer: it copies a value whole.
struct plan_step {
    problem what;
    array_list<int> buffers = {};
    array_list<int> outputs = {};  // that it writes, in whole or in part
    int place = 0;                 // where it runs
    /// The giving (see plan::givings) that makes the step needless: it copies a value to where it
    /// lies already. -1: none.
    int unless_given = -1;
    /// Of the nodes that it computes, in their order: those that have a name, each origin once.
    array_list<node_label> origin = {};
};

/// `Conv "conv1", Relu "relu1"`: what a step computes, in the words of whoever gave its nodes
/// names; empty where nobody did. Of more than `most` nodes the last are only counted.
inline std::string origin_of(const plan_step& s, std::size_t most = 16) {
    std::string text;
    for (std::size_t i = 0; i < s.origin.size() && i < most; ++i)
        append_text(text, {i == 0 ? "" : ", ", s.origin[i].maker()});
    if (s.origin.size() > most) append_text(text, {" and ", s.origin.size() - most, " more"});
    return text;
}

/// A step may write `to` over the memory of `from`: it is the last to read `from` and the first to
/// write `to`, of which it writes all.
struct giving {
    int step, from, to;
};

struct plan {
    array_list<plan_value> values;
    array_list<plan_step> steps;  // producers before consumers
    array_list<int> inputs, constants, parameters, states, temporaries, outputs;  // values by role
    /// That each run brings, for scalars of the steps' programs; here those of the run that it was
    /// made for.
    array_list<scalar> numbers;
    /// Of temporaries to temporaries and of inputs to outputs, in the order of the steps. At most
    /// one of those `from` a value, and of those `to` a value, can be carried out.
    array_list<giving> givings;
    /// What runs it, where it has steps that decide; else null.
    const plan_decisions* decisions = nullptr;
    /// Where an extent of its inputs is each run's, up to a bound, which the numbers here are of;
    /// else null.
    const plan_range* range = nullptr;

    /// The value whose memory holds this one.
    int root(int value) const {
        while (at(value).alias >= 0) value = at(value).alias;
        return value;
    }
    bool is_transfer(const plan_step& s) const {
        for (const int v : s.buffers)
            if (!at(v).is_given() && at(v).place != at(s.outputs[0]).place) return true;
        return false;
    }
    /// Whether steps run at several places, or at another than the device.
    bool has_stages() const {
        for (const plan_step& s : steps)
            if (s.place != 0) return true;
        return false;
    }
    /// The end of the steps from `begin` on that run at one place. Pre: there is a step `begin`.
    std::size_t end_of_stage(std::size_t begin) const {
        std::size_t end = begin + 1;
        while (end < steps.size() && steps[end].place == steps[begin].place) ++end;
        return end;
    }
    array_list<int>& of_role(value_role role) noexcept {
        array_list<int>* const lists[] = {&inputs, &constants,   &parameters,
                                          &states, &temporaries, &outputs};
        return *lists[static_cast<int>(role)];
    }
    const array_list<int>& of_role(value_role role) const noexcept {
        return const_cast<plan&>(*this).of_role(role);
    }
    /// Finds the lists and `made_by` again, of values that know their role and index. Numbers that
    /// are wrong are left to `verify`.
    void list_values() {
        for (std::size_t v = 0; v < values.size(); ++v) {
            array_list<int>& list = of_role(values[v].role);
            if (values[v].index >= values.size()) continue;
            if (values[v].index >= list.size()) list.resize(values[v].index + 1, -1);
            list[values[v].index] = static_cast<int>(v);
        }
        for (std::size_t i = 0; i < steps.size(); ++i)
            for (const int v : steps[i].outputs)
                if (v >= 0 && static_cast<std::size_t>(v) < values.size())
                    at(v).made_by = static_cast<int>(i);
    }
    plan_value& at(int value) { return values[static_cast<std::size_t>(value)]; }
    const plan_value& at(int value) const { return values[static_cast<std::size_t>(value)]; }
};

/// Givings of a plan that are carried out, by number; only the first `most` can be.
class giving_mask {
public:
    static constexpr std::size_t most = 64;

    void insert(std::size_t giving) noexcept { bits_ |= std::uint64_t{1} << giving; }
    bool contains(int giving) const noexcept {
        return giving >= 0 && static_cast<std::size_t>(giving) < most && bits_ >> giving & 1;
    }
    bool empty() const noexcept { return bits_ == 0; }
    friend bool operator==(giving_mask, giving_mask) = default;

private:
    std::uint64_t bits_ = 0;
};

/// The givings to carry out of those that `may(from, to)` allows: each value gives once, and takes
/// once.
template <class May>
giving_mask choose_givings(const plan& p, value_role from, May&& may) {
    giving_mask mask;
    for (std::size_t i = 0; i < p.givings.size() && i < giving_mask::most; ++i) {
        const giving& g = p.givings[i];
        bool free = p.at(g.from).role == from;
        for (std::size_t k = 0; k < i && free; ++k)
            free = !mask.contains(static_cast<int>(k)) ||
                   (p.givings[k].from != g.from && p.givings[k].to != g.to);
        if (free && may(g.from, g.to)) mask.insert(i);
    }
    return mask;
}

}}  // namespace pumice::PUMICE_ABI
