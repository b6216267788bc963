// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A graph recorded for running often: kernels chosen, ordered and placed in one arena once; a run
// writes the addresses of its inputs and outputs into a parameter block and submits.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/memory_plan.hpp>
#include <pumice/exec/recorder.hpp>
#include <pumice/exec/scheduler.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class recorded_graph {
public:
    using chunks = std::shared_ptr<const array_list<chunk>>;

    /// What one run in flight owns: memory between the kernels, their parameters, a recording a
    /// chunk.
    struct slot {
        vulkan::allocation arena, block;
        chunks pieces;
        array_list<vulkan::commands> recordings;  // of the pieces
        std::unique_ptr<scheduler> order;
        std::uint64_t value = 0;  // of its last submit
        bool busy = false;        // a run is not through with its submits

        // What a run works with, so that it needs no memory of its own.
        std::vector<any_tensor> changed;  // outputs that are new tensors
        array_list<node_ptr> held;        // inputs as the kernels read them
        array_list<byte_range> touched;
    };

    /// Chooses kernels, compiles them and plans; uses no device memory. Pre: `e` is the plan of the
    /// outputs of `g`.
    recorded_graph(std::shared_ptr<vulkan_runtime> runtime, const policy_set& policies,
                   evaluation&& e, const traced_graph& g)
        : runtime_(std::move(runtime)), graph_(g), evaluation_(std::move(e)) {
        for (step& s : evaluation_.steps) {
            choices_.push_back(choose(s.what, runtime_->device().info(), policies));
            s.record = choices_.back().record;
            for (node* n : s.outputs) n->record = s.record;
        }
        for (std::size_t i = 0; i < choices_.size(); ++i)
            for (const launch& l : choices_[i].launches) {
                launches_.push_back(&l);
                owner_.push_back(i);
            }
        pipelines_ = runtime_->pipelines(launches_);
        find_places();
        arrange_and_plan();
        blocks_ = std::make_unique<block_offsets>(launches_);
        for (std::size_t i = 0; i < launches_.size(); ++i)
            for (const relocation& r : launches_[i]->relocations) {
                const place p = place_of(i, r.buffer);
                if (p.what == place::input || p.what == place::output)
                    patches_.push_back({blocks_->at[i] + r.at, r.byte_offset, p});
            }
        // On unified memory every submit does it.
        for (const node_ptr& n : g.outputs)
            host_sees_ |= byte_count(n->type, n->count()) <= least_worth_copying &&
                          !runtime_->device().info().unified_memory;
        chunks_ = std::make_shared<const array_list<chunk>>(one_chunk(order_.size()));
    }
    recorded_graph(const recorded_graph&) = delete;
    recorded_graph& operator=(const recorded_graph&) = delete;
    ~recorded_graph() {
        for (const auto& s : slots_) {
            if (s->arena) runtime_->memory().free(s->arena, s->value);
            runtime_->memory().free(s->block, s->value);
            give_back(*s);
        }
    }

    const traced_graph& graph() const noexcept { return graph_; }
    const evaluation& steps() const noexcept { return evaluation_; }
    const memory_plan& plan() const noexcept { return plan_; }
    std::span<const planned_buffer> planned() const noexcept { return buffers_; }

    /// Realised nodes that the graph read when it was traced.
    array_list<node*> constants() const {
        array_list<node*> list;
        for (const auto& [n, p] : places_)
            if (p.what == place::constant) list.push_back(n);
        return list;
    }

    /// The input whose memory an output may be written over, element by element; -1: none.
    int giver_of(std::size_t output) const noexcept { return givers_[output]; }

    /// Whether a run makes its outputs visible to the host.
    bool host_sees() const noexcept { return host_sees_; }

    /// How the graph is handed to the device. Slots that are taken from now on are recorded so.
    const array_list<chunk>& pieces() const noexcept { return *chunks_; }
    void set_pieces(array_list<chunk> list) {
        chunks_ = std::make_shared<const array_list<chunk>>(std::move(list));
    }

    /// A slot that nobody uses, or null where the most that may be are in flight: the one that the
    /// device gives back first is reached at `until`, 0 where runs have still to submit. Pre:
    /// constants are on the device.
    slot* take(std::uint64_t& until) {
        until = 0;
        for (const auto& s : slots_) {
            if (s->busy) continue;
            if (runtime_->queue().reached(s->value)) {
                if (s->pieces != chunks_) record_all(*s);
                return s.get();
            }
            until = until == 0 ? s->value : std::min(until, s->value);
        }
        return slots_.size() < most_in_flight ? add_slot() : nullptr;
    }

    /// Whether some run may take a slot, now or when the device is through.
    bool has_idle() const noexcept {
        if (slots_.size() < most_in_flight) return true;
        for (const auto& s : slots_)
            if (!s->busy) return true;
        return false;
    }

    /// Of all runs, the timeline value of the last submit; 0 before the first.
    std::uint64_t last_submit() const noexcept {
        std::uint64_t last = 0;
        for (const auto& s : slots_) last = std::max(last, s->value);
        return last;
    }

    /// Writes a run's addresses and random keys.
    template <class InputAddress, class OutputAddress>
    void write(slot& s, InputAddress&& input, OutputAddress&& output,
               std::span<const std::uint32_t> keys) const {
        auto* block = static_cast<std::byte*>(s.block.mapped);
        for (const patch& p : patches_) {
            const std::uint64_t address =
                (p.to.what == place::input ? input(p.to.index) : output(p.to.index)) +
                static_cast<std::uint64_t>(p.byte_offset);
            std::memcpy(block + p.at, &address, sizeof address);
        }
        if (!keys.empty()) std::memcpy(block + blocks_->size, keys.data(), keys.size_bytes());
        runtime_->memory().flush(s.block, 0, s.block.size);
    }

    /// What a run in that slot asks the device for, recorded in `order()`.
    array_list<command> commands_of(const slot& s) const {
        array_list<command> list;
        for (std::size_t i = 0; i < launches_.size(); ++i)
            list.push_back({launches_[i],
                            pipelines_[i],
                            s.block.device_address + blocks_->at[i],
                            nullptr,
                            {},
                            choices_[owner_[i]].record.get()});
        return list;
    }
    const array_list<placed_item>& order() const noexcept { return order_; }
    void record(vulkan::commands& to, const array_list<command>& list, const chunk& piece,
                bool reusable, const timestamps& times = {}) const {
        to.begin(reusable);
        to.barrier(any_access, any_access);  // whatever was submitted before
        array_list<placed_item> part(order_.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                                     order_.begin() + static_cast<std::ptrdiff_t>(piece.end));
        if (!part.empty()) part[0].barrier = false;
        record_commands(to, list, part, times);
        if (host_sees_ && piece.is_output) to.barrier(any_access, vulkan::scope::host);
        to.end();
    }

