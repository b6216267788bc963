// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan recorded for running often: kernels chosen, ordered and placed in one arena once; a run
// writes the addresses of its inputs and outputs into a parameter block and submits.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/draw_memory_plan.hpp>
#include <pumice/exec/graph_engine.hpp>
#include <pumice/exec/plan/arena.hpp>
#include <pumice/exec/scheduler.hpp>
#include <pumice/exec/vulkan/host_access.hpp>
#include <pumice/exec/vulkan/megakernel.hpp>
#include <pumice/exec/vulkan/recorder.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class recorded_graph {
public:
    using chunks = std::shared_ptr<const array_list<chunk>>;

    /// What one run in flight owns: memory between the kernels, their parameters, a recording a
    /// chunk.
    struct slot {
        vulkan::allocation arena, block, shared;
        chunks pieces;
        array_list<vulkan::commands> recordings;  // of the pieces
        unique_ptr<scheduler> order;
        /// Of each launch of a shader operator what it is given; empty before the first run.
        array_list<std::shared_ptr<const vulkan::pushed_buffers>> pushed;
        std::uint64_t value = 0;              // of its last submit
        bool busy = false;                    // a run is not through with its submits
        array_list<std::uint64_t> addresses;  // of inputs and outputs, that `block` has
        bool shows = false;                   // what it writes is the user's, who reads it in place
        std::shared_ptr<void> repeated;       // what is recorded of many steps (repeated_steps.hpp)

        // What a run works with, so that it needs no memory of its own.
        std::vector<any_tensor> changed;  // outputs that are new tensors
        array_list<node_ptr> held;        // inputs as the kernels read them
        array_list<byte_range> touched;
        array_list<unique_ptr<host_memory>> lent;  // copies of the user's own memory, by value

        // Of a plan for a range of extents: the run's, and the plan's values for it.
        std::int64_t extent = -1;
        unique_ptr<const plan> now;
    };

    /// Where a constant lies.
    struct constant {
        const vulkan_storage* memory;
        std::int64_t begin;  // in it, in bytes
    };

    /// Chooses kernels, compiles them and plans; uses no device memory. Those givings are carried
    /// out in each run; numbers are the same in all. Pre: the plan outlives the recording.
    recorded_graph(std::shared_ptr<vulkan_runtime> runtime, const policy_set& policies,
                   const plan& p, giving_mask givings, span<const constant> constants,
                   span<const scalar> numbers)
        : runtime_(std::move(runtime)), constants_(constants), numbers_(numbers),
          list_(p, givings, runtime_->device().info(), policies),
          joined_{list_.order(), list_.stages(), {}}, arena_(plan_arena(list_, joined_.items)) {
        join_and_compile(joined_, list_, policies, [&](auto& refused) { compile(refused); });
        share();
        patches_.resize(p.inputs.size() + p.outputs.size());
        for (std::size_t i = 0; i < list_.size(); ++i)
            for (const relocation& r : list_.launches()[i]->relocations) {
                const std::size_t memory = list_.memory_of(i, r.buffer);
                if (list_.is_scratch(memory)) continue;
                const plan_value& v = list_.of().values[memory];
                if (v.role == value_role::input ||
                    (v.role == value_role::output && shared_[memory] < 0))
                    patches_[v.index + (v.role == value_role::output ? p.inputs.size() : 0)]
                        .push_back({blocks_->at[i] + r.at, r.byte_offset});
            }
        begins_.resize(list_.of().outputs.size(), order().size());
        for (std::size_t i = order().size(); i-- > 0;)
            for (const std::size_t dispatch : joined_.dispatches_at(i, list_))
                for (const int v : p.steps[list_.step_of(dispatch)].outputs)
                    if (p.at(v).role == value_role::output) begins_[p.at(v).index] = i;
        // On unified memory every submit does it.
        for (const int v : list_.of().outputs)
            host_sees_ |= list_.of().at(v).bytes() <= most_read_in_place &&
                          !runtime_->device().info().unified_memory;
        set_pieces(array_list<double>(order().size(), 0), 1);
    }
    recorded_graph(const recorded_graph&) = delete;
    recorded_graph& operator=(const recorded_graph&) = delete;
    ~recorded_graph() {
        for (const auto& s : slots_) {
            s->repeated.reset();
            free_memory(*s, s->value);
            give_back(*s);
        }
    }

    bool measured = false;  // its pieces are cut by measured times

    const dispatch_list& dispatches() const noexcept { return list_; }
    const arena& memory() const noexcept { return arena_; }

    /// Whether a run that has submitted this piece has begun to write that output.
    bool has_begun(const chunk& piece, std::size_t output) const noexcept {
        return begins_[output] < piece.end || piece.is_output;
    }

    /// Whether a run makes its outputs visible to the host.
    bool host_sees() const noexcept { return host_sees_; }

    /// How the graph is handed to the device. Slots that are taken from now on are recorded so.
    const array_list<chunk>& pieces() const noexcept { return *chunks_; }
    int submits() const noexcept {
        int count = 0;
        for (const chunk& c : *chunks_) count += !c.is_host();
        return count;
    }
    /// Cut by the seconds of the kernels.
    void set_pieces(span<const double> seconds, double budget) {
        chunks_ = std::make_shared<const array_list<chunk>>(cut(joined_.stages, seconds, budget));
    }

    /// Where the host sees, in a run's slot, what it makes for the device or the device for it, and
    /// what it keeps to itself; null for what lies elsewhere.
    std::byte* shared(const slot& s, int value) const noexcept {
        const std::int64_t at = shared_[static_cast<std::size_t>(value)];
        return at < 0 ? nullptr : static_cast<std::byte*>(s.shared.mapped) + at;
    }
    /// What kernels wrote there becomes visible to the host; what the host wrote, to kernels.
    void invalidate_shared(const slot& s) const {
        if (s.shared.buffer) runtime_->memory().invalidate(s.shared, 0, s.shared.size);
    }
    void flush_shared(const slot& s) const {
        if (s.shared.buffer) runtime_->memory().flush(s.shared, 0, s.shared.size);
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
        return slots_.size() < most_in_flight ||
               std::any_of(slots_.begin(), slots_.end(), [](const auto& s) { return !s->busy; });
    }

    /// Of all runs, the timeline value of the last submit; 0 before the first.
    std::uint64_t last_submit() const noexcept {
        std::uint64_t last = 0;
        for (const auto& s : slots_) last = std::max(last, s->value);
        return last;
    }

    /// Of a plan for a range of extents: what the slot's next run works with. Its blocks, whose
    /// device is through, get the numbers that depend on the extent.
    void set_extent(slot& s, std::int64_t extent) const {
        if (s.extent == extent) return;
        const plan& p = list_.of();
        s.now = make_owned<const plan>(p.range->at(extent, p.has_stages()));
        s.extent = -1;
        auto* block = static_cast<std::byte*>(s.block.mapped);
        for (std::size_t i = 0; i < list_.size(); ++i) {
            std::byte* const to = block + blocks_->at[i];
            const launch& l = *list_.launches()[i];
            write_varying(l, extent, to);
            write_numbers(l, s.now->numbers, to);
        }
        s.extent = extent;
    }

    /// Bytes of all parameter blocks, and what no run changes of them.
    std::uint64_t block_bytes() const noexcept { return blocks_->size; }
    void write_blocks(const slot& s, std::byte* to) const {
        for (std::size_t i = 0; i < launches_.size(); ++i)
            write_block(
                *launches_[i], [&](int buffer) { return address_of(s, i, buffer); }, numbers_,
                to + blocks_->at[i]);
    }
    /// Writes a run's addresses into them, but for those that they have: `known` keeps these.
    template <class InputAddress, class OutputAddress>
    void write_addresses(std::byte* block, array_list<std::uint64_t>& known, InputAddress&& input,
                         OutputAddress&& output) const {
        known.resize(patches_.size(), 0);
        const std::size_t inputs = list_.of().inputs.size();
        for (std::size_t v = 0; v < patches_.size(); ++v) {
            if (patches_[v].empty()) continue;
            const std::uint64_t begin = v < inputs ? input(v) : output(v - inputs);
            if (std::exchange(known[v], begin) == begin) continue;
            for (const patch& p : patches_[v]) {
                const std::uint64_t address = begin + static_cast<std::uint64_t>(p.byte_offset);
                std::memcpy(block + p.at, &address, sizeof address);
            }
        }
    }
    /// Writes a run's addresses and random keys.
    template <class InputAddress, class OutputAddress>
    void write(slot& s, InputAddress&& input, OutputAddress&& output,
               span<const std::uint32_t> keys) const {
        auto* block = static_cast<std::byte*>(s.block.mapped);
        write_addresses(block, s.addresses, input, output);
        if (!keys.empty()) std::memcpy(block + blocks_->size, keys.data(), keys.size_bytes());
        runtime_->memory().flush(s.block, 0, s.block.size);
    }

    /// Whether some launch is given buffers, which stand in what is recorded.
    bool has_shaders() const noexcept {
        for (const launch* l : list_.launches())
            if (l->shader) return true;
        return false;
    }
    /// Records the slot anew where its shader operators are given other buffers than before:
    /// `output(i)` is the memory of one. Pre: the slot holds the inputs, and no device uses it.
    template <class Output>
    void give_shaders(slot& s, Output&& output) const {
        if (!has_shaders()) return;
        array_list<std::shared_ptr<vulkan::pushed_buffers>> now(list_.size());
        bool same = s.pushed.size() == now.size();
        for (std::size_t i = 0; i < list_.size(); ++i) {
            const launch& l = *list_.launches()[i];
            if (!l.shader) continue;
            const auto place_of = [&](int buffer) -> given_memory {
                const std::size_t memory = list_.memory_of(i, buffer);
                if (arena_.number[memory] >= 0) return {s.arena, arena_.offset_of(memory)};
                if (shared_[memory] >= 0) return {s.shared, shared_[memory]};
                const plan_value& v = list_.of().values[memory];
                if (v.role == value_role::constant)
                    return {constants_[v.index].memory->piece, constants_[v.index].begin};
                if (v.role == value_role::output) return {output(v.index), 0};
                const node& n = *s.held[v.index];
                return {storage_of(n).piece, byte_offset(n.type, n.offset)};
            };
            array_list<given_memory> given;
            for (const bound_buffer& b : l.bound) given.push_back(place_of(b.buffer));
            now[i] =
                l.shader_asks->push(l, runtime_->device().info(), {given.data(), given.size()});
            same = same && *now[i] == *s.pushed[i];
        }
        if (same) return;
        for (std::size_t i = 0; i < now.size(); ++i)
            if (const launch& l = *list_.launches()[i]; now[i])
                l.shader_asks->open(*now[i], *runtime_, l, *pipelines_[i]);
        s.pushed.clear();
        s.pushed.append(now.begin(), now.end());
        record_all(s);
    }

    /// What a run in that slot asks the device for, recorded in `order()`: the dispatches and,
    /// behind them, the megakernels, by the numbers that the order has for them.
    array_list<command> commands_of(const slot& s) const {
        array_list<command> list = commands_of(s.block.device_address);
        for (std::size_t i = 0; i < s.pushed.size(); ++i) list[i].pushed = s.pushed[i];
        return list;
    }
    /// The same with parameter blocks elsewhere.
    array_list<command> commands_of(std::uint64_t blocks) const {
        array_list<command> list;
        for (std::size_t i = 0; i < list_.size(); ++i)
            list.push_back(command_of(list_, i, pipelines_, blocks + blocks_->at[i]));
        for (const megakernel& m : joined_.megakernels) {
            const std::size_t i = list.size();
            command dispatch;
            dispatch.what = &m.what;
            dispatch.pipeline = pipelines_[i].get();
            dispatch.parameters = blocks + blocks_->at[i];
            dispatch.record = &m.record;
            list.push_back(std::move(dispatch));
        }
        return list;
    }
    const array_list<placed_item>& order() const noexcept { return joined_.items; }
    const array_list<megakernel>& megakernels() const noexcept { return joined_.megakernels; }
    /// Dispatches that they make fewer.
    int spared() const noexcept { return static_cast<int>(list_.size() - joined_.items.size()); }
    void record(vulkan::commands& to, const array_list<command>& list, const chunk& piece,
                bool reusable, const timestamps& times = {}) const {
        to.begin(reusable);
        to.barrier(any_access, any_access);  // whatever was submitted before
        array_list<placed_item> part(order().begin() + static_cast<std::ptrdiff_t>(piece.begin),
                                     order().begin() + static_cast<std::ptrdiff_t>(piece.end));
        if (!part.empty()) part[0].barrier = false;
        record_commands(to, list, part, times, vulkan::scope::compute);
        if ((host_sees_ && (piece.is_output || list_.stages().size() > 1)) || shared_size_ > 0)
            to.barrier(vulkan::scope::compute, vulkan::scope::host);
        to.end();
    }

