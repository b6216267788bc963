// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The seam between the storeys: the few functions that the front asks of an engine.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/byte_source.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/log.hpp>
#include <pumice/base/memory_role.hpp>
#include <pumice/base/span.hpp>
#include <pumice/base/stop_view.hpp>
#include <pumice/graph/any_tensor.hpp>
#include <pumice/policy/policies.hpp>

#include <atomic>
#include <optional>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// What an engine has done since it was made. A snapshot; tests pin these.
struct statistics {
    std::uint64_t evals = 0;          // evaluations that had something to run
    std::uint64_t plans = 0;          // made; an evaluation like one before has its plan
    std::uint64_t dispatches = 0;     // that ran, those of a recording in each of its runs
    std::uint64_t data_graphs = 0;    // of them those of VK_ARM_data_graph
    std::uint64_t host_kernels = 0;   // what a device's engine left to the host (policy host_below)
    std::uint64_t written_bytes = 0;  // of results: what kernels wrote, those of the host too
    std::uint64_t barriers = 0;       // recorded
    std::uint64_t submits = 0;
    std::uint64_t host_waits = 0;
    std::uint64_t uploads = 0;    // host to device copies, one per tensor
    std::uint64_t downloads = 0;  // device to host copies, one per tensor
    std::uint64_t uploaded_bytes = 0, downloaded_bytes = 0;
    std::uint64_t transfers = 0;  // of tensors from one of several devices to another
    std::uint64_t maps = 0;
    std::uint64_t allocations = 0;  // of device memory blocks
    std::uint64_t recordings = 0;   // command buffers
    std::uint64_t pipelines = 0;    // created
    std::uint64_t slang_compiles = 0;
    std::uint64_t slang_opens = 0;   // loads of the Slang library
    std::uint64_t cache_hits = 0;    // kernels taken from disk
    std::uint64_t device_bytes = 0;  // in use now
    std::uint64_t device_bytes_peak = 0;
    memory_bytes memory;  // in use now, by what for; of the host device what it has of 128 KiB on
};

/// A tensor of `engine::reserve` and where its bytes are, which outlives the filling.
struct filling {
    node_ptr to;
    const byte_source* from;
};

/// Bytes between the kernels of a prepared graph; all zero where nothing is planned.
struct memory_use {
    std::int64_t bytes = 0;     // of the arena that each run in flight has
    std::int64_t unshared = 0;  // if no two values shared memory
    std::int64_t least = 0;     // needed at one moment: no plan takes less
};

struct plan;

class engine;

/// Work that an engine was given: a run of a prepared graph. Copies speak of the same work, and to
/// let go of them changes nothing about it. It keeps the engine, not what it runs, so it may
/// outlive the executable and the context. Any thread may use it.
class submission {
public:
    /// Of nothing, which is done.
    submission() = default;
    /// What an engine did up to a number of its own.
    submission(std::shared_ptr<engine> home, std::uint64_t number)
        : home_(std::move(home)), number_(number) {}

    /// Returns when the work is done. Throws what became of it: errc::device_lost.
    void wait() const;
    /// Whether it is. Throws like `wait`.
    bool done() const;
    /// Calls f once, when the work is done or has failed (then `wait` throws): here and now for
    /// work of an engine that is done when `run` returns, otherwise on a thread of the engine's,
    /// one such call after the other. There f may run, read and wait for anything but a later call
    /// of this kind. What it throws goes to the log. The engine does not end before f was called,
    /// so whoever lets go of an engine must not hold a lock that f waits for.
    void then(callback<void()> f) const;

private:
    std::shared_ptr<engine> home_;
    std::uint64_t number_ = 0;
};

/// A traced graph, planned once and run with other inputs each time. Any thread may run it.
class prepared_graph {
public:
    virtual ~prepared_graph() = default;

    /// Computes the outputs from inputs of the traced types and shapes. An output that nobody else
    /// holds keeps its memory, which is overwritten; the others become new tensors, in the memory
    /// of an input where `donated` says that the caller has no more use for those that nobody else
    /// holds. Returns when the work is submitted. Throws errc::cancelled once `stop` is asked for.
    /// A result that is one of the inputs (the same handle in both lists) is given likewise.
    /// A run that fails or is stopped before it has written over what a handle has, by an input
    /// that is given or an output that is kept, leaves every handle as it was; afterwards those
    /// that it wrote over throw errc::values_lost until they are outputs of a run that succeeds.
    virtual submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                           span<any_tensor> outputs, stop_view stop, bool donated) = 0;
    /// Whether a run takes an input of a shape that is not the traced one. Throws
    /// errc::shape_mismatch where it can say why not.
    virtual bool takes(std::size_t input, const shape& s) const {
        static_cast<void>(input), static_cast<void>(s);
        return false;
    }
    /// What runs (exec/plan/plan.hpp); null in an engine that has no plans.
    virtual const plan* planned() const noexcept { return nullptr; }
    /// The plan's constants, in order.
    virtual std::vector<any_tensor> constants() const { return {}; }
    /// The kernels in order, chosen and rejected, and the plan of the memory between them.
    virtual std::string explain() const = 0;
    virtual memory_use memory() const { return {}; }
    /// That memory over time as an SVG; empty where there is no plan.
    virtual std::string memory_svg() const { return {}; }
};

