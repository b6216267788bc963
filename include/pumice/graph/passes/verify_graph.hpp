// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The rules of an op_graph, checked: what a pass got wrong is named, with node and op.
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/graph/op_graph.hpp>
#include <pumice/graph/print.hpp>
#include <pumice/graph/window.hpp>

#include <string>
#include <vector>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

class graph_verifier {
public:
    explicit graph_verifier(const op_graph& graph) : graph_(graph) {}

    /// What could not even be put in order, or be described.
    std::vector<std::string> links() && {
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            const graph_node& n = graph_[i];
            at_ = &n;
            if (const graph_node* by = n.replaced_by;
                by && (by->type() != n.type() || by->extent() != n.extent()))
                fault({"of type ", to_string(n.type()), " and shape ", to_string(n.extent()),
                       " is replaced by one of ", to_string(by->type()), " and ",
                       to_string(by->extent())});
            if (n.is_given()) continue;
            if (n.origin && n.origin->realised())
                fault({"is there: a pass may replace it, not change it"});
            for (std::size_t k = 0; k < n.inputs.size(); ++k)
                if (!n.inputs[k]) fault({"has null as its input ", k});
            if (is_view(n) && n.inputs.size() != 1) fault({"has ", n.inputs.size(), " inputs"});
            if (const auto* e = n.op().get_if<elementwise_op>())
                if (!e->body) fault({"has no program"});
            if (const auto* k = n.op().get_if<kernel_op>())
                if (!k->call) fault({"calls no kernel"});
        }
        return std::move(faults_);
    }

    std::vector<std::string> run() && {
        array_list<char> made(graph_.size(), 0);
        for (const graph_node* n : graph_.order()) {
            at_ = n;
            if (std::exchange(made[n->number], 1)) fault({"stands in the order twice"});
            if (n->is_given()) fault({"is there, and would be computed"});
            bool known = true;
            for (const graph_node* input : n->inputs) {
                if (input->replaced_by)
                    fault({"reads node ", input->number, ", which is replaced"});
                if (input->is_given() || made[input->number]) continue;
                fault({"reads node ", input->number, ", which is not computed before it"});
                known = false;
            }
            if (known) inference();
        }
        for (const graph_node* r : graph_.roots()) {
            at_ = r;
            if (!r->is_given() && !made[r->number]) fault({"was asked for, and is not computed"});
            if (!r->kept) fault({"was asked for, and is not kept"});
            if (!r->origin) fault({"was asked for, and is nobody's"});
        }
        return std::move(faults_);
    }

private:
    void fault(std::initializer_list<piece> what) {
        faults_.push_back(cat({describe(*at_), " ", cat(what)}));
    }
    const shape& extent(std::size_t input) const { return at_->inputs[input]->extent(); }
    dtype type(std::size_t input) const { return at_->inputs[input]->type(); }

    /// Inputs, type and shape are those of the op.
    void inference() {
        if (at_->layout().rank() != at_->extent().rank())
            fault({"has ", at_->layout().rank(), " strides for ", at_->extent().rank(), " axes"});
        else at_->op().visit(*this);
    }

