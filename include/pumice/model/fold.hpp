// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a model computes of constants alone becomes a constant while it is loaded, by an engine of
// the host's own: ops mean what they mean everywhere. Here stands which nodes are folded.
#pragma once

#include <pumice/model/detail/constant.hpp>
#include <pumice/policy/policies.hpp>
#include <pumice/tensor/engine.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// Thread-safe. Its engine is made when it is needed first.
class constant_folder {
public:
    /// `t` as a constant where it is one, or becomes one by computing at most `limit` elements a
    /// node; nothing where a node is larger, or is left to the device. Throws errc::no_engine in a
    /// program of front headers only.
    std::optional<any_tensor> fold(const any_tensor& t, std::int64_t limit) const {
        if (constant_of(t)) return t;
        // A view of the same bytes under another shape takes no memory, however large.
        const node_ptr* base = &t.get();
        while ((*base)->op.is<reshape_op>() && !(*base)->owner && !(*base)->data)
            base = &(*base)->inputs[0];
        if (const any_tensor known(*base); constant_of(known))
            return make_constant(t.dtype(), t.shape(), shared_constant(known));
        const std::vector<const node*> order = inputs_first(**base);
        for (const node* n : order)
            if (!is_folded(*n, limit)) return std::nullopt;
        std::vector<std::byte> bytes(static_cast<std::size_t>(t.size_bytes()));
        if (!bytes.empty()) compute(order, bytes.data());
        return make_constant(t.dtype(), t.shape(), std::move(bytes));
    }

private:
    /// Products, windows, softmax and sorts cost more than their elements: they are the device's.
    static bool is_folded(const node& n, std::int64_t limit) {
        if (n.owner || n.count() > limit) return false;
        return n.data || n.op.is<elementwise_op>() || is_view(n) || n.op.is<copy_op>() ||
               n.op.is<concat_op>() || n.op.is<take_op>() || n.op.is<reduce_op>();
    }

    /// What a node is made of, without recursion; the node itself is last.
    static std::vector<const node*> inputs_first(const node& root) {
        std::vector<const node*> order, stack{&root};
        std::map<const node*, bool> done;
        while (!stack.empty()) {
            const node* n = stack.back();
            bool ready = true;
            if (!done.contains(n))
                for (const node_ptr& input : n->inputs)
                    if (!done.contains(input.get())) stack.push_back(input.get()), ready = false;
            if (!ready) continue;
            if (done.emplace(n, true).second) order.push_back(n);
            stack.pop_back();
        }
        return order;
    }

    /// Each node by itself, so that no more is planned at a time than one op.
    void compute(const std::vector<const node*>& order, std::byte* out) const {
        const std::shared_ptr<engine> host = home();
        std::map<const node*, node_ptr> copies;  // of the engine; the originals outlive them
        for (const node* n : order) {
            node_ptr& copy = copies[n];
            if (n->data) {
                copy =
                    static_cast<const host_constant*>(n->data.get())->with_bytes([&](auto bytes) {
                        return host->create(n->type, n->extent, bytes.data());
                    });
                continue;
            }
            array_list<node_ptr> inputs;
            for (const node_ptr& input : n->inputs) inputs.push_back(copies.at(input.get()));
            copy = link_node(n->type, n->extent, operation::borrowed(n->op), std::move(inputs));
            copy->owner = host;  // of a node without inputs
            host->eval(span(&copy, 1));
        }
        host->read(copies.at(order.back()), out);
    }

    std::shared_ptr<engine> home() const {
        const std::lock_guard lock(mutex_);
        if (!host_) {
            policy_set policies;
            host_only{}.apply(policies);
            host_ = make_engine_for(std::move(policies));
        }
        return host_;
    }

    mutable std::mutex mutex_;
    mutable std::shared_ptr<engine> host_;
};

}}  // namespace pumice::PUMICE_ABI
