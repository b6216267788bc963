// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Where tensors live and run: a handle to an engine, made from policies.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/lock.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/tensor/engine.hpp>

#include <cstdlib>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// A device and how it is used, made of policies: a handle, which tensors share. Where a program
/// names none, tensors belong to `default_context()`.
class context {
public:
    /// From policies in any order; later ones win. Throws no_vulkan_loader or no_device where a
    /// device policy cannot be met; with none named the host device steps in.
    template <policy... Policies>
    explicit context(const Policies&... policies)
        : engine_(make_engine_for(collect(policies...))) {}
    explicit context(std::shared_ptr<engine> e) : engine_(std::move(e)) {}

    /// The same, as an `expected` (from <pumice/base/expected.hpp>, which <pumice.hpp> includes).
    template <policy... Policies>
    static auto try_make(const Policies&... policies) {
        return attempt([&] { return context(policies...); });
    }

    /// On a device of the user's own: see vulkan_handles in <pumice/exec/adopt.hpp>.
    template <class Handles, policy... Policies>
    static context adopt(const Handles& theirs, const Policies&... policies) {
        return context(make_adopting_engine(theirs, collect(policies...)));
    }

    const device_info& device() const { return get()->device(); }
    /// The device and why it was taken.
    std::string device_report() const { return get()->device_report(); }
    statistics stats() const { return get()->stats(); }
    /// Gives back what is free and was kept for what comes next: blocks of device memory, of the
    /// host's, this thread's small ones, and the compiler of kernels. What is in use, or what the
    /// device is at work with, stays. Returns the bytes, without the compiler's.
    std::uint64_t trim() const { return get()->trim(); }
    /// Throws errc::invalid_argument where the context was moved from.
    const std::shared_ptr<pumice::engine>& get() const {
        if (!engine_)
            fail(errc::invalid_argument, "context", {"the context is empty (moved from)"});
        return engine_;
    }

private:
    template <class... Policies>
    static policy_set collect(const Policies&... policies) {
        policy_set set;
        (policies.apply(set), ...);
        return set;
    }
    std::shared_ptr<engine> engine_;
};

/// The process-wide context, made at first use.
PUMICE_FUNCTION context default_context();

/// Replaces the process-wide context; tensors made before keep theirs.
PUMICE_FUNCTION void set_default_context(const context& c);

namespace detail {
/// Lets the process-wide context go; the next use makes a new one.
PUMICE_FUNCTION void release_default();
}  // namespace detail

/// A tensor of run-time type from row-major bytes. Throws errc::shape_mismatch where the sizes
/// differ.
PUMICE_FUNCTION any_tensor from_bytes(dtype type, const shape& extent, span<const std::byte> bytes,
                                      const context& place = default_context());

/// Zeros of run-time type.
inline any_tensor zeros(dtype type, const shape& extent, const context& place = default_context()) {
    return any_tensor(place.get()->create(type, extent, nullptr));
}

/// Runs everything that the tensors need, in one evaluation. Throws what the device reports; after
/// a failure every tensor is still lazy and the call can be repeated.
PUMICE_FUNCTION void eval(span<const any_tensor> roots);

/// Brings host data that the tensors hold to the device now, not at the first use. Computes
/// nothing.
PUMICE_FUNCTION void upload(span<const any_tensor> tensors);

/// Copies the elements to the host in row-major order, evaluating first.
PUMICE_FUNCTION void read(const any_tensor& t, span<std::byte> out);

namespace detail {
/// The bytes, those of bools as 0 and 1, in `room` where they have to be others: any but 0 is true.
PUMICE_FUNCTION span<const std::byte> with_whole_bools(dtype type, span<const std::byte> bytes,
                                                       array_list<std::byte>& room);
}  // namespace detail

/// Replaces bytes of the tensor from `begin` on (counted in row-major order). Where no other handle
/// or pending work refers to its memory that memory is written, else `t` becomes a new tensor:
/// nothing that was computed, or is yet to be, from the old values changes. Throws
/// errc::invalid_argument.
PUMICE_FUNCTION void write(any_tensor& t, span<const std::byte> bytes, std::int64_t begin = 0);

/// The elements where they lie on the host, in row-major order; fetched where they are not there
/// yet. Valid until the tensor is assigned to or goes; a tensor that lies otherwise becomes a copy
/// that does not.
PUMICE_FUNCTION span<const std::byte> host(any_tensor& t);

/// The same to be written. Where another handle or pending work refers to the memory, `t` becomes a
/// copy first, so that nothing that was computed, or is yet to be, from the old values changes. The
/// device's copy is stale then, and the next use uploads: what is written after that use is not
/// seen.
PUMICE_FUNCTION span<std::byte> host_mut(any_tensor& t);

/// The tensor in another context, through the host; the tensor itself where it is there already.
PUMICE_FUNCTION any_tensor to(const any_tensor& t, const context& place);

/// Named in compile errors; never defined.
template <class Held, class Asked> struct elements_are_of_another_type;

