// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From lazy nodes to a plan, which is kept for the next evaluation of the same structure.
#pragma once

#include <pumice/exec/plan/decisions.hpp>
#include <pumice/exec/plan/dispatch_list.hpp>
#include <pumice/exec/plan/donation.hpp>
#include <pumice/exec/plan/lower.hpp>
#include <pumice/exec/plan/passes.hpp>
#include <pumice/exec/plan/place.hpp>
#include <pumice/exec/plan/range.hpp>
#include <pumice/exec/plan/store_prologues.hpp>
#include <pumice/graph/passes/join_assignments.hpp>
#include <pumice/graph/passes/last_uses.hpp>
#include <pumice/graph/passes/scatter_in_order.hpp>
#include <pumice/graph/walk.hpp>
#include <pumice/tensor/engine.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// A plan, and where an evaluation has what stands behind its values.
struct known_plan {
    array_list<std::uint64_t> key;
    std::uint64_t hash = 0, last_use = 0;
    plan what;
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};
    array_list<std::uint32_t> nodes;  // of each value its number in the walk, or no_node
    struct number_place {
        std::uint32_t node;  // in the walk; no_node: a pass's own, which is the plan's
        std::size_t index;   // among the node's scalars
    };
    array_list<number_place> numbers;
    array_list<scalar> only_for;  // the walk's, where a pass has read some
    /// What engines have made of it, for each set of givings: at most a few.
    array_list<std::shared_ptr<const dispatch_list>> dispatches;
    array_list<std::shared_ptr<const kernel_record>> host_records;
    std::shared_ptr<const void> parts;        // between its decisions, and these, ready to run
    std::shared_ptr<const plan_range> range;  // that the plan names
};

/// What one run of a plan works on.
struct plan_run {
    std::shared_ptr<known_plan> planned;
    array_list<node*> given;  // behind each value that the run does not make; else null
    array_list<std::shared_ptr<storage>> made;  // the memory of each value that it makes
    array_list<scalar> numbers;
    array_list<std::shared_ptr<const kernel_record>> records;  // of each step, once it is chosen
    array_list<char> dying;  // of each value: it is given, and nobody refers to it afterwards
    /// Of each value: its memory may go after the last step that reads it; empty: all stays.
    array_list<char> passing;
    giving_mask givings;  // that it carries out

    const plan& what() const noexcept { return planned->what; }
    /// Of the step that made a value; null where none did.
    std::shared_ptr<const kernel_record> record_of(const plan_value& v) const {
        return v.made_by < 0 ? nullptr : records[static_cast<std::size_t>(v.made_by)];
    }
    /// The memory that it wrote over holds its results; until then it has nobody's (storage::lost).
    void settle() noexcept {
        for (std::size_t k = 0; k < what().givings.size() && !givings.empty(); ++k)
            if (givings.contains(static_cast<int>(k)))
                made[static_cast<std::size_t>(what().givings[k].to)]->lost = false;
    }
    /// Bytes of a given value's memory that lie before the place from which kernels count.
    std::int64_t begin_of(std::size_t value) const noexcept {
        const node* const n = given[value];
        return n ? byte_offset(n->type, base_of(*n)) : 0;
    }
};

/// Lazy nodes to evaluate: their plan, and the nodes behind its values.
struct evaluation {
    plan_run run;
    array_list<node*> nodes;
    array_list<node_ptr> keep;  // they stay alive until it is done

    /// The tensors behind the plan's constants, in order.
    std::vector<any_tensor> constants() const {
        std::vector<any_tensor> list;
        for (const int v : run.what().constants)
            for (const node_ptr& n : keep)
                if (n.get() == run.given[static_cast<std::size_t>(v)]) {
                    list.emplace_back(n);
                    break;
                }
        return list;
    }
    /// Lets go of all but the memory of its lists.
    void clear() noexcept {
        run.planned.reset();
        run.given.clear();
        run.made.clear();
        run.numbers.clear();
        run.records.clear();
        run.dying.clear();
        run.passing.clear();
        run.givings = {};
        nodes.clear();
        keep.clear();
    }
};

/// Of a plan without constants, or whose constants are still to be named.
inline evaluation evaluation_of(std::shared_ptr<known_plan> planned) {
    evaluation e;
    const plan& p = planned->what;
    e.run.given.resize(p.values.size(), nullptr);
    e.run.made.resize(p.values.size());
    e.run.records.resize(p.steps.size());
    e.run.dying.resize(p.values.size(), 0);
    e.run.numbers = p.numbers;
    e.run.planned = std::move(planned);
    return e;
}
inline evaluation evaluation_of(plan p) {
    std::shared_ptr<known_plan> planned(new known_plan);
    planned->what = std::move(p);
    return evaluation_of(std::move(planned));
}

