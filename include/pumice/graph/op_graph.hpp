// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What an evaluation computes, as passes see and change it: its own copy of who reads whom. The
// user's nodes stay as they are.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/walk.hpp>

#include <atomic>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// A value: a tensor that is there, or what an op makes of others.
struct graph_node {
    const node* what = nullptr;  // op, type, extent and layout; where it is there, its memory
    node* origin = nullptr;      // the user's node that the value is for; null: a pass added it
    array_list<graph_node*> inputs = {};
    std::uint32_t number = 0;           // in the graph, below op_graph::size()
    bool kept = false;                  // it is stored whatever reads it: somebody needs it later
    graph_node* replaced_by = nullptr;  // what its readers are to read instead

    bool is_given() const noexcept { return what->realised(); }
    const operation& op() const noexcept { return what->op; }
    dtype type() const noexcept { return what->type; }
    const shape& extent() const noexcept { return what->extent; }
    const strides& layout() const noexcept { return what->layout(); }
    node_label label() const {
        const node& n = origin && !origin->label.empty() ? *origin : *what;
        if (!n.label.empty() || inputs.empty() || !is_view(*what)) return n.label.get();
        const node_label of = inputs[0]->label();
        return of ? label_of_view(*what, &inputs[0]->extent(), of) : of;
    }
};

/// Whether it computes nothing, and looks at its input's memory where it can.
inline bool is_view(const graph_node& n) noexcept { return is_view(*n.what); }
/// Whether the two are one buffer to kernels.
inline bool same_memory(const graph_node& a, const graph_node& b) noexcept {
    return &a == &b || (a.is_given() && b.is_given() && same_memory(*a.what, *b.what));
}

/// Where a number comes from that a program takes.
struct number_source {
    const node* n;      // elementwise
    std::size_t index;  // among its scalars
    const scalar& value() const { return n->op.get_if<elementwise_op>()->scalars[index]; }
};

class op_graph {
public:
    /// What the walk came to; its numbers stay. Of a function that is `traced` scalars are the same
    /// in each run, and no result lies within another.
    op_graph(const graph_walk& walk, span<const node_ptr> roots, bool traced = false)
        : traced_(traced) {
        const array_list<node*>& nodes = walk.nodes();
        blocks_.push_back(block(nodes.size()));
        by_number_.reserve(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            graph_node& n = blocks_[0][i];
            n.what = n.origin = nodes[i];
            n.number = static_cast<std::uint32_t>(i);
            by_number_.push_back(&n);
        }
        order_.reserve(walk.order().size());
        for (const node* n : walk.order()) {
            graph_node* const copy = by_number_[walk.number_of(n)];
            copy->inputs.reserve(n->inputs.size());
            for (const node_ptr& input : n->inputs)
                copy->inputs.push_back(by_number_[walk.number_of(input.get())]);
            copy->kept = walk.is_kept(copy->number);
            order_.push_back(copy);
        }
        for (const node_ptr& n : walk.siblings()) by_number_[walk.number_of(n.get())]->kept = true;
        for (const node_ptr& r : roots) {
            if (r->realised()) continue;
            graph_node* const copy = by_number_[walk.number_of(r.get())];
            copy->kept = true;
            roots_.push_back(copy);
        }
    }

    /// What is computed, inputs before readers.
    const array_list<graph_node*>& order() const noexcept { return order_; }
    /// What was asked for and is not there, in order.
    const array_list<graph_node*>& roots() const noexcept { return roots_; }
    /// Numbers of nodes are below it.
    std::size_t size() const noexcept { return by_number_.size(); }
    /// By number; that of the walk for what a walk came to.
    graph_node& operator[](std::size_t number) const noexcept { return *by_number_[number]; }

    /// Whether scalars of programs are the same in each run of what is planned.
    bool scalars_are_fixed() const noexcept { return traced_; }

