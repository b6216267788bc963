// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors to and from other libraries in one process by DLPack 1.1 (dmlc.github.io/dlpack), through
// the host's memory or that of a Vulkan device. The structs are the specification's, under the
// names of this library; those of a <dlpack/dlpack.h> serve as well.
#pragma once

#include <pumice/core/strided.hpp>
#include <pumice/tensor/creation.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// DLPack's structs, member by member: what its header calls DLDevice, DLDataType, DLTensor,
/// DLManagedTensor (before version 1) and DLManagedTensorVersioned.
namespace dlpack {

/// Which specification a tensor follows.
struct pack_version {
    std::uint32_t major, minor;
};
/// Types of devices whose memory the host reads, and kDLVulkan: `data` is a VkDeviceAddress there,
/// and `device_id`, which cannot name a VkDevice, is 0 and not looked at. There are others.
inline constexpr std::int32_t cpu = 1, cuda_host = 3, rocm_host = 11, vulkan = 7;
/// Where memory lies.
struct device_of {
    std::int32_t device_type, device_id;
};
/// An element's code, bits and lanes.
struct data_type {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
/// A tensor's memory, which somebody else owns.
struct plain_tensor {
    void* data;
    device_of device;
    std::int32_t ndim;
    data_type dtype;
    std::int64_t* shape;
    std::int64_t* strides;  // in elements; null: row-major
    std::uint64_t byte_offset;
};
/// One with whoever owns it; of DLPack before version 1.
struct managed_tensor {
    plain_tensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(managed_tensor*);
};
/// The same since version 1.
struct managed_tensor_versioned {
    pack_version version;
    void* manager_ctx;
    void (*deleter)(managed_tensor_versioned*);
    std::uint64_t flags;
    plain_tensor dl_tensor;
};
/// Bits of `flags`: the memory is only to be read, is the receiver's own, holds elements below 8
/// bits one to a byte.
inline constexpr std::uint64_t flag_read_only = 1, flag_is_copied = 2, flag_padded = 4;

}  // namespace dlpack

/// DLPack's managed tensor, of either version and whoever declared it.
template <class Managed>
concept dlpack_struct = requires(Managed& m) {
    m.dl_tensor.byte_offset;
    m.dl_tensor.dtype.lanes;
    m.manager_ctx;
    m.deleter(&m);
};

/// What the one who gets a tensor may do with its memory.
enum class dlpack_access : std::uint8_t {
    read_only,  // it is shared with the tensor, wherever that lies on the host or the device
    writable    // it is nobody else's: copied where another handle or pending work refers to it
};

namespace detail {

struct dlpack_row {
    pumice::dtype dtype;
    std::uint8_t code, bits;
};
inline constexpr dlpack_row dlpack_rows[] = {
    {dtype::f64, 2, 64},     {dtype::f32, 2, 32},     {dtype::f16, 2, 16}, {dtype::bf16, 4, 16},
    {dtype::f8_e4m3, 10, 8}, {dtype::f8_e5m2, 12, 8}, {dtype::i4, 0, 4},   {dtype::i8, 0, 8},
    {dtype::i16, 0, 16},     {dtype::i32, 0, 32},     {dtype::i64, 0, 64}, {dtype::u4, 1, 4},
    {dtype::u8, 1, 8},       {dtype::u16, 1, 16},     {dtype::u32, 1, 32}, {dtype::u64, 1, 64},
    {dtype::boolean, 6, 8},
};

template <class Managed>
inline constexpr bool dlpack_versioned = requires(Managed& m) { m.version.major; };

/// What a tensor that is given away keeps alive.
template <class Managed>
struct dlpack_loan {
    Managed managed{};
    any_tensor values;
    shape extent;
    strides steps;