namespace detail {
/// The values in memory of their own, evaluated, dense in row-major order.
PUMICE_FUNCTION any_tensor copied(const any_tensor& t);
/// Evaluates the tensor. What does not lie dense in row-major order becomes a copy that does, and
/// where it is to be `alone` what another handle or pending work refers to.
PUMICE_FUNCTION void make_dense(any_tensor& t, bool alone);
/// A tensor of elements in row-major order.
template <element T>
any_tensor from_elements(const shape& extent, span<const T> values, const context& home) {
    if constexpr (packed_element<T>) {
        const auto count = static_cast<std::int64_t>(values.size());
        array_list<std::byte> bytes(static_cast<std::size_t>(byte_end(dtype_of<T>, count)));
        for (std::int64_t i = 0; i < count; ++i)
            store_element(bytes.data(), i, values[static_cast<std::size_t>(i)]);
        if (count != element_count(extent))
            fail(errc::shape_mismatch, "from_span",
                 {count, " elements for shape ", to_string(extent)});
        return from_bytes(dtype_of<T>, extent, bytes, home);
    } else {
        return from_bytes(dtype_of<T>, extent, as_bytes(values), home);
    }
}
/// Of a range that holds its elements side by side, or of a std::vector<bool>, which does not.
template <element T, class Range>
any_tensor from_range(const shape& extent, const Range& values, const context& home) {
    using held = std::remove_cvref_t<decltype(*std::begin(values))>;
    if constexpr (!std::same_as<held, T>) {
        static_cast<void>(elements_are_of_another_type<held, T>{});
        return {};
    } else if constexpr (requires { std::data(values); }) {
        return from_elements(extent, span<const T>(std::data(values), std::size(values)), home);
    } else {
        array_list<T> list;
        for (const T value : values) list.push_back(value);
        return from_elements(extent, span<const T>(list.data(), list.size()), home);
    }
}
}  // namespace detail

/// Elements on the host in row-major order. Throws errc::dtype_mismatch unless T is the tensor's
/// type.
template <element T>
std::vector<T> to_vector(const any_tensor& t) {
    if (t.dtype() != dtype_of<T>)
        fail(errc::dtype_mismatch, "to_vector",
             {"the tensor is ", to_string(t.dtype()), ", asked for ", to_string(dtype_of<T>)});
    if constexpr (std::is_same_v<T, bool>) {
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(t.size()));
        read(t, as_writable_bytes(span(bytes)));
        return {bytes.begin(), bytes.end()};
    } else if constexpr (packed_element<T>) {
        std::vector<T> values(static_cast<std::size_t>(t.size()));
        array_list<std::byte> bytes(static_cast<std::size_t>(t.size_bytes()));
        read(t, bytes);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = detail::load_element<T>(bytes.data(), static_cast<std::int64_t>(i));
        return values;
    } else {
        std::vector<T> values(static_cast<std::size_t>(t.size()));
        read(t, as_writable_bytes(span(values)));
        return values;
    }
}

/// Which kernels made (or will make) the tensor, why, and what was rejected.
inline std::string explain(const any_tensor& t) { return t.get()->owner->explain(t.get()); }

/// Counters of the process-wide context: `evals`, `plans`, `dispatches`, `submits`, `host_kernels`,
/// `uploads`, `downloads`, `transfers`, `written_bytes`, `recordings`, `pipelines`,
/// `slang_compiles`, `device_bytes`, `memory` and more (`struct statistics`).
PUMICE_FUNCTION statistics stats();

#ifndef PUMICE_COMPILED

namespace detail {
struct default_slot {
    small_mutex mutex;
    std::shared_ptr<engine> current;
};
inline default_slot& the_default() {
    static default_slot* slot = new default_slot;  // let go by release_default, never destroyed
    return *slot;
}
PUMICE_BODY void release_default() {
    default_slot& slot = the_default();
    const small_lock lock(slot.mutex);
    slot.current.reset();
}
}  // namespace detail

PUMICE_BODY statistics stats() { return default_context().stats(); }
PUMICE_BODY context default_context() {
    detail::default_slot& slot = detail::the_default();
    const small_lock lock(slot.mutex);
    if (!slot.current) {
        slot.current = make_engine_for({});
        // Registered after the driver's own handlers, so it runs while the driver still lives.
        std::atexit([] { detail::release_default(); });
    }
    return context(slot.current);
}

PUMICE_BODY void set_default_context(const context& c) {
    detail::default_slot& slot = detail::the_default();
    const small_lock lock(slot.mutex);
    slot.current = c.get();
}

PUMICE_BODY span<const std::byte> detail::with_whole_bools(dtype type, span<const std::byte> bytes,
                                                           array_list<std::byte>& room) {
    std::byte all{};
    if (type == dtype::boolean)
        for (const std::byte b : bytes) all |= b;
    if (all <= std::byte{1}) return bytes;
    room.resize(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) room[i] = std::byte{bytes[i] != std::byte{0}};
    return room;
}

