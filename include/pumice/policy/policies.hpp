// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The policies of a context: small classes, in any order, that a user can write too. Each sets one
// slot of `policy_set`; the engine only calls what is in the slots.
#pragma once

#include <pumice/base/callback.hpp>
#include <pumice/base/of_engine.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/device_info.hpp>
#include <pumice/core/precision.hpp>
#include <pumice/graph/operation.hpp>

#include <memory>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

class computed_op;
struct compile_progress;
class engine;
struct pass_list;
struct placement;
struct policy_set;

/// The engine of null_device: asked for by name, so that a file compiles it only where it is named.
template <int = 0>
PUMICE_OF_ENGINE std::shared_ptr<engine> make_null_engine(policy_set policies);

/// What host_below does: by name too.
template <int = 0>
PUMICE_OF_ENGINE void place_below(std::int64_t bytes, placement& p);

/// What check_finite does: by name too.
template <int = 0>
PUMICE_OF_ENGINE void require_finite(const computed_op& op, bool infinities);

namespace detail {
/// How an engine shows each op to a policy (exec/each_op.hpp): by name too.
struct op_showing;
template <int = 0>
PUMICE_OF_ENGINE const op_showing& showing_of_ops();
}  // namespace detail

/// A function that is shown each op, and how that is done.
class op_watcher {
public:
    op_watcher() = default;
    template <class F>
        requires requires(const F& f, const computed_op& op) { f(op); }
    op_watcher(F f) : seen_(std::move(f)), how_(&detail::of_engine(&detail::showing_of_ops<>)()) {}

    explicit operator bool() const noexcept { return how_; }
    void operator()(const computed_op& op) const { seen_(op); }
    const detail::op_showing& how() const noexcept { return *how_; }

private:
    callback<void(const computed_op&)> seen_;
    const detail::op_showing* how_ = nullptr;
};

/// A kernel that could take a problem in one of its ways, as a kernel policy sees it.
struct kernel_candidate {
    std::string_view name;
    bool portable = false;       // needs nothing beyond the floor
    double seconds = 0;          // expected on the device
    std::array<int, 4> sizes{};  // the kernel's own, of tiles or of cuts; 0 where it has fewer
};

/// A device as a device policy sees it; `refusals` empty means that it meets the floor.
struct device_candidate {
    device_info info;
    std::vector<std::string> refusals;
};

/// A hash of all that a kernel is compiled from.
struct kernel_name {
    std::uint64_t high, low;
};

/// What becomes of a step that the context's device cannot run, for its element types or sizes.
namespace cpu_fallback {
enum class mode { allow, warn, forbid };
}

