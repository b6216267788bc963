// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE fuser: which lazy nodes share a kernel. Typed code and loaded models come through here.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/op_graph.hpp>
#include <pumice/graph/view.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Nodes that one kernel computes.
struct kernel_group {
    graph_node* anchor = nullptr;     // the reduction, product ... inside; null: purely elementwise
    array_list<graph_node*> outputs;  // stored; all of one extent, or the results of one call
    array_list<graph_node*> inlined;  // elementwise nodes that the kernel computes in registers
    array_list<graph_node*> members() const {
        array_list<graph_node*> list = inlined;
        list.append(outputs.begin(), outputs.end());
        if (anchor) list.push_back(anchor);
        return list;
    }
};

class fuser {
public:
    /// With `enabled` false each node that computes is a kernel of its own. Otherwise the graph may
    /// come to hold a cheap node several times, so that kernels compute it again.
    fuser(op_graph& graph, bool enabled)
        : graph_(graph), enabled_(enabled), readers_(graph.readers()), member_(graph.size()),
          stored_base_(graph.size(), 0) {}

    /// The groups, producers before consumers.
    array_list<kernel_group> run() {
        const array_list<graph_node*>& order = graph_.order();
        for (auto n = order.rbegin(); n != order.rend(); ++n) place(*n);
        graph_.sort();
        return collect();
    }

    /// Whether a kernel goes on from what `n` computes before it stores.
    static bool has_epilogue(const graph_node& n) {
        if (const auto* k = n.op().get_if<kernel_op>()) return k->call->what->how.outputs[0].fused;
        return n.op().fusion().epilogue;
    }

private:
    /// Room left for instructions, counted before common subexpressions are merged.
    static constexpr int instruction_budget = 192;
    /// Readings that a group lists. One that has more (a concatenation of many parts) takes no
    /// producer in.
    static constexpr std::size_t most_reads = 4 * max_leaves;

    /// A value that a group reads from memory: a node, at coordinates that `way` tells apart.
    struct reading {
        const graph_node* n;
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
    struct membership {
        int group = -1;
        bool direct = false;  // read at the group's own coordinates only, unit axes aside
    };

    static const elementwise_op* elementwise(const graph_node& n) {
        return n.op().get_if<elementwise_op>();
    }
    static int weight(const graph_node& n) {
        const auto* e = elementwise(n);
        return e ? static_cast<int>(e->body->code.size()) : 1;
    }

    void place(graph_node* n) {
        if (is_view(*n)) return place_view(n);
        if (const kernel_results* const beside = n->op().results()) {  // of its call
            if (const int* group = calls_.find(beside)) {
                at(*group).group.outputs.push_back(n);
                member_[n->number] = {*group, true};
                return;
            }
            calls_[beside] = static_cast<int>(groups_.size());
        }
        if (!enabled_ || (!join(n) && !compute_again(n))) open(n);
    }

    /// A view belongs to the groups that read through it; its input is what they read.
    void place_view(graph_node* n) {
        // A reshape reads memory, so what it reshapes is stored; so is what a stored view looks at.
        if (n->op().is<reshape_op>() || n->kept) stored_base_[base(n)->number] = 1;
    }
    static const graph_node* base(const graph_node* n) {
        while (!n->is_given() && is_view(*n)) n = n->inputs[0];
        return n;
    }

