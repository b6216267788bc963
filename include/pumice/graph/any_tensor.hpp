// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The tensor handle whose dtype and rank are known at run time.
#pragma once

#include <pumice/core/extents.hpp>
#include <pumice/core/layout.hpp>
#include <pumice/graph/node.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Named in compile errors: nothing can be done with it.
struct tensors_have_no_iterators_use_host_or_unstack {};

namespace detail {
struct in_place {};
}  // namespace detail

/// A value: a counted handle to a graph node. Copies are cheap and share the node; nothing changes
/// a node's value, so sharing cannot be seen.
class any_tensor {
public:
    any_tensor() = default;  // empty: may be assigned to and destroyed, everything else throws
    explicit any_tensor(node_ptr n) : node_(std::move(n)) {}
    /// Of the node that `make` writes here: a processor waits where it moves what was just written.
    template <class Make>
    any_tensor(detail::in_place, const Make& make) : node_(make()) {}

    bool has_value() const noexcept { return node_ != nullptr; }
    pumice::dtype dtype() const { return get()->type; }
    const pumice::shape& shape() const& { return get()->extent; }
    pumice::shape shape() && { return get()->extent; }  // `for (auto d : (a + b).shape())` is safe
    int rank() const { return get()->extent.rank(); }
    std::int64_t size() const { return get()->count(); }
    std::int64_t size_bytes() const { return byte_count(dtype(), size()); }
    /// What `named` called it, or after what it shows: "x (view)"; empty where it has no name.
    std::string name() const { return name_of(*get()); }

    node_ptr get() && { return std::as_const(*this).get(); }
    const node_ptr& get() const& {
        if (!node_)
            fail(errc::invalid_argument, "tensor",
                 {"the tensor is empty (default constructed or moved from)"});
        return node_;
    }

    /// Indexed as a typed tensor is (tensor/index.hpp).
    template <class... I>
    any_tensor operator()(const I&... index) const;
    template <class I>
    any_tensor operator[](const I& index) const;

    /// No tensor is a range, which would wait in silence: `host` gives one, `unstack` what lies
    /// along an axis.
    tensors_have_no_iterators_use_host_or_unstack begin() const;
    tensors_have_no_iterators_use_host_or_unstack end() const;

    /// The typed handle. Throws errc::dtype_mismatch or errc::shape_mismatch, naming both sides.
    template <class Tensor>
    Tensor as() const {
        return Tensor(*this);
    }

private:
    node_ptr node_;
};

}}  // namespace pumice::PUMICE_ABI
