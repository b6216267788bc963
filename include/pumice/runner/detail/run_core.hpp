// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a runner's copies share: what it is made of, and room for runs.
#pragma once

#include <pumice/base/counter.hpp>
#include <pumice/base/unique_ptr.hpp>
#include <pumice/runner/detail/run_parts.hpp>
#include <pumice/runner/job.hpp>
#include <pumice/tensor/profile.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// What a runner's runs have done.
struct runner_stats {
    std::uint64_t runs = 0;
    std::uint64_t copies_in = 0, copies_out = 0;  // of tensors, between theirs and other memory
    std::uint64_t copied_bytes = 0;
    std::uint64_t syncs = 0;  // of tensors in memory that host and device do not see alike
    std::uint64_t rooms = 0;  // made: one for each run at once, where tensors are copied
};

namespace detail {

/// Tensors of the engine's that one run works on.
struct run_room {
    struct place {
        any_tensor staged;   // the room's own, where the tensor's bytes are copied
        bool kept = false;   // what was borrowed is the tensor's kept one
        bool shown = false;  // the run makes it visible to the host
        const storage* memory = nullptr;
    };
    std::vector<any_tensor> inputs, outputs;
    std::vector<place> in, out;
    run_room* next = nullptr;  // of those that are free
};

class run_core final : public job_runner {
public:
    run_core(run_parts&& parts, const runner_options& options)
        : options_((check_options(options), options)), parts_(std::move(parts)), pool_(options) {
        if (options.level != log_level::unchanged) set_log_level(severity_of(options.level));
    }
    ~run_core() override {
        while (run_room* const r = free_) {
            free_ = r->next;
            delete r;
        }
    }

    const runner_options& options() const noexcept { return options_; }
    const executable& recorded() const noexcept { return parts_.recorded; }
    job_pool& pool() noexcept { return pool_; }
    io_view views(int out) const noexcept {
        return out ? options_.output_view : options_.input_view;
    }
    span<const tensor_info> inputs(io_view v) const noexcept {
        return parts_.values[0][v == io_view::hardware];
    }
    span<const tensor_info> outputs(io_view v) const noexcept {
        return parts_.values[1][v == io_view::hardware];
    }
    const tensor_info& find(std::string_view name, const io_view* v) const {
        std::vector<std::string> names;
        for (int out = 0; out < 2; ++out)
            for (const tensor_info& i :
                 parts_.values[out][(v ? *v : views(out)) == io_view::hardware]) {
                if (i.name == name) return i;
                names.push_back(cat({(out ? "output \"" : "input \""), i.name, "\""}));
            }
        throw error(errc::invalid_argument, "runner", cat({"there is no value \"", name, "\""}),
                    std::move(names));
    }

    run_status execute(span<const runner_tensor_view> inputs,
                       span<const runner_tensor_view> outputs) noexcept {
        run_room* room = nullptr;
        run_status s = run_status::ok;
        try {
            must_fit(inputs, outputs);
            if (options_.profiling) {
                execute_timed(inputs, outputs);
                return run_status::ok;
            }
            room = take_room();
            begin(*room, inputs, outputs, {}).wait();
            end(*room, outputs);
        } catch (...) {
            s = status_of_exception(last_message);
        }
        if (room) give_room(room);
        return s;
    }

    /// Throws errc::invalid_argument, errc::dtype_mismatch, errc::shape_mismatch,
    /// errc::context_mismatch for other tensors than the runner takes.
    void must_fit(span<const runner_tensor_view> in, span<const runner_tensor_view> out) const {
        must_fit(in, inputs(options_.input_view), "inputs");
        must_fit(out, outputs(options_.output_view), "outputs");
        for (const runner_tensor_view& o : out) {
            for (const runner_tensor_view& i : in) must_be_apart(*i.state(), *o.state());
            for (const runner_tensor_view& other : out)
                if (&other != &o) must_be_apart(*other.state(), *o.state());
        }
    }

    runner_stats stats() const noexcept {
        return {runs_, copies_in_, copies_out_, copied_bytes_, syncs_, rooms_};
    }
    std::string profile_table() const {
        const std::lock_guard lock(profile_mutex_);
        return table_;
    }

    // Of jobs.