    static void end(Managed* m) { delete static_cast<dlpack_loan*>(m->manager_ctx); }
};

/// The address of a tensor's values on its Vulkan device, when they are there and nothing is at
/// work with them. What may not be shown becomes a copy.
inline void* address_on_device(any_tensor& t, bool writable) {
    make_dense(t, writable);
    const std::shared_ptr<engine> home = t.get()->owner;
    std::optional<std::uint64_t> at = home->address(t.get());
    if (!at) {  // of the user's own memory
        t = copied(t);
        at = home->address(t.get());
    }
    if (!at)
        fail(errc::unsupported, "to_dlpack",
             {"the tensor lies on ", home->device().name, ", which has no addresses of a Vulkan ",
              "device; ask for dlpack::cpu, or take the tensor to a context of one"});
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(*at));
}

/// A copy of what lies from an address on, made by the device, which is through with it.
inline any_tensor from_address(std::uint64_t first, dtype type, const shape& extent,
                               const strides& steps, const context& home) {
    const bool empty = element_count(extent) == 0;
    std::int64_t lowest = 0, highest = 0;  // element, as counted from the first
    for (int i = 0; !empty && i < extent.rank(); ++i)
        (steps[i] < 0 ? lowest : highest) += steps[i] * (extent[i] - 1);
    // Kernels count up from a multiple of 16 bytes.
    const std::uint64_t base =
        (first + static_cast<std::uint64_t>(byte_offset(type, lowest))) / 16 * 16;
    const std::int64_t before = static_cast<std::int64_t>(first - base) * 8 / info(type).bits;
    std::shared_ptr<storage> memory =
        home.get()->at_address(base, byte_end(type, before + highest + 1));
    if (!memory)
        fail(errc::unsupported, "from_dlpack",
             {"the tensor lies on a Vulkan device, which ", home.device().name,
              " does not read; name the context of that device, or copy it to the host first"});
    if (empty) return from_bytes(type, extent, {}, home);
    if (first * 8 % static_cast<std::uint64_t>(info(type).bits) != 0)
        fail(errc::invalid_argument, "from_dlpack",
             {"the tensor's address is no multiple of its elements' bytes (", to_string(type),
              "); copy it to one that is"});
    const node_ptr there = make_data(type, extent, std::move(memory), home.get());
    there->lay_out(steps);
    there->offset = before;
    any_tensor made = copied(any_tensor(there));
    static_cast<void>(home.get()->address(made.get()));  // waits
    return made;
}

}  // namespace detail

/// A tensor for another library, evaluated, in row-major order in the host's memory; whoever gets
/// it calls its deleter once. `Managed` is a struct of DLPack's: that of an earlier version than 1
/// cannot say that memory is only to be read, and so is always writable.
///
/// With the device type `dlpack::vulkan` its data is the VkDeviceAddress of the tensor's values in
/// the memory of the context's device, where all work with them is done when this returns; the
/// deleter is called when the receiver's is. Memory of `from_buffer` is copied.
///
/// Throws what an evaluation throws; errc::invalid_argument for that struct with `read_only`;
/// errc::unsupported for `dlpack::vulkan` of a context that is not of one Vulkan device, and for
/// other device types.
template <dlpack_struct Managed = dlpack::managed_tensor_versioned>
Managed* to_dlpack(any_tensor x,
                   dlpack_access access = detail::dlpack_versioned<Managed>
                                              ? dlpack_access::read_only
                                              : dlpack_access::writable,
                   std::int32_t device_type = dlpack::cpu) {
    if (!detail::dlpack_versioned<Managed> && access == dlpack_access::read_only)
        fail(errc::invalid_argument, "to_dlpack",
             {"DLManagedTensor cannot say that its memory is read-only; ask for writable memory, "
              "or for a DLManagedTensorVersioned"});
    if (device_type != dlpack::cpu && device_type != dlpack::vulkan)
        fail(errc::unsupported, "to_dlpack",
             {"DLPack's device type ", device_type,
              " is neither that of the host nor that of Vulkan, to which tensors are given"});
    auto loan = std::make_unique<detail::dlpack_loan<Managed>>();
    loan->extent = x.shape();
    loan->steps = row_major_strides(loan->extent);
    loan->values = std::move(x);
    const bool writable = access == dlpack_access::writable;
    auto& t = loan->managed.dl_tensor;
    t.data = device_type == dlpack::vulkan ? detail::address_on_device(loan->values, writable)
             : writable                    ? host_mut(loan->values).data()
                                           : const_cast<std::byte*>(host(loan->values).data());
    t.device.device_type = static_cast<decltype(t.device.device_type)>(device_type);
    t.ndim = loan->extent.rank();
    for (const detail::dlpack_row& row : detail::dlpack_rows)
        if (row.dtype == loan->values.dtype()) t.dtype = {row.code, row.bits, 1};
    t.shape = loan->extent.begin();
    t.strides = loan->steps.begin();
    if constexpr (detail::dlpack_versioned<Managed>) {
        loan->managed.version = {1, 1};
        loan->managed.flags = writable ? dlpack::flag_is_copied : dlpack::flag_read_only;
    }
    loan->managed.manager_ctx = loan.get();
    loan->managed.deleter = &detail::dlpack_loan<Managed>::end;
    return &loan.release()->managed;
}

