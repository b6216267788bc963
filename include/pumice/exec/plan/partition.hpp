// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Steps of one kind together, as far as what they read and write allows: the pieces of a plan that
// is for several engines, or for places of one.
#pragma once

#include <pumice/base/sort_numbers.hpp>
#include <pumice/base/span.hpp>
#include <pumice/exec/plan/donation.hpp>
#include <pumice/graph/custom_kernel.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// What a step's piece has in common.
struct step_label {
    std::uint8_t kind = 0;
    bool alone = false;  // the step is a piece of its own
    friend bool operator==(const step_label&, const step_label&) = default;
};

/// Finds stages for steps that come in their order. A stage has one kind, and waits for those
/// before it only: a step joins the first stage of its kind that lies neither before one that
/// writes what the step touches nor before one that touches what it writes.
class stage_finder {
public:
    explicit stage_finder(std::size_t kinds) : kinds_(kinds) {}

    /// Pre: `kind` is less than `kinds`.
    void add(const plan_step& s, std::size_t kind) {
        std::size_t stage = 0;
        for (const int v : s.buffers) stage = std::max(stage, in(written_, v));
        for (const int v : s.outputs) stage = std::max(stage, in(touched_, v));
        stage += (kind + kinds_ - stage % kinds_) % kinds_;
        for (const int v : s.buffers) {
            std::size_t& touched = in(touched_, v);
            touched = std::max(touched, stage);
        }
        for (const int v : s.outputs) in(written_, v) = stage;
        stages_.push_back(stage);
    }
    /// The stage of a step. Pre: it was added.
    std::size_t operator[](std::size_t step) const { return stages_[step]; }
    /// The steps, stage by stage, those of one in the order in which they were added.
    array_list<std::size_t> order() const {
        array_list<std::size_t> next;  // of each stage: where its steps go
        for (const std::size_t stage : stages_) ++in(next, static_cast<int>(stage + 1));
        for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
        array_list<std::size_t> steps(stages_.size(), 0);
        for (std::size_t i = 0; i < stages_.size(); ++i) steps[next[stages_[i]]++] = i;
        return steps;
    }

private:
    static std::size_t& in(array_list<std::size_t>& list, int number) {
        const auto at = static_cast<std::size_t>(number);
        if (list.size() <= at) list.resize(at + 1, 0);
        return list[at];
    }

    std::size_t kinds_;
    array_list<std::size_t> stages_, written_, touched_;  // of each step; of each value the last
};

/// A plan as a sequence of pieces, each of steps of one label: part_of(whole, begin, end) is a
/// piece as a plan of its own, whose inputs and outputs are the values that cross.
struct plan_partition {
    struct piece {
        std::size_t begin, end;  // steps of `whole`
        step_label label;
        /// The pieces that it waits for, ascending: those that write what it touches or touch what
        /// it writes. All have lesser numbers, so no two pieces wait for each other.
        array_list<std::size_t> after;
    };
    plan whole;                       // its steps in the order of the pieces
    array_list<std::size_t> step_of;  // of each of them its number before
    array_list<piece> pieces;
};

namespace detail {

/// Finds what pieces wait for.
class piece_waits {
public:
    explicit piece_waits(plan_partition& of) : of_(of), uses_(of.whole.values.size()) {}

    void run() && {
        for (std::size_t k = 0; k < of_.pieces.size(); ++k) {
            for (std::size_t i = of_.pieces[k].begin; i < of_.pieces[k].end; ++i)
                add(k, of_.whole.steps[i]);
            array_list<std::size_t>& after = of_.pieces[k].after;
            sort_numbers(after, [](std::size_t a, std::size_t b) { return a < b; });
            after.resize(static_cast<std::size_t>(std::unique(after.begin(), after.end()) -
                                                  after.begin()));
        }
    }

private:
    static constexpr std::size_t nobody = ~std::size_t{0};
    struct use {
        std::size_t writer = nobody;
        array_list<std::size_t> readers = {};  // since it wrote
    };

    void add(std::size_t piece, const plan_step& s) {
        array_list<std::size_t>& after = of_.pieces[piece].after;
        const auto wait_for = [&](std::size_t other) {
            if (other != nobody && other != piece) after.push_back(other);
        };
        for (const int v : s.buffers) {
            use& u = uses_[static_cast<std::size_t>(v)];
            wait_for(u.writer);
            if (u.readers.empty() || u.readers.back() != piece) u.readers.push_back(piece);
        }
        for (const int v : s.outputs) {
            use& u = uses_[static_cast<std::size_t>(v)];
            for (const std::size_t reader : u.readers) wait_for(reader);
            u.readers.clear();
            u.writer = piece;
        }
    }

    plan_partition& of_;
    array_list<use> uses_;
};

}  // namespace detail

/// The pieces of a plan whose steps have these labels, in one pass over the steps: stage by stage,
/// numbers growing along what pieces wait for. Throws errc::invalid_argument for another number of
/// labels than of steps, and errc::unsupported for a plan that decides or serves many extents.
inline plan_partition partition(const plan& p, span<const step_label> labels) {
    if (labels.size() != p.steps.size())
        fail(errc::invalid_argument, "partition",
             {labels.size(), " labels are given for ", p.steps.size(), " steps"});
    if (p.decisions || p.range)
        fail(errc::unsupported, "partition",
             {"the plan ", p.decisions ? "decides" : "serves many extents",
              ", which pieces of it cannot"});
    std::size_t kinds = 1;
    for (const step_label l : labels) kinds = std::max(kinds, std::size_t{l.kind} + 1);
    stage_finder stages(kinds);
    for (std::size_t i = 0; i < labels.size(); ++i) stages.add(p.steps[i], labels[i].kind);
    plan_partition made{p, stages.order(), {}};
    plan& whole = made.whole;
    whole.steps.clear();
    whole.givings.clear();
    for (const std::size_t i : made.step_of) {
        const std::size_t number = whole.steps.size();
        const step_label l = labels[i];
        if (number == 0 || l.alone || made.pieces.back().label != l ||
            stages[made.step_of[number - 1]] != stages[i])
            made.pieces.push_back({number, number, l, {}});
        ++made.pieces.back().end;
        whole.steps.push_back(p.steps[i]);
        whole.steps.back().unless_given = -1;
        for (const int v : p.steps[i].outputs) whole.at(v).made_by = static_cast<int>(number);
    }
    find_givings(whole);
    detail::piece_waits(made).run();
    return made;
}

/// Which pipeline a step's piece is for.
enum class piece_kind : std::uint8_t { ordinary, shader, host, graph };

/// The labels of a plan's steps: a shader operator and a data graph are pieces of their own, what
/// runs at the place `host` (-1: none) is the host's, all else is ordinary.
inline array_list<step_label> labels_of(const plan& p, int host = -1) {
    array_list<step_label> labels;
    for (const plan_step& s : p.steps) {
        const auto* const call = s.what.get_if<custom_kernel_problem>();
        const bool shader = call && call->call->what->shader;
        const piece_kind kind =
            s.place == host ? piece_kind::host
            : shader ? call->call->what->shader->graph ? piece_kind::graph : piece_kind::shader
                     : piece_kind::ordinary;
        labels.push_back({static_cast<std::uint8_t>(kind),
                          kind == piece_kind::shader || kind == piece_kind::graph});
    }
    return labels;
}

}}  // namespace pumice::PUMICE_ABI
