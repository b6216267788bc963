// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops whose course depends on values, with the semantics of JAX's lax.cond,
// while_loop and fori_loop. Functions are called once, with tensors that have no values.
#pragma once

#include <pumice/graph/gather.hpp>
#include <pumice/graph/graph_copy.hpp>
#include <pumice/tensor/compile.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Named in compile errors; never defined.
template <class X> struct what_decides_is_a_tensor_of_bool;

namespace detail {

/// The bool that decides; lazy.
using traced_test = callback<any_tensor(span<const any_tensor>)>;

PUMICE_FUNCTION std::vector<any_tensor> run_cond(const any_tensor& predicate,
                                                 const traced_function& f, const traced_function& g,
                                                 span<const any_tensor> operands);
/// What a loop of run-time types is asked for beside its functions.
struct loop_bounds {
    const char* name = "while_loop";
    std::int64_t count = -1;   // steps at most; -1: no bound
    std::int64_t wanted = -1;  // steps that it has to take, or errc::shape_mismatch; -1: any number
    std::int64_t rows = -1;    // of what is stacked, where it is not `count`
    std::shared_ptr<engine> home = nullptr;  // where nothing is carried
};
/// `test` is empty where nothing but the count ends the loop.
PUMICE_FUNCTION std::vector<any_tensor> run_loop(const loop_bounds& bounds, const traced_test& test,
                                                 const traced_function& body,
                                                 span<const any_tensor> init);
/// `body` is given the number of the step, an i32, and the carried values; it gives the carried
/// values and what is stacked: a row for each of `count` steps, at the number of the step or, in
/// reverse, from the end. With `flag`, a bool, it ends too where that is false, and `body` gives
/// that of the next step before the rest.
PUMICE_FUNCTION std::vector<any_tensor> run_scan(const loop_bounds& bounds,
                                                 const traced_function& body,
                                                 span<const any_tensor> init, bool reverse,
                                                 const any_tensor& flag = {});
/// Row `number`, a scalar, of x along an axis.
PUMICE_FUNCTION any_tensor row_at(const any_tensor& x, const any_tensor& number, int axis = 0);

/// Traces a function into a graph of its own. While it is there, nothing runs in this thread.
class nested_trace {
public:
    nested_trace(const std::shared_ptr<engine>& home, const char* name)
        : name_(name), open_{home, {}}, outer_(std::exchange(current_trace, &open_)),
          outer_scope_(current_scope) {
        static constinit std::atomic<std::uint64_t> last{0};
        scope_ = {current_scope = ++last, name, std::exchange(open_scopes, &scope_)};
    }
    nested_trace(const nested_trace&) = delete;
    nested_trace& operator=(const nested_trace&) = delete;
    ~nested_trace() { end(); }

    any_tensor input(dtype type, const shape& extent) {
        inputs_.push_back(make_data(type, extent, nullptr, open_.home));
        return any_tensor(inputs_.back());
    }
    /// `repeats`: as of closed_graph.
    closed_graph close(span<const any_tensor> results, bool repeats) {
        closed_graph made(scope_.number, std::move(inputs_), std::move(open_.keys), name_, repeats);
        for (const any_tensor& t : results) {
            if (t.get()->owner != open_.home)
                fail(errc::context_mismatch, name_,
                     {"a result belongs to another context than the arguments"});
            made.add(t.get());
        }
        end();
        return made;
    }

private:
    void end() noexcept {
        if (std::exchange(ended_, true)) return;
        current_trace = outer_;
        current_scope = outer_scope_;
        open_scopes = scope_.outer;
    }
    const char* name_;
    open_trace open_;
    open_trace* outer_;
    std::uint64_t outer_scope_;
    open_scope scope_;
    array_list<node_ptr> inputs_;
    bool ended_ = false;
};

/// Arguments as tensors are handed to functions: tensors one by one, lists and tuples whole.
template <class... A>
struct traced_pack {
    using results = std::tuple<traced_t<A>...>;
    static std::vector<any_tensor> list(const A&... each) { return {any_tensor(each.get())...}; }
    template <class F, class... Before>
    static decltype(auto) call(const F& f, span<const any_tensor> l, const Before&... before) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
            return f(before..., traced_t<A>(l[I])...);
        }(std::index_sequence_for<A...>{});
    }
    static auto make(const std::vector<any_tensor>& l) {
        if constexpr (sizeof...(A) == 1) return std::tuple_element_t<0, results>(l[0]);
        else return traced_result<results>::make(l);
    }
};
template <>
struct traced_pack<std::vector<any_tensor>> {
    static std::vector<any_tensor> list(const std::vector<any_tensor>& l) { return l; }
    template <class F, class... Before>
    static decltype(auto) call(const F& f, span<const any_tensor> l, const Before&... before) {
        return f(before..., std::vector<any_tensor>(l.begin(), l.end()));
    }
    static std::vector<any_tensor> make(std::vector<any_tensor> l) { return l; }
};
template <class R>
std::vector<any_tensor> results_as_list(const R& r) {
    return traced_result<std::remove_cvref_t<R>>::list(r);
}

