// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Compiled functions whose arguments have axes of any extent up to a bound: a batch, a length.
#pragma once

#include <pumice/base/key_map.hpp>
#include <pumice/base/lock.hpp>
#include <pumice/core/extent_formula.hpp>
#include <pumice/core/number.hpp>
#include <pumice/graph/graph_key.hpp>
#include <pumice/tensor/compile.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// Axes of one extent that each call brings, from 0 to `at_most`.
/// `pm::compile(f, pm::varying{.at_most = 512})`
struct varying {
    std::int64_t at_most = 0;
    /// Of each argument the axes that have the extent, counted from the end where they are
    /// negative; `{}` for an argument without. The last list counts for all arguments that follow:
    /// as it is, the first axis of each argument varies.
    std::vector<index_list> axes = {{0}};

    /// So many of the least extents may be other ops than those above; see `compile`.
    static constexpr std::int64_t most_apart = 8;
};

/// A function traced for five neighbouring extents, to tell how its graph depends on the extent.
struct traced_range {
    static constexpr int samples = extent_formula::samples;

    array_list<index_list> axes;  // of each input, those that have the extent
    std::int64_t most = 0, least = 0;
    std::string why_not_less = {};  // what the function says to a smaller one
    std::int64_t first = 0;         // extent of the first graph; the others follow it
    array_list<traced_graph> graphs = {};
    /// Of extents further away, for which the plan must be what those five say; not the two least,
    /// where nothing, or an axis of one element that broadcasts, is planned as something else.
    array_list<std::pair<std::int64_t, traced_graph>> others = {};
};

/// Plans such a function once, by the library's engines. Throws errc::unsupported where it cannot
/// be one plan, and says what of it.
template <int = 0>
PUMICE_OF_ENGINE std::shared_ptr<prepared_graph> prepare_range(engine& home, const traced_range& r);
using range_preparer = std::shared_ptr<prepared_graph>(engine& home, const traced_range& r);

namespace detail {

/// The recordings of a function with varying axes.
class varying_recordings {
public:
    varying_recordings(varying range, std::size_t most, range_preparer* how)
        : range_(std::move(range)), how_(how), kept_(most) {}
    PUMICE_FUNCTION executable find(span<const any_tensor> arguments,
                                    const traced_function& function);
    std::size_t size() const { return kept_.size(); }

private:
    varying range_;
    range_preparer* how_;
    recordings kept_;
};

/// A recording for all extents of those axes (of each input, in range) up to `most`, for which the
/// inputs have their shapes.
PUMICE_FUNCTION executable trace_range(const context& home, span<const executable::value> inputs,
                                       array_list<index_list> axes, std::int64_t most,
                                       const traced_function& function, range_preparer* how);

}  // namespace detail

/// Makes a function of tensors a recording that serves every extent of some axes up to a bound: it
/// is planned and recorded for the bound, and a run brings the extent as a number. Results are
/// those of the function for the extent, of its shapes; nothing behind the extent is read.
///
/// The function is called about ten times beforehand, for different extents. It may use the extent
/// (`x.shape()[0]`) as an extent of what it makes, or as a whole number that it computes with, not
/// to decide what it does. Up to eight of the least extents (those below a lag, as in `x[3:]`), and
/// the bound, are recorded apart where the function is other ops for them. Throws errc::unsupported
/// for what cannot be planned for a range: it names the op, and `compile` without `varying` plans
/// it for each shape. A call with an extent beyond the bound, or with unlike extents along the
/// axes, throws errc::shape_mismatch. Memory between the kernels is that of the bound; inputs are
/// not overwritten (executable::run_donating).
template <class F>
compiled<F, detail::varying_recordings> compile(F function, varying range, std::size_t most = 16) {
    return {std::move(function),
            detail::varying_recordings(std::move(range), most, &prepare_range<>)};
}

/// The same as an executable, of a function of run-time types; see `trace`.
inline executable trace(const context& home, span<const executable::value> inputs,
                        array_list<index_list> axes, std::int64_t at_most,
                        const traced_function& function) {
    return detail::trace_range(home, inputs, std::move(axes), at_most, function, &prepare_range<>);
}

#ifndef PUMICE_COMPILED