    void begin(job_state& j) override {
        if (options_.profiling) {  // one at a time
            execute_timed(j.inputs, j.outputs);
            return;
        }
        run_room* const room = take_room();
        j.room = room;
        j.work =
            begin(*room, j.inputs, j.outputs, options_.cancel_running ? stop_view(j) : stop_view());
    }
    void end(job_state& j) override {
        j.work.wait();
        if (j.room) end(*static_cast<run_room*>(j.room), j.outputs);
    }
    void drop(job_state& j) noexcept override {
        j.work = {};
        if (j.room) give_room(static_cast<run_room*>(std::exchange(j.room, nullptr)));
    }

private:
    void must_fit(span<const runner_tensor_view> given, span<const tensor_info> wanted,
                  const char* what) const {
        if (given.size() != wanted.size())
            fail(errc::invalid_argument, "runner",
                 {"takes ", wanted.size(), " ", what, ", not ", given.size()});
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (!given[i].has_value())
                fail(errc::invalid_argument, "runner", {"\"", wanted[i].name, "\" is empty"});
            const tensor_state& s = *given[i].state();
            const tensor_info &is = s.info, &w = wanted[i];
            if (s.home().get() != recorded().where().get())
                fail(errc::context_mismatch, "runner",
                     {"\"", w.name, "\" is given a tensor of another context"});
            if (is.view != w.view)
                fail(errc::invalid_argument, "runner",
                     {"\"", w.name, "\" is wanted in the ",
                      (w.view == io_view::host ? "host" : "hardware"),
                      " view, which the options say"});
            if (is.dtype != w.dtype)
                fail(errc::dtype_mismatch, "runner",
                     {"\"", w.name, "\" is ", to_string(w.dtype), ", not ", to_string(is.dtype)});
            if (is.shape != w.shape || is.layout != w.layout)
                fail(errc::shape_mismatch, "runner",
                     {"\"", w.name, "\" is ", to_string(w.shape), " ", to_string(w.layout),
                      ", not ", to_string(is.shape), " ", to_string(is.layout)});
        }
    }
    static void must_be_apart(const tensor_state& a, const tensor_state& b) {
        const bool same = a.placed() && a.placed() == b.placed();
        const std::byte *x = a.data(), *y = b.data();
        if (a.bytes == 0 || b.bytes == 0) return;
        if ((same && a.begin() < b.begin() + b.bytes && b.begin() < a.begin() + a.bytes) ||
            (x && y && x < y + b.bytes && y < x + a.bytes))
            fail(errc::invalid_argument, "runner",
                 {"\"", a.info.name, "\" and \"", b.info.name, "\" share memory"});
    }

    run_room* take_room() {
        {
            const small_lock lock(free_mutex_);
            if (run_room* const r = free_) {
                free_ = r->next;
                return r;
            }
        }
        unique_ptr<run_room> made(new run_room);
        made->inputs.resize(parts_.values[0][0].size());
        made->outputs.resize(parts_.values[1][0].size());
        made->in.resize(made->inputs.size());
        made->out.resize(made->outputs.size());
        ++rooms_;
        return made.release();
    }
    void give_room(run_room* r) noexcept {
        const small_lock lock(free_mutex_);
        r->next = std::exchange(free_, r);
    }
    /// The room's own tensor for a value, which the run may write over.
    any_tensor& staged(run_room::place& p, const tensor_info& info) {
        if (!p.staged.has_value()) p.staged = zeros(info.dtype, info.shape, recorded().where());
        return p.staged;
    }

