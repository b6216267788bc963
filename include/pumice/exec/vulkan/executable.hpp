// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan, its recordings and the engine that runs them: one submit a chunk, in a slot that is the
// run's own.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/replay.hpp>
#include <pumice/exec/vulkan/engine.hpp>
#include <pumice/exec/vulkan/recorded_graph.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class vulkan_executable final : public prepared_graph {
public:
    /// Pre: the engine's lock of plans.
    vulkan_executable(std::shared_ptr<vulkan_engine> home, evaluation&& e)
        : home_(std::move(home)), lane_(home_->lane_), planned_(std::move(e)) {
        for (const int v : what().constants) {
            const auto number = static_cast<std::size_t>(v);
            constants_.push_back({&storage_of(*planned_.run.given[number]),
                                  planned_.run.begin_of(number)});
        }
        read_at_.resize(what().values.size(), 0);
        for (const plan_step& s : what().steps)
            for (const int v : s.buffers)
                read_at_[static_cast<std::size_t>(v)] |= s.place == 0 ? 1 : 2;
        recordings_.reserve(most_recordings);
        add_recording({});
        for (std::size_t i = 0; i < what().steps.size(); ++i)
            planned_.run.records[i] = recordings_[0]->dispatches().record(i);
    }
    /// Once, before the first run.
    void bring_constants() {
        array_list<vulkan_storage*> filled;
        for (const int v : what().constants)
            if (what().at(v).count() > 0)
                filled.push_back(&storage_of(*planned_.run.given[static_cast<std::size_t>(v)]));
        auto lock = lane_.lock();
        for (vulkan_storage* const s : filled) {
            s->untracked = true;
            s->becomes({memory_role::weights, "constants of a compiled function"});
        }
        lane_.bring(filled, lock);
        lent_.resize(what().values.size());
        host_access access(lane_, lock);
        for (const int v : what().constants) {
            if (!reads_on_host(v) || what().at(v).count() == 0) continue;
            vulkan_storage& held = storage_of(*planned_.run.given[static_cast<std::size_t>(v)]);
            if (held.borrowed()) lent_[static_cast<std::size_t>(v)] = access.fetched(held);
            else access.bring(held);
        }
    }
    /// Runs may still be in flight: what they read must not become somebody else's memory before.
    ~vulkan_executable() override {
        if (lane_.left_behind()) return;
        const auto lock = lane_.lock();
        for (const int v : what().constants) {
            vulkan_storage& s = memory_of(*planned_.run.given[static_cast<std::size_t>(v)]);
            for (const auto& r : recordings_) s.last_use = std::max(s.last_use, r->last_submit());
        }
    }

    submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                   span<any_tensor> outputs, stop_view stop, bool donated) override {
        if (stop.stop_requested()) throw_cancelled();
        lane_.make_way();
        const prepared ready = prepare(inputs, outputs, donated);
        recorded_graph& recorded = *ready.recorded;
        const std::int64_t extent = what().range ? what().range->extent_of(inputs) : 0;
        auto lock = lane_.lock();
        const double budget = budget_for(stop);
        const bool timed = budget > 0 && !recorded.measured && !recorded.order().empty();
        array_list<double> seconds(timed ? recorded.order().size() : 0, 0);
        if (timed) recorded.set_pieces(seconds, -1);
        slot& s = take(recorded, lock, stop);
        const borrowed lent{*this, s};
        if (what().range) recorded.set_extent(s, extent);
        bind(recorded, s, inputs, ready.moved, outputs, lock);
        recorded.give_shaders(s, [&](std::size_t i) -> const vulkan::allocation& {
            return memory_of(output(s, outputs, i)).piece;
        });
        recorded.write(
            s,
            [&](std::size_t i) {
                const node& n = *s.held[i];
                return storage_of(n).piece.device_address +
                       static_cast<std::uint64_t>(byte_offset(n.type, n.offset));
            },
            [&](std::size_t i) { return memory_of(output(s, outputs, i)).piece.device_address; },
            keys);
        std::uint64_t last[2] = {0, 0};  // of the chunk before, and the one before that
        s.order->run(
            stop,
            [&](std::size_t i) {
                // One is at work and one is queued behind it: the device has no gap, and a stop
                // waits for no more.
                if (stop.stop_possible()) wait(last[1], lock, stop);
                const auto begin = std::chrono::steady_clock::now();
                const chunk& piece = (*s.pieces)[i];
                if (piece.is_host()) {
                    wait(s.value, lock, stop);
                    return run_on_host(recorded, s, piece, outputs, keys, lock, stop);
                }
                submit(recorded, s, i, outputs);
                last[1] = std::exchange(last[0], s.value);
                if (!timed) return;
                wait(s.value, lock, stop);
                seconds[piece.begin] =
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            },
            [](auto&& next) { next(); });
        if (timed && !recorded.measured) {
            recorded.set_pieces(seconds, budget);
            recorded.measured = true;
        }
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            memory_of(output(s, outputs, i)).lost = false;
            if (s.changed[i].has_value()) outputs[i] = std::move(s.changed[i]);
        }
        ++lane_.counted.evals;
        lane_.counted.written_bytes +=
            static_cast<std::uint64_t>(s.now ? made_bytes(*s.now)
                                             : recorded.dispatches().written_bytes());
        return submission(home_, last[0]);
    }

    bool takes(std::size_t input, const shape& s) const override {
        return what().range && what().range->takes(input, s);
    }
    const plan* planned() const noexcept override { return &planned_.run.what(); }
    std::vector<any_tensor> constants() const override { return planned_.constants(); }
    std::string explain() const override {
        const auto lock = lane_.lock();
        const recorded_graph& r = *recordings_[0];
        return home_->text_of(what(), planned_.run.records, r.submits(), r.spared()) + to_string(r);
    }
    memory_use memory() const override {
        const memory_plan& p = recordings_[0]->memory().memory;
        return {p.size, p.sum, p.bound};
    }
    std::string memory_svg() const override {
        return to_svg(recordings_[0]->memory().memory, recordings_[0]->memory().buffers);
    }

