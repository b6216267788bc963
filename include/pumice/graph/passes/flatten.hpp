// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From nodes to one program: elementwise producers are inlined, views become strides, everything
// else is a memory operand. The result is canonical, as a type's program is.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/affine.hpp>
#include <pumice/graph/op_graph.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI {

/// The scalars of nodes, numbered as kernels ask for them.
class scalar_numbers {
public:
    int number_of(number_source s) {
        const std::size_t number = known_.insert(detail::bits_of_key(&s.value()));
        if (number == sources_.size()) sources_.push_back(s);
        return static_cast<int>(number);
    }
    const array_list<number_source>& sources() const noexcept { return sources_; }

private:
    key_index known_;
    array_list<number_source> sources_;
};

/// Gathers the operands of one kernel: each distinct memory gets a buffer number. Scalars are
/// numbers of a run where there is a list for them, otherwise fixed.
struct buffer_list {
    scalar_numbers* scalars = nullptr;
    array_list<graph_node*> nodes = {};

    int number_of(graph_node* n) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (same_memory(*nodes[i], *n)) return static_cast<int>(i);
        nodes.push_back(n);
        return static_cast<int>(nodes.size() - 1);
    }
};

class flattener {
public:
    /// `inlined` are the lazy elementwise nodes that belong to the kernel, null: none; `given` is
    /// the node whose value the kernel hands in at the indices `given_at`, or null.
    explicit flattener(buffer_list& buffers, const key_set<const graph_node*>* inlined = nullptr,
                       const graph_node* given = nullptr, const affine& given_at = {})
        : buffers_(buffers), inlined_(inlined), given_(given), given_at_(given_at) {}

    /// Adds an output: the value of `n` at the indices that `at` gives.
    void output(graph_node* n, const affine& at) { program_.outputs.push_back(value(n, at)); }
    /// Adds an output that is the given value itself.
    void output_given(dtype type) { program_.outputs.push_back(push_given(type)); }

    /// False where the program passes what one kernel takes; the fuser then cuts it.
    bool fits() const noexcept {
        return program_.code.size() <= max_program && leaves_.size() <= max_leaves;
    }

    /// The canonical program and its operands. Pre: fits().
    fused finish() const {
        fused f;
        operand_order order;
        f.body = std::make_shared<program>(canonical<program>(program_.view(), order));
        for (std::uint16_t i : order.leaves) f.leaves.push_back(leaves_[i]);
        for (std::uint16_t i : order.scalars) f.scalars.push_back(scalars_[i]);
        return f;
    }

private:
    struct known {
        const graph_node* n;
        affine at;
        std::uint16_t number;
    };

    std::uint16_t push_given(dtype type) {
        return program_.push({instruction::code::given, type, 0, {}, nullptr});
    }

    /// An elementwise node whose program is being taken over.
    struct frame {
        graph_node* n;
        affine at;
        std::size_t next;   // instruction of its program
        std::size_t first;  // place in numbers_ of the number of its first instruction
    };

    /// The number of an instruction that gives the value of `n` at the indices `at`. Without
    /// recursion: a group may be as deep as a program is long, and each level holds an affine map.
    std::uint16_t value(graph_node* n, const affine& at) {
        open(n, at);
        while (!frames_.empty()) go_on();
        return take_number();
    }

    /// Adds the number of the value to numbers_, at once or by a frame.
    void open(graph_node* n, affine at) {
        for (const view_op* v; n != given_ && !n->is_given() && (v = n->op().get_if<view_op>());) {
            at = at.through(*v);
            n = n->inputs[0];
        }
        for (const known& k : known_)
            if (k.n == n && k.at == at) return numbers_.push_back(k.number);
        if (n != given_ && !n->is_given() && inlined_ && inlined_->contains(n) &&
            n->op().is<elementwise_op>())
            return frames_.push_back({n, at, 0, numbers_.size()});
        const std::uint16_t number = n == given_ ? push_given(n->type()) : stored(n, at);
        PUMICE_ASSERT(n != given_ || at.but_for_unit_axes(n->extent(), n->extent()) ==
                                         given_at_.but_for_unit_axes(n->extent(), n->extent()));
        known_.push_back({n, at, number});
        numbers_.push_back(number);
    }

    std::uint16_t stored(graph_node* n, const affine& at) {
        if (n->is_given()) return memory(n, n->layout(), offset_from_base(*n->what), at);
        if (!n->op().is<reshape_op>()) return memory(n, n->layout(), 0, at);
        graph_node* const base = n->inputs[0];
        return memory(base, row_major_strides(n->extent()), offset_from_base(*base->what), at);
    }

