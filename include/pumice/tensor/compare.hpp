// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Proof that a function gives on its device, fused, what its ops give one by one there and on the
// host; or the first step that does not. No other header includes this one.
#pragma once

#include <pumice/graph/graph_copy.hpp>
#include <pumice/graph/print.hpp>
#include <pumice/tensor/compile.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

/// What `compare` found.
struct comparison {
    enum class fault : std::uint8_t {
        none,
        host,  // an op alone gives other values on the device than on the host, of equal operands
        fused  // an op gives other values where it shares kernels with those before it
    };
    fault where = fault::none;
    std::string step;                  // "conv, Conv \"c1\"": of what differs
    double difference = 0;             // between two elements there, the largest
    shape at;                          // their index
    std::string kernels;               // that made the step's values (`explain`)
    int steps = 0;                     // compared
    std::vector<std::string> skipped;  // what the host cannot compute, or runs as one

    explicit operator bool() const noexcept { return where == fault::none; }
};
/// What was found, as lines for people.
inline std::string to_string(const comparison& c) {
    std::string text =
        c ? cat({"alike in ", c.steps, c.steps == 1 ? " step" : " steps"})
          : cat({c.step,
                 c.where == comparison::fault::host ? ": the device differs from the host by "
                                                    : ": fused differs from unfused by ",
                 std::to_string(c.difference), " at ", to_string(c.at)});
    for (const std::string& s : c.skipped) append_text(text, {"\n  not compared: ", s});
    if (!c.kernels.empty()) append_text(text, {"\n", c.kernels});
    return text;
}

struct compare_options {
    /// Two elements may differ by so many times what rounding explains: a share of the largest of
    /// the tensor that its type has. Integers and bools have to be equal.
    double tolerance = 1;
};

namespace detail {

/// Of the largest element, what sums and functions of a type round away.
constexpr double rounding_share(dtype type) {
    switch (type) {
        case dtype::f64: return 1e-10;
        case dtype::f32: return 1e-4;
        case dtype::f16: return 1e-2;
        case dtype::bf16: return 6e-2;
        case dtype::f8_e4m3: return 0.15;
        case dtype::f8_e5m2: return 0.3;
        default: return 0;
    }
}

class comparer {
public:
    comparer(const traced_graph& g, span<const any_tensor> inputs, const compare_options& options)
        : graph_(g), inputs_(inputs), options_(options), home_(g.outputs[0]->owner) {
        for (std::size_t i = 0; i < g.keys.size(); ++i) {
            const auto seed = static_cast<std::uint32_t>(i + 1);
            keys_.push_back(home_->create(dtype::u32, {}, &seed));
        }
    }

    comparison run() {
        graph_copy alone = over_inputs();
        array_list<node_ptr> results;
        for (const node_ptr& n : graph_.outputs) results.push_back(alone.of(n));
        for (const graph_copy::pair& each : alone.made) {
            if (is_view(*each.from)) continue;
            const array_list<node_ptr> operands = each.copy->inputs;
            home_->eval(span(&each.copy, 1));
            steps_.push_back(each);
            if (!same_on_host(each, operands)) return found_;
        }
        graph_copy together = over_inputs();
        array_list<node_ptr> fused;
        for (const node_ptr& n : graph_.outputs) fused.push_back(together.of(n));
        home_->eval(fused);
        for (std::size_t i = 0; i < fused.size(); ++i) {
            if (same(fused[i], results[i])) continue;
            found_.where = comparison::fault::fused;
            name_step(graph_.outputs[i], fused[i]);
            bisect(graph_.outputs[i]);
            return found_;
        }
        found_.steps = static_cast<int>(steps_.size());
        return found_;
    }

private:
    graph_copy over_inputs() const {
        graph_copy copies(home_);
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            copies.stands_for(graph_.inputs[i], inputs_[i].get());
        for (std::size_t i = 0; i < keys_.size(); ++i) copies.stands_for(graph_.keys[i], keys_[i]);
        return copies;
    }

    /// Whether the host gives the same for an op, of what the device gave for its operands.
    bool same_on_host(const graph_copy::pair& step, const array_list<node_ptr>& operands) {
        if (step.from->op.is<control_op>()) {
            found_.skipped.push_back(cat({text_of(*step.from), ", which decides what runs"}));
            return true;
        }
        graph_copy one(host_.get());
        for (std::size_t i = 0; i < operands.size(); ++i)
            one.stands_for(step.from->inputs[i], to(any_tensor(operands[i]), host_).get());
        node_ptr there;
        try {
            there = one.of(step.from, [](const node_ptr&) { return nullptr; });
            host_.get()->eval(span(&there, 1));
        } catch (const error& e) {
            if (e.code() != errc::unsupported) throw;
            found_.skipped.push_back(cat({text_of(*step.from), ": ", e.message()}));
            return true;
        }
        if (same(step.copy, there)) return true;
        found_.where = comparison::fault::host;
        name_step(step.from, step.copy);
        return false;
    }

