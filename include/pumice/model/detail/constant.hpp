// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Values that a loader knows on the host: weights in the mapped file and small shape arithmetic. They
// are graph nodes of no engine, so the same builders take them; fold.hpp evaluates what they feed.
#pragma once

#include <pumice/graph/any_tensor.hpp>

#include <bit>
#include <cstring>
#include <span>
#include <type_traits>

namespace pumice::inline PUMICE_ABI {

static_assert(std::endian::native == std::endian::little, "model files are read in place");

/// Row-major bytes on the host: a view into a mapped file or a buffer of its own.
class host_constant final : public storage {
public:
    host_constant(std::span<const std::byte> bytes, std::shared_ptr<const void> keep)
        : bytes_(bytes), keep_(std::move(keep)) {}
    explicit host_constant(std::shared_ptr<const std::vector<std::byte>> owned)
        : bytes_(*owned), keep_(std::move(owned)) {}

    std::span<const std::byte> bytes() const noexcept { return bytes_; }
    const std::shared_ptr<const void>& keep() const noexcept { return keep_; }

private:
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> keep_;
};

/// A known value. Pre: the storage has the bytes that the shape takes.
inline any_tensor make_constant(dtype type, const shape& extent,
                                std::shared_ptr<host_constant> data) {
    return any_tensor(make_data(type, extent, std::move(data)));
}

inline any_tensor make_constant(dtype type, const shape& extent, std::vector<std::byte> bytes) {
    PUMICE_ASSERT(static_cast<std::int64_t>(bytes.size()) ==
                  byte_count(type, element_count(extent)));
    return make_constant(type, extent,
                         std::make_shared<host_constant>(
                             std::make_shared<const std::vector<std::byte>>(std::move(bytes))));
}

template <element T>
any_tensor make_constant(const shape& extent, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    return make_constant(dtype_of<T>, extent, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// A vector of sizes, as Shape gives it.
inline any_tensor make_constant(std::span<const std::int64_t> values) {
    return make_constant<std::int64_t>(shape{static_cast<std::int64_t>(values.size())}, values);
}

/// An abstract tensor: its type and shape are known and its value is not. It stands for an input while
/// shapes are inferred. Nodes made of it belong to no engine and can never be run.
inline any_tensor make_abstract(dtype type, const shape& extent) {
    element_count(extent);
    return any_tensor(make_node(type, extent, source_op{}, {}));
}

/// The constant behind a tensor, or null where the value is not known.
inline const host_constant* constant_of(const any_tensor& t) noexcept {
    const node* n = t.has_value() ? t.get().get() : nullptr;
    return n && !n->owner && n->data ? static_cast<const host_constant*>(n->data.get()) : nullptr;
}

/// Elements of a known value, converted. Pre: constant_of(t).
template <element To>
std::vector<To> constant_values(const any_tensor& t) {
    static_assert(!std::is_same_v<To, bool>);
    const auto bytes = constant_of(t)->bytes();
    std::vector<To> values;
    visit(t.dtype(), [&](auto from) {
        using From = decltype(from);
        using Stored = std::conditional_t<std::is_same_v<From, bool>, std::uint8_t, From>;
        values.reserve(bytes.size() / sizeof(Stored));
        for (std::size_t at = 0; at + sizeof(Stored) <= bytes.size(); at += sizeof(Stored)) {
            Stored v;
            std::memcpy(&v, bytes.data() + at, sizeof v);  // files do not align
            values.push_back(convert<To>(v));
        }
    });
    return values;
}

}  // namespace pumice::inline PUMICE_ABI
