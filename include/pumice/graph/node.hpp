// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A node of the lazy graph, immutable but for its one-way state: lazy, then realised.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/lock.hpp>
#include <pumice/base/thread_cache.hpp>
#include <pumice/graph/label.hpp>
#include <pumice/graph/operation.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

class engine;

/// Memory of realised nodes; what it is belongs to the engine that made it.
class storage {
public:
    virtual ~storage() = default;

    /// A run has begun to write over the values, and did not come to its end: what is there is
    /// nobody's. Only the run that holds the memory alone sets it, and takes it back at its end.
    bool lost = false;
};

/// Realised: the work is submitted; the storage knows the timeline value at which it is done.
enum class node_state : std::uint8_t { lazy, realised };

struct node;
using node_ptr = std::shared_ptr<node>;

/// Why a node's kernel is what it is; kept after evaluation for `explain`.
struct kernel_record {
    std::string kernel;                 // chosen kernel and its entry
    std::string fused;                  // the ops that it computes
    std::vector<std::string> rejected;  // other candidates and why not
    std::string configuration = {};     // its tile or cut; empty where it has one way
    double seconds = 0;                 // that it is expected to take; 0: not said
    int dispatches = 0;
    std::int64_t written = 0;  // bytes of results
    std::string origin = {};   // the nodes that it computes, where they have names
    std::string place = {};    // the device, where a context has several
};

namespace detail {
/// The number of the function that this thread traces into a graph of its own (graph/control.hpp),
/// 0: none. Those that begin later have greater ones.
inline thread_local constinit std::uint64_t current_scope = 0;
/// Those that this thread traces now, the innermost first, with what traces them ("while_loop").
struct open_scope {
    std::uint64_t number;
    const char* name;
    const open_scope* outer;
};
inline thread_local constinit const open_scope* open_scopes = nullptr;
}  // namespace detail

struct node {
    dtype type = dtype::f32;
    shape extent;
    operation op;
    array_list<node_ptr> inputs;  // dropped when realised
    std::shared_ptr<engine> owner;

    std::int64_t offset = 0;                      // of the first element in `data`, in elements
    std::shared_ptr<storage> data;                // set when realised
    std::shared_ptr<const kernel_record> record;  // likewise

    std::atomic<node_state> state{node_state::lazy};
    /// Lazy nodes that read this one, a view while somebody reads the view; counts while it is
    /// lazy.
    std::atomic<int> pending_uses{0};
    /// An evaluation computed it within the kernel that reads it and stored it nowhere.
    std::atomic<bool> computed_within{false};
    label_slot label;                                   // nothing depends on it but what is printed
    const std::uint64_t scope = detail::current_scope;  // in which it was made

    node(dtype t, const shape& s, operation&& o, const std::shared_ptr<engine>& home)
        : type(t), extent(s), op(std::move(o)),
          owner(home, home.get()),  // of a plain copy g++ waits to read back what it stored
          layout_(row_major_strides(s)) {}
    node(const node&) = delete;
    node& operator=(const node&) = delete;
    ~node() {
        if (!inputs.empty()) release_inputs();
    }

    bool realised() const noexcept {
        return state.load(std::memory_order_acquire) == node_state::realised;
    }
    std::int64_t count() const { return element_count(extent); }

    /// Of the memory, realised or to be, in elements: row-major unless `lay_out` said otherwise.
    const strides& layout() const noexcept { return layout_; }
    bool row_major() const noexcept { return row_major_; }
    void lay_out(const strides& steps) noexcept {
        layout_ = steps;
        row_major_ = is_row_major(extent, steps);
    }

    /// A node that reads this one is made (1), or is done with it (-1).
    void count_use(int change) noexcept;

    /// Of a view, or what is read by a map: the node that it looks at, null once it is realised.
    /// Others may evaluate it meanwhile.
    node_ptr viewed() const noexcept {
        const small_lock lock(inputs_of_view_);
        return inputs.empty() ? nullptr : inputs[0];
    }

    /// From now on the node's values are in `memory`, at `layout` and `offset`.
    [[gnu::always_inline]] void realise(std::shared_ptr<storage> memory) noexcept {
        data = std::move(memory);
        state.store(node_state::realised, std::memory_order_release);
    }

