// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Functions of tensors traced once per types and shapes, and run from the recording after that.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/tensor/random.hpp>

#include <optional>
#include <tuple>

namespace pumice { inline namespace PUMICE_ABI {

/// A graph recorded for inputs of fixed element types and shapes. A handle to something that never
/// changes: copies share it, any thread may run it, and several runs may be in flight.
class executable {
public:
    struct value {
        pumice::dtype dtype;
        pumice::shape shape;
    };

    executable() = default;
    executable(const context& home, traced_graph graph);
    /// Of a graph that is prepared already; it takes `keys` random keys.
    executable(const context& home, std::vector<value> inputs, std::vector<value> outputs,
               std::size_t keys, std::shared_ptr<prepared_graph> graph)
        : state_(new state{home, std::move(inputs), std::move(outputs), keys, std::move(graph)}) {}

    span<const value> inputs() const { return get().inputs; }
    span<const value> outputs() const { return get().outputs; }
    const context& where() const { return get().home; }

    /// Submits the graph and returns; reading an output waits for it. Throws
    /// errc::invalid_argument, errc::dtype_mismatch, errc::shape_mismatch, errc::context_mismatch
    /// for other inputs than it was recorded for.
    ///
    /// Where `stop` can be asked for, the work is handed to the device in pieces (see
    /// submit_budget; some 20 ms each if the context names none), and the call returns when the
    /// last is submitted, or with errc::cancelled, within the time of a piece, when `stop` was
    /// asked for before.
    std::vector<any_tensor> run(span<const any_tensor> inputs, stop_view stop = {}) const {
        std::vector<any_tensor> results(outputs().size());
        run_into(results, inputs, stop);
        return results;
    }
    std::vector<any_tensor> run(std::initializer_list<any_tensor> inputs,
                                stop_view stop = {}) const {
        return run(span(inputs.begin(), inputs.size()), stop);
    }
    /// The same, with inputs that the caller has no more use for: a result may lie in the memory of
    /// one that nobody else holds. `state = e.run_donating(std::move(state), x)[0];`
    ///
    /// A call that throws moves the inputs back. They are as they were, but for those that a result
    /// had begun to be written over: they throw errc::values_lost.
    template <class... Inputs>
        requires(std::derived_from<std::remove_cvref_t<Inputs>, any_tensor> && ...)
    std::vector<any_tensor> run_donating(Inputs&&... inputs) const {
        return run_donating(stop_view(), std::forward<Inputs>(inputs)...);
    }
    template <class... Inputs>
        requires(std::derived_from<std::remove_cvref_t<Inputs>, any_tensor> && ...)
    std::vector<any_tensor> run_donating(stop_view stop, Inputs&&... inputs) const {
        std::vector<any_tensor> given, results(outputs().size());
        given.reserve(sizeof...(inputs));
        (given.push_back(any_tensor(std::forward<Inputs>(inputs))), ...);
        try {
            start(results, given, stop, true);
        } catch (...) {
            std::size_t i = 0;
            (move_back<Inputs>(given[i++], inputs), ...);
            throw;
        }
        return results;
    }
    /// The same into tensors that are there: one that nobody else holds, of the output's type,
    /// shape and layout, keeps its memory; any other, an empty one too, becomes a new tensor. In a
    /// loop over such outputs a run allocates nothing. Where a result and an input are one handle,
    /// in overlapping spans, the input is donated. A run that throws has left the results as they
    /// were, or has begun to write them: then they throw errc::values_lost until they are results
    /// of a run again. The submission tells when the work is done; nobody has to keep it.
    submission run_into(span<any_tensor> results, span<const any_tensor> inputs,
                        stop_view stop = {}) const {
        return start(results, inputs, stop, false);
    }

