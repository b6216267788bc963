// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The Vulkan engine: steps become dispatches in one command buffer and one submit.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/plan/dispatch_list.hpp>
#include <pumice/exec/vulkan_profiler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class vulkan_engine final : public graph_engine {
public:
    vulkan_engine(std::shared_ptr<vulkan_runtime>&& runtime, policy_set&& policies,
                  std::string&& report)
        : graph_engine(std::move(policies), true), runtime_(std::move(runtime)),
          report_(std::move(report)) {}

    node_ptr create(dtype type, const shape& extent, const void* data) override {
        const std::int64_t bytes = byte_count(type, element_count(extent));
        auto held = std::make_shared<vulkan_storage>(runtime_, bytes);
        held->host = std::make_unique<host_memory>(bytes);
        held->host->fill(data);
        return make_data(type, extent, std::move(held), shared_from_this());
    }

    void read(const node_ptr& n, void* out) override {
        std::unique_lock lock(mutex_);
        evaluate(std::span(&n, 1));
        if (n->count() == 0) return;
        vulkan_storage& s = of(*n);
        const std::int64_t begin = byte_count(n->type, n->offset),
                           size = byte_count(n->type, n->count());
        if (!s.host && n->row_major() && (size < s.bytes / 2 || reads_in_place(s, size))) {
            // What lies at hand, or a small part of a large array: only that part.
            fetch(s, begin, size, static_cast<std::byte*>(out), lock);
            return;
        }
        std::unique_ptr<host_memory> copy = std::move(s.host);
        if (!copy) {
            copy = std::make_unique<host_memory>(s.bytes);
            fetch(s, 0, s.bytes, copy->data(), lock);
        }
        gather(n->type, n->extent, copy->data(), n->offset, n->layout(), out);
        // The user may write his memory again, and another thread may look at what it fetched
        // meanwhile.
        if (!s.borrowed() && !s.host) s.host = std::move(copy);
    }

    void write(const node_ptr& n, std::int64_t begin, std::span<const std::byte> bytes) override {
        std::unique_lock lock(mutex_);
        vulkan_storage& s = of(*n);
        begin += byte_count(n->type, n->offset);
        const auto size = static_cast<std::int64_t>(bytes.size());
        if (s.host && !s.on_device) {
            std::memcpy(s.host->data() + begin, bytes.data(), bytes.size());
            return;
        }
        const bool whole = size == s.bytes;
        if (s.piece.mapped && whole && !runtime_->queue().reached(s.last_use)) {
            // Work in flight keeps the old memory.
            const vulkan::allocation fresh =
                runtime_->memory().allocate(static_cast<std::uint64_t>(s.bytes),
                                            vulkan::memory_kind::device);
            runtime_->memory().free(s.piece, s.last_use);
            s.piece = fresh;
            s.written = s.last_use = 0;
        }
        if (s.piece.mapped) {
            wait(s.last_use);
            s.host.reset();
            std::memcpy(static_cast<std::byte*>(s.piece.mapped) + begin, bytes.data(),
                        bytes.size());
            runtime_->memory().flush(s.piece, static_cast<std::uint64_t>(begin),
                                     static_cast<std::uint64_t>(size));
            return;
        }
        if (!s.host) {
            auto copy = std::make_unique<host_memory>(s.bytes);
            if (!whole) fetch(s, 0, s.bytes, copy->data(), lock);
            s.host = std::move(copy);
        }
        std::memcpy(s.host->data() + begin, bytes.data(), bytes.size());
        s.on_device = false;
    }

    std::byte* host(const node_ptr& n, bool writable) override {
        std::unique_lock lock(mutex_);
        vulkan_storage& s = of(*n);
        if (s.borrowed()) return nullptr;  // the user may write it at any time
        if (!s.host) {
            auto copy = std::make_unique<host_memory>(s.bytes);
            fetch(s, 0, s.bytes, copy->data(), lock);
            if (!s.host) s.host = std::move(copy);  // else another thread looks at what it fetched
        }
        if (writable && s.on_device) {
            // The next use uploads, into memory that nothing in flight reads.
            if (!runtime_->queue().reached(s.last_use)) {
                runtime_->memory().free(s.piece, s.last_use);
                s.piece = {};
            }
            s.on_device = false;
        }
        return s.host->data() + byte_count(n->type, n->offset);
    }

    bool records() const noexcept override { return true; }
    std::shared_ptr<prepared_graph> record_graph(evaluation&& planned);  // vulkan_executable.hpp

    /// The next submit, and so all later ones, runs after this point.
    void wait_before(const vulkan::semaphore_point& point) {
        const std::lock_guard lock(mutex_);
        waits_.push_back(point);
    }
    /// A tensor over memory that stays the user's.
    node_ptr borrow(dtype type, const shape& extent, const vulkan::allocation& piece) {
        auto held =
            std::make_shared<vulkan_storage>(runtime_, byte_count(type, element_count(extent)));
        held->piece = piece;
        held->on_device = true;
        return make_data(type, extent, std::move(held), shared_from_this());
    }
    /// Where the values of an evaluated tensor lie; brought to the device if they are not there.
    vulkan::allocation place_of(const node& n) {
        const std::lock_guard lock(mutex_);
        bring({&of(n)});
        of(n).untracked = true;
        return of(n).piece;
    }
    vulkan_runtime& runtime() noexcept { return *runtime_; }

    void upload(std::span<const node_ptr> nodes) override {
        const std::lock_guard lock(mutex_);
        array_list<vulkan_storage*> list;
        for (const node_ptr& n : nodes)
            if (n->realised() && n->count() > 0) list.push_back(&of(*n));
        bring(list);
    }

    statistics stats() const override {
        const std::lock_guard lock(mutex_);
        statistics s = stats_;
        s.plans = planner_.made();
        runtime_->count(s);
        return s;
    }
    const device_info& device() const override { return runtime_->device().info(); }
    std::string device_report() const override { return report_; }

