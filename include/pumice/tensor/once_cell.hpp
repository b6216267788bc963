// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The node that copies of one expression share: made once, by whoever asks first.
#pragma once

#include <pumice/base/lock.hpp>
#include <pumice/graph/node.hpp>

namespace pumice { inline namespace PUMICE_ABI {

class once_cell {
public:
    once_cell() = default;
    once_cell(const once_cell& other) : state_(other.held()) {
        state_.load()->references.fetch_add(1);
    }
    once_cell(once_cell&& other) noexcept : state_(other.state_.exchange(nullptr)) {}
    once_cell& operator=(const once_cell& other) { return *this = once_cell(other); }
    once_cell& operator=(once_cell&& other) noexcept {
        state* const taken = other.state_.exchange(nullptr);
        drop(state_.exchange(taken));
        return *this;
    }
    ~once_cell() { drop(state_.load()); }

    /// The node; `make` is called by the first of all copies that ask, and again if it threw.
    template <class Make>
    node_ptr get(Make&& make) const {
        state& s = *held();
        const small_lock lock(s.mutex);
        if (!s.value) s.value = make();
        return s.value;
    }

    /// True where a copy was made, or somebody asked.
    bool shared() const noexcept { return state_.load(std::memory_order_acquire) != nullptr; }

private:
    struct state {
        std::atomic<int> references{1};
        small_mutex mutex;
        node_ptr value;
    };
    static void drop(state* s) noexcept {
        if (s && s->references.fetch_sub(1) == 1) delete s;
    }
    /// Made at the first copy or question, so that temporaries cost no allocation.
    state* held() const {
        state* s = state_.load(std::memory_order_acquire);
        if (s) return s;
        auto* fresh = new state;
        if (state_.compare_exchange_strong(s, fresh)) return fresh;
        delete fresh;
        return s;
    }
    mutable std::atomic<state*> state_{nullptr};
};

}}  // namespace pumice::PUMICE_ABI
