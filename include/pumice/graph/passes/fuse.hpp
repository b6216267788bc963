// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE fuser: which lazy nodes share a kernel. Typed code and loaded models come through here.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/custom_kernel.hpp>

#include <algorithm>
#include <span>

namespace pumice { inline namespace PUMICE_ABI {

/// Nodes that one kernel computes.
struct kernel_group {
    node* anchor = nullptr;     // the reduction, product ... inside; null: purely elementwise
    array_list<node*> outputs;  // stored; all of one extent, or the results of one kernel_call
    array_list<node*> inlined;  // elementwise nodes that the kernel recomputes in registers
    array_list<node*> members() const {
        array_list<node*> list = inlined;
        list.append(outputs.begin(), outputs.end());
        if (anchor) list.push_back(anchor);
        return list;
    }
};

/// Lazy nodes that `roots` need, inputs before users. Without recursion: graphs may be deep. What
/// one kernel_call gives stands together; `siblings` keeps results that come along unasked.
inline array_list<node*> lazy_order(std::span<const node_ptr> roots,
                                    array_list<node_ptr>* siblings = nullptr) {
    array_list<node*> order;
    key_set<const node*> seen;
    struct frame {
        node* n;
        std::size_t next;
    };
    array_list<frame> stack;
    const auto finish = [&](node* n) {
        order.push_back(n);
        const auto* k = n->op.get_if<kernel_op>();
        if (!k || !siblings) return;
        for (const std::weak_ptr<node>& result : *k->results)
            if (node_ptr s = result.lock(); s && !s->realised() && seen.insert(s.get())) {
                order.push_back(s.get());
                siblings->push_back(std::move(s));
            }
    };
    for (const node_ptr& root : roots) {
        if (root->realised() || !seen.insert(root.get())) continue;
        stack.push_back({root.get(), 0});
        while (!stack.empty()) {
            frame& top = stack.back();
            if (top.next == top.n->inputs.size()) {
                finish(top.n);
                stack.pop_back();
                continue;
            }
            node* input = top.n->inputs[top.next++].get();
            if (!input->realised() && seen.insert(input)) stack.push_back({input, 0});
        }
    }
    return order;
}

class fuser {
public:
    /// With `enabled` false each node that computes is a kernel of its own.
    fuser(std::span<const node_ptr> roots, bool enabled)
        : order_(lazy_order(roots, &siblings_)), enabled_(enabled) {
        for (const node_ptr& r : roots) roots_.insert(r.get());
        for (node* n : order_) {
            const bool counts = !is_view(*n) || n->pending_uses.load(std::memory_order_relaxed) > 0;
            for (const node_ptr& input : n->inputs) {
                if (input->realised()) continue;
                users& u = users_[input.get()];
                u.list.push_back(n);
                u.counted += counts;
            }
        }
    }

    /// The groups, producers before consumers.
    array_list<kernel_group> run() {
        for (auto n = order_.rbegin(); n != order_.rend(); ++n) place(*n);
        return collect();
    }
    const array_list<node*>& order() const noexcept { return order_; }
    /// Results that come along with another of their call: the plan keeps them alive.
    const array_list<node_ptr>& siblings() const noexcept { return siblings_; }

    /// Whether a kernel goes on from what `n` computes before it stores.
    static bool has_epilogue(const node& n) {
        if (const auto* k = n.op.get_if<kernel_op>()) return k->call->what->how.outputs[0].fused;
        return !n.op.is<copy_op>() && !n.op.is<concat_op>() && !n.op.is<take_op>() &&
               !n.op.is<sort_op>() && !n.op.is<scatter_op>() && !n.op.is<assign_op>();
    }

private:
    /// Room left for instructions, counted before common subexpressions are merged.
    static constexpr int instruction_budget = 192;
    /// Readings that a group lists. One that has more (a concatenation of many parts) takes no
    /// producer in.
    static constexpr std::size_t most_reads = 4 * max_leaves;