    /// Between a step whose values are right where all before it share kernels with it, and a later
    /// one whose are not: goes on to two that follow each other.
    void bisect(const node_ptr& wrong) {
        std::size_t good = 0, bad = 0;  // of steps: [0, good) are right
        while (bad < steps_.size() && steps_[bad].from != wrong) ++bad;
        if (bad == steps_.size() || !differs_fused(steps_[bad])) return;
        while (good < bad) {
            const std::size_t middle = good + (bad - good) / 2;
            if (differs_fused(steps_[middle])) bad = middle;
            else good = middle + 1;
        }
        differs_fused(steps_[bad]);  // whose names and numbers are told
    }
    bool differs_fused(const graph_copy::pair& step) {
        graph_copy copies = over_inputs();
        const node_ptr n = copies.of(step.from);
        home_->eval(span(&n, 1));
        if (same(n, step.copy)) return false;
        name_step(step.from, n);
        return true;
    }

    static std::string text_of(const node& n) {
        const std::string maker(n.label.get().maker());
        return cat({describe(n), maker.empty() ? "" : ", ", maker});
    }
    void name_step(const node_ptr& from, const node_ptr& made) {
        found_.step = text_of(*from);
        found_.kernels = made->owner->explain(made);
    }

    /// Notes the largest difference.
    bool same(const node_ptr& a, const node_ptr& b) {
        const std::vector<std::byte> x = bytes(a), y = bytes(b);
        if (x == y) return true;
        const bool real = is_floating(a->type);
        const std::vector<double> u = numbers(a), v = numbers(b);
        double largest = 0, most = -1;
        std::size_t where = 0;
        for (const double each : v)
            if (std::isfinite(each)) largest = std::max(largest, std::abs(each));
        for (std::size_t i = 0; i < u.size(); ++i) {
            double gap = std::abs(u[i] - v[i]);
            if (u[i] == v[i] || (std::isnan(u[i]) && std::isnan(v[i]))) gap = 0;
            else if (!std::isfinite(gap)) gap = std::numeric_limits<double>::infinity();
            if (gap > most) most = gap, where = i;
        }
        if (real && most <= rounding_share(a->type) * options_.tolerance * largest) return true;
        found_.difference = most;
        found_.at = index_of(static_cast<std::int64_t>(where), a->extent);
        return false;
    }
    static std::vector<std::byte> bytes(const node_ptr& n) {
        std::vector<std::byte> values(static_cast<std::size_t>(byte_count(n->type, n->count())));
        read(any_tensor(n), values);
        return values;
    }
    std::vector<double> numbers(const node_ptr& n) const {
        return to_vector<double>(astype(to(any_tensor(n), host_), dtype::f64));
    }

    const traced_graph& graph_;
    span<const any_tensor> inputs_;
    compare_options options_;
    std::shared_ptr<engine> home_;
    context host_{host_only{}};
    array_list<node_ptr> keys_;
    array_list<graph_copy::pair> steps_;
    comparison found_;
};

}  // namespace detail

/// Calls f as `compile` would and runs what it is made of three times: each op alone on the device
/// of the inputs, and on the host over the same operands; then all as it is fused. Where values
/// differ by more than rounding explains, says at which op: the first that the host computes
/// otherwise, or, by bisection, one that fusion makes differ while those before it agree. For
/// debugging: keeps every op's values, and copies them to the host. Throws what tracing throws.
template <class F, class... A>
    requires((array_argument<A> || any_array<A>) && ...)
comparison compare(const compare_options& options, const F& f, const A&... inputs) {
    const any_tensor list[] = {any_tensor(inputs.get())...};
    std::vector<executable::value> values;
    for (const any_tensor& t : list) values.push_back({t.dtype(), t.shape()});
    using result = detail::traced_result<
        std::remove_cvref_t<std::invoke_result_t<const F&, detail::traced_t<A>...>>>;
    const traced_graph g =
        detail::trace_graph(context(list[0].get()->owner), values,
                            [&](span<const any_tensor> traced) {
                                return [&]<std::size_t... I>(std::index_sequence<I...>) {
                                    return result::list(f(detail::traced_t<A>(traced[I])...));
                                }(std::index_sequence_for<A...>{});
                            });
    return detail::comparer(g, list, options).run();
}
template <class F, class... A>
    requires((array_argument<A> || any_array<A>) && ... && !std::same_as<F, compare_options>)
comparison compare(const F& f, const A&... inputs) {
    return compare(compare_options{}, f, inputs...);
}

}}  // namespace pumice::PUMICE_ABI