    /// The plan that it runs: to look at (exec/plan/plan.hpp), or to write and bind elsewhere
    /// (exec/plan/json.hpp, exec/plan/bind.hpp). Throws errc::unsupported in an engine without.
    const plan& planned() const {
        if (const plan* p = get().graph->planned()) return *p;
        fail(errc::unsupported, "executable", {"this engine has no plans"});
    }
    /// Its constants, in order: tensors that the function captured, weights of a model.
    std::vector<any_tensor> constants() const { return get().graph->constants(); }
    /// The kernels in order, why each was chosen, and how the memory between them is shared.
    std::string explain() const { return get().graph->explain(); }
    memory_use memory() const { return get().graph->memory(); }
    /// That memory over time as an SVG; empty on the host device.
    std::string memory_svg() const { return get().graph->memory_svg(); }

private:
    struct state {
        context home;
        std::vector<value> inputs, outputs;
        std::size_t keys;
        std::shared_ptr<prepared_graph> graph;
    };
    template <class Input>
    static void move_back(any_tensor& from, std::remove_reference_t<Input>& to) noexcept {
        if constexpr (!std::is_reference_v<Input> && !std::is_const_v<Input>)
            if (from.has_value()) static_cast<any_tensor&>(to) = std::move(from);
    }
    PUMICE_FUNCTION submission start(span<any_tensor> results, span<const any_tensor> inputs,
                                     stop_view stop, bool donated) const;
    const state& get() const {
        if (!state_)
            fail(errc::invalid_argument, "executable", {"it is empty (default constructed)"});
        return *state_;
    }
    std::shared_ptr<const state> state_;
};

/// A function of tensors, the types of its arguments forgotten.
using traced_function = callback<std::vector<any_tensor>(span<const any_tensor>)>;

/// Calls the function with tensors that have no values and records what it gives. Throws
/// errc::invalid_argument where the function asks for a value, and what it throws.
PUMICE_FUNCTION executable trace(const context& home, span<const executable::value> inputs,
                                 const traced_function& function);

namespace detail {
/// The traced graph of `trace`, not yet planned.
PUMICE_FUNCTION traced_graph trace_graph(const context& home, span<const executable::value> inputs,
                                         const traced_function& function);
}  // namespace detail

namespace detail {

/// Makes a recording for inputs of these types and shapes.
using make_recording =
    callback<executable(const context& home, span<const executable::value> inputs)>;

/// The recordings of one function: one per context, types and shapes of the arguments.
class recordings {
public:
    explicit recordings(std::size_t most) : most_(most) {}
    recordings(recordings&& other) noexcept : most_(other.most_), list_(std::move(other.list_)) {}
    /// A copy begins with the recordings that are there.
    recordings(const recordings& other) : most_(other.most_) {
        const small_lock lock(other.mutex_);
        list_ = other.list_;
    }
    /// The recording for these arguments; traces where there is none yet, and forgets the one that
    /// was not used for longest where there are too many.
    PUMICE_FUNCTION executable find(span<const any_tensor> arguments,
                                    const traced_function& function);
    /// The same, whatever the arguments have along their `axes`: as if each had `most` there.
    PUMICE_FUNCTION executable find(span<const any_tensor> arguments, span<const index_list> axes,
                                    std::int64_t most, const make_recording& make);
    std::size_t size() const {
        const small_lock lock(mutex_);
        return list_.size();
    }

private:
    std::size_t most_;
    small_mutex making_;         // held while one is made: the function may ask how many there are
    mutable small_mutex mutex_;  // of the list
    array_list<executable> list_;  // the last used first
};

/// What tracing hands to a function for an argument of type A, and keeps of a result of type A.
template <class A>
struct traced_type {
    static_assert(
        any_array<A>,
        "a compiled function takes and gives tensors and any_tensors; a number is a scalar_tensor");
    using type = any_tensor;
};
template <element T, extents_type E, layout L>
struct traced_type<tensor<T, E, L>> {
    using type = tensor<T, E, L>;
};
template <class Tree, class E>
struct traced_type<expression<Tree, E>> {
    using type = tensor<typename element_for<Tree::type>::type, E>;
};
template <class A>
using traced_t = typename traced_type<std::remove_cvref_t<A>>::type;

/// A function's results as a list, and a list as what the function gives.
template <class R>
struct traced_result {
    using type = traced_t<R>;
    static std::vector<any_tensor> list(const R& r) { return {any_tensor(r.get())}; }
    static type make(const std::vector<any_tensor>& l) { return type(l[0]); }
};
template <>
struct traced_result<std::vector<any_tensor>> {
    using type = std::vector<any_tensor>;
    static type list(type r) { return r; }
    static type make(type l) { return l; }
};
template <class... R>
struct traced_result<std::tuple<R...>> {
    using type = std::tuple<traced_t<R>...>;
    static std::vector<any_tensor> list(const std::tuple<R...>& r) {
        return std::apply(
            [](const auto&... each) { return std::vector<any_tensor>{any_tensor(each.get())...}; },
            r);
    }
    static type make(const std::vector<any_tensor>& l) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return type(traced_t<R>(l[I])...);
        }(std::index_sequence_for<R...>{});
    }
};

}  // namespace detail

