// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The runner: one face of an executable for all threads, in which every byte that moves is moved on
// purpose.
#pragma once

#include <pumice/runner/detail/run_core.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A model as a runner takes it: what <pumice/model.hpp> has.
template <class Model>
concept runnable_model = requires(const Model& m, span<const any_tensor> x) {
    m.inputs()[0].name;
    m.outputs()[0].name;
    m.recorded_values();
    { m.run(x) } -> std::same_as<std::vector<any_tensor>>;
    { m.where() } -> std::convertible_to<const context&>;
};

/// What is recorded and has names: what <pumice/package.hpp> loads.
template <class Recorded>
concept runnable_recording = requires(const Recorded& r) {
    r.inputs()[0].name;
    r.outputs()[0].name;
    { r.recorded() } -> std::convertible_to<const executable&>;
};

/// A handle: copies share one executable, any thread may use any of them. What constructs and asks
/// throws pumice::error; what runs gives a status. One that was moved from is refused with
/// invalid_argument, and has no values.
class runner {
public:
    using tensor = runner_tensor;
    using tensor_view = runner_tensor_view;

    /// Of an executable: of a compiled function's `get`, of a model's `compile`. Values have the
    /// names "input0" and "output0". Throws errc::unsupported for a hardware layout or type, which
    /// it was not recorded with.
    explicit runner(const executable& e, const runner_options& options = {})
        : runner(detail::run_parts::of(e, options), options) {}

    /// Of a function of tensors, recorded for inputs of these types and shapes of the host's.
    /// Throws what tracing does.
    runner(const context& home, span<const tensor_info> inputs, const traced_function& function,
           const runner_options& options = {})
        : runner(detail::run_parts::of(home, inputs, {}, function, options), options) {}

    /// Of a model, for these input shapes (those of the file where left out, an open axis as 1).
    template <runnable_model Model>
    explicit runner(const Model& m, const runner_options& options = {},
                    span<const shape> shapes = {})
        : runner(detail::parts_of_model(m, options, shapes), options) {}

    /// Of a package, under its names. Throws errc::unsupported as for an executable.
    template <runnable_recording Recorded>
    explicit runner(const Recorded& r, const runner_options& options = {})
        : runner(detail::parts_of_recorded(r, options), options) {}

    // What goes in and comes out, in order.

    /// In the view that the options choose.
    span<const tensor_info> inputs() const noexcept {
        return face_ ? inputs(core().views(0)) : span<const tensor_info>();
    }
    span<const tensor_info> outputs() const noexcept {
        return face_ ? outputs(core().views(1)) : span<const tensor_info>();
    }
    span<const tensor_info> inputs(io_view v) const noexcept {
        return face_ ? core().inputs(v) : span<const tensor_info>();
    }
    span<const tensor_info> outputs(io_view v) const noexcept {
        return face_ ? core().outputs(v) : span<const tensor_info>();
    }
    /// By name, inputs before outputs. Throws errc::invalid_argument that lists the names.
    const tensor_info& info(std::string_view name) const { return core().find(name, nullptr); }
    const tensor_info& info(std::string_view name, io_view v) const {
        return core().find(name, &v);
    }

    // Memory that fits.

    /// Throws what runner_tensor does.
    runner_tensor allocate(const tensor_info& what, memory_kind kind = memory_kind::device) const {
        return {where(), what, kind, options().memory_heap};
    }
    runner_tensor allocate(std::string_view name, memory_kind kind = memory_kind::device) const {
        return allocate(info(name), kind);
    }
    /// Ordinary memory of the caller's; copied.
    runner_tensor_view wrap(std::string_view name, void* data) const {
        return {where(), info(name), data};
    }
    /// Pages of the caller's that the device reads and writes in place.
    runner_tensor_view import_host(std::string_view name, void* data) const {
        return runner_tensor_view::import_host(where(), info(name), data);
    }
    runner_tensor_view import_fd(std::string_view name, int fd, bool dma_buf = false) const {
        return runner_tensor_view::import_fd(where(), info(name), fd, dma_buf,
                                             options().memory_heap);
    }

