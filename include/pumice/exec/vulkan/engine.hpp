// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The Vulkan engine: plans, chooses and compiles, and hands what is to run to its lane.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/vulkan/completions.hpp>
#include <pumice/exec/vulkan/device_filling.hpp>
#include <pumice/exec/vulkan/own_shader.hpp>
#include <pumice/exec/vulkan/run_once.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class vulkan_engine final : public graph_engine {
public:
    vulkan_engine(std::shared_ptr<vulkan_runtime>&& runtime, policy_set&& policies,
                  std::string&& report)
        : graph_engine(std::move(policies), true), report_(std::move(report)),
          lane_(std::move(runtime), policies_.submit_budget > 0), completions_(lane_.runtime()) {
        planner_.set_places({{&lane_.device(), &host_device()}, [this](const node& n) {
                                 const auto lock = lane_.lock();
                                 const vulkan_storage& s = memory_of(n);
                                 return plan_places::holding{
                                     (s.on_device ? 1u : 0u) | (s.host ? 2u : 0u), s.bytes};
                             }});
    }

    /// Recordings that it keeps itself use the lane to their end.
    ~vulkan_engine() override { planner_.keep_parts(0); }

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        const std::int64_t bytes = byte_count(type, element_count(extent));
        auto held = vulkan_storage::make(lane_.runtime(), bytes, {memory_role::inputs});
        held->host = make_owned<host_memory>(bytes);
        held->host->fill(data);
        return make_data(type, extent, std::move(held), shared_from_this());
    }

    node_ptr reserve(dtype type, const shape& extent, std::string_view name) override {
        const std::int64_t bytes = byte_count(type, element_count(extent));
        if (bytes == 0) return create(type, extent, nullptr);
        auto held =
            vulkan_storage::make(lane_.runtime(), bytes, {memory_role::weights, name}, true);
        held->allocate();
        held->lost = true;  // until they are there
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    void fill(const array_list<filling>& list) override { device_filling(lane_).run(list); }

    void eval(span<const node_ptr> roots) override {
        lane_.make_way();
        graph_engine::eval(roots);
    }
    void read(const node_ptr& n, void* out) override {
        if (!n->realised()) eval(span(&n, 1));
        auto lock = lane_.lock();
        host_access(lane_, lock).read(*n, out);
    }
    void write(const node_ptr& n, std::int64_t begin, span<const std::byte> bytes) override {
        auto lock = lane_.lock();
        host_access(lane_, lock).write(*n, begin, bytes);
        n->data->lost = false;
    }
    std::byte* host(const node_ptr& n, bool writable) override {
        auto lock = lane_.lock();
        return host_access(lane_, lock).show(*n, writable);
    }
    void upload(span<const node_ptr> nodes) override {
        array_list<vulkan_storage*> list;
        for (const node_ptr& n : nodes)
            if (n->realised() && n->count() > 0) list.push_back(&storage_of(*n));
        auto lock = lane_.lock();
        lane_.bring(list, lock);
    }

    std::optional<std::uint64_t> address(const node_ptr& n) override {
        auto lock = lane_.lock();
        vulkan_storage& s = storage_of(*n);
        if (s.borrowed()) return {};
        if (n->count() == 0) return 0;
        lend(s, lock);
        lane_.wait(s.last_use, lock);
        return s.piece.device_address + static_cast<std::uint64_t>(byte_offset(n->type, n->offset));
    }
    std::shared_ptr<storage> at_address(std::uint64_t address, std::int64_t bytes) override {
        vulkan::allocation piece;
        piece.offset = piece.device_address = address;
        return borrow(bytes, piece);
    }

    bool records() const noexcept override { return true; }
    std::shared_ptr<prepared_graph> record_graph(evaluation&& planned,
                                                 kept_by by);  // executable.hpp

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
        return make_data(type, extent, borrow(byte_count(type, element_count(extent)), piece),
                         shared_from_this());
    }
    /// Where the values of an evaluated tensor lie; brought to the device if they are not there.
    vulkan::allocation place_of(const node& n) {
        auto lock = lane_.lock();
        lend(storage_of(n), lock);
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
    std::uint64_t trim() override {
        lane_.refuse_child();
        // Who plans meanwhile goes on.
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) planner_.keep_parts(0);
        runtime().release_compiler(std::chrono::nanoseconds(0));
        return runtime().memory().trim() + detail::thread_cache::trim();
    }
    const device_info& device() const override { return lane_.device(); }
    std::string device_report() const override { return report_; }

private:
    friend class vulkan_executable;
    friend class step_repeater;

    std::shared_ptr<vulkan_storage> borrow(std::int64_t bytes, const vulkan::allocation& piece) {
        auto held = vulkan_storage::make(lane_.runtime(), bytes, {memory_role::inputs});
        held->piece = piece;
        held->on_device = true;
        return held;
    }
    /// Brings it to the device, where others than this engine's work will use it.
    void lend(vulkan_storage& s, vulkan_lane::lock_type& lock) {
        lane_.bring({&s}, lock);
        s.untracked = true;
    }

    void fetch(const node_ptr& n, void* out) override { read(n, out); }

    void execute(plan_run& run, stop_view stop) override {
        profile_scope choosing(profiling_.get(), "choosing");
        const std::shared_ptr<const dispatch_list> list = dispatches_of(run, run.givings);
        for (std::size_t i = 0; i < run.records.size(); ++i) run.records[i] = list->record(i);
        choosing.end();
        profile_scope compiling(profiling_.get(), "compiling");
        if (!list->compiled)
            list->compiled =
                std::make_shared<const compiled_launches>(runtime().pipelines(list->launches(),
                                                                              list->naming()),
                                                          list->launches());
        const auto& compiled = *static_cast<const compiled_launches*>(list->compiled.get());
        compiling.end();
        auto lock = lane_.lock();
        single_run(lane_, run, *list, compiled, lock).go(stop);
    }

    int submits_of(const plan& p) const override {
        int count = 0;
        for (std::size_t begin = 0; begin < p.steps.size(); begin = p.end_of_stage(begin))
            count += p.steps[begin].place == 0;
        return count;
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