struct policy_set {
    /// A rank by preference, higher first, negative refuses; empty: the default order. The host is
    /// taken where it ranks above every Vulkan device that could be used.
    callback<int(const device_candidate&)> device;
    bool device_named =
        false;  // a device policy that cannot be met throws instead of falling to the host
    std::string device_wish = "any Vulkan 1.3 device";
    bool host_wanted = false;  // and no Vulkan asked, unless a device policy is named beside it
    /// Index of the chosen candidate, each of which takes the problem; empty: that of the
    /// least seconds.
    callback<std::size_t(span<const kernel_candidate>)> kernel;
    /// Of the device, for the expected seconds of kernels; all 0: the usual ones of its kind.
    device_rates rates;
    /// What products may give up for speed, by bits of reduced_precision.
    std::uint32_t reduced = 0;
    bool allows(reduced_precision p) const noexcept {
        return p == reduced_precision::none || (reduced >> static_cast<int>(p) & 1) != 0;
    }
    void allow(reduced_precision p) noexcept { reduced |= 1u << static_cast<int>(p); }
    bool fusion = true;
    bool eager = false;
    /// The user's passes, and which are left out (policy/pass_list.hpp); null: the library's.
    std::shared_ptr<const pass_list> passes;
    /// Pending nodes at which the context evaluates by itself.
    int max_pending = 4096;
    /// Device memory that the context may hold, in bytes; 0: the device's.
    std::int64_t memory_limit = 0;
    /// Bytes of device memory that wait for queued work and nobody else needs; 0: an eighth of the
    /// device's memory, or of memory_limit, at most 1 GiB.
    std::int64_t run_ahead = 0;
    /// Bytes of one piece of device memory; 0: what the device allows.
    std::int64_t allocation_limit = 0;
    /// Seconds of work that one submit may hold; 0: no bound.
    double submit_budget = 0;
    /// Kernels of evaluations that one submit may hold; 0: an evaluation is a submit of its own.
    int gather = 64;
    int gather_us = 50;  // without a further one, after which they are submitted
    /// For so long a wait asks a device again and again; then the thread sleeps. The second number
    /// is for waits that follow one which took no longer.
    int poll_us = 80, long_poll_us = 1000;
    /// Sets where steps run (policy/placement.hpp); empty: on the device, as far as it can.
    callback<void(placement&)> place;
    /// What becomes of a step that the device cannot run.
    cpu_fallback::mode fallback = cpu_fallback::mode::warn;
    std::string cache_folder;        // empty: the default place
    bool compiler_messages = false;  // what Slang says of kernels that compile goes to the log
    bool megakernels = false;        // kernels of one workgroup share a dispatch
    int queue_index = 0;             // of the device's queues
    bool transfer_queues = false;    // weights go up on queues that only copy
    /// Kernels that were compiled before: a pack's file or, where that is empty, its bytes.
    std::string pack_file;
    span<const std::byte> pack_bytes;
    /// Told the name and SPIR-V of each kernel that the context uses, the first time.
    callback<void(const kernel_name&, span<const std::uint32_t>)> kernel_sink;
    /// Told of each kernel that becomes ready (policy/compile_progress.hpp); empty: nobody is.
    callback<void(const compile_progress&)> compiling;
    /// Shown each op of an evaluation after it has run alone, before the evaluation goes its way
    /// (policy/each_op.hpp); empty: nobody is.
    op_watcher each_op;
    /// Shown each op that is called, which it may put another value in the place of
    /// (policy/provider.hpp); empty: ops are the library's.
    callback<void(std::shared_ptr<node>&)> offer;
    /// Makes the engine of the context; empty: that of a Vulkan device, or the host's.
    callback<std::shared_ptr<engine>(const policy_set&)> backend;
    /// A device that is only described.
    std::shared_ptr<const device_info> null_device;
};

/// A policy puts itself into the set.
template <class P>
concept policy = requires(const P& p, policy_set& set) { p.apply(set); };

namespace detail {
constexpr int type_rank(const device_info& d) {
    switch (d.type) {
        case device_type::discrete_gpu: return 4;
        case device_type::integrated_gpu: return 3;
        case device_type::virtual_gpu: return 2;
        case device_type::other: return 1;
        default: return 0;
    }
}
}  // namespace detail

/// Discrete before integrated before virtual GPU before CPU drivers: the default.
struct prefer_discrete {
    void apply(policy_set& set) const {
        set.device = [](const device_candidate& d) { return detail::type_rank(d.info); };
    }
};

/// Integrated GPUs first, for batteries.
struct prefer_integrated {
    void apply(policy_set& set) const {
        set.device = [](const device_candidate& d) {
            return d.info.type == device_type::integrated_gpu ? 5 : detail::type_rank(d.info);
        };
    }
};

/// Only devices that are GPUs. Throws errc::no_device where there is none.
struct gpu_only {
    void apply(policy_set& set) const {
        set.device = [](const device_candidate& d) {
            return d.info.type == device_type::cpu ? -1 : detail::type_rank(d.info);
        };
        set.device_named = true;
        set.device_wish = "a GPU";
    }
};

/// Any Vulkan device, CPU drivers included, but never the host device.
struct vulkan_only {
    void apply(policy_set& set) const { set.device_named = true; }
};

/// The device whose name contains `part`. Throws errc::no_device where there is none.
struct device_named {
    std::string part;
    void apply(policy_set& set) const {
        set.device = [part = part](const device_candidate& d) {
            return d.info.name.find(part) == std::string::npos ? -1 : 0;
        };
        set.device_named = true;
        set.device_wish = cat({"a device whose name contains \"", part, "\""});
    }
};

/// The host device: native loops, no Vulkan.
struct host_only {
    void apply(policy_set& set) const {
        set.device = [](const device_candidate& d) {
            return d.info.type == device_type::host ? 0 : -1;
        };
        set.device_wish = "the host";
        set.host_wanted = true;
    }
};