class planner {
public:
    /// The policies must outlive it.
    explicit planner(const policy_set& policies) : policies_(policies) {
        if (policies.passes) check_left_out(*policies.passes);
    }
    /// For an engine that has a place beside its device.
    void set_places(plan_places places) { places_ = std::move(places); }
    const plan_places& places() const noexcept { return places_; }
    const policy_set& policies() const noexcept { return policies_; }

    /// The plan of the roots, known or new. Pre: `e` is clear. False where some of it is claimed.
    bool plan_of(span<const node_ptr> roots, evaluation& e) {
        walk_.go(roots);
        for (const node* n : walk_.order())
            if (is_claimed(n)) {
                walk_.done();
                return false;
            }
        if (policies_.place) add_holders();
        e.run.planned = find();
        if (!e.run.planned) {
            e.run.planned = make(roots, nullptr);
            keep(e.run.planned);
            ++made_;
        }
        bind(e);
        walk_.done();
        return true;
    }
    /// The lazy nodes of the last walk are somebody's until he gives the claim back.
    void claim(key_index& mine) {
        for (const node* n : walk_.order()) mine.insert(detail::bits_of_key(n));
        claims_.push_back(&mine);
    }
    bool is_claimed(const node* n) const noexcept {
        for (const key_index* c : claims_)
            if (c->find(detail::bits_of_key(n)) != key_index::none) return true;
        return false;
    }
    void give_back(const key_index& claim) noexcept {
        for (const key_index*& c : claims_)
            if (c == &claim) c = claims_.back();
        claims_.pop_back();
    }
    /// Keeps what was made of the parts of the `limit` plans with decisions that were used last.
    void keep_parts(std::size_t limit) noexcept {
        for (;;) {
            std::size_t count = 0;
            known_plan* oldest = nullptr;
            for (const std::shared_ptr<known_plan>& k : known_) {
                if (!k->parts) continue;
                ++count;
                if (!oldest || k->last_use < oldest->last_use) oldest = k.get();
            }
            if (count <= limit) return;
            oldest->parts.reset();
        }
    }
    /// The plan of an evaluation in which a step got this kernel, where it is known still.
    const known_plan* plan_with(const kernel_record& kernel) const noexcept {
        for (const std::shared_ptr<known_plan>& k : known_) {
            for (const auto& record : k->host_records)
                if (record.get() == &kernel) return k.get();
            for (const auto& list : k->dispatches)
                for (std::size_t i = 0; i < k->what.steps.size(); ++i)
                    if (list->record(i).get() == &kernel) return k.get();
        }
        return nullptr;
    }
    /// The plan of a graph with open inputs; it is not kept. `counts`: it is no part of another.
    evaluation plan_of(const traced_graph& g, bool counts = true) {
        walk_.go(g.outputs);
        for (const auto* list : {&g.inputs, &g.keys, &g.outputs})
            for (const node_ptr& n : *list) walk_.include(n.get());
        evaluation e;
        e.run.planned = make(g.outputs, &g);
        made_ += counts;
        bind(e);
        for (const array_list<int>* list : {&e.run.what().inputs, &e.run.what().parameters})
            for (const int v : *list) e.run.given[static_cast<std::size_t>(v)] = nullptr;
        walk_.done();
        return e;
    }
    /// One was made of several that were not counted.
    void count() noexcept { ++made_; }
    /// How many plans were made; the other evaluations had one that was known.
    std::uint64_t made() const noexcept { return made_; }

private:
    // Bounds of what is kept: plans, and words of a key.
    static constexpr std::size_t most = 256, longest = std::size_t{1} << 16;

    /// A policy may decide by them, so they are part of the key.
    void add_holders() {
        if (places_.list.empty()) return;
        for (const node* n : walk_.nodes())
            if (n->realised() && n->data) {
                const plan_places::holding held = places_.holders(*n);
                walk_.key().add_all(held.places, held.bytes);
            }
    }

