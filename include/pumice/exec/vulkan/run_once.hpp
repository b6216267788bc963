// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan run once over the memory at hand: its dispatches become commands with one parameter ring,
// a submit for each run of steps on the device; between these the host runs its own.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/exec/host_steps.hpp>
#include <pumice/exec/vulkan/host_access.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// What runs of a list of dispatches share.
struct compiled_launches {
    array_list<std::shared_ptr<const vulkan::pipeline>> pipelines;
    block_offsets blocks;

    compiled_launches(array_list<std::shared_ptr<const vulkan::pipeline>>&& made,
                      const array_list<const launch*>& launches)
        : pipelines(std::move(made)), blocks(launches) {}
};

/// One run. Those givings of the list are carried out.
class single_run {
public:
    /// Gives what the run makes its memory. Pre: the caller has the lane's lock.
    single_run(vulkan_lane& lane, plan_run& run, const dispatch_list& list,
               const compiled_launches& compiled, vulkan_lane::lock_type& held)
        : lane_(lane), runtime_(lane.runtime()), run_(run), list_(list), compiled_(compiled),
          held_(held), lists_(lane), temporary_{runtime_->memory(), std::move(lists_->pieces), 0} {
        const plan& p = run_.what();
        memory_.resize(p.values.size(), nullptr);
        take_over(run, taken_over_);
        if (passes_much()) share_memory();
        for (const array_list<int>* values : {&p.outputs, &p.temporaries})
            for (const int v : *values)
                if (p.at(v).alias < 0 && !memory_[static_cast<std::size_t>(v)]) find_memory(v);
        if (list_.stages().size() == 1) return;
        // A copy at another place is the storage's, which knows where it is valid.
        for (const plan_step& s : p.steps)
            if (p.is_transfer(s)) {
                const auto from = static_cast<std::size_t>(s.buffers[0]),
                           to = static_cast<std::size_t>(s.outputs[0]);
                run_.made[to] = run_.made[from];
                memory_[to] = memory_[from];
            }
    }

    single_run(const single_run&) = delete;
    ~single_run() {
        temporary_.let_go();
        lists_->pieces = std::move(temporary_.pieces);
    }

