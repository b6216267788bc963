// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The constants of a loaded model on its device: each is uploaded once and shared by all runs.
#pragma once

#include <pumice/graph/view.hpp>
#include <pumice/model/detail/constant.hpp>
#include <pumice/tensor/context.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// Thread-safe. Precision: with `compute`, f32 constants are converted on the host before they go
/// up.
class weights {
public:
    /// Names a constant: of a value of the model, or made by a node for itself.
    using key = std::pair<int, int>;
    static constexpr key of_slot(int slot) noexcept { return {slot, -1}; }
    static constexpr key of_step(int step, int number) noexcept { return {step, number}; }

    weights(context where, std::optional<dtype> compute)
        : where_(std::move(where)), compute_(compute) {}

    const context& where() const noexcept { return where_; }
    std::optional<dtype> compute() const noexcept { return compute_; }

    std::optional<any_tensor> find(key k) const {
        const std::lock_guard lock(mutex_);
        const auto found = there_.find(k);
        return found == there_.end() ? std::nullopt : std::optional(found->second);
    }

    /// The tensor kept under `k`; otherwise make(), uploaded where it is a constant, and kept.
    template <class Make>
    any_tensor get(key k, Make&& make) {
        const std::lock_guard lock(mutex_);
        const auto found = there_.find(k);
        if (found != there_.end()) return found->second;
        const any_tensor made = make();
        const host_constant* c = constant_of(made);
        return there_.emplace(k, !c             ? made
                                 : c->in_file() ? once(made)
                                                : up(made, c->bytes()))
            .first->second;
    }

    /// A constant as a tensor of the context; other tensors as they are.
    any_tensor upload(const any_tensor& t) {
        const host_constant* c = constant_of(t);
        if (!c) return t;
        if (!c->in_file()) return up(t, c->bytes());
        const std::lock_guard lock(mutex_);
        return once(t);
    }

    /// Sees that a constant of a file is there, before the file is closed.
    void keep(const any_tensor& t) {
        if (const host_constant* c = constant_of(t); c && c->in_file()) upload(t);
    }

    /// Runs what is computed from constants alone and brings the others up, so that runs find it
    /// done. Views stay views.
    void settle() {
        std::vector<any_tensor> given, computed;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& [k, t] : there_)
                if (!is_view(*t.get())) (t.get()->realised() ? given : computed).push_back(t);
            for (const auto& [c, t] : read_) given.push_back(t);
        }
        eval(computed);
        pumice::upload(given);
    }

private:
    any_tensor up(const any_tensor& t, std::span<const std::byte> from) const {
        if (!compute_ || t.dtype() != dtype::f32 || *compute_ == dtype::f32)
            return from_bytes(t.dtype(), t.shape(), from, where_);
        std::vector<std::byte> bytes;
        visit(*compute_, [&](auto to) {
            using To = decltype(to);
            if constexpr (!std::is_same_v<To, bool>) {
                const auto values = values_of<To>(t.dtype(), from);
                const auto raw = std::as_bytes(std::span(values));
                bytes.assign(raw.begin(), raw.end());
            }
        });
        return from_bytes(*compute_, t.shape(), bytes, where_);
    }

    /// A constant of a file is read once, whatever shapes it is seen under. Pre: the mutex is held.
    any_tensor once(const any_tensor& t) {
        const auto c = shared_constant(t);
        auto found = read_.find(c);
        if (found == read_.end())
            found = read_.emplace(c, c->with_bytes([&](auto bytes) { return up(t, bytes); })).first;
        const any_tensor& there = found->second;
        return there.shape() == t.shape() ? there : reshape(there, t.shape());
    }

    context where_;
    std::optional<dtype> compute_;
    mutable std::mutex mutex_;
    std::map<key, any_tensor> there_;
    std::map<std::shared_ptr<host_constant>, any_tensor> read_;
};

}}  // namespace pumice::PUMICE_ABI
