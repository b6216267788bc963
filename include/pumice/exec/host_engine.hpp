// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The host device: the same graphs, fused the same way, by native loops. No Vulkan.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/counter.hpp>
#include <pumice/exec/host_alone.hpp>
#include <pumice/exec/host_memory.hpp>
#include <pumice/exec/host_steps.hpp>

#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

/// Copies strided elements to row-major order.
inline void gather(dtype type, const shape& extent, const std::byte* from, std::int64_t offset,
                   const strides& steps, void* to) {
    if (is_row_major(extent, steps)) {
        std::memcpy(to, from + byte_count(type, offset),
                    static_cast<std::size_t>(byte_count(type, element_count(extent))));
        return;
    }
    const int bits = info(type).bits;
    auto* out = static_cast<std::byte*>(to);
    const int inner = extent.rank() - 1;
    for_each_row(extent, [&](const index_list& row) {
        std::int64_t at = offset;
        for (int i = 0; i < row.rank(); ++i) at += row[i] * steps[i];
        detail::copy_elements(bits, from + at * (bits / 8), steps[inner], out, 1, extent[inner]);
        out += extent[inner] * (bits / 8);
    });
}

class host_engine final : public graph_engine {
public:
    host_engine(policy_set&& policies, std::string&& report)
        : graph_engine(std::move(policies)), report_(std::move(report)) {
        info_.name = "host";
        info_.type = device_type::host;
        info_.driver = "native C++";
        info_.float64_arithmetic = info_.int64_arithmetic = info_.float16_arithmetic = true;
        info_.int8_arithmetic = info_.int16_arithmetic = info_.storage8 = info_.storage16 = true;
        info_.max_workgroup_count = {1 << 30, 1 << 16, 1 << 16};
        info_.shared_memory = 1 << 20;
    }

    /// Of little that lies dense. What is empty, or is to be seen by a profile, is left to an
    /// evaluation.
    node_ptr at_once(const operation& lasting, std::span<const scalar> scalars, dtype type,
                     const shape& extent, std::span<const node_ptr> inputs) override {
        const std::int64_t count = element_count(extent);
        if (count == 0 || count > most_at_once || profiles_.load(std::memory_order_relaxed))
            return nullptr;
        for (const node_ptr& input : inputs)
            if (!input->realised() || !input->data || input->owner.get() != this) return nullptr;
        const auto* op = lasting.get_if<elementwise_op>();
        const void* from[max_leaves];
        const host_alone alone = op ? host_alone() : host_alone(lasting, *inputs[0]);
        if (op ? !op->native || !lie_dense(extent, inputs, from)
               : !alone || alone.count() > most_at_once)
            return nullptr;
        node_ptr n = allocate_node(type, extent, operation::borrowed(lasting), inputs[0]->owner);
        std::shared_ptr<host_storage> made = allocate(byte_count(type, count));
        if (op) op->native(from, scalars.data(), made->memory.data(), count);
        else alone.run(first_of(*inputs[0]), made->memory.data());
        n->realise(std::move(made));
        ++at_once_;
        return n;
    }

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        const std::shared_ptr<host_storage> held =
            allocate(byte_count(type, element_count(extent)));
        held->memory.fill(data);
        return make_data(type, extent, std::move(held), shared_from_this());
    }

    void read(const node_ptr& n, void* out) override {
        const std::lock_guard lock(mutex_);
        evaluate(std::span(&n, 1));
        if (n->count() > 0) gather(n->type, n->extent, bytes_of(*n), n->offset, n->layout(), out);
    }

    void write(const node_ptr& n, std::int64_t begin, std::span<const std::byte> bytes) override {
        const std::lock_guard lock(mutex_);
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
        return counted;
    }
    const device_info& device() const override { return info_; }
    std::string device_report() const override { return report_; }

