// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The Vulkan engine: plans, chooses and compiles, and hands what is to run to its lane.
#pragma once

#include <pumice/exec/host_steps.hpp>
#include <pumice/exec/vulkan/completions.hpp>
#include <pumice/exec/vulkan/run_once.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class vulkan_engine final : public graph_engine {
public:
    vulkan_engine(std::shared_ptr<vulkan_runtime>&& runtime, policy_set&& policies,
                  std::string&& report)
        : graph_engine(std::move(policies), true), report_(std::move(report)),
          lane_(std::move(runtime), policies_.submit_budget > 0), completions_(lane_.runtime()) {}

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        const std::int64_t bytes = byte_count(type, element_count(extent));
        auto held = std::make_shared<vulkan_storage>(lane_.runtime(), bytes);
        held->host = std::make_unique<host_memory>(bytes);
        held->host->fill(data);
        return make_data(type, extent, std::move(held), shared_from_this());
    }

    void eval(std::span<const node_ptr> roots) override {
        lane_.make_way();
        graph_engine::eval(roots);
    }
    void read(const node_ptr& n, void* out) override {
        if (!n->realised()) eval(std::span(&n, 1));
        host_access(lane_).read(*n, out);
    }
    void write(const node_ptr& n, std::int64_t begin, std::span<const std::byte> bytes) override {
        host_access(lane_).write(*n, begin, bytes);
        n->data->lost = false;
    }
    std::byte* host(const node_ptr& n, bool writable) override {
        return host_access(lane_).show(*n, writable);
    }
    void upload(std::span<const node_ptr> nodes) override {
        array_list<vulkan_storage*> list;
        for (const node_ptr& n : nodes)
            if (n->realised() && n->count() > 0) list.push_back(&storage_of(*n));
        auto lock = lane_.lock();
        lane_.bring(list, lock);
    }

    bool records() const noexcept override { return true; }
    std::shared_ptr<prepared_graph> record_graph(evaluation&& planned);  // executable.hpp

    void wait_for(std::uint64_t value) const override { lane_.runtime()->queue().wait(value); }
    bool is_done(std::uint64_t value) const override {
        lane_.refuse_child();
        return lane_.runtime()->queue().reached(value);
    }
    void call_after(std::uint64_t value, callback<void()> f) override {
        lane_.refuse_child();
        completions_.add(value, std::move(f));
    }

    /// The next submit, and so all later ones, runs after this point.
    void wait_before(const vulkan::semaphore_point& point) {
        const auto lock = lane_.lock();
        lane_.wait_before(point);
    }
    /// A tensor over memory that stays the user's.
    node_ptr borrow(dtype type, const shape& extent, const vulkan::allocation& piece) {
        auto held = std::make_shared<vulkan_storage>(lane_.runtime(),
                                                     byte_count(type, element_count(extent)));
        held->piece = piece;
        held->on_device = true;
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    /// Where the values of an evaluated tensor lie; brought to the device if they are not there.
    vulkan::allocation place_of(const node& n) {
        auto lock = lane_.lock();
        lane_.bring({&storage_of(n)}, lock);
        storage_of(n).untracked = true;
        return storage_of(n).piece;
    }
    vulkan_runtime& runtime() noexcept { return *lane_.runtime(); }

    /// Takes no lock: who compiles or waits holds nobody up who looks.
    statistics stats() const override {
        lane_.refuse_child();
        statistics s;
        s.plans = plans_;
        lane_.count(s);
        return s;
    }
    const device_info& device() const override { return lane_.device(); }
    std::string device_report() const override { return report_; }

private:
    friend class vulkan_executable;

    /// Leaves small work to the host that has all of its operands.
    void place(plan_run& run) const override {
        const plan& p = run.what();
        std::int64_t left = policies().host_below;
        if (left == 0 || p.steps.empty()) return;
        const auto lock = lane_.lock();
        for (const plan_step& s : p.steps) {
            const auto* own = s.what.get_if<custom_kernel_problem>();
            if (own && !own->call->what->how.host) return;
            for (const int v : s.buffers) {
                const node* const given = run.given[static_cast<std::size_t>(v)];
                left -= given ? storage_of(*given).bytes : p.at(v).bytes();
                if (left < 0 || (given && !storage_of(*given).host)) return;
            }
        }
        run.on_host = true;
        run.records = host_records(*run.planned);
    }
    void execute_on_host(plan_run& run) {
        const auto lock = lane_.lock();
        const std::int64_t written = run_steps_on_host(
            run, runtime().threads(), profiling_.get(), {},
            [&](const plan_value& v, std::shared_ptr<storage>& made) {
                const auto held = std::make_shared<vulkan_storage>(lane_.runtime(), v.bytes());
                held->host = std::make_unique<host_memory>(held->bytes);
                made = held;
                return held->host->data();
            },
            [](const node& n) { return storage_of(n).host->data(); });
        lane_.counted.host_kernels += run.what().steps.size();
        lane_.counted.written_bytes += static_cast<std::uint64_t>(written);
        ++lane_.counted.evals;
    }

    void execute(plan_run& run, const std::stop_token&) override {
        if (run.on_host) return execute_on_host(run);
        profile_scope choosing(profiling_.get(), "choosing");
        const std::shared_ptr<const dispatch_list> list = dispatches_of(run, run.givings);
        for (std::size_t i = 0; i < run.records.size(); ++i) run.records[i] = list->record(i);
        choosing.end();
        profile_scope compiling(profiling_.get(), "compiling");
        using pipeline_list = array_list<std::shared_ptr<const vulkan::pipeline>>;
        if (!list->compiled)
            list->compiled = std::shared_ptr<const pipeline_list>(
                new pipeline_list(runtime().pipelines(list->launches())));
        const auto& pipelines = *static_cast<const pipeline_list*>(list->compiled.get());
        compiling.end();
        const auto lock = lane_.lock();
        run_once(lane_, run, *list, pipelines);
    }

    /// The user's own memory is never given.
    bool may_give(const storage& memory, std::int64_t bytes) const override {
        const auto& s = static_cast<const vulkan_storage&>(memory);
        return !s.borrowed() && s.bytes == bytes;
    }

    void begin_profile(profile_recorder& to) override {
        const auto lock = lane_.lock();
        lane_.begin_profile(to);
    }
    void end_profile(profile_recorder& recorder) override {
        lane_.end_profile(recorder, lane_.lock());
    }

    std::string report_;
    vulkan_lane lane_;
    completions completions_;
};

}}  // namespace pumice::PUMICE_ABI
