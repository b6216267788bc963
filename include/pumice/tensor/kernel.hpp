// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own: a Slang function as an op of the lazy graph.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/graph/custom_kernel.hpp>
#include <pumice/tensor/tensor.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {
template <class A>
concept kernel_argument = array_argument<A> || any_array<A> || number_argument<A>;
}

/// A Slang function `name(uint3 thread, inputs.., outputs.., scalars..)`, run once for each thread
/// of a grid. Inputs are `Input<F32>`, outputs `Output<F32>`, and so on by element types; fused
/// ones are generic: `X : IInput<F32>`, `Y : IOutput<F32>` (shaders/kernel.slang). Throws
/// errc::invalid_argument.
class kernel {
public:
    template <int = 0>
    kernel(std::string_view name, std::string_view slang, kernel_options how)
        : what_(make_custom_kernel(name, slang, std::move(how))) {}

    const std::string& name() const noexcept { return what_->name; }
    /// The description, by which plans that come from elsewhere find it (exec/plan/json.hpp).
    const std::shared_ptr<const custom_kernel>& get() const noexcept { return what_; }

    /// The result of one call, lazy: tensors and expressions for the inputs, numbers for the
    /// scalars.
    template <detail::kernel_argument... A>
    any_tensor operator()(const A&... arguments) const {
        return outputs<1>(arguments...)[0];
    }
    /// The results of a kernel of several outputs; one dispatch computes them all.
    template <std::size_t N, detail::kernel_argument... A>
    std::array<any_tensor, N> outputs(const A&... arguments) const {
        std::vector<any_tensor> inputs;
        array_list<scalar> scalars;
        (take(inputs, scalars, arguments), ...);
        const std::vector<any_tensor> results = call(inputs, scalars);
        if (results.size() != N)
            fail(errc::invalid_argument, cat({"kernel ", name()}),
                 {"gives ", results.size(), " outputs, not ", N});
        std::array<any_tensor, N> list;
        for (std::size_t i = 0; i < N; ++i) list[i] = results[i];
        return list;
    }
    /// The same with lists, for numbers of operands that are known at run time only.
    template <int = 0>
    std::vector<any_tensor> call(span<const any_tensor> inputs,
                                 span<const scalar> scalars = {}) const {
        std::vector<any_tensor> results =
            call_kernel(what_, inputs, scalars, [] { return default_context().get(); });
        const node_ptr& first = results.front().get();
        first->owner->note(first);
        return results;
    }

private:
    template <class A>
    static void take(std::vector<any_tensor>& inputs, array_list<scalar>& scalars, const A& a) {
        if constexpr (std::floating_point<A>) scalars.emplace_back(static_cast<double>(a));
        else if constexpr (std::signed_integral<A>)
            scalars.emplace_back(static_cast<std::int64_t>(a));
        else if constexpr (number_argument<A>) scalars.emplace_back(static_cast<std::uint64_t>(a));
        else inputs.emplace_back(a.get());
    }

    std::shared_ptr<const custom_kernel> what_;
};

}}  // namespace pumice::PUMICE_ABI
