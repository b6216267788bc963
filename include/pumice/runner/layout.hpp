// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Layouts that a program names at run time: in which order the elements of a host array (NCHW) lie
// in hardware, with channels in blocks where those want them. Packing and unpacking are expressions
// over existing ops, so each is one copy kernel, or part of the kernel beside it.
#pragma once

#include <pumice/core/device_info.hpp>
#include <pumice/graph/manipulation.hpp>
#include <pumice/graph/view.hpp>
#include <pumice/tensor/engine.hpp>

#include <array>
#include <string>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// How the elements of an array of the host, in its order of axes, lie in hardware.
class memory_layout {
public:
    enum class kind : std::uint8_t { nhw, nhwc, nchw, hcwnc4, hcwnc8, hcwnc16, generic };

    /// As the host has it, of any rank.
    constexpr memory_layout() = default;
    static constexpr memory_layout nhw() { return {kind::nhw, {0, 1, 2}, 1}; }
    static constexpr memory_layout nchw() { return {kind::nchw, {0, 1, 2, 3}, 1}; }
    static constexpr memory_layout nhwc() { return {kind::nhwc, {0, 2, 3, 1}, 1}; }
    /// Rank 5: (H, C / block, W, N, block), the last block padded with zeros.
    static constexpr memory_layout hcwnc4() { return {kind::hcwnc4, {2, 1, 3, 0}, 4}; }
    static constexpr memory_layout hcwnc8() { return {kind::hcwnc8, {2, 1, 3, 0}, 8}; }
    static constexpr memory_layout hcwnc16() { return {kind::hcwnc16, {2, 1, 3, 0}, 16}; }
    /// Axis i of what lies in memory is axis order[i] of the host's. Throws errc::invalid_argument
    /// where `order` is no permutation.
    static memory_layout generic(const index_list& order) {
        std::array<bool, max_rank> seen{};
        for (const std::int64_t axis : order) {
            if (axis < 0 || axis >= order.rank() || seen[static_cast<std::size_t>(axis)])
                fail(errc::invalid_argument, "layout",
                     {to_string(order), " is no permutation of axes"});
            seen[static_cast<std::size_t>(axis)] = true;
        }
        return {kind::generic, order, 1};
    }
    /// By name: "nchw", "hcwnc4", "generic(0,2,1,3)", "" for the host's own. Throws
    /// errc::invalid_argument that names it.
    static memory_layout named(std::string_view name);

    bool is_host() const noexcept { return block_ == 0; }
    enum kind what() const noexcept { return kind_; }
    const index_list& order() const noexcept { return order_; }
    std::int64_t block() const noexcept { return block_; }
    /// Of host arrays; -1: any.
    int rank() const noexcept { return is_host() ? -1 : order_.rank(); }

    friend bool operator==(const memory_layout&, const memory_layout&) = default;

private:
    constexpr memory_layout(kind what, const index_list& order, std::int64_t block)
        : kind_(what), order_(order), block_(block) {}

    kind kind_ = kind::generic;
    index_list order_{};
    std::int64_t block_ = 0;
};

inline std::string to_string(const memory_layout& l) {
    constexpr std::string_view names[] = {"nhw", "nhwc", "nchw", "hcwnc4", "hcwnc8", "hcwnc16"};
    if (l.is_host()) return "";
    if (l.what() != memory_layout::kind::generic)
        return std::string(names[static_cast<std::size_t>(l.what())]);
    std::string text = "generic(";
    for (int i = 0; i < l.order().rank(); ++i)
        append_text(text, {(i > 0 ? "," : ""), l.order()[i]});
    return text + ")";
}

inline memory_layout memory_layout::named(std::string_view name) {
    if (name.empty()) return {};
    for (const memory_layout& l : {nhw(), nhwc(), nchw(), hcwnc4(), hcwnc8(), hcwnc16()})
        if (to_string(l) == name) return l;
    constexpr std::string_view generic_name = "generic(";
    if (name.starts_with(generic_name) && name.ends_with(')')) {
        index_list order;
        bool good = true, digit = false;
        for (const char c : name.substr(generic_name.size())) {
            if (c >= '0' && c <= '7' && !digit && order.rank() < max_rank) {
                order.push_back(c - '0');
                digit = true;
            } else {
                good = good && digit && (c == ',' || c == ')');
                digit = false;
            }
        }
        if (good) return generic(order);
    }
    fail(errc::invalid_argument, "layout",
         {"there is no layout \"", name,
          "\"; there are nhw, nhwc, nchw, hcwnc4, hcwnc8, hcwnc16 and generic(0,2,3,1)"});
}

