// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One walk over the lazy nodes of an evaluation: their order, a number for each, and a key that two
// evaluations share only where the same plan serves both.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/base/span.hpp>
#include <pumice/graph/affine.hpp>
#include <pumice/graph/graph_key.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Keeps its memory from one walk to the next.
class graph_walk {
public:
    /// Walks from the roots, inputs before users. A lazy view of what is in memory is realised on
    /// the way, since to look at memory computes nothing; a traced input is no memory. What one
    /// call gives (operation::results) stands together: results that come along unasked are kept
    /// alive. With `realises_views` false they stay lazy: nothing is changed.
    void go(span<const node_ptr> roots, bool realises_views = true) {
        realises_views_ = realises_views;
        key_.clear();
        labelled_ = false;
        numbers_.clear();
        memory_.clear();
        calls_.clear();
        nodes_.clear();
        order_.clear();
        stack_.clear();  // a walk for which memory failed left its way there
        done();
        for (const node_ptr& root : roots) {
            if (!root->realised() && number(root.get())) stack_.push_back({root.get(), 0});
            while (!stack_.empty()) {
                frame& top = stack_.back();
                if (top.next == top.n->inputs.size()) {
                    node* const n = top.n;
                    stack_.pop_back();
                    finish(n);
                    continue;
                }
                node* const input = top.n->inputs[top.next++].get();
                if (!number(input)) continue;
                if (input->realised()) add_tensor(*input);
                else stack_.push_back({input, 0});
            }
        }
        add_uses(roots);
    }
    /// Numbers a node that the walk did not come to.
    void include(node* n) { number(n); }
    /// Lets go of the results that came along, and of what views looked at.
    void done() noexcept {
        siblings_.clear();
        let_go_of_viewed();
    }
    /// Of the latter alone: from now on only numbers of nodes that somebody else keeps are asked.
    void let_go_of_viewed() noexcept { viewed_.clear(); }

    const array_list<node*>& order() const noexcept { return order_; }
    /// Lazy and realised ones, by number.
    const array_list<node*>& nodes() const noexcept { return nodes_; }
    std::uint32_t number_of(const node* n) const noexcept {
        return static_cast<std::uint32_t>(numbers_.find(detail::bits_of_key(n)));
    }
    const array_list<node_ptr>& siblings() const noexcept { return siblings_; }
    const graph_key& key() const noexcept { return key_; }
    /// To which whoever plans may add what else decides.
    graph_key& key() noexcept { return key_; }
    /// Whether a node has a name.
    bool labelled() const noexcept { return labelled_; }
    /// Whether it is stored whatever reads it: lazy nodes that the walk did not come to do, or it
    /// would be computed a second time. What is elementwise is computed again as fast as read.
    bool is_kept(std::uint32_t number) const noexcept { return is_kept_[number] != 0; }

private:
    struct frame {
        node* n;
        std::size_t next;
    };

    /// True of a node that is new.
    bool number(node* n) {
        if (numbers_.insert(detail::bits_of_key(n)) < nodes_.size()) return false;
        nodes_.push_back(n);
        return true;
    }
    void finish(node* n) {
        if (realises_views_ && is_view(*n) && n->inputs[0]->realised() && n->inputs[0]->data) {
            realise_view(*n);
            return add_tensor(*n);
        }
        order_.push_back(n);
        add_node(*n);
        const kernel_results* const beside = n->op.results();
        if (!beside) return;
        for (const std::weak_ptr<node>& result : *beside)
            if (node_ptr s = result.lock(); s && !s->realised() && number(s.get())) {
                order_.push_back(s.get());
                add_node(*s);
                siblings_.push_back(std::move(s));
            }
    }
    void realise_view(node& v) {
        const node& base = *v.inputs[0];
        const view_op* const looks = v.op.get_if<view_op>();
        affine at = affine::identity(v.extent.rank());
        if (looks) at = at.through(*looks);
        operand o{0, base.type, base.offset, {}};
        at.locate(looks ? base.layout() : row_major_strides(v.extent), o);
        if (v.layout() != o.steps)
            v.lay_out(o.steps);  // others look whether a lazy reshape lies row-major
        v.offset = o.offset;
        v.record = base.record;
        keep_label_of_view(v);
        v.realise(base.data);
        viewed_.push_back(v.inputs[0]);  // the walk has its number
        v.release_inputs();
    }