/// Always the kernel that needs the least of a device.
struct portable {
    void apply(policy_set& set) const {
        set.kernel = [](span<const kernel_candidate> list) {
            std::size_t best = 0;
            for (std::size_t i = 1; i < list.size(); ++i)
                if (list[i].portable > list[best].portable ||
                    (list[i].portable == list[best].portable &&
                     list[i].seconds < list[best].seconds))
                    best = i;
            return best;
        };
    }
};

/// The kernel that is expected to take least: the default.
struct fastest {
    void apply(policy_set& set) const { set.kernel = nullptr; }
};

/// A kernel policy of the user's: `choose(candidates)` gives an index.
template <class F>
struct choose_kernel {
    F choose;
    void apply(policy_set& set) const { set.kernel = choose; }
};
template <class F>
choose_kernel(F) -> choose_kernel<F>;

/// Kernels are chosen by what a device was measured to do, which `kept_rates` gives.
struct measured_rates {
    device_rates rates;
    void apply(policy_set& set) const { set.rates = rates; }
};

/// How exact products and convolutions are on a device that has cooperative matrices; the host is
/// always strict.
namespace precision {
/// As their types say: f32 is multiplied and summed in f32, half types are summed in f32. The
/// default, and what takes the others back.
struct strict {
    void apply(policy_set& set) const { set.reduced = 0; }
};
/// Those of f32 may be three products of bf16: a b = ah bh + ah bl + al bh, where x = xh + xl to 15
/// bits. A term is off by at most 2^-13 of itself, where f32 has 2^-24, and a value that is not
/// finite, or beyond 3.39e38, makes its sums NaN; below 2^-110 a value loses more. What JAX calls
/// bfloat16_3x and PyTorch float32_matmul_precision high.
struct bf16_3x {
    void apply(policy_set& set) const { set.allow(reduced_precision::bf16_3x); }
};
/// Those of f16 may be summed in f16, each step rounded to 11 bits: a sum of k terms is off by at
/// most k 2^-11 of their sum of magnitudes, and usually by sqrt(k) 2^-12, but for terms of one sign
/// a sum stops growing where they fall below its last bit. Products below 2^-24 are 0, a sum that
/// passes 65 504 on its way is infinite or NaN. What PyTorch calls allow_fp16_accumulation.
struct f16_accumulation {
    void apply(policy_set& set) const { set.allow(reduced_precision::f16_accumulation); }
};
}  // namespace precision

namespace fusion {
/// Every op is a kernel of its own.
struct none {
    void apply(policy_set& set) const { set.fusion = false; }
};
/// Elementwise chains, prologues and epilogues share kernels: the default.
struct full {
    void apply(policy_set& set) const { set.fusion = true; }
};
}  // namespace fusion

namespace cpu_fallback {
/// The host computes what the device cannot.
struct allow {
    void apply(policy_set& set) const { set.fallback = mode::allow; }
};
/// It does, and the log is told once of each op that it does so for: the default.
struct warn {
    void apply(policy_set& set) const { set.fallback = mode::warn; }
};
/// An evaluation throws errc::unsupported that names the kernels and their reasons.
struct forbid {
    void apply(policy_set& set) const { set.fallback = mode::forbid; }
};
}  // namespace cpu_fallback

/// Runs each op at its line, for debugging.
struct eager {
    void apply(policy_set& set) const { set.eager = true; }
};

/// For debugging: each op of an evaluation, or of a run of a compiled function, is first computed
/// alone and looked at, and errc::not_finite names the first whose result holds NaN, or infinity
/// unless `infinities` is false, with the name that it has in a model. What a branch or a loop runs
/// is looked at as one. Each op runs twice, and results are copied to the host.
struct check_finite {
    bool infinities = true;
    void apply(policy_set& set) const {
        set.each_op = [check = detail::of_engine(&require_finite<>),
                       infinite = infinities](const computed_op& op) { check(op, infinite); };
    }
};

/// Device memory that the context may hold.
struct memory_limit {
    std::int64_t bytes;
    void apply(policy_set& set) const { set.memory_limit = bytes; }
};

/// How far a program may run ahead of the device: `eval` waits while memory of more bytes is kept
/// by queued work alone. By default an eighth of the device's memory, at most 1 GiB.
struct run_ahead {
    std::int64_t bytes;
    void apply(policy_set& set) const { set.run_ahead = bytes; }
};

