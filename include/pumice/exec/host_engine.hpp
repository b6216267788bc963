// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host device: the same graphs, fused the same way, by native loops. No Vulkan.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/counter.hpp>
#include <pumice/exec/host_steps.hpp>
#include <pumice/host/device.hpp>
#include <pumice/host/find_loop.hpp>
#include <pumice/host/memory.hpp>
#include <pumice/host/read_parts.hpp>
#include <pumice/host/small_tree.hpp>

#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

class host_engine final : public graph_engine {
public:
    host_engine(policy_set&& policies, std::string&& report)
        : graph_engine(std::move(policies)), report_(std::move(report)) {}

    /// Of little that lies dense. What is empty, or is to be seen by a profile, is left to an
    /// evaluation.
    node_ptr at_once(const operation& lasting, span<const scalar> scalars, dtype type,
                     const shape& extent, span<const node_ptr> inputs) override {
        const std::int64_t count = element_count(extent);
        if (count == 0 || count > most_at_once || profiles_.load(std::memory_order_relaxed) ||
            policies_.each_op)
            return nullptr;
        for (const node_ptr& input : inputs)
            if (!has_values(*input) || input->owner.get() != this) return nullptr;
        const host_operands operands{inputs, scalars, type, extent, count};
        host_loop loop;
        find_loop(lasting, operands, loop);
        if (!loop.dense || loop.count > most_at_once) return nullptr;
        node_ptr n = allocate_node(type, extent, operation::borrowed(lasting), inputs[0]->owner);
        std::shared_ptr<host_storage> made = allocate(byte_end(type, count), computed);
        loop.run(made->memory.data(), threads_);
        at_once_bytes_ += static_cast<std::uint64_t>(made->memory.size());
        n->realise(std::move(made));
        ++at_once_;
        return n;
    }

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        const std::shared_ptr<host_storage> held =
            allocate(byte_count(type, element_count(extent)), {memory_role::inputs});
        held->memory.fill(data);
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    node_ptr reserve(dtype type, const shape& extent, std::string_view name) override {
        std::shared_ptr<host_storage> held =
            allocate(byte_count(type, element_count(extent)), {memory_role::weights, name});
        held->lost = true;  // until they are there
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    void fill(const array_list<filling>& list) override {
        read_parts parts;
        for (const filling& f : list)
            parts.add(*f.from, 0, byte_count(f.to->type, f.to->count()), bytes_on_host(*f.to));
        parts.read(threads_);
        for (const filling& f : list) f.to->data->lost = false;
    }

    void read(const node_ptr& n, void* out) override {
        const std::lock_guard lock(mutex_);
        evaluate(span(&n, 1));
        if (n->count() > 0) gather(n->type, n->extent, bytes_of(*n), n->offset, n->layout(), out);
    }

    void write(const node_ptr& n, std::int64_t begin, span<const std::byte> bytes) override {
        const std::lock_guard lock(mutex_);
        if (n->data && static_cast<std::int64_t>(bytes.size()) == byte_count(n->type, n->count()))
            n->data->lost = false;
        std::memcpy(first_of(*n) + begin, bytes.data(), bytes.size());
    }

    std::byte* host(const node_ptr& n, bool) override { return first_of(*n); }

    statistics stats() const override {
        const std::lock_guard lock(mutex_);
        statistics counted = stats_;
        counted.plans = planner_.made();
        const std::uint64_t more = at_once_;
        counted.evals += more;
        counted.dispatches += more;
        counted.written_bytes += at_once_bytes_;
        counted.memory = pool_->held();
        return counted;
    }
    std::uint64_t trim() override { return pool_->trim() + detail::thread_cache::trim(); }
    const device_info& device() const override { return host_device(); }
    std::string device_report() const override { return report_; }

private:
    static std::byte* bytes_of(const node& n) {
        must_hold_values(n);
        return bytes_on_host(n);
    }
    static std::byte* first_of(const node& n) {
        must_hold_values(n);
        return first_value(n);
    }
    void fetch(const node_ptr& n, void* out) override {
        if (n->count() > 0) gather(n->type, n->extent, bytes_of(*n), n->offset, n->layout(), out);
    }

    static constexpr memory_label computed{memory_role::outputs};
    std::shared_ptr<host_storage> allocate(std::int64_t bytes, const memory_label& label) const {
        return host_storage::make(bytes, pool_, label);
    }

    std::shared_ptr<const kernel_record> record_of(const plan&, const plan_step& s) const override {
        return host_record(s);
    }
    /// Of a node that ran alone, which was given no record.
    std::shared_ptr<const kernel_record> record_of(const node& n) const override {
        if (n.record) return n.record;
        std::shared_ptr<kernel_record> record;
        if (const auto* op = n.op.get_if<elementwise_op>()) {
            elementwise_problem p;
            p.body.body = op->body;
            record = host_record(p);
        } else {  // by the op alone: a problem would bring its kernels into every program
            const auto* const r = n.op.get_if<reduce_op>();
            const auto* const m = n.op.get_if<normalize_op>();
            const auto* const c = n.op.get_if<scan_op>();
            const char* const kernel = r                       ? "host/reduce"
                                       : m                     ? "host/normalize"
                                       : c                     ? "host/scan"
                                       : n.op.is<take_op>()    ? "host/take"
                                       : n.op.is<scatter_op>() ? "host/scatter"
                                       : n.op.is<concat_op>()  ? "host/concat"
                                                               : nullptr;
            if (!kernel) return nullptr;
            record = std::make_shared<kernel_record>();
            record->kernel = kernel;
            if (r) record->fused = name_of_reduction(r->what, r->by);
            else if (m) record->fused = to_string(m->what);
            else if (c) record->fused = name_of_scan(c->what);
        }
        record->origin = n.label.get().maker();
        return record;
    }

    /// A node over realised inputs for which there is a loop needs no plan, and neither does a
    /// small tree like one before; but passes are shown what is evaluated, however it is asked for.
    bool run_alone(node& n) override {
        tree_of_ = nullptr;
        if (policies_.passes) return false;
        if (is_view(n)) return run_reshaped(n);
        if (!n.op.is<concat_op>())  // its loop looks through lazy views
            for (const node_ptr& input : n.inputs)
                if (!has_values(*input)) return run_tree(n);
        return run_over(n, n.inputs);
    }
    /// A reshape of a concatenation, which stack() makes, shows the memory of that.
    bool run_reshaped(node& n) {
        const node_ptr of = n.inputs[0];
        const auto* const view = n.op.get_if<view_op>();
        if (!of->op.is<concat_op>() || of->realised() || planner_.is_claimed(of.get()) ||
            (view && !detail::keeps_order(*view, of->extent, n.extent)) ||
            !run_over(*of, of->inputs))
            return false;
        keep_label_of_view(n);
        n.record = of->record;
        n.realise(of->data);
        n.release_inputs();
        return true;
    }
    /// Realises a node from these, or from the products of two, in the place of its inputs, where
    /// there is a loop for it. It keeps the record, if there is one.
    bool run_over(node& n, span<const node_ptr> inputs,
                  const std::shared_ptr<const kernel_record>& record = nullptr,
                  bool multiplied = false) {
        const std::int64_t count = n.count();
        const strides* const layout = n.row_major() ? nullptr : &n.layout();
        const host_operands operands{inputs, {}, n.type, n.extent, count, layout, multiplied};
        host_loop loop;
        find_loop(n.op, operands, loop);
        if (!loop) return false;
        const std::shared_ptr<host_storage> made = allocate(byte_count(n.type, count), computed);
        if (count > 0) {
            std::string name;
            node_label label;
            std::int64_t touched = made->memory.size();
            if (profiling_) {
                name = profile_name(*record_of(n));
                label = n.label.get();
                for (const node_ptr& input : inputs)
                    touched += byte_count(input->type, input->count());
            }
            const profile_scope running(profiling_.get(), name, profile_recorder::on_device,
                                        touched, label.maker());
            loop.run(made->memory.data(), threads_);
            ++stats_.dispatches;
            stats_.written_bytes += static_cast<std::uint64_t>(made->memory.size());
        }
        ++stats_.evals;
        if (record) n.record = record;
        n.realise(made);
        n.release_inputs();
        return true;
    }

    /// Elementwise nodes over little, also where short rows of them are reduced, when a plan has
    /// computed as many of the same before.
    bool run_tree(node& n) {
        if (profiling_ || !policies_.fusion) return false;
        const bool elementwise = n.op.is<elementwise_op>();
        if (!elementwise && !joins_short_rows(n)) return false;
        const node& top = elementwise ? n : *n.inputs[0];
        if (!tree_.grow(top)) return false;
        tree_key_.clear();
        tree_.add_words(tree_key_);
        if (!elementwise) tree_key_.add_op(n.op);
        std::shared_ptr<const kernel_record> record = trees_.find(tree_key_);
        if (!record) {
            tree_of_ = &n;
            return false;
        }
        if (!elementwise && multiplies_values(top) && run_over(n, top.inputs, record, true))
            return true;
        std::shared_ptr<host_storage> made = allocate(byte_count(top.type, top.count()), computed);
        tree_.run(made->memory.data(), threads_);
        if (!elementwise) {
            const node_ptr operand = allocate_node(top.type, top.extent, source_op{}, nullptr);
            operand->realise(std::move(made));
            return run_over(n, span(&operand, 1), record);
        }
        ++stats_.evals, ++stats_.dispatches;
        stats_.written_bytes += static_cast<std::uint64_t>(made->memory.size());
        n.record = std::move(record);
        n.realise(std::move(made));
        n.release_inputs();
        return true;
    }
    /// Whether a reduction joins its operand's values, which only it reads, alike where they are
    /// stored first: of a type that is not rounded to, in rows too short for loops of their own
    /// (host/reduce.hpp), among which a plan and a lone node do not choose alike.
    static bool joins_short_rows(const node& n) {
        const auto* const op = n.op.get_if<reduce_op>();
        if (!op || !n.label.empty()) return false;
        const node& from = *n.inputs[0];
        return op->axes.size() == 1 && op->axes[0] == from.extent.rank() - 1 &&
               2 * from.extent.back() < detail::short_axis && !from.realised() &&
               (!is_floating(from.type) || detail::computed_as(from.type) == from.type) &&
               from.pending_uses.load(std::memory_order_relaxed) == 1;
    }
    /// Whether an elementwise node is the product of two tensors that lie as it does.
    static bool multiplies_values(const node& n) {
        const span<const instruction> code = n.op.get_if<elementwise_op>()->body->code;
        if (n.inputs.size() != 2 || code.size() != 3 || code[2].what != instruction::code::apply ||
            code[2].args[0] == code[2].args[1] || code[2].op->body != "x * y")
            return false;
        for (const node_ptr& input : n.inputs)
            if (!has_values(*input) || input->type != n.type || !input->row_major() ||
                input->extent != n.extent)
                return false;
        return true;
    }
    void ran_by_plan(const node& n, const plan& p) override {
        if (tree_of_ == &n && p.steps.size() == 1) trees_.add(tree_key_, n.record);
        tree_of_ = nullptr;
    }

    bool may_give(const storage& s, std::int64_t bytes) const override {
        return static_cast<const host_storage&>(s).memory.size() == bytes;
    }

    void execute(plan_run& run, stop_view stop) override {
        const plan& p = run.what();
        array_list<storage*> over;
        take_over(run, over);
        for (const array_list<int>* list : {&p.outputs, &p.temporaries})
            for (const int v : *list) {
                const auto number = static_cast<std::size_t>(v);
                if (p.at(v).alias >= 0 || over[number]) continue;
                if (run.made[number]) over[number] = run.made[number].get();  // an output's own
                else if (run.passing.empty() || !run.passing[number]) make(run, v);
            }
        array_list<std::byte*> memory(p.values.size(), nullptr);
        for (std::size_t v = 0; v < memory.size(); ++v)
            if (const node* const given = run.given[v])
                memory[v] = bytes_of(*given) + run.begin_of(v);
            else if (run.made[v])
                memory[v] = static_cast<host_storage&>(*run.made[v]).memory.data();
        run.records = host_records(*run.planned);
        host_steps list{p, 0, p.steps.size(), run.givings, run.numbers, run.records, memory, &over};
        std::int64_t written = 0;
        if (run.passing.empty()) {
            written = run_on_host(list, threads_, profiling_.get(), stop);
        } else {
            run_passing(run, list, memory,
                        [&] { written += run_on_host(list, threads_, profiling_.get(), stop); });
        }
        stats_.written_bytes += static_cast<std::uint64_t>(written);
        for (const plan_step& s : p.steps)
            stats_.dispatches += !run.givings.contains(s.unless_given);
        ++stats_.evals;
    }

    std::byte* make(plan_run& run, int v) const {
        const plan& p = run.what();
        const auto made = at_value(p, v, [&] { return allocate(p.at(v).bytes(), label_of(p, v)); });
        run.made[static_cast<std::size_t>(v)] = made;
        return made->memory.data();
    }
    /// Runs one step after the other; what passes has memory from the first step that names it to
    /// the last.
    template <class Run>
    void run_passing(plan_run& run, host_steps& list, array_list<std::byte*>& memory,
                     Run&& run_step) const {
        const plan& p = run.what();
        array_list<char> passes = run.passing;
        const array_list<std::size_t> last = last_steps(p);
        for (std::size_t v = 0; v < passes.size(); ++v)
            if (run.made[v] || p.values[v].is_given()) passes[v] = 0;
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            for (const int b : p.steps[i].buffers) {
                const int root = p.root(b);
                const auto v = static_cast<std::size_t>(root);
                if (passes[v] && !run.made[v]) memory[v] = make(run, root);
            }
            list.begin = i, list.end = i + 1;
            run_step();
            for (const int b : p.steps[i].buffers) {
                const auto v = static_cast<std::size_t>(p.root(b));
                if (passes[v] && last[v] == i) run.made[v].reset();
            }
        }
    }

    static constexpr std::int64_t most_at_once = 4096;

    std::string report_;
    statistics stats_;
    small_tree tree_;
    graph_key tree_key_;
    const node* tree_of_ = nullptr;  // the node that a plan computes, whose tree has this key
    known_trees trees_;
    counter at_once_, at_once_bytes_;  // dispatches that took no lock, and what they wrote
    std::shared_ptr<host_pool> pool_ = std::make_shared<host_pool>();
    thread_pool threads_;
};

}}  // namespace pumice::PUMICE_ABI