private:
    friend class vulkan_executable;

    /// Brings what is only on the host to the device.
    void bring(const array_list<vulkan_storage*>& list) {
        for (std::size_t i = 0; i < list.size();) {
            temporary_memory temp{runtime_->memory(), {}, 0};
            array_list<command> items;
            array_list<ordered_item> accesses;
            // No more staging at a time than a copy needs to run at full speed.
            for (std::int64_t staged = 0; i < list.size() && staged < std::int64_t{64} << 20; ++i) {
                const std::size_t before = items.size();
                upload(*list[i], temp, items, accesses);
                if (items.size() != before) staged += list[i]->bytes;
            }
            if (items.empty()) continue;
            temp.value = record(items, accesses);
            for (const command& one : items)
                one.upload_to->last_use = one.upload_to->written = temp.value;
            if (i < list.size()) wait(temp.value);
        }
    }

    static vulkan_storage& of(const node& n) {
        must_hold_values(n);
        return *static_cast<vulkan_storage*>(n.data.get());
    }

    /// Leaves small work to the host that has all of its operands.
    void place(plan_run& run) const override {
        const plan& p = run.what();
        std::int64_t left = policies().host_below;
        if (left == 0 || p.steps.empty()) return;
        for (const plan_step& s : p.steps) {
            const auto* own = s.what.get_if<custom_kernel_problem>();
            if (own && !own->call->what->how.host) return;
            for (const int v : s.buffers) {
                const node* const given = run.given[static_cast<std::size_t>(v)];
                left -= given ? of(*given).bytes : p.at(v).bytes();
                if (left < 0 || (given && !of(*given).host)) return;
            }
        }
        run.on_host = true;
        run.records = host_records(*run.planned);
    }
    void execute_on_host(plan_run& run) {
        run_steps_on_host(
            run, runtime_->threads(), profiling_.get(), {},
            [&](const plan_value& v, std::shared_ptr<storage>& made) {
                const auto held = std::make_shared<vulkan_storage>(runtime_, v.bytes());
                held->host = std::make_unique<host_memory>(held->bytes);
                made = held;
                return held->host->data();
            },
            [](const node& n) { return of(n).host->data(); });
        stats_.host_kernels += run.what().steps.size();
        ++stats_.evals;
    }

    void execute(plan_run& run, const std::stop_token&) override {
        if (run.on_host) return execute_on_host(run);
        const plan& p = run.what();
        profile_scope choosing(profiling_.get(), "choosing");
        const std::shared_ptr<const dispatch_list> chosen = dispatches_of(run, what_gives(run));
        const dispatch_list& list = *chosen;
        for (std::size_t i = 0; i < p.steps.size(); ++i) run.records[i] = list.record(i);
        choosing.end();
        profile_scope compiling(profiling_.get(), "compiling");
        using pipeline_list = array_list<std::shared_ptr<const vulkan::pipeline>>;
        if (!list.compiled)
            list.compiled = std::shared_ptr<const pipeline_list>(
                new pipeline_list(runtime_->pipelines(list.launches())));
        const auto& pipelines = *static_cast<const pipeline_list*>(list.compiled.get());
        compiling.end();
        profile_scope preparing(profiling_.get(), "preparing");

        array_list<vulkan_storage*> memory(p.values.size(), nullptr);  // of each value
        for (const int v : p.outputs) {
            if (p.at(v).alias >= 0) continue;
            const auto number = static_cast<std::size_t>(v);
            if (const int from = list.memory_of(v); from != v) {
                run.made[number] = run.given[static_cast<std::size_t>(from)]->data;
            } else {
                const auto fresh = std::make_shared<vulkan_storage>(runtime_, p.at(v).bytes());
                fresh->allocate_result();
                run.made[number] = fresh;
            }
            memory[number] = static_cast<vulkan_storage*>(run.made[number].get());
        }
        temporary_memory temp{runtime_->memory(), {}, 0};
        array_list<command> items;
        array_list<ordered_item> accesses;
        array_list<vulkan_storage*> touched;
        const block_offsets blocks(list.launches());
        const vulkan::allocation ring = temp.get(blocks.size, vulkan::memory_kind::parameters);
        vulkan::allocation scratch;  // of the step at hand
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::size_t step = list.step_of(i);
            const array_list<int>& buffers = p.steps[step].buffers;
            if (i == 0 || list.step_of(i - 1) != step) {
                for (const int v : buffers) {
                    vulkan_storage*& s = memory[static_cast<std::size_t>(v)];
                    if (!s) s = &of(*run.given[static_cast<std::size_t>(v)]);
                    upload(*s, temp, items, accesses);
                    touched.push_back(s);
                }
                if (list.scratch_bytes(step) > 0)
                    scratch = temp.get(static_cast<std::uint64_t>(list.scratch_bytes(step)),
                                       vulkan::memory_kind::device);
            }
            struct place {
                const vulkan::allocation& piece;
                std::int64_t begin;  // in it
            };
            const auto place_of = [&](int buffer) -> place {
                if (buffer < 0) return {scratch, 0};
                const auto v = static_cast<std::size_t>(buffers[static_cast<std::size_t>(buffer)]);
                return {memory[v]->piece, run.begin_of(v)};
            };
            const launch& l = *list.launches()[i];
            write_block(
                l,
                [&](int buffer) {
                    const place at = place_of(buffer);
                    return at.piece.device_address + static_cast<std::uint64_t>(at.begin);
                },
                run.numbers, static_cast<std::byte*>(ring.mapped) + blocks.at[i]);
            items.push_back({&l,
                             pipelines[i],
                             ring.device_address + blocks.at[i],
                             nullptr,
                             {},
                             run.records[step].get()});
            ordered_item o;
            for (const access& a : l.accesses) {
                if (a.end <= a.begin) continue;
                const place at = place_of(a.buffer);
                o.accesses.push_back(range_in(at.piece, at.begin + a.begin, at.begin + a.end,
                                              a.write));
            }
            accesses.push_back(std::move(o));
        }
        runtime_->memory().flush(ring, 0, ring.size);
        preparing.end();
        const std::uint64_t value = record(items, accesses);
        temp.value = value;
        for (vulkan_storage* s : touched) s->last_use = std::max(s->last_use, value);
        for (const int v : p.outputs) {
            vulkan_storage* const s = memory[static_cast<std::size_t>(v)];
            if (!s) continue;  // within another's memory
            s->host.reset();
            s->on_device = true;
            s->host_sees = s->was_read = false;
            s->written = s->last_use = value;
        }
        ++stats_.evals;
    }

    /// What is submitted in pieces could fail halfway, so there nothing is written over.
    giving_mask what_gives(const plan_run& run) const {
        if (policies().submit_budget > 0) return {};
        return choose_givings(run.what(), value_role::input, [&](int from, int to) {
            const node& n = *run.given[static_cast<std::size_t>(from)];
            if (!run.dying[static_cast<std::size_t>(from)] || n.offset != 0 ||
                n.data.use_count() != 1)
                return false;
            const vulkan_storage& s = of(n);
            return !s.borrowed() && s.bytes == run.what().at(to).bytes();
        });
    }

    /// Brings a tensor to the device if it is only on the host: by a direct write where device
    /// memory is mapped, through staging otherwise.
    void upload(vulkan_storage& s, temporary_memory& temp, array_list<command>& items,
                array_list<ordered_item>& accesses) {
        if (s.on_device || !s.host) return;
        s.allocate();
        if (s.piece.mapped) {
            std::memcpy(s.piece.mapped, s.host->data(), static_cast<std::size_t>(s.bytes));
            runtime_->memory().flush(s.piece, 0, static_cast<std::uint64_t>(s.bytes));
            s.on_device = true;
        } else {
            if (!temp.staged.insert(&s)) return;
            const vulkan::allocation staging =
                temp.get(static_cast<std::uint64_t>(s.bytes), vulkan::memory_kind::upload);
            std::memcpy(staging.mapped, s.host->data(), static_cast<std::size_t>(s.bytes));
            runtime_->memory().flush(staging, 0, static_cast<std::uint64_t>(s.bytes));
            items.push_back({nullptr, nullptr, 0, &s, staging});
            accesses.push_back({{range_in(s.piece, 0, s.bytes, true)}});
        }
        ++stats_.uploads;
        stats_.uploaded_bytes += static_cast<std::uint64_t>(s.bytes);
    }

    /// Records in bunched order with a barrier where a hazard asks for one, and submits: all at
    /// once, or each command alone where a submit is bounded.
    std::uint64_t record(const array_list<command>& items,
                         const array_list<ordered_item>& accesses) {
        profile_scope recording(profiling_.get(), "recording");
        hazard_tracker tracker = open_;  // what earlier submits left without a barrier
        const array_list<placed_item> order = arrange(accesses, tracker);
        const std::size_t most = policies().submit_budget > 0 ? 1 : order.size();
        std::uint64_t value = 0;
        try {
            for (std::size_t at = 0; at < order.size(); at += most) {
                const auto part = std::span(order).subspan(at, most);
                vulkan::commands buffer = runtime_->commands().take();
                buffer.begin();
                record_commands(buffer, items, part, times(part.size(), [&](std::size_t i) {
                                    return vulkan_profiler::about(items[part[i].index]);
                                }));
                buffer.end();
                if (at + most >= order.size()) recording.end();
                value = submit(buffer);
                if (timing_) timing_->submitted();
                runtime_->commands().give(std::move(buffer), value);
            }
        } catch (...) {
            if (value != 0) runtime_->queue().wait_idle();  // nobody else knows what is in use
            throw;
        }
        for (const command& i : items)
            if (i.upload_to) i.upload_to->on_device = true;
        open_ = std::move(tracker);
        return value;
    }

    /// Timestamps for the commands of the next submit, while the engine is profiled.
    template <class Describe>
    timestamps times(std::size_t commands, Describe&& what) {
        return timing_ ? timing_->reserve(commands, what) : timestamps{};
    }
    void begin_profile(profile_recorder&) override {
        timing_ = std::make_unique<vulkan_profiler>(runtime_->memory().queue());
    }
    void end_profile(profile_recorder& recorder) override {
        const std::unique_ptr<vulkan_profiler> timing = std::move(timing_);
        wait(runtime_->queue().submitted());
        timing->give(recorder);
    }
    void wait(std::uint64_t value) {
        const profile_scope waiting(profiling_.get(), "waiting");
        runtime_->queue().wait(value);
    }

    /// Others use the engine meanwhile. False if `stop` was asked for before.
    bool wait(std::uint64_t value, std::unique_lock<process_mutex>& lock,
              const std::stop_token& stop = {}) {
        const auto begin = profile_recorder::now_if(profiling_.get());
        bool reached = false;
        {
            struct opened {
                std::unique_lock<process_mutex>& lock;
                explicit opened(std::unique_lock<process_mutex>& l) : lock(l) { lock.unlock(); }
                ~opened() { lock.lock(); }
            } const meanwhile(lock);
            reached = runtime_->queue().wait(value, stop);
        }
        if (profiling_) profiling_->add_since(begin, profile_recorder::on_host, "waiting");
        return reached;
    }

    /// Nothing throws once the work is with the device, so whoever has pieces in it learns the
    /// value.
    std::uint64_t submit(const vulkan::commands& buffer) {
        // What is queued holds memory, so not more is than keeps a device busy.
        constexpr std::uint64_t most_ahead = 1024;
        if (const std::uint64_t last = runtime_->queue().submitted(); last > most_ahead)
            wait(last - most_ahead);
        const profile_scope submitting(profiling_.get(), "submitting");
        const vk::CommandBuffer list[] = {buffer.handle(), runtime_->host_sees()};
        const std::uint64_t value =
            runtime_->queue().submit(std::span(list, device().unified_memory ? 2 : 1), waits_);
        waits_.clear();
        return value;
    }

    /// Whether the host reads the bytes where the device wrote them.
    bool reads_in_place(const vulkan_storage& s, std::int64_t bytes) const {
        return s.piece.mapped &&
               (device().unified_memory || (s.host_sees && bytes <= least_worth_copying));
    }

    /// Copies bytes of a tensor's device memory to the host, once they are written. Others use the
    /// engine while this thread waits.
    void fetch(vulkan_storage& s, std::int64_t begin, std::int64_t size, std::byte* out,
               std::unique_lock<process_mutex>& lock) {
        vulkan::memory& memory = runtime_->memory();
        if (!s.was_read) {
            ++stats_.downloads;
            stats_.downloaded_bytes += static_cast<std::uint64_t>(size);
        }
        if (reads_in_place(s, size)) {
            s.was_read = true;  // what is read again where it lies is no second download
            wait(s.written, lock);
            memory.invalidate(s.piece, static_cast<std::uint64_t>(begin),
                              static_cast<std::uint64_t>(size));
            std::memcpy(out, static_cast<const std::byte*>(s.piece.mapped) + begin,
                        static_cast<std::size_t>(size));
            return;
        }
        temporary_memory temp{memory, {}, 0};
        const vulkan::allocation staging =
            temp.get(static_cast<std::uint64_t>(size), vulkan::memory_kind::download);
        vulkan::commands buffer = runtime_->commands().take();
        buffer.begin();
        buffer.barrier(any_access, any_access);
        record_copy(buffer, s.piece, staging,
                    {static_cast<std::uint64_t>(begin), 0, static_cast<std::uint64_t>(size)},
                    times(1, [&](auto) { return vulkan_profiler::timed{"download", size}; }));
        buffer.barrier(vulkan::scope::transfer, vulkan::scope::host);
        buffer.end();
        const std::uint64_t value = submit(buffer);
        if (timing_) timing_->submitted();
        runtime_->commands().give(std::move(buffer), value);
        temp.value = s.last_use = value;
        open_.clear();
        wait(value, lock);
        memory.invalidate(staging, 0, static_cast<std::uint64_t>(size));
        std::memcpy(out, staging.mapped, static_cast<std::size_t>(size));
    }

    std::shared_ptr<vulkan_runtime> runtime_;
    std::string report_;
    statistics stats_;
    hazard_tracker open_;
    array_list<vulkan::semaphore_point> waits_;  // of the next submit
    std::unique_ptr<vulkan_profiler> timing_;    // null but for while a profile is at work
};

}}  // namespace pumice::PUMICE_ABI