namespace detail {

/// Of each argument the axes that vary. Throws errc::invalid_argument, errc::axis_out_of_range.
inline array_list<index_list> varying_axes(const varying& range, span<const any_tensor> arguments) {
    const auto refuse = [](errc code, std::initializer_list<piece> why) {
        fail(code, "varying", why);
    };
    if (range.at_most < 1 || range.at_most > std::int64_t{1} << 62)
        refuse(errc::invalid_argument,
               {"at_most is ", range.at_most, ", from 1 to 2^62 is wanted"});
    if (range.axes.empty() || range.axes.size() > arguments.size())
        refuse(errc::invalid_argument,
               {range.axes.size(), " lists of axes for ", arguments.size(), " arguments"});
    array_list<index_list> axes;
    bool any = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        axes.push_back(range.axes[std::min(i, range.axes.size() - 1)]);
        const int rank = arguments[i].rank();
        for (std::int64_t& axis : axes.back()) {
            if (axis < -rank || axis >= rank)
                refuse(errc::invalid_argument,
                       {"axis ", axis, " of argument ", i, ", which has ", rank, " axes"});
            if (axis < 0) axis += rank;
            any = true;
        }
    }
    if (!any) refuse(errc::invalid_argument, {"no axis of any argument varies"});
    return axes;
}

/// A range of extents of which some at its ends have recordings of their own, made when they first
/// come: there a function may be other ops (a slice that is all there is, a sum of one element).
class range_with_ends final : public prepared_graph {
public:
    range_with_ends(context home, std::shared_ptr<prepared_graph> others,
                    array_list<traced_graph> ends)
        : home_(std::move(home)), others_(std::move(others)) {
        for (traced_graph& g : ends) {
            end& e = ends_.emplace_back();
            for (const node_ptr& n : g.inputs) e.inputs.push_back(n->extent);
            e.graph = std::move(g);
        }
    }

    submission run(span<const any_tensor> inputs, span<const std::uint32_t> keys,
                   span<any_tensor> outputs, stop_view stop, bool donated) override {
        for (end& e : ends_)
            if (e.fits(inputs))
                return recorded(e)->run(inputs, keys.first(e.graph.keys.size()), outputs,
                                        std::move(stop), donated);
        return others_->run(inputs, keys, outputs, std::move(stop), donated);
    }
    bool takes(std::size_t input, const shape& s) const override {
        return others_->takes(input, s);
    }
    const plan* planned() const noexcept override { return others_->planned(); }
    std::vector<any_tensor> constants() const override { return others_->constants(); }
    std::string explain() const override { return others_->explain(); }
    memory_use memory() const override { return others_->memory(); }
    std::string memory_svg() const override { return others_->memory_svg(); }

private:
    struct end {
        array_list<shape> inputs = {};
        traced_graph graph = {};
        std::shared_ptr<prepared_graph> made = nullptr;

        bool fits(span<const any_tensor> given) const {
            for (std::size_t i = 0; i < given.size(); ++i)
                if (given[i].get()->extent != inputs[i]) return false;
            return true;
        }
    };
    std::shared_ptr<prepared_graph> recorded(end& e) {
        const small_lock lock(mutex_);
        if (!e.made) e.made = home_.get()->prepare(e.graph, &prepare_graph<>);
        return e.made;
    }

    context home_;
    std::shared_ptr<prepared_graph> others_;
    array_list<end> ends_;
    small_mutex mutex_;
};

/// The shapes of a graph's nodes and what their ops are made with, in one order; `words` says how
/// many numbers each has.
struct graph_extents {
    array_list<std::uint64_t> words = {};
    array_list<std::int64_t> numbers = {};

    explicit graph_extents(const traced_graph& g) {
        key_set<const node*> seen;
        array_list<const node*> open;
        for (const node_ptr& n : g.outputs) open.push_back(n.get());
        while (!open.empty()) {
            const node* const n = open.back();
            open.pop_back();
            if (!seen.insert(n)) continue;
            graph_key key;
            key.add_list(n->extent);
            key.add_op(n->op);
            words.push_back(n->op.family());
            words.push_back(key.words().size());
            for (const std::uint64_t w : key.words())
                numbers.push_back(static_cast<std::int64_t>(w));
            if (const auto* const e = n->op.get_if<elementwise_op>()) {
                words.push_back(e->scalars.size());
                for (const scalar& s : e->scalars)
                    numbers.push_back(is_whole(s) ? s.as<std::int64_t>()
                                                  : static_cast<std::int64_t>(s.bits));
            }
            for (const node_ptr& input : n->inputs) open.push_back(input.get());
        }
    }
};

