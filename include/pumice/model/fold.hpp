// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Evaluates small graphs of constants on the host while a model is loaded, by the host's
// elementwise path: what a model computes about shapes becomes a constant and costs nothing at run
// time.
#pragma once

#include <pumice/expr/host.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/affine.hpp>
#include <pumice/model/detail/constant.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Dense row-major elements, aligned for every type.
struct folded {
    std::shared_ptr<const std::vector<std::byte>> bytes;
    dtype type;
    shape extent;

    host_array array(const shape& domain) const {  // as an operand broadcast to `domain`
        host_array a{const_cast<std::byte*>(bytes->data()), type, 0,
                     strides::filled(domain.rank(), 0)};
        const strides dense = row_major_strides(extent);
        for (int i = 0; i < extent.rank(); ++i)
            if (extent[i] != 1) a.steps[i + domain.rank() - extent.rank()] = dense[i];
        return a;
    }
};

class folder {
public:
    explicit folder(std::int64_t limit) : limit_(limit) {}

    /// The value of `root`, or nothing where a node is too large or of a kind that is left to the
    /// device.
    const folded* run(const node_ptr& root) {
        const node_ptr roots[] = {root};
        for (const node* n : order_of(roots[0])) {
            auto value = evaluate(*n);
            if (!value) return nullptr;
            values_.emplace(n, std::move(*value));
        }
        return &values_.at(root.get());
    }

private:
    /// Inputs before users, without recursion.
    static std::vector<const node*> order_of(const node_ptr& root) {
        std::vector<const node*> order;
        std::map<const node*, bool> done;
        std::vector<const node*> stack{root.get()};
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

    std::optional<folded> evaluate(const node& n) {
        if (n.owner || n.count() > limit_) return std::nullopt;
        if (n.data) return source(n);
        if (n.count() == 0)
            return folded{std::make_shared<std::vector<std::byte>>(), n.type, n.extent};
        return n.op.visit([&](const auto& op) { return apply(n, op); });
    }

    static folded source(const node& n) {
        const auto bytes = static_cast<const host_constant*>(n.data.get())->bytes();
        return {std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end()), n.type,
                n.extent};
    }

    const folded& input(const node& n, std::size_t i) const {
        return values_.at(n.inputs[i].get());
    }

    /// Runs a program over the node's extent into a new array.
    static folded compute(const node& n, program_view p, std::span<const host_array> leaves,
                          std::span<const scalar> scalars) {
        auto bytes = std::make_shared<std::vector<std::byte>>(
            static_cast<std::size_t>(byte_count(n.type, n.count())));
        const host_array out[] = {{bytes->data(), n.type, 0, row_major_strides(n.extent)}};
        run_on_host(p, n.extent, leaves, scalars, out);
        return {std::move(bytes), n.type, n.extent};
    }

    std::optional<folded> apply(const node& n, const elementwise_op& e) const {
        std::vector<host_array> leaves;
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            leaves.push_back(input(n, i).array(n.extent));
        for (int axis : e.iota_axes) {
            host_array a{nullptr, dtype::i64, 0, strides::filled(n.extent.rank(), 0)};
            if (axis < 0) a.steps = row_major_strides(n.extent);
            else a.steps[axis] = 1;
            leaves.push_back(a);
        }
        return compute(n, e.body->view(), leaves, e.scalars);
    }

    std::optional<folded> apply(const node& n, const view_op& v) const {
        const folded& x = input(n, 0);
        operand at;
        affine::identity(n.extent.rank()).through(v).locate(row_major_strides(x.extent), at);
        const host_array leaf[] = {
            {const_cast<std::byte*>(x.bytes->data()), x.type, at.offset, at.steps}};
        const instruction read{instruction::code::leaf, x.type, 0, {}, nullptr};
        const std::uint16_t output = 0;
        return compute(n, {{&read, 1}, {&output, 1}}, leaf, {});
    }

    std::optional<folded> apply(const node& n, const reshape_op&) const {
        return folded{input(n, 0).bytes, n.type, n.extent};
    }
    std::optional<folded> apply(const node& n, const copy_op&) const {
        return folded{input(n, 0).bytes, n.type, n.extent};
    }

