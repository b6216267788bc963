// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Builders of the ONNX operators that have graphs of their own: If, Loop, Scan.
#pragma once

#include <pumice/model/onnx/detail/shape.hpp>
#include <pumice/tensor/control.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx::build {

/// Sets all results, or what stands for them where only shapes are worked out.
inline any_tensor give(node_builder& b, const std::vector<any_tensor>& results) {
    for (std::size_t k = 1; k < results.size(); ++k) b.set(k, results[k]);
    if (results.empty()) b.fail(errc::bad_file, "has a graph that gives nothing");
    return results[0];
}
inline any_tensor like(const any_tensor& t) { return make_abstract(t.dtype(), t.shape()); }
inline shape stacked(std::int64_t rows, const shape& row) {
    shape all{rows};
    for (const std::int64_t n : row) all.push_back(n);
    return all;
}
inline std::vector<any_tensor> uploaded(const node_builder& b, std::vector<any_tensor> list) {
    for (any_tensor& t : list) t = b.uploaded(t);
    return list;
}

/// What is known, or differs in shape, is decided while the graph is built; the rest when it runs.
inline any_tensor branch(node_builder& b) {
    const resolved_model &yes = b.graph("then_branch"), &no = b.graph("else_branch");
    const auto pick = [&](bool which) { return give(b, b.run(which ? yes : no, {})); };
    if (yes.outputs.size() != b.outputs() || no.outputs.size() != b.outputs())
        b.fail(errc::bad_file, "has a graph with another number of outputs than its own");
    if (b.value(0).dtype() != dtype::boolean || b.value(0).size() != 1)
        b.fail(errc::bad_file, "is decided by what is no bool of one element");
    if (const auto known = b.number(0)) return pick(*known != 0);
    const auto same = [](const any_tensor& x, const any_tensor& y) {
        return x.dtype() == y.dtype() && x.shape() == y.shape();
    };
    if (!b.home()) {
        const auto first = b.run(yes, {}), second = b.run(no, {});
        std::vector<any_tensor> list;
        for (std::size_t k = 0; k < first.size(); ++k) {
            if (!same(first[k], second[k]))
                b.must_run("has graphs whose outputs differ in type or shape");
            list.push_back(like(first[k]));
        }
        return give(b, list);
    }
    struct differ {};
    std::vector<any_tensor> results;
    try {
        std::vector<any_tensor> before;
        const traced_function each[] = {
            [&](span<const any_tensor>) { return uploaded(b, b.run(yes, {})); },
            [&](span<const any_tensor>) { return uploaded(b, b.run(no, {})); }};
        const auto watched = [&](const traced_function& f) -> traced_function {
            return [&](span<const any_tensor> none) {
                std::vector<any_tensor> made = f(none);
                for (std::size_t k = 0; k < before.size(); ++k)
                    if (!same(made[k], before[k])) throw differ();
                return before = std::move(made);
            };
        };
        results = pumice::detail::run_cond(b.tensor(0), watched(each[0]), watched(each[1]), {});
    } catch (const differ&) {
        return pick(constant_values<double>(b.fetched(0))[0] != 0);
    }
    return give(b, results);
}

namespace detail {

/// One Loop on its way into the graph.
class looped {
public:
    explicit looped(node_builder& b)
        : b_(b), body_(b.graph("body")),
          carried_(static_cast<std::size_t>(std::max(b.inputs() - 2, 0))) {
        if (body_.inputs.size() != carried_ + 2 || body_.outputs.size() < carried_ + 1)
            b.fail(errc::bad_file, "has a body of " + std::to_string(body_.inputs.size()) +
                                       " inputs and " + std::to_string(body_.outputs.size()) +
                                       " outputs for " + std::to_string(carried_) +
                                       " carried values");
        if (b.outputs() > body_.outputs.size() - 1)
            b.fail(errc::bad_file, "has more outputs than its body gives");
        for (std::size_t i = 0; i < carried_; ++i)
            init_.push_back(b.tensor(static_cast<int>(i) + 2));
    }