/// How the graph of a function follows the extent, as its five graphs say.
class graph_formulas {
public:
    /// Pre: the graphs have their inputs yet; planning lets go of them.
    explicit graph_formulas(const traced_range& r)
        : first_(r.first), as_first_(r.graphs[0]), formulas_(as_first_.numbers.size()) {
        array_list<graph_extents> each;
        for (const traced_graph& g : r.graphs) {
            each.push_back(graph_extents(g));
            alike_ = alike_ && each.back().words == as_first_.words;
        }
        for (std::size_t i = 0; alike_ && i < formulas_.size(); ++i)
            alike_ = find(formulas_[i], [&](std::size_t k) { return each[k].numbers[i]; });
        for (std::size_t k = 0; k < r.graphs[0].outputs.size(); ++k) {
            results_.push_back({});
            for (int d = 0; d < r.graphs[0].outputs[k]->extent.rank(); ++d) {
                results_.back().push_back({});
                find(results_.back().back(),
                     [&](std::size_t g) { return r.graphs[g].outputs[k]->extent[d]; });
            }
        }
    }

    /// Whether the five are the same ops with numbers that follow the extent. If not, a plan may
    /// yet; of it only the shapes of results are known here.
    bool are_alike() const noexcept { return alike_; }
    std::int64_t first() const noexcept { return first_; }
    std::int64_t extent_of_result(std::size_t k, int axis, std::int64_t extent) const {
        return results_[k][static_cast<std::size_t>(axis)].at(extent);
    }
    /// What of the graph for an extent is not as they have it; empty: nothing.
    std::string difference(const traced_graph& graph, std::int64_t extent) const {
        for (std::size_t k = 0; k < graph.outputs.size(); ++k)
            for (int d = 0; d < graph.outputs[k]->extent.rank(); ++d)
                if (graph.outputs[k]->extent[d] != extent_of_result(k, d, extent))
                    return cat({"the shape ", to_string(graph.outputs[k]->extent), " of result ",
                                k});
        if (!alike_) return {};
        const graph_extents of(graph);
        if (of.words != as_first_.words) return "what the function does";
        for (std::size_t i = 0; i < formulas_.size(); ++i)
            if (of.numbers[i] != formulas_[i].at(extent))
                return "a shape within the function, or what an op is given,";
        return {};
    }

private:
    /// Of the number that graph k has.
    template <class F>
    bool find(extent_formula& f, F number) const {
        std::int64_t values[traced_range::samples] = {};
        for (std::size_t k = 0; k < traced_range::samples; ++k) values[k] = number(k);
        return f.find(first_, values);
    }

    std::int64_t first_;
    graph_extents as_first_;
    bool alike_ = true;
    array_list<extent_formula> formulas_;
    array_list<array_list<extent_formula>> results_;
};

}  // namespace detail