    /// A value that a group reads from memory: a node, at coordinates that `way` tells apart.
    struct reading {
        const node* n;
        std::uint64_t way;
        friend bool operator==(const reading&, const reading&) = default;
    };
    struct building {
        kernel_group group;
        shape domain;
        int instructions = 0;
        array_list<reading> reads;
        int merged_into = -1;
    };
    /// The nodes of the evaluation that read one.
    struct users {
        array_list<node*> list;
        int counted = 0;  // of them, those that count among the node's pending uses
    };
    struct membership {
        int group = -1;
        bool direct = false;  // read at the group's own coordinates only
    };

    static const elementwise_op* elementwise(const node& n) {
        return n.op.get_if<elementwise_op>();
    }
    static int weight(const node& n) {
        const auto* e = elementwise(n);
        return e ? static_cast<int>(e->body->code.size()) : 1;
    }

    /// Stored whatever its users do: a root, or read by lazy nodes outside of this evaluation.
    bool must_store(const node* n) const {
        const users* const inside = users_.find(n);
        return roots_.contains(n) ||
               n->pending_uses.load(std::memory_order_relaxed) > (inside ? inside->counted : 0);
    }

    void place(node* n) {
        if (is_view(*n)) return place_view(n);
        if (const auto* k = n->op.get_if<kernel_op>()) {  // with the other results of its call
            if (const int* group = calls_.find(k->call.get())) {
                at(*group).group.outputs.push_back(n);
                member_[n] = {*group, true};
                return;
            }
            calls_[k->call.get()] = static_cast<int>(groups_.size());
        }
        const bool store = must_store(n);
        const int joined = enabled_ ? join(n, store) : -1;
        if (joined < 0) open(n);
    }

    /// A view belongs to the groups that read through it; its input is what they read.
    void place_view(node* n) {
        // A reshape reads memory, so what it reshapes is stored; so is what a stored view looks at.
        if (n->op.is<reshape_op>() || must_store(n)) stored_base_.insert(base(n));
    }
    static const node* base(const node* n) {
        while (!n->realised() && is_view(*n)) n = n->inputs[0].get();
        return n;
    }

    static std::size_t index(int group) { return static_cast<std::size_t>(group); }
    building& at(int group) { return groups_[index(group)]; }
    const building& at(int group) const { return groups_[index(group)]; }
    /// The group that a node belongs to by now, and -1 for none.
    int group_of(const node* n) const {
        const membership* const m = member_.find(n);
        int g = m ? m->group : -1;
        while (g >= 0 && at(g).merged_into >= 0) g = at(g).merged_into;
        return g;
    }

    static void add_reading(array_list<reading>& list, reading r) {
        if (list.size() <= most_reads && std::find(list.begin(), list.end(), r) == list.end())
            list.push_back(r);
    }
    static std::uint64_t way_on(std::uint64_t way, std::uint64_t step) {
        return hasher{}.add(way).add(step).value();
    }
    /// What `n` reads when it is itself wanted at the coordinates `way`.
    static void add_inputs(array_list<reading>& list, const node* n, std::uint64_t way) {
        const auto* e = elementwise(*n);
        if (!e) way = way_on(way, reinterpret_cast<std::uintptr_t>(n));
        for (const node_ptr& input : n->inputs) add_reading(list, {input.get(), way});
        for (std::size_t k = 0; e && k < e->iota_axes.size(); ++k)
            add_reading(list, {n, way_on(way, k)});
    }
    /// The readings of a group once it computes `n` instead of reading it.
    static array_list<reading> readings_with(const array_list<reading>& before, const node* n) {
        array_list<reading> after;
        for (const reading& r : before) {
            if (base(r.n) != n) add_reading(after, r);
            else
                add_inputs(after, n,
                           r.n == n ? r.way : way_on(r.way, reinterpret_cast<std::uintptr_t>(r.n)));
        }
        return after;
    }