    std::optional<folded> apply(const node& n, const concat_op& c) const {
        auto out = std::make_shared<std::vector<std::byte>>();
        std::int64_t rows = 1;
        for (int i = 0; i < c.axis; ++i) rows *= n.extent[i];
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::size_t i = 0; i < n.inputs.size(); ++i) {
                const auto& from = *input(n, i).bytes;
                const std::size_t piece = from.size() / static_cast<std::size_t>(rows);
                const auto begin = from.begin() + static_cast<std::ptrdiff_t>(piece) * r;
                out->insert(out->end(), begin, begin + static_cast<std::ptrdiff_t>(piece));
            }
        return folded{std::move(out), n.type, n.extent};
    }

    std::optional<folded> apply(const node& n, const take_op& t) const {
        if (t.what != taking::slices) return std::nullopt;
        const folded &values = input(n, 0), &at = input(n, 1);
        const auto indices =
            constant_values<std::int64_t>(make_constant(at.type, at.extent, *at.bytes));
        std::int64_t rows = 1, inner = 1;
        for (int i = 0; i < t.axis; ++i) rows *= values.extent[i];
        for (int i = t.axis + 1; i < values.extent.rank(); ++i) inner *= values.extent[i];
        const std::int64_t length = values.extent[t.axis], piece = byte_count(values.type, inner);
        auto out = std::make_shared<std::vector<std::byte>>();
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t i : indices) {
                const std::int64_t k =
                    std::clamp<std::int64_t>(i < 0 ? i + length : i, 0, length - 1);
                const auto begin = values.bytes->begin() + (r * length + k) * piece;
                out->insert(out->end(), begin, begin + piece);
            }
        return folded{std::move(out), n.type, n.extent};
    }

    std::optional<folded> apply(const node& n, const reduce_op& r) const {
        if (r.what != reduction::sum && r.what != reduction::prod && r.what != reduction::max &&
            r.what != reduction::min)
            return std::nullopt;
        const op_info& op = r.what == reduction::sum    ? op_info_of<op::add>
                            : r.what == reduction::prod ? op_info_of<op::multiply>
                            : r.what == reduction::max  ? op_info_of<op::maximum>
                                                        : op_info_of<op::minimum>;
        return fold_pairs(n, r, op);
    }

    /// Combines slice after slice along the reduced axes.
    std::optional<folded> fold_pairs(const node& n, const reduce_op& r, const op_info& op) const {
        const folded& x = input(n, 0);
        const strides dense = row_major_strides(x.extent);
        shape outer, inner;
        strides outer_steps, inner_steps;
        for (int i = 0; i < x.extent.rank(); ++i) {
            const bool gone = std::binary_search(r.axes.begin(), r.axes.end(), i);
            (gone ? inner : outer).push_back(x.extent[i]);
            (gone ? inner_steps : outer_steps).push_back(dense[i]);
        }
        std::vector<std::int64_t> offsets;
        shape rows = inner;
        rows.push_back(1);  // for_each_row leaves out the last axis
        for_each_row(rows, [&](const index_list& at) {
            offsets.push_back(offset_of({nullptr, n.type, 0, inner_steps}, at));
        });
        constexpr std::size_t most_passes = 4096;  // over the result; more are the device's
        if (offsets.size() > most_passes) return std::nullopt;
        auto bytes = std::make_shared<std::vector<std::byte>>(
            static_cast<std::size_t>(byte_count(n.type, n.count())));
        const strides out_steps = row_major_strides(outer);
        const host_array total{bytes->data(), n.type, 0, out_steps};
        const instruction fill{instruction::code::scalar, n.type, 0, {}, nullptr};
        const std::uint16_t first = 0, last = 2;
        const scalar start[] = {scalar(n.type, op.name == op::multiply::name ? 1 : 0)};
        const instruction pair[] = {{instruction::code::leaf, n.type, 0, {}, nullptr},
                                    {instruction::code::leaf, n.type, 1, {}, nullptr},
                                    {instruction::code::apply, n.type, 0, {0, 1}, &op}};
        const instruction read{instruction::code::leaf, n.type, 0, {}, nullptr};
        const bool identity = r.what == reduction::sum || r.what == reduction::prod;
        if (identity) run_on_host({{&fill, 1}, {&first, 1}}, outer, {}, start, {&total, 1});
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            const host_array leaves[] = {
                total, {const_cast<std::byte*>(x.bytes->data()), n.type, offsets[i], outer_steps}};
            if (i == 0 && !identity)
                run_on_host({{&read, 1}, {&first, 1}}, outer, {&leaves[1], 1}, {}, {&total, 1});
            else run_on_host({pair, {&last, 1}}, outer, leaves, {}, {&total, 1});
        }
        return folded{std::move(bytes), n.type, n.extent};
    }

    /// Products, windows and softmax are the device's.
    template <class Op>
    std::optional<folded> apply(const node&, const Op&) const {
        return std::nullopt;
    }

    std::int64_t limit_;
    std::map<const node*, folded> values_;
};

}  // namespace detail

/// `t` as a constant where it is one, or becomes one by computing at most `limit` elements a node.
inline std::optional<any_tensor> fold(const any_tensor& t, std::int64_t limit) {
    if (constant_of(t)) return t;
    // A view of the same bytes under another shape takes no memory, however large.
    const node_ptr* base = &t.get();
    while ((*base)->op.is<reshape_op>() && !(*base)->owner && !(*base)->data)
        base = &(*base)->inputs[0];
    if (const any_tensor known(*base); constant_of(known))
        return make_constant(t.dtype(), t.shape(), shared_constant(known));
    detail::folder f(limit);
    const detail::folded* value = f.run(*base);
    if (!value) return std::nullopt;
    return make_constant(t.dtype(), t.shape(), std::make_shared<host_constant>(value->bytes));
}

}}  // namespace pumice::PUMICE_ABI
