// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// One walk over the lazy nodes of an evaluation: their order, a number for each, and a key that two
// evaluations share only where the same plan serves both.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/affine.hpp>
#include <pumice/graph/custom_kernel.hpp>

#include <bit>
#include <span>

namespace pumice { inline namespace PUMICE_ABI {

/// What of a graph decides its plan, as words: ops, types, shapes and who reads what. Not in it are
/// numbers of programs, where inputs lie in memory but for their alignment, and names.
class graph_key {
public:
    void clear() noexcept { words_.clear(); }
    void add(std::uint64_t word) { words_.push_back(word); }
    template <class... W>
    void add_all(W... words) {
        words_.append({static_cast<std::uint64_t>(words)...});
    }
    void add_list(const index_list& list) {
        add(static_cast<std::uint64_t>(list.rank()));
        for (const std::int64_t v : list) add(static_cast<std::uint64_t>(v));
    }
    void add_axes(const array_list<int>& list) {
        add(list.size());
        for (const int v : list) add(static_cast<std::uint64_t>(v));
    }
    void add_op(const operation& op);

    std::uint64_t hash() const noexcept {
        std::uint64_t h = words_.size();
        for (const std::uint64_t w : words_) h = (std::rotl(h, 23) ^ w) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 32;
    }
    const array_list<std::uint64_t>& words() const noexcept { return words_; }

private:
    array_list<std::uint64_t> words_;
};

/// Keeps its memory from one walk to the next.
class graph_walk {
public:
    /// Walks from the roots, inputs before users. A lazy view of what is in memory is realised on
    /// the way, since to look at memory computes nothing; a traced input is no memory. What one
    /// kernel_call gives stands together: results that come along unasked are kept alive.
    /// With `realises_views` false they stay lazy: nothing is changed.
    void go(std::span<const node_ptr> roots, bool realises_views = true) {
        realises_views_ = realises_views;
        key_.clear();
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
    void let_go_of_viewed() noexcept { kept_.clear(); }

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
    /// Whether lazy nodes that the walk did not come to read it.
    bool read_outside(std::uint32_t number) const noexcept { return outside_[number] != 0; }

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
        const auto* k = n->op.get_if<kernel_op>();
        if (!k) return;
        for (const std::weak_ptr<node>& result : *k->results)
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
        v.realise(base.data);
        kept_.push_back(v.inputs[0]);  // the walk has its number
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
        if (const auto* k = n.op.get_if<kernel_op>())
            key_.add(calls_.insert(detail::bits_of_key(k->call.get())));
        key_.add(n.inputs.size());
        for (const node_ptr& input : n.inputs) key_.add(number_of(input.get()));
    }
    void add_type(const node& n, std::uint64_t what) {
        key_.add_all(number_of(&n), static_cast<std::uint64_t>(n.type) << 8 |
                                        static_cast<std::uint64_t>(n.row_major()) << 4 | what);
        key_.add_list(n.extent);
        if (!n.row_major()) key_.add_list(n.layout());
    }
    /// Who is asked for, and who is read by lazy nodes that the walk did not meet.
    void add_uses(std::span<const node_ptr> roots) {
        counted_.clear();
        counted_.resize(nodes_.size(), 0);
        for (const node* n : order_) {
            if (is_view(*n) && n->pending_uses.load(std::memory_order_relaxed) == 0) continue;
            for (const node_ptr& input : n->inputs) ++counted_[number_of(input.get())];
        }
        outside_.clear();
        outside_.resize(nodes_.size(), 0);
        for (const node* n : order_) {
            const int uses = n->pending_uses.load(std::memory_order_relaxed);
            const std::uint32_t number = number_of(n);
            outside_[number] = uses > counted_[number];
            key_.add(static_cast<std::uint64_t>(uses > counted_[number]) |
                     static_cast<std::uint64_t>(uses == 1) << 1 |
                     static_cast<std::uint64_t>(uses > 0) << 2);
        }
        for (const node_ptr& root : roots) key_.add(number_of(root.get()));
    }