    /// Brings what is read to where it is read, records and submits, and runs what is the host's.
    /// Throws errc::cancelled once `stop` is asked for.
    void go(stop_view stop) {
        for (const stage& s : list_.stages())
            if (s.host) on_host(s, stop);
            else if (s.first < s.last) on_device(s);
        for (const std::size_t v : shared_) run_.made[v].reset();
        ++lane_.counted.evals;
        lane_.counted.written_bytes += static_cast<std::uint64_t>(list_.written_bytes());
    }

private:
    bool passes(std::size_t v) const {
        const plan_value& value = run_.what().values[v];
        return run_.passing[v] && value.alias < 0 && !value.is_given() && !taken_over_[v];
    }
    /// Whether what nobody has a handle of is more than may wait for the device.
    bool passes_much() const {
        if (run_.passing.empty() || list_.stages().size() > 1) return false;
        std::uint64_t bytes = 0;
        for (std::size_t v = 0; v < memory_.size(); ++v)
            if (passes(v)) bytes += static_cast<std::uint64_t>(run_.what().values[v].bytes());
        return bytes > runtime_->memory().most_ahead();
    }
    /// Such values have memory from the first step that names them to the last; others of their
    /// size get it then. Kernels that would run at once may wait for each other.
    void share_memory() {
        const plan& p = run_.what();
        const array_list<std::size_t> last = last_steps(p);
        array_list<std::size_t> free;
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            for (const int b : p.steps[i].buffers) {
                const int root = p.root(b);
                const auto v = static_cast<std::size_t>(root);
                if (memory_[v] || !passes(v)) continue;
                std::size_t* const found =
                    std::find_if(free.begin(), free.end(), [&](std::size_t other) {
                        return memory_[other]->bytes == p.values[v].bytes();
                    });
                if (found == free.end()) {
                    find_memory(root);
                } else {
                    run_.made[v] = run_.made[*found];
                    memory_[v] = memory_[*found];
                    free.erase(found);
                }
                shared_.push_back(v);
            }
            for (const int b : p.steps[i].buffers) {
                const auto v = static_cast<std::size_t>(p.root(b));
                if (last[v] == i && passes(v) &&
                    std::find(free.begin(), free.end(), v) == free.end())
                    free.push_back(v);
            }
        }
    }
    void find_memory(int v) {
        const auto number = static_cast<std::size_t>(v);
        if (!taken_over_[number]) {
            const plan_value& value = run_.what().at(v);
            if (is_copy(value)) return;
            const auto fresh =
                vulkan_storage::make(runtime_, value.bytes(), label_of(run_.what(), v));
            at_value(run_.what(), v, [&] {
                if (value.place == 0) fresh->allocate_result();
                else fresh->host = make_owned<host_memory>(fresh->bytes);
            });
            run_.made[number] = fresh;
        }
        memory_[number] = static_cast<vulkan_storage*>(run_.made[number].get());
        if (!taken_over_[number]) return;
        written_over_.push_back(memory_[number]);
        memory_[number]->becomes(label_of(run_.what(), v));
    }
    bool is_copy(const plan_value& v) const {
        if (list_.stages().size() == 1 || v.made_by < 0) return false;
        const plan& p = run_.what();
        return p.is_transfer(p.steps[static_cast<std::size_t>(v.made_by)]);
    }
    vulkan_storage& storage_at(int v) {
        vulkan_storage*& s = memory_[static_cast<std::size_t>(v)];
        if (!s) s = &storage_of(*run_.given[static_cast<std::size_t>(v)]);
        return *s;
    }

    void on_device(const stage& part) {
        const plan& p = run_.what();
        profile_scope preparing(lane_.profiling(), "preparing");
        array_list<command>& items = lists_->items;
        ordered_items& accesses = lists_->accesses;
        array_list<vulkan_storage*>&touched = lists_->touched, &made = lists_->made;
        items.clear();
        accesses.clear();
        touched.clear();
        made.clear();
        temporary_.staged = {};  // the host may have written anew what was uploaded before
        if (!ring_.buffer)
            ring_ = at_steps(p, part.begin, part.end, [&] {
                return temporary_.get(compiled_.blocks.size, vulkan::memory_usage::parameters);
            });
        vulkan::allocation scratch;  // of the step at hand
        for (std::size_t i = part.first; i < part.last; ++i) {
            const std::size_t step = list_.step_of(i);
            const plan_step& s = p.steps[step];
            if (i == part.first || list_.step_of(i - 1) != step) {
                at_step(s, [&] {
                    for (const int v : s.buffers) {
                        vulkan_storage& held = storage_at(v);
                        lane_.upload(held, temporary_, items, accesses);
                        touched.push_back(&held);
                    }
                    const auto bytes = static_cast<std::uint64_t>(list_.scratch_bytes(step));
                    if (bytes > 0) scratch = temporary_.get(bytes, vulkan::memory_usage::device);
                });
                for (const int v : s.outputs) made.push_back(&storage_at(v));
            }
            struct place {
                const vulkan::allocation& piece;
                std::int64_t begin;  // in it
            };
            const auto place_of = [&](int buffer) -> place {
                if (buffer < 0) return {scratch, 0};
                const auto v =
                    static_cast<std::size_t>(s.buffers[static_cast<std::size_t>(buffer)]);
                return {memory_[v]->piece, run_.begin_of(v)};
            };
            const launch& l = *list_.launches()[i];
            write_block(
                l,
                [&](int buffer) {
                    const place at = place_of(buffer);
                    return at.piece.device_address + static_cast<std::uint64_t>(at.begin);
                },
                run_.numbers, static_cast<std::byte*>(ring_.mapped) + compiled_.blocks.at[i]);
            items.push_back(command_of(list_, i, compiled_.pipelines,
                                       ring_.device_address + compiled_.blocks.at[i]));
            if (l.shader) {
                array_list<given_memory> given;
                for (const bound_buffer& b : l.bound) {
                    const place at = place_of(b.buffer);
                    given.push_back({at.piece, at.begin});
                }
                const auto pushed =
                    l.shader_asks->push(l, runtime_->device().info(), {given.data(), given.size()});
                l.shader_asks->open(*pushed, *runtime_, l, *items.back().pipeline);
                items.back().pushed = pushed;
            }
            ordered_item& o = accesses.add();
            for (const access& a : l.accesses) {
                if (a.end <= a.begin) continue;
                const place at = place_of(a.buffer);
                o.accesses.push_back(range_in(at.piece, at.begin + a.begin, at.begin + a.end,
                                              a.write));
            }
        }
        runtime_->memory().flush(ring_, 0, ring_.size);
        preparing.end();
        const std::uint64_t value = at_steps(p, part.begin, part.end, [&] {
            return lane_.record(items, accesses, written_over_);
        });
        temporary_.value = value;
        for (vulkan_storage* s : touched) s->last_use = std::max(s->last_use, value);
        for (vulkan_storage* s : made) {
            s->host.reset();
            s->on_device = true;
            s->host_sees = s->was_read = false;
            s->written = s->last_use = value;
        }
    }

    void on_host(const stage& part, stop_view stop) {
        const plan& p = run_.what();
        host_access access(lane_, held_);
        array_list<unique_ptr<host_memory>> lent(memory_
                                                     .size());  // of memory that a user may write
        for (std::size_t i = part.begin; i < part.end; ++i) {
            for (const int v : p.steps[i].buffers) {
                vulkan_storage& s = storage_at(v);
                if (!s.borrowed()) access.bring(s);
                else if (auto& copy = lent[static_cast<std::size_t>(v)]; !copy)
                    copy = access.fetched(s);
            }
            for (const int v : p.steps[i].outputs) access.is_written(storage_at(v));
        }
        array_list<std::byte*> at(memory_.size(), nullptr);
        for (std::size_t v = 0; v < at.size(); ++v) {
            const host_memory* const held = lent[v]      ? lent[v].get()
                                            : memory_[v] ? memory_[v]->host.get()
                                                         : nullptr;
            if (held) at[v] = held->data() + run_.begin_of(v);
        }
        run_on_host({p, part.begin, part.end, run_.givings, run_.numbers, run_.records, at,
                     &taken_over_},
                    runtime_->threads(), lane_.profiling(), stop);
        lane_.counted.host_kernels += part.end - part.begin;
    }

    vulkan_lane& lane_;
    const std::shared_ptr<vulkan_runtime>& runtime_;
    plan_run& run_;
    const dispatch_list& list_;
    const compiled_launches& compiled_;
    vulkan_lane::lock_type& held_;
    /// The lane's, for as long as the run takes. Pre: the lane's lock.
    class lent_lists {
    public:
        explicit lent_lists(vulkan_lane& lane) : lane_(lane), list_(lane.take_lists()) {}
        lent_lists(const lent_lists&) = delete;
        ~lent_lists() { lane_.give_lists(std::move(list_)); }
        run_lists* operator->() noexcept { return &list_; }

    private:
        vulkan_lane& lane_;
        run_lists list_;
    } lists_;
    array_list<vulkan_storage*>& memory_ = lists_->memory;  // of each value
    array_list<vulkan_storage*>& written_over_ = lists_->written_over;
    array_list<storage*>& taken_over_ = lists_->taken_over;
    array_list<std::size_t> shared_;  // values whose memory is not theirs alone
    temporary_memory temporary_;
    vulkan::allocation ring_;
};

}}  // namespace pumice::PUMICE_ABI