    /// Before passes of the user's: programs have names of the numbers that other runs of the plan
    /// bring, until the graph ends.
    void name_numbers() {
        if (traced_ || named_.graph != 0) return;
        static std::atomic<std::uint32_t> graphs{0};
        while (named_.graph == 0) named_.graph = ++graphs;
        for (graph_node* const n : order_) {
            const auto* const e = n->op().get_if<elementwise_op>();
            if (!e || e->scalars.empty()) continue;
            elementwise_op named = *e;
            for (scalar& s : named.scalars) {
                sources_.push_back({n->what, static_cast<std::size_t>(&s - named.scalars.begin())});
                values_.push_back(s);
                s.graph = named_.graph;
                s.bits = values_.size() - 1;
            }
            set(*n, std::move(named));
        }
        if (values_.empty()) return;
        named_.values = values_.data();
        named_.count = values_.size();
        named_.outer = std::exchange(detail::numbers_at_hand, &named_);
    }
    op_graph(const op_graph&) = delete;
    ~op_graph() {
        if (named_.values) detail::numbers_at_hand = named_.outer;
    }
    /// Whether a pass has read numbers: with others it might have left another graph.
    bool numbers_were_read() const noexcept { return named_.read; }
    /// Whether it is a number of this graph, or one of its own.
    bool has_number(const scalar& s) const noexcept {
        return s.graph == 0 || (s.graph == named_.graph && s.bits < values_.size());
    }
    /// Of a number that passes may have copied: whose it was. Throws errc::invalid_argument for one
    /// of another graph.
    number_source source_of(number_source s) const {
        if (s.value().graph == 0) return s;
        if (!has_number(s.value())) detail::throw_number_of_another_graph();
        return sources_[s.value().bits];
    }
    /// The number of this call, without tying the plan to it: for the library, which looks for what
    /// it built itself.
    const scalar& value_of(const scalar& s) const noexcept {
        return s.graph == named_.graph && s.graph != 0 ? values_[s.bits] : s;
    }

    /// A value more, for readers that a pass gives it. The op's inputs come in its order.
    graph_node& add(dtype type, const shape& extent, operation op, array_list<graph_node*> inputs) {
        made_.push_back(allocate_node(type, extent, std::move(op), nullptr));
        graph_node& n = add(made_.back().get());
        n.inputs = std::move(inputs);
        return n;
    }
    /// The same value once more, for some of the readers of `n`.
    graph_node& add_copy(const graph_node& n) {
        graph_node& copy = add(n.what);
        copy.inputs = n.inputs;
        return copy;
    }
    /// From now on `n` is the value that `op` makes of `inputs`, of its type and extent as before.
    void change(graph_node& n, operation op, array_list<graph_node*> inputs) {
        changed_ = true;
        set(n, std::move(op));
        n.inputs = std::move(inputs);
    }
    /// The same op of other inputs.
    void change(graph_node& n, array_list<graph_node*> inputs) {
        change(n, n.op().share(), std::move(inputs));
    }
    /// Readers of `n` read `by`, of the same type and extent, instead, once the graph is sorted.
    /// One that is kept goes on as a view of `by`. Pre: `by` reads nothing that is made of `n`.
    void replace(graph_node& n, graph_node& by) {
        graph_node& last = read_instead(by);
        if (&last == &n) return;  // `by` was itself replaced by it, or is it
        changed_ = true;
        n.replaced_by = &last;
        if (n.kept) stand_for(n, last);
    }