    any_tensor build() {
        std::vector<any_tensor> once;
        try {
            once = probe();
        } catch (const needs_value&) {
            return unrolled();
        }
        for (std::size_t i = 0; i < carried_; ++i)
            if (once[1 + i].shape() != init_[i].shape()) return unrolled();
        const std::size_t given = b_.outputs();  // the last of the body's may be left out
        const std::size_t stacks = given > carried_ ? given - carried_ : 0;
        const host_constant* const goes_on = constant_of(once[0]);
        const bool stops = !goes_on || constant_values<double>(once[0])[0] == 0;
        const auto first = b_.has(1) ? b_.number(1) : 1.0;
        constexpr std::int64_t most = 0x7fffffff;
        std::int64_t count = -1;
        const bool bounded = b_.has(0) && !b_.known(0);
        if (const auto trips = b_.has(0) && b_.known(0) ? trip_count() : std::nullopt)
            if (*trips <= most) count = std::max(*trips, std::int64_t{0});
        if (first && *first == 0) count = 0;
        const bool tested = count != 0 && (stops || !first || bounded);
        if (count < 0 && !stops && !bounded) b_.fail(errc::bad_file, "never ends");

        pumice::detail::loop_bounds bounds{"Loop", count};
        bounds.home = b_.home();
        if (stacks > 0 && (tested || count < 0)) {
            bounds.rows = rows(count, tested);
            bounds.wanted = bounds.rows;
        }
        const std::int64_t all = bounds.rows < 0 ? count : bounds.rows;
        if (!b_.home()) {
            std::vector<any_tensor> list;
            for (std::size_t k = 1; k < 1 + carried_ + stacks; ++k)
                list.push_back(k <= carried_
                                   ? like(once[k])
                                   : make_abstract(once[k].dtype(), stacked(all, once[k].shape())));
            return give(b_, list);
        }
        return give(b_, run(bounds, tested, stacks, false));
    }

private:
    std::optional<std::int64_t> trip_count() const {
        const auto list = constant_values<std::int64_t>(b_.value(0));
        if (list.size() != 1) b_.fail(errc::bad_file, "has a trip count that is no number");
        return list[0];
    }
    /// What the body is given for the number of a step and the bool: with the axes that it asks
    /// for.
    any_tensor as_declared(const any_tensor& t, std::size_t input) const {
        const value_info& v = body_.input_info[input];
        return v.has_shape && v.dims.size() == 1 ? reshape(t, {1}) : t;
    }
    std::vector<any_tensor> step(const any_tensor& number, span<const any_tensor> values) const {
        const bool axis = body_.input_info[1].has_shape && body_.input_info[1].dims.size() == 1;
        const std::byte yes[] = {std::byte{1}};
        std::vector<any_tensor> in{
            as_declared(number, 0),
            make_constant(dtype::boolean, axis ? shape{1} : shape{}, {yes, yes + 1})};
        in.insert(in.end(), values.begin(), values.end());
        std::vector<any_tensor> made = b_.run(body_, in);
        if (made[0].dtype() != dtype::boolean || made[0].size() != 1)
            b_.fail(errc::bad_file, "has a body whose output 0 is no bool of one element");
        return made;
    }
    /// The body once, for types and shapes and whether it ever stops.
    std::vector<any_tensor> probe() const {
        if (!b_.home()) {
            std::vector<any_tensor> values;
            for (const any_tensor& t : init_) values.push_back(like(t));
            return step(make_abstract(dtype::i64, {}), values);
        }
        pumice::detail::nested_trace trace(b_.home(), "Loop");
        std::vector<any_tensor> values;
        for (const any_tensor& t : init_) values.push_back(trace.input(t.dtype(), t.shape()));
        return step(trace.input(dtype::i64, {}), values);
    }
    /// Step by step while the graph is built, each with its number: for a body whose shapes depend
    /// on the number or change from step to step.
    any_tensor unrolled() {
        for (const int i : {0, 1})
            if (b_.has(i) && b_.value(i).size() != 1)
                b_.fail(errc::bad_file, "has an input " + std::to_string(i) + " of " +
                                            std::to_string(b_.value(i).size()) + " elements");
        const std::int64_t trips = b_.has(0) ? constant_values<std::int64_t>(b_.fetched(0))[0] : -1;
        bool goes_on = !b_.has(1) || constant_values<double>(b_.fetched(1))[0] != 0;
        std::vector<any_tensor> values = init_;
        std::vector<std::vector<any_tensor>> rows(body_.outputs.size() - 1 - carried_);
        const auto most = b_.limits().nodes / std::max<std::int64_t>(std::ssize(body_.steps), 1);
        for (std::int64_t n = 0; goes_on && (!b_.has(0) || n < trips); ++n) {
            if (n >= most)
                b_.fail(errc::unsupported,
                        "takes more than " + std::to_string(most) +
                            " steps of a body whose shapes differ from step to step");
            const std::vector<any_tensor> made =
                step(make_constant<std::int64_t>(shape{}, span(&n, 1)), values);
            if (constant_of(made[0])) {
                goes_on = constant_values<double>(made[0])[0] != 0;
            } else {
                b_.must_run("ends by a value that a run alone knows");
                std::byte flag{};
                read(reshape(made[0], {}), span(&flag, 1));
                goes_on = flag != std::byte{0};
            }
            for (std::size_t i = 0; i < carried_; ++i) values[i] = b_.uploaded(made[1 + i]);
            for (std::size_t k = 0; k < rows.size(); ++k)
                rows[k].push_back(expand_dims(b_.uploaded(made[1 + carried_ + k]), 0));
        }
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (carried_ + k >= b_.outputs()) break;
            if (rows[k].empty())
                b_.fail(errc::unsupported, "takes no step, so its rows have no shape");
            values.push_back(concat(rows[k], 0));
        }
        return give(b_, values);
    }
    /// How many rows are stacked by a loop whose steps a run alone knows: what the file says of
    /// them, or those of a loop that counts.
    std::int64_t rows(std::int64_t count, bool tested) const {
        for (std::size_t k = carried_; k < b_.outputs(); ++k)
            if (const std::int64_t n = b_.declared_rows(k); n >= 0) {
                if (n > b_.limits().elements) b_.fail(errc::bad_file, "stacks too many rows");
                return n;
            }
        b_.must_run("stacks as many rows as it takes steps, which a run alone knows");
        pumice::detail::loop_bounds bounds{"Loop", count};
        bounds.home = b_.home();
        const any_tensor steps = run(bounds, tested, 0, true).back();
        std::int32_t n = 0;
        read(steps, as_writable_bytes(span(&n, 1)));
        return n;
    }
    /// With `counts` the number of steps is the last of the carried values.
    std::vector<any_tensor> run(const pumice::detail::loop_bounds& bounds, bool tested,
                                std::size_t stacks, bool counts) const {
        const any_tensor limit =
            b_.has(0) && !b_.known(0) ? reshape(b_.tensor(0), {}) : any_tensor();
        const auto below = [&](const any_tensor& number, any_tensor flag) {
            if (limit.has_value()) {
                const any_tensor more = apply<op::less>(astype(number, dtype::i64), limit);
                flag = flag.has_value() ? apply<op::logical_and>(flag, more) : more;
            }
            return flag;
        };
        const auto as_flag = [&](const any_tensor& t) -> any_tensor {
            if (const host_constant* c = constant_of(t); c && constant_values<double>(t)[0] != 0)
                return {};
            return reshape(b_.uploaded(t), {});
        };
        const context here(b_.home());
        std::vector<any_tensor> init = init_;
        if (counts) init.push_back(pumice::detail::filled(scalar(dtype::i32, 0), {}, here));
        any_tensor flag;
        if (tested) {
            flag = below(pumice::detail::filled(scalar(dtype::i32, 0), {}, here),
                         b_.has(1) ? as_flag(b_.value(1)) : any_tensor());
            if (!flag.has_value())
                flag = pumice::detail::filled(scalar(dtype::boolean, 1), {}, here);
        }
        return pumice::detail::run_scan(
            bounds,
            [&](span<const any_tensor> l) {
                std::vector<any_tensor> made =
                    step(astype(l[0], dtype::i64), l.subspan(1, carried_));
                const any_tensor next = apply<op::add>(l[0], scalar(dtype::i32, 1));
                any_tensor again;
                if (tested) again = below(next, as_flag(made[0]));
                if (tested && !again.has_value()) again = b_.uploaded(reshape(made[0], {}));
                made.resize(1 + carried_ + stacks);
                made = uploaded(b_, std::move(made));
                if (counts) made.insert(made.begin() + 1 + std::ssize(init_), next);
                if (again.has_value()) made[0] = std::move(again);
                else made.erase(made.begin());
                return made;
            },
            init, false, flag);
    }

