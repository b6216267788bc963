// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What all engines share: planning an evaluation and marking its nodes realised. How memory is had
// and how steps run is the engine's own.
#pragma once

#include <pumice/exec/select.hpp>
#include <pumice/tensor/engine.hpp>

#include <mutex>
#include <unordered_set>

namespace pumice::inline PUMICE_ABI {

class graph_engine : public engine {
public:
    void eval(std::span<const node_ptr> roots) override {
        const std::lock_guard lock(mutex_);
        evaluate(roots);
    }

    std::string explain(const node_ptr& n) override {
        const std::lock_guard lock(mutex_);
        if (n->realised())
            return n->record ? text_of(*n->record, n->extent) : "data from the host\n";
        std::string text = "not evaluated yet; the plan:\n";
        for (step& s : plan(std::span(&n, 1)).steps) {
            kernel_record r = *choose(s.what, device(), policies()).record;
            r.fused = fused_name(s.what);
            text += text_of(r, s.outputs[0]->extent);
        }
        return text;
    }

protected:
    using engine::engine;

    struct evaluation {
        std::vector<node_ptr> keep;  // every node of the plan stays alive until it is done
        std::vector<step> steps;
        std::vector<node*> stored;  // outputs of the steps
        std::vector<node*> views;   // roots that only look at memory
    };

    /// Runs the steps; every node of `stored` gets `data`. Throws without having changed a node.
    virtual void execute(evaluation& e, std::vector<std::shared_ptr<storage>>& made) = 0;

    void evaluate(std::span<const node_ptr> roots) {
        evaluation e = plan(roots);
        if (e.stored.empty() && e.views.empty()) return;
        std::vector<std::shared_ptr<storage>> made(e.stored.size());
        if (!e.stored.empty()) execute(e, made);
        for (const step& s : e.steps)
            for (node* n : s.outputs) n->record = s.record;
        for (std::size_t i = 0; i < e.stored.size(); ++i) e.stored[i]->realise(std::move(made[i]));
        for (node* v : e.views) realise_view(v);
        for (node* n : e.stored) n->release_inputs();
        for (node* n : e.views) n->release_inputs();
    }

    /// A kernel's ops as text: "multiply, add | relu", where the bar is the kernel's own work.
    static std::string fused_name(const problem& p) {
        std::string before, after;
        const auto list = [](std::string& text, const fused& f) {
            for (const instruction& i : f.body->code)
                if (i.arity() != 0)
                    append_text(text, {(text.empty() ? "" : ", "), i.op ? i.op->name : "cast"});
        };
        p.visit([&](const auto& q) {
            if constexpr (requires { q.body; }) list(before, q.body);
            if constexpr (requires { q.prologue; }) list(before, q.prologue);
            if constexpr (requires { q.input; }) list(before, q.input);
            if constexpr (requires {
                              q.a;
                              q.b;
                          })
                list(before, q.a), list(before, q.b);
            if constexpr (requires { q.epilogue; }) list(after, q.epilogue);
        });
        return after.empty() ? before : cat({before, before.empty() ? "| " : " | ", after});
    }

    mutable std::mutex mutex_;

private:
    evaluation plan(std::span<const node_ptr> roots) const {
        evaluation e;
        fuser f(roots, policies().fusion);
        std::vector<kernel_group> groups = f.run();
        for (node* n : f.order())
            for (const node_ptr& input : n->inputs) e.keep.push_back(input);
        for (const kernel_group& g : groups)
            for (node* n : g.outputs) e.stored.push_back(n);
        e.steps = lower(groups, f.order());
        // A group that was cut stores its inner nodes too.
        std::unordered_set<const node*> stored(e.stored.begin(), e.stored.end()), views;
        for (const step& s : e.steps)
            for (node* n : s.outputs)
                if (stored.insert(n).second) e.stored.push_back(n);
        std::erase_if(e.steps, [](const step& s) { return s.outputs[0]->count() == 0; });
        for (const node_ptr& r : roots)
            if (!r->realised() && is_view(*r) && views.insert(r.get()).second)
                e.views.push_back(r.get());
        return e;
    }

    /// A view shares the memory of what it looks at, which is realised by now.
    static void realise_view(node* v) {
        buffer_list buffers;
        flattener flat(buffers);
        flat.output(v, affine::identity(v->extent.rank()));
        const operand o = flat.finish().leaves.at(0);
        v->layout = o.steps;
        v->offset = o.offset;
        v->realise(buffers.nodes[0]->data);
    }

    static std::string text_of(const kernel_record& r, const shape& extent) {
        std::string text =
            cat({r.kernel, " ", to_string(extent), (r.fused.empty() ? "" : ": " + r.fused), "\n"});
        for (const std::string& why : r.rejected) append_text(text, {"  not ", why, "\n"});
        return text;
    }
};

}  // namespace pumice::inline PUMICE_ABI