    /// One instruction more of the innermost frame, or its end.
    void go_on() {
        frame& f = frames_.back();
        const elementwise_op& e = *f.n->op().get_if<elementwise_op>();
        if (f.next == e.body->code.size()) {
            const std::uint16_t number = numbers_[f.first + e.body->outputs[0]];
            numbers_.resize(f.first);
            known_.push_back({f.n, f.at, number});
            frames_.pop_back();
            return numbers_.push_back(number);
        }
        instruction i = e.body->code[f.next++];
        for (int k = 0; k < i.arity(); ++k) i.args[k] = numbers_[f.first + i.args[k]];
        if (i.what == instruction::code::coded) {
            operand o{buffers_.number_of(f.n->inputs[i.index]), i.format->memory, 0, {}, i.format};
            f.at.locate(row_major_strides(f.n->extent()), o);
            return numbers_.push_back(place(i.what, o, i.type));
        }
        if (i.what == instruction::code::mapped || i.what == instruction::code::inside) {
            operand o = mapped(f.n->inputs[i.index], e.map);
            f.at.locate(row_major_strides(f.n->extent()), o);
            if (i.what == instruction::code::mapped)
                i.map = form_of(span(o.map.data(), o.map.size()));
            return numbers_.push_back(place(i.what, o, i.type, i.map));
        }
        if (i.what == instruction::code::leaf) {
            graph_node* const input = f.n->inputs[i.index];
            return open(input, f.at.broadcast_to(f.n->extent(), input->extent()));
        }
        if (i.what == instruction::code::iota)
            return numbers_.push_back(iota(i.type, f.n->extent(),
                                           e.iota_axes[i.index - f.n->inputs.size()], f.at));
        if (i.what == instruction::code::scalar) {
            scalars_.push_back(buffers_.scalars
                                   ? scalar_operand(i.type, buffers_.scalars->number_of({f.n->what,
                                                                                         i.index}))
                                   : scalar_operand(e.scalars[i.index]));
            i.index = static_cast<std::uint16_t>(scalars_.size() - 1);
        }
        numbers_.push_back(program_.push(i));
    }
    std::uint16_t take_number() {
        const std::uint16_t number = numbers_.back();
        numbers_.pop_back();
        return number;
    }

    std::uint16_t iota(dtype type, const shape& extent, int axis, const affine& at) {
        strides steps = strides::filled(extent.rank(), 0);
        if (axis < 0) steps = row_major_strides(extent);
        else steps[axis] = 1;
        operand o{-1, type, 0, {}};
        at.locate(steps, o);
        return place(instruction::code::iota, o, type);
    }

    /// What `n`, whose elements lie in memory, is read by: without axes that need not be told
    /// apart.
    operand mapped(graph_node* n, const array_list<mapped_axis>& map) {
        affine at = affine::identity(n->extent().rank());
        for (const view_op* v; !n->is_given() && (v = n->op().get_if<view_op>());) {
            at = at.through(*v);
            n = n->inputs[0];
        }
        strides layout = n->layout();
        if (!n->is_given() && n->op().is<reshape_op>()) {
            layout = row_major_strides(n->extent());
            n = n->inputs[0];
        }
        operand o{
            buffers_.number_of(n), n->type(), n->is_given() ? offset_from_base(*n->what) : 0, {}};
        at.locate(layout, o);
        o.origin = std::exchange(o.offset, 0);
        for (std::size_t k = 0; k < map.size(); ++k) {
            mapped_axis a = map[k];
            a.step = o.steps[static_cast<int>(k)];
            add_axis(o.map, a);
        }
        return o;
    }
    std::uint16_t memory(graph_node* base, const strides& layout, std::int64_t offset,
                         const affine& at) {
        operand o{buffers_.number_of(base), base->type(), offset, {}};
        at.locate(layout, o);
        return place(instruction::code::leaf, o, o.type);
    }

    std::uint16_t place(instruction::code what, const operand& o, dtype type,
                        std::uint32_t map = 0) {
        std::size_t i = 0;
        while (i < leaves_.size() &&
               !(leaves_[i].buffer == o.buffer && leaves_[i].type == o.type &&
                 leaves_[i].format == o.format && leaves_[i].offset == o.offset &&
                 leaves_[i].steps == o.steps && leaves_[i].origin == o.origin &&
                 std::equal(leaves_[i].map.begin(), leaves_[i].map.end(), o.map.begin(),
                            o.map.end())))
            ++i;
        if (i == leaves_.size()) leaves_.push_back(o);
        return program_
            .push({what, type, static_cast<std::uint16_t>(i), {}, nullptr, o.format, map});
    }

    buffer_list& buffers_;
    const key_set<const graph_node*>* inlined_;
    const graph_node* given_;
    affine given_at_;
    program program_;
    array_list<operand> leaves_;
    array_list<scalar_operand> scalars_;
    array_list<known> known_;
    array_list<frame> frames_;
    array_list<std::uint16_t>
        numbers_;  // of the instructions of the open frames, and the last value's
};

}}  // namespace pumice::PUMICE_ABI