    /// The group that every reader of `n` is in, after merging where that is allowed; -1 if none.
    int join(node* n, bool store) {
        if (stored_base_.contains(n)) return -1;
        const bool anchor = elementwise(*n) == nullptr;
        array_list<int> groups;
        bool direct = true;
        if (!readers(n, groups, direct)) return -1;
        if (groups.size() > 1 && (!direct || anchor || !mergeable(groups, n))) return -1;
        const building& g = at(groups[0]);
        if ((anchor || store) && (!direct || g.group.anchor || n->extent != g.domain)) return -1;
        if (anchor && (store || !has_epilogue(*n))) return -1;
        // A product computes its prologue again for each tile, another kernel its epilogue once;
        // and that kernel writes where a concatenation wants it.
        if (!anchor && g.group.anchor && finishes_anchor(n) &&
            (repeats_prologue(*g.group.anchor) || g.group.anchor->op.is<concat_op>()))
            return -1;

        int instructions = weight(*n);
        std::size_t outputs = store ? 1 : 0;
        array_list<reading> reads;
        for (int k : groups) {
            if (at(k).reads.size() > most_reads) return -1;
            instructions += at(k).instructions;
            outputs += at(k).group.outputs.size();
            for (const reading& r : at(k).reads) add_reading(reads, r);
        }
        reads = readings_with(reads, n);
        if (instructions > instruction_budget || outputs > max_outputs || reads.size() > max_leaves)
            return -1;

        for (std::size_t i = 1; i < groups.size(); ++i) merge(groups[0], groups[i]);
        building& into = at(groups[0]);
        into.instructions = instructions;
        into.reads = std::move(reads);
        if (anchor) into.group.anchor = n;
        else (store ? into.group.outputs : into.group.inlined).push_back(n);
        member_[n] = {groups[0], direct};
        return groups[0];
    }

    static bool repeats_prologue(const node& n) {
        return n.op.is<matmul_op>() || n.op.is<conv_op>() || n.op.is<kernel_op>();
    }
    /// Whether a kernel with an anchor can compute `n` as it stores, and nobody else wants what
    /// lies between.
    bool finishes_anchor(const node* n, int depth = 16) const {
        for (const node_ptr& input : n->inputs) {
            const node* i = input.get();
            if (i->realised() || i->extent != n->extent || must_store(i) ||
                users_.find(i)->list.size() != 1)
                continue;
            if (elementwise(*i) ? depth > 0 && finishes_anchor(i, depth - 1)
                                : !is_view(*i) && has_epilogue(*i))
                return true;
        }
        return false;
    }
    /// Whether the kernel of `n` can compute its input `from` as it reads it.
    static bool has_prologue(const node& n, const node* from) {
        if (const auto* k = n.op.get_if<kernel_op>()) {
            for (std::size_t i = 0; i < n.inputs.size(); ++i)
                if (n.inputs[i].get() == from && !k->call->what->how.inputs[i].fused) return false;
            return true;
        }
        return has_epilogue(n) || n.op.is<copy_op>() || n.op.is<concat_op>() ||
               n.op.is<assign_op>();
    }

    /// Groups of all nodes that read `n`, views looked through; false where one of them cannot
    /// inline it.
    bool readers(node* n, array_list<int>& groups, bool& direct, node* via = nullptr) {
        const users* const found = users_.find(via ? via : n);
        if (!found) return !groups.empty();
        for (node* u : found->list) {
            if (is_view(*u)) {
                if (u->op.is<reshape_op>() || must_store(u)) return false;
                direct = false;
                if (users_.contains(u) && !readers(n, groups, direct, u)) return false;
                continue;
            }
            const membership* const m = member_.find(u);
            PUMICE_ASSERT(m);
            const int group = group_of(u);
            if (elementwise(*u)) {
                direct =
                    direct && m->direct && u->extent == n->extent && u->extent == at(group).domain;
            } else {
                if (!has_prologue(*u, via ? via : n)) return false;
                direct = false;
            }
            if (std::find(groups.begin(), groups.end(), group) == groups.end())
                groups.push_back(group);
            if (groups.size() > max_outputs) return false;  // more than one kernel can be
        }
        return !groups.empty();
    }

