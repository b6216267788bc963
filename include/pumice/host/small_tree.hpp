// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A few lazy elementwise nodes over little, as the one program that the fuser makes of them: a plan
// takes longer to find than such a program to run.
#pragma once

#include <pumice/graph/graph_key.hpp>
#include <pumice/host/elementwise.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// Keeps its memory from one tree to the next.
class small_tree {
public:
    static constexpr std::int64_t most_elements = 4096;

    /// Takes a node, and its inputs as far as they are lazy. False unless all of these are
    /// elementwise, of the same extent and without a name, each but `root` read by one node, and
    /// what they read has values.
    bool grow(const node& root) {
        code_.clear();
        leaves_.clear();
        scalars_.clear();
        extent_ = root.extent;
        const std::int64_t count = root.count();
        return count > 0 && count <= most_elements && add(root, output_, 0);
    }
    /// What decides the record of the kernel.
    void add_words(graph_key& key) const {
        key.add_list(extent_);
        key.add_all(code_.size(), output_);
        for (const instruction& i : code_)
            key.add_all(static_cast<std::uint64_t>(i.what) << 32 |
                            static_cast<std::uint64_t>(i.type) << 16 | i.index,
                        static_cast<std::uint64_t>(i.args[0]) << 32 |
                            static_cast<std::uint64_t>(i.args[1]) << 16 | i.args[2],
                        detail::bits_of_key(i.op));
    }
    /// Computes the root's values, dense in row-major order.
    void run(std::byte* to, const thread_pool& threads) {
        const program_view body{{code_.data(), code_.size()}, {&output_, 1}};
        const std::int64_t count = element_count(extent_);
        bool dense = true;
        for (const node* const leaf : leaves_)
            dense &= leaf->row_major() && leaf->extent == extent_;
        const shape domain = dense ? shape{count} : extent_;
        const strides steps = row_major_strides(domain);
        arrays_.clear();
        for (const node* const leaf : leaves_)
            if (dense) arrays_.push_back({bytes_on_host(*leaf), leaf->type, leaf->offset, steps});
            else arrays_.push_back(detail::broadcast_array(*leaf, extent_));
        const host_array out{to, code_[output_].type, 0, steps};
        if (!dense) {
            host_elementwise work{body, nullptr, domain, arrays_, scalars_, {}};
            work.outputs.push_back(out);
            return work.run(threads);
        }
        host_program machine(body, arrays_, scalars_, span(&out, 1));
        const index_list origin = index_list::filled(1, 0);
        for (std::int64_t i = 0; i < count; i += host_program::block)
            machine.run({origin, i, std::min(host_program::block, count - i)});
    }

private:
    static constexpr int deepest = 8;
    static constexpr std::size_t longest = 64;  // instructions

    bool belongs(const node_ptr& n) const {
        return !n->realised() && n->pending_uses.load(std::memory_order_relaxed) == 1 &&
               n->extent == extent_;
    }
    /// Appends what computes `n`; `result`: the number of the instruction that gives its values.
    bool add(const node& n, std::uint16_t& result, int depth) {
        const auto* const op = n.op.get_if<elementwise_op>();
        if (!op || !op->iota_axes.empty() || !op->map.empty() || !n.row_major() ||
            !n.label.empty() || n.inputs.size() > max_leaves || depth == deepest)
            return false;
        std::uint16_t inputs[max_leaves];
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            const node_ptr& input = n.inputs[k];
            if (belongs(input) ? !add(*input, inputs[k], depth + 1) : !add_leaf(*input, inputs[k]))
                return false;
        }
        const span<const instruction> body = op->body->code;
        const std::size_t room = longest - code_.size();
        if (op->body->outputs.size() != 1 || body.size() > room) return false;
        std::uint16_t placed[longest];
        for (std::size_t k = 0; k < body.size(); ++k) {
            instruction i = body[k];
            switch (i.what) {
                case instruction::code::leaf: placed[k] = inputs[i.index]; continue;
                case instruction::code::scalar:
                    scalars_.push_back(op->scalars[i.index]);
                    i.index = static_cast<std::uint16_t>(scalars_.size() - 1);
                    break;
                case instruction::code::cast:
                case instruction::code::apply:
                    for (int a = 0; a < i.arity(); ++a) i.args[a] = placed[i.args[a]];
                    break;
                default: return false;
            }
            placed[k] = push(i);
        }
        result = placed[op->body->outputs[0]];
        return true;
    }
    bool add_leaf(const node& n, std::uint16_t& result) {
        if (!has_values(n)) return false;
        for (std::size_t k = 0; k < leaves_.size(); ++k)
            if (leaves_[k] == &n) {
                result = static_cast<std::uint16_t>(leaf_at_[k]);
                return true;
            }
        if (leaves_.size() == max_leaves || code_.size() == longest) return false;
        result = push({instruction::code::leaf,
                       n.type,
                       static_cast<std::uint16_t>(leaves_.size()),
                       {},
                       nullptr});
        leaf_at_[leaves_.size()] = result;
        leaves_.push_back(&n);
        return true;
    }
    std::uint16_t push(const instruction& i) {
        code_.push_back(i);
        return static_cast<std::uint16_t>(code_.size() - 1);
    }

    shape extent_;
    array_list<instruction> code_;
    std::uint16_t output_ = 0;
    array_list<const node*> leaves_;
    std::uint16_t leaf_at_[max_leaves];  // the instruction that reads it
    array_list<scalar> scalars_;
    array_list<host_array> arrays_;  // of a run, one a leaf
};

/// The kernels of the last trees that a plan computed: what is like one needs none.
class known_trees {
public:
    /// Null where none is known.
    std::shared_ptr<const kernel_record> find(const graph_key& key) const {
        const std::uint64_t hash = key.hash();
        for (const entry& e : list_)
            if (e.hash == hash && e.words == key.words()) return e.record;
        return nullptr;
    }
    void add(const graph_key& key, std::shared_ptr<const kernel_record> record) {
        entry made{key.hash(), key.words(), std::move(record)};
        if (list_.size() < most) list_.push_back(std::move(made));
        else list_[next_++ % most] = std::move(made);
    }

private:
    static constexpr std::size_t most = 32;
    struct entry {
        std::uint64_t hash;
        array_list<std::uint64_t> words;
        std::shared_ptr<const kernel_record> record;
    };
    array_list<entry> list_;
    std::size_t next_ = 0;  // whose turn it is to go
};

}}  // namespace pumice::PUMICE_ABI
