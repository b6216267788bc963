// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// From nodes to one program: elementwise producers are inlined, views become strides, everything
// else is a memory operand. The result is canonical, as a type's program is.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/key_map.hpp>
#include <pumice/graph/affine.hpp>

namespace pumice::inline PUMICE_ABI {

/// Gathers the memory operands of one kernel: each distinct node gets a buffer number.
struct buffer_list {
    array_list<node*> nodes;
    int number_of(node* n) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i] == n) return static_cast<int>(i);
        nodes.push_back(n);
        return static_cast<int>(nodes.size() - 1);
    }
};

class flattener {
public:
    /// `inlined` are the lazy elementwise nodes that belong to the kernel, null: none; `given` is the
    /// node whose value the kernel hands in at the indices `given_at`, or null.
    explicit flattener(buffer_list& buffers, const key_set<const node*>* inlined = nullptr,
                       const node* given = nullptr, const affine& given_at = {})
        : buffers_(buffers), inlined_(inlined), given_(given), given_at_(given_at) {}

    /// Adds an output: the value of `n` at the indices that `at` gives.
    void output(node* n, const affine& at) { program_.outputs.push_back(value(n, at)); }
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
        const node* n;
        affine at;
        std::uint16_t number;
    };

    std::uint16_t push_given(dtype type) {
        return program_.push({instruction::code::given, type, 0, {}, nullptr});
    }

    std::uint16_t value(node* n, const affine& at) {
        for (const known& k : known_)
            if (k.n == n && k.at == at) return k.number;
        const std::uint16_t number = make(n, at);
        known_.push_back({n, at, number});
        return number;
    }

    std::uint16_t make(node* n, const affine& at) {
        if (n == given_) {
            PUMICE_ASSERT(at == given_at_);
            return push_given(n->type);
        }
        if (n->realised()) return memory(n, n->layout(), n->offset, at);
        if (const auto* v = n->op.get_if<view_op>())
            return value(n->inputs[0].get(), at.through(*v));
        if (n->op.is<reshape_op>()) {
            node* base = n->inputs[0].get();
            while (!base->realised() && base->op.is<reshape_op>()) base = base->inputs[0].get();
            return memory(base, row_major_strides(n->extent), base->offset, at);
        }
        if (const auto* e = n->op.get_if<elementwise_op>(); e && inlined_ && inlined_->contains(n))
            return inlined(n, *e, at);
        return memory(n, n->layout(), 0, at);
    }

    std::uint16_t inlined(node* n, const elementwise_op& e, const affine& at) {
        array_list<std::uint16_t> numbers;
        for (const instruction& i : e.body->code) {
            instruction copy = i;
            for (int k = 0; k < i.arity(); ++k) copy.args[k] = numbers[i.args[k]];
            switch (i.what) {
                case instruction::code::leaf: {
                    node* input = n->inputs[i.index].get();
                    numbers.push_back(value(input, at.broadcast_to(n->extent, input->extent)));
                    break;
                }
                case instruction::code::iota:
                    numbers.push_back(iota(i.type, *n, e.iota_axes[i.index - n->inputs.size()],
                                           at));
                    break;
                case instruction::code::scalar:
                    copy.index = static_cast<std::uint16_t>(scalars_.size());
                    scalars_.push_back(e.scalars[i.index]);
                    numbers.push_back(program_.push(copy));
                    break;
                default: numbers.push_back(program_.push(copy));
            }
        }
        return numbers[e.body->outputs[0]];
    }

    std::uint16_t iota(dtype type, const node& n, int axis, const affine& at) {
        strides steps = strides::filled(n.extent.rank(), 0);
        if (axis < 0) steps = row_major_strides(n.extent);
        else steps[axis] = 1;
        operand o{-1, type, 0, {}};
        at.locate(steps, o);
        return place(instruction::code::iota, o);
    }

    std::uint16_t memory(node* base, const strides& layout, std::int64_t offset, const affine& at) {
        operand o{buffers_.number_of(base), base->type, offset, {}};
        at.locate(layout, o);
        return place(instruction::code::leaf, o);
    }

    std::uint16_t place(instruction::code what, const operand& o) {
        std::size_t i = 0;
        while (i < leaves_.size() &&
               !(leaves_[i].buffer == o.buffer && leaves_[i].type == o.type &&
                 leaves_[i].offset == o.offset && leaves_[i].steps == o.steps))
            ++i;
        if (i == leaves_.size()) leaves_.push_back(o);
        return program_.push({what, o.type, static_cast<std::uint16_t>(i), {}, nullptr});
    }

    buffer_list& buffers_;
    const key_set<const node*>* inlined_;
    const node* given_;
    affine given_at_;
    program program_;
    array_list<operand> leaves_;
    array_list<scalar> scalars_;
    array_list<known> known_;
};

}  // namespace pumice::inline PUMICE_ABI