    /// Purely elementwise groups over one domain, with no path from any to another.
    bool mergeable(const array_list<int>& groups, const node* n) const {
        std::size_t outputs = 0;
        for (int g : groups) {
            if (at(g).group.anchor || at(g).domain != n->extent) return false;
            outputs += at(g).group.outputs.size();
        }
        if (outputs > max_outputs) return false;
        for (int from : groups)
            if (reaches(from, groups)) return false;
        return true;
    }
    bool reaches(int from, const array_list<int>& targets) const {
        array_list<const node*> stack(at(from).group.outputs.begin(), at(from).group.outputs.end());
        key_set<const node*> seen;
        while (!stack.empty()) {
            const node* n = stack.back();
            stack.pop_back();
            const users* const found = users_.find(n);
            if (!found) continue;
            for (const node* u : found->list) {
                if (!seen.insert(u)) continue;
                const int g = group_of(u);
                if (g != from && std::find(targets.begin(), targets.end(), g) != targets.end())
                    return true;
                if (seen.size() > 256) return true;  // too far to look: do not merge
                stack.push_back(u);
            }
        }
        return false;
    }
    void merge(int into, int from) {
        kernel_group &x = at(into).group, &y = at(from).group;
        x.outputs.append(y.outputs.begin(), y.outputs.end());
        x.inlined.append(y.inlined.begin(), y.inlined.end());
        at(from).merged_into = into;
    }

    void open(node* n) {
        building g;
        g.domain = n->extent;
        g.group.outputs.push_back(n);
        if (!elementwise(*n)) g.group.anchor = n;
        g.instructions = weight(*n);
        add_inputs(g.reads, n, 0);
        member_[n] = {static_cast<int>(groups_.size()), true};
        groups_.push_back(std::move(g));
    }

    /// Groups in an order in which producers come first: by their last member in the node order.
    array_list<kernel_group> collect() {
        array_list<int> pending(groups_.size());  // of each group: how many it waits for
        array_list<array_list<int>> next(groups_.size());
        array_list<bool> emitted(groups_.size());
        key_set<std::uint64_t> edges;
        for (const node* n : order_) {
            const int group = group_of(n);
            if (group < 0) continue;
            for (const node_ptr& input : n->inputs) {
                const int before = group_of(base(input.get()));
                if (before < 0 || before == group) continue;
                const auto edge =
                    static_cast<std::uint64_t>(before) << 32 | static_cast<std::uint32_t>(group);
                if (!edges.insert(edge)) continue;
                next[index(before)].push_back(group);
                ++pending[index(group)];
            }
        }
        array_list<int> ready;
        array_list<kernel_group> result;
        const auto finish = [&](int first) {
            ready.push_back(first);
            while (!ready.empty()) {
                const int g = ready.back();
                ready.pop_back();
                if (std::exchange(emitted[index(g)], true)) continue;
                result.push_back(std::move(at(g).group));
                for (int later : next[index(g)])
                    if (--pending[index(later)] == 0) ready.push_back(later);
            }
        };
        for (const node* n : order_) {
            const int group = group_of(n);
            if (group >= 0 && pending[index(group)] == 0 && !emitted[index(group)]) finish(group);
        }
        PUMICE_ASSERT(std::count_if(groups_.begin(), groups_.end(), [](const building& g) {
                          return g.merged_into < 0;
                      }) == static_cast<std::ptrdiff_t>(result.size()));  // fewer: the groups wait
                                                                          // for each other
        return result;
    }

    array_list<node_ptr> siblings_;
    array_list<node*> order_;
    bool enabled_;
    key_set<const node*> roots_;
    key_map<const node*, users> users_;
    key_map<const node*, membership> member_;
    key_set<const node*> stored_base_;
    key_map<const kernel_call*, int> calls_;  // the group of each
    array_list<building> groups_;
};

}}  // namespace pumice::PUMICE_ABI
