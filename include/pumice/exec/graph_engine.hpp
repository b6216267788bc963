// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What all engines share: planning an evaluation and marking its nodes realised. How memory is had
// and how steps run is the engine's own.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/exec/donation.hpp>
#include <pumice/exec/process_mutex.hpp>
#include <pumice/exec/profiler.hpp>
#include <pumice/exec/select.hpp>
#include <pumice/tensor/engine.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What an evaluation has to do.
struct evaluation {
    array_list<node_ptr> keep;  // every node of the plan stays alive until it is done
    array_list<step> steps;
    array_list<node*> stored;    // outputs of the steps
    array_list<node*> views;     // roots that only look at memory
    part_map parts;              // nodes that are computed within the memory of stored ones
    bool on_host = false;        // and not on the engine's device
    key_set<const node*> dying;  // realised nodes that nobody refers to afterwards
};

class graph_engine : public engine {
public:
    void eval(std::span<const node_ptr> roots) override {
        const std::lock_guard lock(mutex_);
        evaluate(roots);
    }

    std::shared_ptr<prepared_graph> prepare(const traced_graph& g, graph_preparer* how) final {
        return detail::of_engine(how)(*this, g);
    }
    /// True of a vulkan_engine: it records a graph, where the others plan it.
    virtual bool records() const noexcept { return false; }
    std::shared_ptr<prepared_graph> replay(const traced_graph& g) {
        const std::lock_guard lock(mutex_);
        return std::make_shared<replayed_graph>(*this, g);
    }

    std::string explain(const node_ptr& n) override {
        const std::lock_guard lock(mutex_);
        if (n->realised()) {
            const std::shared_ptr<const kernel_record> record = record_of(*n);
            return record ? text_of(*record, n->extent) : "data from the host\n";
        }
        evaluation e = plan(std::span(&n, 1));
        place(e);
        return "not evaluated yet; the plan:\n" + text_of(e);
    }

    void profile_start() final {
        const std::lock_guard lock(mutex_);
        if (profiling_)
            fail(errc::invalid_argument, "profiler",
                 {"a profile of this context is at work already; finish it first"});
        auto recorder = std::make_unique<profile_recorder>(device().name);
        begin_profile(*recorder);
        profiling_ = std::move(recorder);
        profiles_ = true;
    }
    void profile_stop(profile& out) final {
        const std::lock_guard lock(mutex_);
        if (!profiling_)
            fail(errc::invalid_argument, "profiler", {"no profile of this context is at work"});
        const std::unique_ptr<profile_recorder> recorder = std::move(profiling_);
        profiles_ = false;
        end_profile(*recorder);
        out = std::move(*recorder).take();
    }

protected:
    /// `own_process`: what the engine holds serves no other process.
    explicit graph_engine(policy_set&& policies, bool own_process = false)
        : engine(std::move(policies)), mutex_(own_process) {}

    /// For engines whose device measures its own time.
    virtual void begin_profile(profile_recorder&) {}
    virtual void end_profile(profile_recorder&) {}

    /// Runs the steps; every node of `stored` gets `data`. Throws without having changed a node;
    /// errc::cancelled once `stop` is asked for.
    virtual void execute(evaluation& e, array_list<std::shared_ptr<storage>>& made,
                         const std::stop_token& stop = {}) = 0;

    /// Decides where an evaluation runs, in an engine that has more than one place.
    virtual void place(evaluation&) const {}

    /// Realises a lazy node without a plan, where the engine can; else false. Throws without having
    /// changed it.
    virtual bool run_alone(node&) { return false; }

    /// The tensor with its values at hand, dense from an offset that is a multiple of `alignment`
    /// bytes (0: from the start), as a prepared graph takes it. A copy where it lies otherwise.
    node_ptr dense(const any_tensor& t, std::int64_t alignment) {
        node_ptr n = t.get();
        evaluate(std::span(&n, 1));
        const std::int64_t begin = byte_count(n->type, n->offset);
        if (n->row_major() && (begin == 0 || (alignment != 0 && begin % alignment == 0))) return n;
        node_ptr moved = make_node(n->type, n->extent, copy_op{row_major_strides(n->extent)}, {n});
        evaluate(std::span(&moved, 1));
        return moved;
    }

    /// A new tensor as `like` describes one.
    any_tensor made_like(const node& like, std::shared_ptr<storage> memory) {
        node_ptr n = make_data(like.type, like.extent, std::move(memory), shared_from_this());
        n->lay_out(like.layout());
        n->record = like.record;
        return any_tensor(std::move(n));
    }

    void evaluate(std::span<const node_ptr> roots) {
        bool lazy = false;
        for (const node_ptr& r : roots) lazy |= !r->realised();
        if (!lazy || (roots.size() == 1 && run_alone(*roots[0]))) return;
        profile_scope planning(profiling_.get(), "planning");
        evaluation e = plan(roots);
        place(e);
        planning.end();
        if (e.stored.empty() && e.views.empty()) return;
        array_list<std::shared_ptr<storage>> made(e.stored.size());
        if (!e.stored.empty()) execute(e, made);
        for (const step& s : e.steps)
            for (node* n : s.outputs) n->record = s.record;
        for (std::size_t i = 0; i < e.stored.size(); ++i) e.stored[i]->realise(std::move(made[i]));
        for (const auto& [n, part] : e.parts) realise_part(n, part);
        for (node* v : e.views) realise_view(v);
        for (node* n : e.stored) n->release_inputs();
        for (node* n : e.views) n->release_inputs();
    }

