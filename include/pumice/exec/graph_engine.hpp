// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What all engines share: planning an evaluation and marking its nodes realised. How memory is had
// and how steps run is the engine's own.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/explain.hpp>
#include <pumice/exec/plan/planner.hpp>
#include <pumice/exec/process_mutex.hpp>
#include <pumice/exec/profiler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Throws for the inputs of a function that is traced, and where a run lost the values.
inline void must_hold_values(const node& n) {
    if (n.data && !n.data->lost) return;
    if (n.data)
        fail(errc::values_lost, "tensor",
             {"its values are lost: what read them in, or a run that wrote over them in place, "
              "failed or was stopped before it was through; make the tensor anew, and let a second "
              "handle hold it where a run that may stop must leave it (the run then works on a "
              "copy)"});
    const char* name = n.scope == 0 ? "compile" : "control";
    for (const detail::open_scope* s = detail::open_scopes; s; s = s->outer)
        if (s->number == n.scope) name = s->name;
    fail(errc::invalid_argument, name,
         {"the value of a traced input was asked for; what a traced function does must "
          "not depend on values (use `where`, or compute it outside)"});
}

class graph_engine;
class replayed_graph;
class shown_op;

/// How policies see each op (exec/each_op.hpp).
struct detail::op_showing {
    void (*evaluate)(graph_engine&, span<const node_ptr> roots);
    std::shared_ptr<prepared_graph> (*prepare)(graph_engine&, const traced_graph&);
};

class graph_engine : public engine {
public:
    void eval(span<const node_ptr> roots) override {
        const std::lock_guard lock(mutex_);
        evaluate(roots);
    }

    std::shared_ptr<prepared_graph> prepare(const traced_graph& g, graph_preparer* how) final {
        if (policies_.each_op) return policies_.each_op.how().prepare(*this, g);
        return detail::of_engine(how)(*this, g);
    }
    /// True of a vulkan_engine: it records a graph, where the others plan it.
    virtual bool records() const noexcept { return false; }
    evaluation plan_of(const traced_graph& g, bool counts = true) {
        const std::lock_guard lock(mutex_);
        evaluation e = planner_.plan_of(g, counts);
        plans_ = planner_.made();
        return e;
    }
    /// One plan was made of several that were not counted.
    void count_plan() {
        const std::lock_guard lock(mutex_);
        planner_.count();
        plans_ = planner_.made();
    }
    /// Throws errc::invalid_argument for a plan with steps at a place that is not the engine's. One
    /// without places has all in one memory, and runs the steps of any.
    void must_have_places(const plan& p) const {
        const auto most = std::ssize(planner_.places().list);
        for (const plan_step& s : p.steps)
            if (most > 0 && s.place >= most)
                fail(errc::invalid_argument, "plan",
                     {"a step runs at place ", s.place, ", the engine has ", most});
    }
    /// What keeps the engine for a graph: nothing where the engine keeps the graph.
    std::shared_ptr<engine> keeper(kept_by by) {
        return by == kept_by::engine ? nullptr : shared_from_this();
    }
    /// Makes a plan ready to run often in a way of the engine's own; null: as exec/replay.hpp does.
    virtual std::shared_ptr<prepared_graph> replay_own(evaluation&&, kept_by) { return nullptr; }

    std::string explain(const node_ptr& n) override {
        const std::lock_guard lock(mutex_);
        evaluation e;
        while (!n->realised()) {
            if (!planner_.plan_of(span(&n, 1), e)) {
                wait_for_claims();  // another thread's evaluation may have computed it then
                continue;
            }
            plans_ = planner_.made();
            const std::string plan = text_of(e.run);
            return plan.empty() ? "not evaluated yet; no kernel has to run\n"
                                : "not evaluated yet; the plan:\n" + plan;
        }
        const std::shared_ptr<const kernel_record> record = record_of(*n);
        if (!record) return "data from the host\n";
        const known_plan* const k = planner_.plan_with(*record);
        return to_text(*record, n->extent) +
               (k && k->what.steps.size() > 1 ? text_around(k->what) : "");
    }

    std::shared_ptr<const kernel_record> kernel_of(const plan& p, std::size_t step) const override {
        return record_of(p, p.steps[step]);
    }