public:
    void operator()(const source_op&) { fault({"has no op"}); }
    void operator()(const other_op& other) {
        array_list<kernel_value> inputs;
        for (const graph_node* input : at_->inputs)
            inputs.push_back({input->type(), input->extent()});
        infer([&] {
            const kernel_value made =
                other.family.result_of(other.op, span(inputs.data(), inputs.size()));
            if (at_->type() != made.dtype) fault({"is ", to_string(at_->type())});
            return made.shape;
        });
    }
    /// What one kernel reads, each thing once.
    std::size_t operands(const elementwise_op& op) const {
        key_set<const graph_node*> read;
        key_set<int> counted;
        std::size_t count = 0;
        for (const instruction& i : op.body->code)
            if (i.is_leaf()) count += read.insert(at_->inputs[i.index]);
            else if (i.what == instruction::code::iota) count += counted.insert(i.index);
        return count;
    }
    void operator()(const elementwise_op& op) {
        using code = instruction::code;
        const array_list<instruction>& program = op.body->code;
        if (program.empty() || program.size() > max_program)
            return fault({"has a program of ", program.size(), " instructions, not of 1 to ",
                          max_program});
        for (std::size_t k = 0; k < program.size(); ++k) {
            const instruction& i = program[k];
            const auto wrong = [&](std::initializer_list<piece> what) {
                fault({"has a program whose instruction ", k, " ", cat(what)});
            };
            const std::size_t inputs = at_->inputs.size();
            if (i.what > code::inside) return wrong({"is none"});
            if (i.what == code::apply && (!i.op || i.op->arity < 1 || i.op->arity > 3))
                return wrong({"applies no op"});
            dtype types[3] = {};
            for (int a = 0; a < i.arity(); ++a) {
                if (i.args[a] >= k)
                    return wrong({"reads instruction ", i.args[a], ", which is not before it"});
                types[a] = program[i.args[a]].type;
            }
            if ((i.is_leaf() || i.what == code::inside) && i.index >= inputs)
                return fault({"reads input ", i.index, " of ", inputs});
            if ((i.what == code::coded) != (i.format != nullptr))
                return wrong({"decodes by no format, or does not decode"});
            if (i.is_leaf() && type(i.index) != (i.format ? i.format->memory : i.type))
                return fault({"reads input ", i.index, " as ", to_string(i.type), ", which is ",
                              to_string(type(i.index))});
            if (i.what == code::coded && i.type != i.format->value)
                return wrong({"is ", to_string(i.type), ", its format gives ",
                              to_string(i.format->value)});
            if ((i.what == code::mapped || i.what == code::inside) &&
                (i.index != 0 || op.map.empty()))
                return wrong({"reads by a map, which the node does not have"});
            if (i.what == code::leaf && i.index == 0 && !op.map.empty())
                return wrong({"reads input 0 without the node's map"});
            if (i.what == code::iota && !has_iota(op, i.index))
                return wrong({"counts along an axis that elementwise_op::iota_axes does not give, ",
                              "whose numbers begin behind the ", inputs, " inputs"});
            if (i.what == code::scalar && i.index >= op.scalars.size())
                return fault({"takes ", i.index + 1u, " scalars and has ", op.scalars.size()});
            if (i.what == code::scalar && op.scalars[i.index].type != i.type)
                return wrong({"is ", to_string(i.type), ", its scalar ",
                              to_string(op.scalars[i.index].type), ": pm::scalar(type, value)"});
            if (i.what == code::scalar && !graph_.has_number(op.scalars[i.index]))
                return wrong({"takes a number of another graph"});
            if (i.what == code::given) return wrong({"is given, but by no kernel"});
            if (i.what == code::inside && i.type != dtype::boolean) return wrong({"is not bool"});
            if (i.what != code::apply) continue;
            const auto gives = result_type(*i.op, span(types, static_cast<std::size_t>(i.arity())));
            if (!gives) return wrong({"applies ", i.op->name, " to ", list_of(types, i.arity())});
            if (*gives != i.type)
                return wrong({"is ", to_string(i.type), ", ", i.op->name, " gives ",
                              to_string(*gives)});
        }
        if (const std::size_t count = operands(op); count > max_leaves)
            return fault({"reads ", count, " operands, a kernel takes ", max_leaves});
        if (op.body->outputs.size() != 1 || op.body->outputs[0] >= program.size())
            return fault({"has a program without its one output"});
        if (program[op.body->outputs[0]].type != at_->type())
            fault({"is ", to_string(at_->type()), ", which its program does not give"});
        for (std::size_t i = 0; i < at_->inputs.size(); ++i)
            if (i == 0 && !op.map.empty()) {
                if (!maps(op.map, extent(0), at_->what->count()))
                    fault({"of shape ", to_string(at_->extent()), " has a map of another than ",
                           to_string(extent(0))});
            } else if (const storage_format* f = format_of(op, i)) {
                if (at_->what->count() % f->unit() != 0 ||
                    element_count(extent(i)) != f->held(at_->what->count()))
                    fault({"of shape ", to_string(at_->extent()), " reads blocks of ", f->name,
                           " in ", to_string(extent(i))});
            } else if (!broadcasts(extent(i), at_->extent())) {
                fault({"of shape ", to_string(at_->extent()), " reads ", to_string(extent(i))});
            }
    }
    bool has_iota(const elementwise_op& op, std::size_t index) const {
        const std::size_t axis = index - at_->inputs.size();  // wraps for what is an input
        return axis < op.iota_axes.size() && op.iota_axes[axis] >= -1 &&
               op.iota_axes[axis] < at_->extent().rank();
    }
    static std::string list_of(const dtype* types, int count) {
        std::string text(to_string(types[0]));
        for (int i = 1; i < count; ++i) append_text(text, {", ", to_string(types[i])});
        return text;
    }
    static bool maps(const array_list<mapped_axis>& map, const shape& from, std::int64_t count) {
        std::int64_t indices = 1;
        bool same = static_cast<int>(map.size()) == from.rank();
        for (std::size_t k = 0; same && k < map.size(); ++k) {
            indices *= map[k].extent;
            same =
                map[k].length == from[static_cast<int>(k)] &&
                (map[k].how != fold::none || (map[k].add == 0 && map[k].extent == map[k].length));
        }
        return same && indices == count;
    }
    static const storage_format* format_of(const elementwise_op& op, std::size_t input) {
        for (const instruction& i : op.body->code)
            if (i.what == instruction::code::coded && i.index == input) return i.format;
        return nullptr;
    }
    void operator()(const view_op& op) {
        if (!takes(1) || !same_type()) return;
        if (!shows(op, at_->extent(), extent(0)))
            fault({"of shape ", to_string(at_->extent()), " shows what is not in ",
                   to_string(extent(0))});
    }
    void operator()(const reshape_op&) {
        if (!takes(1) || !same_type()) return;
        if (element_count(extent(0)) != at_->what->count())
            fault({"to ", to_string(at_->extent()), " of ", to_string(extent(0))});
        if (!at_->inputs[0]->is_given() && is_view(*at_->inputs[0]))
            fault({"looks at a view, which has no memory"});
    }
    void operator()(const copy_op& op) {
        if (!takes(1) || !same_type()) return;
        gives(extent(0));
        if (op.layout != at_->layout()) fault({"does not lie as it is copied"});
    }
    void operator()(const reduce_op& op) {
        if (!takes(1) || !has_axes(op.axes)) return;
        const bool arg = op.what == reduction::argmax || op.what == reduction::argmin;
        if (at_->type() != (arg ? dtype::i64 : type(0))) fault({"is ", to_string(at_->type())});
        if (op.what == reduction::by_op ? !op.by || !reduces(*op.by, type(0)) : op.by != nullptr)
            fault({"is reduced by no op that takes it"});
        gives(reduced_shape(op, extent(0)));
    }
    void operator()(const normalize_op& op) {
        if (!takes(1) || !has_axes(op.axes) || !same_type()) return;
        if (!is_floating(at_->type())) fault({"is ", to_string(at_->type())});
        gives(extent(0));
    }
    void operator()(const scan_op& op) {
        if (!takes(1) || !same_type() || !has_axis(op.axis)) return;
        shape out = extent(0);
        if (op.leads && at_->extent().rank() == out.rank() &&
            at_->extent()[op.axis] != out[op.axis])
            ++out[op.axis];
        gives(out);
    }
    void operator()(const matmul_op&) {
        if (!takes(2) || !same_type()) return;
        const shape &a = extent(0), &b = extent(1);
        if (a.rank() < 2 || b.rank() < 2)
            return fault({"of ", to_string(a), " and ", to_string(b), ", which are not matrices"});
        if (a.back() != b[b.rank() - 2])
            return fault({"of ", to_string(a), " and ", to_string(b), " sums over ", a.back(),
                          " columns of the first and ", b[b.rank() - 2], " rows of the second"});
        infer([&] {
            shape out = broadcast(shape(span(a.begin(), a.size() - 2)),
                                  shape(span(b.begin(), b.size() - 2)), "matmul");
            out.push_back(a[a.rank() - 2]);
            out.push_back(b.back());
            return out;
        });
    }
    void operator()(const conv_op& op) {
        if (!takes(2) || !same_type()) return;
        const shape &x = extent(0), &w = extent(1);
        if (x.rank() != 4 || w.rank() != 4)
            return fault({"of ", to_string(x), " and ", to_string(w), ", which have not 4 axes"});
        if (op.group <= 0 || x[1] != w[1] * op.group)
            return fault({"of ", to_string(x), " and ", to_string(w), " in ", op.group,
                          " groups has ", x[1], " channels, and weights for ", w[1], " in each"});
        infer([&] {
            shape out{x[0], w[0]};
            for (int i = 0; i < 2; ++i)
                out.push_back(window_count(x[2 + i], w[2 + i], op.stride[i], op.dilation[i],
                                           op.pad_begin[i], op.pad_end[i], false, "conv"));
            return out;
        });
    }
    void operator()(const pool_op& op) {
        if (!takes(1) || !same_type()) return;
        const shape &x = extent(0), &out = at_->extent();
        if (x.rank() != 4 || out.rank() != 4 || out[0] != x[0] || out[1] != x[1])
            return fault({"of ", to_string(x), " is ", to_string(out)});
        for (int i = 0; i < 2; ++i) {  // in ceil mode the last window may be left out
            const std::int64_t most =
                window_count(x[2 + i], op.window[i], op.stride[i], op.dilation[i], op.pad_begin[i],
                             op.pad_end[i], op.ceil_mode, "pool");
            if (out[2 + i] > most || out[2 + i] + op.ceil_mode < most)
                fault({"of ", to_string(x), " is ", to_string(out)});
        }
    }
    void operator()(const concat_op& op) {
        if (at_->inputs.empty()) return fault({"joins nothing"});
        if (!same_type() || !has_axis(op.axis)) return;
        shape out = extent(0);
        out[op.axis] = 0;
        for (const graph_node* part : at_->inputs) {
            shape s = part->extent();
            if (s.rank() != out.rank()) return fault({"joins ", to_string(s)});
            const std::int64_t length = std::exchange(s[op.axis], out[op.axis]);
            if (s != out) return fault({"joins ", to_string(part->extent())});
            out[op.axis] += length;
        }
        gives(out);
    }
    void operator()(const take_op& op) {
        if (!takes(2) || !has_axis(op.axis)) return;
        if (type(0) != at_->type()) fault({"is ", to_string(at_->type())});
        if (type(1) != dtype::i32 && type(1) != dtype::i64)
            fault({"takes by indices of type ", to_string(type(1))});
        const shape &from = extent(0), &by = extent(1);
        if (op.what == taking::elements) return gives(by);
        shape out(span(from.begin(), static_cast<std::size_t>(op.axis)));
        const bool tuples = op.what == taking::tuples;
        if (tuples && by.rank() <= op.axis) return fault({"takes by indices ", to_string(by)});
        for (int d = tuples ? op.axis : 0; d < by.rank() - (tuples ? 1 : 0); ++d)
            out.push_back(by[d]);
        const std::int64_t picked = tuples ? by.back() : 1;
        for (std::int64_t d = op.axis + picked; d < from.rank(); ++d)
            out.push_back(from[static_cast<int>(d)]);
        gives(out);
    }
    void operator()(const sort_op& op) {
        if (!takes(1) || !has_axis(op.axis)) return;
        if (at_->type() != dtype::i64) fault({"is ", to_string(at_->type())});
        shape out = extent(0);
        if (op.first > out[op.axis]) return fault({"picks ", op.first, " of ", to_string(out)});
        if (op.first >= 0) out[op.axis] = op.first;
        gives(out);
    }
    void operator()(const scatter_op&) {
        const bool sorted = at_->inputs.size() != 3;
        if (sorted && !takes(4)) return;
        const shape& out = at_->extent();
        const std::size_t updates = sorted ? 3 : 2;
        if (out.rank() != 2 || extent(1).rank() != 1 || (sorted && extent(2) != extent(1)) ||
            extent(updates) != shape{extent(1)[0], out[1]})
            return fault({"of ", to_string(extent(updates)), " by ", to_string(extent(1))});
        if (type(0) != at_->type() || type(updates) != at_->type())
            fault({"is ", to_string(at_->type())});
        gives(extent(0));
    }
    void operator()(const assign_op& op) {
        if (!takes(2 + op.parts.size()) || !same_type()) return;
        gives(extent(0));
        const auto goes = [&](std::size_t input, const view_op& part, const shape& to) {
            if (!broadcasts(extent(input), to) || !shows(part, to, extent(0)))
                fault({"of ", to_string(extent(input)), " goes to what is not in ",
                       to_string(extent(0))});
        };
        goes(1, op.part, op.extent);
        for (std::size_t i = 0; i < op.parts.size(); ++i) goes(2 + i, op.parts[i], op.extents[i]);
    }
    void operator()(const kernel_op& op) {
        const kernel_call& call = *op.call;
        if (!takes(call.inputs.size())) return;
        for (std::size_t i = 0; i < call.inputs.size(); ++i)
            if (type(i) != call.inputs[i].dtype || extent(i) != call.inputs[i].shape)
                fault({"was called with another input ", i});
        const kernel_value& out = call.outputs[static_cast<std::size_t>(op.output)];
        if (at_->type() != out.dtype) fault({"is ", to_string(at_->type())});
        gives(out.shape);
    }

