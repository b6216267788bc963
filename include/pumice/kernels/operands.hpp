// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The operands of a problem of any kind, with the domain that each is read or written over.
#pragma once

#include <pumice/graph/custom_kernel.hpp>
#include <pumice/kernels/problem.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline index_list axes_of(index_list a, const index_list& b) {
    for (const std::int64_t n : b) a.push_back(n);
    return a;
}

/// An operand of a take: read along its own axes of the domain, where it is not repeated, and along
/// `more` axes of its own. Without those of length 1 they are at most as many as a tensor has.
template <class F>
void visit_taken(const operand& o, const shape& domain, const strides& steps, const shape& more,
                 F& f) {
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

template <class F>
void visit_fused(const fused& part, const shape& domain, F& f) {
    for (const operand& o : part.leaves) f(o, domain, false);
    for (const operand& o : part.outputs) f(o, domain, true);
}

}  // namespace detail

/// Calls f(operand, domain, written) for every operand of the problem; those of an iota, and
/// results that nobody wants, have no buffer.
template <class F>
void visit_operands(const problem& p, F&& f) {
    using detail::axes_of, detail::visit_fused, detail::visit_taken;
    if (const auto* e = p.get_if<elementwise_problem>()) {
        visit_fused(e->body, e->domain, f);
    } else if (const auto* r = p.get_if<reduce_problem>()) {
        visit_fused(r->prologue, axes_of(r->outer, r->inner), f);
        visit_fused(r->epilogue, r->outer, f);
    } else if (const auto* n = p.get_if<normalize_problem>()) {
        visit_fused(n->prologue, axes_of(n->outer, n->inner), f);
        visit_fused(n->epilogue, axes_of(n->outer, n->inner), f);
    } else if (const auto* s = p.get_if<scan_problem>()) {
        visit_fused(s->prologue, axes_of(s->outer, {s->length}), f);
        visit_fused(s->epilogue, axes_of(s->outer, {s->count}), f);
    } else if (const auto* m = p.get_if<matmul_problem>()) {
        visit_fused(m->a, axes_of(m->batch, {m->m, m->k}), f);
        visit_fused(m->b, axes_of(m->batch, {m->k, m->n}), f);
        visit_fused(m->epilogue, axes_of(m->batch, {m->m, m->n}), f);
    } else if (const auto* c = p.get_if<conv_problem>()) {
        visit_fused(c->input, {c->batch, c->in_channels, c->in_size[0], c->in_size[1]}, f);
        visit_fused(c->weight,
                    {c->out_channels, c->in_channels / c->shape_of.group, c->window[0],
                     c->window[1]},
                    f);
        visit_fused(c->epilogue, {c->batch, c->out_channels, c->out_size[0], c->out_size[1]}, f);
    } else if (const auto* l = p.get_if<pool_problem>()) {
        visit_fused(l->input, {l->batch, l->channels, l->in_size[0], l->in_size[1]}, f);
        visit_fused(l->epilogue, {l->batch, l->channels, l->out_size[0], l->out_size[1]}, f);
    } else if (const auto* t = p.get_if<take_problem>()) {
        visit_taken(t->values, t->domain, t->step, t->length, f);
        visit_taken(t->indices, t->domain, {t->next}, {t->length.rank()}, f);
        f(t->output, t->domain, true);
    } else if (const auto* o = p.get_if<sort_problem>()) {
        f(o->values, axes_of(o->outer, {o->length}), false);
        f(o->output, axes_of(o->outer, {o->length}), true);
    } else if (const auto* w = p.get_if<scatter_problem>()) {
        f(w->keys, {w->count}, false);
        f(w->order, {w->count}, false);
        f(w->updates, {w->count, w->width}, false);
        f(w->data, {w->rows, w->width}, false);
        f(w->output, {w->rows, w->width}, true);
    } else if (const auto* k = p.get_if<custom_kernel_problem>()) {
        const kernel_call& call = *k->call;
        for (std::size_t i = 0; i < k->inputs.size(); ++i)
            visit_fused(k->inputs[i], call.inputs[i].shape, f);
        visit_fused(k->epilogue, call.outputs[0].shape, f);
        for (std::size_t i = 0; i < k->outputs.size(); ++i)
            f(k->outputs[i], call.outputs[i].shape, true);
    }
}

/// Bytes of results that solving the problem writes; of a scatter what its updates make at most.
inline std::int64_t written_bytes(const problem& p) {
    if (const auto* w = p.get_if<scatter_problem>())
        return byte_count(w->output.type, w->count * w->width);
    std::int64_t bytes = 0;
    visit_operands(p, [&](const operand& o, const shape& domain, bool write) {
        if (write && o.buffer >= 0) bytes += byte_count(o.type, element_count(domain));
    });
    return bytes;
}

}}  // namespace pumice::PUMICE_ABI
