// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The constants of a loaded model on its device: each is brought there once and shared by all runs.
// Of long ones, and of those that are left in files, the host keeps nothing.
#pragma once

#include <pumice/graph/view.hpp>
#include <pumice/model/detail/constant.hpp>
#include <pumice/model/detail/model_limits.hpp>
#include <pumice/model/provider.hpp>
#include <pumice/tensor/context.hpp>

#include <algorithm>
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

    /// Constants of at most `kept` elements the host may need later.
    weights(context home, std::optional<dtype> compute,
            std::int64_t kept = model_limits().folded_elements)
        : where_(std::move(home)), compute_(compute), kept_(kept) {}

    const context& where() const noexcept { return where_; }
    /// Who is asked first for each operator.
    std::vector<op_provider> providers;
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
        return there_.emplace(k, !c              ? made
                                 : is_long(made) ? once(made)
                                                 : up(made, c->bytes()))
            .first->second;
    }

    /// A constant as a tensor of the context; other tensors as they are.
    any_tensor upload(const any_tensor& t) {
        const host_constant* c = constant_of(t);
        if (!c) return t;
        if (!is_long(t)) return up(t, c->bytes());
        const std::lock_guard lock(mutex_);
        if (filled_ && !long_.contains(shared_constant(t))) return up(t, c->bytes());  // of one run
        return once(t);
    }

    /// Sees that a long constant is there, before what it is read from is closed.
    void keep(const any_tensor& t) {
        if (constant_of(t) && is_long(t)) upload(t);
    }

    /// Brings the bytes of long constants up, all at once, and has the host let go of them: after
    /// it none of them is read again. A constant that comes later is brought by itself. Throws
    /// errc::io_failed.
    void fill() {
        const std::lock_guard lock(mutex_);
        fill_empty();
        filled_ = true;
    }

    /// Brings the others up, and runs what is computed from constants alone, so that runs find it
    /// done. Views stay views.
    void settle() {
        std::vector<any_tensor> given, computed;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& [k, t] : there_)
                if (!is_view(*t.get())) (t.get()->realised() ? given : computed).push_back(t);
        }
        eval(computed);
        pumice::upload(given);
    }

private:
    /// f32 of a source as another type.
    class narrowed final : public byte_source {
    public:
        narrowed(const byte_source& from, dtype to) : from_(from), to_(to) {}
        void read(std::int64_t begin, span<std::byte> into) const override {
            const std::int64_t size = byte_offset(to_, 1),
                               factor = byte_offset(dtype::f32, 1) / size;
            std::vector<std::byte> piece(std::min<std::size_t>(into.size() *
                                                                   static_cast<std::size_t>(factor),
                                                               64 << 10));
            while (!into.empty()) {
                const auto n =
                    std::min(into.size(), piece.size() / static_cast<std::size_t>(factor));
                const auto from = span(piece).first(n * static_cast<std::size_t>(factor));
                from_.read(begin * factor, from);
                convert_bytes(from, into.data());
                into = into.subspan(n);
                begin += static_cast<std::int64_t>(n);
            }
        }
        void convert_bytes(span<const std::byte> from, std::byte* into) const {
            visit(to_, [&](auto to) {
                using To = decltype(to);
                if constexpr (!std::is_same_v<To, bool> && !packed_element<To>) {
                    const std::vector<To> values =
                        values_of<To>(dtype::f32, from, static_cast<std::int64_t>(from.size()) / 4);
                    std::memcpy(into, values.data(), values.size() * sizeof(To));
                }
            });
        }

    private:
        const byte_source& from_;
        dtype to_;
    };

    bool is_long(const any_tensor& t) const {
        return constant_of(t)->in_file() || t.size() > kept_;
    }
    dtype computed(dtype type) const { return compute_ && type == dtype::f32 ? *compute_ : type; }
    any_tensor up(const any_tensor& t, span<const std::byte> from) const {
        const dtype type = computed(t.dtype());
        if (type == t.dtype()) return from_bytes(type, t.shape(), from, where_);
        std::vector<std::byte> bytes(static_cast<std::size_t>(byte_count(type, t.size())));
        narrowed(*constant_of(t), type).convert_bytes(from, bytes.data());
        return from_bytes(type, t.shape(), bytes, where_);
    }

    /// A long constant has memory once, whatever shapes it is seen under; it is filled later.
    /// Pre: the mutex is held.
    any_tensor once(const any_tensor& t) {
        const auto c = shared_constant(t);
        auto found = long_.find(c);
        if (found == long_.end()) {
            const dtype type = computed(t.dtype());
            const any_tensor room(where_.get()->reserve(type, t.shape(), c->name));
            empty_.push_back({c, t.dtype(), room});
            if (filled_) fill_empty();
            found = long_.emplace(c, room).first;
        }
        const any_tensor& there = found->second;
        return there.shape() == t.shape() ? there : reshape(there, t.shape());
    }
    void fill_empty() {
        const std::vector<unfilled> rooms = std::exchange(empty_, {});
        std::vector<narrowed> others;
        others.reserve(rooms.size());
        array_list<filling> list;
        for (const unfilled& r : rooms) {
            const byte_source* from = r.bytes.get();
            if (r.to.dtype() != r.type) from = &others.emplace_back(*from, r.to.dtype());
            list.push_back({r.to.get(), from});
        }
        where_.get()->fill(list);
        for (const unfilled& r : rooms) r.bytes->let_go();
    }

    struct unfilled {
        std::shared_ptr<host_constant> bytes;
        dtype type;  // of them
        any_tensor to;
    };

    context where_;
    std::optional<dtype> compute_;
    std::int64_t kept_;
    mutable std::mutex mutex_;
    std::map<key, any_tensor> there_;
    std::map<std::shared_ptr<host_constant>, any_tensor> long_;
    std::vector<unfilled> empty_;
    bool filled_ = false;
};

}}  // namespace pumice::PUMICE_ABI