private:
    static constexpr std::size_t most_in_flight = 4;

    /// A place in the parameter blocks where a run writes the address of a value, or one within it.
    struct patch {
        std::uint64_t at;
        std::int64_t byte_offset;
    };

    /// Compiles what is dispatched and places its parameter blocks; `refused` becomes true where a
    /// megakernel is what throws.
    void compile(std::atomic<bool>& refused) {
        launches_ = list_.launches();
        for (const megakernel& m : joined_.megakernels) launches_.push_back(&m.what);
        blocks_.emplace(launches_);
        array_list<std::size_t> asked;  // in the order of `launches_`
        for (const placed_item& item : order()) asked.push_back(item.index);
        std::sort(asked.begin(), asked.end());
        array_list<const launch*> wanted;
        for (const std::size_t i : asked) wanted.push_back(launches_[i]);
        const auto made = runtime_->pipelines(wanted, [&](std::size_t i, auto&& make) {
            if (asked[i] < list_.size()) return list_.at(asked[i], make);
            try {
                return make();
            } catch (...) {
                refused = true;
                throw;
            }
        });
        pipelines_.clear();
        pipelines_.resize(launches_.size());
        for (std::size_t i = 0; i < asked.size(); ++i) pipelines_[asked[i]] = made[i];
        for (std::size_t j = 0; j < joined_.megakernels.size(); ++j)
            write_places(joined_.megakernels[j], blocks_->at, blocks_->at[list_.size() + j]);
    }

    /// Finds room for what is at the host: but for outputs that no kernel reads, which it writes
    /// where they stay.
    void share() {
        const plan& p = list_.of();
        array_list<char> crosses(p.values.size(), 0);
        for (const plan_step& s : p.steps)
            if (p.is_transfer(s)) crosses[static_cast<std::size_t>(s.buffers[0])] = 1;
        shared_.resize(p.values.size(), -1);
        for (const array_list<int>* list : {&p.temporaries, &p.outputs})
            for (const int v : *list) {
                const plan_value& value = p.at(v);
                const auto number = static_cast<std::size_t>(v);
                if (value.place == 0 || list_.memory_of(v) != v ||
                    (value.role == value_role::output && !crosses[number]))
                    continue;
                shared_[number] = shared_size_;
                shared_size_ += (value.bytes() + 63) / 64 * 64;
            }
    }

    slot* add_slot() {
        vulkan::memory& memory = runtime_->memory();
        auto made = make_owned<slot>();
        struct guard {  // gives back what was taken if a later call throws
            const recorded_graph& of;
            unique_ptr<slot>& made;
            ~guard() {
                if (made) of.free_memory(*made, 0);
            }
        } const undo{*this, made};
        slots_.reserve(slots_.size() + 1);
        if (arena_.memory.size > 0)
            made->arena =
                memory.allocate(static_cast<std::uint64_t>(arena_.memory.size),
                                vulkan::memory_usage::device,
                                {memory_role::temporaries, "the arena of a compiled function"});
        if (shared_size_ > 0)
            made->shared = memory.allocate(static_cast<std::uint64_t>(shared_size_),
                                           vulkan::memory_usage::download);
        made->block = memory.allocate(blocks_->size + 4 * list_.of().parameters.size(),
                                      vulkan::memory_usage::parameters);
        write_blocks(*made, static_cast<std::byte*>(made->block.mapped));
        made->changed.resize(list_.of().outputs.size());
        made->held.reserve(list_.of().inputs.size());
        record_all(*made);
        slots_.push_back(std::move(made));
        return slots_.back().get();
    }

    /// For others once the timeline reaches `value`.
    void free_memory(const slot& s, std::uint64_t value) const noexcept {
        for (const vulkan::allocation* piece : {&s.arena, &s.shared, &s.block})
            runtime_->memory().free(*piece, value);
    }

    /// Pre: the device does not use the slot.
    void record_all(slot& s) const {
        give_back(s);
        const array_list<command> list = commands_of(s);
        const bool waits = has_shaders() && s.pushed.empty();  // for what the first run gives them
        s.recordings.reserve(chunks_->size());
        for (const chunk& piece : *chunks_) {
            s.recordings.push_back(runtime_->commands().take());
            if (!piece.is_host() && !waits) record(s.recordings.back(), list, piece, true);
        }
        s.order = make_owned<scheduler>(*chunks_);
        s.pieces = chunks_;
    }
    void give_back(slot& s) const noexcept {
        for (vulkan::commands& c : s.recordings) runtime_->commands().give(std::move(c), s.value);
        s.recordings.clear();
        s.pieces.reset();
    }

    /// Zero for what each run brings.
    std::uint64_t address_of(const slot& s, std::size_t dispatch, int buffer) const {
        const std::size_t memory = list_.memory_of(dispatch, buffer);
        if (arena_.number[memory] >= 0)
            return s.arena.device_address + static_cast<std::uint64_t>(arena_.offset_of(memory));
        if (shared_[memory] >= 0)
            return s.shared.device_address + static_cast<std::uint64_t>(shared_[memory]);
        const plan_value& v = list_.of().values[memory];
        switch (v.role) {
            case value_role::parameter: return s.block.device_address + blocks_->size + 4 * v.index;
            case value_role::constant: {
                const constant& c = constants_[v.index];
                return c.memory->piece.device_address + static_cast<std::uint64_t>(c.begin);
            }
            default: return 0;
        }
    }

    std::shared_ptr<vulkan_runtime> runtime_;
    span<const constant> constants_;  // by their index
    span<const scalar> numbers_;
    dispatch_list list_;
    joined_order joined_;
    arena arena_;
    array_list<const launch*> launches_;  // those of the list, then the megakernels'
    array_list<std::shared_ptr<const vulkan::pipeline>> pipelines_;  // of those in the order
    std::optional<block_offsets> blocks_;                            // of all of them
    array_list<array_list<patch>> patches_;  // of the inputs, then of the outputs
    array_list<std::int64_t> shared_;        // of each value its place in `slot::shared`, or -1
    std::int64_t shared_size_ = 0;
    array_list<std::size_t> begins_;  // of each output the first place in the order that writes it
    chunks chunks_;
    bool host_sees_ = false;
    array_list<unique_ptr<slot>> slots_;
};

/// In what pieces, in which megakernels and over what memory it runs.
inline std::string to_string(const recorded_graph& r) {
    return to_string(r.pieces()) + to_string(r.megakernels()) +
           to_string(r.memory().memory, r.memory().buffers);
}

}}  // namespace pumice::PUMICE_ABI