    node_builder& b_;
    const resolved_model& body_;
    std::size_t carried_;
    std::vector<any_tensor> init_;
};

/// One Scan: its states and what it runs along, with an axis each.
struct scanned {
    node_builder& b;
    const resolved_model& body;
    std::vector<std::int64_t> axes, directions, output_axes, output_directions;

    std::vector<any_tensor> run(span<const any_tensor> states, span<const any_tensor> xs) const {
        const std::size_t stacks = body.outputs.size() - states.size();
        std::int64_t count = -1;
        std::vector<int> along;
        for (std::size_t j = 0; j < xs.size(); ++j) {
            along.push_back(normalize_axis(j < axes.size() ? axes[j] : 0, xs[j].rank(), "Scan"));
            const std::int64_t n = xs[j].shape()[along[j]];
            if (count >= 0 && n != count)
                b.fail(errc::shape_mismatch,
                       "runs along axes of " + std::to_string(count) + " and " + std::to_string(n));
            count = n;
        }
        std::vector<any_tensor> made;
        if (!b.home()) {
            std::vector<any_tensor> in;
            for (const any_tensor& t : states) in.push_back(like(t));
            for (std::size_t j = 0; j < xs.size(); ++j) {
                shape row = xs[j].shape();
                row.erase(along[j]);
                in.push_back(make_abstract(xs[j].dtype(), row));
            }
            for (const any_tensor& t : b.run(body, in))
                made.push_back(made.size() < states.size()
                                   ? like(t)
                                   : make_abstract(t.dtype(), stacked(count, t.shape())));
        } else {
            pumice::detail::loop_bounds bounds{"Scan", count};
            bounds.home = b.home();
            made = pumice::detail::run_scan(
                bounds,
                [&](span<const any_tensor> l) {
                    std::vector<any_tensor> in(l.begin() + 1, l.end());
                    for (std::size_t j = 0; j < xs.size(); ++j) {
                        const bool back = j < directions.size() && directions[j] != 0;
                        const any_tensor at =
                            back ? apply<op::subtract>(any_operand(scalar(dtype::i32, count - 1)),
                                                       l[0])
                                 : l[0];
                        in.push_back(pumice::detail::row_at(xs[j], at, along[j]));
                    }
                    return uploaded(b, b.run(body, in));
                },
                states, false);
        }
        for (std::size_t k = 0; k < stacks; ++k) {
            any_tensor& t = made[states.size() + k];
            const std::int64_t front[] = {0};
            if (k < output_directions.size() && output_directions[k] != 0) t = flip(t, front);
            const int to =
                normalize_axis(k < output_axes.size() ? output_axes[k] : 0, t.rank(), "Scan");
            std::vector<std::int64_t> order;
            for (int d = 1; d < t.rank(); ++d) order.push_back(d);
            order.insert(order.begin() + to, 0);
            if (to != 0) t = permute_dims(t, order);
        }
        return made;
    }
};

}  // namespace detail