    static std::size_t index(int group) { return static_cast<std::size_t>(group); }
    building& at(int group) { return groups_[index(group)]; }
    const building& at(int group) const { return groups_[index(group)]; }
    /// The group that a node belongs to by now, and -1 for none.
    int group_of(const graph_node* n) const {
        int g = member_[n->number].group;
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
    static void add_inputs(array_list<reading>& list, const graph_node* n, std::uint64_t way) {
        const auto* e = elementwise(*n);
        if (!e) way = way_on(way, n->number);
        for (const graph_node* input : n->inputs) add_reading(list, {input, way});
        for (std::size_t k = 0; e && k < e->iota_axes.size(); ++k)
            add_reading(list, {n, way_on(way, k)});
    }
    /// The readings of a group once it computes `n` instead of reading it.
    static array_list<reading> readings_with(const array_list<reading>& before,
                                             const graph_node* n) {
        array_list<reading> after;
        for (const reading& r : before) {
            if (base(r.n) != n) add_reading(after, r);
            else add_inputs(after, n, r.n == n ? r.way : way_on(r.way, r.n->number));
        }
        return after;
    }

    /// Adds the node to the group that every reader of it is in, after merging where that is
    /// allowed; false if there is none.
    bool join(graph_node* n) {
        if (stored_base_[n->number]) return false;
        const bool anchor = elementwise(*n) == nullptr, store = n->kept;
        array_list<int> groups;
        bool direct = true;
        if (!reader_groups(n, groups, direct)) return false;
        if (groups.size() > 1 && (!direct || anchor || !mergeable(groups, n))) return false;
        const building& g = at(groups[0]);
        if ((anchor || store) && (!direct || g.group.anchor)) return false;
        if (store && n->extent() != g.domain) return false;
        if (anchor && (store || !has_epilogue(*n))) return false;
        // A product computes its prologue again for each tile, another kernel its epilogue once;
        // and that kernel writes where a concatenation wants it.
        if (!anchor && g.group.anchor && finishes_anchor(n) &&
            (g.group.anchor->op().fusion().repeats_prologue ||
             g.group.anchor->op().is<concat_op>()))
            return false;

        int instructions = weight(*n);
        std::size_t outputs = store ? 1 : 0;
        array_list<reading> reads;
        for (int k : groups) {
            if (at(k).reads.size() > most_reads) return false;
            instructions += at(k).instructions;
            outputs += at(k).group.outputs.size();
            for (const reading& r : at(k).reads) add_reading(reads, r);
        }
        reads = readings_with(reads, n);
        if (instructions > instruction_budget || outputs > max_outputs || reads.size() > max_leaves)
            return false;

        for (std::size_t i = 1; i < groups.size(); ++i) merge(groups[0], groups[i]);
        building& into = at(groups[0]);
        into.instructions = instructions;
        into.reads = std::move(reads);
        if (anchor) into.group.anchor = n;
        else (store ? into.group.outputs : into.group.inlined).push_back(n);
        member_[n->number] = {groups[0], direct};
        return true;
    }

    /// Bytes that an instruction on an element weighs as much as. GPUs compute 5 to 15 numbers in
    /// the time in which they move a byte of memory, and some instructions are functions.
    static constexpr double bytes_of_instruction = 0.5;

    /// Gives each of several groups that read `n` a copy of it where to compute it again moves less
    /// than to store it.
    bool compute_again(graph_node* n) {
        // A type of 16 bits is rounded where it is stored: results would depend on the rule.
        if (!elementwise(*n) || n->kept || stored_base_[n->number] ||
            (is_floating(n->type()) && info(n->type()).bits < 32) || finishes_anchor(n))
            return false;
        array_list<int> groups;
        bool direct = true;
        for (const graph_node* u : readers_[n->number])
            if (is_view(*u)) return false;
        if (!reader_groups(n, groups, direct) || groups.size() < 2) return false;

        array_list<const graph_node*> operands;
        int instructions = 0;
        if (!operands_of(n, operands, instructions)) return false;
        const double elements = static_cast<double>(n->what->count()),
                     times = static_cast<double>(groups.size());
        double stored = (1 + times) * bytes_of(n),
               again = (times - 1) * instructions * bytes_of_instruction * elements;
        for (const graph_node* o : operands) stored += bytes_of(o);
        array_list<array_list<reading>> reads;
        for (const int g : groups) {
            const graph_node* const anchor = at(g).group.anchor;
            reads.push_back(readings_with(at(g).reads, n));
            if ((anchor && anchor->op().fusion().repeats_prologue) ||
                reads.back().size() > max_leaves ||
                at(g).instructions + weight(*n) > instruction_budget)
                return false;
            for (const graph_node* o : operands)
                if (std::none_of(at(g).reads.begin(), at(g).reads.end(),
                                 [&](const reading& r) { return r.n == o; }))
                    again += bytes_of(o);
        }
        if (again >= stored) return false;

        for (const graph_node* input : n->inputs)
            erase_if(readers_[input->number], [&](const graph_node* u) { return u == n; });
        for (std::size_t i = 0; i < groups.size(); ++i)
            give_copy(n, groups[i], std::move(reads[i]));
        return true;
    }
    static double bytes_of(const graph_node* n) {
        return static_cast<double>(n->what->count() * info(n->type()).bits) / 8;
    }
    /// What a kernel reads that computes `n`, and its instructions, where nodes that only it reads
    /// are part of it; false for more than it takes.
    bool operands_of(const graph_node* n, array_list<const graph_node*>& list,
                     int& instructions) const {
        array_list<const graph_node*> inside;
        inside.push_back(n);
        for (std::size_t i = 0; i < inside.size(); ++i) {
            instructions += weight(*inside[i]);
            for (const graph_node* input : inside[i]->inputs) {
                const bool alone = is_read_once(*input) && elementwise(*input);
                array_list<const graph_node*>& to = alone ? inside : list;
                if (std::find(to.begin(), to.end(), input) == to.end()) to.push_back(input);
            }
            if (list.size() > max_leaves || instructions > instruction_budget) return false;
        }
        return true;
    }
    /// Those of the readers of `n` that are in the group read a copy of it there.
    void give_copy(graph_node* n, int group, array_list<reading>&& reads) {
        graph_node* const copy = &graph_.add_copy(*n);
        readers_.push_back({});
        member_.push_back({});
        stored_base_.push_back(0);
        for (graph_node* u : readers_[n->number]) {
            if (group_of(u) != group) continue;
            readers_[copy->number].push_back(u);
            for (graph_node*& input : u->inputs)
                if (input == n) input = copy;
        }
        for (const graph_node* input : copy->inputs) readers_[input->number].push_back(copy);
        array_list<int> only;
        bool direct = true;
        reader_groups(copy, only, direct);
        building& into = at(group);
        into.group.inlined.push_back(copy);
        into.instructions += weight(*n);
        into.reads = std::move(reads);
        member_[copy->number] = {group, direct};
    }

    /// Whether a kernel with an anchor can compute `n` as it stores, and nobody else wants what
    /// lies between.
    bool finishes_anchor(const graph_node* n, int depth = 16) const {
        for (const graph_node* i : n->inputs) {
            if (i->extent() != n->extent() || reads_memory(*elementwise(*n), *n, i)) continue;
            if (is_read_once(*i) && is_view(*i) && keeps_order(*i)) i = i->inputs[0];
            if (!is_read_once(*i)) continue;
            if (elementwise(*i) ? depth > 0 && finishes_anchor(i, depth - 1)
                                : !is_view(*i) && has_epilogue(*i))
                return true;
        }
        return false;
    }
    bool is_read_once(const graph_node& n) const {
        return !n.is_given() && !n.kept && readers_[n.number].size() == 1;
    }
    /// Whether a view differs from what it shows by axes of one element alone.
    static bool keeps_order(const graph_node& view) {
        const auto* const v = view.op().get_if<view_op>();
        return v && detail::keeps_order(*v, view.inputs[0]->extent(), view.extent());
    }
    /// Whether the op reads `from` as memory that lies in blocks, or by an index map: nothing can
    /// compute that on the way.
    static bool reads_memory(const elementwise_op& e, const graph_node& n, const graph_node* from) {
        for (const instruction& i : e.body->code)
            if ((i.what == instruction::code::coded || i.what == instruction::code::mapped) &&
                n.inputs[i.index] == from)
                return true;
        return false;
    }
    /// Whether the kernel of `n` can compute its input `from` as it reads it.
    static bool has_prologue(const graph_node& n, const graph_node* from) {
        if (const auto* k = n.op().get_if<kernel_op>()) {
            for (std::size_t i = 0; i < n.inputs.size(); ++i)
                if (n.inputs[i] == from && !k->call->what->how.inputs[i].fused) return false;
            return true;
        }
        return n.op().fusion().prologue;
    }

    /// Groups of all nodes that read `n`, views looked through; false where one of them cannot
    /// inline it.
    bool reader_groups(graph_node* n, array_list<int>& groups, bool& direct,
                       graph_node* via = nullptr) {
        for (graph_node* u : readers_[(via ? via : n)->number]) {
            if (is_view(*u)) {
                if (u->op().is<reshape_op>() || u->kept) return false;
                direct = direct && keeps_order(*u);
                if (!readers_[u->number].empty() && !reader_groups(n, groups, direct, u))
                    return false;
                continue;
            }
            const int group = group_of(u);
            PUMICE_ASSERT(group >= 0);
            if (const auto* e = elementwise(*u)) {
                if (reads_memory(*e, *u, via ? via : n)) return false;
                const shape& read = (via ? via : n)->extent();
                direct = direct && member_[u->number].direct && u->extent() == read;
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
    bool mergeable(const array_list<int>& groups, const graph_node* n) const {
        std::size_t outputs = 0;
        for (int g : groups) {
            if (at(g).group.anchor || at(g).domain != n->extent()) return false;
            outputs += at(g).group.outputs.size();
        }
        if (outputs > max_outputs) return false;
        for (int from : groups)
            if (reaches(from, groups)) return false;
        return true;
    }
    bool reaches(int from, const array_list<int>& targets) const {
        array_list<const graph_node*> stack(at(from).group.outputs.begin(),
                                            at(from).group.outputs.end());
        key_set<const graph_node*> seen;
        while (!stack.empty()) {
            const graph_node* n = stack.back();
            stack.pop_back();
            for (const graph_node* u : readers_[n->number]) {
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

    void open(graph_node* n) {
        building g;
        g.domain = n->extent();
        g.group.outputs.push_back(n);
        if (!elementwise(*n)) g.group.anchor = n;
        g.instructions = weight(*n);
        add_inputs(g.reads, n, 0);
        member_[n->number] = {static_cast<int>(groups_.size()), true};
        groups_.push_back(std::move(g));
    }

    /// Groups in an order in which producers come first: by their last member in the node order.
    array_list<kernel_group> collect() {
        array_list<int> pending(groups_.size());  // of each group: how many it waits for
        array_list<array_list<int>> next(groups_.size());
        array_list<bool> emitted(groups_.size());
        key_set<std::uint64_t> edges;
        for (const graph_node* n : graph_.order()) {
            const int group = group_of(n);
            if (group < 0) continue;
            for (const graph_node* input : n->inputs) {
                const int before = group_of(base(input));
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
        for (const graph_node* n : graph_.order()) {
            const int group = group_of(n);
            if (group >= 0 && pending[index(group)] == 0 && !emitted[index(group)]) finish(group);
        }
        PUMICE_ASSERT(std::count_if(groups_.begin(), groups_.end(), [](const building& g) {
                          return g.merged_into < 0;
                      }) == static_cast<std::ptrdiff_t>(result.size()));  // fewer: the groups wait
                                                                          // for each other
        return result;
    }

    op_graph& graph_;
    bool enabled_;
    // Of each node, by its number:
    array_list<array_list<graph_node*>> readers_;  // the nodes that read it
    array_list<membership> member_;
    array_list<char> stored_base_;               // a view of it is stored, so it is too
    key_map<const kernel_results*, int> calls_;  // the group of each
    array_list<building> groups_;
};

}}  // namespace pumice::PUMICE_ABI