/// A tensor that holds a copy of another library's, whose deleter has been called when this
/// returns or throws. Its memory may lie in any strides. That of a Vulkan device is read by the
/// device of `home`, which both share; what writes it is done before the call, or `wait_before`
/// (<pumice/exec/adopt.hpp>) says when. Throws errc::unsupported for memory that neither the host
/// nor that device reads, for a type that Pumice lacks, and for another major version;
/// errc::invalid_argument for a struct that contradicts itself.
template <dlpack_struct Managed>
any_tensor from_dlpack(Managed* managed, const context& home = default_context()) {
    if (!managed) fail(errc::invalid_argument, "from_dlpack", {"there is no tensor"});
    struct ending {
        Managed* m;
        ~ending() {
            if (m->deleter) m->deleter(m);
        }
    } const end{managed};
    bool padded = false;
    if constexpr (detail::dlpack_versioned<Managed>) {
        if (managed->version.major != 1)
            fail(errc::unsupported, "from_dlpack",
                 {"the tensor is of DLPack's version ", managed->version.major, ", known is 1"});
        padded = (managed->flags & dlpack::flag_padded) != 0;
    }
    const auto& t = managed->dl_tensor;
    const auto device = static_cast<std::int32_t>(t.device.device_type);
    if (device != dlpack::cpu && device != dlpack::cuda_host && device != dlpack::rocm_host &&
        device != dlpack::vulkan)
        fail(errc::unsupported, "from_dlpack",
             {"the tensor lies on a device of DLPack's type ", device,
              ", which the host does not read; copy it to the host first"});
    const detail::dlpack_row* known = nullptr;
    for (const detail::dlpack_row& row : detail::dlpack_rows)
        if (row.code == t.dtype.code && row.bits == t.dtype.bits && t.dtype.lanes == 1 &&
            !(padded && row.bits < 8))
            known = &row;
    if (!known)
        fail(errc::unsupported, "from_dlpack",
             {"there is no element type for DLPack's code ", int{t.dtype.code}, " of ",
              int{t.dtype.bits}, " bits and ", int{t.dtype.lanes}, " lanes",
              padded ? ", padded" : ""});
    if (t.ndim < 0 || t.ndim > max_rank)
        fail(errc::unsupported, "from_dlpack",
             {"the tensor has ", t.ndim, " axes, not 0 to ", max_rank});
    if (t.ndim > 0 && !t.shape)
        fail(errc::invalid_argument, "from_dlpack", {"the tensor has axes, but no shape"});
    shape extent;
    for (int i = 0; i < t.ndim; ++i) extent.push_back(t.shape[i]);
    const std::int64_t count = element_count(extent), bytes = byte_count(known->dtype, count);
    if (count > 0 && !t.data)
        fail(errc::invalid_argument, "from_dlpack", {"the tensor has elements, but no memory"});
    strides steps = row_major_strides(extent);
    for (int i = 0; t.strides && i < t.ndim; ++i) steps[i] = t.strides[i];
    const bool dense = is_row_major(extent, steps);
    if (!dense && known->bits < 8)
        fail(errc::unsupported, "from_dlpack",
             {"elements of ", int{known->bits}, " bits have to lie in row-major order"});
    if (device == dlpack::vulkan)
        return detail::from_address(reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset,
                                    known->dtype, extent, steps, home);
    if (count == 0) return from_bytes(known->dtype, extent, {}, home);
    const std::byte* const from = static_cast<const std::byte*>(t.data) + t.byte_offset;
    if (dense)
        return from_bytes(known->dtype, extent, {from, static_cast<std::size_t>(bytes)}, home);
    std::vector<std::byte> rows(static_cast<std::size_t>(bytes));
    copy_strided(from, steps, known->bits / 8, extent, rows.data());
    return from_bytes(known->dtype, extent, rows, home);
}

}}  // namespace pumice::PUMICE_ABI