    /// Drops the inputs without recursion and without memory, however long the chain of nodes that
    /// only they keep alive.
    void release_inputs() noexcept;

private:
    static void let_go(node_ptr n) noexcept;

    strides layout_;
    bool row_major_ = true;
    mutable small_mutex inputs_of_view_;
};

/// A node that computes nothing: where it can, it looks at its input's memory.
/// What a lazy view looks at is no lazy view, what a lazy reshape looks at neither view nor
/// reshape, as long as both are lazy: views of views are composed when they are made
/// (graph/view.hpp).
inline bool is_view(const node& n) noexcept { return n.op.is<view_op>() || n.op.is<reshape_op>(); }
/// A node that is read of its first input by an index map: another map of it may be composed with.
inline bool reads_by_map(const node& n) noexcept {
    const auto* const e = n.op.get_if<elementwise_op>();
    return e && !e->map.empty();
}

/// The label of what shows a value: its name with a word behind, "x (view)".
/// `from`: the shape of that, where it is known.
PUMICE_FUNCTION node_label label_of_view(const node& view, const shape* from, const node_label& of);
/// The name of a value, empty where it has none.
PUMICE_FUNCTION std::string name_of(const node& n);
/// A view that is about to be realised goes on to be called after what it shows, where there is
/// memory for that.
PUMICE_FUNCTION void keep_label_of_view(node& n) noexcept;

/// Where kernels that read a realised tensor count from, in elements of its memory: the last
/// multiple of 16 bytes at or before the lowest element that it holds. Wide loads are aligned to
/// it, and no index is negative, which drivers widen as unsigned.
inline std::int64_t base_of(const node& n) noexcept {
    std::int64_t lowest = n.offset;
    if (!n.row_major())
        for (int d = 0; d < n.extent.rank(); ++d)
            if (n.layout()[d] < 0 && n.extent[d] > 0) lowest += n.layout()[d] * (n.extent[d] - 1);
    return lowest - lowest % (128 / info(n.type).bits);
}
/// What a plan knows of a realised tensor's offset.
inline std::int64_t offset_from_base(const node& n) noexcept { return n.offset - base_of(n); }
/// Whether the two are one buffer to kernels: views of one memory that show the same elements.
inline bool same_memory(const node& a, const node& b) noexcept {
    return &a == &b ||
           (a.data && a.data == b.data && a.type == b.type && a.offset == b.offset &&
            (a.row_major() && b.row_major() ? a.count() == b.count()
                                            : a.extent == b.extent && a.layout() == b.layout()));
}

inline void node::count_use(int change) noexcept {
    if (realised()) return;
    const int before = pending_uses.fetch_add(change, std::memory_order_relaxed);
    if (before == (change > 0 ? 0 : 1) && is_view(*this))
        if (const node_ptr n = viewed()) n->count_use(change);
}

/// A node of its own, without inputs.
inline node_ptr allocate_node(dtype type, const shape& extent, operation&& op,
                              const std::shared_ptr<engine>& owner) {
    return std::allocate_shared<node>(detail::thread_cache_allocator<node>(), type, extent,
                                      std::move(op), owner);
}

/// Makes a lazy node; its memory will be row-major unless it is laid out otherwise. Throws
/// errc::size_overflow for a tensor whose bytes cannot be counted, and errc::context_mismatch.
PUMICE_FUNCTION node_ptr make_node(dtype type, const shape& extent, operation op,
                                   array_list<node_ptr> inputs);
/// The same for what was made before, as of a copy: no provider of the context's is asked.
PUMICE_FUNCTION node_ptr link_node(dtype type, const shape& extent, operation op,
                                   array_list<node_ptr> inputs);
namespace detail {
/// Shows a node that is called to the providers of its context (tensor/engine.hpp).
PUMICE_FUNCTION void offer_node(node_ptr& made);
}  // namespace detail

/// Makes a realised node: values that somebody gave, in row-major order.
PUMICE_FUNCTION node_ptr make_data(dtype type, const shape& extent, std::shared_ptr<storage> memory,
                                   std::shared_ptr<engine> owner = nullptr);