private:
    friend class step_repeater;
    using slot = recorded_graph::slot;

    /// What a run holds, whether it succeeds or not.
    struct borrowed {
        vulkan_executable& from;
        slot& s;
        borrowed(vulkan_executable& e, slot& taken) : from(e), s(taken) { s.busy = true; }
        borrowed(const borrowed&) = delete;
        ~borrowed() {
            s.held.clear();
            s.lent.clear();
            for (any_tensor& t : s.changed) t = {};
            s.busy = s.shows = false;
            from.slot_free_.notify_all();  // one alone could be stopped before it uses the slot
        }
    };

    /// A run that can be stopped is cut even where no policy asks for it.
    double budget_for(stop_view stop) const noexcept {
        constexpr double worth_a_stop = 0.02;
        const double named = home_->policies().submit_budget;
        return named > 0 || !stop.stop_possible() ? named : worth_a_stop;
    }

    const plan& what() const noexcept { return planned_.run.what(); }
    /// With the values that it has in a run.
    const plan& what_in(const slot& s) const noexcept { return s.now ? *s.now : what(); }
    static std::int64_t made_bytes(const plan& p) {
        std::int64_t bytes = 0;
        for (const plan_value& v : p.values)
            if (v.made_by >= 0 && v.alias < 0) bytes += v.bytes();
        return bytes;
    }

    /// What a run needs of the engine's lock of plans.
    struct prepared {
        recorded_graph* recorded;
        array_list<node_ptr> moved;  // inputs as the kernels read them; empty where all lie so
    };
    prepared prepare(span<const any_tensor> inputs, span<const any_tensor> outputs, bool donated) {
        bool lie = true;
        for (const any_tensor& t : inputs) lie = lie && vulkan_engine::lies_dense(*t.get(), 16);
        prepared ready{recordings_[0].get(), {}};
        // What an input has of memory is its own extent's, which is seldom that of the plan.
        const bool gives =
            !what().range && (donated || (outputs.data() < inputs.data() + inputs.size() &&
                                          inputs.data() < outputs.data() + outputs.size()));
        if (lie && !gives) return ready;
        const std::lock_guard plans(home_->mutex_);
        for (const any_tensor& t : inputs) home_->evaluate(span(&t.get(), 1));
        if (gives)
            ready.recorded = &recording_for(home_->what_gives(what(), inputs, outputs, donated));
        if (!lie)
            for (const any_tensor& t : inputs) ready.moved.push_back(home_->dense(t, 16));
        return ready;
    }

    /// A recording for each set of givings, as long as there are few; otherwise that which gives
    /// nothing.
    recorded_graph& recording_for(giving_mask givings) {
        for (const auto& r : recordings_)
            if (r->dispatches().givings() == givings) return *r;
        if (recordings_.size() < most_recordings) {
            add_recording(givings);
            return *recordings_.back();
        }
        return *recordings_[0];
    }
    void add_recording(giving_mask givings) {
        recordings_.push_back(make_owned<recorded_graph>(lane_.runtime(), home_->policies(), what(),
                                                         givings, constants_,
                                                         planned_.run.numbers));
    }

    slot& take(recorded_graph& recorded, std::unique_lock<process_mutex>& lock, stop_view stop) {
        std::uint64_t until = 0;
        for (;;) {
            if (slot* s = recorded.take(until)) return *s;
            if (until != 0) {
                wait(until, lock, stop);
                continue;
            }
            while (!recorded.has_idle()) {
                if (stop.stop_requested()) throw_cancelled();
                if (!stop.stop_possible()) slot_free_.wait(lock);
                else slot_free_.wait_for(lock, std::chrono::milliseconds(1));  // looks at the stop
            }
        }
    }
    void wait(std::uint64_t value, std::unique_lock<process_mutex>& lock, stop_view stop) {
        if (!lane_.wait(value, lock, stop)) throw_cancelled();
    }

    /// Brings inputs to where kernels read them, and finds memory for the outputs.
    void bind(const recorded_graph& recorded, slot& s, span<const any_tensor> inputs,
              const array_list<node_ptr>& moved, span<any_tensor> outputs,
              vulkan_lane::lock_type& lock) {
        s.touched.clear();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            node_ptr n = moved.empty() ? inputs[i].get() : moved[i];
            if (n->count() > 0 && reads_on_host(what().inputs[i]))
                bring_to_host(s, what().inputs[i], *n, lock);
            if (n->count() > 0 && reads_on_device(what().inputs[i])) {
                vulkan_storage& held = storage_of(*n);
                if (!held.on_device) lane_.bring({&held}, lock);
                const std::int64_t begin = byte_offset(n->type, n->offset);
                s.touched.push_back(range_in(held.piece, begin,
                                             begin + byte_count(n->type, n->count()), false));
            }
            s.held.push_back(std::move(n));
        }
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const int number = what().outputs[i];
            const plan_value& v = what_in(s).at(number);
            const int memory = recorded.dispatches().memory_of(number);
            if (memory != number || !home_->may_overwrite(outputs[i], v))
                s.changed[i] =
                    home_->make_tensor(v,
                                       memory != number
                                           ? s.held[what().at(memory).index]->data
                                           : vulkan_storage::make(lane_.runtime(), v.bytes(),
                                                                  {memory_role::outputs,
                                                                   "a compiled function"}),
                                       planned_.run.record_of(v));
            if (v.place != 0) continue;
            vulkan_storage& held = memory_of(output(s, outputs, i));
            held.allocate();
            held.becomes({memory_role::outputs, "a compiled function"});
            s.shows |= held.borrowed() && held.piece.mapped && !recorded.host_sees();
            s.touched.push_back(range_in(held.piece, 0, held.bytes, true));
        }
    }
    static const node& output(const slot& s, span<const any_tensor> outputs, std::size_t i) {
        return *(s.changed[i].has_value() ? s.changed[i] : outputs[i]).get();
    }

    /// Hands a chunk to the device. Whatever happens to the run from here, everything that the
    /// chunk uses knows that it is in use.
    void submit(const recorded_graph& recorded, slot& s, std::size_t number,
                span<const any_tensor> outputs) {
        lane_.make_room(s.touched.size());
        s.value = at_steps(what(), 0, what().steps.size(), [&] {
            return lane_.timed() ? submit_timed(recorded, s, number)
                                 : lane_.submit(s.recordings[number], s.shows);
        });
        for (const node_ptr& n : s.held)
            if (n->count() > 0) memory_of(*n).last_use = s.value;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (what().at(what().outputs[i]).place != 0 ||
                !recorded.has_begun((*s.pieces)[number], i))
                continue;
            vulkan_storage& held = memory_of(output(s, outputs, i));
            held.lost = held.on_device = true;
            held.host.reset();
            held.host_sees = recorded.host_sees() || (s.shows && !lane_.timed());
            held.was_read = false;
            held.written = held.last_use = s.value;
        }
        lane_.all_is_seen(s.touched);
    }
    bool reads_on_host(int value) const { return read_at_[static_cast<std::size_t>(value)] & 2; }
    bool reads_on_device(int value) const { return read_at_[static_cast<std::size_t>(value)] & 1; }

    /// Gives a value that the run is given a copy on the host: its own, or of memory that is the
    /// user's one for this run.
    void bring_to_host(slot& s, int value, const node& n, vulkan_lane::lock_type& lock) {
        vulkan_storage& held = storage_of(n);
        host_access access(lane_, lock);
        s.lent.resize(what().values.size());
        if (held.borrowed()) s.lent[static_cast<std::size_t>(value)] = access.fetched(held);
        else access.bring(held);
    }
    /// Where the host finds a value in a run.
    std::byte* on_host(const recorded_graph& recorded, const slot& s, int value,
                       span<const any_tensor> outputs, span<const std::uint32_t> keys) {
        const auto number = static_cast<std::size_t>(value);
        const plan_value& v = what().at(value);
        if (std::byte* const shared = recorded.shared(s, value)) return shared;
        switch (v.role) {
            case value_role::parameter:
                return reinterpret_cast<std::byte*>(const_cast<std::uint32_t*>(&keys[v.index]));
            case value_role::output: return memory_of(output(s, outputs, v.index)).host->data();
            default: break;
        }
        const bool constant = v.role == value_role::constant;
        const node& n = constant ? *planned_.run.given[number] : *s.held[v.index];
        if (n.count() == 0) return nullptr;
        const unique_ptr<host_memory>& own = memory_of(n).host;
        const unique_ptr<host_memory>& lent = (constant ? lent_ : s.lent)[number];
        return (lent ? lent : own)->data() +
               (constant ? planned_.run.begin_of(number) : byte_offset(n.type, n.offset));
    }
    /// The host's steps between two chunks of the device. Others use the lane meanwhile, but where
    /// a profile looks on.
    void run_on_host(const recorded_graph& recorded, slot& s, const chunk& piece,
                     span<const any_tensor> outputs, span<const std::uint32_t> keys,
                     vulkan_lane::lock_type& lock, stop_view stop) {
        const dispatch_list& list = recorded.dispatches();
        host_access access(lane_, lock);
        array_list<int> written;
        for (std::size_t i = piece.host_begin; i < piece.host_end; ++i)
            for (const int v : what().steps[i].outputs)
                if (what().at(v).role == value_role::output) written.push_back(v);
        const auto storage_of_output = [&](int v) -> vulkan_storage& {
            return memory_of(output(s, outputs, what().at(v).index));
        };
        // All memory is had before the first output changes.
        array_list<unique_ptr<host_memory>> fresh;
        for (const int v : written)
            fresh.push_back(storage_of_output(v).host
                                ? nullptr
                                : make_owned<host_memory>(storage_of_output(v).bytes));
        array_list<std::byte*> at(what().values.size(), nullptr);
        s.lent.resize(what().values.size());
        recorded.invalidate_shared(s);
        for (std::size_t k = 0; k < written.size(); ++k) {
            vulkan_storage& held = storage_of_output(written[k]);
            access.is_written(held);
            if (!held.host) held.host = std::move(fresh[k]);
            held.lost = true;
        }
        for (std::size_t i = piece.host_begin; i < piece.host_end; ++i)
            for (const int v : what().steps[i].buffers)
                at[static_cast<std::size_t>(v)] = on_host(recorded, s, v, outputs, keys);
        {
            struct opened {
                vulkan_lane::lock_type* held;
                ~opened() {
                    if (held) held->lock();
                }
            } meanwhile{nullptr};
            if (!lane_.profiling()) {
                lock.unlock();
                meanwhile.held = &lock;
            }
            pumice::run_on_host({what_in(s), piece.host_begin, piece.host_end, list.givings(),
                                 s.now ? s.now->numbers : planned_.run.numbers,
                                 planned_.run.records, at},
                                lane_.runtime()->threads(), lane_.profiling(), stop);
        }
        recorded.flush_shared(s);
        for (const int v : written) {
            vulkan_storage& held = storage_of_output(v);
            if (const std::byte* const shared = recorded.shared(s, v))
                std::memcpy(held.host->data(), shared, static_cast<std::size_t>(held.bytes));
            if (!held.borrowed()) continue;
            lane_.bring({&held}, lock);
            held.host.reset();
        }
        lane_.counted.host_kernels += piece.host_end - piece.host_begin;
    }

    /// A recording for this run alone, with times.
    std::uint64_t submit_timed(const recorded_graph& recorded, const slot& s, std::size_t number) {
        profile_scope recording(lane_.profiling(), "recording");
        vulkan::commands buffer = lane_.runtime()->commands().take();
        const array_list<command> list = recorded.commands_of(s);
        const chunk& piece = (*s.pieces)[number];
        recorded.record(
            buffer, list, piece, false, lane_.times(piece.end - piece.begin, [&](std::size_t i) {
                return vulkan_profiler::about(list[recorded.order()[piece.begin + i].index]);
            }));
        recording.end();
        return lane_.submit_once(std::move(buffer));
    }

    static constexpr std::size_t most_recordings = 4;

    std::shared_ptr<vulkan_engine> home_;
    vulkan_lane& lane_;
    evaluation planned_;
    array_list<recorded_graph::constant> constants_;
    array_list<char> read_at_;  // of each value: bit 0 on the device, bit 1 on the host
    array_list<unique_ptr<host_memory>> lent_;  // of constants in the user's own memory
    // Room for all is had at first, so that the first, which gives nothing, is there without a
    // lock; the others come under the engine's. What is within is guarded by the lane's.
    array_list<unique_ptr<recorded_graph>> recordings_;
    std::condition_variable_any slot_free_;
};

inline std::shared_ptr<prepared_graph> vulkan_engine::record_graph(evaluation&& planned,
                                                                   kept_by by) {
    auto lock = lock_unless(by);
    const std::shared_ptr<engine> keep = keeper(by);
    auto made = std::make_shared<vulkan_executable>(std::shared_ptr<vulkan_engine>(keep, this),
                                                    std::move(planned));
    if (lock) lock.unlock();
    made->bring_constants();
    return made;
}

/// A plan with its constants, ready to run often in an engine of the library's.
inline std::shared_ptr<prepared_graph> prepare_plan(graph_engine& home, evaluation&& planned,
                                                    kept_by by = kept_by::user) {
    if (const plan_decisions* d = planned.run.what().decisions)
        return d->prepare(home, std::move(planned), by);
    return home.records() ? static_cast<vulkan_engine&>(home).record_graph(std::move(planned), by)
                          : replay(home, std::move(planned), by);
}

}}  // namespace pumice::PUMICE_ABI