PUMICE_BODY executable detail::trace_range(const context& home,
                                           span<const executable::value> inputs,
                                           array_list<index_list> axes, std::int64_t most,
                                           const traced_function& function, range_preparer* how) {
    const auto graph_of = [&](std::int64_t extent) {
        std::vector<executable::value> values(inputs.begin(), inputs.end());
        for (std::size_t i = 0; i < values.size(); ++i)
            for (const std::int64_t axis : axes[i])
                values[i].shape[static_cast<int>(axis)] = extent;
        return trace_graph(home, values, function);
    };
    traced_range r{axes, most};
    // The least extent that the function takes: an index, a window or a maximum may ask for some.
    const auto takes = [&](std::int64_t extent) {
        try {
            graph_of(extent);
            return true;
        } catch (const error& e) {
            r.why_not_less = e.what();
            return false;
        }
    };
    if (!takes(0)) {
        graph_of(most);  // throws what the function does
        std::int64_t low = 0, high = most;
        while (high - low > 1) {
            const std::int64_t middle = low + (high - low) / 2;
            (takes(middle) ? high : low) = middle;
        }
        r.least = high;
        if (high > 0) takes(high - 1);  // says why
    }
    // What is cut at a fixed extent, or decided by it, shows where the extent is small, or at the
    // bound: at an end it is recorded apart, elsewhere refused.
    array_list<traced_graph> ends;
    const auto look_at_others = [&](const graph_formulas& known) {
        const auto goes_on = [&](std::int64_t extent, bool at_end) {
            traced_graph graph = graph_of(extent);
            const std::string what = known.difference(graph, extent);
            if (what.empty() && (known.are_alike() || !at_end)) {
                if (extent >= r.least + 2) r.others.push_back({extent, std::move(graph)});
                return true;
            }
            if (!at_end)
                fail(errc::unsupported, "varying",
                     {what, " for the extent ", extent, " does not go on as from ", known.first(),
                      " on; compile without varying what is cut, rounded or decided by it"});
            if (graph.keys.size() > r.graphs[0].keys.size())
                fail(errc::unsupported, "varying",
                     {"the function draws more random numbers for the extent ", extent,
                      " than for ", known.first()});
            ends.push_back(std::move(graph));
            return false;
        };
        const std::int64_t apart = r.least + (known.are_alike() ? varying::most_apart : 2);
        std::int64_t low = r.least;
        while (low < most && !goes_on(low, low < apart)) ++low;
        for (const std::int64_t extent :
             {low + 1, low + 2, low + 3, r.least + (most - r.least) / 2})
            if (extent > low && extent < most) goes_on(extent, false);
        if (most < r.first || most >= r.first + traced_range::samples) goes_on(most, true);
    };
    // Below the bound, where the function may take no more; where that is too near to 0, where
    // axes of one element broadcast, above it. Where a fixed extent happens to be the bound, what
    // it is planned to may differ there.
    constexpr int n = traced_range::samples;
    array_list<std::int64_t> beginnings;
    if (most - n + 1 >= r.least + 2)
        for (const std::int64_t first : {most - n + 1, most - n})
            if (first >= r.least + 2) beginnings.push_back(first);
    beginnings.push_back(most + 1);
    if (most >= r.least + 2) beginnings.push_back(most);
    std::exception_ptr fault;
    std::shared_ptr<prepared_graph> made;
    std::optional<graph_formulas> known;
    for (const std::int64_t first : beginnings) try {
            r.first = first;
            r.graphs.clear();
            r.others.clear();
            ends.clear();
            for (int k = 0; k < n; ++k) r.graphs.push_back(graph_of(first + k));
            known.emplace(r);
            if (known->are_alike()) look_at_others(*known);
            made = how(*home.get(), r);  // says by itself which op is not alike
            if (!known->are_alike()) look_at_others(*known);
            break;
        } catch (const error&) {
            if (!fault) fault = std::current_exception();
        }
    if (!made) std::rethrow_exception(fault);
    if (!ends.empty())
        made = std::make_shared<range_with_ends>(home, std::move(made), std::move(ends));

    std::vector<executable::value> takes_values(inputs.begin(), inputs.end()), gives;
    for (std::size_t i = 0; i < takes_values.size(); ++i)
        for (const std::int64_t axis : axes[i])
            takes_values[i].shape[static_cast<int>(axis)] = most;
    for (std::size_t k = 0; k < r.graphs[0].outputs.size(); ++k) {
        shape s = r.graphs[0].outputs[k]->extent;
        for (int d = 0; d < s.rank(); ++d) s[d] = known->extent_of_result(k, d, most);
        gives.push_back({r.graphs[0].outputs[k]->type, s});
    }
    return executable(home, std::move(takes_values), std::move(gives), r.graphs[0].keys.size(),
                      std::move(made));
}

namespace detail {

PUMICE_BODY executable varying_recordings::find(span<const any_tensor> arguments,
                                                const traced_function& function) {
    array_list<index_list> axes;
    if (!arguments.empty()) axes = varying_axes(range_, arguments);
    return kept_.find(arguments, {axes.data(), axes.size()}, range_.at_most,
                      [&](const context& home, span<const executable::value> inputs) {
                          return trace_range(home, inputs, axes, range_.at_most, function,
                                             of_engine(how_));
                      });
}

}  // namespace detail

#endif

}}  // namespace pumice::PUMICE_ABI