/// No piece of device memory is larger: to see what a program does on a smaller device.
struct allocation_limit {
    std::int64_t bytes;
    void apply(policy_set& set) const { set.allocation_limit = bytes; }
};

/// Long work is handed to the device in pieces of at most so many milliseconds, for drivers whose
/// watchdog resets a device that is at one submit for too long. A kernel is never cut: one that
/// takes longer is a piece of its own. An executable's first run is timed kernel by kernel; what
/// runs once is submitted kernel by kernel.
struct submit_budget {
    double milliseconds;
    void apply(policy_set& set) const { set.submit_budget = milliseconds / 1000; }
};

/// How many submits evaluations are, that nobody waits for.
namespace gathering {
/// Each is one.
struct none {
    void apply(policy_set& set) const { set.gather = 0; }
};
/// While the device is at work, further evaluations wait to share a submit: until it has nothing to
/// do, there are so many kernels, somebody waits for one of them, or none has come for so long. The
/// default.
struct up_to {
    int kernels = 64;
    int microseconds = 50;
    void apply(policy_set& set) const {
        set.gather = kernels;
        set.gather_us = microseconds;
    }
};
}  // namespace gathering

/// Kernels of a recording that have one workgroup each, of one size, and wait for each other are
/// one dispatch, sixteen at most, whose workgroup goes through them: a megakernel. Own kernels,
/// shader operators, tiles, sorts, scans, scatters and some reductions of columns stay apart.
struct megakernels {
    void apply(policy_set& set) const { set.megakernels = true; }
};

/// Which queue of a Vulkan device brings the weights of models up.
namespace uploading {
/// The one that computes. The default.
struct on_compute_queue {
    void apply(policy_set& set) const { set.transfer_queues = false; }
};
/// Those that only copy, two at most by turns, where the device has a family of such queues and
/// Pumice opens it: what it computes goes on meanwhile.
struct on_transfer_queues {
    void apply(policy_set& set) const { set.transfer_queues = true; }
};
}  // namespace uploading

/// A wait for a device asks again and again for so long, which takes a processor and answers sooner
/// (on an H200 by 45 us and more), and then sleeps; where the wait before took a millisecond or
/// more, it asks once more for so long at most, about when that one would end. With 0 it only
/// sleeps. Without this policy it is 80 us, and up to a millisecond of a GPU.
struct poll_for {
    int microseconds;
    void apply(policy_set& set) const { set.poll_us = set.long_poll_us = microseconds; }
};

/// Small work stays where its operands are: an evaluation whose operands the host all holds, and
/// whose kernels read and write no more than so many bytes together, is done by the host's native
/// loops. A round trip to the device takes longer than some hundred thousand bytes of elementwise
/// work. Recordings, and own kernels without a host function, run on the device.
struct host_below {
    std::int64_t bytes;
    void apply(policy_set& set) const {
        set.place = [below = detail::of_engine(&place_below<>), most = bytes](placement& p) {
            below(most, p);
        };
    }
};

/// Where compiled kernels and pipelines are kept.
struct cache_folder {
    std::string path;
    void apply(policy_set& set) const { set.cache_folder = path; }
};

/// Takes kernels from a pack (see record_pack): a program that has all of its kernels there needs
/// no Slang library and no cache. Throws errc::bad_file for one of another version, when the
/// context is made.
struct pack {
    std::string file = {};
    span<const std::byte> bytes = {};  // of a pack in memory, which stays as long as the context
    explicit pack(std::string path) : file(std::move(path)) {}
    explicit pack(span<const std::byte> in_memory) : bytes(in_memory) {}
    void apply(policy_set& set) const {
        set.pack_file = file;
        set.pack_bytes = bytes;
    }
};

/// Plans for a device that is only described, and runs nothing. Reading throws errc::unsupported,
/// but gives zeros while a pack is recorded, so that kernels for another machine can be gathered.
struct null_device {
    device_info described;
    template <int = 0>
    void apply(policy_set& set) const {
        set.null_device = std::make_shared<const device_info>(described);
        set.backend = detail::of_engine(&make_null_engine<>);
    }
};

static_assert(policy<prefer_discrete> && policy<portable> && policy<fusion::none> && policy<eager>);

}}  // namespace pumice::PUMICE_ABI