    std::shared_ptr<known_plan> find() {
        const array_list<std::uint64_t>& words = walk_.key().words();
        hash_ = walk_.key().hash();
        for (const std::shared_ptr<known_plan>& k : known_)
            if (k->hash == hash_ && k->key == words && serves_numbers(*k)) {
                k->last_use = ++clock_;
                return k;
            }
        return nullptr;
    }
    array_list<scalar> numbers_of_walk() const {
        array_list<scalar> list;
        for (const node* n : walk_.order())
            if (const auto* e = n->op.get_if<elementwise_op>())
                list.append(e->scalars.begin(), e->scalars.end());
        return list;
    }
    /// Pre: the key is that of the walk, and so are the types of numbers.
    bool serves_numbers(const known_plan& k) const {
        if (k.only_for.empty()) return true;
        const array_list<scalar> now = numbers_of_walk();
        return std::equal(now.begin(), now.end(), k.only_for.begin(), k.only_for.end(),
                          [](const scalar& a, const scalar& b) { return a.bits == b.bits; });
    }
    void keep(const std::shared_ptr<known_plan>& k) {
        const array_list<std::uint64_t>& words = walk_.key().words();
        if (words.size() > longest) return;
        k->key = words;
        k->hash = hash_;
        k->last_use = ++clock_;
        if (known_.size() < most) return known_.push_back(k);
        *std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
            return a->last_use < b->last_use;
        }) = k;
    }

    /// Finds the nodes and numbers of this evaluation.
    void bind(evaluation& e) {
        const known_plan& k = *e.run.planned;
        const plan& p = k.what;
        const array_list<node*>& walked = walk_.nodes();
        for (node* n : walk_.order())
            for (const node_ptr& input : n->inputs) e.keep.push_back(input);
        e.keep.append(walk_.siblings().begin(), walk_.siblings().end());
        e.nodes.reserve(k.nodes.size());
        e.run.given.reserve(k.nodes.size());
        for (const std::uint32_t number : k.nodes) {
            node* const n = number == known_plan::no_node ? nullptr : walked[number];
            e.nodes.push_back(n);
            e.run.given.push_back(n && n->realised() ? n : nullptr);
        }
        e.run.numbers.reserve(k.numbers.size());
        for (std::size_t i = 0; i < k.numbers.size(); ++i) {
            const auto [number, index] = k.numbers[i];
            e.run.numbers.push_back(number == known_plan::no_node
                                        ? p.numbers[i]
                                        : number_source{walked[number], index}.value());
        }
        e.run.made.resize(p.values.size());
        e.run.records.resize(p.steps.size());
        e.run.dying.resize(p.values.size(), 0);
        find_passing(e);
        bool may_give = false;
        for (const giving& g : p.givings) may_give |= p.at(g.from).role == value_role::input;
        if (!may_give) return;
        stored_.clear();
        stored_.resize(walked.size(), 0);
        walk_.let_go_of_viewed();
        // A view that is asked for goes on looking at the memory, so it does not let go.
        for (const int v : p.outputs) {
            const auto number = static_cast<std::size_t>(v);
            stored_[k.nodes[number]] = !is_view(*e.nodes[number]);
        }
        last_uses_.find(walk_, [&](const node* n) { return stored_[walk_.number_of(n)] != 0; });
        for (std::size_t v = 0; v < k.nodes.size(); ++v)
            e.run.dying[v] = e.run.given[v] && last_uses_.contains(k.nodes[v]);
    }

    /// What only this evaluation has handles of, where it holds much: a long loop without `eval`.
    void find_passing(evaluation& e) {
        constexpr std::size_t few_steps = 8;
        constexpr std::int64_t few_bytes = 1 << 20;
        const plan& p = e.run.what();
        if (p.steps.size() <= few_steps) return;
        std::int64_t bytes = 0;
        for (const int v : p.outputs) bytes += p.at(v).alias < 0 ? p.at(v).bytes() : 0;
        if (bytes <= few_bytes) return;
        // Consumers first: what is stored lets go of its inputs, and so does what nobody else has;
        // a node that stays lazy, such as a view that somebody holds, goes on to need them.
        array_list<long> handles(walk_.nodes().size(), 0), uses(walk_.nodes().size(), 0);
        array_list<char> goes(walk_.nodes().size(), 0), alone(walk_.nodes().size(), 0);
        for (const int v : p.outputs)
            if (const node* const n = e.nodes[static_cast<std::size_t>(v)])
                goes[walk_.number_of(n)] = 1;
        for (const node_ptr& n : e.keep) {
            const std::uint32_t number = walk_.number_of(n.get());
            ++handles[number];
            uses[number] = n.use_count();
        }
        for (std::size_t i = walk_.order().size(); i-- > 0;) {
            const node& n = *walk_.order()[i];
            const std::uint32_t number = walk_.number_of(&n);
            alone[number] = uses[number] > 0 && uses[number] == handles[number];
            if (!goes[number] && !alone[number]) continue;
            for (const node_ptr& input : n.inputs) ++handles[walk_.number_of(input.get())];
        }
        e.run.passing.resize(p.values.size(), 1);
        for (std::size_t v = 0; v < p.values.size(); ++v) {
            const node* const n = e.nodes[v];
            if (n && !alone[walk_.number_of(n)])
                e.run.passing[static_cast<std::size_t>(p.root(static_cast<int>(v)))] = 0;
        }
    }

    std::shared_ptr<known_plan> make(span<const node_ptr> roots, const traced_graph* traced) {
        op_graph graph(walk_, roots, traced != nullptr);
        run_passes(graph, policies_);
        if (policies_.fusion) join_assignments(graph);
        if (places_.list.empty()) scatter_in_order(graph);
        array_list<kernel_group> groups = fuser(graph, policies_.fusion).run();
        if (policies_.fusion && !places_.list.empty() && !is_left_out("store_prologues", policies_))
            groups = store_prologues(std::move(groups), *places_.list[0]);
        const part_map parts = find_parts(groups, graph);
        plan_builder b;
        b.maker = this;
        plan& p = b.made;
        if (walk_.labelled()) {
            b.order.resize(graph.size(), 0);
            for (std::size_t i = 0; i < graph.order().size(); ++i)
                b.order[graph.order()[i]->number] = static_cast<std::uint32_t>(i);
        }
        lower(b, groups, graph, parts);
        erase_if(p.steps, [&](const plan_step& s) {
            return std::all_of(s.outputs.begin(), s.outputs.end(),
                               [&](int v) { return p.at(v).count() == 0; });
        });

        array_list<char> listed(graph.size(), 0);
        const auto list = [&](graph_node* n, value_role role) {
            if (!std::exchange(listed[n->number], 1))
                b.set_role(b.value_of(n), role, p.of_role(role));
        };
        const auto store = [&](graph_node* n) {
            list(n, traced || !n->origin ? value_role::temporary : value_role::output);
        };
        if (traced) {
            const auto list_all = [&](const auto& nodes, value_role role) {
                for (const node_ptr& n : nodes) list(&graph[walk_.number_of(n.get())], role);
            };
            list_all(traced->inputs, value_role::input);
            list_all(traced->keys, value_role::parameter);
            list_all(traced->outputs, value_role::output);
        }
        for (const kernel_group& g : groups)
            for (graph_node* n : g.outputs)
                if (!parts.contains(n)) store(n);
        // A group that was cut stores its inner nodes too.
        for (const plan_step& s : p.steps)
            for (const int v : s.outputs) store(b.nodes[static_cast<std::size_t>(v)]);
        if (!traced) {
            for (const auto& [n, part] : parts) {
                if (part.written_over) continue;
                store(n);
                b.set_alias(b.value_of(n), b.value_of(part.whole), part.offset, n->layout());
            }
            for (graph_node* r : graph.roots())
                if (is_view(*r) && !listed[r->number]) {
                    store(r);
                    place_view(b, r);
                }
        }
        for (std::size_t v = 0; v < b.nodes.size(); ++v)
            list(b.nodes[v], traced ? value_role::constant : value_role::input);
        if (!places_.list.empty()) {
            array_list<const node*> given;
            for (const graph_node* n : b.nodes)
                given.push_back(traced || !n->origin ? nullptr : walk_.nodes()[n->number]);
            place_steps_of(b, policies_, places_, given, traced != nullptr, told_);
        }
        if (p.decisions) p.decisions->order(p);
        for (std::size_t i = 0; i < p.steps.size(); ++i)
            for (const int v : p.steps[i].outputs) p.at(v).made_by = static_cast<int>(i);
        find_givings(p);

        const std::shared_ptr<known_plan> k(new known_plan);
        for (const graph_node* n : b.nodes)
            k->nodes.push_back(n && n->origin ? n->number : known_plan::no_node);
        for (const number_source& s : b.scalars.sources()) {
            const number_source from = graph.source_of(s);
            k->numbers.push_back({walk_.number_of(from.n), from.index});
            p.numbers.push_back(from.value());
        }
        if (graph.numbers_were_read()) k->only_for = numbers_of_walk();
        k->what = std::move(b.made);
        return k;
    }
    /// A view shares the memory of what it looks at.
    static void place_view(plan_builder& b, graph_node* view) {
        buffer_list buffers;
        flattener flat(buffers);
        flat.output(view, affine::identity(view->extent().rank()));
        const operand o = flat.finish().leaves[0];
        b.set_alias(b.value_of(view), b.value_of(buffers.nodes[0]), o.offset, o.steps);
    }

    const policy_set& policies_;
    plan_places places_;
    array_list<std::string> told_;  // families of which the log knows that the host computes them
    graph_walk walk_;
    last_uses last_uses_;
    array_list<char> stored_;  // of each node of the walk
    array_list<std::shared_ptr<known_plan>> known_;
    array_list<const key_index*> claims_;
    std::uint64_t hash_ = 0, clock_ = 0, made_ = 0;
};

}}  // namespace pumice::PUMICE_ABI