    /// Submits a run. Pre: the tensors fit.
    submission begin(run_room& r, span<const runner_tensor_view> in,
                     span<const runner_tensor_view> out, stop_view stop) {
        const struct given_back {
            run_core& core;
            run_room& r;
            span<const runner_tensor_view> in, out;
            ~given_back() { core.give_back(r, in, out); }
        } at_the_end{*this, r, in, out};
        const bool direct_in = options_.input_view == io_view::hardware;
        const bool direct_out = options_.output_view == io_view::hardware;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const tensor_state& s = *in[i].state();
            if (direct_in) {
                r.inputs[i] = s.borrow(r.in[i].kept);
                if (!options_.skip_input_sync) sync(s, sync_direction::to_device);
            } else {
                copy_in(s, staged(r.in[i], s.info));
                r.inputs[i] = std::move(r.in[i].staged);
            }
        }
        for (std::size_t i = 0; i < out.size(); ++i)
            r.outputs[i] = direct_out ? out[i].state()->borrow(r.out[i].kept)
                                      : std::move(staged(r.out[i], out[i].state()->info));
        ++runs_;
        if (!direct_out) return recorded().run_into(r.outputs, r.inputs, stop);
        return run_in_place(r, out, stop);
    }
    /// The engine keeps the memory of outputs that nobody else holds; where it does not, what it
    /// gave instead is copied.
    submission run_in_place(run_room& r, span<const runner_tensor_view> out, stop_view stop) {
        for (std::size_t i = 0; i < out.size(); ++i)
            r.out[i].memory = r.outputs[i].get()->data.get();
        submission work = recorded().run_into(r.outputs, r.inputs, stop);
        for (std::size_t i = 0; i < out.size(); ++i) {
            const tensor_state& s = *out[i].state();
            r.out[i].shown = false;
            if (s.bytes == 0 || !s.placed()->holds_values()) continue;
            if (r.outputs[i].get()->data.get() == r.out[i].memory) {
                r.out[i].shown = s.placed()->shown(r.outputs[i]);
                continue;
            }
            const any_tensor given = std::exchange(r.outputs[i], s.make());
            array_list<std::byte> bytes(static_cast<std::size_t>(s.bytes));
            read(given, bytes);
            s.write(bytes);
            count_copy(copies_out_, s);
        }
        return work;
    }
    /// What was borrowed goes back to its tensor, what is the room's to the room.
    void give_back(run_room& r, span<const runner_tensor_view> in,
                   span<const runner_tensor_view> out) noexcept {
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (!r.inputs[i].has_value()) continue;
            if (options_.input_view == io_view::hardware)
                in[i].state()->give_back(std::move(r.inputs[i]), r.in[i].kept);
            else r.in[i].staged = std::move(r.inputs[i]);
            r.inputs[i] = {};
        }
        for (std::size_t i = 0; i < out.size(); ++i) {
            if (!r.outputs[i].has_value()) continue;
            if (options_.output_view == io_view::hardware)
                out[i].state()->give_back(std::move(r.outputs[i]), r.out[i].kept);
            else r.out[i].staged = std::move(r.outputs[i]);
            r.outputs[i] = {};
        }
    }
    /// After the run is done.
    void end(run_room& r, span<const runner_tensor_view> out) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const tensor_state& s = *out[i].state();
            if (options_.output_view == io_view::host) copy_out(r.out[i].staged, s);
            else if (!options_.skip_output_sync)
                sync(s, sync_direction::from_device, r.out[i].shown);
        }
    }

    void sync(const tensor_state& s, sync_direction to, bool shown = false) {
        if (!s.needs_sync()) return;
        s.sync(to, shown);
        ++syncs_;
    }
    void count_copy(counter& which, const tensor_state& s) {
        ++which;
        copied_bytes_ += static_cast<std::uint64_t>(s.bytes);
    }
    void copy_in(const tensor_state& s, any_tensor& to) {
        if (s.bytes == 0) return;
        count_copy(copies_in_, s);
        const auto size = static_cast<std::size_t>(s.bytes);
        if (const std::byte* const from = s.data()) {
            if (s.needs_sync() && !options_.skip_input_sync) sync(s, sync_direction::from_device);
            return write(to, {from, size});
        }
        array_list<std::byte> bytes(size);
        s.read(bytes);
        write(to, bytes);
    }
    void copy_out(const any_tensor& from, const tensor_state& s) {
        if (s.bytes == 0) return;
        count_copy(copies_out_, s);
        const auto size = static_cast<std::size_t>(s.bytes);
        if (std::byte* const to = s.data()) {
            read(from, {to, size});
            if (s.needs_sync() && !options_.skip_output_sync) sync(s, sync_direction::to_device);
            return;
        }
        array_list<std::byte> bytes(size);
        read(from, bytes);
        s.write(bytes);
    }

    void execute_timed(span<const runner_tensor_view> in, span<const runner_tensor_view> out) {
        const std::lock_guard lock(profile_mutex_);
        profiler timing(recorded().where());
        run_room* const room = take_room();
        const struct given_back {
            run_core& core;
            run_room* room;
            ~given_back() { core.give_room(room); }
        } at_the_end{*this, room};
        begin(*room, in, out, {}).wait();
        end(*room, out);
        table_ = timing.finish().table();
    }

    const runner_options options_;
    run_parts parts_;
    small_mutex free_mutex_;
    run_room* free_ = nullptr;
    counter runs_, copies_in_, copies_out_, copied_bytes_, syncs_, rooms_;
    mutable std::mutex profile_mutex_;
    std::string table_;
    job_pool pool_;
};

}  // namespace detail
}}  // namespace pumice::PUMICE_ABI