    graph_key key_;
    key_index numbers_, memory_, calls_;
    array_list<node*> nodes_, order_;
    array_list<node_ptr> siblings_, kept_;
    array_list<frame> stack_;
    array_list<int> counted_;
    array_list<char> outside_;
    bool realises_views_ = true;
};

namespace detail {

struct op_words {
    graph_key& key;

    void operator()(const source_op&) const {}
    void operator()(const elementwise_op& op) const {
        key.add_all(op.body->code.size(), op.body->outputs.size());
        for (const instruction& i : op.body->code)
            key.add_all(static_cast<std::uint64_t>(i.what) << 32 |
                            static_cast<std::uint64_t>(i.type) << 16 | i.index,
                        static_cast<std::uint64_t>(i.args[0]) << 32 |
                            static_cast<std::uint64_t>(i.args[1]) << 16 | i.args[2],
                        detail::bits_of_key(i.op));
        for (const std::uint16_t o : op.body->outputs) key.add(o);
        key.add_axes(op.iota_axes);
    }
    void operator()(const view_op& op) const {
        key.add_list(op.start);
        key.add_list(op.source);
        key.add_list(op.step);
    }
    void operator()(const reshape_op&) const {}
    void operator()(const copy_op& op) const { key.add_list(op.layout); }
    void operator()(const reduce_op& op) const {
        key.add_all(op.what, op.keepdims, detail::bits_of_key(op.by));
        key.add_axes(op.axes);
    }
    void operator()(const normalize_op& op) const {
        key.add_all(op.what, std::bit_cast<std::uint64_t>(op.epsilon));
        key.add_axes(op.axes);
    }
    void operator()(const matmul_op&) const {}
    void operator()(const conv_op& op) const {
        key.add_all(op.stride[0], op.stride[1], op.dilation[0], op.dilation[1], op.pad_begin[0],
                    op.pad_begin[1], op.pad_end[0], op.pad_end[1], op.group);
    }
    void operator()(const pool_op& op) const {
        key.add_all(op.what, op.window[0], op.window[1], op.stride[0], op.stride[1], op.dilation[0],
                    op.dilation[1], op.pad_begin[0], op.pad_begin[1], op.pad_end[0], op.pad_end[1],
                    op.ceil_mode, op.count_include_pad);
    }
    void operator()(const concat_op& op) const { key.add_all(op.axis); }
    void operator()(const take_op& op) const { key.add_all(op.axis, op.what); }
    void operator()(const scan_op& op) const {
        key.add_all(op.what, op.axis, op.leads, op.reverse);
    }
    void operator()(const sort_op& op) const { key.add_all(op.axis, op.descending); }
    void operator()(const scatter_op& op) const { key.add_all(op.what); }
    void operator()(const assign_op& op) const {
        (*this)(op.part);
        key.add_list(op.extent);
    }
    void operator()(const kernel_op& op) const {
        const kernel_call& call = *op.call;
        // The plan keeps the call, and so the kernel: no other can have its address.
        key.add_all(detail::bits_of_key(call.what.get()), op.output, call.names.size(),
                    call.inputs.size(), call.outputs.size(), call.scalars.size());
        for (const auto& [name, type] : call.names) key.add_all(type);
        for (const auto* list : {&call.inputs, &call.outputs})
            for (const kernel_value& v : *list) {
                key.add_all(v.dtype);
                key.add_list(v.shape);
            }
        for (const scalar& s : call.scalars) key.add_all(s.type, s.bits);
        for (const std::int64_t n : call.threads) key.add_all(n);
    }
};

}  // namespace detail

inline void graph_key::add_op(const operation& op) {
    op.visit([this](const auto& o) {
        add(static_cast<std::uint64_t>(
            detail::operations::number<std::remove_cvref_t<decltype(o)>>));
        detail::op_words{*this}(o);
    });
}

}}  // namespace pumice::PUMICE_ABI
