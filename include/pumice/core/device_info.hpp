// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a device can do, as plain data: policies and kernels read it, only vk/ fills it.
#pragma once

#include <pumice/base/text.hpp>
#include <pumice/core/device_rates.hpp>
#include <pumice/core/dtype.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

enum class device_type { discrete_gpu, integrated_gpu, virtual_gpu, cpu, other, host };

constexpr std::string_view to_string(device_type type) noexcept {
    constexpr std::string_view names[] = {"discrete GPU", "integrated GPU", "virtual GPU",
                                          "CPU driver",   "other",          "host"};
    return names[static_cast<int>(type)];
}

/// A cooperative-matrix shape that the device lists: D(m,n) = A(m,k) B(k,n) + C(m,n), subgroup
/// scope.
struct matrix_shape {
    dtype a, b, c, result;
    int m, n, k;
    friend bool operator==(const matrix_shape&, const matrix_shape&) = default;
};

struct device_info {
    std::string name;
    device_type type = device_type::other;
    std::string driver;             // name and version, for people
    std::uint32_t api_version = 0;  // as VK_MAKE_API_VERSION
    std::uint32_t vendor_id = 0, device_id = 0;
    std::array<std::uint8_t, 16> device_uuid{},
        driver_uuid{};  // with driver_version, the identity of caches
    std::uint32_t driver_version = 0;

    int subgroup_size = 1, min_subgroup_size = 1, max_subgroup_size = 1;
    bool subgroup_size_control = false;
    bool subgroup_shuffle = false;  // in compute shaders
    std::int64_t max_workgroup_invocations = 0;
    std::array<std::int64_t, 3> max_workgroup_size{}, max_workgroup_count{};
    std::int64_t shared_memory = 0;   // bytes a workgroup
    std::int64_t max_allocation = 0;  // bytes of one vkAllocateMemory
    std::int64_t max_buffer = 0;      // bytes of one VkBuffer
    std::int64_t memory = 0;          // bytes of the device-local heap
    std::int64_t max_push_constants = 0;
    bool push_descriptors = false;       // VK_KHR_push_descriptor: at least 32 in a set
    std::int64_t storage_alignment = 1;  // of a storage buffer's first byte within a VkBuffer
    std::int64_t max_storage_range = 0;  // bytes that a descriptor of one shows
    std::int64_t uniform_alignment = 1, max_uniform_range = 0;  // the same of a uniform buffer
    std::int64_t max_image_extent = 0;                 // of a two-dimensional image, along an axis
    std::int64_t texel_alignment = 1, max_texels = 0;  // and of a texel buffer, in texels
    bool tensors = false;                              // VK_ARM_tensors, in compute shaders
    bool data_graphs = false;  // VK_ARM_data_graph of TOSA's operators, on the queue that computes
    std::int64_t max_tensor_rank = 0, max_tensor_extent = 0, max_tensor_elements = 0;
    std::int64_t max_tensor_bytes = 0, max_tensors = 0;  // the last: in a set
    float timestamp_period = 0;                          // ns a tick, 0: no timestamps

    bool int8_arithmetic = false, int16_arithmetic = false, int64_arithmetic = false;
    bool float16_arithmetic = false, float64_arithmetic = false;
    bool storage8 = false, storage16 = false;
    bool preserves_nan32 = false,
         preserves_nan64 = false;  // SignedZeroInfNanPreserve, by float width
    bool preserves_denorm16 = false, preserves_denorm64 = false;  // DenormPreserve
    bool memory_model = false;  // vulkanMemoryModel, which cooperative kernels need
    bool cooperative_matrix = false;
    bool bfloat16 = false;                    // VK_KHR_shader_bfloat16 with cooperative matrices
    std::vector<matrix_shape> matrix_shapes;  // subgroup scope, not saturating

    bool unified_memory = false;        // the device-local heap is host memory
    bool mapped_device_memory = false;  // all device-local memory can be mapped

    device_rates measured;  // all 0 where nothing was measured

    device_rates rates() const noexcept {
        if (measured.known()) return measured;
        return type == device_type::host
                   ? usual_host_rates()
                   : usual_rates(type == device_type::discrete_gpu, static_cast<double>(memory));
    }

    /// True where elements of `type` can be loaded, computed with and stored.
    bool supports(dtype t) const noexcept {
        switch (info(t).bits) {
            case 4:
            case 8: return storage8;
            case 16: return storage16;
            case 64: return t == dtype::f64 ? float64_arithmetic : int64_arithmetic;
            default: return true;
        }
    }
};

/// One device per line: name, kind, driver and what matters for choosing kernels.
inline std::string to_string(const device_info& d) {
    std::string text = cat({d.name, " (", to_string(d.type), ", ", d.driver, ")"});
    if (d.type == device_type::host) return text;
    append_text(text, {": subgroup ", d.subgroup_size, ", shared memory ", d.shared_memory / 1024,
                       " KiB, memory ", d.memory >> 20, " MiB"});
    if (d.float64_arithmetic) text += ", f64";
    if (d.int64_arithmetic) text += ", i64";
    if (d.storage8) text += ", 8-bit";
    if (d.storage16) text += ", 16-bit";
    if (d.tensors) text += ", tensors";
    if (d.data_graphs) text += ", data graphs";
    text += d.matrix_shapes.empty() ? ", no cooperative matrix" : ", cooperative matrix";
    for (const matrix_shape& s : d.matrix_shapes)
        append_text(text,
                    {" ", to_string(s.a), "->", to_string(s.result), ":", s.m, "x", s.n, "x", s.k});
    return text;
}

}}  // namespace pumice::PUMICE_ABI
