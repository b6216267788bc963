// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Functions of the user's that may take the ops of a context before the library does. For who
// writes one; <pumice.hpp> does not include it.
#pragma once

#include <pumice/graph/detail/apply_each.hpp>
#include <pumice/graph/op_request.hpp>
#include <pumice/graph/print.hpp>
#include <pumice/policy/policies.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// Asks `provide` for each op that is called in the context, typed or at run time, or for those
/// that `ops` names, when it is called: of a compiled function once for each trace. Several are
/// asked in the order in which the context is given them, until one gives a tensor.
///
/// An op has the name that plans and `explain` show ("add", "matmul", "sum", "softmax", "conv",
/// "cumulative_sum", "take"; a composite is asked for by what it is made of), and attributes by
/// ONNX's names: axes, keepdims, axis, epsilon, exclusive, reverse, descending, strides, dilations,
/// pads, group, kernel_shape, ceil_mode, count_include_pad, reduction, to. Operands of elementwise
/// ops are of one type already, and numbers among them are tensors of no axes. An expression's ops
/// are asked for when it becomes a tensor; where none of them is named it goes on whole, else by
/// parts, which the fuser joins again. Not asked for: what makes values of none, views, copies,
/// the user's own kernels, branches and loops, and what a provider itself calls.
///
/// Throws, where the op is called, what `provide` throws; errc::invalid_argument, dtype_mismatch,
/// shape_mismatch and context_mismatch for what is not the op's result.
struct provide_ops {
    op_provider provide;
    std::vector<std::string> ops = {};  // empty: all

    void apply(policy_set& set) const;
    bool wants(std::string_view op) const {
        return ops.empty() || std::find(ops.begin(), ops.end(), op) != ops.end();
    }
};

namespace detail {

struct op_attribute {
    std::string_view name;
    std::vector<std::int64_t> integers = {};
    double real = 0;
    std::string_view text = {};
};
inline std::vector<op_attribute> attributes_of(const node& n) {
    std::vector<op_attribute> list;
    const auto integer = [&](std::string_view name, std::int64_t v) {
        list.push_back({name, {v}});
    };
    const auto integers = [&](std::string_view name, const auto& v) {
        list.push_back({name, {std::begin(v), std::end(v)}});
    };
    const auto window = [&](const auto& op) {
        integers("strides", op.stride);
        integers("dilations", op.dilation);
        list.push_back({"pads", {op.pad_begin[0], op.pad_begin[1], op.pad_end[0], op.pad_end[1]}});
    };
    if (const auto* reduced = n.op.get_if<reduce_op>()) {
        integers("axes", reduced->axes);
        integer("keepdims", reduced->keepdims);
    } else if (const auto* norm = n.op.get_if<normalize_op>()) {
        integers("axes", norm->axes);
        list.push_back({"epsilon", {}, norm->epsilon});
    } else if (const auto* scan = n.op.get_if<scan_op>()) {
        integer("axis", scan->axis);
        integer("exclusive", scan->leads);
        integer("reverse", scan->reverse);
    } else if (const auto* conv = n.op.get_if<conv_op>()) {
        window(*conv);
        integer("group", conv->group);
    } else if (const auto* pool = n.op.get_if<pool_op>()) {
        window(*pool);
        integers("kernel_shape", pool->window);
        integer("ceil_mode", pool->ceil_mode);
        integer("count_include_pad", pool->count_include_pad);
    } else if (const auto* joined = n.op.get_if<concat_op>()) {
        integer("axis", joined->axis);
    } else if (const auto* taken = n.op.get_if<take_op>()) {
        integer("axis", taken->axis);
    } else if (const auto* sorted = n.op.get_if<sort_op>()) {
        integer("axis", sorted->axis);
        integer("descending", sorted->descending);
        if (sorted->first >= 0) integer("k", sorted->first);
    } else if (const auto* scattered = n.op.get_if<scatter_op>()) {
        list.push_back({"reduction", {}, 0, to_string(scattered->what)});
    } else if (n.op.is<elementwise_op>()) {
        list.push_back({"to", {}, 0, to_string(n.type)});
    }
    return list;
}

class called_op final : public op_request {
public:
    called_op(const node& n, std::string_view what, span<const any_tensor> operands)
        : label_(n.label.get()), attributes_(attributes_of(n)) {
        op = what;
        domain = "pumice";
        name = label_.name();
        inputs = operands;
        outputs = 1;
    }
    std::int64_t integer(std::string_view a, std::int64_t otherwise) const override {
        const op_attribute* const found = find(a);
        return found && found->integers.size() == 1 ? found->integers[0] : otherwise;
    }
    double real(std::string_view a, double otherwise) const override {
        const op_attribute* const found = find(a);
        return found ? found->real : otherwise;
    }
    std::string_view text(std::string_view a, std::string_view otherwise) const override {
        const op_attribute* const found = find(a);
        return found ? found->text : otherwise;
    }
    std::vector<std::int64_t> integers(std::string_view a) const override {
        const op_attribute* const found = find(a);
        return found ? found->integers : std::vector<std::int64_t>();
    }

private:
    const op_attribute* find(std::string_view a) const {
        for (const op_attribute& one : attributes_)
            if (one.name == a) return &one;
        return nullptr;
    }
    node_label label_;
    std::vector<op_attribute> attributes_;
};

/// Of an elementwise node: what it is made of, as far as providers see it.
struct elementwise_parts {
    explicit elementwise_parts(const elementwise_op& op) {
        for (const instruction& i : op.body->code) {
            using code = instruction::code;
            if (i.what == code::apply) ops.push_back(i.op->name);
            seen = seen && (i.what == code::leaf || i.what == code::scalar || i.arity() > 0);
            casts = casts || i.what == code::cast;
        }
        seen = seen && op.body->outputs.size() == 1 && op.iota_axes.empty();
        if (!seen) return;
        const instruction& last = op.body->code[op.body->outputs[0]];
        // What brings operands to a type is part of the op that reads them.
        one = last.arity() > 0 && ops.size() == (last.what == instruction::code::apply ? 1u : 0u);
    }
    array_list<std::string_view> ops;
    bool seen = true;  // nothing of it is made by no op
    bool one = false;  // it is one op
    bool casts = false;
};

/// While a provider is asked, what it calls is its own.
inline thread_local constinit bool asks_provider = false;
struct provider_asked {
    provider_asked() { asks_provider = true; }
    provider_asked(const provider_asked&) = delete;
    ~provider_asked() { asks_provider = false; }
};

/// What the op that an elementwise node is takes.
inline std::vector<any_tensor> operands_of(const node& n, const elementwise_op& op) {
    array_list<any_tensor> values;
    const auto number = [&](const scalar& s) {
        auto body = std::make_shared<program>();
        body->outputs.push_back(body->push({instruction::code::scalar, s.type, 0, {}, nullptr}));
        node_ptr fill = link_node(s.type, {}, elementwise_op{std::move(body), {s}, {}}, {});
        fill->owner = n.owner;
        return any_tensor(std::move(fill));
    };
    const instruction& last = op.body->code[op.body->outputs[0]];
    for (const instruction& i : op.body->code) {
        if (&i == &last) break;
        if (i.what == instruction::code::leaf) values.push_back(any_tensor(n.inputs[i.index]));
        else if (i.what == instruction::code::scalar) values.push_back(number(op.scalars[i.index]));
        else values.push_back(astype(values[i.args[0]], i.type));
    }
    std::vector<any_tensor> operands;
    for (int k = 0; k < last.arity(); ++k) operands.push_back(values[last.args[k]]);
    return operands;
}

inline node_ptr given_for(const node& n, std::string_view op, std::vector<any_tensor>&& made) {
    const auto refuse = [&](errc code, std::string_view what) {
        fail(code, "provider", {op, " is given ", what});
    };
    if (made.size() != 1) refuse(errc::invalid_argument, cat({made.size(), " outputs, and has 1"}));
    if (!made[0].has_value()) refuse(errc::invalid_argument, "an empty tensor");
    const any_tensor& t = made[0];
    if (t.get()->owner != n.owner) refuse(errc::context_mismatch, "a tensor of another context");
    if (t.dtype() != n.type)
        refuse(errc::dtype_mismatch,
               cat({to_string(t.dtype()), ", and gives ", to_string(n.type)}));
    if (t.shape() != n.extent)
        refuse(errc::shape_mismatch,
               cat({to_string(t.shape()), ", and gives ", to_string(n.extent)}));
    // What reads the op's result takes it to be in order.
    if (!t.get()->op.is<view_op>() && t.get()->row_major()) return t.get();
    return copy(t, row_major_strides(n.extent)).get();
}

struct asked_provider {
    callback<void(node_ptr&)> before;
    provide_ops mine;

