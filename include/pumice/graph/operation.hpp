// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a graph node computes: one small struct per op family, data only.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/hash.hpp>
#include <pumice/base/of_engine.hpp>
#include <pumice/core/index_map.hpp>
#include <pumice/core/scalar.hpp>
#include <pumice/core/shape.hpp>
#include <pumice/expr/program.hpp>

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// A program made at run time.
struct program {
    array_list<instruction> code;
    array_list<std::uint16_t> outputs;

    std::uint16_t push(const instruction& i) {
        code.push_back(i);
        return static_cast<std::uint16_t>(code.size() - 1);
    }
    program_view view() const noexcept {
        return {{code.data(), code.size()}, {outputs.data(), outputs.size()}};
    }
};

/// What a kernel of an op takes over from the nodes about it (graph/passes/fuse.hpp).
struct fusion_traits {
    bool prologue = false;          // elementwise producers, as it reads
    bool epilogue = false;          // elementwise consumers, before it stores
    bool repeats_prologue = false;  // it reads an element more than once
};

/// Data that the user gave, or the result of an evaluated node.
struct source_op {
    static constexpr std::string_view name = "data";
    static constexpr fusion_traits fusion{};
};

/// One output from a program over the inputs (broadcast to the node's shape) and scalars.
struct elementwise_op {
    static constexpr std::string_view name = "elementwise";
    static constexpr fusion_traits fusion{.prologue = true, .epilogue = true};
    std::shared_ptr<const program> body;
    array_list<scalar> scalars;
    /// Iotas have numbers behind the inputs, and run along these axes (-1: the row-major index).
    array_list<int> iota_axes;
    /// The program as the host runs it, over inputs and scalars; null where there is none.
    native_loop* native = nullptr;
    /// Of a program that reads input 0 by an index map: of each of its axes. Their extents hold the
    /// node's elements in row-major order.
    array_list<mapped_axis> map = {};
};

/// An affine view: input index along axis a = start[a] + sum over output axes d with source[d] == a
/// of step[d] * index[d]. source[d] == -1 repeats (broadcast, new axis).
struct view_op {
    static constexpr std::string_view name = "view";
    static constexpr fusion_traits fusion{};
    index_list start;   // per input axis
    index_list source;  // per output axis
    index_list step;    // per output axis
};

namespace detail {
/// Shows all of a tensor of so many axes.
inline view_op identity_view(int rank) {
    view_op v{index_list::filled(rank, 0), {}, index_list::filled(rank, 1)};
    for (int i = 0; i < rank; ++i) v.source.push_back(i);
    return v;
}
}  // namespace detail

/// The same elements in row-major order under another shape.
struct reshape_op {
    static constexpr std::string_view name = "reshape";
    static constexpr fusion_traits fusion{};
};

/// A dense copy with the given strides (row-major, column-major).
struct copy_op {
    static constexpr std::string_view name = "copy";
    static constexpr fusion_traits fusion{.prologue = true};
    strides layout;
};

enum class reduction : std::uint8_t {
    sum,
    prod,
    max,
    min,
    mean,
    any,
    all,
    argmax,
    argmin,
    logsumexp,
    var,
    by_op  // joined by an op that reduce_op names
};

namespace detail {
/// The type that a reduction reads its operand in: sums and products of integers widen to 64 bits,
/// as the array API says, any and all ask whether an element is not 0.
constexpr dtype reduced_in(reduction what, dtype type) {
    const kind k = info(type).kind;
    if (what == reduction::any || what == reduction::all) return dtype::boolean;
    if (what != reduction::sum && what != reduction::prod) return type;
    return k == kind::signed_integer ? dtype::i64 : k == kind::unsigned_integer ? dtype::u64 : type;
}
}  // namespace detail

constexpr std::string_view to_string(reduction r) noexcept {
    constexpr std::string_view names[] = {"sum", "prod",   "max",    "min",       "mean", "any",
                                          "all", "argmax", "argmin", "logsumexp", "var",  "by_op"};
    return names[static_cast<int>(r)];
}

struct reduce_op {
    static constexpr std::string_view name = "reduce";
    static constexpr fusion_traits fusion{.prologue = true, .epilogue = true};
    reduction what = reduction::sum;
    array_list<int> axes;  // ascending, within the input's rank
    bool keepdims = false;
    const op_info* by = nullptr;
};

