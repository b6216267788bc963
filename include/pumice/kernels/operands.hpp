// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The operands of each kind of problem, with the domain that each is read or written over.
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/kernels/problem.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Is called with an operand, the domain over which it is read or written, and whether it is
/// written. Operands of an iota, and results that nobody wants, have no buffer.
class operand_visitor {
public:
    template <class F>
        requires(!std::is_same_v<F, operand_visitor>)
    operand_visitor(const F& f)
        : f_(&f), call_([](const void* to, const operand& o, const shape& domain, bool written) {
              (*static_cast<const F*>(to))(o, domain, written);
          }) {}

    void operator()(const operand& o, const shape& domain, bool written) const {
        call_(f_, o, domain, written);
    }
    void operator()(const fused& part, const shape& domain) const {
        for (const operand& o : part.leaves) (*this)(o, domain, false);
        for (const operand& o : part.outputs) (*this)(o, domain, true);
    }

private:
    const void* f_;  // must outlive the visitor
    void (*call_)(const void*, const operand&, const shape&, bool);
};

namespace detail {

inline index_list axes_of(index_list a, const index_list& b) {
    for (const std::int64_t n : b) a.push_back(n);
    return a;
}

/// An operand of a take: read along its own axes of the domain, where it is not repeated, and along
/// `more` axes of its own. Without those of length 1 they are at most as many as a tensor has.
inline void visit_taken(const operand& o, const shape& domain, const strides& steps,
                        const shape& more, const operand_visitor& f) {
    operand own{o.buffer, o.type, o.offset, {}};
    shape axes;
    const auto add = [&](std::int64_t step, std::int64_t n) {
        own.steps.push_back(step);
        axes.push_back(n);
    };
    if (element_count(domain) == 0) {
        add(0, 0);
    } else {
        for (int d = 0; d < domain.rank(); ++d)
            if (o.steps[d] != 0) add(o.steps[d], domain[d]);
        for (int d = 0; d < more.rank(); ++d)
            if (more[d] != 1) add(steps[d], more[d]);
    }
    f(own, axes, false);
}

}  // namespace detail

// Calls f for every operand of a problem. A kind of problem has such a function where it is
// declared.

inline void visit_operands(const elementwise_problem& p, const operand_visitor& f) {
    f(p.body, p.domain);
}
inline void visit_operands(const reduce_problem& p, const operand_visitor& f) {
    f(p.prologue, detail::axes_of(p.outer, p.inner));
    f(p.epilogue, p.outer);
}
inline void visit_operands(const normalize_problem& p, const operand_visitor& f) {
    f(p.prologue, detail::axes_of(p.outer, p.inner));
    f(p.epilogue, detail::axes_of(p.outer, p.inner));
}
inline void visit_operands(const scan_problem& p, const operand_visitor& f) {
    f(p.prologue, detail::axes_of(p.outer, {p.length}));
    f(p.epilogue, detail::axes_of(p.outer, {p.count}));
}
inline void visit_operands(const matmul_problem& p, const operand_visitor& f) {
    f(p.a, detail::axes_of(p.batch, {p.m, p.k}));
    f(p.b, detail::axes_of(p.batch, {p.k, p.n}));
    f(p.epilogue, detail::axes_of(p.batch, {p.m, p.n}));
}
inline void visit_operands(const conv_problem& p, const operand_visitor& f) {
    f(p.input, {p.batch, p.in_channels, p.in_size[0], p.in_size[1]});
    f(p.weight, {p.out_channels, p.in_channels / p.shape_of.group, p.window[0], p.window[1]});
    f(p.epilogue, {p.batch, p.out_channels, p.out_size[0], p.out_size[1]});
}
inline void visit_operands(const pool_problem& p, const operand_visitor& f) {
    f(p.input, {p.batch, p.channels, p.in_size[0], p.in_size[1]});
    f(p.epilogue, {p.batch, p.channels, p.out_size[0], p.out_size[1]});
}
inline void visit_operands(const take_problem& p, const operand_visitor& f) {
    detail::visit_taken(p.values, p.domain, p.step, p.length, f);
    detail::visit_taken(p.indices, p.domain, {p.next}, {p.length.rank()}, f);
    f(p.output, p.domain, true);
}
inline void visit_operands(const sort_problem& p, const operand_visitor& f) {
    f(p.values, detail::axes_of(p.outer, {p.length}), false);
    f(p.output, detail::axes_of(p.outer, {p.first}), true);
}
inline void visit_operands(const scatter_problem& p, const operand_visitor& f) {
    f(p.keys, {p.count}, false);
    f(p.order, {p.count}, false);
    f(p.updates, {p.count, p.width}, false);
    f(p.data, {p.rows, p.width}, false);
    f(p.output, {p.rows, p.width}, true);
}
inline void visit_operands(const custom_kernel_problem& p, const operand_visitor& f) {
    const kernel_call& call = *p.call;
    for (std::size_t i = 0; i < p.inputs.size(); ++i) f(p.inputs[i], call.inputs[i].shape);
    f(p.epilogue, call.outputs[0].shape);
    for (std::size_t i = 0; i < p.outputs.size(); ++i) f(p.outputs[i], call.outputs[i].shape, true);
}

}}  // namespace pumice::PUMICE_ABI