    void operator()(node_ptr& n) const {
        if (asks_provider || n->inputs.empty() || is_view(*n) || n->op.is<copy_op>() ||
            n->op.results())
            return;
        if (before) {
            const node* const was = n.get();
            before(n);
            if (n.get() != was) return;
        }
        const auto* const elementwise = n->op.get_if<elementwise_op>();
        if (!elementwise) return ask(n, n->op.is<scatter_op>() ? "scatter" : describe(*n));
        const elementwise_parts parts(*elementwise);
        if (!parts.seen) return;
        if (parts.one) return ask(n, parts.ops.empty() ? "astype" : std::string(parts.ops[0]));
        bool wanted = parts.casts && mine.wants("astype");
        for (const std::string_view op : parts.ops) wanted = wanted || mine.wants(op);
        if (!wanted) return;
        // Each part asks by itself.
        const any_tensor whole = apply_each(elementwise->body->view(), n->inputs,
                                            elementwise->scalars, [](const node_ptr&) {});
        n = broadcast_to(whole, n->extent).get();
    }

private:
    void ask(node_ptr& n, const std::string& op) const {
        if (!mine.wants(op)) return;
        const provider_asked now;
        std::vector<any_tensor> operands;
        if (const auto* const elementwise = n->op.get_if<elementwise_op>())
            operands = operands_of(*n, *elementwise);
        else
            for (const node_ptr& input : n->inputs) operands.emplace_back(input);
        std::vector<any_tensor> made = mine.provide(called_op(*n, op, operands));
        if (!made.empty()) n = given_for(*n, op, std::move(made));
    }
};

}  // namespace detail

inline void provide_ops::apply(policy_set& set) const {
    set.offer = detail::asked_provider{set.offer, *this};
}

}}  // namespace pumice::PUMICE_ABI