enum class normalization : std::uint8_t { softmax, log_softmax, layer_norm, rms_norm };

constexpr std::string_view to_string(normalization n) noexcept {
    constexpr std::string_view names[] = {"softmax", "log_softmax", "layer_norm", "rms_norm"};
    return names[static_cast<int>(n)];
}

/// Each element by what all elements along `axes` give together.
struct normalize_op {
    static constexpr std::string_view name = "normalize";
    static constexpr fusion_traits fusion{.prologue = true, .epilogue = true};
    normalization what = normalization::softmax;
    array_list<int> axes;  // ascending
    double epsilon = 0;    // added to what a norm takes the root of
};

/// Running sums or products along an axis. With `leads`, of the elements before each, and one
/// result more where the node is longer than its input.
struct scan_op {
    static constexpr std::string_view name = "scan";
    static constexpr fusion_traits fusion{.prologue = true, .epilogue = true};
    reduction what = reduction::sum;
    int axis = 0;
    bool leads = false, reverse = false;
};

/// Matrix product over the last two axes, the others broadcast (NumPy matmul); ranks are >= 2.
struct matmul_op {
    static constexpr std::string_view name = "matmul";
    static constexpr fusion_traits fusion{
        .prologue = true, .epilogue = true, .repeats_prologue = true};
};

/// Two spatial axes, NCHW, as ONNX Conv: input, weight (M, C/group, kH, kW), optional bias (M).
struct conv_op {
    static constexpr std::string_view name = "conv";
    static constexpr fusion_traits fusion{
        .prologue = true, .epilogue = true, .repeats_prologue = true};
    int stride[2] = {1, 1}, dilation[2] = {1, 1};
    int pad_begin[2] = {0, 0}, pad_end[2] = {0, 0};
    int group = 1;
};

enum class pooling : std::uint8_t { max, average };

constexpr std::string_view to_string(pooling p) noexcept {
    return p == pooling::max ? "max" : "average";
}