/// Tells the engine of the results of a call, which it computes together.
inline std::vector<any_tensor> noted(std::vector<any_tensor> results) {
    if (results.empty() || results[0].get()->realised()) return results;
    results[0].get()->owner->note(results[0].get());
    return results;
}

template <class X>
auto what_decides(const X& x) {
    if constexpr (requires { any_tensor(x.get()); }) return any_tensor(x.get());
    else return what_decides_is_a_tensor_of_bool<X>{};
}

}  // namespace detail

/// f(operands...) where the predicate, a bool of one element, is true, else g(operands...): one of
/// them runs. Both give tensors of the same element types and shapes, one or a tuple. What they
/// capture takes part like operands. Throws errc::dtype_mismatch and errc::shape_mismatch.
template <class P, class F, class G, class... A>
auto cond(const P& predicate, const F& f, const G& g, const A&... operands) {
    using packed = detail::traced_pack<A...>;
    const std::vector<any_tensor> list = packed::list(operands...);
    using result = std::remove_cvref_t<decltype(packed::call(f, list))>;
    const auto as_list = [](const auto& h) {
        return
            [&h](span<const any_tensor> l) { return detail::results_as_list(packed::call(h, l)); };
    };
    return detail::traced_result<result>::make(detail::run_cond(detail::what_decides(predicate),
                                                                as_list(f), as_list(g), list));
}

/// values = init; while (test(values...)) values = body(values...). `test` gives a bool of one
/// element; `body` tensors of the element types and shapes of its arguments, one or a tuple. With a
/// std::vector<any_tensor> for init, both take one. A step waits for its bool and for nothing else.
/// Throws errc::dtype_mismatch and errc::shape_mismatch.
template <class T, class F, class... Init>
auto while_loop(const T& test, const F& body, const Init&... init) {
    using packed = detail::traced_pack<Init...>;
    return packed::make(detail::noted(detail::run_loop(
        {}, [&](span<const any_tensor> l) { return detail::what_decides(packed::call(test, l)); },
        [&](span<const any_tensor> l) { return detail::results_as_list(packed::call(body, l)); },
        packed::list(init...))));
}

/// values = init; for (i = lower; i < upper; ++i) values = body(i, values...), where i is an i32
/// without axes. Nothing is read back. Throws what while_loop throws, and errc::invalid_argument
/// for bounds that an i32 does not hold.
template <class F, class... Init>
auto fori_loop(std::int64_t lower, std::int64_t upper, const F& body, const Init&... init) {
    using packed = detail::traced_pack<Init...>;
    using number = tensor<std::int32_t, dims<0>>;
    if (lower < -0x7fffffff || upper > 0x7fffffff)
        fail(errc::invalid_argument, "fori_loop",
             {"counts from ", lower, " to ", upper, ", which an i32 does not hold"});
    return packed::make(detail::noted(detail::run_scan(
        {"fori_loop", upper > lower ? upper - lower : 0},
        [&](span<const any_tensor> l) {
            const any_tensor i = apply<op::add>(l[0], scalar(dtype::i32, lower));
            return detail::results_as_list(packed::call(body, l.subspan(1), number(i)));
        },
        packed::list(init...), false)));
}

#ifndef PUMICE_COMPILED

