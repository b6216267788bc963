// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What two evaluations share where the same plan serves both.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/op_functions.hpp>

#include <bit>

namespace pumice { inline namespace PUMICE_ABI {

/// What of a graph decides its plan, as words: ops, types, shapes and who reads what. Not in it are
/// numbers of programs, and where inputs lie in memory but for their alignment.
class graph_key {
public:
    void clear() noexcept { words_.clear(); }
    void add(std::uint64_t word) { words_.push_back(word); }
    template <class... W>
    void add_all(W... words) {
        words_.append({static_cast<std::uint64_t>(words)...});
    }
    void add_list(const index_list& list) {
        add(static_cast<std::uint64_t>(list.rank()));
        for (const std::int64_t v : list) add(static_cast<std::uint64_t>(v));
    }
    void add_axes(const array_list<int>& list) {
        add(list.size());
        for (const int v : list) add(static_cast<std::uint64_t>(v));
    }
    void add_op(const operation& op);

    std::uint64_t hash() const noexcept {
        std::uint64_t h = words_.size();
        for (const std::uint64_t w : words_) h = (std::rotl(h, 23) ^ w) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 32;
    }
    const array_list<std::uint64_t>& words() const noexcept { return words_; }

private:
    array_list<std::uint64_t> words_;
};

namespace detail {

struct op_words {
    graph_key& key;

    void operator()(const source_op&) const {}
    void operator()(const other_op& other) const { other.family.add_words(other.op, key); }
    void operator()(const elementwise_op& op) const {
        key.add_all(op.body->code.size(), op.body->outputs.size());
        for (const instruction& i : op.body->code)
            key.add_all(static_cast<std::uint64_t>(i.what) << 32 |
                            static_cast<std::uint64_t>(i.type) << 16 | i.index,
                        static_cast<std::uint64_t>(i.args[0]) << 32 |
                            static_cast<std::uint64_t>(i.args[1]) << 16 | i.args[2],
                        i.format ? detail::bits_of_key(i.format)
                        : i.map  ? i.map
                                 : detail::bits_of_key(i.op));
        for (const std::uint16_t o : op.body->outputs) key.add(o);
        key.add_axes(op.iota_axes);
        for (const mapped_axis& a : op.map)  // as many as the program's form says
            key.add_all(a.extent, a.add, a.length);
    }
    void operator()(const view_op& op) const {
        key.add_list(op.start);
        key.add_list(op.source);
        key.add_list(op.step);
    }
    void operator()(const reshape_op&) const {}
    void operator()(const copy_op& op) const { key.add_list(op.layout); }
    void operator()(const reduce_op& op) const {
        key.add_all(op.what, op.keepdims, detail::bits_of_key(op.by));
        key.add_axes(op.axes);
    }
    void operator()(const normalize_op& op) const {
        key.add_all(op.what, std::bit_cast<std::uint64_t>(op.epsilon));
        key.add_axes(op.axes);
    }
    void operator()(const matmul_op&) const {}
    void operator()(const conv_op& op) const {
        key.add_all(op.stride[0], op.stride[1], op.dilation[0], op.dilation[1], op.pad_begin[0],
                    op.pad_begin[1], op.pad_end[0], op.pad_end[1], op.group);
    }
    void operator()(const pool_op& op) const {
        key.add_all(op.what, op.window[0], op.window[1], op.stride[0], op.stride[1], op.dilation[0],
                    op.dilation[1], op.pad_begin[0], op.pad_begin[1], op.pad_end[0], op.pad_end[1],
                    op.ceil_mode, op.count_include_pad);
    }
    void operator()(const concat_op& op) const { key.add_all(op.axis); }
    void operator()(const take_op& op) const { key.add_all(op.axis, op.what); }
    void operator()(const scan_op& op) const {
        key.add_all(op.what, op.axis, op.leads, op.reverse);
    }
    void operator()(const sort_op& op) const { key.add_all(op.axis, op.descending, op.first); }
    void operator()(const scatter_op& op) const { key.add_all(op.what, op.from_end); }
    void operator()(const assign_op& op) const {
        (*this)(op.part);
        key.add_list(op.extent);
        key.add(op.parts.size());
        for (const view_op& part : op.parts) (*this)(part);
        for (const shape& extent : op.extents) key.add_list(extent);
    }
    void operator()(const kernel_op& op) const {
        const kernel_call& call = *op.call;
        // The plan keeps the call, and so the kernel: no other can have its address.
        key.add_all(detail::bits_of_key(call.what.get()), op.output, call.names.size(),
                    call.inputs.size(), call.outputs.size(), call.scalars.size());
        for (const auto& [name, type] : call.names) key.add_all(type);
        for (const auto* list : {&call.inputs, &call.outputs})
            for (const kernel_value& v : *list) {
                key.add_all(v.dtype);
                key.add_list(v.shape);
            }
        for (const scalar& s : call.scalars) key.add_all(s.type, s.bits);
        for (const std::int64_t n : call.threads) key.add_all(n);
    }
};

}  // namespace detail

inline void graph_key::add_op(const operation& op) {
    add(op.family());
    op.visit(detail::op_words{*this});
}

}}  // namespace pumice::PUMICE_ABI
