// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The null device: plans, fuses, selects and emits for a described device, and computes nothing.
// Planning and emission are tested on it, and kernels for another machine are gathered with it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/kernel_requests.hpp>

#include <mutex>

namespace pumice { inline namespace PUMICE_ABI {

class null_engine final : public graph_engine {
public:
    null_engine(device_info described, policy_set policies)
        : graph_engine(std::move(policies)), info_(std::move(described)) {
        if (this->policies().rates.known()) info_.measured = this->policies().rates;
        planner_.set_places({{&info_, &host_device()},
                             [](const node&) { return plan_places::holding{}; }});
    }

    node_ptr create(dtype type, const shape& extent, const void*) override {
        return make_data(type, extent, std::make_shared<nothing>(), shared_from_this());
    }
    /// There are no values: zeros while kernels are gathered, otherwise throws errc::unsupported.
    void read(const node_ptr& n, void* out) override {
        if (policies().kernel_sink) {
            eval(span(&n, 1));
            std::memset(out, 0, static_cast<std::size_t>(byte_count(n->type, n->count())));
            return;
        }
        throw_no_values();
    }
    void write(const node_ptr&, std::int64_t, span<const std::byte>) override {}
    void fill(const array_list<filling>&) override {}
    std::byte* host(const node_ptr&, bool) override { throw_no_values(); }
    statistics stats() const override {
        const std::lock_guard lock(mutex_);
        statistics counted = stats_;
        counted.plans = planner_.made();
        return counted;
    }
    const device_info& device() const override { return info_; }
    std::string device_report() const override {
        return cat({"device  null, described as ", to_string(info_), "\n"});
    }

    /// The launches of the last evaluations, in order: of all where they are fewer than 1024.
    array_list<launch> launches() const {
        const std::lock_guard lock(mutex_);
        array_list<launch> list;
        for (const ran& r : runs_)
            for (const launch* l : r.list->launches()) list.push_back(*l);
        return list;
    }

private:
    [[noreturn]] static void throw_no_values() {
        fail(errc::unsupported, "null device",
             {"the null device computes nothing, so there is nothing to read"});
    }
    struct nothing final : storage {};

    void fetch(const node_ptr&, void*) override { throw_no_values(); }
    bool computes() const noexcept override { return false; }

    void execute(plan_run& run, stop_view) override {
        const plan& p = run.what();
        const std::shared_ptr<const dispatch_list> list =
            dispatches_of(run, {}, transfers::by_kernel);
        for (std::size_t i = 0; i < p.steps.size(); ++i) run.records[i] = list->record(i);
        stats_.dispatches += list->size();
        stats_.written_bytes += static_cast<std::uint64_t>(list->written_bytes());
        if (policies().kernel_sink)
            for (const launch* l : list->launches()) gather(*l);
        remember({run.planned, list});
        for (const int v : p.outputs)
            if (p.at(v).alias < 0)
                run.made[static_cast<std::size_t>(v)] =
                    std::allocate_shared<nothing>(detail::thread_cache_allocator<nothing>());
        ++stats_.evals;
    }

    /// Compiles a kernel for whoever records it.
    void gather(const launch& l) {
        if (l.shader && l.shader->language == shader_language::spirv) return;  // it is compiled
        if (!kernels_) kernels_ = make_owned<kernel_service>(service_options_of(policies()));
        kernels_->get(request_for(l));
    }

    /// A list of launches, and the plan that it speaks of.
    struct ran {
        std::shared_ptr<const known_plan> planned;
        std::shared_ptr<const dispatch_list> list;
    };
    void remember(ran&& last) {
        constexpr std::size_t least = 1024;
        if (runs_.size() == 2 * least) {
            for (std::size_t i = 0; i < least; ++i) runs_[i] = std::move(runs_[least + i]);
            runs_.resize(least);
        }
        runs_.push_back(std::move(last));
    }

    device_info info_;
    unique_ptr<kernel_service> kernels_;
    array_list<ran> runs_;
    statistics stats_;
};

template <int>
std::shared_ptr<engine> make_null_engine(policy_set policies) {
    return std::make_shared<null_engine>(device_info(*policies.null_device), std::move(policies));
}

}}  // namespace pumice::PUMICE_ABI