/// Named in compile errors; never defined. A number that changes is a `scalar_tensor`.
template <class... Argument> struct compiled_functions_take_tensors;

/// A function that was given to `compile`. Any thread may call it.
template <class F, class Recordings = detail::recordings>
class compiled {
public:
    compiled(F f, Recordings known) : function_(std::move(f)), known_(std::move(known)) {}

    /// Like the function itself; traces it the first time for these element types and shapes.
    /// Within a function that is traced it is called, and so becomes part of that.
    template <class... A>
        requires(sizeof...(A) > 0 && ((array_argument<A> || any_array<A>) && ...))
    auto operator()(const A&... arguments) const {
        static_assert(std::is_invocable_v<const F&, detail::traced_t<A>...>,
                      "the compiled function does not take these arguments");
        using result = result_of<A...>;
        const any_tensor list[] = {any_tensor(arguments.get())...};
        return result::make(detail::current_trace ? called<A...>(list)
                                                  : find<A...>(list).run(list));
    }
    template <class... A>
    auto operator()(const A&...) const {
        return compiled_functions_take_tensors<A...>{};
    }
    /// The recording for these arguments: to run into tensors that are there, or to look at.
    template <class... A>
        requires((array_argument<A> || any_array<A>) && ...)
    executable get(const A&... arguments) const {
        const any_tensor list[] = {any_tensor(arguments.get())...};
        return find<A...>(list);
    }
    /// The number of recordings that it keeps.
    std::size_t recorded() const { return known_.size(); }

private:
    template <class... A>
    using result_of = detail::traced_result<
        std::remove_cvref_t<std::invoke_result_t<const F&, detail::traced_t<A>...>>>;

    template <class... A>
    std::vector<any_tensor> called(span<const any_tensor> list) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return result_of<A...>::list(function_(detail::traced_t<A>(list[I])...));
        }(std::index_sequence_for<A...>{});
    }
    template <class... A>
    executable find(span<const any_tensor> list) const {
        return known_.find(list,
                           [this](span<const any_tensor> traced) { return called<A...>(traced); });
    }

    F function_;
    mutable Recordings known_;
};

/// Makes a function of tensors a recording: it is called once per element types and shapes of its
/// arguments (and context), with tensors that have no values, and what it gives is planned,
/// recorded and resubmitted from then on. Tensors that it captures are constants; a random number
/// without a key is new in each run. It must not read values, and what else it does happens only
/// while it is traced. At most `most` recordings are kept.
template <class F>
compiled<F> compile(F function, std::size_t most = 16) {
    return compiled<F>(std::move(function), detail::recordings(most));
}

#ifndef PUMICE_COMPILED

namespace detail {
[[noreturn]] inline void throw_traced_twice() {
    fail(errc::invalid_argument, "compile",
         {"a function is recorded while another is traced; call it, so that it becomes part"});
}
}  // namespace detail

PUMICE_INLINE executable::executable(const context& home, traced_graph graph) {
    std::shared_ptr<state> made(new state{home, {}, {}, graph.keys.size(), nullptr});
    for (const node_ptr& n : graph.inputs) made->inputs.push_back({n->type, n->extent});
    for (const node_ptr& n : graph.outputs) made->outputs.push_back({n->type, n->extent});
    made->graph = home.get()->prepare(graph, &prepare_graph<>);
    state_ = std::move(made);
}

PUMICE_BODY traced_graph detail::trace_graph(const context& home,
                                             span<const executable::value> inputs,
                                             const traced_function& function) {
    if (current_trace) throw_traced_twice();
    struct tracing {
        open_trace t;
        explicit tracing(const std::shared_ptr<engine>& home) : t{home, {}} { current_trace = &t; }
        ~tracing() { current_trace = nullptr; }
    };
    traced_graph g;
    std::vector<any_tensor> arguments, results;
    {
        tracing now(home.get());
        for (const executable::value& v : inputs) {
            g.inputs.push_back(make_data(v.dtype, v.shape, nullptr, home.get()));
            arguments.emplace_back(g.inputs.back());
        }
        results = function(arguments);
        g.keys = std::move(now.t.keys);
    }
    key_set<const node*> listed;
    for (const any_tensor& t : results) {
        node_ptr n = t.get();
        if (n->owner != home.get())
            fail(errc::context_mismatch, "compile",
                 {"a result belongs to another context than the arguments"});
        // Each output is computed into memory of its own.
        if (n->realised() || is_view(*n) || !listed.insert(n.get()))
            n = make_node(n->type, n->extent, copy_op{row_major_strides(n->extent)}, {n});
        g.outputs.push_back(std::move(n));
    }
    return g;
}

