// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors to and from other libraries in one process by DLPack 1.1 (dmlc.github.io/dlpack), through
// the host's memory. The structs are the specification's, under the names of this library; those of
// a <dlpack/dlpack.h> serve as well.
#pragma once

#include <pumice/core/strided.hpp>
#include <pumice/tensor/creation.hpp>

#include <memory>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// DLPack's structs, member by member: what its header calls DLDevice, DLDataType, DLTensor,
/// DLManagedTensor (before version 1) and DLManagedTensorVersioned.
namespace dlpack {

/// Which specification a tensor follows.
struct pack_version {
    std::uint32_t major, minor;
};
/// Types of devices whose memory the host reads; there are others.
inline constexpr std::int32_t cpu = 1, cuda_host = 3, rocm_host = 11;
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
    read_only,  // it is shared with the tensor, wherever that lies on the host
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

}  // namespace detail

/// A tensor for another library, evaluated, in row-major order in the host's memory; whoever gets
/// it calls its deleter once. `Managed` is a struct of DLPack's: that of an earlier version than 1
/// cannot say that memory is only to be read, and so is always writable. Throws what an evaluation
/// throws; errc::invalid_argument for that struct with `read_only`.
template <dlpack_struct Managed = dlpack::managed_tensor_versioned>
Managed* to_dlpack(any_tensor x, dlpack_access access = detail::dlpack_versioned<Managed>
                                                            ? dlpack_access::read_only
                                                            : dlpack_access::writable) {
    if (!detail::dlpack_versioned<Managed> && access == dlpack_access::read_only)
        fail(errc::invalid_argument, "to_dlpack",
             {"DLManagedTensor cannot say that its memory is read-only; ask for writable memory, "
              "or for a DLManagedTensorVersioned"});
    auto loan = std::make_unique<detail::dlpack_loan<Managed>>();
    loan->extent = x.shape();
    loan->steps = row_major_strides(loan->extent);
    loan->values = std::move(x);
    const bool writable = access == dlpack_access::writable;
    const std::byte* const data =
        writable ? host_mut(loan->values).data() : host(loan->values).data();
    auto& t = loan->managed.dl_tensor;
    t.data = const_cast<std::byte*>(data);
    t.device.device_type = static_cast<decltype(t.device.device_type)>(dlpack::cpu);
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
/// returns or throws. Its memory may lie in any strides. Throws errc::unsupported for memory that
/// the host does not read, for a type that Pumice lacks, and for another major version;
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
    if (device != dlpack::cpu && device != dlpack::cuda_host && device != dlpack::rocm_host)
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
    if (count == 0) return from_bytes(known->dtype, extent, {}, home);
    const std::byte* const from = static_cast<const std::byte*>(t.data) + t.byte_offset;
    strides steps = row_major_strides(extent);
    for (int i = 0; t.strides && i < t.ndim; ++i) steps[i] = t.strides[i];
    if (is_row_major(extent, steps))
        return from_bytes(known->dtype, extent, {from, static_cast<std::size_t>(bytes)}, home);
    if (known->bits < 8)
        fail(errc::unsupported, "from_dlpack",
             {"elements of ", int{known->bits}, " bits have to lie in row-major order"});
    std::vector<std::byte> rows(static_cast<std::size_t>(bytes));
    copy_strided(from, steps, known->bits / 8, extent, rows.data());
    return from_bytes(known->dtype, extent, rows, home);
}

}}  // namespace pumice::PUMICE_ABI