    void profile_start() final {
        const std::lock_guard lock(mutex_);
        if (profiles_)
            fail(errc::invalid_argument, "profiler",
                 {"a profile of this context is at work already; finish it first"});
        auto recorder = make_owned<profile_recorder>(device().name);
        begin_profile(*recorder);
        profiling_ = std::move(recorder);
        profiles_ = true;
    }
    void profile_stop(profile& out) final {
        std::unique_lock lock(mutex_);
        if (!profiling_)
            fail(errc::invalid_argument, "profiler", {"no profile of this context is at work"});
        const unique_ptr<profile_recorder> recorder = std::move(profiling_);
        lock.unlock();
        struct ended {
            std::atomic<bool>& profiles;
            ~ended() { profiles = false; }
        } const at_the_end{profiles_};
        end_profile(*recorder);
        out = std::move(*recorder).take();
    }

protected:
    friend class decision_runner;
    friend class shown_op;
    friend class replayed_graph;
    friend std::shared_ptr<prepared_graph> replay(graph_engine&, evaluation&&, kept_by);
    friend class devices_engine;
    friend class replayed_range;

    /// `own_process`: what the engine holds serves no other process.
    explicit graph_engine(policy_set&& policies, bool own_process = false)
        : engine(std::move(policies)), mutex_(own_process), planner_(policies_) {}

    /// For engines whose device measures its own time. The end comes without the engine's lock.
    virtual void begin_profile(profile_recorder&) {}
    virtual void end_profile(profile_recorder&) {}

    /// Runs the steps; each value that has memory of its own and is not given gets it in `made`.
    /// Throws without having changed a node; errc::cancelled once `stop` is asked for.
    virtual void execute(plan_run& run, stop_view stop = {}) = 0;

    /// Copies the values of a realised tensor, dense in row-major order, to `out`, when they are
    /// there. The caller may have the engine's lock.
    virtual void fetch(const node_ptr& n, void* out) = 0;
    /// False where there are no values: then all that may run is run once.
    virtual bool computes() const noexcept { return true; }
    std::unique_lock<process_mutex> lock_unless(kept_by by) {
        return by == kept_by::engine ? std::unique_lock<process_mutex>()
                                     : std::unique_lock<process_mutex>(mutex_);
    }

    /// Realises a lazy node without a plan, where the engine can; else false. Throws without having
    /// changed it.
    virtual bool run_alone(node&) { return false; }
    /// What `run_alone` left to a plan was computed, alone.
    virtual void ran_by_plan(const node& n, const plan& p) {
        static_cast<void>(n), static_cast<void>(p);
    }

    /// The tensor with its values at hand, dense from an offset that is a multiple of `alignment`
    /// bytes (0: from the start), as a prepared graph takes it. A copy where it lies otherwise.
    node_ptr dense(const any_tensor& t, std::int64_t alignment) {
        node_ptr n = t.get();
        evaluate(span(&n, 1));
        if (lies_dense(*n, alignment)) return n;
        node_ptr moved = make_node(n->type, n->extent, copy_op{row_major_strides(n->extent)}, {n});
        evaluate(span(&moved, 1));
        return moved;
    }

    static bool lies_dense(const node& n, std::int64_t alignment) {
        if (!n.realised() || !n.row_major()) return false;
        if (!starts_byte(n.type, n.offset)) return false;
        const std::int64_t begin = byte_offset(n.type, n.offset);
        return begin == 0 || (alignment != 0 && begin % alignment == 0);
    }

    /// A new tensor that holds a value of a plan.
    any_tensor make_tensor(const plan_value& v, std::shared_ptr<storage> memory,
                           std::shared_ptr<const kernel_record> record) {
        node_ptr n = make_data(v.type, v.extent, std::move(memory), shared_from_this());
        n->lay_out(v.layout);
        n->record = std::move(record);
        return any_tensor(std::move(n));
    }