PUMICE_BODY executable trace(const context& home, span<const executable::value> inputs,
                             const traced_function& function) {
    return executable(home, detail::trace_graph(home, inputs, function));
}

PUMICE_BODY submission executable::start(span<any_tensor> results, span<const any_tensor> inputs,
                                         stop_view stop, bool donated) const {
    const state& s = get();
    if (inputs.size() != s.inputs.size() || results.size() != s.outputs.size())
        fail(errc::invalid_argument, "executable",
             {"takes ", s.inputs.size(), " inputs and gives ", s.outputs.size(), " outputs, not ",
              inputs.size(), " and ", results.size()});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const any_tensor& t = inputs[i];
        if (t.get()->owner != s.home.get())
            fail(errc::context_mismatch, "executable",
                 {"input ", i, " belongs to another context than the executable"});
        if (t.dtype() != s.inputs[i].dtype)
            fail(errc::dtype_mismatch, "executable",
                 {"input ", i, " is ", to_string(t.dtype()), ", recorded for ",
                  to_string(s.inputs[i].dtype)});
        if (t.get()->extent != s.inputs[i].shape && !s.graph->takes(i, t.get()->extent))
            fail(errc::shape_mismatch, "executable",
                 {"input ", i, " has shape ", to_string(t.shape()), ", recorded for ",
                  to_string(s.inputs[i].shape)});
    }
    constexpr std::size_t few = 16;
    std::uint32_t here[few];
    array_list<std::uint32_t> many(s.keys > few ? s.keys : 0);
    std::uint32_t* keys = s.keys > few ? many.data() : here;
    for (std::size_t i = 0; i < s.keys; ++i) keys[i] = random::detail::fresh().seed();
    return s.graph->run(inputs, span(keys, s.keys), results, stop, donated);
}

namespace detail {

PUMICE_BODY executable recordings::find(span<const any_tensor> arguments,
                                        const traced_function& function) {
    return find(arguments, {}, 0, [&](const context& home, span<const executable::value> inputs) {
        return trace(home, inputs, function);
    });
}

PUMICE_BODY executable recordings::find(span<const any_tensor> arguments,
                                        span<const index_list> axes, std::int64_t most,
                                        const make_recording& make) {
    if (arguments.empty())
        fail(errc::invalid_argument, "compile", {"a compiled function takes at least one tensor"});
    if (current_trace) throw_traced_twice();
    const std::shared_ptr<engine>& owner = arguments[0].get()->owner;
    const auto shape_of = [&](std::size_t i) {
        shape s = arguments[i].get()->extent;
        if (!axes.empty())
            for (const std::int64_t axis : axes[i]) s[static_cast<int>(axis)] = most;
        return s;
    };
    const auto fits = [&](const executable& e) {
        if (e.where().get() != owner || e.inputs().size() != arguments.size()) return false;
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (arguments[i].dtype() != e.inputs()[i].dtype || shape_of(i) != e.inputs()[i].shape)
                return false;
        return true;
    };
    const auto known = [&]() -> std::optional<executable> {
        const small_lock lock(mutex_);
        for (std::size_t i = 0; i < list_.size(); ++i)
            if (fits(list_[i])) {
                for (; i > 0; --i) std::swap(list_[i], list_[i - 1]);
                return list_.front();
            }
        return std::nullopt;
    };
    if (std::optional<executable> e = known()) return *std::move(e);
    const small_lock one_at_a_time(making_);
    if (std::optional<executable> e = known()) return *std::move(e);
    std::vector<executable::value> inputs;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        inputs.push_back({arguments[i].dtype(), shape_of(i)});
    executable made = make(context(owner), inputs);
    const small_lock lock(mutex_);
    if (most_ > 0) {
        list_.insert(list_.begin(), made);
        if (list_.size() > most_) list_.pop_back();
    }
    return made;
}

}  // namespace detail

#endif

}}  // namespace pumice::PUMICE_ABI