    // Runs. Tensors stay alive until a run is done; what it reads and writes does not overlap, and
    // nobody writes what it reads meanwhile.

    /// Returns when the results are there.
    run_status execute(span<const runner_tensor_view> inputs,
                       span<const runner_tensor_view> outputs) const noexcept {
        return face_ ? core().execute(inputs, outputs)
                     : detail::tell(run_status::invalid_argument, moved_from);
    }
    run_status execute(std::initializer_list<runner_tensor_view> inputs,
                       std::initializer_list<runner_tensor_view> outputs) const noexcept {
        return execute(span(inputs.begin(), inputs.size()), span(outputs.begin(), outputs.size()));
    }
    /// Returns at once, or when fewer than max_in_flight are in flight; with when_full::busy, and
    /// in a callback, it is refused instead. `done` is called once, on a thread of the runner's,
    /// when the run is accepted: there it may run, wait for other runs and let go of the runner.
    job execute_async(span<const runner_tensor_view> inputs, span<const runner_tensor_view> outputs,
                      run_callback done = nullptr) const noexcept;
    job execute_async(std::initializer_list<runner_tensor_view> inputs,
                      std::initializer_list<runner_tensor_view> outputs,
                      run_callback done = nullptr) const noexcept {
        return execute_async(span(inputs.begin(), inputs.size()),
                             span(outputs.begin(), outputs.size()), std::move(done));
    }

    const runner_options& options() const { return core().options(); }
    const context& where() const { return core().recorded().where(); }
    /// What runs.
    const executable& recorded() const { return core().recorded(); }
    /// Counters of the runs so far.
    runner_stats stats() const { return core().stats(); }
    /// The kernels and copies of the last run, with the option `profiling`; "" without.
    std::string profile_table() const { return core().profile_table(); }

private:
    /// Closes the pool when the last copy goes: runs that wait are cancelled, those at work end.
    struct face {
        explicit face(std::shared_ptr<detail::run_core> c) noexcept : core(std::move(c)) {}
        face(const face&) = delete;
        face& operator=(const face&) = delete;
        ~face() { core->pool().close(); }
        std::shared_ptr<detail::run_core> core;
    };
    runner(detail::run_parts&& parts, const runner_options& options)
        : face_(std::make_shared<face>(std::make_shared<detail::run_core>(std::move(parts),
                                                                          options))) {}
    static constexpr const char* moved_from =
        "the runner was moved from; use the one it was moved to, or a copy";
    detail::run_core& core() const {
        if (!face_) fail(errc::invalid_argument, "runner", {moved_from});
        return *face_->core;
    }

    std::shared_ptr<face> face_;
};

inline job runner::execute_async(span<const runner_tensor_view> inputs,
                                 span<const runner_tensor_view> outputs,
                                 run_callback done) const noexcept {
    if (!face_) return job(detail::tell(run_status::invalid_argument, moved_from));
    const std::shared_ptr<detail::run_core>& c = face_->core;
    detail::job_state* state = nullptr;
    run_status s = run_status::ok;
    try {
        c->must_fit(inputs, outputs);
        state = c->pool().fresh();
        state->inputs.assign(inputs.begin(), inputs.end());
        state->outputs.assign(outputs.begin(), outputs.end());
        state->call = std::move(done);
        s = c->pool().submit(*state, c);
        if (s == run_status::ok)
            return {std::shared_ptr<detail::job_pool>(c, &c->pool()), state,
                    c->options().cancel_running};
    } catch (...) {
        s = detail::status_of_exception(detail::last_message);
    }
    if (state) {
        state->inputs.clear();
        state->outputs.clear();
        state->call = nullptr;
        c->pool().let_go(*state);
    }
    return job(s);
}

}}  // namespace pumice::PUMICE_ABI