    /// Whether such memory of this engine's, where nobody else looks at it, can become that of a
    /// value of so many bytes.
    virtual bool may_give(const storage&, std::int64_t bytes) const {
        static_cast<void>(bytes);
        return false;
    }
    /// The givings that an evaluation can carry out: of tensors that nobody refers to afterwards.
    giving_mask what_gives(const plan_run& run) const {
        return choose_givings(run.what(), value_role::input, [&](int from, int to) {
            return run.dying[static_cast<std::size_t>(from)] &&
                   may_give(*run.given[static_cast<std::size_t>(from)], run.what().at(to)) &&
                   is_alone(run, from, to);
        });
    }
    /// The same of a run of a prepared graph: of inputs that nobody else holds, all where they are
    /// `donated`, else those that are the handle of the result. An output that keeps its memory
    /// takes none. Pre: the inputs are evaluated.
    giving_mask what_gives(const plan& p, span<const any_tensor> inputs,
                           span<const any_tensor> outputs, bool donated) const {
        return choose_givings(p, value_role::input, [&](int from, int to) {
            const any_tensor& in = inputs[p.at(from).index];
            const any_tensor& out = outputs[p.at(to).index];
            const node_ptr& n = in.get();
            return n.use_count() == 1 && n->data.use_count() == 1 && n->row_major() &&
                   (&in == &out || (donated && !may_overwrite(out, p.at(to)))) &&
                   may_give(*n, p.at(to));
        });
    }
    /// True where nobody but this handle can see what is in the tensor's memory.
    bool may_overwrite(const any_tensor& t, const plan_value& like) const {
        if (!t.has_value() || t.get().use_count() != 1) return false;
        const node& n = *t.get();
        return n.realised() && n.data.use_count() == 1 && n.owner.get() == this &&
               n.type == like.type && n.extent == like.extent && n.layout() == like.layout &&
               n.offset == 0;
    }

    struct cleared {
        evaluation& e;
        ~cleared() { e.clear(); }
    };
    /// May let go of the lock meanwhile, but not for roots that are realised.
    void evaluate(span<const node_ptr> roots) {
        if (policies_.each_op) policies_.each_op.how().evaluate(*this, roots);
        while (!evaluate_alone(roots)) wait_for_claims();
    }
    /// Until an evaluation ends that has let go of the lock. Pre: the lock, and there is one.
    void wait_for_claims() {
        const std::uint32_t seen = claims_ended_;
        mutex_.unlock();
        claims_ended_.wait(seen);
        mutex_.lock();
    }
    /// False where another evaluation, which has let go of the lock, claims some of the nodes.
    bool evaluate_alone(span<const node_ptr> roots) {
        bool lazy = false;
        for (const node_ptr& r : roots) lazy |= !r->realised();
        if (!lazy) return true;
        if (roots.size() == 1 && !planner_.is_claimed(roots[0].get()) && run_alone(*roots[0]))
            return true;
        profile_scope planning(profiling_.get(), "planning");
        evaluation within;  // another one, which decides what to run
        evaluation& e = evaluation_.run.planned ? within : evaluation_;
        const cleared at_the_end{e};
        if (!planner_.plan_of(roots, e)) return false;
        plans_ = planner_.made();
        planning.end();
        const plan& p = e.run.what();
        bool makes = false;
        for (const int v : p.outputs) makes |= p.at(v).alias < 0;
        if (makes && p.decisions) {
            p.decisions->execute(*this, e);
        } else if (makes) {
            e.run.givings = what_gives(e.run);
            execute(e.run);
            e.run.settle();
        }
        const auto node_of = [&](int v) { return e.nodes[static_cast<std::size_t>(v)]; };
        for (const int v : p.outputs)
            if (p.at(v).alias < 0) {
                node_of(v)->record = e.run.record_of(p.at(v));
                node_of(v)->realise(std::move(e.run.made[static_cast<std::size_t>(v)]));
            }
        for (const int v : p.outputs)
            if (p.at(v).alias >= 0) realise_within(e, p.root(v), p.at(v), *node_of(v));
        for (const node_ptr& n : e.keep)
            if (!n->realised()) n->computed_within.store(true, std::memory_order_relaxed);
        for (const int v : p.outputs) node_of(v)->release_inputs();
        if (roots.size() == 1) ran_by_plan(*roots[0], p);
        return true;
    }

    /// The kernels of the steps of a plan where those givings are carried out, kept with the plan.
    std::shared_ptr<const dispatch_list> dispatches_of(const plan_run& run, giving_mask givings,
                                                       transfers how = transfers::by_engine) const {
        constexpr std::size_t most = 4;
        array_list<std::shared_ptr<const dispatch_list>>& kept = run.planned->dispatches;
        for (const std::shared_ptr<const dispatch_list>& d : kept)
            if (d->givings() == givings) return d;
        const std::shared_ptr<const dispatch_list> made(new dispatch_list(run.what(), givings,
                                                                          device(), policies(),
                                                                          how));
        if (kept.size() < most) kept.push_back(made);
        return made;
    }

