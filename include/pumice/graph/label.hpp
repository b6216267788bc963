// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a value is called, and what of a file it was made for: for plans, errors and profiles.
#pragma once

#include <pumice/base/hash.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// Shared and immutable; an empty one is a null pointer.
class node_label {
public:
    node_label() = default;
    /// `name`: of the value. `origin`: of what made it, as in `Conv "conv1"`. One may be empty.
    explicit node_label(std::string_view name, std::string_view origin = {}) {
        if (name.empty() && origin.empty()) return;
        text_ = new text{{1}, printable(name), printable(origin), 0};
        text_->hash = hasher{}.add(text_->name).add(text_->origin).value();
    }
    node_label(const node_label& other) noexcept : text_(other.text_) { hold(); }
    node_label(node_label&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
    node_label& operator=(node_label other) noexcept {
        std::swap(text_, other.text_);
        return *this;
    }
    ~node_label() { let_go(text_); }

    explicit operator bool() const noexcept { return text_ != nullptr; }
    std::string_view name() const noexcept { return text_ ? text_->name : std::string_view(); }
    std::string_view origin() const noexcept { return text_ ? text_->origin : std::string_view(); }
    /// The origin; of what has none, the name.
    std::string_view maker() const noexcept { return origin().empty() ? name() : origin(); }

private:
    friend class label_slot;
    struct text {
        std::atomic<int> holders;
        std::string name, origin;
        std::uint64_t hash;
    };
    /// A line: names come from files too.
    static std::string printable(std::string_view t) {
        std::string s(t);
        for (char& c : s)
            if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
        return s;
    }
    void hold() const noexcept {
        if (text_) text_->holders.fetch_add(1, std::memory_order_relaxed);
    }
    static void let_go(text* t) noexcept {
        if (t && t->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete t;
    }
    text* text_ = nullptr;
};

/// Where a node has its label: set at most once while others may look.
class label_slot {
public:
    label_slot() = default;
    label_slot(const label_slot&) = delete;
    label_slot& operator=(const label_slot&) = delete;
    ~label_slot() { node_label::let_go(text_.load(std::memory_order_relaxed)); }

    bool empty() const noexcept { return !text_.load(std::memory_order_relaxed); }
    node_label get() const noexcept {
        node_label l;
        l.text_ = text_.load(std::memory_order_acquire);
        l.hold();
        return l;
    }
    /// 0 where there is none.
    std::uint64_t hash() const noexcept {
        const node_label::text* const t = text_.load(std::memory_order_acquire);
        return t ? t->hash : 0;
    }
    /// False where there is one already, which stays.
    bool set(node_label l) noexcept {
        node_label::text* none = nullptr;
        if (!text_.compare_exchange_strong(none, l.text_, std::memory_order_acq_rel)) return false;
        l.text_ = nullptr;
        return true;
    }

private:
    std::atomic<node_label::text*> text_{nullptr};
};

}}  // namespace pumice::PUMICE_ABI