struct profile;

/// Prepares a graph for the library's engines: asked for by name, so that a file compiles it only
/// where it compiles functions.
template <int = 0>
PUMICE_OF_ENGINE std::shared_ptr<prepared_graph> prepare_graph(engine& home, const traced_graph& g);
using graph_preparer = std::shared_ptr<prepared_graph>(engine& home, const traced_graph& g);

namespace detail {
/// Calls what was to follow work that is done. What it throws goes to the log.
PUMICE_FUNCTION void call_now(const callback<void()>& f);
}  // namespace detail

/// Runs graphs. Thread-safe: one evaluation plans at a time.
class engine : public std::enable_shared_from_this<engine> {
public:
    virtual ~engine() = default;

    /// A realised node holding a copy of row-major host data; null data gives zeros.
    virtual node_ptr create(dtype type, const shape& extent, const void* data) = 0;
    /// A realised node whose values `fill` is to bring before anything reads them. Messages call it
    /// by the name.
    virtual node_ptr reserve(dtype type, const shape& extent, std::string_view name) {
        static_cast<void>(name);
        return create(type, extent, nullptr);
    }
    /// Brings the bytes, in pieces and by several threads: beside where they go they take a bounded
    /// part of the host's memory. Throws what a source throws; then none of the tensors has values.
    /// (Inline where it is declared: as the key function it would have each file emit the vtable.)
    PUMICE_INLINE virtual void fill(const array_list<filling>& list);
    /// The realised node of a small operation over realised inputs, where to compute it costs less
    /// than to remember it; null where a lazy one is to be made. `lasting` must outlive every node;
    /// an elementwise one has these scalars and none of its own.
    virtual node_ptr at_once(const operation& lasting, span<const scalar> scalars, dtype type,
                             const shape& extent, span<const node_ptr> inputs) {
        static_cast<void>(lasting), static_cast<void>(scalars), static_cast<void>(type);
        static_cast<void>(extent), static_cast<void>(inputs);
        return nullptr;
    }
    /// Realises the nodes. On failure every node is left as it was and may be tried again, but for
    /// what reads memory that the evaluation had begun to write over: that throws
    /// errc::values_lost.
    virtual void eval(span<const node_ptr> roots) = 0;
    /// Realises `n` and copies its elements to `out` in row-major order.
    virtual void read(const node_ptr& n, void* out) = 0;

    /// Brings what realised nodes hold to the device now, not at the first use.
    virtual void upload(span<const node_ptr>) {}
    /// Replaces bytes of a realised, row-major tensor's memory, whose handle is the only one.
    virtual void write(const node_ptr& n, std::int64_t begin, span<const std::byte> bytes) = 0;

    /// A realised, row-major tensor's memory on the host, filled with its values; null where that
    /// memory may not be shown. With `writable` a copy elsewhere is stale from now on, and the
    /// handle is the only one.
    virtual std::byte* host(const node_ptr& n, bool writable) = 0;
    /// Where kernels of its Vulkan device find a realised, dense tensor's values, when all work
    /// that uses them is done; empty where no address says it, and of memory of the user's own.
    virtual std::optional<std::uint64_t> address(const node_ptr&) { return {}; }
    /// Memory from such an address on, a multiple of 16, which stays somebody else's and which only
    /// kernels read; null where the engine has no Vulkan device.
    virtual std::shared_ptr<storage> at_address(std::uint64_t address, std::int64_t bytes) {
        static_cast<void>(address), static_cast<void>(bytes);
        return nullptr;
    }

    /// Plans and records a graph, by `how` or in a way of its own. Throws what an evaluation
    /// throws.
    virtual std::shared_ptr<prepared_graph> prepare(const traced_graph& g, graph_preparer* how) = 0;

    /// What submissions ask by their number.
    virtual void wait_for(std::uint64_t) const {}
    virtual bool is_done(std::uint64_t) const { return true; }
    virtual void call_after(std::uint64_t, callback<void()> f) { detail::call_now(f); }