PUMICE_BODY any_tensor from_bytes(dtype type, const shape& extent, span<const std::byte> bytes,
                                  const context& place) {
    const std::int64_t wanted = byte_count(type, element_count(extent));
    if (static_cast<std::int64_t>(bytes.size()) != wanted)
        fail(errc::shape_mismatch, "from_bytes",
             {bytes.size(), " bytes for shape ", to_string(extent), " of ", to_string(type),
              ", which takes ", wanted});
    array_list<std::byte> room;
    return any_tensor(place.get()->create(type, extent,
                                          detail::with_whole_bools(type, bytes, room).data()));
}

namespace detail {
/// The nodes of tensors that belong to one context.
inline array_list<node_ptr> nodes_of(span<const any_tensor> tensors, const char* place) {
    array_list<node_ptr> nodes;
    for (const any_tensor& t : tensors) {
        if (!nodes.empty() && nodes.front()->owner != t.get()->owner)
            fail(errc::context_mismatch, place,
                 {"the tensors belong to two contexts; take those of each apart"});
        nodes.push_back(t.get());
    }
    return nodes;
}
}  // namespace detail

PUMICE_BODY void eval(span<const any_tensor> roots) {
    if (roots.size() == 1) {
        const node_ptr& n = roots[0].get();
        if (!n->realised()) n->owner->eval(span(&n, 1));
        return;
    }
    const array_list<node_ptr> nodes = detail::nodes_of(roots, "eval");
    if (!nodes.empty()) nodes.front()->owner->eval(nodes);
}

PUMICE_BODY void upload(span<const any_tensor> tensors) {
    const array_list<node_ptr> nodes = detail::nodes_of(tensors, "upload");
    if (!nodes.empty()) nodes.front()->owner->upload(nodes);
}

namespace detail {
/// Whether the values are whole bytes of the memory, in row-major order.
inline bool is_dense(const node& n) { return n.row_major() && starts_byte(n.type, n.offset); }
/// Whether the handle is the only way to what the tensor's memory holds.
inline bool is_alone(const any_tensor& t) {
    return t.get().use_count() == 1 && t.get()->realised() && t.get()->data.use_count() == 1;
}
}  // namespace detail

PUMICE_BODY void write(any_tensor& t, span<const std::byte> bytes, std::int64_t begin) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (begin < 0 || size > t.size_bytes() || begin > t.size_bytes() - size)
        fail(errc::invalid_argument, "write",
             {size, " bytes from ", begin, " on in a tensor of ", t.size_bytes()});
    if (size == 0) return;
    const node& n = *t.get();
    if (detail::is_alone(t) && detail::is_dense(n)) {
        array_list<std::byte> room;
        return n.owner->write(t.get(), begin, detail::with_whole_bools(n.type, bytes, room));
    }
    const context home(n.owner);
    if (size == t.size_bytes()) {
        t = from_bytes(n.type, n.extent, bytes, home);
        return;
    }
    array_list<std::byte> whole(static_cast<std::size_t>(t.size_bytes()));
    read(t, whole);
    std::memcpy(whole.data() + begin, bytes.data(), bytes.size());
    t = from_bytes(t.dtype(), t.shape(), whole, home);
}

namespace detail {
inline span<std::byte> host_bytes(any_tensor& t, bool writable) {
    if (t.size() == 0) return {};
    const std::shared_ptr<engine> home = t.get()->owner;
    home->eval(span(&t.get(), 1));
    const auto size = static_cast<std::size_t>(t.size_bytes());
    if (is_dense(*t.get()) && (!writable || is_alone(t)))
        if (std::byte* bytes = home->host(t.get(), writable)) return {bytes, size};
    array_list<std::byte> values(size);
    home->read(t.get(), values.data());
    t = any_tensor(home->create(t.dtype(), t.shape(), values.data()));
    return {home->host(t.get(), writable), size};
}
}  // namespace detail

PUMICE_BODY span<const std::byte> host(any_tensor& t) { return detail::host_bytes(t, false); }
PUMICE_BODY span<std::byte> host_mut(any_tensor& t) { return detail::host_bytes(t, true); }

PUMICE_BODY any_tensor detail::copied(const any_tensor& t) {
    const any_tensor copy(link_node(t.dtype(), t.shape(), copy_op{row_major_strides(t.shape())},
                                    {t.get()}));
    eval(span(&copy, 1));
    return copy;
}
PUMICE_BODY void detail::make_dense(any_tensor& t, bool alone) {
    eval(span<const any_tensor>(&t, 1));
    if (!is_dense(*t.get()) || (alone && !is_alone(t))) t = copied(t);
}

PUMICE_BODY any_tensor to(const any_tensor& t, const context& place) {
    if (t.get()->owner == place.get()) return t;
    any_tensor from = t;
    return from_bytes(t.dtype(), t.shape(), host(from), place);
}

PUMICE_BODY void read(const any_tensor& t, span<std::byte> out) {
    if (static_cast<std::int64_t>(out.size()) != t.size_bytes())
        fail(errc::shape_mismatch, "read", {out.size(), " bytes for a tensor of ", t.size_bytes()});
    t.get()->owner->read(t.get(), out.data());
    if (!starts_byte(t.dtype(), t.size())) out.back() &= std::byte{15};  // what no element has is 0
}

#endif

}}  // namespace pumice::PUMICE_ABI