namespace detail {

inline void must_decide(const any_tensor& t, const char* name) {
    if (t.dtype() != dtype::boolean)
        fail(errc::dtype_mismatch, name,
             {"what decides is ", to_string(t.dtype()), ", not bool; compare it with something"});
    if (t.size() != 1)
        fail(errc::shape_mismatch, name,
             {"what decides has shape ", to_string(t.shape()), ", not one element; reduce it"});
}
/// Adds a graph to a call, whose inputs are listed once each.
inline void add_part(control_call& call, std::vector<any_tensor>& inputs, closed_graph&& made,
                     span<const int> reads) {
    control_call::part p{std::move(made.graph), {}};
    for (const int r : reads) p.reads.push_back(r);
    for (const node_ptr& n : made.captured) {
        std::size_t at = 0;
        while (at < inputs.size() && inputs[at].get() != n) ++at;
        if (at == inputs.size()) inputs.emplace_back(n);
        p.reads.push_back(static_cast<int>(at));
    }
    call.parts.push_back(std::move(p));
}
PUMICE_BODY std::vector<any_tensor> run_cond(const any_tensor& predicate, const traced_function& f,
                                             const traced_function& g,
                                             span<const any_tensor> operands) {
    must_decide(predicate, "cond");
    const std::shared_ptr<engine> home = predicate.get()->owner;
    const auto call = std::make_shared<control_call>();
    call->name = "cond";
    std::vector<any_tensor> inputs{reshape(predicate, {})};
    std::vector<int> reads;
    for (const any_tensor& t : operands) {
        reads.push_back(static_cast<int>(inputs.size()));
        inputs.push_back(t);
    }
    for (const traced_function* each : {&g, &f}) {
        nested_trace trace(home, "cond");
        std::vector<any_tensor> arguments;
        for (const any_tensor& t : operands) arguments.push_back(trace.input(t.dtype(), t.shape()));
        const std::vector<any_tensor> results = (*each)(arguments);
        for (std::size_t i = 0; each == &g && i < results.size(); ++i)
            call->results.push_back({results[i].dtype(), results[i].shape()});
        if (results.size() != call->results.size())
            fail(errc::invalid_argument, "cond",
                 {"one function gives ", results.size(), " results, the other ",
                  call->results.size()});
        for (std::size_t i = 0; i < results.size(); ++i) {
            const kernel_value& other = call->results[i];
            if (results[i].dtype() != other.dtype)
                fail(errc::dtype_mismatch, "cond",
                     {"result ", i, " is ", to_string(results[i].dtype()), " where true, ",
                      to_string(other.dtype), " where false"});
            if (results[i].shape() != other.shape)
                fail(errc::shape_mismatch, "cond",
                     {"result ", i, " has shape ", to_string(results[i].shape()), " where true, ",
                      to_string(other.shape), " where false"});
        }
        add_part(*call, inputs, trace.close(results, false), reads);
    }
    return make_control(call, inputs, home);
}

/// What the body of a loop made of the carried values.
inline void must_stay(span<const any_tensor> init, span<const any_tensor> next, const char* name) {
    if (next.size() < init.size())
        fail(errc::invalid_argument, name,
             {"the body gives ", next.size(), " values for the ", init.size(),
              " that are carried"});
    for (std::size_t i = 0; i < init.size(); ++i) {
        if (next[i].dtype() != init[i].dtype())
            fail(errc::dtype_mismatch, name,
                 {"the body makes carried value ", i, " ", to_string(next[i].dtype()), ", it is ",
                  to_string(init[i].dtype()), " at first; a carried value keeps its type"});
        if (next[i].shape() != init[i].shape())
            fail(errc::shape_mismatch, name,
                 {"the body gives carried value ", i, " the shape ", to_string(next[i].shape()),
                  ", it has ", to_string(init[i].shape()),
                  " at first; a carried value keeps its shape"});
    }
}
inline const std::shared_ptr<engine>& home_of(span<const any_tensor> init,
                                              const loop_bounds& bounds) {
    if (!init.empty()) return init[0].get()->owner;
    if (!bounds.home)
        fail(errc::invalid_argument, bounds.name, {"a loop carries at least one tensor"});
    return bounds.home;
}

PUMICE_BODY std::vector<any_tensor> run_loop(const loop_bounds& bounds, const traced_test& test,
                                             const traced_function& body,
                                             span<const any_tensor> init) {
    const char* const name = bounds.name;
    const std::shared_ptr<engine> home = home_of(init, bounds);
    const auto call = std::make_shared<control_call>();
    call->name = name;
    call->what = deciding::loop;
    call->carried = static_cast<int>(init.size());
    call->count = bounds.count;
    call->wanted = bounds.wanted;
    call->tested = static_cast<bool>(test);
    std::vector<any_tensor> inputs(init.begin(), init.end());
    const auto tested = [&](span<const any_tensor> values) {
        any_tensor t = test(values);
        must_decide(t, name);
        return reshape(t, {});
    };
    if (test) inputs.push_back(tested(init));
    nested_trace trace(home, name);
    std::vector<any_tensor> arguments;
    std::vector<int> reads;
    for (const any_tensor& t : init) {
        reads.push_back(static_cast<int>(reads.size()));
        call->results.push_back({t.dtype(), t.shape()});
        arguments.push_back(trace.input(t.dtype(), t.shape()));
    }
    std::vector<any_tensor> next = body(arguments);
    must_stay(init, next, name);
    if (next.size() != init.size())
        fail(errc::invalid_argument, name,
             {"the body gives ", next.size(), " values for the ", init.size(),
              " that are carried"});
    if (test) next.insert(next.begin(), tested(next));
    add_part(*call, inputs, trace.close(next, true), reads);
    return make_control(call, inputs, home);
}

PUMICE_BODY any_tensor row_at(const any_tensor& x, const any_tensor& number, int axis) {
    if (x.shape()[axis] > 0) return take(x, number, axis);
    shape row = x.shape();  // of a loop without steps
    row.erase(axis);
    return filled(scalar(x.dtype(), 0), row, context(x.get()->owner));
}

PUMICE_BODY std::vector<any_tensor> run_scan(const loop_bounds& bounds, const traced_function& body,
                                             span<const any_tensor> init, bool reverse,
                                             const any_tensor& flag) {
    const char* const name = bounds.name;
    const std::int64_t count = bounds.count, rows = bounds.rows < 0 ? count : bounds.rows;
    const std::shared_ptr<engine> home = home_of(init, bounds);
    if (count > 0x7fffffff)
        fail(errc::invalid_argument, name, {count, " steps are more than an i32 counts"});
    const context here(home);
    const auto call = std::make_shared<control_call>();
    call->name = name;
    call->what = deciding::loop;
    call->count = count;
    call->wanted = bounds.wanted;
    call->tested = flag.has_value();
    // Carried: the number of the step, the carried values, the stacks.
    std::vector<any_tensor> inputs{filled(scalar(dtype::i32, 0), {}, here)};
    inputs.insert(inputs.end(), init.begin(), init.end());
    nested_trace trace(home, name);
    const any_tensor step = trace.input(dtype::i32, {});
    std::vector<any_tensor> arguments{
        reverse ? apply<op::subtract>(any_operand(scalar(dtype::i32, count - 1)), step) : step};
    for (const any_tensor& t : init) arguments.push_back(trace.input(t.dtype(), t.shape()));
    std::vector<any_tensor> made = body(arguments), next;
    if (call->tested) {
        if (made.empty()) fail(errc::invalid_argument, name, {"the body gives nothing"});
        must_decide(made[0], name);
        next.push_back(reshape(made[0], {}));
        made.erase(made.begin());
    }
    must_stay(init, made, name);
    any_tensor order;  // of one row
    next.push_back(apply<op::add>(step, scalar(dtype::i32, 1)));
    next.insert(next.end(), made.begin(), made.begin() + std::ssize(init));
    for (std::size_t i = init.size(); i < made.size(); ++i) {
        if (rows < 0)
            fail(errc::invalid_argument, name, {"stacks rows of steps that nothing counts"});
        const std::int64_t width = made[i].size();
        const any_tensor stack = trace.input(made[i].dtype(), {rows, width});
        next.push_back(stack);
        if (rows == 0 || width == 0) continue;
        if (!order.has_value()) order = any_tensor(home->create(dtype::i64, {1}, nullptr));
        const any_tensor parts[] = {stack, reshape(arguments[0], {1}), order,
                                    reshape(made[i], {1, width})};
        array_list<node_ptr> read;
        for (const any_tensor& t : parts) read.push_back(t.get());
        next.back() =
            any_tensor(make_node(stack.dtype(), stack.shape(), scatter_op{}, std::move(read)));
    }
    closed_graph body_graph = trace.close(next, true);
    for (std::size_t i = init.size(); i < made.size(); ++i) {
        const node_ptr& stack = body_graph.graph.inputs[inputs.size()];
        inputs.push_back(filled(scalar(stack->type, 0), stack->extent, here));
    }
    std::vector<int> reads;
    for (const any_tensor& t : inputs) {
        reads.push_back(static_cast<int>(reads.size()));
        call->results.push_back({t.dtype(), t.shape()});
    }
    call->carried = static_cast<int>(inputs.size());
    if (call->tested) {
        must_decide(flag, name);
        inputs.push_back(reshape(flag, {}));
    }
    add_part(*call, inputs, std::move(body_graph), reads);
    std::vector<any_tensor> results = make_control(call, inputs, home);
    results.erase(results.begin());  // the number of the step
    for (std::size_t i = init.size(); i < made.size(); ++i) {
        shape all{rows};
        for (const std::int64_t n : made[i].shape()) all.push_back(n);
        results[i] = reshape(results[i], all);
    }
    return results;
}

}  // namespace detail

#endif

}}  // namespace pumice::PUMICE_ABI