    static void must_hold_values(const node& n) {
        if (n.data) return;
        fail(errc::invalid_argument, "compile",
             {"the value of a traced input was asked for; what a compiled function does must not "
              "depend on values (use `where`, or compute it outside)"});
    }

    /// A prepared graph of an engine that records nothing: each run hands the plan its inputs.
    class replayed_graph final : public prepared_graph {
    public:
        replayed_graph(graph_engine& home, const traced_graph& g)
            : home_(home), keep_(home.shared_from_this()), graph_(g),
              evaluation_(home.plan(g.outputs)) {
            for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
                output_of_.insert(graph_.outputs[i].get(), i);
        }

        void run(std::span<const any_tensor> inputs, std::span<const std::uint32_t> keys,
                 std::span<any_tensor> outputs, const std::stop_token& stop, bool) override {
            const std::lock_guard lock(home_.mutex_);
            const borrowed lent{graph_};
            for (std::size_t i = 0; i < inputs.size(); ++i)
                graph_.inputs[i]->data = home_.dense(inputs[i], 0)->data;
            for (std::size_t i = 0; i < keys.size(); ++i)
                graph_.keys[i]->data = home_.create(dtype::u32, {}, &keys[i])->data;
            array_list<std::shared_ptr<storage>> made(evaluation_.stored.size());
            home_.execute(evaluation_, made, stop);
            for (const step& s : evaluation_.steps)
                for (node* n : s.outputs) n->record = s.record;
            for (std::size_t i = 0; i < made.size(); ++i)
                if (const std::size_t* const k = output_of_.find(evaluation_.stored[i]))
                    outputs[*k] = home_.made_like(*graph_.outputs[*k], std::move(made[i]));
        }
        std::string explain() const override {
            const std::lock_guard lock(home_.mutex_);
            return home_.text_of(evaluation_);
        }

    private:
        /// The traced inputs have memory only while a run lends them its own.
        struct borrowed {
            const traced_graph& graph;
            ~borrowed() {
                for (const node_ptr& n : graph.inputs) n->data.reset();
                for (const node_ptr& n : graph.keys) n->data.reset();
            }
        };
        graph_engine& home_;
        std::shared_ptr<engine> keep_;
        traced_graph graph_;
        evaluation evaluation_;
        key_map<const node*, std::size_t> output_of_;
    };

    evaluation plan(std::span<const node_ptr> roots) const {
        evaluation e;
        fuser f(roots, policies().fusion);
        array_list<kernel_group> groups = f.run();
        for (node* n : f.order())
            for (const node_ptr& input : n->inputs) e.keep.push_back(input);
        for (const node_ptr& n : f.siblings()) e.keep.push_back(n);
        for (const kernel_group& g : groups)
            for (node* n : g.outputs) e.stored.push_back(n);
        e.parts = find_parts(groups, roots, f.order());
        e.steps = lower(groups, f.order(), e.parts);
        erase_if(e.stored, [&](node* n) { return e.parts.contains(n); });
        // A group that was cut stores its inner nodes too.
        key_set<const node*> stored, views;
        for (const node* n : e.stored) stored.insert(n);
        for (const step& s : e.steps)
            for (node* n : s.outputs)
                if (stored.insert(n)) e.stored.push_back(n);
        erase_if(e.steps, [](const step& s) {
            return std::all_of(s.outputs.begin(), s.outputs.end(),
                               [](const node* n) { return n->count() == 0; });
        });
        for (const node_ptr& r : roots)
            if (!r->realised() && is_view(*r) && views.insert(r.get())) e.views.push_back(r.get());
        // A view that is asked for goes on looking at the memory, so it does not let go.
        e.dying = last_uses(f.order(), [&](const node* n) { return stored.contains(n); });
        return e;
    }

    /// The kernel that a step gets, and why.
    virtual std::shared_ptr<kernel_record> record_of(const step& s) const {
        return choose(s.what, device(), policies()).record;
    }
    /// The kernel that a realised node got; null where it was given its values.
    virtual std::shared_ptr<const kernel_record> record_of(const node& n) const { return n.record; }
    /// The kernels of a plan in order.
    std::string text_of(const evaluation& e) const {
        std::string text;
        for (const step& s : e.steps)
            text += text_of(s.record ? *s.record : *record_of(s), s.outputs[0]->extent);
        return text;
    }
    static std::string text_of(const kernel_record& r, const shape& extent) {
        std::string text =
            cat({r.kernel, " ", to_string(extent), (r.fused.empty() ? "" : ": " + r.fused), "\n"});
        for (const std::string& why : r.rejected) append_text(text, {"  not ", why, "\n"});
        return text;
    }

    mutable process_mutex mutex_;
    std::unique_ptr<profile_recorder> profiling_;  // null but for while a profile is at work
    std::atomic<bool> profiles_{false};            // the same for who has no lock

private:
    static void realise_part(node* n, const placed_part& part) {
        n->offset = part.offset;
        n->record = part.whole->record;
        n->realise(part.whole->data);
        n->release_inputs();
    }
    /// A view shares the memory of what it looks at, which is realised by now.
    static void realise_view(node* v) {
        buffer_list buffers;
        flattener flat(buffers);
        flat.output(v, affine::identity(v->extent.rank()));
        const operand o = flat.finish().leaves[0];
        if (v->layout() != o.steps)
            v->lay_out(o.steps);  // others look whether a lazy reshape lies row-major
        v->offset = o.offset;
        v->realise(buffers.nodes[0]->data);
    }
};

}}  // namespace pumice::PUMICE_ABI
