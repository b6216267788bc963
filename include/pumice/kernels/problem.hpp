// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a fused group asks of a kernel, as plain data: domains, programs, strided operands.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/fused.hpp>

#include <memory>

namespace pumice { inline namespace PUMICE_ABI {

/// outputs[c] = body(c) for each coordinate c of the domain.
struct elementwise_problem {
    static constexpr std::string_view name = "elementwise";
    shape domain;
    fused body;
};

/// Which op a reduction or a running sum is, as `explain` says it.
inline std::string_view name_of_reduction(reduction what, const op_info* by) noexcept {
    return by ? by->name : to_string(what);
}
inline std::string_view name_of_scan(reduction what) noexcept {
    return what == reduction::sum ? "cumulative_sum" : "cumulative_prod";
}

/// For each outer coordinate o: epilogue(o, reduce over r of prologue(o ++ r)). The op `by`, where
/// it is what reduces, joins two values to one; in which order and how bracketed is left open.
/// The accumulator that the epilogue is given has the type `result`.
struct reduce_problem {
    static constexpr std::string_view name = "reduce";
    reduction what = reduction::sum;
    shape outer, inner;         // kept axes, reduced axes
    fused prologue;             // over outer ++ inner
    fused epilogue;             // over outer
    dtype result = dtype::f32;  // type of the reduced value: i64 for argmax and argmin
    const op_info* by = nullptr;
    std::string_view op() const noexcept { return name_of_reduction(what, by); }
};

/// For each outer coordinate o: epilogue(o ++ c, normalised(prologue(o ++ .))[c]).
struct normalize_problem {
    static constexpr std::string_view name = "normalize";
    normalization what = normalization::softmax;
    double epsilon = 0;
    shape outer, inner;
    fused prologue, epilogue;  // both over outer ++ inner
    std::string_view op() const noexcept { return to_string(what); }
};

/// For each outer coordinate o: epilogue(o ++ i, sum or product over j <= i - lead of prologue(o ++
/// j)).
struct scan_problem {
    static constexpr std::string_view name = "scan";
    reduction what = reduction::sum;
    shape outer;
    std::int64_t length = 0, count = 0, lead = 0;
    fused prologue;  // over outer ++ {length}
    fused epilogue;  // over outer ++ {count}
    std::string_view op() const noexcept { return name_of_scan(what); }
};

/// epilogue(b ++ {m, n}, sum over k of a(b ++ {m, k}) * b(b ++ {k, n})).
struct matmul_problem {
    static constexpr std::string_view name = "matmul";
    shape batch;
    std::int64_t m = 0, n = 0, k = 0;
    fused a, b, epilogue;
    dtype accumulator = dtype::f32;
};

/// epilogue({n, c, y, x}, convolution); ONNX Conv without the bias, which is epilogue.
/// input over {n, channel, y, x}; weight over {out channel, channel within the group, ky, kx}.
struct conv_problem {
    static constexpr std::string_view name = "conv";
    conv_op shape_of;
    std::int64_t batch = 0, in_channels = 0, out_channels = 0;
    std::int64_t in_size[2] = {}, out_size[2] = {}, window[2] = {};
    fused input, weight, epilogue;
    dtype accumulator = dtype::f32;
};

/// epilogue({n, c, y, x}, pool of input over {n, c, y, x}).
struct pool_problem {
    static constexpr std::string_view name = "pool";
    pool_op shape_of;
    std::int64_t batch = 0, channels = 0;
    std::int64_t in_size[2] = {}, out_size[2] = {};
    fused input, epilogue;
};

/// output[c] = values[c], moved on along an axis of values for each component of an index: by
/// step[k] times the place in [0, length[k]) that component k of indices[c] means.
struct take_problem {
    static constexpr std::string_view name = "take";
    shape domain;             // of the output
    operand values, indices;  // over the domain: 0 along axes that are not theirs
    operand output;
    std::int64_t next = 0;    // from one component of an index to the next, in elements
    index_list length, step;  // of each component's axis of values
};

/// output[o ++ c] = where the c-th of values[o ++ .] lies, in ascending or descending order, for
/// c < first. Equal ones keep their order; NaN is greater than any number; -0 equals 0.
struct sort_problem {
    static constexpr std::string_view name = "sort";
    shape outer;
    std::int64_t length = 0, first = 0;
    bool descending = false;
    operand values, output;  // over outer ++ {length}; i64, over outer ++ {first}
};

/// Rows of updates joined, in order, into rows of output (see scatter_op). Keys are ascending, but
/// where the order is an iota: updates as they come.
struct scatter_problem {
    static constexpr std::string_view name = "scatter";
    scattering what = scattering::replace;
    std::int64_t count = 0, rows = 0, width = 0;
    bool from_end = false;  // negative keys count from the end
    operand keys, order;    // over {count}; order is i64
    operand updates;        // over {count, width}
    operand data, output;   // over {rows, width}; output holds data where no update goes
};

/// A call of a kernel of the user's own.
struct custom_kernel_problem {
    static constexpr std::string_view name = "kernel";
    std::shared_ptr<const kernel_call> call;
    array_list<fused> inputs;  // over their extents; of one that is not fused, its leaf as it lies
    fused epilogue;            // over the output's extent, where the output is fused
    array_list<operand> outputs;  // where it is not; without a buffer where nobody wants it
};

namespace detail {
using problems = type_list<elementwise_problem, reduce_problem, normalize_problem, matmul_problem,
                           conv_problem, pool_problem, take_problem, scan_problem, sort_problem,
                           scatter_problem, custom_kernel_problem>;
}  // namespace detail

/// What is known of a kind of problem and solves it (exec/problem_kind.hpp).
struct problem_kind;
template <class P>
const problem_kind& kind_of() noexcept;

/// A kind of problem: a struct of data with its `name`, which no other kind has.
template <class P>
concept problem_type = requires {
    { P::name } -> std::convertible_to<std::string_view>;
};

/// A problem of any kind, shared and fixed when made.
class problem {
public:
    template <problem_type P>
    problem(std::shared_ptr<P> p)
        : number_(detail::family_id<P>), kind_(&kind_of<P>()), held_(std::move(p)) {}
    template <problem_type P>
    problem(P p) : problem(std::make_shared<P>(std::move(p))) {}

    template <problem_type P>
    bool is() const noexcept {
        return number_ == detail::family_id<P>;
    }
    template <problem_type P>
    const P* get_if() const noexcept {
        return is<P>() ? static_cast<const P*>(held_.get()) : nullptr;
    }
    const void* get() const noexcept { return held_.get(); }
    const problem_kind& kind() const noexcept { return *kind_; }

private:
    std::uint64_t number_;
    const problem_kind* kind_;
    std::shared_ptr<const void> held_;
};

}}  // namespace pumice::PUMICE_ABI