/// Two spatial axes, NCHW, as ONNX MaxPool and AveragePool; a global pool's window is the input's.
struct pool_op {
    static constexpr std::string_view name = "pool";
    static constexpr fusion_traits fusion{.prologue = true, .epilogue = true};
    pooling what = pooling::max;
    int window[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
    int pad_begin[2] = {0, 0}, pad_end[2] = {0, 0};
    bool ceil_mode = false, count_include_pad = false;
};

struct concat_op {
    static constexpr std::string_view name = "concat";
    static constexpr fusion_traits fusion{.prologue = true};
    int axis = 0;
};

/// The first input with the second, broadcast, in place of the elements that the view shows.
struct assign_op {
    static constexpr std::string_view name = "assign";
    static constexpr fusion_traits fusion{.prologue = true};
    view_op part;
    shape extent;                    // of the view
    array_list<view_op> parts = {};  // then each further input in place of what these show
    array_list<shape> extents = {};  // (graph/passes/join_assignments.hpp)
};

/// How the indices of a take stand to its values.
enum class taking : std::uint8_t {
    slices,    // along `axis`, any number of axes of indices in its place (take, ONNX Gather)
    elements,  // along `axis`, an index for each element of the result (take_along_axis,
               // GatherElements)
    tuples     // the last axis of indices holds an index for each axis from `axis` on (GatherND)
};

/// Inputs: values, indices (i32 or i64).
struct take_op {
    static constexpr std::string_view name = "take";
    static constexpr fusion_traits fusion{};
    int axis = 0;
    taking what = taking::slices;
};

/// Where the elements along `axis` lie in order (array API argsort, stable), i64.
struct sort_op {
    static constexpr std::string_view name = "argsort";
    static constexpr fusion_traits fusion{};
    int axis = 0;
    bool descending = false;
    std::int64_t first = -1;  // so many of them alone, or -1: all
};

/// What happens to an element that updates go to.
enum class scattering : std::uint8_t { replace, sum, prod, max, min };

constexpr std::string_view to_string(scattering s) noexcept {
    constexpr std::string_view names[] = {"replace", "sum", "prod", "max", "min"};
    return names[static_cast<int>(s)];
}

/// Rows of updates joined into rows of data. Inputs: data (rows, width); keys (n), ascending: the
/// rows to go to, others than [0, rows) nowhere; order (n), i64: the row of updates that comes
/// there; updates. Or without the order: keys and updates as they come (scatter_in_order).
struct scatter_op {
    static constexpr std::string_view name = "scatter";
    static constexpr fusion_traits fusion{};
    scattering what = scattering::replace;
    bool from_end = false;  // negative keys count from the end; of keys as they come alone
};

struct kernel_call;
struct node;

/// The nodes of a call's results, by output; gone where nobody wants them.
using kernel_results = array_list<std::weak_ptr<node>>;

/// One of the results of a kernel of the user's own (graph/custom_kernel.hpp), which says itself
/// what is fused with it.
struct kernel_op {
    static constexpr std::string_view name = "kernel";
    static constexpr fusion_traits fusion{
        .prologue = true, .epilogue = true, .repeats_prologue = true};
    std::shared_ptr<const kernel_call> call;
    int output = 0;
    std::shared_ptr<const kernel_results> results;  // this one and those beside it
};

/// A family of ops: a struct of data with its `name`, which no other family has, and what is fused
/// with it. What the library asks of an op are functions over it, found where it is declared:
///   `bool lower(op, const lowering&, plan_builder&)`: the steps that compute it, which a family
///   has to have (exec/plan/lowering.hpp); `kernel_value result_of(op, span<const
///   kernel_value>)`: type and shape of its result, or an error that says why the inputs are none
///   of its (`apply`, graph/op_functions.hpp); `void add_words(op, graph_key&)`: what its data
///   decides of a plan, unless it has none; `std::string describe(op)`: it in a few words, where
///   the name is not enough.
template <class Op>
concept op_family = requires {
    { Op::name } -> std::convertible_to<std::string_view>;
    { Op::fusion } -> std::convertible_to<fusion_traits>;
};

struct op_functions;

/// An op of a family that is not in the list below, as `operation::visit` shows it.
struct other_op {
    const op_functions& family;  // graph/op_functions.hpp
    const void* op;
};

namespace detail {

template <class... Types>
struct type_list {
    template <class T>
    static constexpr bool has = (std::is_same_v<T, Types> || ...);
};

using operations = type_list<source_op, elementwise_op, view_op, reshape_op, copy_op, reduce_op,
                             normalize_op, matmul_op, conv_op, pool_op, concat_op, take_op, scan_op,
                             sort_op, scatter_op, assign_op, kernel_op>;

/// What tells families apart.
template <class Family>
inline constexpr std::uint64_t family_id = hash_of(Family::name);

}  // namespace detail

class lowering;
class plan_builder;
struct host_loop;
struct host_operands;

/// The steps that compute an op (exec/plan/lower.hpp). A file compiles the kernels of the ops that
/// it makes, and no others.
template <class Op>
PUMICE_OF_ENGINE bool lower_op(const lowering& group, const Op& op, plan_builder& out);
/// The host's own loop for an op over operands (host/find_loop.hpp), where it has one.
template <class Op>
PUMICE_OF_ENGINE void find_loop(const Op& op, const host_operands& operands, host_loop& out);
/// What is asked of a family that is not in the list (graph/op_functions.hpp).
template <class Op>
PUMICE_OF_ENGINE const op_functions& functions_of();

/// An op of any family, fixed when made. (A std::variant would take a quarter of the time in which
/// the front compiles.)
class operation {
public:
    operation() = default;  // a source
    template <op_family Op>
    operation(Op op) : held_(new box<Op>(std::move(op))) {}
    operation(operation&& other) noexcept
        : held_(std::exchange(other.held_, nullptr)), owned_(other.owned_) {}
    operation& operator=(operation&& other) noexcept {
        std::swap(held_, other.held_);
        std::swap(owned_, other.owned_);
        return *this;
    }
    ~operation() {
        if (owned_ && held_ && held_->let_go()) delete held_;
    }

    /// The same as `lasting`, which must outlive every node that has it; no memory is asked for.
    static operation borrowed(const operation& lasting) noexcept {
        return operation(lasting.held_, false);
    }