private:
    bool takes(std::size_t inputs) {
        if (at_->inputs.size() == inputs) return true;
        fault({"has ", at_->inputs.size(), " inputs"});
        return false;
    }
    bool same_type() {
        for (const graph_node* input : at_->inputs)
            if (input->type() != at_->type()) {
                fault({"is ", to_string(at_->type()), ", its input ", to_string(input->type())});
                return false;
            }
        return true;
    }
    /// Of the first input.
    bool has_axis(int axis) {
        if (axis >= 0 && axis <= extent(0).rank() - (at_->op().is<take_op>() ? 0 : 1)) return true;
        fault({"names axis ", axis, " of ", to_string(extent(0))});
        return false;
    }
    bool has_axes(const array_list<int>& axes) {
        for (std::size_t i = 0; i < axes.size(); ++i) {
            if (!has_axis(axes[i])) return false;
            if (i == 0 || axes[i] > axes[i - 1]) continue;
            fault({"names its axes out of order"});
            return false;
        }
        return true;
    }
    void gives(const shape& wanted) {
        if (at_->extent() != wanted)
            fault({"has shape ", to_string(at_->extent()), " and gives ", to_string(wanted)});
    }
    template <class Shape>
    void infer(Shape&& wanted) {
        try {
            gives(wanted());
        } catch (const error& e) {
            fault({"is refused: ", e.what()});
        }
    }
    static bool broadcasts(const shape& from, const shape& to) {
        if (from.rank() > to.rank()) return false;
        for (int i = 1; i <= from.rank(); ++i)
            if (from[from.rank() - i] != 1 && from[from.rank() - i] != to[to.rank() - i])
                return false;
        return true;
    }
    /// Whether all that the view shows lies in `from`.
    static bool shows(const view_op& v, const shape& to, const shape& from) {
        if (v.start.rank() != from.rank() || v.source.rank() != to.rank() ||
            v.step.rank() != to.rank())
            return false;
        if (element_count(to) == 0) return true;
        for (int a = 0; a < from.rank(); ++a) {
            std::int64_t low = v.start[a], high = v.start[a];
            for (int d = 0; d < to.rank(); ++d) {
                if (v.source[d] < -1 || v.source[d] >= from.rank()) return false;
                if (v.source[d] != a) continue;
                const std::int64_t reach = v.step[d] * (to[d] - 1);
                (reach < 0 ? low : high) += reach;
            }
            if (low < 0 || high >= from[a]) return false;
        }
        return true;
    }

    const op_graph& graph_;
    const graph_node* at_ = nullptr;
    std::vector<std::string> faults_;
};

}  // namespace detail

/// What is wrong with a graph, or nothing: each node is computed once, behind what it reads, has
/// the type and shape that its op gives (graph/build.hpp), and all that was asked for is there.
inline std::vector<std::string> verify(const op_graph& graph) {
    return detail::graph_verifier(graph).run();
}
/// What keeps a graph that a pass left from being sorted, or nothing.
inline std::vector<std::string> verify_links(const op_graph& graph) {
    return detail::graph_verifier(graph).links();
}

}}  // namespace pumice::PUMICE_ABI