    /// One that is in memory: of where it lies only what kernels may ask, and whether another of
    /// the graph shows it too.
    void add_tensor(const node& n) {
        add_type(n, 1);
        key_.add(static_cast<std::uint64_t>(offset_from_base(n)));
        std::uint64_t same = number_of(&n);
        const std::size_t known = memory_.size();
        if (memory_.insert(detail::bits_of_key(n.data.get())) < known && n.data)
            for (const node* other : nodes_)
                if (same_memory(*other, n)) {
                    same = number_of(other);
                    break;
                }
        key_.add(same);
    }
    void add_node(const node& n) {
        add_type(n, 2);
        key_.add_op(n.op);
        if (const kernel_results* const beside = n.op.results())
            key_.add(calls_.insert(detail::bits_of_key(beside)));
        key_.add(n.inputs.size());
        for (const node_ptr& input : n.inputs) key_.add(number_of(input.get()));
    }
    void add_type(const node& n, std::uint64_t what) {
        // Names stand in the plan. A hash is enough: where two meet, names are wrong and no value.
        const std::uint64_t name = n.label.hash();
        key_.add_all(number_of(&n), static_cast<std::uint64_t>(n.type) << 8 |
                                        static_cast<std::uint64_t>(n.row_major()) << 4 |
                                        (name == 0 ? what : what | 8));
        key_.add_list(n.extent);
        if (!n.row_major()) key_.add_list(n.layout());
        if (name == 0) return;
        key_.add(name);
        labelled_ = true;
    }
    /// Whether an evaluation computed it and stored it nowhere, and it would be dear to go on so:
    /// an elementwise one where what it reads was too, as in a loop whose state nobody evaluates.
    static bool is_dear_again(const node& n) noexcept {
        const auto was_within = [](const node& of) {
            return !of.realised() && of.computed_within.load(std::memory_order_relaxed);
        };
        if (!was_within(n) || is_view(n)) return false;
        if (!n.op.is<elementwise_op>()) return true;
        for (const node_ptr& input : n.inputs) {
            const node* from = input.get();
            while (!from->realised() && is_view(*from)) from = from->inputs[0].get();
            if (was_within(*from)) return true;
        }
        return false;
    }
    /// Who is asked for, and who is read by lazy nodes that the walk did not meet.
    void add_uses(span<const node_ptr> roots) {
        counted_.clear();
        counted_.resize(nodes_.size(), 0);
        for (const node* n : order_) {
            if (is_view(*n) && n->pending_uses.load(std::memory_order_relaxed) == 0) continue;
            for (const node_ptr& input : n->inputs) ++counted_[number_of(input.get())];
        }
        is_kept_.clear();
        is_kept_.resize(nodes_.size(), 0);
        for (const node* n : order_) {
            const int uses = n->pending_uses.load(std::memory_order_relaxed);
            const std::uint32_t number = number_of(n);
            is_kept_[number] = uses > counted_[number] || is_dear_again(*n);
            key_.add(static_cast<std::uint64_t>(is_kept_[number]) |
                     static_cast<std::uint64_t>(uses == 1) << 1 |
                     static_cast<std::uint64_t>(uses > 0) << 2);
        }
        for (const node_ptr& root : roots) key_.add(number_of(root.get()));
    }

    graph_key key_;
    key_index numbers_, memory_, calls_;
    array_list<node*> nodes_, order_;
    array_list<node_ptr> siblings_, viewed_;
    array_list<frame> stack_;
    array_list<int> counted_;
    array_list<char> is_kept_;
    bool realises_views_ = true, labelled_ = false;
};

}}  // namespace pumice::PUMICE_ABI