    /// The kernel that a step gets, and why.
    virtual std::shared_ptr<const kernel_record> record_of(const plan& p,
                                                           const plan_step& s) const {
        return choose_for(p, s, device(), policies(), transfers::by_engine).record;
    }
    /// The kernel that a realised node got; null where it was given its values.
    virtual std::shared_ptr<const kernel_record> record_of(const node& n) const { return n.record; }
    /// Into how many submits an evaluation of the plan goes; 0 where there are none.
    virtual int submits_of(const plan&) const { return 0; }
    /// The kernels of a plan in order, and what they come to.
    std::string text_of(const plan_run& run) const {
        return text_of(run.what(), run.records, submits_of(run.what()));
    }
    /// All kernels of the evaluation that one belonged to, indented.
    std::string text_around(const plan& p) const {
        return indented(cat({"one of the ", p.steps.size(), " steps of an evaluation:\n",
                             indented(text_of(p, {}, submits_of(p)))}));
    }
    /// `spared`: dispatches that megakernels make fewer.
    std::string text_of(const plan& p,
                        const array_list<std::shared_ptr<const kernel_record>>& records,
                        int submits = 0, int spared = 0) const {
        std::string text;
        int dispatches = -spared;
        std::int64_t bytes = 0;
        double seconds = 0;
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            const std::shared_ptr<const kernel_record> r =
                i < records.size() && records[i] ? records[i] : record_of(p, p.steps[i]);
            text += to_text(*r, p.at(p.steps[i].outputs[0]).extent);
            if (p.steps[i].what.kind().decisions)
                for (const plan* nested : p.decisions->nested(p.steps[i].what))
                    append_text(text, {"  {\n", text_of(*nested, {}), "  }\n"});
            for (const int v : p.steps[i].buffers) bytes += p.at(v).bytes();
            dispatches += r->dispatches;
            seconds += r->seconds;
        }
        if (dispatches == 0) return text;
        append_text(text, {"in all ", counted(dispatches, "dispatch", "es"), ", "});
        if (submits > 0) append_text(text, {counted(submits, "submit", "s"), ", "});
        append_text(text, {bytes, " bytes of operands, ", expected_text(seconds, {}), "\n"});
        return text;
    }

    mutable process_mutex mutex_;
    planner planner_;
    std::atomic<std::uint64_t> plans_{0};         // made, for who has no lock
    evaluation evaluation_;                       // the one at hand
    std::atomic<std::uint32_t> claims_ended_{0};  // of the planner's
    unique_ptr<profile_recorder> profiling_;      // null but for while a profile is at work
    std::atomic<bool> profiles_{false};           // one is, for who has no lock

private:
    bool may_give(const node& n, const plan_value& to) const {
        must_hold_values(n);
        return n.offset == 0 && may_give(*n.data, to.bytes());
    }
    /// Whether nobody but an evaluation looks at the memory of `from`, and the evaluation, by other
    /// views, only before it is written as that of `to`.
    static bool is_alone(const plan_run& run, int from, int to) {
        const plan& p = run.what();
        const auto giver = static_cast<std::size_t>(from);
        const std::shared_ptr<storage>& memory = run.given[giver]->data;
        long holders = 1;
        for (std::size_t v = 0; memory.use_count() > 1 && v < run.given.size(); ++v) {
            if (v == giver || !run.given[v] || run.given[v]->data != memory) continue;
            if (!run.dying[v] ||
                !reads_before(p, static_cast<int>(v), to, run.begin_of(v) - run.begin_of(giver)))
                return false;
            ++holders;
        }
        return memory.use_count() == holders;
    }

    /// Pre: what the value `whole` has a node for is realised.
    static void realise_within(const evaluation& e, int whole, const plan_value& part, node& n) {
        const auto number = static_cast<std::size_t>(whole);
        const node* const held = e.nodes[number];
        if (n.layout() != part.layout)
            n.lay_out(part.layout);  // others look whether a lazy reshape lies row-major
        n.offset = part.offset + (e.run.given[number] ? base_of(*held) : 0);
        keep_label_of_view(n);
        n.record = held ? held->record : e.run.record_of(e.run.what().at(whole));
        n.realise(held ? held->data : e.run.made[number]);
    }
};

}}  // namespace pumice::PUMICE_ABI