/// A graph with open inputs, as tracing a function gives it.
struct traced_graph {
    array_list<node_ptr> inputs;  // realised nodes without memory
    array_list<node_ptr> keys;    // the same, for the random keys that each run takes: one u32 each
    array_list<node_ptr> outputs;  // distinct lazy nodes, no views
};

#ifndef PUMICE_COMPILED

PUMICE_INLINE void node::release_inputs() noexcept {
    // Of a view no use was counted: nobody reads it any more, or what it looks at is realised.
    const bool counted = !is_view(*this);
    array_list<node_ptr> list;
    if (counted && !reads_by_map(*this)) {
        list.swap(inputs);
    } else {
        const small_lock lock(inputs_of_view_);
        list.swap(inputs);
    }
    for (const node_ptr& input : list)
        if (counted) input->count_use(-1);
    for (node_ptr& input : list) let_go(std::move(input));
}
/// Walks down by the last inputs of dying nodes; the way back stands in their places.
PUMICE_INLINE void node::let_go(node_ptr n) noexcept {
    node_ptr above;  // `n` was its last input, where now the node above it stands
    while (n) {
        if (n.use_count() == 1 && !n->inputs.empty()) {
            node_ptr input = std::move(n->inputs.back());
            if (!is_view(*n)) input->count_use(-1);
            n->inputs.back() = std::move(above);
            above = std::move(n);
            n = std::move(input);
            continue;
        }
        n = std::move(above);
        if (!n) break;
        above = std::move(n->inputs.back());
        n->inputs.pop_back();
    }
}

PUMICE_BODY node_label label_of_view(const node& view, const shape* from, const node_label& of) {
    const view_op* const v = view.op.get_if<view_op>();
    bool permuted = v && from && v->source.rank() == from->rank();
    for (int i = 0; permuted && i < v->source.rank(); ++i) {
        const auto axis = static_cast<int>(v->source[i]);
        permuted =
            axis >= 0 && v->step[i] == 1 && v->start[axis] == 0 && view.extent[i] == (*from)[axis];
    }
    const char* const word = permuted ? " (permuted)" : v ? " (view)" : " (reshaped)";
    return node_label(of.name().empty() ? "" : cat({of.name(), word}), of.origin());
}

PUMICE_BODY std::string name_of(const node& n) {
    if (n.label.empty() && !n.realised() && is_view(n))
        if (const node_ptr of = n.viewed())
            return std::string(label_of_view(n, &of->extent, node_label(name_of(*of))).name());
    return std::string(n.label.get().name());
}
PUMICE_BODY void keep_label_of_view(node& n) noexcept {
    if (!is_view(n) || n.inputs.empty() || !n.label.empty() || n.inputs[0]->label.empty()) return;
    try {
        n.label.set(label_of_view(n, &n.inputs[0]->extent, n.inputs[0]->label.get()));
    } catch (const std::bad_alloc&) {
    }
}

PUMICE_BODY node_ptr make_node(dtype type, const shape& extent, operation op,
                               array_list<node_ptr> inputs) {
    node_ptr n = link_node(type, extent, std::move(op), std::move(inputs));
    if (n->owner) detail::offer_node(n);
    return n;
}

PUMICE_BODY node_ptr link_node(dtype type, const shape& extent, operation op,
                               array_list<node_ptr> inputs) {
    static_cast<void>(byte_count(type, element_count(extent)));
    for (const node_ptr& input : inputs)
        if (input->owner != inputs.front()->owner)
            fail(errc::context_mismatch, "graph",
                 {"operands of shapes ", to_string(inputs.front()->extent), " and ",
                  to_string(input->extent),
                  " belong to two contexts; copy one with `to(tensor, context)`"});
    node_ptr n = allocate_node(type, extent, std::move(op),
                               inputs.empty() ? nullptr : inputs.front()->owner);
    if (!is_view(*n))
        for (const node_ptr& input : inputs) input->count_use(1);
    n->inputs = std::move(inputs);
    return n;
}

PUMICE_BODY node_ptr make_data(dtype type, const shape& extent, std::shared_ptr<storage> memory,
                               std::shared_ptr<engine> owner) {
    node_ptr n = make_node(type, extent, source_op{}, {});
    n->owner = std::move(owner);
    n->realise(std::move(memory));
    return n;
}

#endif

}}  // namespace pumice::PUMICE_ABI
