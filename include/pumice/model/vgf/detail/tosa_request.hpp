// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Who is asked for a TOSA operator before Pumice builds it: the user's providers and operators.
#pragma once

#include <pumice/model/detail/model_options.hpp>
#include <pumice/model/vgf/detail/tosa_ops.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf { namespace detail {

/// The operator as providers see it: tensors are inputs, known operands are attributes.
class tosa_request final : public op_request {
public:
    explicit tosa_request(const tosa_node& n, std::uint32_t which) : node_(n) {
        op = tosa_table[which].name;
        domain = "TOSA";
        opset = 1;
        outputs = 1;
        std::string_view left = tosa_table[which].operands;
        for (std::size_t i = 0; i < n.inputs(); ++i) {
            const std::string_view word = left.substr(0, left.find(' '));
            left.remove_prefix(std::min(word.size() + 1, left.size()));
            if (word.empty() || word == "*") tensors_.push_back(n.tensor(i));
            else names_.emplace_back(word, i);
        }
        inputs = tensors_;
    }

    std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const override {
        const std::vector<std::int64_t> list = integers(attribute);
        return list.empty() ? otherwise : list[0];
    }
    double real(std::string_view attribute, double otherwise) const override {
        const graph_constant* const c = find(attribute);
        return c ? values_of<double>(c->type, c->bytes, 1)[0] : otherwise;
    }
    std::string_view text(std::string_view, std::string_view otherwise) const override {
        return otherwise;
    }
    std::vector<std::int64_t> integers(std::string_view attribute) const override {
        const graph_constant* const c = find(attribute);
        if (!c) return {};
        if (is_floating(c->type)) return {static_cast<std::int64_t>(real(attribute, 0))};
        const std::int64_t n = element_count(c->shape);
        std::vector<std::int64_t> list =
            values_of<std::int64_t>(c->type, c->bytes, c->splat ? 1 : n);
        if (c->splat) list.assign(static_cast<std::size_t>(n), list[0]);
        return list;
    }

private:
    /// Null where there is none of that name, or the graph computes it.
    const graph_constant* find(std::string_view attribute) const {
        for (const auto& [called, i] : names_)
            if (called == attribute) return node_.known(i);
        return nullptr;
    }

    const tosa_node& node_;
    std::vector<any_tensor> tensors_;
    std::vector<std::pair<std::string_view, std::size_t>> names_;
};

/// What the first provider that takes the operator gives, or the user's own operator of its name;
/// none where Pumice is to build it.
inline std::optional<any_tensor> provided(const tosa_node& n, std::uint32_t which,
                                          const weights& constants, const op_set& extra) {
    if (constants.providers.empty() && extra.list.empty()) return std::nullopt;
    const tosa_request r(n, which);
    for (const op_provider& p : constants.providers) {
        const std::vector<any_tensor> made = p(r);
        if (made.empty()) continue;
        if (made.size() != 1 || !made[0].has_value())
            n.fail(errc::invalid_argument,
                   {"it is given ", made.size(), " outputs by a provider, and has 1"});
        if (made[0].get()->owner != constants.where().get())
            n.fail(errc::context_mismatch, {"a provider gives it a tensor of another context"});
        return made[0];
    }
    for (const op_info* const op : extra.list)
        if (r.op == op->onnx || r.op == op->name) {
            if (r.inputs.size() != static_cast<std::size_t>(op->arity))
                n.fail(errc::invalid_argument,
                       {"it has ", r.inputs.size(), " inputs, the operator ", "of that name takes ",
                        op->arity});
            return pumice::apply(*op, std::vector<any_operand>(r.inputs.begin(), r.inputs.end()));
        }
    return std::nullopt;
}

}}}}  // namespace pumice::PUMICE_ABI::vgf::detail