inline any_tensor loop(node_builder& b) { return detail::looped(b).build(); }

/// In operator set 8 axis 0 is a batch and axis 1 is run along; input 0 says how far, and may be
/// left out. Later ones name an axis and a direction of each.
inline any_tensor scan(node_builder& b) {
    const auto list = [&](std::string_view name) {
        return b.integers(name).value_or(std::vector<std::int64_t>{});
    };
    const resolved_model& body = b.graph("body");
    const bool batched = b.opset() < 9;
    const std::int64_t xs = b.integer("num_scan_inputs", 0), first = batched ? 1 : 0;
    if (xs < 1 || xs > b.inputs() - first)
        b.fail(errc::bad_file, "has " + std::to_string(xs) + " inputs to run along, of " +
                                   std::to_string(b.inputs() - first));
    const auto states = static_cast<std::size_t>(b.inputs() - first - xs);
    detail::scanned s{b, body, {}, {}, {}, {}};
    if (batched) {
        s.directions = list("directions");
        if (b.has(0)) b.fail(errc::unsupported, "has lengths of sequences (sequence_lens)");
    } else {
        s.axes = list("scan_input_axes");
        s.directions = list("scan_input_directions");
        s.output_axes = list("scan_output_axes");
        s.output_directions = list("scan_output_directions");
    }
    if (body.inputs.size() != static_cast<std::size_t>(b.inputs() - first) ||
        body.outputs.size() < states || b.outputs() > body.outputs.size())
        b.fail(errc::bad_file, "has a body of other inputs or outputs than its own");
    std::vector<any_tensor> in;
    for (int i = static_cast<int>(first); i < b.inputs(); ++i) in.push_back(b.tensor(i));
    const span all(in);
    if (!batched) return give(b, s.run(all.first(states), all.subspan(states)));

    const std::int64_t batch = in[0].rank() > 0 ? in[0].shape()[0] : 0;
    if (batch < 1 || batch > 1024)
        b.fail(errc::unsupported, "has a batch of " + std::to_string(batch));
    std::vector<std::vector<any_tensor>> parts(body.outputs.size());
    for (std::int64_t n = 0; n < batch; ++n) {
        std::vector<any_tensor> one;
        for (const any_tensor& t : in) {
            if (t.rank() < 1 || t.shape()[0] != batch)
                b.fail(errc::shape_mismatch, "has inputs of other batches");
            const slice at[] = {{n, n + 1, 1}};
            one.push_back(squeeze(slice_view(t, at), 0));
        }
        const span rest(one);
        const auto made = s.run(rest.first(states), rest.subspan(states));
        for (std::size_t k = 0; k < made.size(); ++k) parts[k].push_back(expand_dims(made[k], 0));
    }
    std::vector<any_tensor> results;
    for (const auto& p : parts) results.push_back(concat(p, 0));
    return give(b, results);
}

}}}  // namespace pumice::PUMICE_ABI::onnx::build
