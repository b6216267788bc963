// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A program op by op, for contexts that do not fuse and for providers.
#pragma once

#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// What a program of plain ops gives over these, each op a node of its own, of which `made` is
/// told.
template <class Made>
any_tensor apply_each(program_view p, span<const node_ptr> leaves, span<const scalar> scalars,
                      Made&& made) {
    array_list<any_operand> values;
    for (const instruction& i : p.code) {
        switch (i.what) {
            case instruction::code::leaf: values.emplace_back(any_tensor(leaves[i.index])); break;
            case instruction::code::scalar: values.emplace_back(scalars[i.index]); break;
            case instruction::code::cast:
                values.emplace_back(astype(values[i.args[0]].array, i.type));
                break;
            default: {
                array_list<any_operand> arguments;
                for (int k = 0; k < i.arity(); ++k) arguments.push_back(values[i.args[k]]);
                values.emplace_back(pumice::apply(*i.op, arguments));
                made(values.back().array.get());
            }
        }
    }
    return values[p.outputs[0]].array;
}

}}}  // namespace pumice::PUMICE_ABI::detail
