// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Values that a loader knows on the host: weights of the file and small shape arithmetic. They
// are graph nodes of no engine, so the same builders take them; fold.hpp evaluates what they feed.
#pragma once

#include <pumice/base/byte_source.hpp>
#include <pumice/base/span.hpp>
#include <pumice/graph/any_tensor.hpp>
#include <pumice/model/input_file.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace pumice { inline namespace PUMICE_ABI {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

/// Row-major bytes: on the host, or in a file that they are read from when they are uploaded, and
/// not kept.
class host_constant final : public storage, public byte_source {
public:
    host_constant(span<const std::byte> bytes, std::shared_ptr<const void> keep)
        : bytes_(bytes), keep_(std::move(keep)) {}
    explicit host_constant(std::shared_ptr<const std::vector<std::byte>> owned)
        : bytes_(*owned), keep_(std::move(owned)) {}

    /// Bytes of a file; `truth`: bools, which are 0 or 1 in memory where a file may hold anything.
    host_constant(std::shared_ptr<const input_file> file, std::uint64_t offset, std::size_t length,
                  bool truth = false)
        : file_(std::move(file)), offset_(offset), length_(length), truth_(truth) {}

    /// Pre: not in_file().
    span<const std::byte> bytes() const noexcept {
        PUMICE_ASSERT(!in_file());
        return bytes_;
    }
    /// Whether the host has them no more, or not yet.
    bool in_file() const noexcept { return file_ != nullptr || let_go_; }
    /// Calls f with the bytes, read for the call where they are in a file. Throws errc::io_failed.
    template <class F>
    auto with_bytes(F&& f) const {
        if (!in_file()) return f(bytes_);
        std::vector<std::byte> held(length_);
        read(0, held);
        return f(span<const std::byte>(held));
    }
    /// Throws errc::io_failed.
    void read(std::int64_t begin, span<std::byte> into) const override {
        PUMICE_ASSERT(!let_go_);
        if (!file_) {
            std::ranges::copy(bytes_.subspan(static_cast<std::size_t>(begin), into.size()),
                              into.begin());
            return;
        }
        file_->read(offset_ + static_cast<std::uint64_t>(begin), into);
        if (!truth_) return;
        for (std::byte& b : into) b = std::byte(b != std::byte(0));
    }
    /// They are elsewhere from now on: none of it is read again.
    void let_go() noexcept {
        let_go_ = true;
        bytes_ = {};
        keep_.reset();
        file_.reset();
    }

    std::string name;  // in its file

private:
    span<const std::byte> bytes_;
    std::shared_ptr<const void> keep_;
    std::shared_ptr<const input_file> file_;
    std::uint64_t offset_ = 0;
    std::size_t length_ = 0;
    bool truth_ = false, let_go_ = false;
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
any_tensor make_constant(const shape& extent, span<const T> values) {
    const auto bytes = as_bytes(values);
    return make_constant(dtype_of<T>, extent, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// A vector of sizes, as Shape gives it.
inline any_tensor make_constant(span<const std::int64_t> values) {
    return make_constant<std::int64_t>(shape{static_cast<std::int64_t>(values.size())}, values);
}

/// An abstract tensor: its type and shape are known and its value is not. It stands for an input
/// while shapes are inferred. Nodes made of it belong to no engine and can never be run.
inline any_tensor make_abstract(dtype type, const shape& extent) {
    element_count(extent);
    return any_tensor(make_node(type, extent, source_op{}, {}));
}

/// The constant behind a tensor, or null where the value is not known.
inline const host_constant* constant_of(const any_tensor& t) noexcept {
    const node* n = t.has_value() ? t.get().get() : nullptr;
    return n && !n->owner && n->data ? static_cast<const host_constant*>(n->data.get()) : nullptr;
}
/// The same, shared. Pre: constant_of(t).
inline std::shared_ptr<host_constant> shared_constant(const any_tensor& t) {
    return std::static_pointer_cast<host_constant>(t.get()->data);
}

/// `count` elements of bytes, converted.
template <element To>
std::vector<To> values_of(dtype type, span<const std::byte> bytes, std::int64_t count) {
    static_assert(!std::is_same_v<To, bool>);
    PUMICE_ASSERT(std::cmp_greater_equal(bytes.size(), byte_end(type, count)));
    std::vector<To> values;
    visit(type, [&](auto from) {
        using From = decltype(from);
        using Stored = std::conditional_t<std::is_same_v<From, bool>, std::uint8_t, From>;
        values.reserve(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            values.push_back(convert<To>(detail::load_element<Stored>(bytes.data(), i)));
    });
    return values;
}
/// Elements of a known value, converted. Pre: constant_of(t), and not of a file.
template <element To>
std::vector<To> constant_values(const any_tensor& t) {
    return values_of<To>(t.dtype(), constant_of(t)->bytes(), t.size());
}

}}  // namespace pumice::PUMICE_ABI