private:
    static constexpr std::size_t most_in_flight = 4;

    /// Where a buffer of the graph is.
    struct place {
        enum kind : std::uint8_t { input, key, output, arena, constant } what;
        std::size_t index;  // within its kind
    };
    struct patch {
        std::uint64_t at;
        std::int64_t byte_offset;
        place to;
    };

    void find_places() {
        for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
            places_.insert(graph_.inputs[i].get(), place{place::input, i});
        for (std::size_t i = 0; i < graph_.keys.size(); ++i)
            places_.insert(graph_.keys[i].get(), place{place::key, i});
        for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
            places_.insert(graph_.outputs[i].get(), place{place::output, i});
        for (node* n : evaluation_.stored)
            if (places_.insert(n, place{place::arena, buffers_.size()}))
                buffers_.push_back({byte_count(n->type, n->count()), -1, -1, -1, {}});
        for (const step& s : evaluation_.steps)
            for (node* n : s.buffers) places_.insert(n, place{place::constant, 0});
        for (const choice& c : choices_) {
            scratch_.push_back(buffers_.size());
            if (c.scratch > 0)
                buffers_.push_back({c.scratch, -1, -1, -1, cat({c.record->kernel, " scratch"})});
        }
    }
    place place_of(std::size_t launch_number, int buffer) const {
        const std::size_t owner = owner_[launch_number];
        if (buffer < 0) return {place::arena, scratch_[owner]};
        return *places_.find(evaluation_.steps[owner].buffers[static_cast<std::size_t>(buffer)]);
    }

    /// Orders the launches as if nothing shared memory; then memory is shared only across barriers
    /// that stand there anyway, or within one kernel that reads and writes element by element.
    void arrange_and_plan() {
        array_list<ordered_item> items;
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            ordered_item item;
            for (const access& a : launches_[i]->accesses) {
                const place p = place_of(i, a.buffer);
                if (p.what == place::constant || a.end <= a.begin) continue;
                item.accesses.push_back({static_cast<std::uint64_t>(p.what) << 48 | p.index,
                                         a.begin, a.end, a.write});
            }
            items.push_back(std::move(item));
        }
        hazard_tracker open;
        order_ = arrange(items, open);
        array_list<int> readers(buffers_.size(), 0);  // launches at its last moment
        array_list<std::size_t> last_reader(buffers_.size(), 0);
        int moment = 0;
        for (const placed_item& placed : order_) {
            moment += placed.barrier;
            for (const access& a : launches_[placed.index]->accesses) {
                const place p = place_of(placed.index, a.buffer);
                if (p.what != place::arena) continue;
                planned_buffer& b = buffers_[p.index];
                if (b.first < 0) b.first = moment;
                if (b.last != moment) readers[p.index] = 0;
                if (readers[p.index] == 0 || last_reader[p.index] != placed.index)
                    ++readers[p.index];
                last_reader[p.index] = placed.index;
                b.last = moment;
                if (a.write && b.name.empty())
                    b.name = choices_[owner_[placed.index]].record->kernel;
            }
        }
        for (std::size_t i = 0; i < launches_.size(); ++i) take_over(i, readers, last_reader);
        find_givers();
        for (planned_buffer& b : buffers_)
            if (b.first < 0) b.first = b.last = 0, b.bytes = 0;
        plan_ = plan_memory(buffers_);
    }

    /// An elementwise kernel may write over an operand that nobody reads after it.
    void take_over(std::size_t launch_number, const array_list<int>& readers,
                   const array_list<std::size_t>& last_reader) {
        const step& s = evaluation_.steps[owner_[launch_number]];
        const auto* p = s.what.get_if<elementwise_problem>();
        if (!p || choices_[owner_[launch_number]].launches.size() != 1) return;
        array_list<std::size_t> taken;
        for (const operand& out : p->body.outputs) {
            const place to = place_of(launch_number, out.buffer);
            if (to.what != place::arena) continue;
            for (const operand& leaf : p->body.leaves) {
                if (!may_write_over(*p, out, leaf)) continue;
                const place from = place_of(launch_number, leaf.buffer);
                if (from.what != place::arena || from.index == to.index) continue;
                planned_buffer &giver = buffers_[from.index], &taker = buffers_[to.index];
                if (giver.bytes != taker.bytes || giver.last != taker.first ||
                    readers[from.index] != 1 || last_reader[from.index] != launch_number ||
                    std::find(taken.begin(), taken.end(), from.index) != taken.end())
                    continue;
                taker.in_place_of = static_cast<int>(from.index);
                taken.push_back(from.index);
                break;
            }
        }
    }

    /// The same for an output and an input, in case a run is given the input's memory.
    void find_givers() {
        givers_.assign(graph_.outputs.size(), -1);
        // Of each input the last moment at which it is touched, of each output the first, and by
        // how many launches.
        struct touched {
            int moment = -1, launches = 0;
        };
        array_list<touched> inputs(graph_.inputs.size()), outputs(graph_.outputs.size());
        array_list<int> moment_of(launches_.size());
        int moment = 0;
        for (const placed_item& placed : order_) {
            moment_of[placed.index] = moment += placed.barrier;
            key_set<std::uint64_t> seen;
            for (const access& a : launches_[placed.index]->accesses) {
                const place p = place_of(placed.index, a.buffer);
                const bool out = p.what == place::output;
                if ((!out && p.what != place::input) || !seen.insert(p.index << 1 | out)) continue;
                touched& t = (out ? outputs : inputs)[p.index];
                if (t.launches == 0 || (!out && t.moment < moment)) t = {moment, 0};
                t.launches += t.moment == moment;
            }
        }
        const auto alone = [&](const touched& t, std::size_t launch_number) {
            return t.moment == moment_of[launch_number] && t.launches == 1;
        };
        std::vector<bool> given(graph_.inputs.size(), false);
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            const auto* p = evaluation_.steps[owner_[i]].what.get_if<elementwise_problem>();
            if (!p) continue;
            for (const operand& out : p->body.outputs)
                for (const operand& leaf : p->body.leaves) {
                    if (!may_write_over(*p, out, leaf)) continue;
                    const place to = place_of(i, out.buffer), from = place_of(i, leaf.buffer);
                    if (to.what != place::output || from.what != place::input) continue;
                    const node &result = *graph_.outputs[to.index],
                               &input = *graph_.inputs[from.index];
                    if (givers_[to.index] >= 0 || given[from.index] ||
                        result.count() != input.count() ||
                        element_count(p->domain) != result.count() ||
                        !alone(inputs[from.index], i) || !alone(outputs[to.index], i))
                        continue;
                    givers_[to.index] = static_cast<int>(from.index);
                    given[from.index] = true;
                }
        }
    }

    slot* add_slot() {
        vulkan::memory& memory = runtime_->memory();
        auto made = std::make_unique<slot>();
        struct guard {  // gives back what was taken if a later call throws
            vulkan_runtime& runtime;
            std::unique_ptr<slot>& made;
            ~guard() {
                if (!made) return;
                if (made->arena) runtime.memory().free(made->arena);
                if (made->block) runtime.memory().free(made->block);
            }
        } const undo{*runtime_, made};
        slots_.reserve(slots_.size() + 1);
        if (plan_.size > 0)
            made->arena = memory.allocate(static_cast<std::uint64_t>(plan_.size),
                                          vulkan::memory_kind::device);
        made->block = memory.allocate(blocks_->size + 4 * graph_.keys.size(),
                                      vulkan::memory_kind::parameters);
        for (std::size_t i = 0; i < launches_.size(); ++i)
            write_block(
                *launches_[i], [&](int buffer) { return address_of(*made, i, buffer); },
                static_cast<std::byte*>(made->block.mapped) + blocks_->at[i]);
        made->changed.resize(graph_.outputs.size());
        made->held.reserve(graph_.inputs.size());
        record_all(*made);
        slots_.push_back(std::move(made));
        return slots_.back().get();
    }

    /// Pre: the device does not use the slot.
    void record_all(slot& s) const {
        give_back(s);
        const array_list<command> list = commands_of(s);
        s.recordings.reserve(chunks_->size());
        for (const chunk& piece : *chunks_) {
            s.recordings.push_back(runtime_->commands().take());
            record(s.recordings.back(), list, piece, true);
        }
        s.order = std::make_unique<scheduler>(*chunks_);
        s.pieces = chunks_;
    }
    void give_back(slot& s) const noexcept {
        for (vulkan::commands& c : s.recordings) runtime_->commands().give(std::move(c), s.value);
        s.recordings.clear();
        s.pieces.reset();
    }

    /// Zero for what each run brings.
    std::uint64_t address_of(const slot& s, std::size_t launch_number, int buffer) const {
        const place p = place_of(launch_number, buffer);
        switch (p.what) {
            case place::key: return s.block.device_address + blocks_->size + 4 * p.index;
            case place::arena:
                return s.arena.device_address + static_cast<std::uint64_t>(plan_.offsets[p.index]);
            case place::constant: {
                const step& of = evaluation_.steps[owner_[launch_number]];
                const node* n = of.buffers[static_cast<std::size_t>(buffer)];
                return static_cast<const vulkan_storage*>(n->data.get())->piece.device_address;
            }
            default: return 0;
        }
    }

    std::shared_ptr<vulkan_runtime> runtime_;
    traced_graph graph_;
    evaluation evaluation_;
    array_list<choice> choices_;  // of each step
    array_list<const launch*> launches_;
    array_list<std::size_t> owner_;  // the step of each launch
    array_list<std::shared_ptr<const vulkan::pipeline>> pipelines_;
    key_map<node*, place> places_;
    array_list<planned_buffer> buffers_;  // in the arena
    array_list<std::size_t> scratch_;     // of each step, its number in buffers_
    array_list<placed_item> order_;
    chunks chunks_;
    memory_plan plan_;
    array_list<int> givers_;  // of each output, see giver_of
    std::unique_ptr<block_offsets> blocks_;
    array_list<patch> patches_;
    bool host_sees_ = false;
    array_list<std::unique_ptr<slot>> slots_;
};

}}  // namespace pumice::PUMICE_ABI
