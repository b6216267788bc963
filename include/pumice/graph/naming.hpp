// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Names of tensors: plans, errors and profiles show them, nothing else depends on them.
#pragma once

#include <pumice/graph/any_tensor.hpp>

#include <concepts>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI {

/// `x`, called `name` from now on, whichever handle it is seen by; a value's first name stays. What
/// is evaluated under other names is planned anew, so a name may count layers and must not count
/// steps. Control characters become '?'.
template <std::derived_from<any_tensor> Tensor>
Tensor named(Tensor x, std::string_view name) {
    x.get()->label.set(node_label(name));
    return x;
}
/// The same with the number of a layer: "attention-3".
template <std::derived_from<any_tensor> Tensor>
Tensor named(Tensor x, std::string_view name, int layer) {
    return named(std::move(x), cat({name, "-", layer}));
}
/// Of an expression, which becomes a tensor.
template <std::convertible_to<any_tensor> Expression>
    requires(!std::derived_from<Expression, any_tensor>)
any_tensor named(const Expression& x, std::string_view name) {
    return named(any_tensor(x), name);
}

}}  // namespace pumice::PUMICE_ABI