/// Why arrays of this type and rank cannot lie so on the device; empty where they can.
inline std::string why_not(const memory_layout& l, dtype type, int rank,
                           const device_info& device) {
    if (l.is_host()) return {};
    if (l.rank() != rank)
        return cat({"the layout ", to_string(l), " is of rank ", l.rank(), ", not of ", rank});
    if (is_packed(type))
        return cat({device.name, " does not move ", to_string(type),
                    ", which share a byte, to the ", "layout ", to_string(l)});
    return {};
}
/// The same as a question, as `device.supports(layout)` would be.
inline bool supports(const device_info& device, const memory_layout& l, dtype type, int rank) {
    return why_not(l, type, rank, device).empty();
}

/// What an array of the host's has for a shape in that layout. Throws errc::rank_mismatch.
inline shape packed_shape(const memory_layout& l, const shape& host) {
    if (l.is_host()) return host;
    if (l.rank() != host.rank())
        fail(errc::rank_mismatch, "layout",
             {"the layout ", to_string(l), " is of rank ", l.rank(), ", the array of shape ",
              to_string(host), " is not"});
    shape s;
    for (const std::int64_t axis : l.order()) s.push_back(host[static_cast<int>(axis)]);
    if (l.block() > 1) {
        s[1] = (s[1] + l.block() - 1) / l.block();
        s.push_back(l.block());
    }
    return s;
}

namespace detail {
/// From (N, C / block, block, H, W) to (H, C / block, W, N, block); it is its own inverse.
inline constexpr std::int64_t block_order[] = {3, 1, 4, 0, 2};

inline span<const std::int64_t> span_of(const index_list& list) {
    return {list.begin(), list.size()};
}
inline void must_support(const memory_layout& l, const any_tensor& x, int rank) {
    if (std::string why = why_not(l, x.dtype(), rank, x.get()->owner->device()); !why.empty())
        fail(errc::unsupported, "layout", {why});
}
}  // namespace detail

/// x, of the host's order of axes, as the layout has it: a lazy tensor. Channels that fill a block
/// are 0. Throws errc::unsupported that says why a device has no such arrays.
inline any_tensor to_layout(any_tensor x, const memory_layout& l) {
    if (l.is_host()) return x;
    detail::must_support(l, x, x.rank());
    if (l.block() == 1) return permute_dims(x, detail::span_of(l.order()));
    const std::int64_t c = x.shape()[1], b = l.block(), blocks = (c + b - 1) / b;
    if (blocks * b != c) {
        const pad_width widths[] = {{0, 0}, {0, blocks * b - c}, {0, 0}, {0, 0}};
        x = pad(x, widths);
    }
    const shape s = x.shape();
    return permute_dims(reshape(x, {s[0], blocks, b, s[2], s[3]}), detail::block_order);
}

/// y, of that layout, as the host has it: of the shape `host`. Throws errc::shape_mismatch where y
/// is not of that shape's packed one.
inline any_tensor from_layout(any_tensor y, const memory_layout& l, const shape& host) {
    if (l.is_host()) return y;
    detail::must_support(l, y, host.rank());
    if (y.shape() != packed_shape(l, host))
        fail(errc::shape_mismatch, "layout",
             {"an array of shape ", to_string(y.shape()), ", of ", to_string(host),
              " in the layout ", to_string(l), " it is ", to_string(packed_shape(l, host))});
    if (l.block() == 1) {
        index_list back = l.order();
        for (int i = 0; i < back.rank(); ++i) back[static_cast<int>(l.order()[i])] = i;
        return permute_dims(y, detail::span_of(back));
    }
    const std::int64_t blocks = y.shape()[1], b = l.block();
    y = reshape(permute_dims(y, detail::block_order), {host[0], blocks * b, host[2], host[3]});
    if (blocks * b == host[1]) return y;
    const slice channels[] = {{}, {0, host[1]}, {}, {}};
    return slice_view(y, channels);
}

}}  // namespace pumice::PUMICE_ABI