    virtual statistics stats() const = 0;
    /// Gives back what is free and was kept for what comes next: so many bytes.
    virtual std::uint64_t trim() { return 0; }
    /// Kernels of `n`'s evaluation (planned, where it has not run), chosen and rejected.
    virtual std::string explain(const node_ptr& n) = 0;
    /// The kernel of a step of a plan (exec/plan/plan.hpp); null in an engine that has no plans.
    virtual std::shared_ptr<const kernel_record> kernel_of(const plan& p, std::size_t step) const {
        static_cast<void>(p), static_cast<void>(step);
        return nullptr;
    }
    virtual const device_info& device() const = 0;
    /// Why this device: the candidates that were refused, each with its reasons.
    virtual std::string device_report() const = 0;

    /// Times what runs from here to `profile_stop` (see <pumice/tensor/profile.hpp>), in an engine
    /// that can tell.
    virtual void profile_start() {}
    virtual void profile_stop(profile&) {}

    const policy_set& policies() const noexcept { return policies_; }

    /// Called when a lazy node is made: evaluates at once under `eager`, bounds pending chains. Not
    /// while a function is traced.
    void note(const node_ptr& n);

protected:
    explicit engine(policy_set&& policies) : policies_(std::move(policies)) {}
    policy_set policies_;

private:
    std::atomic<int> pending_{0};
};

inline void submission::wait() const {
    if (home_) home_->wait_for(number_);
}
inline bool submission::done() const { return !home_ || home_->is_done(number_); }
inline void submission::then(callback<void()> f) const {
    if (home_) home_->call_after(number_, std::move(f));
    else detail::call_now(f);
}

namespace detail {
/// What a thread is tracing: nothing runs meanwhile, and random keys are inputs of the graph.
struct open_trace {
    std::shared_ptr<engine> home;
    array_list<node_ptr> keys;
};
inline thread_local constinit open_trace* current_trace = nullptr;

/// engine::at_once, but while a function is traced, and where providers are asked.
inline node_ptr at_once(const operation& lasting, span<const scalar> scalars, dtype type,
                        const shape& extent, span<const node_ptr> inputs) {
    if (current_trace || inputs[0]->owner->policies().offer) return nullptr;
    return inputs[0]->owner->at_once(lasting, scalars, type, extent, inputs);
}
}  // namespace detail

/// Makes an engine for a set of policies.
using engine_factory = std::shared_ptr<engine>(policy_set);

/// The one registration of the library: the engine's headers put their factory here. That of
/// pumice::compiled is there before any object of the program is made.
#if defined(PUMICE_COMPILED) || defined(PUMICE_COMPILING)
extern std::atomic<engine_factory*> engine_hook;
#else
inline constinit std::atomic<engine_factory*> engine_hook{nullptr};
#endif

/// The registered engine's. Throws no_engine, no_vulkan_loader, no_device.
PUMICE_FUNCTION std::shared_ptr<engine> make_engine_for(policy_set policies);

#ifndef PUMICE_COMPILED

PUMICE_INLINE void engine::fill(const array_list<filling>& list) try {
    constexpr std::int64_t most = 1 << 20;
    array_list<std::byte> piece;
    for (const filling& f : list) {
        const std::int64_t bytes = byte_count(f.to->type, f.to->count());
        for (std::int64_t at = 0; at < bytes; at += std::ssize(piece)) {
            piece.resize(static_cast<std::size_t>(bytes - at < most ? bytes - at : most));
            const span<std::byte> part(piece.data(), piece.size());
            f.from->read(at, part);
            write(f.to, at, part);
        }
    }
} catch (...) {
    for (const filling& f : list) f.to->data->lost = true;
    throw;
}

PUMICE_INLINE void engine::note(const node_ptr& n) {
    if (detail::current_trace) return;
    if (policies_.eager) {
        eval(span(&n, 1));
    } else if (pending_.fetch_add(1, std::memory_order_relaxed) + 1 >= policies_.max_pending) {
        eval(span(&n, 1));
        pending_.store(0, std::memory_order_relaxed);
    }
}

PUMICE_BODY void detail::call_now(const callback<void()>& f) {
    try {
        f();
    } catch (...) {
        log_callback_fault("a submission");
    }
}

PUMICE_BODY void detail::offer_node(node_ptr& made) {
    if (const auto& offer = made->owner->policies().offer) offer(made);
}

PUMICE_BODY std::shared_ptr<engine> make_engine_for(policy_set policies) {
    engine_factory* make = engine_hook.load(std::memory_order_acquire);
    if (!make)
        throw error(
            errc::no_engine, "context", "this program has only Pumice's front headers",
            {"include <pumice.hpp> in one source file, or link the CMake target pumice::compiled"});
    return make(std::move(policies));
}

#endif

}}  // namespace pumice::PUMICE_ABI