private:
    static std::byte* bytes_of(const node& n) {
        must_hold_values(n);
        return static_cast<host_storage*>(n.data.get())->memory.data();
    }

    /// Where the values of a row-major tensor begin.
    static std::byte* first_of(const node& n) {
        return bytes_of(n) + n.offset * (info(n.type).bits / 8);
    }
    /// Where the inputs' values begin; false unless all have this shape and are row-major.
    static bool lie_dense(const shape& extent, std::span<const node_ptr> inputs,
                          const void** from) {
        for (const node_ptr& input : inputs) {
            if (!input->row_major() || input->extent != extent) return false;
            *from++ = first_of(*input);
        }
        return true;
    }

    std::shared_ptr<host_storage> allocate(std::int64_t bytes) const {
        return host_storage::make(bytes, pool_);
    }

    std::shared_ptr<kernel_record> record_of(const problem& p) const override {
        return host_record(p);
    }
    /// Of a node that ran alone, which was given no record.
    std::shared_ptr<const kernel_record> record_of(const node& n) const override {
        if (n.record) return n.record;
        if (const auto* op = n.op.get_if<elementwise_op>()) {
            elementwise_problem p;
            p.body.body = op->body;
            return host_record(p);
        }
        if (!n.op.is<reduce_op>() && !n.op.is<normalize_op>()) return nullptr;
        auto record = std::make_shared<kernel_record>();
        record->kernel = n.op.is<reduce_op>() ? "host/reduce" : "host/normalize";
        return record;
    }

    /// An elementwise node, or a reduction or softmax of dense floats, over realised inputs needs
    /// no plan.
    bool run_alone(node& n) override {
        const auto* op = n.op.get_if<elementwise_op>();
        const host_alone alone = op || n.inputs.empty() || !n.row_major()
                                     ? host_alone()
                                     : host_alone(n.op, *n.inputs[0]);
        if (!op && !alone) return false;
        for (const node_ptr& input : n.inputs)
            if (!input->realised()) return false;
        const std::int64_t count = n.count();
        const std::shared_ptr<host_storage> made = allocate(byte_count(n.type, count));
        if (count > 0) {
            std::string name;
            std::int64_t touched = made->memory.size();
            if (profiling_) {
                name = profile_name(*record_of(n));
                for (const node_ptr& input : n.inputs)
                    touched += byte_count(input->type, input->count());
            }
            const profile_scope running(profiling_.get(), name, profile_recorder::on_device,
                                        touched);
            if (op) run_elementwise(n, *op, count, made->memory.data());
            else alone.run(first_of(*n.inputs[0]), made->memory.data());
            ++stats_.dispatches;
        }
        ++stats_.evals;
        n.realise(made);
        n.release_inputs();
        return true;
    }
    void run_elementwise(const node& n, const elementwise_op& op, std::int64_t count,
                         std::byte* out) {
        const void* from[max_leaves];
        if (op.native && n.row_major() && count <= least_part &&
            lie_dense(n.extent, n.inputs, from))
            return op.native(from, op.scalars.data(), out, count);
        host_elementwise work{op.body->view(), op.native, n.extent, {}, op.scalars, {}};
        for (const node_ptr& input : n.inputs)
            work.leaves.push_back(broadcast_array(*input, n.extent));
        for (const int axis : op.iota_axes) {
            strides steps =
                axis < 0 ? row_major_strides(n.extent) : strides::filled(n.extent.rank(), 0);
            if (axis >= 0) steps[axis] = 1;
            work.leaves.push_back({nullptr, n.type, 0, steps});
        }
        work.outputs.push_back({out, n.type, 0, n.layout()});
        work.run(threads_);
    }
    static host_array broadcast_array(const node& n, const shape& to) {
        host_array a{bytes_of(n), n.type, n.offset, strides::filled(to.rank(), 0)};
        const int first = to.rank() - n.extent.rank();
        for (int i = 0; i < n.extent.rank(); ++i)
            if (n.extent[i] != 1) a.steps[first + i] = n.layout()[i];
        return a;
    }

    void execute(plan_run& run, const std::stop_token& stop) override {
        run_steps_on_host(
            run, threads_, profiling_.get(), stop,
            [&](const plan_value& v, std::shared_ptr<storage>& made) {
                const std::shared_ptr<host_storage> s = allocate(v.bytes());
                made = s;
                return s->memory.data();
            },
            [](const node& n) { return bytes_of(n); });
        stats_.dispatches += run.what().steps.size();
        ++stats_.evals;
    }

    static constexpr std::int64_t most_at_once = 4096;

    device_info info_;
    std::string report_;
    statistics stats_;
    counter at_once_;  // dispatches that took no lock
    std::shared_ptr<host_pool> pool_ = std::make_shared<host_pool>();
    thread_pool threads_;
};

}}  // namespace pumice::PUMICE_ABI