    /// Puts inputs before readers again, and drops what nobody needs any more. Throws
    /// errc::invalid_argument where a node reads what is made of it, after the pass `after`.
    void sort(std::string_view after = "fuse", std::string (*name)(const graph_node&) = nullptr) {
        if (!std::exchange(changed_, false)) return;
        enum : char { fresh, open, done };
        array_list<char> seen(by_number_.size(), fresh);
        array_list<graph_node*> kept = roots_;
        for (graph_node* const n : order_)
            if (n->kept) kept.push_back(n);
        struct frame {
            graph_node* n;
            std::size_t next;
        };
        array_list<frame> stack;
        order_.clear();
        for (graph_node* const root : kept) {
            if (root->is_given() || seen[root->number] != fresh) continue;
            seen[root->number] = open;
            stack.push_back({root, 0});
            while (!stack.empty()) {
                frame& top = stack.back();
                if (top.next == top.n->inputs.size()) {
                    seen[top.n->number] = done;
                    order_.push_back(top.n);
                    stack.pop_back();
                    continue;
                }
                graph_node*& input = top.n->inputs[top.next++];
                input = &read_instead(*input);
                if (top.n->op().is<reshape_op>()) input = &memory_of(*input);
                if (input->is_given()) continue;
                if (input->number >= seen.size()) seen.resize(by_number_.size(), fresh);
                if (seen[input->number] == open)
                    fail(errc::invalid_argument, "pass",
                         {"the graph is wrong after ", after, ": ",
                          name ? name(*input) + " of shape " : "a node of shape ",
                          to_string(input->extent()), " reads what is made of it"});
                if (seen[input->number] == done) continue;
                seen[input->number] = open;
                stack.push_back({input, 0});
            }
        }
        // Nobody else would hold the memory of what a pass made: a result that became a view of it
        // is a copy.
        for (graph_node* const r : roots_)
            if (lies_in_made(*r)) change(*r, copy_op{r->layout()}, {&add_copy(*r)});
        sort(after, name);
    }

    /// Of each node, by number, those that read it, each as often as it does.
    array_list<array_list<graph_node*>> readers() const {
        array_list<array_list<graph_node*>> lists(by_number_.size());
        for (graph_node* const n : order_)
            for (const graph_node* input : n->inputs) lists[input->number].push_back(n);
        return lists;
    }

private:
    // Of nodes that stay where they are. (Where arrays of std::unique_ptr are deleted, g++ 12 warns
    // users of what it takes for a second deletion.)
    using block = array_list<graph_node>;

    graph_node& add(const node* what) {
        changed_ = true;
        blocks_.push_back(block(1));
        graph_node& n = blocks_.back()[0];
        n.what = what;
        n.number = static_cast<std::uint32_t>(by_number_.size());
        by_number_.push_back(&n);
        return n;
    }

    void set(graph_node& n, operation op) {
        made_.push_back(allocate_node(n.type(), n.extent(), std::move(op), nullptr));
        made_.back()->lay_out(n.layout());
        n.what = made_.back().get();
    }

    /// What readers of `n` are to read.
    static graph_node& read_instead(graph_node& n) noexcept {
        graph_node* last = &n;
        while (last->replaced_by) last = last->replaced_by;
        return *last;
    }
    /// Pre: the graph is sorted, so that no view is made of itself.
    bool lies_in_made(const graph_node& result) const noexcept {
        const graph_node* base = &result;
        while (!base->is_given() && is_view(*base)) base = base->inputs[0];
        return base != &result && !base->is_given() && (traced_ || !base->origin);
    }
    /// What a reshape may look at: no view, as when the user makes one.
    graph_node& memory_of(graph_node& n) {
        graph_node* base = &n;
        for (std::size_t i = 0; !base->is_given() && base->op().is<reshape_op>(); ++i) {
            if (i == by_number_.size()) return n;  // made of itself, which is found
            base = &read_instead(*base->inputs[0]);
        }
        if (base->is_given() ? base->what->row_major() : !is_view(*base)) return *base;
        return add(n.type(), n.extent(), copy_op{row_major_strides(n.extent())}, {&n});
    }

    /// The kept value `n` is that of `by`.
    void stand_for(graph_node& n, graph_node& by) {
        if (traced_ || n.layout() != by.layout()) return change(n, copy_op{n.layout()}, {&by});
        change(n, detail::identity_view(n.extent().rank()), {&by});
    }

    bool traced_;
    bool changed_ = false;  // since it was sorted
    array_list<block> blocks_;
    array_list<graph_node*> by_number_, order_, roots_;
    array_list<node_ptr> made_;  // what passes added
    array_list<number_source> sources_;
    array_list<scalar> values_;
    detail::named_numbers named_;
};

}}  // namespace pumice::PUMICE_ABI