    /// The same once more, for another node.
    operation share() const noexcept {
        if (owned_ && held_) held_->holders.fetch_add(1, std::memory_order_relaxed);
        return operation(held_, owned_);
    }

    /// A copy of an op of this family, as f(Op&) leaves it. Who changes what another file may have
    /// made compiles nothing of the family.
    template <op_family Op, class F>
    operation changed(F&& f) const {
        any_box* const copy = held_->copy();
        operation made(copy, true);
        Op& op = *static_cast<Op*>(copy->op);
        f(op);
        if constexpr (requires { op.results; }) copy->results = op.results.get();
        return made;
    }

    template <op_family Op>
    bool is() const noexcept {
        return family() == detail::family_id<Op>;
    }
    template <op_family Op>
    const Op* get_if() const noexcept {
        static const source_op none;
        if constexpr (std::is_same_v<Op, source_op>) return is<Op>() ? &none : nullptr;
        else return is<Op>() ? static_cast<const Op*>(held_->op) : nullptr;
    }
    /// f of the op as what it is, or of an `other_op`.
    template <class F>
    decltype(auto) visit(F&& f) const {
        return visit(f, detail::operations());
    }
    /// A number for its family.
    std::uint64_t family() const noexcept {
        return held_ ? held_->family : detail::family_id<source_op>;
    }
    fusion_traits fusion() const noexcept { return held_ ? held_->fusion : source_op::fusion; }
    /// Of one of several results of a call those of all, else null: no two calls share it.
    const kernel_results* results() const noexcept { return held_ ? held_->results : nullptr; }

    /// Of an op that is no source.
    bool lower(const lowering& group, plan_builder& out) const { return held_->lower(group, out); }
    void find_loop(const host_operands& operands, host_loop& out) const {
        if (held_) held_->find_loop(operands, out);
    }

private:
    struct any_box;
    operation(const any_box* held, bool owned) noexcept : held_(held), owned_(owned) {}

    using functions_getter = const op_functions&();
    struct any_box {
        std::uint64_t family;
        fusion_traits fusion;
        void* op;
        functions_getter* functions;  // null where the family is in the list
        const kernel_results* results = nullptr;
        mutable std::atomic<std::uint32_t> holders{1};
        any_box(std::uint64_t id, fusion_traits f, void* held, functions_getter* of_family)
            : family(id), fusion(f), op(held), functions(of_family) {}
        virtual ~any_box() = default;
        virtual any_box* copy() const = 0;
        bool let_go() const noexcept {
            return holders.load(std::memory_order_acquire) == 1 ||
                   holders.fetch_sub(1, std::memory_order_acq_rel) == 1;
        }
        virtual bool lower(const lowering& group, plan_builder& out) const = 0;
        virtual void find_loop(const host_operands& operands, host_loop& out) const = 0;
    };
    template <class Op>
    struct box final : any_box {
        Op op;
        explicit box(Op o)
            : any_box(detail::family_id<Op>, Op::fusion, &op, functions_unless_listed()),
              op(std::move(o)) {
            if constexpr (requires { op.results; }) results = op.results.get();
        }
        any_box* copy() const override { return new box(op); }
        bool lower(const lowering& group, plan_builder& out) const override {
            return detail::of_engine(&lower_op<Op>)(group, op, out);
        }
        void find_loop(const host_operands& operands, host_loop& out) const override {
            detail::of_engine (&pumice::find_loop<Op>)(op, operands, out);
        }
        static functions_getter* functions_unless_listed() noexcept {
            if constexpr (detail::operations::has<Op>) return nullptr;
            else return &functions_of<Op>;
        }
    };
    template <class F, class First, class... Rest>
    decltype(auto) visit(F& f, detail::type_list<First, Rest...>) const {
        if (is<First>()) return f(*get_if<First>());
        if constexpr (sizeof...(Rest) > 0) return visit(f, detail::type_list<Rest...>());
        else return f(other_op{detail::of_engine(held_->functions)(), held_->op});
    }
    const any_box* held_ = nullptr;
    bool owned_ = true;
};

}}  // namespace pumice::PUMICE_ABI
